"""Landmarks-User-160k: photographs of 2,028 landmarks by 1,262 people, 164,172 to learn from and 19,526 to test on."""

import csv
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import FedregError, require
from .pictures import square
from .source import Contents, Rows, Source, find

# The FedReg paper names no resolution. The dataset's makers show a network 224 x 224 cut out of somewhat larger images,
# and DenseNet-121 is made for that; 256 leaves room for the cut, and half of it would save 27 GB and lose the details.
SIDE = 256


def read(folder: Path) -> Contents:
    """Labels, owners, and images that are read as they are kept, since all of them are 36 GB."""
    train = find(folder, "federated_train.csv")
    test = train.with_name("test.csv")  # Google Landmarks v2 has a test.csv of its own, elsewhere
    require(test.exists(), f"{train.parent} has no test.csv; it comes in one archive with federated_train.csv")
    columns = {"train": table(train, "image_id", "class", "user_id"), "test": table(test, "image_id", "class")}
    contents: dict[str, NDArray[Any] | Rows] = {"train_owners": whole(train, "user_id", columns["train"])}
    for split, path in (("train", train), ("test", test)):
        files = images(folder, [row["image_id"] for row in columns[split]])
        contents[f"{split}_x"] = Rows((len(files), 3, SIDE, SIDE), partial(ith, files))
        contents[f"{split}_y"] = whole(path, "class", columns[split])
    return contents


def ith(files: Sequence[Path], i: int) -> NDArray[np.uint8]:
    """Image i."""
    return square(files[i], SIDE)


def table(path: Path, *columns: str) -> list[dict[str, str]]:
    """The rows of a table that has these columns."""
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        missing = [column for column in columns if column not in (reader.fieldnames or [])]
        require(not missing, f"{path} has no column {' or '.join(missing)}; get it again")
        rows = list(reader)
    require(bool(rows), f"{path} names no image; get it again")
    for i, row in enumerate(rows):
        require(
            all(row[column] for column in columns), f"{path}, row {i + 1}: a number or a name is missing; get it again"
        )
    return rows


def whole(path: Path, column: str, rows: Sequence[dict[str, str]]) -> NDArray[np.int64]:
    """A column of whole numbers."""
    try:
        return np.array([int(row[column]) for row in rows])
    except ValueError as error:
        raise FedregError(f"{path}: {column} is not a number everywhere ({error}); get it again") from error


def images(folder: Path, ids: Sequence[str]) -> list[Path]:
    """The files of images, in folders of the first three letters of their names or all in one folder."""
    first = find(folder, f"{ids[0]}.jpg")
    if first.parent.parts[-3:] == tuple(ids[0][:3]):
        files = [first.parents[3].joinpath(*name[:3], f"{name}.jpg") for name in ids]
    else:
        files = [first.with_name(f"{name}.jpg") for name in ids]
    missing = [file for file in files if not file.is_file()]
    require(
        not missing, f"{len(missing)} of {len(files)} images are missing, such as {missing[:1]}; get all that are named"
    )
    return files


LANDMARKS = Source(
    name="landmarks-user-160k",
    about="photographs of 2,028 landmarks, by the person who took them",
    licence="CC BY 4.0; each image its own, CC BY or like it (train_attribution.csv of Google Landmarks v2)",
    citation="Hsu, Qi and Brown, Federated Visual Classification with Real-World Data Distribution, ECCV 2020; Weyand, "
    "Araujo, Cao and Sim, Google Landmarks Dataset v2, CVPR 2020",
    megabytes=36_123,
    layout="a folder with federated_train.csv and test.csv of landmarks-user-160k.zip and the images of Google "
    "Landmarks v2 that they name, as a/b/c/ID.jpg (the first three letters of ID) or all in one folder",
    read=read,
)
