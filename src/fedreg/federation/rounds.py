"""The rounds: sample a cohort, run it, update the server."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch

from ..core.data import schedule
from ..core.errors import Diverged, require
from ..core.method import Cohort, Method
from ..core.objective import Objective
from ..core.rng import rng
from ..core.types import Vector
from ..engines import Engine, Task, vectorized
from .check import check
from .population import Population


@dataclass(frozen=True)
class Plan:
    """How a federation is run, whatever the method."""

    rounds: int
    cohort: int  # K
    epochs: int
    batch_size: int | Literal["full"]  # "full": all of a client's examples in one batch
    seed: int = 0
    weights: Literal["uniform", "size"] = "uniform"  # of the clients in every mean that a method takes
    dropout: float = 0.0  # the share of each sampled cohort, rounded down, that does not answer

    def __post_init__(self) -> None:
        for name in ("rounds", "cohort", "epochs"):
            value = getattr(self, name)
            require(value >= 1, f"plan: {name} = {value} must be at least 1")
        require(
            self.batch_size == "full" or (isinstance(self.batch_size, int) and self.batch_size >= 1),
            f'plan: batch_size = {self.batch_size!r} must be at least 1, or "full"',
        )
        require(self.weights in ("uniform", "size"), f'plan: weights = {self.weights!r} must be "uniform" or "size"')
        require(0 <= self.dropout < 1, f"plan: dropout = {self.dropout} is outside [0, 1); somebody must answer")


class Round(NamedTuple):
    """A federation after t rounds: all that is needed to go on from there."""

    t: int
    theta: Vector
    server: Any
    owns: Mapping[int, Any]  # what clients keep, for methods and clients that keep anything
    clients: tuple[int, ...] = ()  # who answered in this round
    dropped: tuple[int, ...] = ()  # who was sampled and did not
    bytes_down: int = 0  # sent to each client in this round
    bytes_up: int = 0  # sent by each client in this round


def federate(
    method: Method[Any, Any, Any, Any],
    f: Objective,
    theta: Vector,
    population: Population,
    plan: Plan,
    engine: Engine | type[Engine] | None = None,
    after: Round | None = None,
) -> Iterator[Round]:
    """Yield the federation after each round; pass any Round as after to go on from it, bit for bit."""
    outputs = check(method, f, theta, population, plan.cohort)
    run = vectorized() if engine is None else engine() if isinstance(engine, type) else engine
    return rounds(method, f, population, plan, run, after or start(method, theta), outputs)


def start(method: Method[Any, Any, Any, Any], theta: Vector) -> Round:
    """The federation before its first round."""
    return Round(0, theta, method.init(theta), {})


def rounds(
    method: Method[Any, Any, Any, Any],
    f: Objective,
    population: Population,
    plan: Plan,
    engine: Engine,
    after: Round,
    outputs: int,
) -> Iterator[Round]:
    """The loop behind federate, once everything has been checked."""
    t, server, owns = after.t, after.server, after.owns
    while t < plan.rounds:
        t += 1
        clients, dropped = cohort(plan, t, len(population))
        down = method.broadcast(server)
        tasks = []
        for i in clients:
            own = owns[i] if i in owns else method.enrol(down.theta)
            data = population.data(i, outputs, down.theta)
            n = len(data.w)
            batch_size = n if plan.batch_size == "full" else plan.batch_size
            batches = schedule(n, plan.epochs, batch_size, rng(plan.seed, "batches", t, i)).to(down.theta.device)
            tasks.append(Task(i, own, data, batches, n if plan.weights == "size" else 1))
        try:
            mean, kept = engine(method, f, down, tasks)
        except Diverged as error:
            raise Diverged(f"round {t}: {error}; use a smaller learning rate") from error
        owns = {**owns, **{i: own for i, own in zip(clients, kept, strict=True) if own}}
        server = method.update(server, mean, Cohort(len(clients), len(population)))
        theta = method.broadcast(server).theta
        yield Round(t, theta, server, owns, clients, dropped, size_of(down), size_of(mean))


def cohort(plan: Plan, t: int, population: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Who answers in round t and who drops out, each in ascending order."""
    sampled = torch.randperm(population, generator=rng(plan.seed, "cohort", t))[: plan.cohort].tolist()
    drop = torch.randperm(plan.cohort, generator=rng(plan.seed, "dropout", t))[: int(plan.dropout * plan.cohort)]
    dropped = {sampled[k] for k in drop.tolist()}
    return tuple(sorted(set(sampled) - dropped)), tuple(sorted(dropped))


def size_of(message: Any) -> int:
    """The bytes of a message's tensors."""
    return sum(leaf.nbytes for leaf in message)
