"""What a dataset is, and how part of one is held out."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..core.rng import number, rng
from ..federation.examples import Examples
from ..federation.partition import Owners


class Statistics(NamedTuple):
    """Mean and deviation of each pixel, in units of 1 for the brightest."""

    mean: Tensor
    deviation: Tensor


class Dataset(NamedTuple):
    """Examples to learn from and to be tested on."""

    train: Examples
    test: Examples
    outputs: int  # how many numbers a network has to say about an example
    owners: Owners | None = None  # of the training examples, where the source names them
    statistics: Statistics | None = None  # of the training examples, where they are bytes


def held_out(y: Tensor, share: float, seed: int) -> Tensor:
    """Which examples a random share of each class is; of labels that are no classes, a share of them all."""
    random = np.random.default_rng(number(seed, "hold out") % 2**64)
    classes = np.zeros(len(y)) if y.is_floating_point() else y.numpy()
    held = np.zeros(len(y), dtype=bool)
    for label in np.unique(classes):
        rows = random.permutation(np.flatnonzero(classes == label))
        held[rows[: round(share * len(rows))]] = True
    return torch.from_numpy(held)


def chosen(examples: Examples, rows: Tensor) -> Examples:
    """Some of the examples."""
    return examples._replace(x=examples.x[rows], y=examples.y[rows])


def validation(dataset: Dataset) -> Dataset:
    """The dataset with a fifth of its training examples in place of the test examples, which tuning must not see."""
    held = held_out(dataset.train.y, 0.2, seed=1)
    test = chosen(dataset.train, held)._replace(view=dataset.test.view, augment=None)
    owners = None if dataset.owners is None else np.asarray(dataset.owners)[~held.numpy()]
    return dataset._replace(train=chosen(dataset.train, ~held), test=test, owners=owners)


def one_of_each(dataset: Dataset, seed: int) -> Examples:
    """A training example of each class that has any, drawn by the seed, shown as test examples are."""
    y = dataset.train.y
    order = torch.randperm(len(y), generator=rng(seed, "one of each"))
    _, first = np.unique(y[order].numpy(), return_index=True)
    return chosen(dataset.train, order[torch.from_numpy(first)])._replace(view=dataset.test.view, augment=None)
