import pytest
import torch

from fedreg import Data, FedregError, classification, ravel
from fedreg.networks.resnet9 import Residual, resnet9


def features(module, x):
    """What each part gives, from the input to the scores."""
    outs = [x]
    for part in module:
        outs.append(part(outs[-1]))
    return outs


def test_it_starts_as_fixup_says():
    torch.manual_seed(0)
    module = resnet9((3, 32, 32), 10)
    x = torch.randn(4, 3, 32, 32)
    outs = features(module, x)
    assert outs[-1].eq(0).all()  # a classifier at zero
    branches = [i for i, part in enumerate(module) if isinstance(part, Residual)]
    assert len(branches) == 2
    for i in branches:
        assert torch.equal(outs[i], outs[i + 1])  # branches at zero
        width = len(module[i].conv_1.weight)
        assert module[i].conv_1.weight.std().item() == pytest.approx((2 / (9 * width) / 2) ** 0.5, rel=0.01)
    scalars = {name.rsplit(".")[-1]: p for name, p in module.named_parameters() if p.shape == (1,)}
    assert all(p.item() == ("scale" in name) for name, p in scalars.items())


def test_all_but_the_last_layer_wait_for_the_first_step():
    torch.manual_seed(0)
    module = resnet9((3, 16, 16), 10)
    f, theta = classification(module), ravel(module)
    x = torch.randn(4, 3, 16, 16)
    y = torch.eye(10)[:4]
    data = Data(x, y, torch.ones(4))
    assert f.grad_x(theta, data).eq(0).all()  # so FedReg's pseudo data of round 1 are the data
    step = theta - 0.1 * f.grad(theta, data)
    assert f.grad_x(step, data).abs().amax() > 0
    assert f.loss(step, data) < f.loss(theta, data)


def test_a_zero_branch_learns():
    torch.manual_seed(0)
    block = Residual(4)
    block(torch.randn(2, 4, 6, 6)).square().sum().backward()
    assert block.conv_2.weight.grad.abs().amax() > 0


def test_any_side_from_eight_on():
    assert resnet9((1, 8, 13), 3)(torch.zeros(2, 1, 8, 13)).shape == (2, 3)
    with pytest.raises(FedregError, match="7 x 9 pixels cannot be halved three times; use another network"):
        resnet9((3, 7, 9), 10)
