"""All clients' examples, in shared arrays: a client is an index, not an object."""

import hashlib
from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, final, runtime_checkable

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from ..core.data import Data
from ..core.errors import FedregError, require
from ..core.types import Vector
from .examples import Augment, View, crops, refuse_not_finite, seen, tensor
from .partition import ByOwner, Owners, Partition, Shares


class Summary(NamedTuple):
    """What a population looks like; sizes and classes are (least, median, most) a client."""

    clients: int
    examples: int
    sizes: tuple[int, float, int]
    classes: tuple[int, float, int] | None
    hash: str


@runtime_checkable
class MapStyle(Protocol):
    """A torch Dataset that can be indexed."""

    def __getitem__(self, i: int) -> Any: ...


@final
@dataclass(frozen=True, eq=False)
class Population:
    """Examples (x, y) and who owns them. Integer labels are classes, others are taken as they are."""

    x: Tensor
    y: Tensor
    shares: Shares
    view: View | None = None  # how a network sees x, if not as it is
    augment: Augment | None = None  # how x looks in each epoch, if not the same

    def __post_init__(self) -> None:
        n = len(self.x)
        require(n == len(self.y), f"population: {n} inputs but {len(self.y)} labels; each example needs both")
        lengths = self.lengths()
        require(len(lengths) > 0, "population: there are no clients")
        empty = int(lengths.argmin())
        require(int(lengths[empty]) > 0, f"population: client {empty} has no examples; leave it out")
        refuse_not_finite("population: the inputs", self.x)
        refuse_not_finite("population: the labels", self.y)
        rows = self.shares.rows
        require(
            bool(((rows >= 0) & (rows < n)).all()) and bool((rows.bincount(minlength=n) <= 1).all()),
            f"population: shares.rows must name each of the {n} examples at most once, and nothing else",
        )

    @staticmethod
    def from_owners(x: Any, y: Any, owners: Owners) -> "Population":
        """The population of arrays x and y in which example i belongs to owners[i], a number or a name."""
        return Population.from_partition(x, y, ByOwner(), owners=owners)

    @staticmethod
    def from_partition(
        x: Any,
        y: Any,
        partition: Partition,
        seed: int = 0,
        owners: Owners | None = None,
        view: View | None = None,
        augment: Augment | None = None,
    ) -> "Population":
        """The population of arrays x and y dealt to clients by partition."""
        x, y = tensor("inputs", x), tensor("labels", y)
        labels = None
        if not y.is_floating_point():
            labels = y.cpu().numpy()
        elif distributions(y):
            labels = y.argmax(1).cpu().numpy()
        return Population(x, y, partition.shares(len(x), labels, owners, seed), view, augment)

    @staticmethod
    def from_pairs(pairs: Sequence[tuple[Any, Any]]) -> "Population":
        """The population of one (x, y) pair of arrays a client."""
        require(
            isinstance(pairs, Sequence) and all(isinstance(pair, Sequence) and len(pair) == 2 for pair in pairs),
            "population: a list of (x, y) pairs is needed, one a client",
        )
        require(len(pairs) > 0, "population: there are no clients")
        xs = [tensor(f"inputs of client {i}", x) for i, (x, _) in enumerate(pairs)]
        ys = [tensor(f"labels of client {i}", y) for i, (_, y) in enumerate(pairs)]
        for i, (x, y) in enumerate(zip(xs, ys, strict=True)):
            require(len(x) == len(y), f"population: client {i} has {len(x)} inputs but {len(y)} labels")
            require(
                x.shape[1:] == xs[0].shape[1:] and y.shape[1:] == ys[0].shape[1:],
                f"population: an example of client {i} has another shape than one of client 0",
            )
        offsets = torch.tensor([0, *map(len, xs)]).cumsum(0)
        return Population(torch.cat(xs), torch.cat(ys), Shares(torch.arange(int(offsets[-1])), offsets))

    @staticmethod
    def from_dataset(dataset: MapStyle, owners: Owners) -> "Population":
        """The population of a map-style torch Dataset of (x, y), in which example i belongs to owners[i]."""
        if not isinstance(dataset, Sized):
            raise FedregError("population: the dataset has no length; one that can be indexed is needed")
        examples = [dataset[i] for i in range(len(dataset))]
        require(len(examples) > 0, "population: the dataset is empty")
        for i, example in enumerate(examples):
            require(
                isinstance(example, Sequence) and len(example) == 2,
                f"population: item {i} of the dataset is no (x, y) pair, but a {type(example).__name__}",
            )
        columns = [[tensor(f"item {i}", item[k]) for i, item in enumerate(examples)] for k in (0, 1)]
        for column in columns:
            odd = [i for i, item in enumerate(column) if item.shape != column[0].shape]
            require(
                not odd, f"population: item {odd[:1]} of the dataset has another shape than item 0; resize them first"
            )
        x, y = map(torch.stack, columns)
        return Population.from_owners(x, y, owners)

    @staticmethod
    def from_hugging_face(dataset: Any, label: str, owner: str, inputs: str | None = None) -> "Population":
        """The population of a Hugging Face datasets.Dataset by its columns' names; images become [0, 1]."""
        columns = list(dataset.column_names)
        others = [c for c in columns if c not in (label, owner)]
        inputs = inputs if inputs is not None or len(others) != 1 else others[0]
        for role, name in (("label", label), ("owner", owner), ("inputs", inputs)):
            require(name in columns, f"population: {role} = {name!r} is not one of the dataset's columns {columns}")
        table = dataset.with_format("torch")[:]
        x, y = table[inputs], table[label]
        require(
            isinstance(x, Tensor), f"population: the examples in column {inputs!r} differ in shape; resize them first"
        )
        feature = dataset.features[inputs]
        if type(feature).__name__ == "Image" or getattr(feature, "dtype", None) == "uint8":
            x = x / 255
        return Population.from_owners(x, y, list(dataset.with_format(None)[owner]))

    def __len__(self) -> int:
        """How many clients there are."""
        return len(self.shares.offsets) - 1

    def lengths(self) -> Tensor:
        """How many examples each client has."""
        return self.shares.offsets.diff()

    def data(self, client: int, outputs: int, like: Vector, epochs: Iterable[torch.Generator] = ()) -> Data:
        """The client's examples on like's device, in its precision; classes as one-hot labels of so many outputs.

        Where they are augmented, they look in each epoch as its generator says.
        """
        start, end = self.shares.offsets[client : client + 2].tolist()
        rows = self.shares.rows[start:end]
        x, y = seen(self.x[rows], self.view, like), self.y[rows].to(like.device)
        y = y if y.is_floating_point() else one_hot(y.long(), outputs)
        w = torch.ones(len(rows), dtype=like.dtype, device=like.device)
        return Data(x, y.to(like.dtype), w, () if self.augment is None else crops(self.augment, x, epochs))

    def summary(self) -> Summary:
        """Numbers that describe the population, and a hash of who owns which example with which label.

        Of the inputs themselves every so manieth enters the hash, so that it takes no long time.
        """
        rows, offsets = (part.numpy() for part in self.shares)
        labels = self.y[self.shares.rows].cpu().numpy()
        lengths = self.lengths().numpy()
        digest = hashlib.sha256()
        some = self.x[:: 1 + self.x.nbytes // 2**26].cpu().numpy()
        for array in (rows, offsets, labels, some):
            digest.update(repr((array.shape, str(array.dtype))).encode() + np.ascontiguousarray(array).tobytes())
        classes = None
        if not self.y.is_floating_point():
            owner = np.repeat(np.arange(len(self)), lengths)
            pairs = np.unique(np.stack([owner, labels]), axis=1)
            classes = spread(np.bincount(pairs[0]))
        return Summary(len(self), len(rows), spread(lengths), classes, digest.hexdigest())


def distributions(y: Tensor) -> bool:
    """Whether each label is a distribution over classes."""
    if y.ndim != 2 or not bool((y >= 0).all()):
        return False
    return bool((y.sum(1) - 1).abs().max() < 1e-4) if len(y) else True


def spread(numbers: Any) -> tuple[int, float, int]:
    """Least, median and most."""
    return int(np.min(numbers)), float(np.median(numbers)), int(np.max(numbers))
