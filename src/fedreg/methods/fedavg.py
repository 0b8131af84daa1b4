"""FedAvg. McMahan et al., AISTATS 2017, https://arxiv.org/abs/1602.05629"""

from dataclasses import dataclass
from typing import final

from ..core.data import Batch, Data
from ..core.gradient import Gradient, exact
from ..core.method import Averaging, Step, require_rate
from ..core.objective import Objective
from ..core.types import Vector


@final
@dataclass(frozen=True)
class FedAvg(Averaging):
    """Plain gradient steps. With one step on a full batch, this is the paper's SGD."""

    lr: float
    gradient: Gradient = exact

    def __post_init__(self) -> None:
        require_rate(self, self.lr)

    def local_step(self, f: Objective, theta_0: Vector, D: Data) -> Step:
        def step(theta: Vector, b: Batch) -> Vector:
            return theta - self.lr * self.gradient(f, theta, D.take(b), b.key)

        return step
