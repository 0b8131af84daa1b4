"""pFedGP. Achituve et al., NeurIPS 2021, https://arxiv.org/abs/2106.15482

As the FedReg paper's appendix B.2 has it: the clients share the deep kernel, and one tree of Gaussian processes, fitted
to a few examples that the server keeps, says what is what (federation/gp_tree.py).
"""

from dataclasses import dataclass
from typing import final

import torch
from torch.func import grad

from ..core.data import Batch, Data
from ..core.errors import require
from ..core.method import DeepKernel, Step, require_rate
from ..core.objective import Objective
from ..core.polya_gamma import Prior, evidence, mean_field, questions
from ..core.types import Scalar, Vector


@final
@dataclass(frozen=True)
class PFedGP(DeepKernel):
    """Steps up the evidence of a client's own tree of Gaussian processes, whose kernel is the network."""

    lr: float
    outputscale: float = 8.0  # this and lengthscale: of the authors' code
    lengthscale: float = 1.0
    updates: int = 10

    def __post_init__(self) -> None:
        require_rate(self, self.lr)
        self.prior()

    def prior(self) -> Prior:
        return Prior(self.outputscale, self.lengthscale, self.updates)

    def local_step(self, f: Objective, theta_0: Vector, D: Data) -> Step:
        require(
            f.classifies and D.y.shape[1] > 1,
            "PFedGP tells classes apart: a regression has none, and one class is nothing to tell; use another method",
        )

        def step(theta: Vector, b: Batch) -> Vector:
            g: Vector = grad(self.loss, argnums=1)(f, theta, D.take(b))
            return theta - self.lr * g

        return step

    def loss(self, f: Objective, theta: Vector, data: Data) -> Scalar:
        """Minus the evidence of an example, on the mean; its gradient is at the mean field for this theta."""
        together, asked = questions(data.y, data.w)
        K = self.prior().covariance(f.network(theta, data.x)) * together
        c = mean_field(K.detach(), asked, self.updates)
        n = data.w.sum()
        mean: Scalar = -evidence(K, asked, c).sum() / torch.where(n > 0, n, 1.0)
        return mean
