"""Every source, by its dataset's name."""

from .covid_ct import COVID_CT
from .emnist import EMNIST, EMNIST_SUBSET
from .landmarks import LANDMARKS
from .mnist import MNIST
from .source import Source

SOURCES: dict[str, Source] = {source.name: source for source in (MNIST, EMNIST, EMNIST_SUBSET, COVID_CT, LANDMARKS)}
