from dataclasses import replace

import pytest
import torch

from fedreg import FedregError
from fedreg.datasets import DATASETS, SOURCES, scaled
from fedreg.datasets.scaling import FLOOR
from fedreg.datasets.store import keep

from .copies import images


@pytest.fixture
def dataset(tmp_path, monkeypatch):
    monkeypatch.setenv("FEDREG_DATA", str(tmp_path))
    x, y = images(300, side=9, channels=2)
    source = replace(SOURCES["mnist"], content=None)
    keep(source, {"train_x": x, "train_y": y, "test_x": x[:50], "test_y": y[:50]})
    return DATASETS["mnist"]()


def test_scalings_are_what_they_say(dataset):
    x = dataset.train.x.double() / 255
    assert torch.allclose(dataset.train.view(dataset.train.x), x.float())
    channel = scaled(dataset, "channel").train
    seen = channel.view(channel.x)
    assert torch.allclose(seen.mean((0, 2, 3)), torch.zeros(2), atol=1e-4)
    assert torch.allclose(seen.std((0, 2, 3), correction=0), torch.ones(2), atol=1e-4)
    pixel = scaled(dataset, "pixel")
    by_hand = (x - x.mean(0)) / (x.std(0, correction=0) + FLOOR)
    assert torch.allclose(pixel.train.view(pixel.train.x), by_hand.float(), atol=1e-4)
    assert torch.allclose(pixel.test.view(pixel.test.x), by_hand[:50].float(), atol=1e-4)


def test_numbers_are_not_scaled_as_bytes():
    with pytest.raises(FedregError, match="numbers already"):
        scaled(DATASETS["digits"](), "pixel")
