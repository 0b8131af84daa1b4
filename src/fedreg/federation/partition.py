"""Who owns which examples: every example at most once, every client at least one, all of it seeded."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, final, runtime_checkable

import numpy as np
import torch
from jaxtyping import Int, Integer
from torch import Tensor

from ..core.errors import FedregError, require
from ..core.rng import number
from .sizes import PowerLaw, Sizes, in_proportion, sizes_of

Labels: TypeAlias = Integer[np.ndarray, " n"]  # classes, as bytes or as anything wider
Piles: TypeAlias = Int[np.ndarray, " k"]  # how many examples each of k piles holds
Owners: TypeAlias = Sequence[Any] | np.ndarray | Tensor  # a number or a name an example
Counts: TypeAlias = Int[np.ndarray, "clients k"]  # how many a client takes from each


class Shares(NamedTuple):
    """Client i owns the examples rows[offsets[i] : offsets[i + 1]]."""

    rows: Int[Tensor, " n"]
    offsets: Int[Tensor, " clients_and_one"]


@runtime_checkable
class Partition(Protocol):
    """A way to deal examples to clients."""

    def shares(self, n: int, labels: Labels | None, owners: Owners | None, seed: int) -> Shares:
        """Who gets which of n examples, whose classes and owners are given if they have any; the seed decides."""


class Deal(ABC):
    """A partition that draws examples from shuffled piles, such as one a class."""

    @abstractmethod
    def piles(self, n: int, labels: Labels | None) -> Labels:
        """The pile that each of n examples lies on."""

    @abstractmethod
    def counts(self, piles: Piles, random: np.random.Generator) -> Counts:
        """How many examples each client takes from each pile."""

    def shares(self, n: int, labels: Labels | None, owners: Owners | None, seed: int) -> Shares:
        require(n > 0, "partition: there are no examples to deal")
        random = np.random.default_rng(number(seed, "partition") % 2**64)
        pile_of = np.unique(self.piles(n, labels), return_inverse=True)[1]
        counts = random.permutation(self.counts(np.bincount(pile_of), random))
        rows, owner = [], []
        for pile, count in enumerate(counts.T):
            rows.append(random.permutation(np.flatnonzero(pile_of == pile))[: count.sum()])
            owner.append(np.repeat(np.arange(len(count)), count))
        return shares_of(np.concatenate(owner), np.concatenate(rows))


def classes_of(labels: Labels | None, kind: str) -> Labels:
    """The labels, if there are classes."""
    if labels is None:
        raise FedregError(
            f'partition: kind = "{kind}" needs classes, and these labels are not; use "uniform" or "by_owner"'
        )
    return labels


def shares_of(owner: Labels, rows: Labels) -> Shares:
    """The shares in which rows[i] belongs to the client numbered owner[i]."""
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owner))])
    return Shares(torch.from_numpy(rows[np.argsort(owner, kind="stable")]), torch.from_numpy(offsets))


@final
@dataclass(frozen=True)
class Uniform(Deal):
    """Examples dealt at random."""

    sizes: Sizes
    clients: int | None = None
    kind: Literal["uniform"] = "uniform"

    def piles(self, n: int, labels: Labels | None) -> Labels:
        return np.zeros(n, dtype=np.int64)

    def counts(self, piles: Piles, random: np.random.Generator) -> Counts:
        return sizes_of(self.sizes, self.clients, int(piles.sum()))[:, None]


@final
@dataclass(frozen=True)
class ByClass(Deal):
    """Each client has examples of so many classes alone, as evenly as its size allows."""

    sizes: Sizes
    clients: int | None = None
    classes: int = 1
    kind: Literal["by_class"] = "by_class"

    def piles(self, n: int, labels: Labels | None) -> Labels:
        return classes_of(labels, self.kind)

    def counts(self, piles: Piles, random: np.random.Generator) -> Counts:
        k = self.classes
        require(1 <= k <= len(piles), f"partition by class: classes = {k} a client, but there are {len(piles)} classes")
        sizes = np.sort(sizes_of(self.sizes, self.clients, int(piles.sum())))[::-1]
        smallest = int(sizes[-1])
        require(smallest >= k, f"partition by class: a client of {smallest} examples cannot have {k} classes")
        counts = np.zeros((len(sizes), len(piles)), dtype=np.int64)
        left, ties = piles.copy(), random.random(counts.shape)
        for i, size in enumerate(sizes):  # the largest client first, from the fullest piles
            fullest = np.lexsort((ties[i], -left))[:k]
            part = size // k + (np.arange(k) < size % k)
            if (part > left[fullest]).any():
                if i and self.clients is None and isinstance(self.sizes, int):
                    return counts[:i]
                raise FedregError(
                    f"partition by class: client {i + 1} of {len(sizes)}, largest first, needs {part.max()} examples "
                    f"of a class and the fullest has {left.max()} left; use smaller sizes or fewer clients"
                )
            counts[i, fullest] = part
            left[fullest] -= part
        return counts


@final
@dataclass(frozen=True)
class Dirichlet(Deal):
    """Each client's classes in proportions drawn from Dirichlet(alpha), as far as the examples last."""

    alpha: float
    sizes: Sizes
    clients: int | None = None
    kind: Literal["dirichlet"] = "dirichlet"

    def __post_init__(self) -> None:
        require(0 < self.alpha < inf, f"Dirichlet: alpha = {self.alpha} must be positive and finite")

    def piles(self, n: int, labels: Labels | None) -> Labels:
        return classes_of(labels, self.kind)

    def counts(self, piles: Piles, random: np.random.Generator) -> Counts:
        sizes = random.permutation(sizes_of(self.sizes, self.clients, int(piles.sum())))
        proportions = random.dirichlet(np.full(len(piles), self.alpha), size=len(sizes))
        counts = np.zeros((len(sizes), len(piles)), dtype=np.int64)
        left = piles.copy()
        for i, size in enumerate(sizes):
            while missing := size - counts[i].sum():  # each pass but the last empties a pile, so this ends
                p = np.where(left > 0, proportions[i], 0)
                p = p if p.sum() > 0 else (left > 0).astype(float)
                taken = np.minimum(random.multinomial(missing, p / p.sum()), left)
                counts[i] += taken
                left -= taken
        return counts


@final
@dataclass(frozen=True)
class ByOwner:
    """Each example goes to the owner that the dataset names, by a number or by a name that is not empty."""

    nameless: Literal["refuse", "in_proportion"] = "refuse"  # what becomes of examples whose owner is ""
    kind: Literal["by_owner"] = "by_owner"

    def shares(self, n: int, labels: Labels | None, owners: Owners | None, seed: int) -> Shares:
        names = self.names(n, owners)
        has_owner = names != "" if names.dtype.kind in "UO" else np.ones(n, dtype=bool)
        rows, others = np.flatnonzero(has_owner), np.flatnonzero(~has_owner)
        owner = np.unique(names[rows], return_inverse=True)[1]
        if len(others):
            require(
                self.nameless == "in_proportion",
                f"partition by owner: {len(others)} of {n} examples have no owner; drop them, or set "
                'nameless = "in_proportion"',
            )
            require(len(rows) > 0, f"partition by owner: none of the {n} examples has an owner, so there is no client")
            random = np.random.default_rng(number(seed, "partition") % 2**64)
            counts = in_proportion(len(others), np.bincount(owner), random)
            rows = np.concatenate([rows, random.permutation(others)])
            owner = np.concatenate([owner, np.repeat(np.arange(len(counts)), counts)])
        return shares_of(owner, rows)

    def names(self, n: int, owners: Owners | None) -> np.ndarray:
        """The owners as an array, if they are one number or one name an example."""
        if owners is None:
            raise FedregError('partition by owner: this dataset names no owners; use "by_class" or "uniform"')
        require(
            isinstance(owners, Sequence | np.ndarray | Tensor), "partition by owner: owners must be a list or an array"
        )
        kinds = {type(owner).__name__ for owner in owners} if isinstance(owners, Sequence) else set()
        require(
            len(kinds) <= 1 and kinds.isdisjoint({"NoneType", "list", "tuple"}),
            f"partition by owner: owners must be all numbers or all names, and these are {sorted(kinds)}",
        )
        require(len(owners) == n, f"partition by owner: {len(owners)} owners are given for {n} examples")
        require(n > 0, "partition: there are no examples to deal")
        names = np.asarray(owners)
        require(names.ndim == 1, f"partition by owner: owners have shape {names.shape}; one an example is needed")
        if names.dtype.kind == "O":
            return self.names(n, list(names))
        if names.dtype.kind == "f" and np.isnan(names).any():
            i = int(np.isnan(names).argmax())
            raise FedregError(
                f"partition by owner: the owner of example {i} is nan; drop the example or name its owner"
            )
        return names


__all__ = ["ByClass", "ByOwner", "Dirichlet", "Partition", "PowerLaw", "Shares", "Uniform"]
