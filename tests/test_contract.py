"""What every method owes every engine, and every engine every method."""

from dataclasses import replace
from itertools import permutations
from typing import NamedTuple

import pytest
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

import fedreg
from fedreg import Data, Local, Method, Scaffold, Schedule, client_round, federate
from fedreg.core.method import Model
from fedreg.core.types import Scalar, Vector
from fedreg.engines import sequential, vectorized
from fedreg.engines.vectorized import alike
from fedreg.runs import checkpoint

from .cases import METHODS, PLAN, SIZES, THETA, F, population, task

PEOPLE = population()
methods = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
engines = pytest.mark.parametrize("engine", [sequential(), vectorized(1), vectorized(2), vectorized(16)], ids=str)


def close(a, b):
    """Equal messages, to the last digits but three."""
    assert type(a) is type(b)
    for one, other in zip(a, b, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


@methods
@engines
def test_engines_agree_on_clients_of_unequal_sizes(method, engine):
    tasks = [task(method, i, n) for i, n in enumerate(SIZES)]
    down = method.broadcast(method.init(THETA))
    mean, owns = engine(method, F, down, tasks)
    replies = [client_round(method, F, down, t.own, t.data, t.schedule) for t in tasks]
    total = sum(t.weight for t in tasks)
    for k, leaf in enumerate(mean):
        expected = sum(t.weight * up[k] for t, (up, _) in zip(tasks, replies, strict=True)) / total
        torch.testing.assert_close(leaf, expected, rtol=1e-12, atol=1e-12)
    for own, (_, expected) in zip(owns, replies, strict=True):
        close(own, expected)


@methods
def test_engines_agree_round_after_round(method):
    ends = [
        list(federate(method, F, THETA, PEOPLE, PLAN, engine=engine))[-1] for engine in (sequential(), vectorized(3))
    ]
    close(ends[0].server, ends[1].server)
    assert ends[0].owns.keys() == ends[1].owns.keys()
    for i in ends[0].owns:
        close(ends[0].owns[i], ends[1].owns[i])


@methods
@engines
def test_the_order_of_a_cohort_does_not_matter(method, engine):
    tasks = [task(method, i, n) for i, n in enumerate(SIZES[:3])]
    down = method.broadcast(method.init(THETA))
    first = engine(method, F, down, tasks)
    for order in list(permutations(range(3)))[1:]:
        other = engine(method, F, down, [tasks[i] for i in order])
        close(other.mean, first.mean)
        for i, own in zip(order, other.owns, strict=True):
            close(own, first.owns[i])


@methods
@engines
def test_a_federation_goes_on_from_any_round_bit_for_bit(method, engine, tmp_path):
    rounds = list(federate(method, F, THETA, PEOPLE, PLAN, engine=engine))
    for r in rounds[:-1]:
        checkpoint.save(tmp_path / "c", r, "run")
        for start in (r, checkpoint.load(tmp_path / "c", method, THETA, "run")):
            again = list(federate(method, F, THETA, PEOPLE, PLAN, engine=engine, after=start))
            assert [a.t for a in again] == list(range(r.t + 1, PLAN.rounds + 1))
            assert_same(again[-1], rounds[-1])


def assert_same(a, b):
    """Equal rounds, bit for bit."""
    assert a.t == b.t
    assert torch.equal(a.theta, b.theta)
    assert all(torch.equal(x, y) for x, y in zip(a.server, b.server, strict=True))
    assert a.owns.keys() == b.owns.keys()
    assert all(torch.equal(x, y) for i in a.owns for x, y in zip(a.owns[i], b.owns[i], strict=True))


@methods
def test_messages_survive_encoding(method, tmp_path):
    last = list(federate(method, F, THETA, PEOPLE, PLAN))[-1]
    checkpoint.save(tmp_path / "c", last, "run")
    assert_same(checkpoint.load(tmp_path / "c", method, THETA, "run"), last)


@methods
def test_padding_changes_nothing(method):
    t = task(method, 1, 6)
    down = method.broadcast(method.init(THETA))
    up, own = client_round(method, F, down, t.own, t.data, t.schedule)
    steps, width = t.schedule.rows.shape
    padded = client_round(method, F, down, t.own, t.data.pad(11), t.schedule.pad(steps + 4, width + 3))
    close(padded[0], up)
    close(padded[1], own)


@methods
def test_a_client_with_nothing_but_padding_stays_where_it_was(method):
    t = task(method, 1, 6)
    down = method.broadcast(method.init(THETA))
    nobody = t.schedule._replace(rows=torch.full_like(t.schedule.rows, -1))
    nothing = t.data._replace(w=torch.zeros_like(t.data.w))
    for data, schedule in ((t.data, nobody), (nothing, nobody), (nothing, t.schedule)):
        up, own = client_round(method, F, down, t.own, data, schedule)
        assert torch.equal(up.theta, THETA)
        assert all(leaf.isfinite().all() for leaf in (*up, *own))


@methods
def test_a_client_round_is_pure(method):
    t = task(method, 2, 5)
    down = method.broadcast(method.init(THETA.clone()))
    given = tree_leaves((down, t.own, t.data, t.schedule))
    before = [leaf.clone() for leaf in given]
    up, own = client_round(method, F, down, t.own, t.data, t.schedule)
    again, own_again = client_round(method, F, down, t.own, t.data, t.schedule)
    assert all(torch.equal(a, b) for a, b in zip(before, given, strict=True))
    assert all(torch.equal(a, b) for a, b in zip((*up, *own), (*again, *own_again), strict=True))
    assert not torch.equal(up.theta, THETA)


@methods
def test_what_is_sent_can_be_differentiated_by_the_data(method):
    t = task(method, 3, 2, epochs=1)
    down = method.broadcast(method.init(THETA))

    def moved(x):
        return client_round(method, F, down, t.own, Data(x, t.data.y, t.data.w), t.schedule)[0].theta.square().sum()

    slope = torch.func.grad(moved)(t.data.x)
    assert slope.isfinite().all()
    assert slope.norm() > 0


@pytest.mark.parametrize("weights", ["uniform", "size"])
def test_clients_that_drop_out_have_no_part(weights):
    plan = replace(PLAN, dropout=0.5, weights=weights)
    for r in federate(Scaffold(0.1), F, THETA, PEOPLE, plan):
        assert len(r.clients) == 3
        assert len(r.dropped) == 2
        assert not set(r.clients) & set(r.dropped)
        assert set(r.clients) <= set(r.owns)
    assert all(i in range(len(PEOPLE)) for i in r.owns)


def test_noise_differs_from_step_to_step():
    method = METHODS["fedavg_dp"]
    down = method.init(THETA)
    t = task(method, 0, 4)
    batch = Schedule(torch.arange(4)[None], torch.tensor([5]), torch.tensor([0]))
    once = client_round(method, F, down, (), t.data, batch)[0].theta
    other = client_round(method, F, down, (), t.data, batch._replace(key=torch.tensor([6])))[0].theta
    assert not torch.equal(once, other)


def test_big_clients_do_not_make_small_ones_work():
    groups = list(alike([5, 300, 6, 4, 9, 280, 5], most=4))
    assert sorted(i for group in groups for i in group) == list(range(7))
    assert groups[0] == [1, 5]
    for group in groups:
        sizes = [[5, 300, 6, 4, 9, 280, 5][i] for i in group]
        assert len(group) <= 4
        assert min(sizes) * 2 >= max(sizes)


class Counted(NamedTuple):
    """Parameters, and numbers that are no vectors."""

    theta: Vector
    loss: Scalar
    steps: Tensor


class Telling(Method[Model, Model, tuple[()], Counted]):
    """FedAvg whose clients also tell their loss and their number of steps."""

    def init(self, theta):
        return Model(theta)

    def broadcast(self, server):
        return server

    def enrol(self, theta):
        return ()

    def local(self, f, down, own, data):
        step = fedreg.FedAvg(0.1).local_step(f, down.theta, data)
        return Local(step, lambda theta, steps: (Counted(theta, f.loss(theta, data), steps), ()))

    def update(self, server, mean, cohort):
        return Model(mean.theta)


@engines
def test_a_client_may_tell_numbers_that_are_no_vectors(engine):
    tasks = [task(Telling(), i, n)._replace(weight=1.0) for i, n in enumerate(SIZES)]
    mean = engine(Telling(), F, Model(THETA), tasks).mean
    replies = [client_round(Telling(), F, Model(THETA), (), t.data, t.schedule)[0] for t in tasks]
    assert float(mean.steps) == pytest.approx(sum(int(reply.steps) for reply in replies) / len(replies))
    assert float(mean.loss) == pytest.approx(sum(float(reply.loss) for reply in replies) / len(replies))
