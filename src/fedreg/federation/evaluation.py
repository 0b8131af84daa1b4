"""How good a model is on examples that no client has."""

from typing import NamedTuple

import torch
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


@torch.no_grad()
def evaluate(f: Objective, theta: Vector, examples: Examples, batch_size: int = 256) -> Score:
    """The score of theta on all the examples."""
    examples = examples.tensors()
    n = len(examples.y)
    require(len(examples.x) == n > 0, f"evaluate: there are {len(examples.x)} inputs and {n} labels; both are needed")
    require(f.classes is None, "evaluate: this objective embeds and does not classify; evaluate fedreg.gp_tree's of it")
    right = loss = 0.0
    for x, y in zip(*(torch.split(field, batch_size) for field in (examples.x, examples.y)), strict=True):
        z = f.network(theta, seen(x, examples.view, theta))
        check_labels(f, y, tuple(z.shape[1:]), "")
        labels = y.to(theta.device) if y.is_floating_point() else one_hot(y.to(theta.device).long(), z.shape[-1])
        labels = labels.to(theta.dtype)
        loss += float(f.losses(z, labels).sum())
        if f.classifies:
            right += int((z.argmax(-1) == labels.argmax(-1)).sum())
    return Score(right / n if f.classifies else None, loss / n)
