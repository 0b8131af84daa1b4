from dataclasses import replace

import pytest
import torch

from fedreg import Data, FedReg, FedregError, Plan, client_round, federate, schedule
from fedreg.core.data import Crops, stack
from fedreg.core.method import Model
from fedreg.core.module import ravel
from fedreg.core.objective import classification
from fedreg.core.rng import rng
from fedreg.datasets import DATASETS, augmented
from fedreg.datasets.augmentation import crop, resized_crop
from fedreg.engines import sequential, vectorized
from fedreg.federation.evaluation import evaluate
from fedreg.federation.examples import Examples, crops
from fedreg.federation.partition import Uniform
from fedreg.federation.population import Population

from ..cases import METHODS

X = torch.randn(6, 2, 9, 7, generator=rng(0), dtype=torch.float64)


def looks(augment, epochs=3, x=X):
    """How x looks in so many epochs."""
    return crops(augment, x, [rng(1, "augment", epoch) for epoch in range(epochs)])


def by_hand(x, down, across):
    """Bilinear reading, one number at a time; 0 beyond the image."""
    out = torch.zeros(len(x), x.shape[1], down.shape[1], across.shape[1], dtype=x.dtype)
    for b in range(len(x)):
        for i, v in enumerate(down[b].tolist()):
            for j, h in enumerate(across[b].tolist()):
                for row in (int(v // 1), int(v // 1) + 1):
                    for column in (int(h // 1), int(h // 1) + 1):
                        part = (1 - abs(v - row)) * (1 - abs(h - column))
                        if 0 <= row < x.shape[2] and 0 <= column < x.shape[3]:
                            out[b, :, i, j] += part * x[b, :, row, column]
    return out


@pytest.mark.parametrize("augment", [crop, resized_crop])
def test_images_are_read_where_the_draws_say(augment):
    found = looks(augment)
    for epoch in range(3):
        seen = found.read(X, slice(None), epoch)
        assert torch.allclose(seen, by_hand(X, found.down[:, epoch], found.across[:, epoch]), atol=1e-12)


def test_a_crop_is_a_shift_of_up_to_four_and_half_the_time_turned():
    x = torch.arange(1.0, 101).expand(400, 1, 100, 100)
    seen = looks(crop, epochs=1, x=x).read(x, slice(None), 0)
    rows = seen[:, 0, 50]
    right = rows[:, 51] > rows[:, 50]
    assert 150 < right.sum() < 250
    shifts = torch.where(right, rows[:, 50] - 51, rows[:, 49] - 51)  # exact: whole pixels are read as they are
    assert sorted(set(shifts.tolist())) == list(range(-4, 5))
    assert (seen[:, 0, :, :5] == 0).any(dim=(1, 2)).any()  # what comes in


def test_a_resized_crop_stays_inside_and_covers_half_or_more():
    found = looks(resized_crop, epochs=1, x=torch.zeros(500, 1, 64, 64))
    assert found.down.shape == (500, 1, 56)
    for at in found:
        assert at.min() >= 0
        assert at.max() <= 63
    tall, wide = (at[:, 0].amax(1) - at[:, 0].amin(1) for at in found)
    area = tall * wide / 63**2
    assert 0.45 < area.min() < 0.6
    assert 0.9 < area.max() <= 1


def test_epochs_differ_and_repeat():
    first, again, other = looks(crop), looks(crop), crops(crop, X, [rng(2, "augment", epoch) for epoch in range(3)])
    assert torch.equal(first.down, again.down)
    assert not torch.equal(first.down, other.down)
    assert not torch.equal(first.down[:, 0], first.down[:, 1])


MODULE = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(2 * 9 * 7, 3)).double()
F, THETA = classification(MODULE), ravel(MODULE)


def client(n):
    """A client whose images look different in every epoch."""
    y = torch.nn.functional.one_hot(torch.arange(n) % 3, 3).double()
    return Data(X[:n], y, torch.ones(n, dtype=torch.float64), looks(crop, x=X[:n]))


@pytest.mark.parametrize("name", METHODS)
def test_engines_agree_on_augmented_images(name):
    people = augmented_people()
    plan = Plan(rounds=2, cohort=3, epochs=3, batch_size=2)
    one, many = (list(federate(METHODS[name], F, THETA, people, plan, e)) for e in (sequential(), vectorized(2)))
    assert torch.allclose(one[-1].theta, many[-1].theta, atol=1e-12)
    (rest,) = federate(METHODS[name], F, THETA, people, plan, vectorized(2), after=many[0])
    assert torch.equal(rest.theta, many[-1].theta)
    plain = list(federate(METHODS[name], F, THETA, replace(people, augment=None), plan, sequential()))
    assert not torch.equal(one[0].theta, plain[0].theta)


def augmented_people():
    """Clients of unequal sizes."""
    x = torch.randn(20, 2, 9, 7, generator=rng(3), dtype=torch.float64)
    return Population.from_partition(x, torch.arange(20) % 3, Uniform([2, 3, 5, 4]), augment=crop)


def test_a_round_is_one_over_images_made_beforehand():
    data, batches = client(5), schedule(5, 3, 2, rng(4))
    flat = Data(
        torch.cat([data.crops.read(data.x, slice(None), epoch) for epoch in range(3)]), data.y.repeat(3, 1),
        torch.ones(15, dtype=torch.float64),
    )  # fmt: skip
    rows = torch.where(batches.rows < 0, -1, batches.rows + 5 * batches.epoch[:, None])
    method, down = METHODS["fedavg"], Model(THETA)
    augmented_round = client_round(method, F, down, (), data, batches)[0].theta
    made_round = client_round(method, F, down, (), flat, batches._replace(rows=rows))[0].theta
    assert torch.allclose(augmented_round, made_round, atol=1e-14)


def test_pseudo_data_are_of_the_images_as_first_seen():
    data = client(5)
    first = data.first()
    assert first.crops == ()
    assert torch.equal(first.x, data.crops.read(data.x, slice(None), 0))
    steps = []
    for start in (data, first):  # batches of the first epoch alone
        batches = schedule(5, 1, 2, rng(4))
        steps.append(client_round(FedReg(0.1, 0.4, 0.2), F, Model(THETA), (), start, batches)[0].theta)
    assert torch.allclose(*steps, atol=1e-14)


def test_stacking_keeps_each_images_looks():
    data, _ = stack([client(2), client(5)], [schedule(2, 3, 2, rng(0)), schedule(5, 3, 2, rng(0))])
    assert isinstance(data.crops, Crops)
    assert torch.equal(data.crops.down[0, :2], client(2).crops.down)
    assert torch.equal(data.crops.down[1], client(5).crops.down)


def test_test_images_are_shown_whole_or_their_middle():
    dataset = DATASETS["digits"]()
    assert augmented(dataset, "crop").test == dataset.test
    middle = augmented(dataset, "resized-crop").test
    assert torch.equal(middle.first(3, torch.zeros(0)), dataset.test.x[:3, :, :7, :7])
    assert middle.augment is None
    assert augmented(dataset, "resized-crop").train.first(3, torch.zeros(0)).shape == (3, 1, 7, 7)
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(49, 10))
    assert 0 <= evaluate(classification(module), ravel(module), middle).accuracy <= 1


def test_what_are_no_images_cannot_be_cropped():
    dataset = DATASETS["digits"]()
    flat = Examples(dataset.train.x.flatten(1), dataset.train.y)
    with pytest.raises(FedregError, match="omit it"):
        augmented(dataset._replace(train=flat), "crop")
