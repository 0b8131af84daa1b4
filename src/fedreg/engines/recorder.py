"""A cohort's round, recorded when its shapes have come a few times, and replayed from then on to the same bits.

Clients are small, and so a step is many operations of a few microseconds each: what vmap and grad do before each of
them takes longer than the operation. A recording has that done.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from torch import Tensor
from torch.utils._pytree import tree_flatten

from ..core.method import Walk, in_turn

Work = Callable[[Walk, Any], Any]  # a way to take the steps, inputs -> outputs; the way is given to client_round
Recording = TypeVar("Recording")
MOST = 256  # recordings that are kept


class Recorder(ABC, Generic[Recording]):
    """Recordings of work, by the shapes of its inputs."""

    def __init__(self, enough: int) -> None:
        self.enough = enough  # times that shapes have come before they are recorded
        self.held: dict[int, Any] = {}
        self.seen: dict[Any, int] = {}
        self.known: dict[Any, Recording] = {}
        self.stubborn: dict[Any, str] = {}  # what cannot be recorded, and why

    @abstractmethod
    def shapes(self, leaves: list[Tensor]) -> Any:
        """What of the inputs a recording depends on, beside their structure; the last three are the schedule's."""

    @abstractmethod
    def record(self, work: Work, leaves: list[Tensor], spec: Any) -> Recording:
        """The work on inputs like these, for replay."""

    @abstractmethod
    def replay(self, recording: Recording, leaves: list[Tensor]) -> Any:
        """The work's outputs for these inputs; to be used before the next replay."""

    def run(self, what: Sequence[Any], work: Work, inputs: Any) -> Any:
        """work's outputs for these inputs; what tells apart works whose inputs have the same shapes."""
        leaves, spec = tree_flatten(inputs)
        self.held |= {id(part): part for part in what}  # told apart by what they are, which needs no hash of them
        key = (tuple(map(id, what)), spec, self.shapes(leaves))
        if key not in self.known and self.worth(key):
            if len(self.known) >= MOST:
                self.known.clear()  # shapes that change for ever: those that come again are recorded again
            try:
                self.known[key] = self.record(work, leaves, spec)
            except Exception as error:  # no memory, or a number that is asked midway, which no recording can answer
                self.stubborn[key] = f"{type(error).__name__}: {error}".split("\n")[0]
        return self.replay(self.known[key], leaves) if key in self.known else work(in_turn, inputs)

    def worth(self, key: Any) -> bool:
        """Whether what has come so often is to be recorded now."""
        self.seen[key] = self.seen.get(key, 0) + 1
        return self.seen[key] > self.enough and key not in self.stubborn


def rounded(n: int) -> int:
    """n, or up to an eighth more, so that the shapes of unequal clients come again."""
    step = 1 << max(0, n.bit_length() - 4)
    return -(-n // step) * step
