"""Every network, by the name that experiments give it: a function of an input's shape and the number of outputs."""

from collections.abc import Callable

from torch import nn

from .cnn4 import cnn4
from .cnn5 import cnn5
from .linear import linear
from .resnet9 import resnet9

NETWORKS: dict[str, Callable[[tuple[int, ...], int], nn.Module]] = {
    "cnn4": cnn4,
    "cnn5": cnn5,
    "linear": linear,
    "resnet9": resnet9,
}
