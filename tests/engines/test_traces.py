"""A round that is replayed from a trace gives the bits of one that is not."""

from dataclasses import dataclass, replace

import pytest
import torch
from torch import nn

import fedreg
from fedreg import federate
from fedreg.core.method import Averaging, in_turn
from fedreg.engines import vectorized
from fedreg.engines.recorder import Recorder, rounded
from fedreg.engines.traces import Traces

from ..cases import METHODS, NETWORK, PLAN, THETA, F, population

PEOPLE = population(8)
LONG = replace(PLAN, rounds=5, cohort=3)


def last(method, f, recorder):
    """The last of a few rounds of an engine with this recorder."""
    engine = vectorized(2)
    engine.recorders["cpu"] = recorder
    return list(federate(method, f, THETA, PEOPLE, LONG, engine=engine))[-1]


def bits(round):
    return [*round.server, *(leaf for i in sorted(round.owns) for leaf in round.owns[i])]


@pytest.mark.parametrize("name", ["fedavg_dp", "fedcurv", "scaffold", "fedreg_mg", "pfedgp"])
def test_a_round_from_a_trace_has_the_bits_of_a_plain_one(name):
    traces, plain = Traces(enough=0), Traces(enough=10**9)
    recorded, other = last(METHODS[name], F, traces), last(METHODS[name], F, plain)
    assert traces.known, traces.stubborn
    assert not plain.known
    assert all(torch.equal(a, b) for a, b in zip(bits(recorded), bits(other), strict=True))


def test_one_trace_serves_any_number_of_steps():
    traces = Traces(enough=0)
    for epochs in (2, 5):
        plan = replace(LONG, rounds=2, epochs=epochs)
        rounds = []
        for recorder in (traces, Traces(enough=10**9)):
            engine = vectorized(4)
            engine.recorders["cpu"] = recorder
            rounds.append(list(federate(METHODS["scaffold"], F, THETA, PEOPLE, plan, engine=engine))[-1])
        if epochs == 2:
            known = set(traces.known)
        assert all(torch.equal(a, b) for a, b in zip(*map(bits, rounds), strict=True))
    assert known & set(traces.known)


def test_what_asks_for_a_number_midway_is_not_recorded_and_runs_all_the_same():
    class Asking(nn.Module):
        """A network that looks at its parameters."""

        def __init__(self):
            super().__init__()
            self.module = NETWORK

        def forward(self, x):
            if torch.fx.experimental.proxy_tensor.get_proxy_mode() is not None:
                raise RuntimeError("no number can be asked for now")
            return self.module(x)

    traces = Traces(enough=0)
    found = last(METHODS["fedavg"], fedreg.classification(Asking()), traces)
    assert not traces.known
    assert "no number can be asked for now" in next(iter(traces.stubborn.values()))
    assert torch.equal(found.theta, last(METHODS["fedavg"], F, Traces(enough=10**9)).theta)


def test_shapes_are_recorded_when_they_have_come_often_enough():
    class Counting(Recorder[str]):
        def shapes(self, leaves):
            return leaves[0].shape

        def record(self, work, leaves, spec):
            return "recorded"

        def replay(self, recording, leaves):
            return recording

    recorder = Counting(2)
    said = [recorder.run("a", lambda walk, inputs: walk is in_turn, [torch.ones(n)]) for n in (1, 1, 2, 1, 1, 2, 2)]
    assert said == [True, True, True, "recorded", "recorded", True, "recorded"]


def test_a_method_that_has_no_hash_runs_all_the_same():
    @dataclass(frozen=True)
    class Listed(Averaging):
        """FedAvg whose rate is in a list."""

        rates: list[float]

        def local_step(self, f, theta_0, D):
            return lambda theta, b: theta - self.rates[0] * f.grad(theta, D.take(b))

    assert torch.equal(last(Listed([0.1]), F, Traces()).theta, last(METHODS["fedavg"], F, Traces()).theta)


def test_sizes_are_rounded_by_an_eighth_at_most():
    assert [rounded(n) for n in (1, 7, 16, 17, 100, 131, 1000)] == [1, 7, 16, 18, 104, 144, 1024]
    assert all(n <= rounded(n) <= max(n, 9 * n / 8) for n in range(1, 3000))
    assert len({rounded(n) for n in range(1, 3000)}) < 80
