"""What holds on a processor holds on a CUDA device; skipped where there is none."""

from dataclasses import replace

import pytest
import torch
from torch import nn

import fedreg
from fedreg import Examples, PFedGP, evaluate, federate
from fedreg.core.method import in_turn
from fedreg.engines import sequential, vectorized
from fedreg.engines.graphs import Graphs
from fedreg.runs import checkpoint

from ..cases import METHODS, NETWORK, PLAN, THETA, F, population

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
PEOPLE = population()
LONG = replace(PLAN, rounds=12)
methods = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
engines = pytest.mark.parametrize("engine", [sequential(), vectorized(2), vectorized(16)], ids=str)


@methods
@engines
def test_rounds_on_a_device_are_those_on_the_processor(method, engine):
    here = list(federate(method, F, THETA, PEOPLE, PLAN, engine=engine))[-1]
    there = list(federate(method, F, THETA.cuda(), PEOPLE, PLAN, engine=engine))[-1]
    for one, other in zip(here.server, there.server, strict=True):
        assert other.is_cuda
        torch.testing.assert_close(other.cpu(), one, rtol=1e-9, atol=1e-9)
    assert here.owns.keys() == there.owns.keys()
    for i in here.owns:
        for one, other in zip(here.owns[i], there.owns[i], strict=True):
            torch.testing.assert_close(other.cpu(), one, rtol=1e-9, atol=1e-9)


@methods
def test_a_federation_on_a_device_goes_on_from_a_checkpoint_bit_for_bit(method, tmp_path):
    theta = THETA.cuda()
    rounds = list(federate(method, F, theta, PEOPLE, PLAN))
    checkpoint.save(tmp_path / "c", rounds[1], "run")
    after = checkpoint.load(tmp_path / "c", method, theta, "run")
    again = list(federate(method, F, theta, PEOPLE, PLAN, after=after))[-1]
    assert all(torch.equal(a, b) for a, b in zip(again.server, rounds[-1].server, strict=True))


def test_a_model_on_a_device_is_scored_as_on_the_processor():
    examples = Examples(PEOPLE.x, PEOPLE.y)
    here, there = evaluate(F, THETA, examples), evaluate(F, THETA.cuda(), examples)
    assert there.accuracy == here.accuracy
    assert there.loss == pytest.approx(here.loss, rel=1e-12)


def plain(monkeypatch):
    """Nothing is recorded from now on."""
    monkeypatch.setattr(Graphs, "run", lambda self, what, work, inputs: work(in_turn, inputs))


@methods
def test_a_recorded_round_gives_the_bits_of_one_that_is_not(method, monkeypatch):
    engine = vectorized(2)
    recorded = list(federate(method, F, THETA.cuda(), PEOPLE, LONG, engine=engine))
    graphs = engine.recorders["cuda"]
    if not isinstance(method, PFedGP):  # whose factorisation asks the device for a number
        assert any(recording is not None for recording in graphs.known.values())
        assert not graphs.stubborn
    plain(monkeypatch)
    for r, other in zip(recorded, federate(method, F, THETA.cuda(), PEOPLE, LONG, engine=vectorized(2)), strict=True):
        assert all(torch.equal(a, b) for a, b in zip(r.server, other.server, strict=True))
        assert all(torch.equal(r.owns[i][k], other.owns[i][k]) for i in r.owns for k in range(len(r.owns[i])))


def test_a_network_that_asks_the_device_for_a_number_is_not_recorded():
    class Asking(nn.Module):
        def __init__(self):
            super().__init__()
            self.module = NETWORK

        def forward(self, x):
            torch.cuda.current_stream().synchronize()
            return self.module(x)

    engine = vectorized(2)
    f = fedreg.classification(Asking())
    here = list(federate(METHODS["fedreg"], F, THETA.cuda(), PEOPLE, LONG, engine=vectorized(2)))[-1]
    there = list(federate(METHODS["fedreg"], f, THETA.cuda(), PEOPLE, LONG, engine=engine))[-1]
    assert engine.recorders["cuda"].stubborn
    assert torch.equal(here.theta, there.theta)
