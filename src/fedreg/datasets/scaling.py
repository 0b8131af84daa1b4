"""How bytes become the numbers that a network is shown."""

from dataclasses import dataclass
from typing import Literal, TypeAlias, final

import torch
from torch import Tensor

from ..core.errors import FedregError
from .dataset import Dataset, Statistics

Scaling: TypeAlias = Literal["unit", "channel", "pixel"]
FLOOR = 0.001  # added to each pixel's deviation, since some pixels are the same in every image


@final
@dataclass(frozen=True, eq=False)
class Standardised:
    """A view that takes a mean from each pixel, in units of 1 for the brightest, and divides by a deviation."""

    mean: Tensor
    deviation: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        return (x / 255 - self.mean.to(x.device)) / self.deviation.to(x.device)


def scaled(dataset: Dataset, scaling: Scaling) -> Dataset:
    """The dataset of bytes with the view that a scaling asks for, from the training examples' statistics."""
    if dataset.statistics is None:
        raise FedregError(f"data: scaling = {scaling!r} is for images of bytes, and these are numbers already; omit it")
    view = standardised(dataset.statistics, scaling)
    return dataset._replace(train=dataset.train._replace(view=view), test=dataset.test._replace(view=view))


def standardised(statistics: Statistics, scaling: Scaling) -> Standardised:
    """Numbers in [0, 1]; or of mean 0 and deviation 1 in each channel; or nearly so in each pixel."""
    mean, deviation = statistics
    if scaling == "unit":
        return Standardised(torch.zeros(()), torch.ones(()))
    if scaling == "pixel":
        return Standardised(mean.float(), (deviation + FLOOR).float())
    channel = mean.mean(dim=(-2, -1), keepdim=True)
    square = (deviation.square() + mean.square()).mean(dim=(-2, -1), keepdim=True)
    return Standardised(channel.float(), (square - channel.square()).sqrt().float())
