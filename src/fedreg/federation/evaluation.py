"""How good a model is on examples that no client has."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from ..core.objective import Objective
from ..core.types import Vector


class Examples(NamedTuple):
    """Inputs and labels; integer labels are classes."""

    x: Tensor
    y: Tensor


class Score(NamedTuple):
    """The share of examples classified right (None for a regression) and the mean loss."""

    accuracy: float | None
    loss: float


@torch.no_grad()
def evaluate(f: Objective, theta: Vector, examples: Examples, batch_size: int = 1024) -> Score:
    """The score of theta on all the examples."""
    right = loss = 0.0
    for x, y in zip(*(torch.split(field, batch_size) for field in examples), strict=True):
        z = f.network(theta, x.to(theta) if x.is_floating_point() else x.to(theta.device))
        labels = y.to(theta) if y.is_floating_point() else one_hot(y.to(theta.device), z.shape[-1]).to(theta.dtype)
        loss += float(f.losses(z, labels).sum())
        if f.classifies:
            right += int((z.argmax(-1) == labels.argmax(-1)).sum())
    n = len(examples.y)
    return Score(right / n if f.classifies else None, loss / n)
