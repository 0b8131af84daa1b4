"""Writing so that a crash leaves the old or the new, and a failure says what to do."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError

from ..core.errors import not_written


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Any failure to write within becomes a sentence."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        raise not_written(path, error) from error


@contextmanager
def put_in_place(path: Path) -> Iterator[Path]:
    """A path beside the given one; what is written there is put in its place at once, when it is on the disk."""
    new = path.with_name(path.name + ".new")
    try:
        yield new
        sync(new)
        os.replace(new, path)
        sync(path.parent)
    finally:
        new.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Wait until what was written to path is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
