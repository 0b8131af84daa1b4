import pytest
import torch

from fedreg import DPSGD, FedAvg, FedCurv, FedReg, FedregError
from fedreg.core.rng import normal

from ..cases import THETA, F, client


def test_dpsgd_clips_each_example_and_adds_noise_to_the_sum():
    data, key = client(0, 6), torch.tensor(11)
    grads = torch.stack([F.grad(THETA, type(data)(*(field[i : i + 1] for field in data))) for i in range(6)])
    C, sigma = 1.8, 0.3
    assert grads.norm(dim=1).min() < C < grads.norm(dim=1).max()
    clipped = torch.stack([g * min(1, C / g.norm()) for g in grads])
    expected = (clipped.sum(0) + sigma * C * normal(key, THETA)) / 6
    torch.testing.assert_close(DPSGD(C, sigma)(F, THETA, data, key), expected)


def test_padding_neither_adds_to_the_sum_nor_to_the_number():
    data, key = client(0, 6), torch.tensor(11)
    dpsgd = DPSGD(0.4, 0.3)
    torch.testing.assert_close(dpsgd(F, THETA, data.pad(8), key), dpsgd(F, THETA, data, key))


def test_noise_has_the_size_it_should_have():
    data = client(0, 1)
    noise = DPSGD(2.0, 3.0)(F, THETA, data, torch.tensor(1)) - DPSGD(2.0, 0.0)(F, THETA, data, torch.tensor(1))
    assert abs(noise.std() / 6 - 1) < 0.15


@pytest.mark.parametrize("wrong", [(0.0, 1.0), (-1.0, 1.0), (1.0, -0.1)])
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(FedregError, match="DPSGD"):
        DPSGD(*wrong)


def test_methods_that_dpsgd_protects_in_part_want_to_be_asked_twice():
    private = DPSGD(1.0, 1.0)
    FedAvg(0.1, private)
    with pytest.raises(FedregError, match="one gradient of three"):
        FedReg(0.1, 0.5, 0.1, gradient=private)
    with pytest.raises(FedregError, match="Fisher information it sends is raw"):
        FedCurv(0.1, 0.1, private)
    FedReg(0.1, 0.5, 0.1, gradient=private, partly_private=True)
    FedCurv(0.1, 0.1, private, partly_private=True)
