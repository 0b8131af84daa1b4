"""What is checked before the first round, so that no work is lost to a mistake."""

from typing import Any

import torch
from torch import Tensor

from ..core.data import Schedule
from ..core.errors import Diverged, FedregError, require
from ..core.method import Method
from ..core.objective import Objective
from ..core.rng import rng
from ..core.types import Vector
from ..engines import Engine, Task
from .examples import Examples
from .population import Population, distributions

ALONE = 0.01  # how far rounding may move an example's outputs between batches, as a share of the largest of them


def check(
    method: Method[Any, Any, Any, Any], f: Objective, theta: Vector, population: Population, cohort: int, engine: Engine
) -> int:
    """The number of outputs or classes, once method, objective, parameters and population are seen to fit together."""
    require(
        1 <= cohort <= len(population),
        f"plan: cohort = {cohort}, but there are {len(population)} clients; it must be between 1 and that",
    )
    require(
        theta.dtype in (torch.float32, torch.float64),
        f"theta: {theta.dtype} is too coarse for projections and noise; convert the network by module.float()",
    )
    require(bool(theta.isfinite().all()), "theta: some parameters are not finite; initialise the network again")
    outputs = check_examples(f, theta, Examples(population.x, population.y, population.view, population.augment))
    data = population.data(0, outputs, theta, [rng(0, "augment")])
    zero = torch.zeros(1, dtype=torch.int64)
    one_step = Schedule(zero[None], zero, zero).to(theta.device)
    down = method.broadcast(method.init(theta))
    task = Task(0, method.enrol(down.theta), data.take(one_step.batch(0)), one_step)
    try:
        up = engine(method, f, down, [task]).mean
    except Diverged:
        return outputs  # of which the first round will tell
    except FedregError:
        raise
    except Exception as error:
        raise FedregError(f"{type(method).__name__}: its step failed: {type(error).__name__}: {error}") from error
    require(
        up.theta.shape == theta.shape, f"{type(method).__name__}: theta has shape {tuple(up.theta.shape)} after a step"
    )
    return outputs


def check_examples(f: Objective, theta: Vector, examples: Examples, which: str = "") -> int:
    """The number of outputs or classes, once the network is seen to take such inputs and to fit such labels."""
    x, y = examples.x, examples.y
    require(len(x) == len(y) > 0, f"{which}labels: there are {len(y)} of them for {len(x)} inputs; both are needed")
    x = examples.first(8, theta)
    try:
        with torch.no_grad():
            z, again = f.network(theta, x), f.network(theta, x)
    except FedregError:
        raise
    except Exception as error:
        reason = str(error).split("\n")[0]
        raise FedregError(
            f"network: it cannot take {which}inputs of shape {tuple(x.shape[1:])}: {reason or type(error).__name__}"
        ) from error
    require(
        isinstance(z, Tensor) and z.ndim >= 2 and len(z) == len(x),
        f"network: {len(x)} inputs give {described(z)}; a tensor of shape ({len(x)}, k) is needed, a row of k outputs "
        "an input",
    )
    require(
        bool(((z == again) | (z.isnan() & again.isnan())).all()),
        "network: it says two things about the same inputs, so that no run would repeat; set its dropout to 0 or call "
        "module.eval()",
    )
    if len(x) > 1 and bool(z.isfinite().all()):
        with torch.no_grad():
            apart = (f.network(theta, x[:1]) - z[:1]).abs().max() / z.abs().max().clamp(min=1e-6)
        require(
            float(apart) < ALONE,
            "network: what it says of an example depends on the others in the batch, and statistics of a batch can be "
            "neither averaged over clients nor padded; use GroupNorm or LayerNorm",
        )
    shape = tuple(z.shape[1:]) if f.classes is None else (f.classes,)
    check_labels(f, y, shape, which)
    return int(shape[-1])


def described(z: object) -> str:
    """What a network gave, in words."""
    return f"outputs of shape {tuple(z.shape)}" if isinstance(z, Tensor) else f"a {type(z).__name__}"


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
