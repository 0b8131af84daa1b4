"""The format of MNIST's files and of all that look like them."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import FedregError, require
from .source import Arrays, find


def read_idx(path: Path) -> NDArray[Any]:
    """The array of bytes in an idx file, compressed or not."""
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError) as error:
        raise FedregError(f"{path} cannot be read: {error}; get it again") from error
    require(raw[:3] == b"\0\0\x08" and len(raw) > 4, f"{path} is not an idx file of bytes; get it again")
    dimensions = raw[3]
    shape = np.frombuffer(raw, ">i4", count=dimensions, offset=4)
    size = 4 + 4 * dimensions
    require(
        len(raw) == size + int(shape.prod()),
        f"{path} has {len(raw) - size} numbers where {tuple(map(int, shape))} are said to be; get it again",
    )
    return np.frombuffer(raw, np.uint8, offset=size).reshape(shape)


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
