"""Many clients at once: client_round under vmap, on clients padded to one size."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, final

import torch
from torch.func import vmap
from torch.utils._pytree import tree_map

from ..core.data import stack
from ..core.errors import FedregError, require
from ..core.method import Method, Walk, client_round, in_turn
from ..core.objective import Objective
from .cohort import Answer, Sum, Task, weight_of
from .graphs import Graphs
from .recorder import Recorder, rounded
from .traces import Traces

UNLIKE = {"cpu": 2, "cuda": 16}  # how unequal clients may share a chunk: padding costs work, another chunk launches


@final
@dataclass(frozen=True)
class vectorized:  # noqa: N801  (used like a function: engine=vectorized(chunk=8))
    """An engine that runs up to chunk clients in one batched kernel."""

    chunk: int = 16

    @cached_property
    def recorders(self) -> dict[str, Recorder[Any]]:
        """What was recorded, by the kind of device."""
        return {"cuda": Graphs(), "cpu": Traces()}

    def __post_init__(self) -> None:
        require(self.chunk >= 1, f"vectorized: chunk = {self.chunk}; at least one client must run at a time")

    def __call__(self, method: Method[Any, Any, Any, Any], f: Objective, down: Any, tasks: Sequence[Task]) -> Answer:
        replies, owns = Sum(), [None] * len(tasks)
        for places in groups(tasks, self.chunk, down.theta.device):
            replies, kept = self.add(replies, method, f, down, [tasks[i] for i in places])
            for i, own in zip(places, kept, strict=True):
                owns[i] = own
        return Answer(replies.mean(weight_of(tasks)), owns)

    def add(
        self, replies: Sum, method: Method[Any, Any, Any, Any], f: Objective, down: Any, tasks: Sequence[Task]
    ) -> tuple[Sum, list[Any]]:
        """The replies with those of one chunk added, and what its clients keep."""
        ups, new = self.together(method, f, down, tasks)
        replies = replies.add(ups, [task.weight for task in tasks], [task.client for task in tasks])
        return replies, [tree_map(lambda leaf, k=k: leaf[k].clone(), new) for k in range(len(tasks))]

    def together(
        self, method: Method[Any, Any, Any, Any], f: Objective, down: Any, tasks: Sequence[Task]
    ) -> tuple[Any, Any]:
        """What the clients send and what they keep, each stacked along a first dimension."""
        n = rounded(max(len(task.data.w) for task in tasks))
        data, schedule = stack([task.data.pad(n) for task in tasks], [task.schedule for task in tasks])
        owns = tree_map(lambda *own: torch.stack(own), *(task.own for task in tasks))

        def work(walk: Walk, inputs: Any) -> Any:
            down, *clients = inputs
            return vmap(partial(client_round, method, f, down, walk=walk))(*clients)

        inputs = (down, owns, data, schedule)
        try:
            recorder = self.recorders.get(down.theta.device.type)
            ups, new = recorder.run((method, f), work, inputs) if recorder else work(in_turn, inputs)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            if "randomness" in str(error):
                raise FedregError("this network draws random numbers of its own, which would not repeat") from error
            reason = str(error).split("\n")[0]
            raise FedregError(f"this network cannot be vectorized ({reason}); use the engine 'sequential'") from error
        return ups, new


def groups(tasks: Sequence[Task], chunk: int, device: torch.device) -> list[list[int]]:
    """The tasks' places in the chunks in which they are run on such a device."""
    return list(alike([len(task.data.w) for task in tasks], chunk, UNLIKE.get(device.type, 2)))


def alike(sizes: Sequence[int], most: int, unlike: int = 2) -> Iterator[list[int]]:
    """The clients' places in groups of at most so many, where none is unlike times as large as another and more."""
    group: list[int] = []
    for i in sorted(range(len(sizes)), key=lambda i: -sizes[i]):
        if group and (len(group) == most or unlike * sizes[i] < sizes[group[0]]):
            yield group
            group = []
        group.append(i)
    yield group
