"""COVID-CT as its makers give it, in folders or archives, and its clients."""

import shutil
import zipfile
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from fedreg import ByOwner, FedregError
from fedreg.datasets import DATASETS, SOURCES
from fedreg.datasets.covid_ct import paper_of, read
from fedreg.datasets.download import add
from fedreg.datasets.store import stored
from fedreg.federation.population import Population

from .copies import PAPERS, covid_ct

SMALL = replace(SOURCES["covid-ct"], content=None)
OWNERS = {"2020.01.24.919183": 4, "PIIS0140673620303603": 3, "bmj.m606.full": 2}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FEDREG_DATA", str(tmp_path / "cache"))


@pytest.fixture
def copy(tmp_path):
    return covid_ct(tmp_path / "copy")


def test_the_official_split_is_read_and_its_validation_part_left_out(copy):
    arrays = read(copy)
    assert arrays["train_x"].shape == (len(PAPERS["train"]) * 2 + 2, 3, 256, 256)
    assert arrays["test_x"].shape == (len(PAPERS["test"]) * 2 + 2, 3, 256, 256)
    assert {array.dtype for name, array in arrays.items() if name.endswith("_x")} == {np.dtype(np.uint8)}
    for split, n in (("train", len(PAPERS["train"])), ("test", len(PAPERS["test"]))):
        assert np.bincount(arrays[f"{split}_y"]).tolist() == [n + 2, n]
        colour = arrays[f"{split}_x"][:, 1].astype(int)
        rising = colour[..., 200:].mean((1, 2)) > colour[..., :56].mean((1, 2))
        assert rising.tolist() == (arrays[f"{split}_y"] == 1).tolist()
    assert Counter(arrays["train_owners"]) == {**OWNERS, "": 11}
    assert set(arrays["train_owners"][arrays["train_y"] == 0]) == {""}


def test_folders_and_archives_and_an_archive_of_all_are_the_same(tmp_path, copy):
    first = read(copy)
    place = copy / "Images-processed"
    with zipfile.ZipFile(place / "CT_NonCOVID.zip") as archive:
        archive.extractall(place)
    (place / "CT_NonCOVID.zip").unlink()
    shutil.make_archive(str(place / "CT_COVID"), "zip", place, "CT_COVID")
    shutil.rmtree(place / "CT_COVID")
    add(SMALL, copy)
    packed = shutil.make_archive(str(tmp_path / "COVID-CT-master"), "zip", copy)
    for path in (copy, tmp_path / "COVID-CT-master.zip"):
        add(SMALL, path)
        again = stored("covid-ct")
        assert all(np.array_equal(first[name], again[name]) for name in first)
    assert packed.endswith("COVID-CT-master.zip")


@pytest.mark.parametrize(
    ("name", "paper"),
    [
        ("2020.01.24.919183-p27-132.png", "2020.01.24.919183"),
        ("2020.02.11.20022053-p12-67%0.png", "2020.02.11.20022053"),
        ("PIIS0140673620302117_1.png", "PIIS0140673620302117"),
        ("PIIS0140673620303603%8.png", "PIIS0140673620303603"),
        ("kjr-21-e24-p2-8.png", "kjr-21-e24"),
        ("med-9780198814924-chapter-17-p10-515.png", "med-9780198814924-chapter-17"),
        ("Recurrence_2020_International-Journal-of-Inf-p1-21%0.png", "Recurrence_2020_International-Journal-of-Inf"),
        ("mine.png", "mine.png"),
    ],
)
def test_the_paper_is_the_start_of_the_name(name, paper):
    assert paper_of(name) == paper


def test_a_client_is_a_paper_with_its_part_of_the_others(copy):
    add(SMALL, copy)
    dataset = DATASETS["covid-ct"]()
    assert dataset.outputs == 2
    deal = ByOwner(nameless="in_proportion")
    population = Population.from_partition(
        dataset.train.x, dataset.train.y, deal, 0, dataset.owners, dataset.train.view
    )
    assert population.lengths().tolist() == [4 + 5, 3 + 4, 2 + 2]  # 11 others in parts of 4.9, 3.7 and 2.4
    assert population.summary().classes == (2, 2.0, 2)
    with pytest.raises(FedregError, match="11 of 20 examples have no owner"):
        Population.from_partition(dataset.train.x, dataset.train.y, ByOwner(), 0, dataset.owners)


def cut_image(copy):
    path = copy / "Images-processed" / "CT_COVID" / "2020.01.24.919183-p27-11.png"
    path.write_bytes(path.read_bytes()[:-40])


def no_image(copy):
    (copy / "Images-processed" / "CT_COVID" / "2020.01.24.919183-p27-11.png").write_text("version https://git-lfs")


def cut_image_in_an_archive(copy):
    with zipfile.ZipFile(copy / "Images-processed" / "CT_NonCOVID.zip", "a") as archive:
        archive.writestr("CT_NonCOVID/new.jpg", b"no image")
    path = copy / "Data-split" / "NonCOVID" / "testCT_NonCOVID.txt"
    path.write_text(path.read_text() + "\nnew.jpg")


def missing_image(copy):
    (copy / "Images-processed" / "CT_COVID" / "kjr-21-e24-p5-3.png").unlink()


def no_archive(copy):
    (copy / "Images-processed" / "CT_NonCOVID.zip").write_text("version https://git-lfs")


def no_images(copy):
    (copy / "Images-processed" / "CT_NonCOVID.zip").unlink()


def no_split(copy):
    shutil.rmtree(copy / "Data-split")


def empty_split(copy):
    (copy / "Data-split" / "COVID" / "trainCT_COVID.txt").write_text("\n")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (cut_image, r"2020.01.24.919183-p27-11.png cannot be read as an image"),
        (no_image, r"2020.01.24.919183-p27-11.png cannot be read as an image"),
        (cut_image_in_an_archive, r"CT_NonCOVID.zip/CT_NonCOVID/new.jpg cannot be read as an image"),
        (missing_image, r"testCT_COVID.txt names 1 images that are not in CT_COVID, such as \['kjr-21-e24-p5-3.png'\]"),
        (no_archive, r"CT_NonCOVID.zip is not a zip file"),
        (no_images, r"has no CT_NonCOVID or CT_NonCOVID.zip"),
        (no_split, r"has no trainCT_NonCOVID.txt"),
        (empty_split, r"trainCT_COVID.txt names no image"),
    ],
)
def test_what_is_missing_or_damaged_is_named_in_one_line(copy, damage, said):
    damage(copy)
    with pytest.raises(FedregError, match=said) as caught:
        add(SMALL, copy)
    assert "\n" not in str(caught.value)
