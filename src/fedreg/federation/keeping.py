"""What clients keep between rounds: in memory, or as records in a file, where what was written stays as it is."""

import json
import os
import weakref
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from tempfile import mkstemp
from typing import Any, NamedTuple, final

import torch
from torch import Tensor

from ..core.errors import Diverged, FedregError, not_written, require

HEADER = 256  # bytes before the first record
ALIGNED = 16  # a leaf begins at a multiple of so many bytes, so that it can be read in place
FORMAT = 1


@final
class Records:
    """A file of records of one size: some are added, and none is changed while anybody may read it."""

    def __init__(self, fd: int, place: Path, generation: int | None, like: Any, run: str, count: int = 0) -> None:
        weakref.finalize(self, os.close, fd)  # Rounds share it: it is closed, or gone if it has no name, with the last
        self.fd, self.place, self.generation, self.like, self.run, self.count = fd, place, generation, like, run, count
        ends = [0, *accumulate(-(-leaf.nbytes // ALIGNED) * ALIGNED for leaf in like)]
        self.starts: list[int] = ends[:-1]
        self.size: int = ends[-1]

    @property
    def path(self) -> Path:
        """Where the file is, or would be if it had a name."""
        return self.place / "(unnamed)" if self.generation is None else path_of(self.place, self.generation)

    def successor(self) -> "Records":
        """An empty file of the same kind."""
        if self.generation is None:
            return unnamed(self.place, self.like)
        return created(self.place, self.generation + 1, self.like, self.run)

    def header(self) -> bytes:
        """The file's first bytes, which say whose it is."""
        said = {"fedreg": "owns", "format": FORMAT, "run": self.run, "bytes": self.size}
        return json.dumps(said, sort_keys=True).encode().ljust(HEADER - 1) + b"\n"

    def needed(self) -> int:
        """The bytes of the header and of all records."""
        return HEADER + self.count * self.size

    def add(self, records: Iterable[Tensor]) -> list["Record"]:
        """Where the packed records are, once they are written after all others."""
        numbers = []
        try:
            for number, packed in enumerate(records, start=self.count):
                write(self.fd, packed.numpy().data, HEADER + number * self.size)
                numbers.append(number)
        except OSError as error:
            raise not_written(self.path, error) from error
        self.count += len(numbers)
        return [Record(self, number) for number in numbers]

    def packed(self, client: int, own: Any) -> Tensor:
        """What a client keeps as the bytes of a record; an error if it could not be read again."""
        packed = torch.zeros(self.size, dtype=torch.uint8)
        for name, start, leaf, like in zip(own._fields, self.starts, own, self.like, strict=True):
            require(
                leaf.shape == like.shape and leaf.dtype == like.dtype,
                f"{name}: client {client} keeps {tuple(leaf.shape)} {leaf.dtype}, and was enrolled with "
                f"{tuple(like.shape)} {like.dtype}; a file wants the same each round",
            )
            here = leaf.detach().cpu()
            if not here.isfinite().all():
                raise Diverged(f"client {client} keeps numbers that are not finite ({name})")
            packed[start : start + here.nbytes] = here.reshape(-1).contiguous().view(torch.uint8)
        return packed

    def read(self, client: int, number: int) -> Tensor:
        """The bytes of a record; an error if there are too few or if a number in it is not finite."""
        packed = torch.empty(self.size, dtype=torch.uint8)
        try:
            whole = fill(self.fd, packed.numpy().data, HEADER + number * self.size)
        except OSError as error:
            raise damaged(self.path, f"record {number}, of client {client}, cannot be read: {error}") from error
        if not whole:
            raise damaged(self.path, f"record {number}, of client {client}, is cut short")
        if not all(leaf.isfinite().all() for leaf in self.leaves(packed)):
            raise damaged(self.path, f"record {number}, of client {client}, has numbers that are not finite")
        return packed

    def leaves(self, packed: Tensor) -> list[Tensor]:
        """The leaves of a record, in place."""
        return [
            packed[start : start + leaf.nbytes].view(leaf.dtype).view(leaf.shape)
            for start, leaf in zip(self.starts, self.like, strict=True)
        ]

    def sync(self) -> None:
        """Wait until all records are on the disk, and the file's name."""
        try:
            os.fsync(self.fd)
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as error:
            raise not_written(self.path, error) from error


class Record(NamedTuple):
    """What a client keeps, in a file."""

    records: Records
    number: int

    def packed(self, client: int) -> Tensor:
        """Its bytes."""
        return self.records.read(client, self.number)

    def own(self, client: int) -> Any:
        """What the client keeps, on its device."""
        leaves = self.records.leaves(self.packed(client))
        like = self.records.like
        return type(like)(*(leaf.to(other.device) for leaf, other in zip(leaves, like, strict=True)))


@final
class Owns(Mapping[int, Any]):
    """What each client keeps after a round. It never changes; the next one shares most of it.

    Clients are in layers, of which the last that has one counts. In a file a layer is at least twice as large as the
    next, so that there are few, and a round copies few.
    """

    def __init__(self, layers: tuple[Mapping[int, Any], ...] = (), size: int = 0) -> None:
        self.layers, self.size = layers, size

    def place(self, client: int) -> Any:
        """What a client keeps, or the Record of it."""
        for layer in reversed(self.layers):
            if client in layer:
                return layer[client]
        raise KeyError(client)

    def __getitem__(self, client: int) -> Any:
        found = self.place(client)
        return found.own(client) if isinstance(found, Record) else found

    def __contains__(self, client: object) -> bool:
        return any(client in layer for layer in self.layers)

    def __iter__(self) -> Iterator[int]:
        return iter(self.places())

    def __len__(self) -> int:
        return self.size

    def places(self) -> dict[int, Any]:
        """What each client keeps, or the Record of it, in ascending order of the clients."""
        places = {client: place for layer in self.layers for client, place in layer.items()}
        return {client: places[client] for client in sorted(places)}

    def records(self) -> Records | None:
        """The file in which everything is, if there is one."""
        files = {place.records if isinstance(place, Record) else None for place in self.places().values()}
        return files.pop() if len(files) == 1 else None

    def plus(self, new: Mapping[int, Any], records: Records | None = None) -> "Owns":
        """These and what is new, in a file if one is given."""
        if not new:
            return self
        if records is not None:
            new = dict(zip(new, records.add(records.packed(i, own) for i, own in new.items()), strict=True))
        layers = [*self.layers, new]  # in memory there is one, lest it hold what nobody can ask for any more
        while len(layers) > 1 and (records is None or len(layers[-2]) < 2 * len(layers[-1])):
            layers[-2:] = [{**layers[-2], **layers[-1]}]
        return Owns(tuple(layers), self.size + sum(client not in self for client in new))

    def moved(self, records: Records) -> "Owns":
        """The same in another file."""
        places = self.places()
        packed = (
            place.packed(i) if isinstance(place, Record) else records.packed(i, place) for i, place in places.items()
        )
        return Owns((dict(zip(places, records.add(packed), strict=True)),), len(places))


def owns_of(owns: Mapping[int, Any]) -> Owns:
    """What each client keeps, whatever mapping holds it."""
    return owns if isinstance(owns, Owns) else Owns((dict(owns),), len(owns))


def grown(owns: Owns, new: Mapping[int, Any], records: Records | None) -> tuple[Owns, Records | None]:
    """What clients keep after a round, and the file where it is: a new one once half of the old one is of no use."""
    owns = owns.plus(new, records)
    if records is None or records.count <= 2 * len(owns):
        return owns, records
    records = records.successor()
    return owns.moved(records), records


def records_of(keep_in: Path | str | Records | None, like: Any) -> Records | None:
    """The file to keep things like this in, of which a folder gets a new one; None if there is nothing to keep."""
    if keep_in is None or not like:
        return None
    if isinstance(keep_in, Records):
        return keep_in
    require(Path(keep_in).is_dir(), f"federate: keep_in = {str(keep_in)!r} is no folder; make it, or name another")
    return unnamed(Path(keep_in), like)


def unnamed(folder: Path, like: Any) -> Records:
    """A new file in a folder, gone when nobody can read it any more."""
    try:
        fd, name = mkstemp(".owns", dir=folder)
        os.unlink(name)
    except OSError as error:
        raise not_written(folder, error) from error
    return Records(fd, folder, None, like, "")


def path_of(place: Path, generation: int) -> Path:
    """Where the file of that number is that goes with a checkpoint at place."""
    return place.with_name(f"{place.stem}.{generation}.owns")


def created(place: Path, generation: int, like: Any, run: str) -> Records:
    """A new file of a run, in place of what a crash may have left there; who holds that can still read it."""
    path = path_of(place, generation)
    try:
        path.unlink(missing_ok=True)
        records = Records(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666), place, generation, like, run)
        write(records.fd, memoryview(records.header()), 0)
    except OSError as error:
        raise not_written(path, error) from error
    return records


def opened(place: Path, generation: int, like: Any, run: str, count: int) -> Records:
    """The file of a run, to be read and gone on with after so many records; an error if it is not the one."""
    path = path_of(place, generation)
    try:
        records = Records(os.open(path, os.O_RDWR), place, generation, like, run, count)
        length, header = os.fstat(records.fd).st_size, os.pread(records.fd, HEADER, 0)
    except FileNotFoundError as error:
        raise damaged(path, "it is not there") from error
    except OSError as error:
        raise damaged(path, f"it cannot be opened: {error.strerror}") from error
    if length < records.needed():
        raise damaged(path, f"it has {length} bytes, and {records.needed()} are needed")
    if header != records.header():
        raise damaged(path, "it belongs to another run, or to another version of fedreg")
    return records


def damaged(path: Path, why: str) -> FedregError:
    """The error that says what is wrong with a file of what clients keep."""
    return FedregError(
        f"what clients keep, {path}: {why}; restore it from a copy, or move the checkpoint away to start again from "
        "round 1"
    )


def write(fd: int, rest: memoryview, at: int) -> None:
    """Write all of it at that place."""
    while rest:  # a nearly full disk takes a part, and so does a system that takes two gigabytes at once
        n = os.pwrite(fd, rest, at)
        rest, at = rest[n:], at + n


def fill(fd: int, rest: memoryview, at: int) -> bool:
    """Whether there was enough from that place on to fill the rest."""
    while rest:
        n = os.preadv(fd, [rest], at)
        if n == 0:
            return False
        rest, at = rest[n:], at + n
    return True
