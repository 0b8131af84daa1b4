"""What every engine is given and gives back."""

from collections.abc import Sequence
from math import fsum
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_unflatten

from ..core.data import Data, Schedule
from ..core.errors import Diverged
from ..core.method import Method
from ..core.objective import Objective
from .exact import LARGEST, digits, number


class Task(NamedTuple):
    """A client's part in a round."""

    client: int
    own: Any
    data: Data
    schedule: Schedule
    weight: float = 1.0


def weight_of(tasks: Sequence[Task]) -> float:
    """The sum of the tasks' weights, the same in any order."""
    return fsum(task.weight for task in tasks)


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
    """A running weighted sum of replies: a round holds a few models and not one a client.

    It does not depend on the order in which the parts of a cohort are added, nor on where they are: see exact.
    """

    spec: Any = None  # the structure of a reply
    kinds: tuple[tuple[torch.device, torch.dtype], ...] = ()  # of its tensors
    totals: tuple[Tensor, ...] = ()  # the sums' digits

    def add(self, ups: Any, weights: Sequence[float], clients: Sequence[int]) -> "Sum":
        """The sum with the replies of clients added; ups holds them stacked along a first dimension."""
        leaves, spec = tree_flatten(ups)
        for leaf in leaves:
            fine = (leaf.abs() < LARGEST).reshape(len(leaf), -1).all(dim=1)  # which no NaN is
            if not fine.all():
                raise Diverged(
                    f"client {clients[int(fine.long().argmin())]} sent numbers that are not finite, or beyond 1e15"
                )
        leaves = [  # a count has a mean, too
            leaf if leaf.is_floating_point() else leaf.to(torch.get_default_dtype()) for leaf in leaves
        ]
        added = [
            digits(torch.tensordot(torch.tensor(weights, dtype=leaf.dtype, device=leaf.device), leaf, dims=1))
            for leaf in leaves
        ]
        totals = [old + new for old, new in zip(self.totals, added, strict=True)] if self.totals else added
        return Sum(spec, tuple((leaf.device, leaf.dtype) for leaf in leaves), tuple(totals))

    def mean(self, weight: float) -> Any:
        """The weighted mean of all that was added, whose weights sum to weight."""
        means = (
            (number(total) / weight).to(dtype).to(device)
            for total, (device, dtype) in zip(self.totals, self.kinds, strict=True)
        )
        return tree_unflatten(means, self.spec)
