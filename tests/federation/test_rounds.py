import subprocess
import sys
from dataclasses import replace

import pytest
import torch
from torch import nn

import fedreg
from fedreg import Diverged, FedAvg, FedCurv, FedregError, Plan, Population, Scaffold, federate
from fedreg.engines import Answer, sequential, vectorized
from fedreg.federation.check import check_examples
from fedreg.federation.examples import Examples
from fedreg.federation.rounds import cohort, engine_of
from fedreg.methods.fedcurv import Curved

from ..cases import CLASSES, NETWORK, PLAN, THETA, F, population

PEOPLE = population()


def test_rounds_come_one_by_one():
    rounds = federate(FedAvg(0.1), F, THETA, PEOPLE, PLAN)
    first = next(rounds)
    assert first.t == 1
    assert [r.t for r in rounds] == [2, 3, 4]


def test_what_is_learnt_is_learnt():
    last = list(federate(FedAvg(0.3), F, THETA, PEOPLE, replace(PLAN, rounds=15)))[-1]
    test = fedreg.Examples(PEOPLE.x, PEOPLE.y)
    before, after = fedreg.evaluate(F, THETA, test), fedreg.evaluate(F, last.theta, test)
    assert after.accuracy > before.accuracy + 0.2
    assert after.loss < before.loss


def test_cohorts_depend_on_the_seed_and_the_round_alone():
    assert cohort(PLAN, 3, 24) == cohort(replace(PLAN, rounds=99, epochs=7), 3, 24)
    draws = {cohort(replace(PLAN, seed=seed), t, 24)[0] for seed in range(3) for t in range(1, 5)}
    assert len(draws) == 12
    clients, dropped = cohort(PLAN, 1, 24)
    assert len(clients) == 5
    assert dropped == ()
    assert list(clients) == sorted(set(clients))


def test_everybody_is_sampled_alike():
    counts = torch.zeros(24)
    for t in range(2000):
        counts[list(cohort(PLAN, t, 24)[0])] += 1
    expected = 2000 * 5 / 24
    chi2 = ((counts - expected) ** 2 / expected).sum()
    assert chi2 < 45  # the 99.6 % point of 23 degrees of freedom


@pytest.mark.parametrize(("dropout", "missing"), [(0.0, 0), (0.19, 0), (0.2, 1), (0.5, 2), (0.99, 4)])
def test_a_share_of_the_cohort_drops_out(dropout, missing):
    clients, dropped = cohort(replace(PLAN, dropout=dropout), 1, 24)
    assert (len(clients), len(dropped)) == (5 - missing, missing)
    assert set(clients) | set(dropped) == set(cohort(PLAN, 1, 24)[0])


@pytest.mark.parametrize(("dropout", "missing"), [(0.29, 29), (0.57, 57), (0.589, 58), (0.1, 10)])
def test_a_share_is_counted_without_the_rounding_of_floats(dropout, missing):
    assert len(cohort(replace(PLAN, cohort=100, dropout=dropout), 1, 200)[1]) == missing


def test_scaffolds_variate_moves_by_those_who_answered():
    plan = replace(PLAN, rounds=1, dropout=0.5)
    (r,) = federate(Scaffold(0.1), F, THETA, PEOPLE, plan)
    assert len(r.clients) == 3
    torch.testing.assert_close(r.server.c, sum(r.owns[i].c_i for i in r.clients) / len(PEOPLE))


def test_fedcurv_sums_over_those_who_answered():
    plan = replace(PLAN, rounds=1, dropout=0.5)
    (r,) = federate(FedCurv(0.1, 0.1), F, THETA, PEOPLE, plan)
    ends = [next(federate(FedCurv(0.1, 0.1), F, THETA, PEOPLE, plan, engine=Only(i))).server.F for i in r.clients]
    torch.testing.assert_close(r.server.F, sum(ends))


class Only:
    """An engine that runs one client of the cohort alone."""

    def __init__(self, client):
        self.client = client

    def __call__(self, method, f, down, tasks):
        mean, _ = sequential()(method, f, down, [task for task in tasks if task.client == self.client] or tasks)
        return Answer(Curved(mean.theta, mean.F / len(tasks), mean.F_theta), [() for _ in tasks])


UNTYPED = """
import numpy as np
import fedreg
from fedreg.core.rng import number
for wrong in ({"cohort": 4.0}, {"batch_size": "half"}, {"rounds": True}, {"seed": None}, {"dropout": "a"}):
    try:
        fedreg.Plan(**{"rounds": 1, "cohort": 1, "epochs": 1, "batch_size": 1, **wrong})
    except fedreg.FedregError as error:
        print(error)
print(number(np.int64(3), "a", np.int32(7)) == number(3, "a", 7))
"""


def test_numbers_of_other_kinds_where_no_types_are_checked():
    done = subprocess.run([sys.executable, "-c", UNTYPED], capture_output=True, text=True, check=True)
    *refusals, same = done.stdout.splitlines()
    assert len(refusals) == 5
    assert all(line.startswith("plan: ") for line in refusals)
    assert same == "True"


def test_no_graph_is_kept():
    theta = torch.nn.utils.parameters_to_vector(NETWORK.parameters())
    assert theta.requires_grad
    assert not next(federate(FedAvg(0.1), F, theta, PEOPLE, PLAN)).theta.requires_grad


def test_a_round_of_another_method_or_network_is_refused():
    (r,) = federate(Scaffold(0.1), F, THETA, PEOPLE, replace(PLAN, rounds=1))
    with pytest.raises(FedregError, match="of another method"):
        federate(FedAvg(0.1), F, THETA, PEOPLE, PLAN, after=r)
    wide = r._replace(server=r.server._replace(theta=r.server.theta[:5]))
    with pytest.raises(FedregError, match=r"after.server.theta is \(5,\)"):
        federate(Scaffold(0.1), F, THETA, PEOPLE, PLAN, after=wide)
    with pytest.raises(FedregError, match="which is what goes on"):
        federate(Scaffold(0.1), F, THETA, PEOPLE, PLAN, after=r._replace(theta=r.theta + 1))


class Forgetful(nn.Module):
    """A network with dropout that no layer shows."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(12, CLASSES)

    def forward(self, x):
        return self.layer(nn.functional.dropout(x.flatten(1)))


def test_a_network_that_would_not_repeat_is_refused():
    module = Forgetful().double()
    with pytest.raises(FedregError, match="says two things about the same inputs"):
        federate(FedAvg(0.1), fedreg.classification(module), fedreg.ravel(module), PEOPLE, PLAN)


def test_half_precision_is_refused():
    with pytest.raises(FedregError, match="too coarse"):
        federate(FedAvg(0.1), F, THETA.half(), PEOPLE, PLAN)


def test_labels_of_another_shape_are_no_labels():
    x = torch.randn(6, 3)
    module = nn.Linear(3, 1)
    f, theta = fedreg.regression(module), fedreg.ravel(module)
    with pytest.raises(FedregError, match="one has shape"):
        fedreg.evaluate(f, theta, Examples(x, torch.randn(6)))
    with pytest.raises(FedregError, match="both are needed"):
        fedreg.evaluate(f, theta, Examples(x[:0], torch.randn(0, 1)))
    data = fedreg.Data(x, torch.randn(6), torch.ones(6))
    with pytest.raises(FedregError, match="they must be equal"):
        f.loss(theta, data)


def test_those_who_drop_out_differ_from_round_to_round():
    plan = replace(PLAN, cohort=24, dropout=0.5)
    assert cohort(plan, 1, 24)[1] != cohort(plan, 2, 24)[1]


def test_size_weights_weigh_by_size():
    people = Population.from_pairs([(PEOPLE.x[:1], PEOPLE.y[:1]), (PEOPLE.x[1:9], PEOPLE.y[1:9])])
    plan = Plan(rounds=1, cohort=2, epochs=1, batch_size="full")
    alone = [next(federate(FedAvg(0.1), F, THETA, Population.from_pairs([pair]), replace(plan, cohort=1))).theta
             for pair in [(PEOPLE.x[:1], PEOPLE.y[:1]), (PEOPLE.x[1:9], PEOPLE.y[1:9])]]  # fmt: skip
    uniform = next(federate(FedAvg(0.1), F, THETA, people, plan)).theta
    size = next(federate(FedAvg(0.1), F, THETA, people, replace(plan, weights="size"))).theta
    torch.testing.assert_close(uniform, (alone[0] + alone[1]) / 2)
    torch.testing.assert_close(size, (alone[0] + 8 * alone[1]) / 9)


def test_what_is_sent_is_counted():
    r = next(federate(Scaffold(0.1), F, THETA, PEOPLE, PLAN))
    assert r.bytes_down == r.bytes_up == 2 * 8 * len(THETA)


@pytest.mark.parametrize("engine", [sequential, vectorized, sequential(), vectorized(chunk=2), None])
def test_an_engine_is_given_bare_or_with_options(engine):
    assert next(federate(FedAvg(0.1), F, THETA, PEOPLE, PLAN, engine=engine)).t == 1


@pytest.mark.parametrize("engine", [sequential(), vectorized(2)])
def test_divergence_names_the_round_and_the_client(engine):
    wild = PEOPLE.x.clone()
    culprit = 7
    wild[PEOPLE.shares.rows[PEOPLE.shares.offsets[culprit] : PEOPLE.shares.offsets[culprit + 1]]] = 1e300
    people = Population(wild, PEOPLE.y, PEOPLE.shares)
    module = nn.Sequential(nn.Flatten(), nn.Linear(12, CLASSES)).double()
    f, theta = fedreg.classification(module), fedreg.ravel(module)
    rounds = federate(FedAvg(1e10), f, theta, people, replace(PLAN, cohort=24, epochs=1), engine=engine)
    with pytest.raises(
        Diverged, match=r"round 1: client 7 sent numbers that are not finite, or beyond 1e15; use a smaller"
    ):
        next(rounds)


def relu_net():
    return nn.Sequential(nn.Flatten(), nn.Linear(12, 3)).double()


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(12, 3).double()

    def forward(self, x):
        return self.inner(x.flatten(1))[None]


def start(method=None, f=F, theta=THETA, people=PEOPLE, **plan):
    return federate(method or FedAvg(0.1), f, theta, people, replace(PLAN, **plan))


SMALL = relu_net()


@pytest.mark.parametrize(
    ("begin", "said"),
    [
        (lambda: start(cohort=25), r"cohort = 25, but there are 24 clients"),
        (lambda: start(theta=THETA / 0), "theta: some parameters are not finite"),
        (lambda: start(theta=THETA[1:]), r"140 trainable parameters but theta has 139"),
        (lambda: start(f=fedreg.classification(SMALL), theta=fedreg.ravel(SMALL)), r"class 3, but the network's outputs are for 0 to 2"),
        (lambda: start(f=fedreg.regression(NETWORK)), "they are integers, which name classes"),
        (lambda: start(f=fedreg.classification(Pair()), theta=fedreg.ravel(Pair())), r"inputs give outputs of shape \(8, 1, 3\)|cannot take inputs of shape \(1, 3, 4\)|classes want"),
        (lambda: start(people=Population.from_owners(PEOPLE.x[:, :, :2], PEOPLE.y, range(len(PEOPLE.y)))), r"cannot take inputs of shape \(1, 2, 4\)"),
        (lambda: start(people=Population.from_owners(PEOPLE.x, PEOPLE.y - 1, range(len(PEOPLE.y)))), "has class -1"),
        (lambda: start(people=Population.from_owners(PEOPLE.x, PEOPLE.y.double(), range(len(PEOPLE.y)))), r"labels: one has shape \(\)"),
        (lambda: start(people=Population.from_owners(PEOPLE.x, torch.rand(len(PEOPLE.y), CLASSES), range(len(PEOPLE.y)))), "sum to 1"),
        (lambda: start(fedreg.FedReg(0.1, 0.5, 0.1, modified_gradient=True), fedreg.regression(NETWORK), people=Population.from_owners(PEOPLE.x, torch.rand(len(PEOPLE.y), CLASSES), range(len(PEOPLE.y)))), "modified_gradient"),
    ],
    ids=range(11),
)  # fmt: skip
def test_mistakes_are_found_before_the_first_round(begin, said):
    with pytest.raises(FedregError, match=said) as caught:
        begin()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"rounds": 0}, "rounds = 0"), ({"cohort": 0}, "cohort = 0"), ({"epochs": 0}, "epochs = 0"),
        ({"batch_size": 0}, "batch_size"), ({"dropout": 1.0}, "dropout = 1.0"),
        ({"dropout": -0.1}, "dropout"),
    ],
)  # fmt: skip
def test_impossible_plans_are_refused(wrong, said):
    with pytest.raises(FedregError, match=said):
        replace(PLAN, **wrong)


def test_the_test_examples_are_checked_like_the_clients():
    x, y = PEOPLE.x[:2], torch.tensor([7, 0])
    assert check_examples(F, THETA, Examples(x, torch.tensor([3, 0]))) == CLASSES
    with pytest.raises(FedregError, match=r"^test labels: example 0 has class 7"):
        check_examples(F, THETA, Examples(x, y), "test ")
    with pytest.raises(FedregError, match=r"^network: it cannot take test inputs of shape \(1, 3\)"):
        check_examples(F, THETA, Examples(x[:, :, 0, :3], y), "test ")
    with pytest.raises(FedregError, match="0 of them for 2 inputs"):
        check_examples(F, THETA, Examples(x, y[:0]))


def test_a_network_that_vmap_cannot_take_names_the_way_out():
    class Branching(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = relu_net()

        def forward(self, x):
            return self.inner(x) if x.square().sum() >= 0 else -self.inner(x)

    people = Population.from_owners(PEOPLE.x, PEOPLE.y % 3, [i // 5 for i in range(len(PEOPLE.y))])
    module = Branching()
    f, theta = fedreg.classification(module), fedreg.ravel(module)
    assert next(federate(FedAvg(0.1), f, theta, people, PLAN, engine=sequential())).t == 1
    with pytest.raises(FedregError, match="use the engine 'sequential'"):
        federate(FedAvg(0.1), f, theta, people, PLAN, engine=vectorized())  # before any round


def test_what_is_no_engine_is_refused():
    with pytest.raises(FedregError, match=r"engine = 'sequential' is none; pass fedreg\.engines\.sequential"):
        engine_of("sequential")


class Centred(nn.Linear):
    """A network that takes the batch's mean from its outputs."""

    def forward(self, x):
        z = super().forward(x.flatten(1))
        return z - z.mean(0)


def test_a_network_that_looks_at_the_batch_is_refused():
    module = Centred(12, CLASSES).double()
    with pytest.raises(FedregError, match="depends on the others in the batch"):
        federate(FedAvg(0.1), fedreg.classification(module), fedreg.ravel(module), PEOPLE, PLAN)
