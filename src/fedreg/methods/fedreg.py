"""FedReg. Xu, Hong, Huang and Jiang, ICLR 2022, https://openreview.net/forum?id=541PxiEKN3F

Numbers in brackets are the paper's equations; theta_0 is its theta^(t-1), theta its theta^(t,i).
"""

from dataclasses import dataclass
from math import inf
from typing import final

import torch

from ..core.data import Batch, Data
from ..core.errors import require
from ..core.gradient import Gradient, exact, refuse_partly_private
from ..core.method import Averaging, Step, require_rate
from ..core.objective import Objective
from ..core.types import Vector
from ..core.vector import project, reject


def ascend(f: Objective, theta: Vector, data: Data, eta: float, E: int) -> Data:
    """The data after E steps of the fast gradient sign method."""
    for _ in range(E):
        data = data._replace(x=data.x + eta * f.grad_x(theta, data).sign())
    return data


def pseudo(f: Objective, theta: Vector, data: Data, eta_s: float, E: int) -> Data:
    """D^s: away from the data, and labelled by the model. (2)"""
    far = ascend(f, theta, data, eta_s, E)
    return far._replace(y=f.predict(theta, far.x))


def perturbed(f: Objective, theta: Vector, data: Data, eta_p: float, E: int) -> Data:
    """D^p: close to the data, and labelled like it. (3)"""
    return ascend(f, theta, data, eta_p, E)


def unlabelled(data: Data) -> Data:
    """D^s': every class equally likely. Section 3.3."""
    return data._replace(y=torch.full_like(data.y, 1 / data.y.shape[-1]))


@final
@dataclass(frozen=True)
class FedReg(Averaging):
    """Steps after which the model still says about the pseudo data what it said before."""

    lr: float  # eta_theta
    gamma: float
    eta_s: float
    eta_p: float | None = None  # 0.01 eta_s, as in section 3.1
    E: int = 10
    modified_gradient: bool = False  # "with MG"
    gradient: Gradient = exact
    partly_private: bool = False

    def __post_init__(self) -> None:
        require_rate(self, self.lr)
        require(0 <= self.gamma <= 1, f"FedReg: gamma = {self.gamma} is outside [0, 1]; theta_gamma is a weighted mean")
        require(0 <= self.eta_s < inf, f"FedReg: eta_s = {self.eta_s} must be finite and not negative, a step size")
        eta_p = self.eta_p or 0.0
        require(0 <= eta_p < inf, f"FedReg: eta_p = {eta_p} must be finite and not negative, a step size")
        require(self.E >= 0, f"FedReg: E = {self.E} must not be negative, it counts steps")
        raw = "it protects one gradient of three, those of the pseudo and perturbed data are raw"
        refuse_partly_private("FedReg", self.gradient, raw, self.partly_private)

    def local_step(self, f: Objective, theta_0: Vector, D: Data) -> Step:
        self.refuse(f, D)
        eta_p = 0.01 * self.eta_s if self.eta_p is None else self.eta_p
        D_s = pseudo(f, theta_0, D.first(), self.eta_s, self.E)  # (2)
        D_p = perturbed(f, theta_0, D.first(), eta_p, self.E)  # (3)

        def step(theta: Vector, b: Batch) -> Vector:
            theta_gamma = self.gamma * theta + (1 - self.gamma) * theta_0
            g = self.gradient(f, theta_gamma, D.take(b), b.key)
            if self.modified_gradient:
                g = reject(g, f.grad(theta_gamma, unlabelled(D_s).take(b)))  # (12)
            theta = theta - self.lr * g  # (11), left

            theta_beta = 0.5 * (theta + theta_0)
            g_s = f.grad(theta_beta, D_s.take(b))  # (6)
            g_p = f.grad(theta_beta, D_p.take(b))  # (7)
            theta = project(theta, theta_0, g_s)  # (8)
            return project(theta, theta_0, g_p)  # (9)

        return step

    def refuse(self, f: Objective, D: Data) -> None:
        """An error if the pseudo data, or MG's labels, cannot be made for this objective and data."""
        require(
            D.x.is_floating_point(),
            f"FedReg moves its inputs along a gradient, and these are {D.x.dtype}: feed it an embedding of them",
        )
        require(
            f.classifies or not self.modified_gradient,
            "FedReg: modified_gradient needs classes, and this is a regression objective (section 3.3 of the paper); "
            "use modified_gradient=False",
        )
