"""Labelled examples as they are kept, and as a network sees them."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from ..core.data import Crops
from ..core.errors import FedregError, require
from ..core.rng import rng
from ..core.types import Vector

View: TypeAlias = Callable[[Tensor], Tensor]  # examples as they are kept, such as bytes -> what a network is shown
Places: TypeAlias = tuple[Float[Tensor, " n v"], Float[Tensor, " n h"]]  # rows and columns at which images are read
Augment: TypeAlias = Callable[[int, tuple[int, int], Generator], Places]  # n images, height and width -> one epoch's


class Examples(NamedTuple):
    """Inputs and labels; integer labels are classes."""

    x: Tensor
    y: Tensor
    view: View | None = None  # None: they are shown as they are
    augment: Augment | None = None  # None: they look the same in every epoch

    def tensors(self) -> "Examples":
        """The same, with arrays of other kinds as tensors."""
        return self._replace(x=tensor("inputs", self.x), y=tensor("labels", self.y))

    def first(self, n: int, like: Vector) -> Tensor:
        """The first n of the inputs, as a network may see them."""
        x = seen(self.x[:n], self.view, like)
        return x if self.augment is None else crops(self.augment, x, [rng(0, "augment")]).read(x, slice(None), 0)


def crops(augment: Augment, x: Tensor, epochs: Iterable[Generator]) -> Crops:
    """How the images x look in epochs of which each has its own generator."""
    places = [augment(len(x), (x.shape[-2], x.shape[-1]), generator) for generator in epochs]
    return Crops(*(torch.stack(at, dim=1).to(x) for at in zip(*places, strict=True)))


def tensor(what: str, value: Any) -> Tensor:
    """The value as a tensor of at least one dimension."""
    try:
        found = torch.as_tensor(value)
    except (TypeError, ValueError, RuntimeError) as error:
        reason = str(error).split("\n")[0]
        raise FedregError(f"population: {what} are no array of numbers ({reason})") from error
    require(found.ndim >= 1 or what.startswith("item"), f"population: {what} are one number, and not an array of them")
    return found


def refuse_not_finite(what: str, numbers: Tensor) -> None:
    """An error that names the first example with a number that is not finite."""
    if not numbers.is_floating_point():
        return
    fine = numbers.isfinite().reshape(len(numbers), -1).all(1)
    if not fine.all():
        raise FedregError(f"{what} of example {int(fine.long().argmin())} are not all finite; mend or drop it")


def seen(x: Tensor, view: View | None, like: Vector) -> Tensor:
    """The examples as a network sees them: through the view, on like's device and in its precision."""
    x = x.to(like.device)
    x = x if view is None else view(x)
    return x.to(like.dtype) if x.is_floating_point() else x
