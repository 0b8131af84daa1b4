"""Gaussian processes that tell classes apart, made conjugate by Polya-Gamma variables (Polson et al., JASA 2013).

A process tells two sides apart; a binary tree of them tells many classes (Achituve et al., ICML 2021). Here a class's
number in binary is its path from the root: at level l, the node of class y is y >> (l + 1), its side there bit l of y.
The mean field over function values f and variables omega is in closed form (Wenzel et al., AAAI 2019). n: examples.
"""

from dataclasses import dataclass
from math import inf
from typing import NamedTuple, TypeAlias

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import logsigmoid

from .errors import require
from .types import Labels, Outputs, Weights

Covariance: TypeAlias = Float[Tensor, "*l n n"]
Values: TypeAlias = Float[Tensor, "*l n"]


@dataclass(frozen=True)
class Prior:
    """What a process is before it has seen an example, and how its posterior is found."""

    outputscale: float  # the variance of f at a place
    lengthscale: float  # of the distance between embeddings of length 1
    updates: int  # of the mean field

    def __post_init__(self) -> None:
        for name in ("outputscale", "lengthscale"):
            value = getattr(self, name)
            require(0 < value < inf, f"a Gaussian process: {name} = {value} must be positive and finite")
        require(self.updates >= 0, f"a Gaussian process: updates = {self.updates} must not be negative, it counts them")

    def covariance(self, z: Outputs) -> Float[Tensor, "n n"]:
        """K of the values at embeddings z: outputscale exp(-|z_i - z_j|^2 / 2 lengthscale^2), z scaled to length 1."""
        z = unit(z)
        return self.outputscale * ((z @ z.T - 1) / self.lengthscale**2).exp()


def unit(z: Outputs) -> Float[Tensor, "n m"]:
    """The embeddings as vectors of length 1; 0 stays 0."""
    z = z.flatten(1)
    return z / z.square().sum(1, keepdim=True).clamp(min=torch.finfo(z.dtype).tiny).sqrt()


class Asked(NamedTuple):
    """On which side n examples are, and how much each counts: 0 where it is not asked."""

    kappa: Values  # w (side - 1/2)
    w: Values


def node(code: Int[Tensor, "*n"], level: int) -> Int[Tensor, "*n"]:
    """The node of these classes at a level, counted from 0."""
    return code >> (level + 1)


def side(code: Int[Tensor, "*n"], level: int) -> Int[Tensor, "*n"]:
    """1 for classes on the one side of their node at a level, 0 for those on the other."""
    return (code >> level) & 1


def questions(y: Labels, w: Weights) -> tuple[Bool[Tensor, "l n n"], Asked]:
    """Which examples share a node, and what each is asked, level by level.

    A node with examples on one side alone asks nothing: the tree is over the classes that are there.
    """
    levels, code = range((y.shape[1] - 1).bit_length()), y.argmax(1)
    nodes, sides = (torch.stack([part(code, level) for level in levels]) for part in (node, side))
    together = nodes[:, :, None] == nodes[:, None, :]
    across = together & (sides[:, :, None] != sides[:, None, :])
    asked = w * (across * w).sum(-1).sign()
    return together, Asked(asked * (sides - 0.5), asked)


def omega(c: Values, w: Values) -> Values:
    """The mean of PG(w, c), the variable of an example whose value is c in the root of the mean square."""
    return w * (c / 2).tanh() / (2 * c)


class Posterior(NamedTuple):
    """f once its likelihoods are exp(kappa f - omega f^2 / 2): normal, with mean K alpha and covariance K - K W'W K."""

    alpha: Values
    W: Covariance
    half_log_det: Float[Tensor, "*l"]  # of I + K diag(omega)

    def at(self, k: Float[Tensor, "*l n m"], variance: Float[Tensor, "*#l m"]) -> tuple[Tensor, Tensor]:
        """Mean and variance of f at m places, whose prior covariances with the examples and variances these are."""
        mean = (self.alpha[..., None] * k).sum(-2)
        return mean, variance - (self.W @ k).square().sum(-2)


def posterior(K: Covariance, kappa: Values, omega: Values) -> Posterior:
    """f, which was N(0, K) before."""
    root = omega.sqrt()
    eye = torch.eye(K.shape[-1], dtype=K.dtype, device=K.device)
    L = torch.linalg.cholesky(eye + root[..., :, None] * K * root[..., None, :])  # no eigenvalue is below 1
    W = torch.linalg.solve_triangular(L, eye * root[..., None, :], upper=False)
    guess = (K * kappa[..., None, :]).sum(-1)
    alpha = kappa - (W.mT @ (W @ guess[..., None]))[..., 0]
    return Posterior(alpha, W, L.diagonal(dim1=-2, dim2=-1).log().sum(-1))


def mean_field(K: Covariance, asked: Asked, updates: int) -> Values:
    """The root of the mean of f^2 at each example, after so many updates of q(omega), then q(f), from the prior."""
    variance = K.diagonal(dim1=-2, dim2=-1)
    c = variance.sqrt()
    for _ in range(updates):
        mean, var = posterior(K, asked.kappa, omega(c, asked.w)).at(K, variance)
        c = (var.clamp(min=torch.finfo(c.dtype).tiny) + mean.square()).sqrt()
    return c


def evidence(K: Covariance, asked: Asked, c: Values) -> Float[Tensor, "*l"]:
    """The mean field's lower bound on log p(sides), with q(omega) of any c and the q(f) that is best for it."""
    f = posterior(K, asked.kappa, omega(c, asked.w))
    likelihood = asked.w * (logsigmoid(c) - c / 2) + omega(c, asked.w) * c.square() / 2
    fit = (K @ f.alpha[..., None])[..., 0] * asked.kappa / 2
    return (likelihood + fit).sum(-1) - f.half_log_det
