"""MNIST with the writer of each training image, of whom there are 539, as QMNIST found them."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import require
from .idx import either, read_idx, read_images
from .mnist import MNIST
from .source import Arrays, File, Mirror, Source, find, official
from .store import stored

COMMIT = "94061367ec2e099ea18c553c75727ecf849ddb9b"
LABELS = "qmnist-train-labels-idx2-int"  # a row an image: class, series, writer and more
CLASS, WRITER = 0, 2
NAMES = ("train_x", "train_y", "test_x", "test_y")
WRITERS = File(
    f"{LABELS}.gz",
    "sha256:2c05dc77f6b916b38e455e97ab129a42a444f3dbef09b278a366f82904e0dd9f",
    official(f"https://raw.githubusercontent.com/facebookresearch/qmnist/{COMMIT}/{LABELS}.gz"),
)


def read_by_writer(folder: Path) -> Arrays:
    """MNIST, from its files below the folder or as it is kept here already, and who wrote its training images."""
    kept = not any(path for name in either("train-images-idx3-ubyte") for path in folder.rglob(name))
    mnist = {name: stored("mnist")[name] for name in NAMES} if kept else read_images(folder)
    return {**mnist, "train_owners": read_writers(folder, mnist["train_y"])}


def read_writers(folder: Path, labels: NDArray[Any]) -> NDArray[np.int64]:
    """The writer of each of the training images, which have these labels."""
    path = find(folder, *either(LABELS), "*.npz", "train.npy")  # an .npz file is a zip of .npy files
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as file:
            require("train" in file, f"{path} has no train, the writer of each training image; it has {list(file)}")
            writers = file["train"]
    elif path.suffix == ".npy":
        writers = np.load(path, allow_pickle=False)
    else:
        rows = read_idx(path)
        require(
            rows.ndim == 2 and rows.shape[1] > WRITER and np.array_equal(rows[:, CLASS], labels),
            f"{path} does not tell of these {len(labels)} images; get both again",
        )
        writers = rows[:, WRITER]
    require(
        writers.shape == labels.shape and np.issubdtype(writers.dtype, np.integer),
        f"{path}: writers are {writers.shape} {writers.dtype}; {len(labels)} whole numbers, one an image, are needed",
    )
    return np.asarray(writers, np.int64)


MNIST_BY_WRITER = Source(
    name="mnist-by-writer",
    about="MNIST, and the writer of each training image",
    licence=f"{MNIST.licence}; writers BSD",
    citation=f"{MNIST.citation}; Yadav and Bottou, Cold case: the lost MNIST digits, 2019, "
    "https://arxiv.org/abs/1905.10498",
    megabytes=56,
    layout=f"{LABELS}.gz or an .npz file with the writers as train; beside it MNIST's four idx files, unless MNIST is "
    "kept here",
    read=read_by_writer,
    mirrors=[
        Mirror("QMNIST, and the MNIST kept here", [WRITERS], read_by_writer),
        *(Mirror(f"QMNIST, and {m.where}", [WRITERS, *m.files], read_by_writer) for m in MNIST.mirrors),
    ],
    content="fadaeb4050af0e6157255f76f0f55839430a9fd7debf5d4305c8f67c4a62b0ad",
)
