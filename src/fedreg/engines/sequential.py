"""One client after the other: slow, plain, and what the other engines are held against."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

from torch.utils._pytree import tree_map

from ..core.method import Method, client_round
from ..core.objective import Objective
from .cohort import Answer, Sum, Task, weight_of


@final
@dataclass(frozen=True)
class sequential:  # noqa: N801  (used like a function: engine=sequential())
    """An engine that loops over the cohort."""

    def __call__(self, method: Method[Any, Any, Any, Any], f: Objective, down: Any, tasks: Sequence[Task]) -> Answer:
        replies, owns = Sum(), []
        for task in tasks:
            up, own = client_round(method, f, down, task.own, task.data, task.schedule)
            replies = replies.add(tree_map(lambda leaf: leaf[None], up), [task.weight], [task.client])
            owns.append(own)
        return Answer(replies.mean(weight_of(tasks)), owns)
