"""FedReg against algorithm 1 of the paper, written once more with plain autograd on a plain module."""

import pytest
import torch
from torch import nn

from fedreg import Data, FedReg, FedregError, classification, client_round, ravel, regression, schedule
from fedreg.core.rng import rng
from fedreg.core.vector import project

from ..cases import CLASSES, THETA, F, client, network

LR = 1.0  # so large that both projections have something to do


class Plainly:
    """A module with its parameters in place, as one would write it without this package."""

    def __init__(self, theta):
        self.module = network()
        self.put(theta)

    def put(self, theta):
        nn.utils.vector_to_parameters(theta, self.module.parameters())

    def losses(self, x, y):
        return -(y * self.module(x).log_softmax(1)).sum(1)

    def gradient(self, theta, x, y):
        self.put(theta)
        grads = torch.autograd.grad(self.losses(x, y).mean(), list(self.module.parameters()))
        return torch.cat([g.flatten() for g in grads])

    def climb(self, theta, x, y, eta, E):
        self.put(theta)
        for _ in range(E):
            x = x.detach().requires_grad_()
            x = x + eta * torch.autograd.grad(self.losses(x, y).sum(), x)[0].sign()
        return x.detach()


def algorithm_1(theta_0, data, rows, lr, gamma, eta_s, eta_p, E, mg):
    plain = Plainly(theta_0)
    x, y = data.x, data.y
    x_s, x_p = plain.climb(theta_0, x, y, eta_s, E), plain.climb(theta_0, x, y, eta_p, E)
    plain.put(theta_0)
    y_s = plain.module(x_s).softmax(1).detach()
    theta = theta_0
    for b in (row[row >= 0] for row in rows):
        slow = gamma * theta + (1 - gamma) * theta_0
        g = plain.gradient(slow, x[b], y[b])
        if mg:
            g_u = plain.gradient(slow, x_s[b], torch.full_like(y_s[b], 1 / CLASSES))
            g = g - (g @ g_u) / (g_u @ g_u) * g_u
        theta = theta - lr * g
        middle = (theta + theta_0) / 2
        g_s, g_p = plain.gradient(middle, x_s[b], y_s[b]), plain.gradient(middle, x_p[b], y[b])
        w_s = max((theta - theta_0) @ g_s / (g_s @ g_s), 0)
        w_p = max((theta - w_s * g_s - theta_0) @ g_p / (g_p @ g_p), 0)
        theta = theta - w_s * g_s - w_p * g_p
    return theta


@pytest.mark.parametrize("mg", [False, True])
@pytest.mark.parametrize(("gamma", "eta_s", "eta_p"), [(0.4, 0.05, None), (1.0, 0.05, 0.01), (0.0, 0.5, 0.1)])
def test_a_client_round_is_algorithm_1(mg, gamma, eta_s, eta_p):
    method = FedReg(LR, gamma, eta_s, eta_p=eta_p, E=4, modified_gradient=mg)
    theta_0 = THETA
    for i, n in enumerate((7, 4)):
        data, batches = client(i, n), schedule(n, 4, 3, rng(i))
        up, own = client_round(method, F, method.init(theta_0), (), data, batches)
        expected = algorithm_1(
            theta_0, data, batches.rows, LR, gamma, eta_s, 0.01 * eta_s if eta_p is None else eta_p, 4, mg
        )
        torch.testing.assert_close(up.theta, expected, rtol=1e-9, atol=1e-12)
        assert own == ()
        theta_0 = up.theta


def test_both_projections_are_at_work(monkeypatch):
    """Else the oracle above would not see them."""
    seen = []

    def spy(theta, centre, normal):
        seen.append(not torch.equal(project(theta, centre, normal), theta))
        return project(theta, centre, normal)

    monkeypatch.setattr("fedreg.methods.fedreg.project", spy)
    method = FedReg(LR, 0.4, 0.05, E=4)
    client_round(method, F, method.init(THETA), (), client(0, 7), schedule(7, 4, 3, rng(0)))
    assert any(seen[::2])
    assert any(seen[1::2])


def test_regression_learns_but_has_no_modified_gradient():
    module = nn.Sequential(nn.Flatten(), nn.Linear(12, 2)).double()
    f, theta = regression(module), ravel(module)
    data = Data(client(0, 6).x, torch.randn(6, 2, dtype=torch.float64), torch.ones(6, dtype=torch.float64))
    batches = schedule(6, 3, 3, rng(0))
    method = FedReg(0.1, 0.5, 0.1)
    up, _ = client_round(method, f, method.init(theta), (), data, batches)
    assert up.theta.isfinite().all()
    assert not torch.equal(up.theta, theta)
    method = FedReg(0.1, 0.5, 0.1, modified_gradient=True)
    with pytest.raises(FedregError, match=r"modified_gradient needs classes.*modified_gradient=False"):
        client_round(method, f, method.init(theta), (), data, batches)


def test_inputs_that_cannot_move_are_refused():
    module = nn.Sequential(nn.Embedding(5, 2), nn.Flatten(), nn.Linear(6, 2))
    f, theta = classification(module), ravel(module)
    data = Data(torch.randint(0, 5, (4, 3)), torch.eye(2)[[0, 1, 0, 1]], torch.ones(4))
    method = FedReg(0.1, 0.5, 0.1)
    with pytest.raises(FedregError, match=r"torch\.int64.*embedding"):
        client_round(method, f, method.init(theta), (), data, schedule(4, 1, 2, rng(0)))


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"gamma": 1.5}, "gamma"), ({"gamma": -0.1}, "gamma"), ({"eta_s": -1.0}, "eta_s"), ({"eta_p": -1.0}, "eta_p"),
        ({"E": -1}, "E = -1"), ({"lr": 0.0}, "lr"), ({"lr": float("nan")}, "lr"), ({"gamma": float("nan")}, "gamma"),
    ],
)  # fmt: skip
def test_impossible_settings_are_refused(wrong, named):
    with pytest.raises(FedregError, match=f"FedReg: {named}"):
        FedReg(**{"lr": 0.1, "gamma": 0.5, "eta_s": 0.1, **wrong})


def test_what_is_usual_is_the_papers():
    usual = FedReg(lr=0.1, gamma=0.4, eta_s=0.2)
    assert usual.E == 10
    assert usual == FedReg(lr=0.1, gamma=0.4, eta_s=0.2, eta_p=None, E=10, modified_gradient=False)
    data = client(0, 3)
    batches = schedule(3, 2, 3, rng(0, "batches"))
    named = FedReg(lr=0.1, gamma=0.4, eta_s=0.2, eta_p=0.002)
    ends = [client_round(m, F, m.init(THETA), (), data, batches)[0].theta for m in (usual, named)]
    assert torch.equal(*ends)
