import torch
from torch import nn

from fedreg.networks.cnn10 import cnn10


def test_nine_convolutions_and_one_fully_connected_layer():
    parts = [type(part) for part in cnn10((3, 64, 64), 2)]
    assert (parts.count(nn.Conv2d), parts.count(nn.Linear)) == (9, 1)


def test_the_signal_reaches_the_end():
    torch.manual_seed(0)
    module = cnn10((3, 64, 64), 2)
    x = torch.randn(8, 3, 64, 64)
    last = module[:-1](x)
    assert 0.3 < last.std() < 3
    assert module(x).std(0).amin() > 0.01


def test_any_side():
    for side in ((1, 1), (5, 9), (28, 28), (33, 31)):
        assert cnn10((1, *side), 3)(torch.zeros(2, 1, *side)).shape == (2, 3)
