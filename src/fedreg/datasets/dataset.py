"""What a dataset is, and how part of one is held out."""

from typing import NamedTuple

import numpy as np
import torch

from ..core.rng import number
from ..federation.evaluation import Examples
from ..federation.partition import Owners


class Dataset(NamedTuple):
    """Examples to learn from and to be tested on."""

    train: Examples
    test: Examples
    outputs: int  # how many numbers a network has to say about an example
    owners: Owners | None = None  # of the training examples, where the source names them


def hold_out(examples: Examples, share: float, seed: int) -> tuple[Examples, Examples]:
    """The examples without, and with only, a random share of each class."""
    random = np.random.default_rng(number(seed, "hold out") % 2**64)
    y = examples.y.numpy()
    held = np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        rows = random.permutation(np.flatnonzero(y == label))
        held[rows[: round(share * len(rows))]] = True
    out = torch.from_numpy(held)
    return Examples(examples.x[~out], examples.y[~out]), Examples(examples.x[out], examples.y[out])


def validation(dataset: Dataset) -> Dataset:
    """The dataset with a fifth of its training examples in place of the test examples, which tuning must not see."""
    train, test = hold_out(dataset.train, 0.2, seed=1)
    return dataset._replace(train=train, test=test, owners=None)
