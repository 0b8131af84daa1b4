"""FedCurv. Shoham et al., 2019, https://arxiv.org/abs/1910.07796"""

from dataclasses import dataclass
from math import inf
from typing import NamedTuple, final

import torch
from torch import Tensor

from ..core.data import Batch, Data
from ..core.errors import require
from ..core.gradient import Gradient, exact, refuse_partly_private
from ..core.method import Cohort, Local, Method, Nothing, require_rate
from ..core.objective import Objective
from ..core.types import Vector


class Curved(NamedTuple):
    """Parameters and how sharply the loss bends around them."""

    theta: Vector
    F: Vector  # diagonal Fisher information: a client's going up, the last cohort's sum going down
    F_theta: Vector  # F * theta, likewise


@final
@dataclass(frozen=True)
class FedCurv(Method[Curved, Curved, Nothing, Curved]):
    """The loss plus lam sum_j (theta - theta_j)^T F_j (theta - theta_j) over the last cohort's clients j."""

    lr: float
    lam: float
    gradient: Gradient = exact
    partly_private: bool = False

    def __post_init__(self) -> None:
        require_rate(self, self.lr)
        require(0 <= self.lam < inf, f"FedCurv: lam = {self.lam} must be finite and not negative, it weighs a penalty")
        refuse_partly_private("FedCurv", self.gradient, "the Fisher information it sends is raw", self.partly_private)

    def init(self, theta: Vector) -> Curved:
        return Curved(theta, torch.zeros_like(theta), torch.zeros_like(theta))

    def broadcast(self, server: Curved) -> Curved:
        return server

    def enrol(self, theta: Vector) -> Nothing:
        return ()

    def local(self, f: Objective, down: Curved, own: Nothing, data: Data) -> Local[Nothing, Curved]:
        def step(theta: Vector, b: Batch) -> Vector:
            penalty = 2 * self.lam * (down.F * theta - down.F_theta)
            return theta - self.lr * (self.gradient(f, theta, data.take(b), b.key) + penalty)

        def reply(theta: Vector, steps: Tensor) -> tuple[Curved, Nothing]:
            n = data.w.sum()
            F = f.sum_of_grads(torch.square, theta, data.first()) / torch.where(n > 0, n, 1.0)
            return Curved(theta, F, F * theta), ()

        return Local(step, reply)

    def update(self, server: Curved, mean: Curved, cohort: Cohort) -> Curved:
        return Curved(mean.theta, cohort.size * mean.F, cohort.size * mean.F_theta)
