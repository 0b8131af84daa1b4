from dataclasses import replace

import pytest
import torch
from torch import nn

import fedreg
from fedreg import Diverged, FedAvg, FedregError, Plan, Population, Scaffold, federate
from fedreg.engines import sequential, vectorized
from fedreg.federation.check import check_examples
from fedreg.federation.rounds import cohort

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
    with pytest.raises(Diverged, match=r"round 1: client 7 sent numbers that are not finite; use a smaller"):
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
        (lambda: start(f=fedreg.classification(Pair()), theta=fedreg.ravel(Pair())), r"one input gives outputs of shape \(1, 1, 3\)|classes want"),
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
    assert check_examples(F, THETA, x, torch.tensor([3, 0])) == CLASSES
    with pytest.raises(FedregError, match=r"^test labels: example 0 has class 7"):
        check_examples(F, THETA, x, y, "test ")
    with pytest.raises(FedregError, match=r"^network: it cannot take test inputs of shape \(1, 3\)"):
        check_examples(F, THETA, x[:, :, 0, :3], y, "test ")
    with pytest.raises(FedregError, match="0 of them for 2 inputs"):
        check_examples(F, THETA, x, y[:0])


def test_a_network_that_vmap_cannot_take_names_the_way_out():
    class Branching(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = relu_net()

        def forward(self, x):
            return self.inner(x) if x.sum() > 0 else -self.inner(x)

    people = Population.from_owners(PEOPLE.x, PEOPLE.y % 3, [i // 5 for i in range(len(PEOPLE.y))])
    module = Branching()
    f, theta = fedreg.classification(module), fedreg.ravel(module)
    assert next(federate(FedAvg(0.1), f, theta, people, PLAN, engine=sequential())).t == 1
    with pytest.raises(FedregError, match="use the engine 'sequential'"):
        next(federate(FedAvg(0.1), f, theta, people, PLAN, engine=vectorized()))
