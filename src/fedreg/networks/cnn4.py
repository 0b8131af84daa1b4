"""Two convolutions and two fully connected layers, for images as small as 8 x 8."""

from torch import nn


def cnn4(shape: tuple[int, ...], outputs: int) -> nn.Module:
    """Conv 16, Conv 32 at half the width and height, FC 64, FC."""
    channels, height, width = shape
    return nn.Sequential(
        nn.Conv2d(channels, 16, kernel_size=3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 32, kernel_size=3, padding=1, stride=2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32 * ((height + 1) // 2) * ((width + 1) // 2), 64),
        nn.ReLU(),
        nn.Linear(64, outputs),
    )
