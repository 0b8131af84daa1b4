"""What is checked before the first round, so that no work is lost to a mistake."""

from typing import Any

import torch
from torch import Tensor

from ..core.errors import FedregError, require
from ..core.method import Method
from ..core.objective import Objective
from ..core.types import Vector
from .population import Population, distributions


def check(method: Method[Any, Any, Any, Any], f: Objective, theta: Vector, population: Population, cohort: int) -> int:
    """The network's number of outputs, once method, objective, parameters and population are seen to fit together."""
    require(
        1 <= cohort <= len(population),
        f"plan: cohort = {cohort}, but there are {len(population)} clients; it must be between 1 and that",
    )
    require(bool(theta.isfinite().all()), "theta: some parameters are not finite; initialise the network again")
    outputs = check_examples(f, theta, population.x, population.y)
    method.local(f, method.broadcast(method.init(theta)), method.enrol(theta), population.data(0, outputs, theta))
    return outputs


def check_examples(f: Objective, theta: Vector, x: Tensor, y: Tensor, which: str = "") -> int:
    """The network's number of outputs, once it is seen to take such inputs and be comparable with such labels."""
    require(len(x) == len(y) > 0, f"{which}labels: there are {len(y)} of them for {len(x)} inputs; both are needed")
    x = x[:1].to(theta.device)
    x = x.to(theta.dtype) if x.is_floating_point() else x
    try:
        with torch.no_grad():
            z = f.network(theta, x)
    except FedregError:
        raise
    except (RuntimeError, IndexError, ValueError, TypeError) as error:
        reason = str(error).split("\n")[0]
        raise FedregError(f"network: it cannot take {which}inputs of shape {tuple(x.shape[1:])}: {reason}") from error
    require(
        z.ndim >= 2 and len(z) == 1,
        f"network: one input gives outputs of shape {tuple(z.shape)}; (1, k) is needed, a row of k outputs an input",
    )
    check_labels(f, y, tuple(z.shape[1:]), which)
    return int(z.shape[-1])


def check_labels(f: Objective, y: Tensor, shape: tuple[int, ...], which: str) -> None:
    """An error unless the labels are what a network with outputs of this shape can be compared with."""
    if not y.is_floating_point():
        require(f.classifies, f"{which}labels: they are integers, which name classes; a regression wants floats")
        require(
            y.ndim == 1 and len(shape) == 1,
            f"{which}labels: they are of shape {tuple(y.shape)} and an output of {shape}; classes want (n,) and (k,)",
        )
        wrong = (y < 0) | (y >= shape[0])
        if wrong.any():
            example = int(wrong.long().argmax())
            raise FedregError(
                f"{which}labels: example {example} has class {int(y[example])}, but the network's outputs are for 0 to "
                f"{shape[0] - 1}; give the network more outputs or mend the label"
            )
        return
    require(
        tuple(y.shape[1:]) == shape,
        f"{which}labels: one has shape {tuple(y.shape[1:])}, but the network's output has {shape}; they must be equal",
    )
    if f.classifies:
        said = "a classification needs classes or, a row an example, probabilities that sum to 1"
        require(distributions(y), f"{which}labels: {said}")
