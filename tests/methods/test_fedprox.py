import pytest
import torch

from fedreg import FedAvg, FedProx, FedregError, client_round, schedule
from fedreg.core.rng import rng

from ..cases import THETA, F, client


def test_a_client_round_follows_the_gradient_of_loss_and_proximal_term():
    data, batches, lr, mu = client(0, 7), schedule(7, 3, 3, rng(0)), 0.1, 0.7
    method = FedProx(lr, mu)
    up, _ = client_round(method, F, method.init(THETA), (), data, batches)
    theta = THETA
    for b in batches.batches():
        theta = theta.detach().requires_grad_()
        loss = F.loss(theta, data.take(b)) + mu / 2 * (theta - THETA).square().sum()
        theta = theta - lr * torch.autograd.grad(loss, theta)[0]
    torch.testing.assert_close(up.theta, theta.detach(), rtol=1e-10, atol=1e-12)


def test_impossible_settings_are_refused():
    with pytest.raises(FedregError, match="mu"):
        FedProx(0.1, -0.1)
    with pytest.raises(FedregError, match="FedAvg: lr"):
        FedAvg(-0.1)
