"""Downloads that go on where they were cut off, from the first place that answers."""

import shutil
import subprocess
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pooch
import requests

from ..core.errors import FedregError, require
from .source import Mirror, Source, Watch
from .store import cache, downloads, keep, made, nobody

BLOCK = 2**18
BROKEN = (  # what reading an archive that is none, or half of one, may raise
    OSError, EOFError, ValueError, zlib.error, zipfile.BadZipFile, tarfile.TarError, subprocess.SubprocessError,
)  # fmt: skip
pooch.get_logger().setLevel("ERROR")  # what it would say is said by watch


def get(source: Source, watch: Watch) -> str:
    """Download the dataset, verify it and keep it; the place it came from."""
    require(
        bool(source.mirrors),
        f"{source.name} cannot be downloaded by a program; add a copy: fedreg data add {source.name} PATH "
        f"({source.layout})",
    )
    made(cache())
    refusals = []
    for mirror in source.mirrors:
        try:
            paths = retrieved(mirror, downloads(source.name), watch)
            with TemporaryDirectory(dir=downloads(source.name)) as folder:
                keep(source, mirror.read(unpacked(paths, Path(folder))), watch)
        except BROKEN as error:
            refusals.append(f"{mirror.where}: {reason(error)}")
            continue
        shutil.rmtree(downloads(source.name))
        return mirror.where
    raise FedregError(
        f"{source.name} could not be had ({'; '.join(refusals)}); try again, or add a copy: "
        f"fedreg data add {source.name} PATH ({source.layout})"
    )


def reason(error: Exception) -> str:
    """Why a place did not do, in a few words."""
    if isinstance(error, requests.ConnectionError):
        return "cannot be reached"
    return str(error).split("\n")[0]


def add(source: Source, path: Path, watch: Watch = nobody) -> None:
    """Keep the user's own copy, a folder or an archive with the official layout."""
    require(path.exists(), f"there is no {path}; give a folder or an archive ({source.layout})")
    with TemporaryDirectory() as folder:
        try:
            keep(source, source.read(unpacked([path], Path(folder))), watch)
        except BROKEN as error:
            what = str(error).replace(folder, str(path))  # what is wrong in an archive is told by its own name
            raise FedregError(f"{path} is no copy of {source.name}: {what} (wanted: {source.layout})") from error


def retrieved(mirror: Mirror, into: Path, watch: Watch) -> list[Path]:
    """The files of a mirror, as they come."""
    paths = []
    for file in mirror.files:
        path = pooch.retrieve(
            url=file.address(), known_hash=file.hash, fname=file.name, path=made(into),
            downloader=Resuming(into / f"{file.name}.part", watch),
        )  # fmt: skip
        paths.append(Path(path))
    return paths


@dataclass(frozen=True)
class Resuming:
    """A downloader for pooch that keeps what it has when it is cut off, and asks for the rest the next time."""

    part: Path
    watch: Watch

    def __call__(self, url: str, output_file: Any, _: Any) -> None:
        have = self.part.stat().st_size if self.part.exists() else 0
        headers = {"Range": f"bytes={have}-"} if have else {}
        with requests.get(url, headers=headers, stream=True, timeout=(10, 60)) as answer:
            if answer.status_code != requests.codes.requested_range_not_satisfiable:  # else all of it is here
                answer.raise_for_status()
                if answer.status_code != requests.codes.partial_content:
                    have = 0  # the place sends it from the start
                self.write(answer, have)
        self.part.replace(output_file)

    def write(self, answer: requests.Response, have: int) -> None:
        """Put what comes behind what there is."""
        length = answer.headers.get("content-length")
        whole = have + int(length) if length else None
        with self.part.open("ab" if have else "wb") as file:
            for block in answer.iter_content(BLOCK):
                file.write(block)
                have += len(block)
                self.watch(self.part.stem, have, whole)


def unpacked(paths: Sequence[Path], into: Path) -> Path:
    """A folder with all that is in these archives; a folder that was given as it is."""
    for path in paths:
        if path.is_dir():
            return path
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                archive.extractall(into)
        elif path.suffix == ".deb":
            subprocess.run(["dpkg-deb", "--extract", path, into], check=True, capture_output=True)
        elif tarfile.is_tarfile(path):
            with tarfile.open(path) as archive:
                archive.extractall(into, filter="data")
        else:
            (into / path.name).symlink_to(path.resolve())
    return into


def npm(package: str) -> Callable[[], str]:
    """Where npm has the archive of a package."""
    return lambda: said(["npm", "view", package, "dist.tarball"]).strip()


def debian(package: str) -> Callable[[], str]:
    """Where apt has the archive of a package."""

    def address() -> str:
        with TemporaryDirectory() as empty:  # of an archive that lies where it is asked, apt says nothing
            return said(["apt-get", "download", "--print-uris", package], empty).split("'")[1]

    return address


def said(command: list[str], where: str = ".") -> str:
    """What a package manager answers."""
    require(shutil.which(command[0]) is not None, f"{command[0]} is not installed")
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=where)
    complaint = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
    require(done.returncode == 0 and bool(done.stdout.strip()), f"{' '.join(command)}: {complaint}")
    return done.stdout
