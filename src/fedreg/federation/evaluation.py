"""How good a model is on examples that no client has."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from ..core.errors import require
from ..core.objective import Objective
from ..core.types import Vector
from ..engines import Team
from .check import check_labels
from .examples import Examples, View, seen

ALONE = Team()


class Score(NamedTuple):
    """The share of examples classified right (None for a regression) and the mean loss."""

    accuracy: float | None
    loss: float


def at_once(x: Tensor, device: torch.device) -> int:
    """How many of the inputs to evaluate together: what a processor's cache holds, or what keeps a device busy."""
    return 256 if device.type == "cpu" else max(64, 2**21 // max(1, x[0].numel()))


@torch.no_grad()
def evaluate(
    f: Objective, theta: Vector, examples: Examples, batch_size: int | None = None, team: Team = ALONE
) -> Score:
    """The score of theta on all the examples, of which each of a team's processes looks at some."""
    examples = examples.tensors()
    n = len(examples.y)
    require(len(examples.x) == n > 0, f"evaluate: there are {len(examples.x)} inputs and {n} labels; both are needed")
    require(f.classes is None, "evaluate: this objective embeds and does not classify; evaluate fedreg.gp_tree's of it")
    batch_size = batch_size or at_once(examples.x, theta.device)
    batches = list(zip(*(torch.split(field, batch_size) for field in (examples.x, examples.y)), strict=True))
    right, losses = ([theta.new_zeros(())] * len(batches) for _ in range(2))
    with team.agreeing():
        for i in range(team.rank, len(batches), team.size):
            x, y = batches[i]
            right[i], losses[i] = scores(f, theta, x, y, examples.view)
    # asked once, so that a device never waits; of each number all processes but one have a zero
    found = team.sum(torch.stack([torch.stack(right), torch.stack(losses)])).tolist()
    return Score(sum(found[0]) / n if f.classifies else None, sum(found[1]) / n)


def scores(f: Objective, theta: Vector, x: Tensor, y: Tensor, view: View | None) -> tuple[Tensor, Tensor]:
    """How many of a batch are classified right, and the sum of their losses."""
    z = f.network(theta, seen(x, view, theta))
    check_labels(f, y, tuple(z.shape[1:]), "")
    labels = y.to(theta.device) if y.is_floating_point() else one_hot(y.to(theta.device).long(), z.shape[-1])
    labels = labels.to(theta.dtype)
    right = (z.argmax(-1) == labels.argmax(-1)).sum() if f.classifies else z.new_zeros(())
    return right.to(theta.dtype), f.losses(z, labels).sum()
