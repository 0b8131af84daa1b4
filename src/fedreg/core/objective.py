"""f_theta, L_theta and their derivatives, as pure functions of a flat theta."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.func import grad, vmap

from .data import Data
from .errors import FedregError, require
from .module import flat
from .types import Inputs, Labels, Outputs, Scalar, Vector

FLOATS_AT_ONCE = 2**24  # per-example gradients held at one time: 64 MiB of float32 a client


@dataclass(frozen=True)
class Objective:
    """What is minimised: a network, how its outputs predict labels, and what a wrong one costs."""

    network: Callable[[Vector, Inputs], Outputs]
    link: Callable[[Outputs], Labels]  # outputs -> predicted labels
    losses: Callable[[Outputs, Labels], Tensor]  # outputs, labels -> one loss an example
    classifies: bool = False  # labels are distributions over classes
    classes: int | None = None  # how many, where the network's outputs are an embedding and not one for each

    def predict(self, theta: Vector, x: Inputs) -> Labels:
        """f_theta(x)."""
        return self.link(self.network(theta, x))

    def loss(self, theta: Vector, data: Data) -> Scalar:
        """The mean of L_theta over data; zero if all of it is padding."""
        losses = self.losses(self.network(theta, data.x), data.y)
        n = data.w.sum()
        return (data.w * losses).sum() / torch.where(n > 0, n, 1.0)

    def grad(self, theta: Vector, data: Data) -> Vector:
        """The gradient of loss in theta."""
        g: Vector = grad(self.loss)(theta, data)
        return g

    def grad_x(self, theta: Vector, data: Data) -> Inputs:
        """The gradient of loss in the inputs."""
        g: Inputs = grad(lambda x: self.loss(theta, data._replace(x=x)))(data.x)
        return g

    def sum_of_grads(self, h: Callable[[Vector], Vector], theta: Vector, data: Data) -> Vector:
        """The sum over examples of w h(gradient of L_theta at the example), a few examples at a time."""

        def one(x: Tensor, y: Tensor, w: Tensor) -> Vector:
            return w * h(self.grad(theta, Data(x[None], y[None], torch.ones_like(w)[None])))

        total = torch.zeros_like(theta)
        at_once = max(1, FLOATS_AT_ONCE // len(theta))
        for x, y, w in zip(*(torch.split(field, at_once) for field in data[:3]), strict=True):
            total = total + per_example(one, x, y, w).sum(0)
        return total


def per_example(one: Callable[[Tensor, Tensor, Tensor], Vector], x: Tensor, y: Tensor, w: Tensor) -> Tensor:
    """One vector an example."""
    try:
        rows: Tensor = vmap(one)(x, y, w)
    except RuntimeError as error:
        if "vmap" not in str(error):
            raise
        reason = str(error).split("\n")[0]
        raise FedregError(f"this network has no per-example gradients, which vmap takes ({reason})") from error
    return rows


def require_alike(z: Outputs, y: Labels) -> None:
    """An error if outputs and labels are of different shapes, which torch would stretch to fit each other."""
    require(
        z.shape == y.shape,
        f"labels: they have shape {tuple(y.shape)} and the outputs {tuple(z.shape)}; they must be equal "
        "(classes as one-hot rows)",
    )


def classification(module: nn.Module) -> Objective:
    """Cross-entropy of the softmax of module's outputs."""
    return classifying(flat(module))


def classifying(network: Callable[[Vector, Inputs], Outputs]) -> Objective:
    """Cross-entropy of the softmax of a network's outputs."""

    def cross_entropy(z: Outputs, y: Labels) -> Tensor:
        require_alike(z, y)
        return -(y * z.log_softmax(-1)).sum(-1)

    return Objective(network, lambda z: z.softmax(-1), cross_entropy, classifies=True)


def embedding(module: nn.Module, classes: int) -> Objective:
    """Module's outputs, in which a method has to find so many classes by itself."""

    def silent(*_: Tensor) -> Tensor:
        raise FedregError(
            "this network embeds and does not classify: learn with it by PFedGP, and evaluate by fedreg.gp_tree"
        )

    return Objective(flat(module), silent, silent, classifies=True, classes=classes)


def regression(module: nn.Module) -> Objective:
    """Half the squared distance of module's outputs from the labels."""

    def half_square(z: Outputs, y: Labels) -> Tensor:
        require_alike(z, y)
        return (z - y).square().flatten(1).sum(1) / 2

    return Objective(flat(module), lambda z: z, half_square)
