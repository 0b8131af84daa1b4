"""A small world that many tests share: a network, clients of unequal sizes, every method in several guises."""

from typing import Any

import torch
from torch import Tensor, nn

import fedreg
from fedreg import DPSGD, Data, FedAvg, FedCurv, FedProx, FedReg, Method, Objective, PFedGP, Plan, Population, Scaffold
from fedreg.core.rng import rng
from fedreg.engines import Task

CLASSES = 4
SIZES = (3, 10, 7, 5, 1)


def network() -> nn.Module:
    """12 inputs as an image, 8 hidden units, 4 outputs, in double precision."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return nn.Sequential(nn.Flatten(), nn.Linear(12, 8), nn.Tanh(), nn.Linear(8, CLASSES)).double()


NETWORK = network()
F: Objective = fedreg.classification(NETWORK)
THETA: Tensor = fedreg.ravel(NETWORK)

METHODS: dict[str, Method[Any, Any, Any, Any]] = {
    "fedavg": FedAvg(0.1),
    "fedprox": FedProx(0.1, 0.5),
    "fedcurv": FedCurv(0.1, 0.01),
    "scaffold": Scaffold(0.1),
    "fedreg": FedReg(0.1, 0.4, 0.2),
    "fedreg_mg": FedReg(0.1, 0.4, 0.2, modified_gradient=True),
    "fedreg_plain": FedReg(0.1, 1.0, 0.0, eta_p=0.1, E=0),
    "fedavg_dp": FedAvg(0.1, DPSGD(0.5, 0.3)),
    "pfedgp": PFedGP(0.1),
    "scaffold_dp": Scaffold(0.1, DPSGD(0.5, 0.3)),
}


def client(i: int, n: int) -> Data:
    """n examples that depend on i."""
    x = torch.randn(n, 1, 3, 4, generator=rng(i, "x"), dtype=torch.float64)
    y = torch.randint(0, CLASSES, (n,), generator=rng(i, "y"))
    return Data(x, nn.functional.one_hot(y, CLASSES).double(), torch.ones(n, dtype=torch.float64))


def task(method: Method[Any, Any, Any, Any], i: int, n: int, epochs: int = 3, batch_size: int = 4) -> Task:
    """The part of a client in a round, weighed unlike the others'."""
    batches = fedreg.schedule(n, epochs, batch_size, rng(i, "batches"))
    return Task(i, method.enrol(THETA), client(i, n), batches, 1.0 + i)


def population(clients: int = 24, seed: int = 5) -> Population:
    """Clients of 3 to 7 examples of mostly one class, which can be learnt."""
    centres = 1.2 * torch.randn(CLASSES, 12, generator=rng(seed, "centres"), dtype=torch.float64)
    pairs = []
    for i in range(clients):
        n, label = 3 + i % 5, i % CLASSES
        x = centres[label] + torch.randn(n, 12, generator=rng(seed, "x", i), dtype=torch.float64)
        y = torch.full((n,), label)
        y[0] = (label + i) % CLASSES
        pairs.append((x.view(n, 1, 3, 4), y))
    return Population.from_pairs(pairs)


PLAN = Plan(rounds=4, cohort=5, epochs=3, batch_size=4)
