"""The fast ResNet-9 of CIFAR, as FetchSGD (Rothchild et al., ICML 2020) trains it: Fixup in place of normalisation.

Fixup: Zhang, Dauphin and Ma, ICLR 2019.
"""

from typing import final

import torch
from torch import Tensor, nn

from ..core.errors import require

BRANCHES = 2  # residual ones, of two convolutions each


def resnet9(shape: tuple[int, ...], outputs: int) -> nn.Module:
    """Conv 64, Conv 128, pool, residual, Conv 256, pool, Conv 512, pool, residual, global pool, FC: 6.57 million."""
    channels, height, width = shape
    require(
        min(height, width) >= 8,
        f"resnet9: images of {height} x {width} pixels cannot be halved three times; use another network, say cnn4",
    )
    return nn.Sequential(
        Plain(channels, 64),
        Plain(64, 128),
        nn.MaxPool2d(2),
        Residual(128),
        Plain(128, 256),
        nn.MaxPool2d(2),
        Plain(256, 512),
        nn.MaxPool2d(2),
        Residual(512),
        Classifier(512, outputs),
    )


@final
class Plain(nn.Module):
    """A convolution and a ReLU, a scalar bias before each and a scalar multiplier between them."""

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        self.bias, self.bias_out = scalar(0.0), scalar(0.0)
        self.scale = scalar(1.0)
        self.conv = convolution(channels, width)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.scale * self.conv(x + self.bias) + self.bias_out)


@final
class Residual(nn.Module):
    """x with a branch of two convolutions added, then a ReLU; at first the branch is zero."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.bias_1, self.bias_1_out, self.bias_2, self.bias_2_out = (scalar(0.0) for _ in range(4))
        self.scale = scalar(1.0)
        self.conv_1 = convolution(width, width, by=BRANCHES**-0.5)  # L^(-1 / (2m - 2)) for m = 2 layers a branch
        self.conv_2 = convolution(width, width, by=0.0)

    def forward(self, x: Tensor) -> Tensor:
        branch = torch.relu(self.conv_1(x + self.bias_1) + self.bias_1_out)
        branch = self.scale * self.conv_2(branch + self.bias_2) + self.bias_2_out
        return torch.relu(x + branch)  # were it inside the branch, a zero convolution would have no gradient


@final
class Classifier(nn.Module):
    """The largest of each channel, a scalar bias, and a fully connected layer that is zero at first."""

    def __init__(self, width: int, outputs: int) -> None:
        super().__init__()
        self.bias = scalar(0.0)
        self.linear = nn.Linear(width, outputs)
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.linear(x.amax(dim=(-2, -1)) + self.bias)
        return scores


def scalar(value: float) -> nn.Parameter:
    """One number to be learnt."""
    return nn.Parameter(torch.full((1,), value))


def convolution(channels: int, width: int, by: float = 1.0) -> nn.Conv2d:
    """A 3 x 3 convolution without biases, its weights He's times a number."""
    conv = nn.Conv2d(channels, width, kernel_size=3, padding=1, bias=False)
    # By the outputs, which keeps the size of gradients. Were that of features kept, the classifier's would be 80 in
    # norm, and steps of 0.1, as the FedReg paper takes, would throw it about.
    nn.init.kaiming_normal_(conv.weight, mode="fan_out", nonlinearity="relu")
    with torch.no_grad():
        conv.weight.copy_(by * conv.weight)
    return conv
