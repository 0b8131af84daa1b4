"""Datasets on this machine: arrays in one folder a dataset, there whole or not at all, and mapped into memory."""

import json
import os
import shutil
from collections.abc import Mapping
from math import prod
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from platformdirs import user_cache_path

from ..core.errors import FedregError, require
from .source import Arrays, Contents, Rows, Source, Watch, content_of

STATISTICS = ("mean", "deviation")  # of the pixels, beside what a source has


class State(NamedTuple):
    """Whether a dataset is here, and how much of the disk it takes."""

    here: bool
    megabytes: float
    half: float  # megabytes of a download that was cut off


def cache() -> Path:
    """The folder of all datasets: FEDREG_DATA, or this platform's cache."""
    chosen = os.environ.get("FEDREG_DATA")
    return Path(chosen).expanduser() if chosen else user_cache_path("fedreg") / "data"


def downloads(name: str) -> Path:
    """The folder of a dataset's files as they come."""
    return cache() / "downloads" / name


def nobody(name: str, done: int, whole: int | None) -> None:
    """Watches nothing."""


def keep(source: Source, contents: Contents, watch: Watch = nobody) -> None:
    """Put the arrays in their place, whole; an error if they are not the official ones."""
    place = cache() / source.name
    new = Path(mkdtemp(prefix=f"{source.name}.new-", dir=made(cache())))
    try:
        for name, array in contents.items():
            write(new / f"{name}.npy", array, watch)
        content = content_of(mapped(new))
        require(
            source.content in (None, content),
            f"{source.name}: these are not the numbers that it is known by (sha256 {content[:12]}..., not "
            f"{source.content}); the copy is damaged, or of another version: get another one",
        )
        for name, array in statistics(mapped(new)["train_x"]).items():
            write(new / f"{name}.npy", array, watch)
        facts: dict[str, Any] = {"name": source.name, "sha256": content, "files": stamps(new)}
        facts |= {"licence": source.licence, "citation": source.citation}
        (new / "about.json").write_text(json.dumps(facts, indent=2), encoding="utf-8")
        if place.exists():
            shutil.rmtree(place)
        new.rename(place)
    except OSError as error:
        raise FedregError(
            f"{source.name} cannot be kept in {cache()}: {error.strerror}; make room, or name another folder by "
            "FEDREG_DATA"
        ) from error
    finally:
        shutil.rmtree(new, ignore_errors=True)


def write(path: Path, array: NDArray[Any] | Rows, watch: Watch) -> None:
    """Write the array to its file, through a plain file rather than a mapping, for which a full disk is a crash."""
    if not isinstance(array, Rows):
        np.save(path, np.ascontiguousarray(array), allow_pickle=False)
        return
    with path.open("wb") as file:
        header = {"descr": "|u1", "fortran_order": False, "shape": array.shape}
        np.lib.format.write_array_header_1_0(file, header)
        for i, row in enumerate(array.made()):
            file.write(row.tobytes())
            watch(path.stem, (i + 1) * row.nbytes, prod(array.shape))


def mapped(folder: Path) -> dict[str, NDArray[Any]]:
    """The arrays in a folder, mapped into memory; what is written to one, by mistake, stays in memory."""
    return {path.stem: np.load(path, mmap_mode="c", allow_pickle=False) for path in sorted(folder.glob("*.npy"))}


def statistics(x: NDArray[Any]) -> Arrays:
    """Mean and deviation of each pixel, in units of 1 for the brightest."""
    total, squares = np.zeros(x.shape[1:]), np.zeros(x.shape[1:])
    for part in np.array_split(x, max(1, x.size // 2**25)):
        total += (part / 255).sum(0)
        squares += np.square(part / 255).sum(0)
    mean = total / len(x)
    return {"mean": mean, "deviation": np.sqrt(np.maximum(squares / len(x) - mean**2, 0))}


def made(folder: Path) -> Path:
    """The folder, which is there from now on."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FedregError(f"cannot make {folder}: {error.strerror}; name another folder by FEDREG_DATA") from error
    return folder


def stored(name: str, offered: bool = True) -> dict[str, NDArray[Any]]:
    """The arrays of a dataset that is here, mapped into memory."""
    place = cache() / name
    require((place / "about.json").exists(), f"dataset {name} is not in {cache()}; type: {remedy(name, offered)}")
    try:
        arrays = mapped(place)
        if facts(name).get("files") != stamps(place):  # somebody wrote to them, or copied them
            numbers = {key: array for key, array in arrays.items() if key not in STATISTICS}
            require(content_of(numbers) == facts(name)["sha256"], "it was changed since it was kept")
    except (OSError, ValueError, KeyError) as error:
        raise FedregError(f"dataset {name} in {place} is damaged ({error}); type: {remedy(name, offered)}") from error
    return arrays


def stamps(folder: Path) -> dict[str, list[int]]:
    """The size of each array's file, and when it was last written to."""
    return {path.name: [path.stat().st_size, path.stat().st_mtime_ns] for path in sorted(folder.glob("*.npy"))}


def remedy(name: str, offered: bool) -> str:
    """How a dataset is had, if it is offered for download and if not."""
    if not offered:
        return f"fedreg data add {name} PATH, with a copy of your own"
    return f"fedreg data get {name} (or, with a copy of your own, fedreg data add {name} PATH)"


def facts(name: str) -> Mapping[str, Any]:
    """What is said of a dataset that is here."""
    told: Mapping[str, Any] = json.loads((cache() / name / "about.json").read_text(encoding="utf-8"))
    return told


def state(name: str) -> State:
    """Whether the dataset is here."""
    return State((cache() / name / "about.json").exists(), megabytes(cache() / name), megabytes(downloads(name)))


def megabytes(folder: Path) -> float:
    """The size of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
