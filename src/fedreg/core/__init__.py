"""Mathematics: pure functions of tensors. Imports torch alone, touches no disk, prints nothing."""
