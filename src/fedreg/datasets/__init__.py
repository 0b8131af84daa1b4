"""Every dataset, by the name that experiments give it."""

from collections.abc import Callable

from .augmentation import Augmentation, augmented
from .dataset import Dataset, one_of_each, validation
from .digits import digits
from .images import images
from .scaling import Scaling, scaled
from .source import Source
from .sources import SOURCES

DATASETS: dict[str, Callable[[], Dataset]] = {
    "digits": digits,
    **{name: images(name, bool(source.mirrors)) for name, source in SOURCES.items()},
}

__all__ = [
    "DATASETS",
    "SOURCES",
    "Augmentation",
    "Dataset",
    "Scaling",
    "Source",
    "augmented",
    "one_of_each",
    "scaled",
    "validation",
]
