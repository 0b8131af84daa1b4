"""Labelled examples as they are kept, and as a network sees them."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from torch import Tensor

from ..core.errors import FedregError
from ..core.types import Vector

View: TypeAlias = Callable[[Tensor], Tensor]  # examples as they are kept, such as bytes -> what a network is shown


class Examples(NamedTuple):
    """Inputs and labels; integer labels are classes."""

    x: Tensor
    y: Tensor
    view: View | None = None  # None: they are shown as they are


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
