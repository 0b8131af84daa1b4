"""Every source, by its dataset's name."""

from .cifar import CIFAR10, CIFAR100
from .emnist import EMNIST, EMNIST_SUBSET
from .fashion_mnist import FASHION_MNIST
from .mnist import MNIST
from .mnist_by_writer import MNIST_BY_WRITER
from .source import Source

SOURCES: dict[str, Source] = {
    source.name: source for source in (MNIST, MNIST_BY_WRITER, FASHION_MNIST, EMNIST, EMNIST_SUBSET, CIFAR10, CIFAR100)
}
