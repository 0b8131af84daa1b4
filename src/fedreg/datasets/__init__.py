"""Every dataset, by the name that experiments give it."""

from collections.abc import Callable

from .dataset import Dataset, validation
from .digits import digits

DATASETS: dict[str, Callable[[], Dataset]] = {"digits": digits}

__all__ = ["DATASETS", "Dataset", "validation"]
