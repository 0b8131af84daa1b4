"""SCAFFOLD against its algorithm 1, option II, in numpy on linear regressions whose gradients are written by hand."""

import numpy as np
import pytest
import torch
from torch import nn

from fedreg import Data, FedregError, Plan, Population, Scaffold, federate, ravel, regression, schedule
from fedreg.core.rng import rng
from fedreg.engines import sequential
from fedreg.federation.rounds import cohort

LR, N, K = 0.05, 7, 3
PLAN = Plan(rounds=6, cohort=K, epochs=3, batch_size=2, seed=4)
MODULE = nn.Linear(3, 1, bias=False).double()


def world():
    random = np.random.default_rng(0)
    return [(random.normal(size=(2 + i % 4, 3)), random.normal(size=(2 + i % 4, 1))) for i in range(N)]


def in_numpy():
    datas = world()
    x = ravel(MODULE).numpy().copy()
    c, c_i = np.zeros(3), [np.zeros(3) for _ in range(N)]
    for t in range(1, PLAN.rounds + 1):
        clients, _ = cohort(PLAN, t, N)
        delta_y, delta_c = [], []
        for i in clients:
            a, b = datas[i]
            rows = schedule(len(a), PLAN.epochs, PLAN.batch_size, rng(PLAN.seed, "batches", t, i)).rows.numpy()
            y = x.copy()
            for batch in (row[row >= 0] for row in rows):
                residual = a[batch] @ y - b[batch, 0]
                y = y - LR * (a[batch].T @ residual / len(batch) - c_i[i] + c)
            plus = c_i[i] - c + (x - y) / (len(rows) * LR)
            delta_y.append(y - x)
            delta_c.append(plus - c_i[i])
            c_i[i] = plus
        x = x + np.mean(delta_y, axis=0)
        c = c + K / N * np.mean(delta_c, axis=0)
    return x, c


def test_six_rounds_are_the_algorithm():
    people = Population.from_pairs([(torch.tensor(a), torch.tensor(b)) for a, b in world()])
    *_, last = federate(Scaffold(LR), regression(MODULE), ravel(MODULE), people, PLAN, engine=sequential())
    x, c = in_numpy()
    torch.testing.assert_close(last.theta, torch.tensor(x), rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(last.server.c, torch.tensor(c), rtol=1e-10, atol=1e-12)


def test_for_one_client_scaffold_is_gradient_descent():
    a, b = world()[3]
    people = Population.from_pairs([(torch.tensor(a), torch.tensor(b))])
    plan = Plan(rounds=5, cohort=1, epochs=4, batch_size="full")
    f, theta = regression(MODULE), ravel(MODULE)
    *_, last = federate(Scaffold(LR), f, theta, people, plan)
    data = Data(torch.tensor(a), torch.tensor(b), torch.ones(len(a), dtype=torch.float64))
    for _ in range(20):
        theta = theta - LR * f.grad(theta, data)
    torch.testing.assert_close(last.theta, theta, rtol=1e-10, atol=1e-12)


def test_impossible_settings_are_refused():
    with pytest.raises(FedregError, match="lr"):
        Scaffold(0.0)
