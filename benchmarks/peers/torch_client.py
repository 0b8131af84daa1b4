"""What a client does and how a model is tested, for every peer whose clients are written in PyTorch."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import torch
from protocol import Work, read
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

AT_ONCE = {"linear": 10_000, "cnn5": 100}  # test images in a batch: the fastest of 25 to 10,000 on a core of an EPYC


def network(work: Work) -> nn.Module:
    """The network, with the work's first parameters."""
    made = {
        "linear": lambda: nn.Sequential(nn.Flatten(), nn.Linear(784, 10)),
        "cnn5": lambda: nn.Sequential(
            nn.Conv2d(1, 32, 5),
            nn.ReLU(),
            nn.Conv2d(32, 32, 5),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 5),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(576, 256),
            nn.ReLU(),
            nn.Linear(256, 10),
        ),
    }[work.network]()
    put(made, [torch.from_numpy(array) for array in work.initial])
    return made


@torch.no_grad()
def put(module: nn.Module, values: list[Tensor]) -> None:
    """Copy values into the module's parameters."""
    for parameter, value in zip(module.parameters(), values, strict=True):
        parameter.copy_(value)


def sent_by(module: nn.Module) -> list[Tensor]:
    """The module's parameters as they are, without a graph."""
    return [p.detach() for p in module.parameters()]


class Client:
    """One module in which clients are trained one after the other."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.module = network(work)
        self.optimizer = torch.optim.SGD(self.module.parameters(), work.lr)
        self.x, self.y = torch.from_numpy(work.x), torch.from_numpy(work.y)
        self.test = torch.from_numpy(work.test_x), torch.from_numpy(work.test_y)

    def examples(self, t: int, k: int) -> tuple[Tensor, Tensor]:
        """The examples of the client in place k of round t."""
        owned = self.work.owned(self.work.cohorts[t, k])
        return self.x[owned], self.y[owned]

    def batches(self, t: int, k: int, epoch: int) -> Iterator[tuple[Tensor, Tensor]]:
        """The batches of an epoch of the client in place k of round t."""
        x, y = self.examples(t, k)
        for rows in torch.from_numpy(self.work.orders(t, k)[epoch]).split(self.work.batch_size):
            yield x[rows], y[rows]

    def train(self, t: int, k: int) -> None:
        """Train the module as the client in place k of round t."""
        for epoch in range(self.work.epochs):
            for x, y in self.batches(t, k, epoch):
                self.optimizer.zero_grad()
                cross_entropy(self.module(x), y).backward()
                self.optimizer.step()

    def accuracy(self) -> float:
        """The share of test images that the module classifies right."""
        return accuracy(self.module, *self.test, AT_ONCE[self.work.network])


@torch.no_grad()
def accuracy(module: nn.Module, x: Tensor, y: Tensor, at_once: int) -> float:
    """The share of examples that the module classifies right."""
    parts = zip(x.split(at_once), y.split(at_once), strict=True)
    return sum(int((module(a).argmax(1) == b).sum()) for a, b in parts) / len(y)


@cache
def client_of(path: Path, threads: int) -> Client:
    """The client that a process keeps, made when it is first asked for."""
    torch.set_num_threads(threads)
    return Client(read(path))
