"""CUDA graphs: what a device was once given to do, given to it again at the price of one launch."""

import gc
from contextlib import suppress
from typing import Any, NamedTuple, final

import torch
from torch import Tensor
from torch.utils._pytree import tree_unflatten

from ..core.data import Schedule
from ..core.method import Step
from ..core.types import Vector
from .recorder import Recorder, Work


class Recording(NamedTuple):
    """Graphs of a cohort's round: until the first step is taken, every other step, and what is left after the last."""

    first: torch.cuda.CUDAGraph
    other: torch.cuda.CUDAGraph | None
    last: torch.cuda.CUDAGraph
    others: int  # how many other steps there are
    at: Tensor  # which of them is next
    inputs: list[Tensor]  # where the graphs read
    outputs: Any  # where they write

    def replay(self, inputs: list[Tensor]) -> Any:
        """What the work gives for these inputs; to be used before the next replay."""
        for place, leaf in zip(self.inputs, inputs, strict=True):
            place.copy_(leaf)
        self.first.replay()
        for _ in range(self.others if self.other else 0):
            self.other.replay()  # type: ignore[union-attr]
        self.last.replay()
        return self.outputs


@final
class Graphs(Recorder[Recording]):
    """Work on a CUDA device as graphs."""

    def __init__(self, enough: int = 1) -> None:
        super().__init__(enough)
        self.pool: Any = None
        self.stream: torch.cuda.Stream | None = None

    def shapes(self, leaves: list[Tensor]) -> Any:
        return tuple((leaf.shape, leaf.dtype, leaf.device) for leaf in leaves)

    def replay(self, recording: Recording, leaves: list[Tensor]) -> Any:
        return recording.replay(leaves)

    def record(self, work: Work, leaves: list[Tensor], spec: Any) -> Recording:
        """The work's graphs, for inputs like these."""
        self.pool = self.pool or torch.cuda.graph_pool_handle()
        self.stream = self.stream or torch.cuda.Stream(leaves[0].device)  # type: ignore[no-untyped-call]
        inputs = [leaf.clone() for leaf in leaves]
        tape = Tape(self.pool, torch.zeros(1, dtype=torch.int64, device=leaves[0].device))
        gc.collect()  # an old graph that were freed meanwhile would spoil the recording
        torch.cuda.synchronize()
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            tape.begin()
            try:
                outputs = work(tape.walk, tree_unflatten(inputs, spec))
            except BaseException:
                with suppress(RuntimeError):
                    tape.made[-1].capture_end()
                raise
            tape.made[-1].capture_end()
        torch.cuda.current_stream().wait_stream(self.stream)
        first, *middle, last = tape.made
        return Recording(first, middle[0] if middle else None, last, tape.others, tape.at, inputs, outputs)


class Tape:
    """Graphs as they are recorded: a new one begins where the steps begin to repeat, and where they end."""

    def __init__(self, pool: Any, at: Tensor) -> None:
        self.pool, self.at = pool, at
        self.made: list[torch.cuda.CUDAGraph] = []
        self.others = 0

    def begin(self) -> None:
        """Record what the device is given from now on."""
        graph = torch.cuda.CUDAGraph()
        graph.capture_begin(pool=self.pool)
        self.made.append(graph)

    def cut(self) -> None:
        """Record it in another graph from now on."""
        self.made[-1].capture_end()
        self.begin()

    def walk(self, step: Step, theta: Vector, schedule: Schedule) -> Vector:
        """theta after the first step, and after each other one when that is replayed."""
        self.at.fill_(1)
        theta = step(theta, schedule.batch(0))
        self.others = len(schedule.key) - 1
        if self.others:
            self.cut()
            theta.copy_(step(theta, schedule.batch_at(self.at)))
            self.at.add_(1)
        self.cut()
        return theta
