"""SCAFFOLD, option II. Karimireddy et al., ICML 2020, https://arxiv.org/abs/1910.06378"""

from dataclasses import dataclass
from typing import NamedTuple, final

import torch
from torch import Tensor

from ..core.data import Batch, Data
from ..core.gradient import Gradient, exact
from ..core.method import Cohort, Local, Method, require_rate
from ..core.objective import Objective
from ..core.types import Vector


class Down(NamedTuple):
    """The server's parameters and control variate."""

    theta: Vector
    c: Vector


class Own(NamedTuple):
    """A client's control variate."""

    c_i: Vector


class Up(NamedTuple):
    """A client's parameters and by how much its control variate changed."""

    theta: Vector
    delta_c: Vector


@final
@dataclass(frozen=True)
class Scaffold(Method[Down, Down, Own, Up]):
    """Gradient steps corrected by the drift that control variates estimate; they start from zero."""

    lr: float
    gradient: Gradient = exact

    def __post_init__(self) -> None:
        require_rate(self, self.lr)

    def init(self, theta: Vector) -> Down:
        return Down(theta, torch.zeros_like(theta))

    def broadcast(self, server: Down) -> Down:
        return server

    def enrol(self, theta: Vector) -> Own:
        return Own(torch.zeros_like(theta))

    def local(self, f: Objective, down: Down, own: Own, data: Data) -> Local[Own, Up]:
        theta_0, c, c_i = down.theta, down.c, own.c_i

        def step(theta: Vector, b: Batch) -> Vector:
            return theta - self.lr * (self.gradient(f, theta, data.take(b), b.key) - c_i + c)

        def reply(theta: Vector, steps: Tensor) -> tuple[Up, Own]:
            c_new = c_i - c + (theta_0 - theta) / self.lr / steps.clamp(min=1)
            c_new = torch.where(steps > 0, c_new, c_i)
            return Up(theta, delta_c=c_new - c_i), Own(c_new)

        return Local(step, reply)

    def update(self, server: Down, mean: Up, cohort: Cohort) -> Down:
        return Down(mean.theta, server.c + cohort.size / cohort.population * mean.delta_c)
