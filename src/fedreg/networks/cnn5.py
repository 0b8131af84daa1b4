"""Three convolutions and two fully connected layers, for images of 28 x 28 pixels and thereabouts."""

from torch import nn


def cnn5(shape: tuple[int, ...], outputs: int) -> nn.Module:
    """Conv 32, Conv 32, pool, Conv 64, pool, FC 256, FC: for MNIST 228,010 parameters."""
    channels, height, width = shape
    side = [((n - 8) // 2 - 4) // 2 for n in (height, width)]
    return nn.Sequential(
        nn.Conv2d(channels, 32, kernel_size=5),
        nn.ReLU(),
        nn.Conv2d(32, 32, kernel_size=5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, kernel_size=5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64 * side[0] * side[1], 256),
        nn.ReLU(),
        nn.Linear(256, outputs),
    )
