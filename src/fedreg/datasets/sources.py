"""Every source, by its dataset's name."""

from .cifar import CIFAR10, CIFAR100
from .covid_ct import COVID_CT
from .emnist import EMNIST, EMNIST_SUBSET
from .fashion_mnist import FASHION_MNIST
from .landmarks import LANDMARKS
from .mnist import MNIST
from .mnist_by_writer import MNIST_BY_WRITER
from .source import Source

ALL = (
    MNIST, MNIST_BY_WRITER, FASHION_MNIST, EMNIST, EMNIST_SUBSET, CIFAR10, CIFAR100, COVID_CT, LANDMARKS,
)  # fmt: skip
SOURCES: dict[str, Source] = {source.name: source for source in ALL}
