"""What is raised when something asked for cannot be done: one line with the thing, the place and the remedy."""


class FedregError(ValueError):
    """A mistake of the caller, or of the world, that a sentence can explain."""


class Diverged(FedregError):
    """Parameters or a loss stopped being finite numbers."""


def require(truth: bool, otherwise: str) -> None:
    """Nothing if truth holds; else the error that says otherwise."""
    if not truth:
        raise FedregError(otherwise)
