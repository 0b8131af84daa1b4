"""Labelled examples, the sets D_i, D_i^s and D_i^p of the paper, and the order in which they are met."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.utils._pytree import tree_map

from .errors import require
from .types import Inputs, Key, Labels, Rows, Weights


class Batch(NamedTuple):
    """What one local step is given: which examples, and the key of its noise."""

    rows: Rows
    key: Key
    epoch: Int[Tensor, ""]


class Schedule(NamedTuple):
    """The batches of a client's round, in order. s: steps."""

    rows: Int[Tensor, " s b"]
    key: Int[Tensor, " s"]
    epoch: Int[Tensor, " s"]

    def batches(self) -> Iterator[Batch]:
        """The batches one by one."""
        return (self.batch(s) for s in range(len(self.key)))

    def batch(self, s: int) -> Batch:
        """The batch of step s."""
        return Batch(self.rows[s], self.key[s], self.epoch[s])

    def batch_at(self, s: Int[Tensor, "1"]) -> Batch:
        """The batch of a step whose number only the device knows."""
        return Batch(*(field.index_select(0, s).squeeze(0) for field in self))

    def to(self, device: torch.device) -> "Schedule":
        """The same batches on a device."""
        return Schedule(self.rows.to(device), self.key.to(device), self.epoch.to(device))

    def pad(self, steps: int, width: int) -> "Schedule":
        """The same batches, then nobody: steps in all, each width wide."""
        s, b = self.rows.shape
        rows = torch.nn.functional.pad(self.rows, (0, width - b, 0, steps - s), value=-1)
        key, epoch = (torch.nn.functional.pad(field, (0, steps - s)) for field in (self.key, self.epoch))
        return Schedule(rows, key, epoch)


class Crops(NamedTuple):
    """Where the pixels of n images are read, epoch by epoch: v rows and h columns, counted from 0. e: epochs."""

    down: Float[Tensor, " n e v"]
    across: Float[Tensor, " n e h"]

    def read(self, x: Inputs, rows: Rows | slice, epoch: Int[Tensor, ""] | int) -> Inputs:
        """These images x in an epoch; between pixels in proportion, beyond an image 0."""
        tops, sides = (hats(at[rows, epoch], n) for at, n in zip(self, x.shape[-2:], strict=True))
        return torch.einsum("bvi, bcij, bhj -> bcvh", tops, x, sides)


def hats(at: Float[Tensor, " b m"], n: int) -> Float[Tensor, " b m n"]:
    """The part of each of n pixels in what is read at each place."""
    return torch.relu(1 - (at[..., None] - torch.arange(n, dtype=at.dtype, device=at.device)).abs())


class Data(NamedTuple):
    """n examples. Padding is a copy of a real example with weight 0, so that it can do no harm."""

    x: Inputs
    y: Labels
    w: Weights  # 1 for an example, 0 for padding
    crops: Crops | tuple[()] = ()  # augmentation, where there is any

    def take(self, batch: Batch) -> "Data":
        """The examples of batch, as they look in its epoch; nobody's place is taken by an example of weight 0."""
        rows = batch.rows.clamp(min=0)
        x = self.crops.read(self.x[rows], rows, batch.epoch) if isinstance(self.crops, Crops) else self.x[rows]
        return Data(x, self.y[rows], self.weights(batch.rows))

    def first(self) -> "Data":
        """All the examples, as they look in the first epoch."""
        x = self.crops.read(self.x, slice(None), 0) if isinstance(self.crops, Crops) else self.x
        return Data(x, self.y, self.w)

    def weights(self, rows: Int[Tensor, "*s b"]) -> Float[Tensor, "*s b"]:
        """The weight of each of these rows; 0 for nobody."""
        return self.w[rows.clamp(min=0)] * (rows >= 0)

    def pad(self, n: int) -> "Data":
        """The same examples, then padding: n in all."""
        rows = torch.arange(n, device=self.w.device)
        real = rows < len(self.w)
        rows = torch.where(real, rows, 0)
        crops = tree_map(lambda at: at[rows], self.crops)
        return Data(self.x[rows], self.y[rows], self.w[rows] * real, crops)


def stack(datas: Sequence[Data], schedules: Sequence[Schedule]) -> tuple[Data, Schedule]:
    """Many clients' data and schedules as one of each, with a first dimension for the client."""
    n = max(len(data.w) for data in datas)
    steps = max(len(schedule.key) for schedule in schedules)
    width = max(schedule.rows.shape[1] for schedule in schedules)
    data: Data = tree_map(lambda *fields: torch.stack(fields), *(data.pad(n) for data in datas))
    schedule = zip(*(schedule.pad(steps, width) for schedule in schedules), strict=True)
    return data, Schedule(*map(torch.stack, schedule))


def schedule(n: int, epochs: int, batch_size: int, rng: torch.Generator) -> Schedule:
    """A fresh shuffle of n examples an epoch, cut into batches; a short batch ends in -1."""
    require(n >= 1, f"schedule: a client of n = {n} examples has nothing to learn from; n must be at least 1")
    require(epochs >= 1, f"schedule: epochs = {epochs}; at least one pass over the data is needed")
    require(batch_size >= 1, f"schedule: batch_size = {batch_size}; a batch needs at least one example")
    width = min(batch_size, n)
    steps = -(-n // width)
    shuffles = torch.stack([torch.randperm(n, generator=rng) for _ in range(epochs)])
    rows = torch.nn.functional.pad(shuffles, (0, steps * width - n), value=-1)
    key = torch.randint(-(2**63), 2**63 - 1, (epochs * steps,), generator=rng)
    return Schedule(rows.view(epochs * steps, width), key, torch.arange(epochs).repeat_interleave(steps))
