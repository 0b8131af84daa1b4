"""Images that look different in every epoch: which of their pixels are read, and where.

The draws depend on (seed, round, client, epoch); the reading is arithmetic on a whole cohort's images (core/data.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log
from typing import Literal, TypeAlias, final

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from ..core.errors import require
from ..federation.examples import Augment, Places, View
from .dataset import Dataset

Augmentation: TypeAlias = Literal["crop", "resized-crop"]
PADDING = 4  # pixels around an image of CIFAR, as in He et al., CVPR 2016, section 4.2
SHOWN = 7 / 8  # of the side of an image that is kept: 224 of 256 pixels
AREA = (0.5, 1.0)  # of an image in a resized crop, as in the baselines of COVID-CT
ASPECT = (3 / 4, 4 / 3)


def crop(n: int, size: tuple[int, int], random: Generator) -> Places:
    """Images moved by up to PADDING pixels each way, what comes in being 0, and turned left to right half the time."""
    height, width = size
    by = torch.randint(-PADDING, PADDING + 1, (2, n, 1), generator=random).float()
    down, across = torch.arange(height) + by[0], torch.arange(width) + by[1]
    return down, turned(across, random)


def resized_crop(n: int, size: tuple[int, int], random: Generator) -> Places:
    """A part of each image, stretched to the size shown, and turned left to right half the time."""
    height, width = size
    area = between(*AREA, n, random)
    aspect = between(log(ASPECT[0]), log(ASPECT[1]), n, random).exp()
    tall, wide = (area / aspect).sqrt().clamp(max=1) * height, (area * aspect).sqrt().clamp(max=1) * width
    top, left = between(0, 1, n, random) * (height - tall), between(0, 1, n, random) * (width - wide)
    return stretched(top, tall, height), turned(stretched(left, wide, width), random)


def between(low: float, high: float, n: int, random: Generator) -> Float[Tensor, " n 1"]:
    """Numbers drawn evenly."""
    return low + (high - low) * torch.rand(n, 1, generator=random)


def stretched(start: Tensor, length: Tensor, side: int) -> Float[Tensor, " n v"]:
    """The places at which the pixels from start on, so many, are read for an image of the size shown."""
    m = shown(side)
    return (start + (torch.arange(m) + 0.5) * length / m - 0.5).clamp(0, side - 1)


def turned(across: Tensor, random: Generator) -> Float[Tensor, " n h"]:
    """The columns, from the right to the left in half of the images."""
    return torch.where(torch.rand(len(across), 1, generator=random) < 0.5, across.flip(-1), across)


def shown(side: int) -> int:
    """How many of so many pixels a network is shown."""
    return round(side * SHOWN)


@final
@dataclass(frozen=True, eq=False)
class Centre:
    """A view that shows the middle of images."""

    view: View | None

    def __call__(self, x: Tensor) -> Tensor:
        height, width = x.shape[-2:]
        v, h = shown(height), shown(width)
        top, left = (height - v) // 2, (width - h) // 2
        x = x if self.view is None else self.view(x)
        return x[..., top : top + v, left : left + h]


AUGMENTATIONS: Mapping[Augmentation, Augment] = {"crop": crop, "resized-crop": resized_crop}


def augmented(dataset: Dataset, augmentation: Augmentation) -> Dataset:
    """The dataset whose training images are augmented, and whose test images are shown at the same size."""
    shape, view = tuple(dataset.train.x.shape[1:]), dataset.test.view
    require(
        len(shape) == 3,
        f"data: augment = {augmentation!r} is for images (channels, height, width), and these inputs are of shape "
        f"{shape}; omit it",
    )
    if augmentation == "resized-crop":
        view = Centre(view)
    train = dataset.train._replace(augment=AUGMENTATIONS[augmentation])
    return dataset._replace(train=train, test=dataset.test._replace(view=view))
