"""Where a dataset comes from: its official files, mirrors of them, licence and citation."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..core.errors import require

BLOCK = 1024  # rows that are made at a time


@dataclass(frozen=True)
class Rows:
    """An array of bytes that is too large for memory, made row by row as it is kept."""

    shape: tuple[int, ...]
    row: Callable[[int], NDArray[np.uint8]]

    def made(self) -> Iterator[NDArray[np.uint8]]:
        """Every row in turn, made on all cores; never many at once."""
        with ThreadPoolExecutor() as pool:
            for start in range(0, self.shape[0], BLOCK):
                yield from pool.map(self.row, range(start, min(start + BLOCK, self.shape[0])))


Arrays: TypeAlias = Mapping[str, NDArray[Any]]  # train_x, train_y, test_x, test_y and what else there is
Contents: TypeAlias = Mapping[str, NDArray[Any] | Rows]  # likewise, as they are read
Watch: TypeAlias = Callable[[str, int, int | None], None]  # file, bytes so far, bytes in all if that is known


@dataclass(frozen=True)
class File:
    """A file to be downloaded."""

    name: str
    hash: str  # "sha256:..." or "md5:..."
    address: Callable[[], str]  # where it is now; asking may take a package manager


@dataclass(frozen=True)
class Mirror:
    """A place that has the whole dataset, and how to read what it has."""

    where: str
    files: Sequence[File]
    read: Callable[[Path], Contents]  # from a folder that holds the files, unpacked


@dataclass(frozen=True)
class Source:
    """A dataset as its makers give it."""

    name: str
    about: str
    licence: str
    citation: str
    megabytes: int  # on this disk
    layout: str  # what a copy of one's own must hold, in words
    read: Callable[[Path], Contents]  # from a folder with the official layout
    mirrors: Sequence[Mirror] = ()
    content: str | None = None  # sha256 of the arrays, where it is known


def official(url: str) -> Callable[[], str]:
    """The address of a file that stays where it is."""
    return lambda: url


def content_of(arrays: Arrays) -> str:
    """The sha256 of all the arrays: their names, types, shapes and numbers."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.data)
    return digest.hexdigest()


def find(folder: Path, *names: str) -> Path:
    """The first file of these names in the folder or below it."""
    for name in names:
        found = sorted(folder.rglob(name))
        if found:
            return found[0]
    require(False, f"{folder} has no {' or '.join(names)}")
    raise AssertionError
