"""The cohort shared out to processes, on one machine or many: what vectorized gives, to the bit."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, final

import torch
from torch import Tensor
from torch.utils._pytree import tree_map

from ..core.method import Method
from ..core.objective import Objective
from .cohort import Answer, Sum, Task, weight_of
from .team import Team, shares
from .vectorized import groups, vectorized


@final
@dataclass(frozen=True)
class distributed:  # noqa: N801  (used like a function: engine=distributed(team=joined()))
    """An engine whose processes each run some of the chunks that vectorized would run one after the other.

    Chunks are the same in however many processes, and their sum does not depend on its order: neither does the result.
    """

    chunk: int = 16
    team: Team = field(default=Team(), compare=False)  # no setting: it decides no bit of the result

    @cached_property
    def alone(self) -> vectorized:
        """The engine that gives the same in one process."""
        return vectorized(self.chunk)

    def __call__(self, method: Method[Any, Any, Any, Any], f: Objective, down: Any, tasks: Sequence[Task]) -> Answer:
        chunks = groups(tasks, self.chunk, down.theta.device)
        work = [float(len(tasks[c[0]].data.w) * len(tasks[c[0]].schedule.key) * len(c)) for c in chunks]
        mine = shares(work, self.team.size)[self.team.rank]
        replies, owns = Sum(), dict[int, Any]()
        with self.team.agreeing():
            for k in mine:
                replies, kept = self.alone.add(replies, method, f, down, [tasks[i] for i in chunks[k]])
                owns |= zip(chunks[k], kept, strict=True)
        replies = self.summed(replies, down.theta.device, idle=len(chunks) < self.team.size)
        if tasks[0].own:
            owns = self.exchanged(owns, down.theta.device)
        return Answer(replies.mean(weight_of(tasks)), [owns.get(i, ()) for i in range(len(tasks))])

    def summed(self, mine: Sum, device: torch.device, idle: bool) -> Sum:
        """The sum over all processes: one message of integers."""
        if idle:  # who has nothing to add does not know what the replies are like
            like = self.team.tell((mine.spec, [dtype for _, dtype in mine.kinds], [t.shape for t in mine.totals]))
            zeros = tuple(torch.zeros(shape, dtype=torch.int64, device=device) for shape in like[2])
            mine = mine if mine.totals else Sum(like[0], tuple((device, dtype) for dtype in like[1]), zeros)
        whole = self.team.sum(torch.cat([total.flatten() for total in mine.totals]))
        parts = torch.split(whole, [total.numel() for total in mine.totals])
        return mine._replace(
            totals=tuple(part.view(total.shape) for part, total in zip(parts, mine.totals, strict=True))
        )

    def exchanged(self, owns: dict[int, Any], device: torch.device) -> dict[int, Any]:
        """What all clients keep, those that other processes ran too."""
        found = self.team.gather({i: tree_map(Tensor.cpu, own) for i, own in owns.items()})
        others = {i: own for part in found for i, own in part.items() if i not in owns}
        return owns | {i: tree_map(lambda leaf: leaf.to(device), own) for i, own in others.items()}
