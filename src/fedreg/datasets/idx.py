"""The format of MNIST's files and of all that look like them."""

import gzip
import zlib
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import FedregError, require
from .source import Arrays, find

TYPES: dict[int, np.dtype[Any]] = {8: np.dtype(np.uint8), 12: np.dtype(">i4")}  # by the third byte of a file


def read_idx(path: Path) -> NDArray[Any]:
    """The array of bytes or whole numbers in an idx file, compressed or not."""
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise FedregError(f"{path} cannot be read: {error}; get it again") from error
    require(
        len(raw) > 4 and raw[:2] == b"\0\0" and raw[2] in TYPES and len(raw) >= 4 + 4 * raw[3],
        f"{path} is not an idx file of bytes or whole numbers; get it again",
    )
    kind, dimensions = TYPES[raw[2]], raw[3]
    shape = tuple(map(int, np.frombuffer(raw, ">i4", count=dimensions, offset=4)))
    start = 4 + 4 * dimensions
    require(
        len(raw) - start == prod(shape) * kind.itemsize,
        f"{path} has {(len(raw) - start) // kind.itemsize} numbers where {shape} are said to be; get it again",
    )
    return np.frombuffer(raw, kind, offset=start).reshape(shape)


def read_images(folder: Path, stem: str = "", upright: bool = True, test: str = "t10k") -> Arrays:
    """Images and labels from the four idx files below folder; those that are not upright lie on their side."""
    arrays = {}
    for split, name in (("train", "train"), ("test", test)):
        images = read_idx(find(folder, *either(f"{stem}{name}-images-idx3-ubyte")))
        labels = read_idx(find(folder, *either(f"{stem}{name}-labels-idx1-ubyte")))
        require(
            len(images) == len(labels) > 0, f"{folder}: {len(images)} {split} images but {len(labels)} labels; get both"
        )
        arrays[f"{split}_x"] = (images if upright else images.transpose(0, 2, 1))[:, None]
        arrays[f"{split}_y"] = labels
    return arrays


def either(name: str) -> tuple[str, str, str]:
    """The names under which an idx file is found."""
    return name, f"{name}.gz", name.replace("-idx", ".idx")
