import pytest
import torch
from torch import nn

from fedreg import FedregError, classification, group_norm, headless, ravel, unravel


def test_ravel_and_unravel_are_inverse_and_leave_the_module_alone():
    module = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 2))
    theta = ravel(module)
    other = unravel(module, theta + 1)
    assert torch.equal(ravel(other), theta + 1)
    assert torch.equal(ravel(module), theta)
    with pytest.raises(FedregError, match="12 numbers"):
        unravel(module, torch.zeros(12))


def test_the_flat_network_is_the_module():
    module = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3))
    x = torch.randn(5, 1, 4, 4)
    torch.testing.assert_close(classification(module).network(ravel(module), x), module(x))


def test_frozen_parameters_are_not_learnt_but_used():
    module = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 2))
    module[0].requires_grad_(False)
    assert len(ravel(module)) == 6
    x = torch.randn(4, 3)
    torch.testing.assert_close(classification(module).network(ravel(module), x), module(x))


def test_shared_parameters_are_counted_once():
    module = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    module[1].weight = module[0].weight
    x = torch.randn(4, 2)
    assert len(ravel(module)) == 8
    torch.testing.assert_close(classification(module).network(ravel(module), x), module(x))


def test_batch_norm_is_refused_by_name_with_the_remedy():
    module = nn.Sequential(nn.Conv2d(1, 6, 3), nn.Sequential(nn.BatchNorm2d(6), nn.ReLU()))
    with pytest.raises(FedregError, match=r"1\.0 is a BatchNorm2d.*GroupNorm.*fedreg\.group_norm"):
        classification(module)
    for layer in (nn.BatchNorm1d(3, track_running_stats=False), nn.InstanceNorm2d(3, track_running_stats=True)):
        with pytest.raises(FedregError, match="GroupNorm"):
            classification(nn.Sequential(nn.Linear(2, 2), layer))


def test_group_norm_converts_a_copy():
    module = nn.Sequential(
        nn.Conv2d(1, 6, 3), nn.Sequential(nn.BatchNorm2d(6), nn.ReLU()), nn.BatchNorm2d(6, affine=False)
    )
    nn.init.constant_(module[1][0].weight, 3.0)
    converted = group_norm(module)
    assert isinstance(module[1][0], nn.BatchNorm2d)
    norm = converted[1][0]
    assert isinstance(norm, nn.GroupNorm)
    assert (norm.num_groups, norm.num_channels) == (3, 6)
    assert norm.weight.eq(3).all()
    assert norm.weight.requires_grad
    assert not converted[2].affine
    classification(converted).network(ravel(converted), torch.randn(2, 1, 8, 8))
    assert isinstance(group_norm(nn.BatchNorm1d(4)), nn.GroupNorm)
    assert [group_norm(nn.BatchNorm1d(n)).num_groups for n in (1, 3, 32, 64, 96)] == [1, 1, 16, 32, 32]
    after_linear = group_norm(nn.Sequential(nn.Linear(3, 32), nn.BatchNorm1d(32)))
    assert after_linear(torch.randn(5, 3)).std() > 0.5  # a group of one number would be 0
    assert group_norm(nn.BatchNorm1d(4).double()).weight.dtype == torch.float64


def test_dropout_is_refused_unless_it_does_nothing():
    module = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5))
    with pytest.raises(FedregError, match="1 is a Dropout in training mode"):
        classification(module)
    classification(module.eval())
    classification(nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.0)))


def test_a_module_without_parameters_is_refused():
    with pytest.raises(FedregError, match="no trainable parameters"):
        ravel(nn.ReLU())
    with pytest.raises(FedregError, match="mixes"):
        ravel(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2).double()))


def test_a_headless_module_gives_what_its_last_linear_layer_is_given():
    module = nn.Sequential(nn.Linear(3, 5), nn.Sequential(nn.Tanh(), nn.Linear(5, 2)), nn.Identity())
    x = torch.randn(4, 3)
    torch.testing.assert_close(headless(module)(x), module[0](x).tanh())
    assert module(x).shape == (4, 2)
    assert torch.equal(ravel(headless(module)), ravel(module)[:20])


@pytest.mark.parametrize(
    ("module", "said"),
    [
        (nn.Sequential(nn.Flatten(), nn.Linear(3, 2)), "Sequential learns nothing but its classification layer"),
        (nn.Linear(3, 2), "Linear learns nothing but"),
        (nn.Conv2d(1, 2, 3), "Conv2d has no linear layer"),
    ],
)
def test_what_would_be_nothing_without_its_head_keeps_it(module, said):
    with pytest.raises(FedregError, match=said):
        headless(module)
