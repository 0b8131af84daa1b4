import pytest
import torch

from fedreg import Batch, FedregError, schedule
from fedreg.core.data import stack
from fedreg.core.rng import rng

from ..cases import client


@pytest.mark.parametrize(("n", "batch_size"), [(1, 1), (7, 3), (8, 4), (5, 100), (10, 10)])
def test_each_epoch_meets_each_example_once(n, batch_size):
    s = schedule(n, 3, batch_size, rng(0))
    steps = -(-n // batch_size)
    assert s.rows.shape == (3 * steps, min(n, batch_size))
    for epoch in s.rows.view(3, -1):
        assert sorted(epoch[epoch >= 0].tolist()) == list(range(n))
    assert len(set(s.key.tolist())) == 3 * steps
    short = s.rows[:, -1] < 0
    assert short.sum() == (3 if n % min(n, batch_size) else 0)


def test_epochs_are_shuffled_apart_and_by_the_generator():
    s = schedule(50, 2, 50, rng(0))
    assert not torch.equal(s.rows[0], s.rows[1])
    assert torch.equal(s.rows, schedule(50, 2, 50, rng(0)).rows)
    assert not torch.equal(s.rows, schedule(50, 2, 50, rng(1)).rows)


@pytest.mark.parametrize("wrong", [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_a_schedule_of_nothing_is_refused(wrong):
    with pytest.raises(FedregError, match="schedule"):
        schedule(*wrong, rng(0))


def test_nobody_weighs_nothing():
    taken = client(0, 5).take(Batch(torch.tensor([3, -1]), torch.tensor(0), torch.tensor(0)))
    assert taken.w.tolist() == [1, 0]
    assert torch.equal(taken.x[0], client(0, 5).x[3])


def test_stacking_pads_with_weight_zero_and_nobody():
    datas = [client(0, 3), client(1, 5)]
    data, batches = stack(datas, [schedule(3, 1, 2, rng(0)), schedule(5, 2, 4, rng(1))])
    assert data.x.shape == (2, 5, 1, 3, 4)
    assert data.w.tolist() == [[1, 1, 1, 0, 0], [1] * 5]
    assert torch.equal(data.x[0, 3], datas[0].x[0])  # padding is a real example, fit to compute with
    assert batches.rows.shape == (2, 4, 4)
    assert (batches.rows[0, 2:] == -1).all()
