"""How good a model is on examples that no client has."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from ..core.errors import require
from ..core.objective import Objective
from ..core.types import Vector
from .check import check_labels
from .examples import Examples, seen


class Score(NamedTuple):
    """The share of examples classified right (None for a regression) and the mean loss."""

    accuracy: float | None
    loss: float


def at_once(x: Tensor, device: torch.device) -> int:
    """How many of the inputs to evaluate together: what a processor's cache holds, or what keeps a device busy."""
    return 256 if device.type == "cpu" else max(64, 2**21 // max(1, x[0].numel()))


@torch.no_grad()
def evaluate(f: Objective, theta: Vector, examples: Examples, batch_size: int | None = None) -> Score:
    """The score of theta on all the examples."""
    examples = examples.tensors()
    n = len(examples.y)
    require(len(examples.x) == n > 0, f"evaluate: there are {len(examples.x)} inputs and {n} labels; both are needed")
    require(f.classes is None, "evaluate: this objective embeds and does not classify; evaluate fedreg.gp_tree's of it")
    right, losses = [], []
    batch_size = batch_size or at_once(examples.x, theta.device)
    for x, y in zip(*(torch.split(field, batch_size) for field in (examples.x, examples.y)), strict=True):
        z = f.network(theta, seen(x, examples.view, theta))
        check_labels(f, y, tuple(z.shape[1:]), "")
        labels = y.to(theta.device) if y.is_floating_point() else one_hot(y.to(theta.device).long(), z.shape[-1])
        labels = labels.to(theta.dtype)
        losses.append(f.losses(z, labels).sum())
        if f.classifies:
            right.append((z.argmax(-1) == labels.argmax(-1)).sum())
    loss = sum(torch.stack(losses).tolist())  # the device is asked once, so that it never waits
    return Score(int(torch.stack(right).sum()) / n if f.classifies else None, loss / n)
