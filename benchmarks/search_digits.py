"""The search behind the settings in experiments/digits.toml: the same for every method.

Each method is given the same number of trials, spread over its settings' ranges by a Sobol sequence. A trial is run
with two seeds on the validation split (the test images are never looked at) until the accuracy reaches TARGET, and is
judged by the mean number of rounds this took, CAP + 1 where it was never reached; ties go to the higher mean accuracy.

    python benchmarks/search_digits.py search results/digits-search.jsonl --workers 2   # goes on where it stopped
    python benchmarks/search_digits.py best results/digits-search.jsonl
"""

import argparse
import json
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from math import exp, log
from pathlib import Path
from statistics import mean

import torch
from torch.quasirandom import SobolEngine

from fedreg import Diverged, evaluate, federate
from fedreg.experiments.experiment import load
from fedreg.experiments.setting import prepare

TRIALS, SEEDS, TARGET, CAP = 24, (100, 101), 0.86, 150


@dataclass(frozen=True)
class Range:
    """From low to high, evenly or, if low is positive, evenly in the logarithm."""

    low: float
    high: float

    def at(self, u: float) -> float:
        """The value at a share u of the way."""
        value = exp(log(self.low) + u * log(self.high / self.low)) if self.low > 0 else self.low + u * self.high
        return float(f"{value:.2g}")


LR = Range(0.01, 3.0)
RANGES = {
    "sgd": {"lr": LR},
    "fedavg": {"lr": LR},
    "fedprox": {"lr": LR, "mu": Range(0.001, 1.0)},
    "fedcurv": {"lr": LR, "lam": Range(1e-5, 1e-1)},
    "scaffold": {"lr": LR},
    "fedreg": {"lr": LR, "gamma": Range(0.0, 1.0), "eta_s": Range(0.005, 0.5)},
}


def trials(method: str) -> list[dict[str, float]]:
    """The settings to try."""
    ranges = RANGES[method]
    points = SobolEngine(len(ranges), scramble=True, seed=0).draw(TRIALS).tolist()
    return [{key: r.at(u) for (key, r), u in zip(ranges.items(), point, strict=True)} for point in points]


def run(method: str, settings: dict[str, float], seed: int) -> dict[str, object]:
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
    lines = path.read_text().splitlines() if path.exists() else []
    done = {tuple(map(str, (d["method"], d["settings"], d["seed"]))) for d in map(json.loads, lines)}
    todo = [(m, settings, seed) for m in RANGES for settings in trials(m) for seed in SEEDS]
    todo = [job for job in todo if tuple(map(str, job)) not in done]
    with ProcessPoolExecutor(workers) as pool, path.open("a") as file:
        for future in [pool.submit(run, *job) for job in todo]:
            print(json.dumps(future.result()), file=file, flush=True)


def best(path: Path) -> None:
    """Print each method's trials, the best first."""
    seeds = defaultdict(list)
    for d in map(json.loads, path.read_text().splitlines()):
        seeds[d["method"], json.dumps(d["settings"])].append(d)
    for method in RANGES:
        found = [(mean(d["rounds"] for d in ds), -mean(d["accuracy"] for d in ds), s)
                 for (m, s), ds in seeds.items() if m == method]  # fmt: skip
        print(method, f"({len(found)} trials)")
        for rounds, accuracy, settings in sorted(found)[:4]:
            print(f"  {rounds:6.1f} rounds to {TARGET}, mean accuracy {-accuracy:.3f}: {settings}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=["search", "best"])
    parser.add_argument("path", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    search(args.path, args.workers) if args.verb == "search" else best(args.path)
