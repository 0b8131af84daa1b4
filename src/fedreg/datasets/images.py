"""Datasets of images that are kept on this machine."""

from collections.abc import Callable

import torch

from ..federation.examples import Examples
from . import scaling
from .dataset import Dataset, Statistics
from .store import stored


def images(name: str, offered: bool = True) -> Callable[[], Dataset]:
    """What loads the dataset of that name, its bytes mapped into memory and shown in [0, 1]; offered: for download."""

    def load() -> Dataset:
        found = stored(name, offered)
        owners = found.pop("train_owners", None)  # numbers or names
        arrays = {key: torch.from_numpy(array) for key, array in found.items()}
        train, test = (Examples(arrays[f"{split}_x"], arrays[f"{split}_y"]) for split in ("train", "test"))
        outputs = int(max(train.y.max(), test.y.max())) + 1
        statistics = Statistics(arrays["mean"], arrays["deviation"])
        return scaling.scaled(Dataset(train, test, outputs, owners, statistics), "unit")

    return load
