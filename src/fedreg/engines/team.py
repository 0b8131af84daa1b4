"""Processes that run one federation together: each does a share of the work, and all know what came of it."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar, final

import torch
import torch.distributed as dist
from torch import Tensor

from ..core.errors import Diverged, FedregError, require

Value = TypeVar("Value")
CPU = torch.device("cpu")


class Gone(FedregError):
    """A process that worked with this one is there no more."""


@final
@dataclass(frozen=True)
class Team:
    """One of size processes, the one with this rank; rank 0 leads, and writes what is recorded."""

    rank: int = 0
    size: int = 1

    @property
    def leads(self) -> bool:
        """Whether this process writes and speaks for all."""
        return self.rank == 0

    def sum(self, numbers: Tensor) -> Tensor:
        """The sum of what all processes have."""
        if self.size == 1:
            return numbers
        total = numbers.clone()
        self.meet(lambda: dist.all_reduce(total))
        return total

    def gather(self, value: Value) -> list[Value]:
        """What each process has, by rank."""
        if self.size == 1:
            return [value]
        values: list[Any] = [None] * self.size
        self.meet(lambda: dist.all_gather_object(values, value))
        return values

    def tell(self, value: Value) -> Value:
        """What the leader has."""
        if self.size == 1:
            return value
        values = [value]
        self.meet(lambda: dist.broadcast_object_list(values, src=0))
        return values[0]

    @contextmanager
    def agreeing(self) -> Iterator[None]:
        """Nothing, if what every process does inside goes well; else an error in each, which says where it did not."""
        problem: Exception | None = None
        try:
            yield
        except Gone:
            raise
        except Exception as error:
            problem = error
        if int(self.sum(torch.tensor(int(problem is not None)))):
            said = self.gather((isinstance(problem, Diverged), None if problem is None else str(problem)))
            if problem is None:
                rank = next(rank for rank, (_, text) in enumerate(said) if text is not None)
                diverged, text = said[rank]
                raise Diverged(text) if diverged else FedregError(f"rank {rank} of {self.size} failed: {text}")
        if problem is not None:
            raise problem

    def meet(self, work: Callable[[], object]) -> None:
        """Do what takes all processes; an error if one of them is gone."""
        try:
            work()
        except RuntimeError as error:
            reason = str(error).split("\n")[0][:120]
            raise Gone(
                f"rank {self.rank} of {self.size}: another rank is gone ({reason}); all whole rounds are kept, "
                "go on by --resume with as many ranks as there are"
            ) from error


def shares(work: Sequence[float], size: int) -> list[list[int]]:
    """Which pieces of work each of size processes does: the largest first, each by who has least to do."""
    loads, found = [0.0] * size, [[] for _ in range(size)]  # type: tuple[list[float], list[list[int]]]
    for i in sorted(range(len(work)), key=lambda i: (-work[i], i)):
        rank = min(range(size), key=lambda rank: (loads[rank], rank))
        loads[rank] += work[i]
        found[rank].append(i)
    return [sorted(pieces) for pieces in found]


def joined(device: torch.device = CPU) -> Team:
    """The team of the processes that torchrun, or fedreg's --workers, started together with this one."""
    missing = [name for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT") if name not in os.environ]
    require(
        not missing,
        f"the engine distributed runs in processes that torchrun starts ({', '.join(missing)} not set): torchrun "
        "--nproc-per-node 2 -m fedreg run ... --engine distributed; or let fedreg start them: --workers 2",
    )
    if not dist.is_initialized():
        try:
            dist.init_process_group("cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo")
        except (RuntimeError, ValueError) as error:
            where = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
            raise FedregError(
                f"rank {os.environ['RANK']}: the others are not met at {where} ({str(error).splitlines()[0][:120]}); "
                "start all ranks, and let that address be reached"
            ) from error
    return Team(dist.get_rank(), dist.get_world_size())


def end(code: int) -> NoReturn:
    """Leave with this exit code; at once, for a process of a team.

    A thread of torch.distributed that wants the interpreter while it is being taken down aborts the process, and then a
    run that went well ends like one that did not.
    """
    if not dist.is_initialized():
        sys.exit(code)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
