"""What every peer is given, and the line of JSON that it gives back. Needs numpy alone."""

import argparse
import json
import os
import platform
import sys
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

LAUNCHED = "FEDREG_BENCH_LAUNCHED"  # when the process was started, by the clock behind perf_counter


class Work(NamedTuple):
    """A federation to be trained: the same examples, first parameters, cohorts and shuffles for everybody."""

    network: str
    rounds: int
    epochs: int
    batch_size: int
    lr: float
    seed: int
    x: np.ndarray  # the clients' examples, client after client
    y: np.ndarray
    offsets: np.ndarray  # client i owns x[offsets[i] : offsets[i + 1]]
    test_x: np.ndarray
    test_y: np.ndarray
    initial: list[np.ndarray]  # in the order and shapes of PyTorch's parameters
    cohorts: np.ndarray  # the clients of each round
    shuffles: np.ndarray  # all epochs' shuffles, round after round and client after client
    places: np.ndarray  # where those of a client in a round begin

    def owned(self, client: int) -> slice:
        """Where a client's examples are."""
        return slice(int(self.offsets[client]), int(self.offsets[client + 1]))

    def orders(self, t: int, k: int) -> np.ndarray:
        """The shuffles, one an epoch, of the client in place k of round t, counted from 0."""
        at = t * self.cohorts.shape[1] + k
        return self.shuffles[self.places[at] : self.places[at + 1]].reshape(self.epochs, -1)


class Asked(NamedTuple):
    """What the command line asks for."""

    path: Path
    work: Work
    threads: int
    processes: int
    few: bool
    sequential: bool


def read(path: Path) -> Work:
    """The work that a JSON file describes, with the arrays beside it."""
    words = json.loads(path.read_text(encoding="utf-8"))
    with np.load(path.with_suffix(".npz")) as file:
        arrays = dict(file)
    initial = [arrays.pop(f"initial_{i}") for i in range(words.pop("parameters"))]
    return Work(**words, **arrays, initial=initial)


def asked() -> Asked:
    """The work to be done, and how."""
    parser = argparse.ArgumentParser()
    parser.add_argument("work", type=Path)
    parser.add_argument("--threads", type=int, default=1, help="of each process")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--few", action="store_true", help="Flower: no more nodes than a cohort has")
    parser.add_argument("--sequential", action="store_true", help="fedreg: client after client")
    words = parser.parse_args()
    return Asked(words.work, read(words.work), words.threads, words.processes, words.few, words.sequential)


class Diary:
    """Seconds of training and of evaluation, and accuracies, round by round."""

    def __init__(self) -> None:
        self.training: list[float] = []
        self.evaluation: list[float] = []
        self.accuracies: list[float] = []
        self.norms: list[float] = []  # of the parameters after each round
        self.start = self.mark = self.compilation = 0.0

    def begin(self) -> None:
        """Start-up is over; the first round begins."""
        self.mark = perf_counter()
        self.start = self.mark - float(os.environ.get(LAUNCHED, self.mark))

    def trained(self) -> None:
        """A round has been trained; its evaluation begins."""
        now = perf_counter()
        self.training.append(now - self.mark)
        self.mark = now

    def tested(self, accuracy: float, parameters: Iterable[Any]) -> None:
        """A round has been evaluated; the next one begins, after an untimed look at the parameters."""
        self.evaluation.append(perf_counter() - self.mark)
        self.accuracies.append(accuracy)
        self.norms.append(sum(float(np.square(np.asarray(p, np.float64)).sum()) for p in parameters) ** 0.5)
        self.mark = perf_counter()

    def tell(self, packages: list[str]) -> None:
        """Print one line of JSON, the last that a peer prints."""
        versions = {"python": platform.python_version(), **{name: version(name) for name in packages}}
        told = {
            "start": self.start - self.compilation,
            "compilation": self.compilation,
            "training": self.training,
            "evaluation": self.evaluation,
            "accuracies": self.accuracies,
            "norms": self.norms,
            "versions": versions,
        }
        sys.stdout.write("\n" + json.dumps(told) + "\n")
        sys.stdout.flush()
