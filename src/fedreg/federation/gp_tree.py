"""A global tree of Gaussian processes over a network's embeddings: how what pFedGP learns is put to use."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.distributions import Normal
from torch.nn.functional import pad
from torch.nn.utils.rnn import pad_sequence

from ..core.errors import FedregError, require
from ..core.objective import Objective, classifying
from ..core.polya_gamma import Asked, Posterior, Prior, mean_field, node, omega, posterior, side, unit
from ..core.types import Inputs, Outputs, Vector
from .examples import Examples, seen

AT_ONCE = 256  # kept examples that a network is shown


class Level(NamedTuple):
    """A level of the tree. q: nodes with classes on both sides, each a process of s examples; c: classes."""

    rows: Int[Tensor, "q s"]  # of the kept examples
    f: Posterior
    node: Int[Tensor, " c"]
    side: Int[Tensor, " c"]

    def scores(
        self, k: Float[Tensor, "n m"], variance: Float[Tensor, " m"], expectation: Callable[..., Tensor]
    ) -> Float[Tensor, "m c"]:
        """What this level adds to the log-probabilities at m places: theirs of side 0 or 1, where the class is."""
        mean, var = self.f.at(k[self.rows], variance)
        values = Normal(mean, var.clamp(min=torch.finfo(var.dtype).tiny).sqrt())
        says = torch.stack([expectation(lambda f, sign=sign: (sign * f).sigmoid(), values).log() for sign in (-1, 1)])
        last = len(self.rows) - 1
        there = self.node <= last  # at the node beyond it, all classes are on one side
        return torch.where(there[:, None], says[self.side, self.node.clamp(max=last)], 0.0).T


def gp_tree(prior: Prior, f: Objective, kept: Examples) -> Callable[[Vector], Objective]:
    """theta -> the objective whose outputs are log-probabilities of classes, by a tree fitted to the kept examples."""
    try:
        from gpytorch.kernels import RBFKernel, ScaleKernel  # here, since it takes seconds
        from gpytorch.utils.quadrature import GaussHermiteQuadrature1D
    except ImportError as error:
        raise FedregError('a GP tree needs GPyTorch; install it by pip install "fedreg[gp]"') from error
    require(len(kept.x) == len(kept.y) > 0, f"gp_tree: {len(kept.x)} inputs and {len(kept.y)} labels; both are needed")

    @torch.no_grad()
    def at(theta: Vector) -> Objective:
        outputs = torch.cat([f.network(theta, seen(x, kept.view, theta)) for x in torch.split(kept.x, AT_ONCE)])
        classes = outputs.shape[-1] if f.classes is None else f.classes
        require(classes > 1, f"gp_tree: {classes} class; a tree tells two or more apart")
        kernel, expectation = ScaleKernel(RBFKernel()).to(theta), GaussHermiteQuadrature1D().to(theta)
        kernel.outputscale = theta.new_tensor(prior.outputscale)
        kernel.base_kernel.lengthscale = theta.new_tensor(prior.lengthscale)
        z, y = unit(outputs), kept.y.to(theta.device)
        y = y.argmax(-1) if y.is_floating_point() else y
        K = kernel(z).to_dense()
        tree = [level(prior, K, y, classes, i) for i in range((classes - 1).bit_length())]

        @torch.no_grad()
        def network(theta: Vector, x: Inputs) -> Outputs:
            z_star = unit(f.network(theta, x))
            k, variance = kernel(z, z_star).to_dense(), kernel(z_star, diag=True)
            return torch.stack([level.scores(k, variance, expectation) for level in tree]).sum(0)

        return classifying(network)

    return at


def level(prior: Prior, K: Float[Tensor, "n n"], y: Int[Tensor, " n"], classes: int, i: int) -> Level:
    """Level i of the tree, fitted to examples of classes y whose prior covariance is K."""
    code = torch.arange(classes, device=K.device)
    rows, asked = asks(y, classes, i, K)
    inside = K[rows[:, :, None], rows[:, None, :]]
    c = mean_field(inside, asked, prior.updates)
    return Level(rows, posterior(inside, asked.kappa, omega(c, asked.w)), node(code, i), side(code, i))


def asks(y: Int[Tensor, " n"], classes: int, level: int, like: Tensor) -> tuple[Int[Tensor, "q s"], Asked]:
    """The examples at each node of a level that has classes on both sides, and what each is asked."""
    nodes = (((classes - 1) >> level) + 1) // 2
    members = [(node(y, level) == q).nonzero()[:, 0] for q in range(nodes)]
    rows = pad_sequence(members, batch_first=True, padding_value=-1)
    rows = pad(rows, (0, max(0, 1 - rows.shape[1])), value=-1)  # nobody, rather than nothing
    w, rows = (rows >= 0).to(like.dtype), rows.clamp(min=0)
    return rows, Asked(w * (side(y[rows], level) - 0.5), w)
