"""FedProx. Li et al., MLSys 2020, https://arxiv.org/abs/1812.06127"""

from dataclasses import dataclass
from math import inf
from typing import final

from ..core.data import Batch, Data
from ..core.errors import require
from ..core.gradient import Gradient, exact
from ..core.method import Averaging, Step, require_rate
from ..core.objective import Objective
from ..core.types import Vector


@final
@dataclass(frozen=True)
class FedProx(Averaging):
    """The loss plus mu/2 ||theta - theta_0||^2."""

    lr: float
    mu: float
    gradient: Gradient = exact

    def __post_init__(self) -> None:
        require_rate(self, self.lr)
        require(0 <= self.mu < inf, f"FedProx: mu = {self.mu} must be finite and not negative, it weighs a penalty")

    def local_step(self, f: Objective, theta_0: Vector, D: Data) -> Step:
        def step(theta: Vector, b: Batch) -> Vector:
            g = self.gradient(f, theta, D.take(b), b.key) + self.mu * (theta - theta_0)
            return theta - self.lr * g

        return step
