"""COVID-CT: slices of lungs from papers on COVID-19, 349 of patients who have it and 397 of others."""

import re
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import require
from .pictures import square
from .source import Arrays, Source, find

KINDS = ("NonCOVID", "COVID")  # by label
SIDE = 256  # the sides of the images are 61 to 1,671 long; a network is shown 224 of these
PAPER = re.compile(r"2020\.\d\d\.\d\d\.\d+|PIIS\d+|.+?(?=[-_]p\d)")  # a preprint, The Lancet's, others: page follows


def read(folder: Path) -> Arrays:
    """Images, labels and owners by the official split.

    Its validation images are in neither part. The training images of COVID-19 alone are from 32 papers, which is the
    number of clients in the FedReg paper; with the validation images they would be from 40.
    """
    arrays: dict[str, NDArray[Any]] = {}
    with TemporaryDirectory() as spare:
        files = [images_of(folder, kind, Path(spare)) for kind in KINDS]
        for split in ("train", "test"):
            names = [(label, name) for label in (0, 1) for name in named(folder, split, KINDS[label], files[label])]
            arrays[f"{split}_x"] = np.stack([square(files[label][name], SIDE) for label, name in names])
            arrays[f"{split}_y"] = np.array([label for label, _ in names], np.uint8)
            if split == "train":
                arrays["train_owners"] = np.array([paper_of(name) if label else "" for label, name in names])
    return arrays


def images_of(folder: Path, kind: str, spare: Path) -> dict[str, Path]:
    """The image files of a kind by their names, from a folder or from an archive, which is unpacked into spare."""
    place = find(folder, f"CT_{kind}", f"CT_{kind}.zip")
    if place.is_file():
        require(zipfile.is_zipfile(place), f"{place} is not a zip file; get it again")
        with zipfile.ZipFile(place) as archive:
            archive.extractall(spare / place.name)  # so that an error about an image names its archive
        place = spare / place.name
    return {path.name: path for path in place.rglob("*") if path.is_file()}


def named(folder: Path, split: str, kind: str, files: dict[str, Path]) -> list[str]:
    """The names of a kind's images in a part of the split, all of which are there."""
    path = find(folder, f"{split}CT_{kind}.txt")
    names = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    require(bool(names), f"{path} names no image; get it again")
    missing = [name for name in names if name not in files]
    require(
        not missing,
        f"{path} names {len(missing)} images that are not in CT_{kind}, such as {missing[:1]}; get all of them",
    )
    return names


def paper_of(name: str) -> str:
    """The paper that an image is from, which is the start of its name."""
    found = PAPER.match(name)
    return found[0] if found else name


COVID_CT = Source(
    name="covid-ct",
    about="CT images of lungs with and without COVID-19, by the paper they are from",
    licence="copyright of the papers' authors and publishers",
    citation="Zhao, Zhang, He and Xie, COVID-CT-Dataset: a CT scan dataset about COVID-19, 2020, arXiv:2003.13865; "
    "split: He et al., Sample-Efficient Deep Learning for COVID-19 Diagnosis Based on CT Scans, 2020, medRxiv",
    megabytes=127,
    layout="the repository UCSD-AI4H/COVID-CT: Images-processed with CT_COVID and CT_NonCOVID, folders or .zip files, "
    "and Data-split with trainCT_COVID.txt, testCT_COVID.txt and the same of NonCOVID",
    read=read,
    content=None,  # two versions of a JPEG decoder may differ by one in a pixel
)
