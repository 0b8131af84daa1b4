"""Landmarks-User-160k as its makers give it, kept row by row."""

import errno
import os
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from fedreg import ByOwner, FedregError
from fedreg.datasets import DATASETS, SOURCES, source
from fedreg.datasets.download import add
from fedreg.datasets.landmarks import read
from fedreg.datasets.pictures import square
from fedreg.datasets.source import Rows, content_of
from fedreg.datasets.store import keep, state, stored
from fedreg.federation.population import Population

from .copies import images, landmarks

SMALL = replace(SOURCES["landmarks-user-160k"], content=None)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FEDREG_DATA", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def copy(tmp_path):
    return landmarks(tmp_path / "copy")


@pytest.mark.parametrize("flat", [False, True])
def test_images_are_found_by_their_names_and_belong_to_users(tmp_path, flat):
    add(SMALL, landmarks(tmp_path / "copy", flat))
    dataset = DATASETS["landmarks-user-160k"]()
    assert dataset.train.x.shape == (18, 3, 256, 256)
    assert dataset.test.x.shape == (6, 3, 256, 256)
    assert dataset.outputs == 3
    assert dataset.train.y.tolist() == [i % 3 for i in range(18)]
    assert dataset.owners.tolist() == [i % 4 for i in range(18)]
    wide = dataset.train.x[:, 1].float()
    assert (wide[..., 200:].mean((1, 2)) > wide[..., :56].mean((1, 2))).tolist() == [i % 3 == 1 for i in range(18)]
    population = Population.from_partition(dataset.train.x, dataset.train.y, ByOwner(), owners=dataset.owners)
    assert population.lengths().tolist() == [5, 5, 4, 4]


def test_a_test_table_that_is_elsewhere_is_not_this_one(copy):
    (copy / "metadata").mkdir()
    (copy / "metadata" / "test.csv").write_text("id,url\n1,2\n")
    assert len(read(copy)["test_y"]) == 6


def test_rows_are_kept_as_the_whole_array_would_be(monkeypatch):
    x, y = images(50, side=6, channels=3)
    arrays = {"train_x": x, "train_y": y, "test_x": x[:7], "test_y": y[:7]}
    keep(SMALL, arrays)
    whole = stored(SMALL.name)
    monkeypatch.setattr(source, "BLOCK", 8)
    rows = {**arrays, "train_x": Rows(x.shape, x.__getitem__), "test_x": Rows((7, 3, 6, 6), x.__getitem__)}
    told = []
    keep(replace(SMALL, content=content_of(arrays)), rows, lambda *words: told.append(words))
    again = stored(SMALL.name)
    assert set(again) == set(whole)
    for name, array in whole.items():
        assert again[name].dtype == array.dtype
        assert np.array_equal(again[name], array)
    assert told[49] == ("train_x", x.nbytes, x.nbytes)
    assert told[-1] == ("test_x", x[:7].nbytes, x[:7].nbytes)


def test_few_rows_are_in_memory_at_once(monkeypatch):
    monkeypatch.setattr(source, "BLOCK", 4)
    made = []
    rows = Rows((40, 2), lambda i: made.append(i) or np.zeros(2, np.uint8))
    for taken, _ in enumerate(rows.made()):
        assert len(made) <= taken + 4
    assert sorted(made) == list(range(40))


def test_a_full_disk_is_said_and_leaves_nothing(copy, cache, monkeypatch):
    def full(rows):
        yield np.zeros(3 * 256 * 256, np.uint8)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Rows, "made", full)
    with pytest.raises(FedregError, match=r"cannot be kept in .*No space left on device; make room"):
        add(SMALL, copy)
    assert list(cache.iterdir()) == []
    assert not state(SMALL.name).here


def test_no_rows_are_made_after_one_that_cannot_be(monkeypatch):
    made = []

    def row(i):
        made.append(i)
        raise FedregError("no")

    with pytest.raises(FedregError, match="no"):
        list(Rows((100_000, 1), row).made())
    assert len(made) < 2 * source.BLOCK


def file(copy, i=3):
    return sorted((copy / "train").rglob("*.jpg"))[i]


def cut_image(copy):
    file(copy).write_bytes(file(copy).read_bytes()[:200])


def missing_images(copy):
    for row in (copy / "test.csv").read_text().splitlines()[2:4]:
        next(copy.rglob(f"{row.split(',')[0]}.jpg")).unlink()


def changed(name, old, new):
    def change(copy):
        text = (copy / name).read_text()
        assert old in text
        (copy / name).write_text(text.replace(old, new, 1))

    return change


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (cut_image, r"\.jpg cannot be read as an image"),
        (missing_images, r"2 of 6 images are missing, such as .*\.jpg"),
        (lambda copy: (copy / "test.csv").unlink(), r"has no test.csv"),
        (lambda copy: (copy / "federated_train.csv").unlink(), r"has no federated_train.csv"),
        (lambda copy: (copy / "test.csv").write_text("image_id,class\n"), r"test.csv names no image"),
        (changed("federated_train.csv", "user_id", "author"), r"federated_train.csv has no column user_id"),
        (changed("federated_train.csv", "\n1,", "\nsomebody,"), r"user_id is not a number everywhere"),
        (changed("test.csv", ",0\n", "\n"), r"test.csv, row \d+: a number or a name is missing"),
        (changed("test.csv", ",0\n", ",a\n"), r"test.csv: class is not a number everywhere"),
    ],
)
def test_what_is_missing_or_damaged_is_named_in_one_line(copy, cache, damage, said):
    damage(copy)
    with pytest.raises(FedregError, match=said) as caught:
        add(SMALL, copy)
    assert "\n" not in str(caught.value)
    assert not cache.exists() or list(cache.iterdir()) == []


@pytest.mark.parametrize(("width", "height"), [(90, 60), (60, 90), (30, 20), (64, 64), (700, 31)])
def test_a_picture_is_the_middle_of_the_image_with_its_shorter_side_resized(tmp_path, width, height):
    """Red grows along the width, green along the height: what is left of both, and where, tells what was cut."""
    side, short = 32, min(width, height)
    red, green = (np.linspace(0, 240, n) for n in (width, height))
    pixels = np.stack([*np.broadcast_arrays(red[None, :], green[:, None]), np.full((height, width), 9.0)], -1)
    Image.fromarray(pixels.round().astype(np.uint8)).save(tmp_path / "a.png")
    found = square(tmp_path / "a.png", side).astype(float)
    assert found.shape == (3, side, side)
    assert (found[2] == 9).all()
    for channel, length, axis in ((0, width, 0), (1, height, 1)):
        along = found[channel].mean(axis)
        at = (length - short) / 2 + (np.arange(side) + 0.5) * short / side - 0.5  # where these pixels' middles were
        expected = np.interp(at, np.arange(length), (red, green)[channel])
        np.testing.assert_allclose(along[2:-2], expected[2:-2], atol=1.5)
        np.testing.assert_allclose(found[channel].std(axis), 0, atol=1)
