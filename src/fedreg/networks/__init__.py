"""Every network, by the name that experiments give it: a function of an input's shape and the number of outputs.

One that is trained before takes `weights`, too: a name on a hub, or a folder.
"""

from collections.abc import Callable

from torch import nn

from .cnn4 import cnn4
from .cnn5 import cnn5
from .cnn10 import cnn10
from .densenet121 import densenet121
from .linear import linear
from .resnet9 import resnet9
from .vit import vit

NETWORKS: dict[str, Callable[..., nn.Module]] = {
    "cnn4": cnn4,
    "cnn5": cnn5,
    "cnn10": cnn10,
    "densenet121": densenet121,
    "linear": linear,
    "resnet9": resnet9,
    "vit": vit,
}
