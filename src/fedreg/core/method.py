"""What a federated method is, and the one loop over local steps."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Generic, NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

import torch
from torch import Tensor

from .data import Batch, Data, Schedule
from .errors import require
from .objective import Objective
from .polya_gamma import Prior
from .types import Vector


@runtime_checkable
class HasTheta(Protocol):
    """A message with parameters in it."""

    @property
    def theta(self) -> Vector: ...


Server = TypeVar("Server")  # stays on the server
Down = TypeVar("Down", bound=HasTheta)  # is broadcast
Own = TypeVar("Own")  # stays on a client
Up = TypeVar("Up", bound=HasTheta)  # is sent back, and averaged

Step: TypeAlias = Callable[[Vector, Batch], Vector]
Walk: TypeAlias = Callable[[Step, Vector, Schedule], Vector]  # theta after all the steps of a schedule


class Cohort(NamedTuple):
    """How many clients answered in a round, out of how many there are."""

    size: int  # K
    population: int  # |C|


@dataclass(frozen=True)
class Local(Generic[Own, Up]):
    """A client's round: step is applied to theta batch by batch, then reply to the last theta."""

    step: Step
    reply: Callable[[Vector, Tensor], tuple[Up, Own]]  # theta, number of steps taken


class Method(ABC, Generic[Server, Down, Own, Up]):
    """Five pure functions. Every message is a NamedTuple of tensors."""

    @abstractmethod
    def init(self, theta: Vector) -> Server:
        """The server before the first round."""

    @abstractmethod
    def broadcast(self, server: Server) -> Down:
        """What every client of a cohort is sent."""

    @abstractmethod
    def enrol(self, theta: Vector) -> Own:
        """A client before its first round."""

    @abstractmethod
    def local(self, f: Objective, down: Down, own: Own, data: Data) -> Local[Own, Up]:
        """A client's step and reply in this round."""

    @abstractmethod
    def update(self, server: Server, mean: Up, cohort: Cohort) -> Server:
        """The server after a round in which the replies' mean was mean."""


class Model(NamedTuple):
    """A message of parameters alone."""

    theta: Vector


Nothing: TypeAlias = tuple[()]


class Averaging(Method[Model, Model, Nothing, Model]):
    """Methods that send parameters and nothing else. They differ only in local_step."""

    @abstractmethod
    def local_step(self, f: Objective, theta_0: Vector, D: Data) -> Step:
        """theta, batch -> theta, for a client with data D that was sent theta_0."""

    def init(self, theta: Vector) -> Model:
        return Model(theta)

    def broadcast(self, server: Model) -> Model:
        return server

    def enrol(self, theta: Vector) -> Nothing:
        return ()

    def local(self, f: Objective, down: Model, own: Nothing, data: Data) -> Local[Nothing, Model]:
        return Local(self.local_step(f, down.theta, data), lambda theta, steps: (Model(theta), ()))

    def update(self, server: Model, mean: Model, cohort: Cohort) -> Model:
        return mean


class DeepKernel(Averaging):
    """Methods whose network embeds and does not classify: Gaussian processes over its embeddings do."""

    @abstractmethod
    def prior(self) -> Prior:
        """The processes before they have seen an example."""


def in_turn(step: Step, theta: Vector, schedule: Schedule) -> Vector:
    """theta after all the steps of schedule."""
    for batch in schedule.batches():
        theta = step(theta, batch)
    return theta


def client_round(
    method: Method[Server, Down, Own, Up],
    f: Objective,
    down: Down,
    own: Own,
    data: Data,
    schedule: Schedule,
    walk: Walk = in_turn,
) -> tuple[Up, Own]:
    """All that one client does in one round. Pure: loop over it, vmap it, or ship it."""
    local = method.local(f, down, own, data)

    def step(theta: Vector, batch: Batch) -> Vector:
        somebody = (data.weights(batch.rows) > 0).any()
        return torch.where(somebody, local.step(theta, batch), theta)

    theta = walk(step, down.theta, schedule)
    steps = (data.weights(schedule.rows) > 0).any(dim=1).sum()
    return local.reply(theta, steps)


def require_rate(method: object, lr: float) -> None:
    """An error unless lr can be a learning rate."""
    require(0 < lr < inf, f"{type(method).__name__}: lr = {lr} must be positive and finite, it is a learning rate")
