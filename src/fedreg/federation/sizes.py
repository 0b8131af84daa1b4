"""How many examples each client has."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal, TypeAlias, final

import numpy as np
from jaxtyping import Int

from ..core.errors import require


@final
@dataclass(frozen=True)
class PowerLaw:
    """Sizes that fall with a client's rank r as r^-exponent, from smallest up to largest."""

    exponent: float
    smallest: int = 1
    largest: int | None = None

    def __post_init__(self) -> None:
        require(0 <= self.exponent < inf, f"PowerLaw: exponent = {self.exponent} must be finite and not negative")
        require(self.smallest >= 1, f"PowerLaw: smallest = {self.smallest} would leave a client empty")
        largest = self.largest or self.smallest
        require(largest >= self.smallest, f"PowerLaw: largest = {largest} is less than smallest = {self.smallest}")

    def sizes(self, clients: int, examples: int) -> Int[np.ndarray, " clients"]:
        """The clients' sizes, which add up to examples or, if largest forbids it, to less."""
        need = clients * self.smallest
        require(
            need <= examples,
            f"PowerLaw: {clients} clients of at least {self.smallest} need {need} examples and there are {examples}",
        )
        ranks = np.arange(1, clients + 1, dtype=float) ** -self.exponent
        extra = (examples - need) * ranks / ranks.sum()
        sizes: Int[np.ndarray, " clients"] = self.smallest + np.floor(extra).astype(np.int64)
        sizes[: examples - sizes.sum()] += 1
        return sizes.clip(max=self.largest or examples)


Sizes: TypeAlias = int | Literal["equal"] | PowerLaw | Sequence[int]


def sizes_of(sizes: Sizes, clients: int | None, examples: int) -> Int[np.ndarray, " clients"]:
    """Each client's number of examples. For a plain number, clients may be left out: as many as there is enough for."""
    require(clients is None or clients >= 1, f"partition: clients = {clients}; there must be at least one")
    if isinstance(sizes, int):
        require(sizes >= 1, f"partition: sizes = {sizes} would leave the clients empty")
        wanted = np.full(examples // sizes if clients is None else clients, sizes)
    elif isinstance(sizes, str | PowerLaw):
        named = sizes if isinstance(sizes, str) else "a power law"
        require(clients is not None, f"partition: sizes are {named}; say how many clients there are")
        wanted = dealt(sizes, clients or 0, examples)
    else:
        require(clients in (None, len(sizes)), f"partition: {len(sizes)} sizes are given for clients = {clients}")
        require(min(sizes, default=0) >= 1, "partition: the sizes must name at least one client and leave none empty")
        wanted = np.asarray(sizes, dtype=np.int64)
    require(len(wanted) > 0, f"partition: {examples} examples are not enough for one client; use smaller sizes")
    total = int(wanted.sum())
    require(
        total <= examples,
        f"partition: {len(wanted)} clients want {total} examples and there are {examples}; "
        "use smaller sizes or fewer clients",
    )
    return wanted


def dealt(sizes: Literal["equal"] | PowerLaw, clients: int, examples: int) -> Int[np.ndarray, " clients"]:
    """All examples dealt to the clients, equally or by a power law."""
    require(
        1 <= clients <= examples,
        f"partition: clients = {clients}, but {examples} examples serve 1 to {examples} clients",
    )
    if isinstance(sizes, PowerLaw):
        return sizes.sizes(clients, examples)
    equal = np.full(clients, examples // clients)
    equal[: examples % clients] += 1
    return equal


def in_proportion(
    examples: int, sizes: Int[np.ndarray, " clients"], random: np.random.Generator
) -> Int[np.ndarray, " clients"]:
    """How many of these examples each client gets: in proportion to its size, by largest remainders, ties drawn."""
    counts, remainders = np.divmod(examples * sizes, sizes.sum())
    first = np.lexsort((random.random(len(sizes)), -remainders))
    counts[first[: examples - counts.sum()]] += 1
    return counts
