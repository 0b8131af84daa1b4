"""EMNIST's digits, 28 x 28 pixels: the official 240,000 and 40,000, and a subset that is not the official split."""

from pathlib import Path

import numpy as np
import torch

from ..core.errors import require
from .dataset import held_out
from .idx import read_images
from .source import Arrays, File, Mirror, Source, find, official

LICENCE = "public domain (NIST)"
CITATION = "Cohen, Afshar, Tapson and van Schaik, EMNIST: extending MNIST to handwritten letters, 2017"
PARTS = 1 / 7  # of the subset's images are its test examples, as in the official split


def read_digits(folder: Path) -> Arrays:
    """The official digits, turned upright."""
    return read_images(folder, stem="emnist-digits-", upright=False, test="test")


def read_subset(folder: Path) -> Arrays:
    """Half as many digits as the official ones, a seventh of each class held out."""
    x, y = (np.load(find(folder, f"{name}.npy"), allow_pickle=False) for name in "xy")  # an .npz file is a zip of such
    require(
        x.ndim == 3 and x.dtype == np.uint8 and y.shape == x.shape[:1],
        f"{folder}: x is {x.shape} {x.dtype} and y {y.shape}; images (n, 28, 28) of bytes and n labels are needed",
    )
    held = held_out(torch.from_numpy(y), PARTS, seed=0).numpy()
    x, y = x[:, None], y.astype(np.uint8)
    return {"train_x": x[~held], "train_y": y[~held], "test_x": x[held], "test_y": y[held]}


EMNIST = Source(
    name="emnist-digits",
    about="handwritten digits of many more writers, 28 x 28",
    licence=LICENCE,
    citation=CITATION,
    megabytes=220,
    layout="the archive gzip.zip, or its four emnist-digits-*-idx*-ubyte files",
    read=read_digits,
    mirrors=[
        Mirror(
            "NIST",
            [
                File(
                    "gzip.zip",
                    "md5:58c8d27c78d21e728a6bc7b3cc06412e",
                    official("https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip"),
                )
            ],
            read_digits,
        )
    ],
)

EMNIST_SUBSET = Source(
    name="emnist-digits-subset",
    about="124,906 of EMNIST's digits, not the official split",
    licence=LICENCE,
    citation=CITATION,
    megabytes=98,
    layout="an .npz file with x (n x 28 x 28 bytes, upright) and y",
    read=read_subset,
    content="c1f06a5eee2a06e44d905d5afa06f94a8722bd18b7f6aee8ae22c0be089c210a",
)
