"""The rounds: sample a cohort, run it, update the server."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import floor
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch

from ..core.data import schedule
from ..core.errors import Diverged, FedregError, require
from ..core.method import Cohort, Method
from ..core.objective import Objective
from ..core.rng import rng
from ..core.types import Vector
from ..engines import Engine, Task, vectorized
from .check import check
from .keeping import Owns, Records, grown, owns_of, records_of
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
        for name in ("rounds", "cohort", "epochs", "batch_size", "seed"):
            value = getattr(self, name)
            if name == "batch_size" and value == "full":
                continue
            whole = isinstance(value, Integral) and not isinstance(value, bool)
            require(whole, f"plan: {name} = {value!r} must be a whole number")
            require(name == "seed" or value >= 1, f"plan: {name} = {value} must be at least 1")
        require(
            self.batch_size == "full" or isinstance(self.batch_size, Integral),
            f'plan: batch_size = {self.batch_size!r} must be at least 1, or "full"',
        )
        require(self.weights in ("uniform", "size"), f'plan: weights = {self.weights!r} must be "uniform" or "size"')
        require(isinstance(self.dropout, Real), f"plan: dropout = {self.dropout!r} must be a number")
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
    keep_in: Path | str | Records | None = None,
) -> Iterator[Round]:
    """Yield the federation after each round, and after any Round go on bit for bit; keep_in: a folder for all owns."""
    run = engine_of(engine)
    outputs = check(method, f, theta, population, plan.cohort, run)
    first = start(method, theta)
    if after is not None:
        refuse_other(after, first, len(population))
    records = records_of(keep_in, method.enrol(theta.detach()))
    return rounds(method, f, population, plan, run, after or first, outputs, records)


def engine_of(engine: object) -> Engine:
    """The engine that is meant: vectorized() if none is named, or an engine or a class of such."""
    made = vectorized() if engine is None else engine() if isinstance(engine, type) else engine
    if not isinstance(made, Engine):
        raise FedregError(f"federate: engine = {engine!r} is none; pass fedreg.engines.sequential() or .vectorized()")
    return made


def refuse_other(after: Round, first: Round, population: int) -> None:
    """An error if a round is of another method, network or population than the first one, or was changed by hand."""
    require(isinstance(after, Round), f"federate: after must be a Round, and is a {type(after).__name__}")
    require(type(after.t) is int and after.t >= 0, f"federate: after.t = {after.t!r} is no number of rounds")
    mine, its = type(first.server), type(after.server)
    require(mine is its, f"federate: after is a round of another method ({its.__module__}, not {mine.__module__})")
    for name, leaf, other in zip(mine._fields, first.server, after.server, strict=True):
        require(
            leaf.shape == other.shape and leaf.dtype == other.dtype,
            f"federate: after.server.{name} is {tuple(other.shape)} {other.dtype}, and this network's is "
            f"{tuple(leaf.shape)} {leaf.dtype}; it is a round of another network",
        )
    require(
        bool(after.theta.equal(after.server.theta)),
        "federate: after.theta is not after.server.theta, which is what goes on; replace that one",
    )
    require(
        all(0 <= i < population for i in after.owns),
        f"federate: after is a round of another population, which had more than {population} clients",
    )


def start(method: Method[Any, Any, Any, Any], theta: Vector) -> Round:
    """The federation before its first round."""
    theta = theta.detach()
    return Round(0, theta, method.init(theta), Owns())


def rounds(
    method: Method[Any, Any, Any, Any],
    f: Objective,
    population: Population,
    plan: Plan,
    engine: Engine,
    after: Round,
    outputs: int,
    records: Records | None,
) -> Iterator[Round]:
    """The loop behind federate, once everything has been checked."""
    t, server, owns = after.t, after.server, owns_of(after.owns)
    while t < plan.rounds:
        t += 1
        clients, dropped = cohort(plan, t, len(population))
        down = method.broadcast(server)
        tasks = []
        for i in clients:
            own = owns[i] if i in owns else method.enrol(down.theta)
            looks = (rng(plan.seed, "augment", t, i, epoch) for epoch in range(plan.epochs))  # made where they are used
            data = population.data(i, outputs, down.theta, looks)
            n = len(data.w)
            batch_size = n if plan.batch_size == "full" else plan.batch_size
            batches = schedule(n, plan.epochs, batch_size, rng(plan.seed, "batches", t, i)).to(down.theta.device)
            tasks.append(Task(i, own, data, batches, n if plan.weights == "size" else 1))
        try:
            mean, kept = engine(method, f, down, tasks)
            new = {i: own for i, own in zip(clients, kept, strict=True) if own}
            owns, records = grown(owns, new, records)
        except Diverged as error:
            raise Diverged(f"round {t}: {error}; use a smaller learning rate") from error
        del tasks, kept, new  # a cohort's, which may be large
        server = method.update(server, mean, Cohort(len(clients), len(population)))
        theta = method.broadcast(server).theta
        yield Round(t, theta, server, owns, clients, dropped, size_of(down), size_of(mean))


def cohort(plan: Plan, t: int, population: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Who answers in round t and who drops out, each in ascending order."""
    sampled = torch.randperm(population, generator=rng(plan.seed, "cohort", t))[: plan.cohort].tolist()
    drop = torch.randperm(plan.cohort, generator=rng(plan.seed, "dropout", t))[
        : floor(round(plan.dropout * plan.cohort, 9))
    ]
    dropped = {sampled[k] for k in drop.tolist()}
    return tuple(sorted(set(sampled) - dropped)), tuple(sorted(dropped))


def size_of(message: Any) -> int:
    """The bytes of a message's tensors."""
    return sum(leaf.nbytes for leaf in message)
