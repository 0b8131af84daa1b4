"""Nine convolutions and one fully connected layer, on which the paper's attacks see images of computed tomography.

The paper gives no more than these counts (section 4.1): kernels, widths, strides and first parameters are ours, for
images of 224 x 224 pixels and smaller ones.
"""

from torch import nn

LAYERS = ((16, 2), (16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), (128, 1), (128, 1))  # widths and strides


def cnn10(shape: tuple[int, ...], outputs: int) -> nn.Module:
    """Conv 16, 16, 32, 32, 64, 64, 128, 128, 128, each pair at half the width and height of the one before, FC."""
    channels, height, width = shape
    layers: list[nn.Module] = []
    for wide, stride in LAYERS:
        conv = nn.Conv2d(channels, wide, kernel_size=3, padding=1, stride=stride)
        # torch's own first weights would make the signal 0.4 times smaller at each layer.
        nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
        nn.init.zeros_(conv.bias)  # type: ignore[arg-type]
        layers += [conv, nn.ReLU()]
        channels, height, width = wide, -(-height // stride), -(-width // stride)
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(channels * height * width, outputs))
