"""Estimators of the gradient a local step follows."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import TypeAlias

import torch

from .data import Data
from .errors import require
from .objective import Objective
from .rng import normal
from .types import Key, Vector
from .vector import dot


def exact(f: Objective, theta: Vector, data: Data, key: Key) -> Vector:
    """The gradient itself."""
    return f.grad(theta, data)


@dataclass(frozen=True)
class DPSGD:
    """Each example's gradient clipped to norm C, N(0, sigma^2 C^2) noise added to the sum, then the mean.

    Abadi et al., CCS 2016, algorithm 1.
    """

    C: float
    sigma: float

    def __post_init__(self) -> None:
        require(
            0 < self.C < inf,
            f"DPSGD: C = {self.C} must be positive and finite, a norm to clip to",
        )
        require(
            0 <= self.sigma < inf,
            f"DPSGD: sigma = {self.sigma} must be finite and not negative, a deviation",
        )

    def __call__(self, f: Objective, theta: Vector, data: Data, key: Key) -> Vector:
        def clip(g: Vector) -> Vector:
            norm = dot(g, g).sqrt()
            return g / (norm / self.C).clamp(min=1)

        n = data.w.sum()
        noisy = f.sum_of_grads(clip, theta, data) + self.sigma * self.C * normal(key, theta)
        return noisy / torch.where(n > 0, n, 1.0)


Gradient: TypeAlias = DPSGD | Callable[[Objective, Vector, Data, Key], Vector]


def refuse_partly_private(name: str, gradient: Gradient, what: str, wanted: bool) -> None:
    """An error if gradient is private, what the method sends besides is not, and nobody wanted that."""
    require(
        wanted or not isinstance(gradient, DPSGD),
        f"{name} with DPSGD is not private: {what}. Use FedAvg or FedProx with DPSGD, "
        "or pass partly_private=True to have it all the same",
    )
