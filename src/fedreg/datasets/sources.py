"""Every source, by its dataset's name."""

from .cifar import CIFAR10, CIFAR100
from .emnist import EMNIST, EMNIST_SUBSET
from .mnist import MNIST
from .source import Source

SOURCES: dict[str, Source] = {source.name: source for source in (MNIST, EMNIST, EMNIST_SUBSET, CIFAR10, CIFAR100)}
