"""The search behind the settings in experiments/digits.toml: the same for every method.

Each method is given the same number of trials: FAR of them spread over its settings' ranges by a Sobol sequence, then
NEAR of them around the best of those. A trial is run with two seeds on the validation split (the test images are never
looked at) until the accuracy reaches TARGET. It is judged by the mean number of rounds that this took, CAP + 1 where it
was never reached; ties go to the higher mean accuracy. A setting that collapses with any of its seeds (a mean accuracy
below COLLAPSE, twice that of guessing) is out, however soon the other seeds got there: nobody would use it. Two seeds
choose noisily, so the best FINALISTS of each method are run with four more, and judged by all six.

    python benchmarks/search_digits.py search results/digits-search.jsonl --workers 2   # goes on where it stopped
    python benchmarks/search_digits.py best results/digits-search.jsonl
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from math import exp, log
from pathlib import Path
from statistics import mean
from typing import Any, TypeAlias

import torch
from torch.quasirandom import SobolEngine

from fedreg import Diverged, evaluate, federate
from fedreg.experiments.experiment import load
from fedreg.experiments.setting import prepare

FAR, NEAR, FINALISTS, TARGET, CAP, COLLAPSE = 24, 12, 4, 0.86, 150, 0.2
SEEDS, MORE_SEEDS = (100, 101), (102, 103, 104, 105)


Settings: TypeAlias = dict[str, float]


@dataclass(frozen=True)
class Range:
    """From low to high, evenly in the logarithm unless it is said to be even."""

    low: float
    high: float
    even: bool = False

    def at(self, u: float) -> float:
        """The value at a share u of the way."""
        low, high = (self.low, self.high) if self.even else (log(self.low), log(self.high))
        value = low + u * (high - low)
        value = value if self.even else exp(value)
        return float(f"{value:.2g}")

    def around(self, value: float) -> "Range":
        """From half to twice the value; of a range that is not logarithmic, a fifth of it to either side."""
        if not self.even:
            return Range(value / 2, value * 2)
        low, high = max(self.low, value - self.high / 5), min(self.high, value + self.high / 5)
        return Range(low, high, even=True)


LR = Range(0.01, 3.0)
RANGES = {
    "sgd": {"lr": LR},
    "fedavg": {"lr": LR},
    "fedprox": {"lr": LR, "mu": Range(0.001, 1.0)},
    "fedcurv": {"lr": LR, "lam": Range(1e-5, 1e-1)},
    "scaffold": {"lr": LR},
    "fedreg": {"lr": LR, "gamma": Range(0.0, 1.0, even=True), "eta_s": Range(0.005, 0.5)},
}


def trials(ranges: dict[str, Range], count: int) -> list[Settings]:
    """So many settings, spread over the ranges."""
    points = SobolEngine(len(ranges), scramble=True, seed=0).draw(count).tolist()
    return [{key: r.at(u) for (key, r), u in zip(ranges.items(), point, strict=True)} for point in points]


def run(method: str, settings: Settings, seed: int) -> dict[str, object]:
    """One trial with one seed."""
    torch.set_num_threads(1)
    put = [f"methods.{method}.{key}={value}" for key, value in settings.items()]
    s = prepare(load("digits", [*put, "data.evaluate_on=validation", f"plan.rounds={CAP}"]), method, seed)
    accuracies = []
    try:
        for r in federate(s.method, s.f, s.theta, s.population, s.plan):
            accuracies.append(evaluate(s.f, r.theta, s.test).accuracy or 0.0)
            if accuracies[-1] >= TARGET:
                break
    except Diverged:
        accuracies.append(0.0)
    reached = accuracies[-1] >= TARGET
    rounds = len(accuracies) if reached else CAP + 1
    return {"method": method, "settings": settings, "seed": seed, "rounds": rounds, "accuracy": mean(accuracies)}


def search(path: Path, workers: int) -> None:
    """Run what is not yet in the file, and append it."""
    far = {method: trials(ranges, FAR) for method, ranges in RANGES.items()}
    with ProcessPoolExecutor(workers) as pool:
        complete(path, pool, far, SEEDS)
        near = {}
        for method, ranges in RANGES.items():
            settings = ranked(path, method, far[method], SEEDS)[0][2]
            near[method] = trials({key: r.around(settings[key]) for key, r in ranges.items()}, NEAR)
        complete(path, pool, near, SEEDS)
        both = {method: far[method] + near[method] for method in RANGES}
        finalists = {m: [found[2] for found in ranked(path, m, both[m], SEEDS)[:FINALISTS]] for m in RANGES}
        complete(path, pool, finalists, MORE_SEEDS)


def complete(path: Path, pool: ProcessPoolExecutor, wanted: dict[str, list[Settings]], seeds: Sequence[int]) -> None:
    """Run the trials that are not yet in the file."""
    done = {tuple(map(str, (d["method"], d["settings"], d["seed"]))) for d in read(path)}
    jobs = [(method, settings, seed) for method in wanted for settings in wanted[method] for seed in seeds]
    todo = {tuple(map(str, job)): job for job in jobs if tuple(map(str, job)) not in done}  # settings may coincide
    with path.open("a") as file:
        for future in [pool.submit(run, *job) for job in todo.values()]:
            print(json.dumps(future.result()), file=file, flush=True)


def read(path: Path) -> list[dict[str, Any]]:
    """What is in the file."""
    return list(map(json.loads, path.read_text().splitlines())) if path.exists() else []


def ranked(
    path: Path, method: str, among: list[Settings] | None = None, seeds: Sequence[int] = (*SEEDS, *MORE_SEEDS)
) -> list[tuple[float, float, Settings]]:
    """Mean rounds, mean accuracy and settings of what was run with all these seeds and never collapsed, best first."""
    found: dict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
    for d in read(path):
        if d["method"] == method and d["seed"] in seeds and (among is None or d["settings"] in among):
            found[json.dumps(d["settings"])][d["seed"]] = d
    whole = [(mean(d["rounds"] for d in ds.values()), -mean(d["accuracy"] for d in ds.values()), settings)
             for settings, ds in found.items()
             if len(ds) == len(seeds) and min(d["accuracy"] for d in ds.values()) >= COLLAPSE]  # fmt: skip
    return [(rounds, -accuracy, json.loads(settings)) for rounds, accuracy, settings in sorted(whole)]


def tried(path: Path, method: str) -> set[str]:
    """The settings that were tried for a method."""
    return {json.dumps(d["settings"]) for d in read(path) if d["method"] == method}


def best(path: Path) -> None:
    """Print how many settings of each method were tried, and its finalists, the best first."""
    for method in RANGES:
        settings = len(tried(path, method)), len(ranked(path, method, seeds=SEEDS))
        print(method, "({} settings, of which {} did not collapse)".format(*settings))
        for rounds, accuracy, settings in ranked(path, method):
            print(f"  {rounds:6.1f} rounds to {TARGET}, mean accuracy {accuracy:.3f}: {settings}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=["search", "best"])
    parser.add_argument("path", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    search(args.path, args.workers) if args.verb == "search" else best(args.path)
