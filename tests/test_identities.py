"""What is true of the methods whatever the data."""

from dataclasses import replace

import pytest
import torch
from torch import nn

import fedreg
from fedreg import DPSGD, FedAvg, FedCurv, FedProx, FedReg, Plan, Population, Scaffold, federate
from fedreg.core.rng import rng
from fedreg.core.vector import dot
from fedreg.engines import sequential
from fedreg.methods.fedreg import perturbed, pseudo

from .cases import CLASSES, PLAN, THETA, F, client, population

PEOPLE = population()
ALL = Plan(rounds=3, cohort=len(PEOPLE), epochs=1, batch_size="full")


def run(method, plan=PLAN, people=PEOPLE):
    """The last round."""
    *_, last = federate(method, F, THETA, people, plan, engine=sequential())
    return last


def close(a, b):
    torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)


@pytest.fixture
def no_projections(monkeypatch):
    monkeypatch.setattr("fedreg.methods.fedreg.project", lambda theta, centre, normal: theta)


@pytest.mark.usefixtures("no_projections")
def test_fedreg_without_slow_parameters_and_projections_is_fedavg_bitwise():
    assert torch.equal(run(FedReg(0.1, 1.0, 0.2)).theta, run(FedAvg(0.1)).theta)


@pytest.mark.usefixtures("no_projections")
def test_fedreg_with_gamma_0_and_no_projections_takes_one_step_of_all_its_steps_length():
    S = 6
    steps = run(FedReg(0.1, 0.0, 0.2), replace(ALL, epochs=S))
    close(steps.theta, run(FedAvg(0.1 * S), ALL).theta)


def test_fedreg_with_gamma_1_and_eta_s_0_is_not_fedavg():
    """The pseudo data are then the inputs with the global model's labels, and (8) removes what was learnt."""
    assert (run(FedReg(0.1, 1.0, 0.0)).theta - run(FedAvg(0.1)).theta).norm() > 1e-3


@pytest.mark.parametrize(
    "method", [FedProx(0.1, 0.0), FedCurv(0.1, 0.0), FedAvg(0.1, DPSGD(1e9, 0.0))], ids=["fedprox", "fedcurv", "dpsgd"]
)
def test_a_penalty_or_protection_of_nothing_is_fedavg(method):
    close(run(method).theta, run(FedAvg(0.1)).theta)


def test_scaffolds_first_round_is_fedavgs():
    once = replace(PLAN, rounds=1)
    assert torch.equal(run(Scaffold(0.1), once).theta, run(FedAvg(0.1), once).theta)
    assert not torch.equal(run(Scaffold(0.1)).theta, run(FedAvg(0.1)).theta)


def test_with_full_participation_scaffolds_c_is_the_mean_of_the_clients():
    last = run(Scaffold(0.1), ALL)
    assert len(last.owns) == len(PEOPLE)
    close(last.server.c, torch.stack([own.c_i for own in last.owns.values()]).mean(0))


def test_one_full_batch_step_weighted_by_size_is_sgd_on_the_pooled_data():
    pooled = Population.from_pairs([(PEOPLE.x[PEOPLE.shares.rows], PEOPLE.y[PEOPLE.shares.rows])])
    together = run(FedAvg(0.1), replace(ALL, weights="size")).theta
    close(together, run(FedAvg(0.1), replace(ALL, cohort=1), pooled).theta)
    data = pooled.data(0, CLASSES, THETA)
    theta = THETA
    for _ in range(ALL.rounds):
        theta = theta - 0.1 * F.grad(theta, data)
    close(together, theta)


def test_for_a_quadratic_loss_the_midpoint_gradient_gives_the_change_exactly():
    """Appendix A.1, where the terms of third order and above are nil."""
    module = nn.Sequential(nn.Flatten(), nn.Linear(12, CLASSES)).double()
    f, theta_0, data = fedreg.regression(module), fedreg.ravel(module), client(3, 9)
    for seed in range(5):
        theta = theta_0 + torch.randn(len(theta_0), generator=rng(seed), dtype=torch.float64)
        close(f.loss(theta_0, data) - f.loss(theta, data), dot(theta_0 - theta, f.grad(0.5 * (theta_0 + theta), data)))


def test_the_global_model_is_a_minimum_on_its_own_pseudo_data():
    """Section 3.2: the inequality (4) could be an equality."""
    data = client(0, 8)
    assert F.grad(THETA, pseudo(F, THETA, data, 0.2, 10)).abs().max() < 1e-12
    assert F.grad(THETA, perturbed(F, THETA, data, 0.002, 10)).abs().max() > 1e-3


def test_pseudo_data_move_up_the_loss_by_steps_of_eta_in_each_pixel():
    data = client(0, 8)
    far, near = pseudo(F, THETA, data, 0.2, 1), perturbed(F, THETA, data, 0.002, 3)
    torch.testing.assert_close((far.x - data.x).abs(), torch.full_like(data.x, 0.2))
    assert (near.x - data.x).abs().max() <= 3 * 0.002 + 1e-12
    assert F.loss(THETA, near) > F.loss(THETA, data)
    assert F.loss(THETA, far._replace(y=data.y)) > F.loss(THETA, data)
    assert torch.equal(near.y, data.y)
    torch.testing.assert_close(far.y, F.predict(THETA, far.x))
