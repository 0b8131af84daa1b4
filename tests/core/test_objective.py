import torch
from torch import nn

from fedreg import Data, Objective, classification, flat, ravel, regression
from fedreg.core import objective

from ..cases import NETWORK, THETA, F, client


def test_loss_and_gradients_are_torchs_own():
    data = client(0, 6)
    x = data.x.clone().requires_grad_()
    loss = nn.functional.cross_entropy(NETWORK(x), data.y)
    torch.testing.assert_close(F.loss(THETA, data), loss.detach())
    grads = torch.autograd.grad(loss, [*NETWORK.parameters(), x])
    torch.testing.assert_close(F.grad(THETA, data), torch.cat([g.flatten() for g in grads[:-1]]))
    torch.testing.assert_close(F.grad_x(THETA, data), grads[-1])
    torch.testing.assert_close(F.predict(THETA, data.x), NETWORK(data.x).softmax(-1))


def test_padding_has_no_part_in_loss_and_gradients():
    data = client(0, 6)
    torch.testing.assert_close(F.loss(THETA, data.pad(9)), F.loss(THETA, data))
    torch.testing.assert_close(F.grad(THETA, data.pad(9)), F.grad(THETA, data))
    nobody = data._replace(w=torch.zeros_like(data.w))
    assert F.loss(THETA, nobody) == 0
    assert F.grad(THETA, nobody).eq(0).all()


def test_per_example_gradients_add_up_however_many_are_held_at_once(monkeypatch):
    data = client(0, 7)
    torch.testing.assert_close(F.sum_of_grads(lambda g: g, THETA, data) / 7, F.grad(THETA, data))
    whole = F.sum_of_grads(torch.square, THETA, data)
    one_by_one = sum(F.grad(THETA, Data(*(field[i : i + 1] for field in data))).square() for i in range(7))
    torch.testing.assert_close(whole, one_by_one)
    monkeypatch.setattr(objective, "FLOATS_AT_ONCE", 3 * len(THETA))
    torch.testing.assert_close(F.sum_of_grads(torch.square, THETA, data), whole)
    monkeypatch.setattr(objective, "FLOATS_AT_ONCE", 1)
    torch.testing.assert_close(F.sum_of_grads(torch.square, THETA, data), whole)


def test_regression_is_half_the_squared_distance():
    module = nn.Linear(3, 2).double()
    x, y = torch.randn(5, 3, dtype=torch.float64), torch.randn(5, 2, dtype=torch.float64)
    f = regression(module)
    expected = ((module(x) - y) ** 2).sum(1).mean() / 2
    torch.testing.assert_close(f.loss(ravel(module), Data(x, y, torch.ones(5, dtype=torch.float64))), expected)


def test_any_loss_a_user_brings():
    module = nn.Linear(3, 1).double()
    huber = Objective(flat(module), lambda z: z, lambda z, y: nn.functional.huber_loss(z, y, reduction="none").sum(1))
    x, y = torch.randn(5, 3, dtype=torch.float64), torch.randn(5, 1, dtype=torch.float64)
    data = Data(x, y, torch.ones(5, dtype=torch.float64))
    torch.testing.assert_close(huber.loss(ravel(module), data), nn.functional.huber_loss(module(x), y))
    assert not huber.classifies
    assert classification(module).classifies
