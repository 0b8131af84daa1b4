"""What every engine is given and gives back."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor
from torch.utils._pytree import tree_map

from ..core.data import Data, Schedule
from ..core.errors import Diverged
from ..core.method import Method
from ..core.objective import Objective


class Task(NamedTuple):
    """A client's part in a round."""

    client: int
    own: Any
    data: Data
    schedule: Schedule
    weight: float = 1.0


class Answer(NamedTuple):
    """What a cohort gives back: the mean of what is sent up, and what each client keeps, in the order of its task."""

    mean: Any
    owns: list[Any]


@runtime_checkable
class Engine(Protocol):
    """A way to run client_round on a cohort."""

    def __call__(self, method: Method[Any, Any, Any, Any], f: Objective, down: Any, tasks: Sequence[Task]) -> Answer:
        """The cohort's answer."""


class Sum(NamedTuple):
    """A running weighted sum of replies, so that a round holds a few models and not one a client."""

    total: Any = None
    weight: float = 0.0

    def add(self, ups: Any, weights: Sequence[float], clients: Sequence[int]) -> "Sum":
        """The sum with the replies of clients added; ups holds them stacked along a first dimension."""
        for leaf in ups:
            finite = leaf.isfinite().reshape(len(leaf), -1).all(dim=1)
            if not finite.all():
                raise Diverged(f"client {clients[int(finite.long().argmin())]} sent numbers that are not finite")

        def weighted(up: Tensor) -> Tensor:
            up = up if up.is_floating_point() else up.to(torch.get_default_dtype())  # a count has a mean, too
            by = torch.tensor(weights, dtype=up.dtype, device=up.device)
            summed: Tensor = torch.tensordot(by, up, dims=1)
            return summed

        added = tree_map(weighted, ups)
        total = added if self.total is None else tree_map(torch.add, self.total, added)
        return Sum(total, self.weight + sum(weights))

    def mean(self) -> Any:
        """The weighted mean of all that was added."""
        return tree_map(lambda total: total / self.weight, self.total)
