"""What is checked before the first round, so that no work is lost to a mistake."""

from typing import Any

import torch

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
    x = population.x[:1].to(theta.device)
    x = x.to(theta.dtype) if x.is_floating_point() else x
    try:
        with torch.no_grad():
            z = f.network(theta, x)
    except (RuntimeError, IndexError) as error:
        reason = str(error).split("\n")[0]
        raise FedregError(f"network: it cannot take inputs of shape {tuple(x.shape[1:])}: {reason}") from error
    require(len(z) == 1, f"network: one input gives outputs of shape {tuple(z.shape)}; the first dimension must be 1")
    check_labels(f, population, tuple(z.shape[1:]))
    method.local(f, method.broadcast(method.init(theta)), method.enrol(theta), population.data(0, z.shape[-1], theta))
    return int(z.shape[-1])


def check_labels(f: Objective, population: Population, shape: tuple[int, ...]) -> None:
    """An error unless the labels are what a network with outputs of this shape can be compared with."""
    y = population.y
    if not y.is_floating_point():
        require(f.classifies, "labels: they are integers, which name classes; give a regression floating-point labels")
        require(
            y.ndim == 1 and len(shape) == 1, f"labels: classes are given, but an output has shape {shape}, not (k,)"
        )
        wrong = (y < 0) | (y >= shape[0])
        if wrong.any():
            example = int(wrong.long().argmax())
            raise FedregError(
                f"labels: example {example} has class {int(y[example])}, but the network's outputs are for 0 to "
                f"{shape[0] - 1}; give the network more outputs or mend the label"
            )
        return
    require(
        tuple(y.shape[1:]) == shape,
        f"labels: one has shape {tuple(y.shape[1:])}, but the network's output has {shape}; they must be equal",
    )
    if f.classifies:
        require(
            distributions(y), "labels: a classification needs classes or, a row an example, probabilities that sum to 1"
        )
