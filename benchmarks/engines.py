"""A round of the digits experiment on each engine, interleaved: seconds, and how many times as fast as sequential.

python benchmarks/engines.py [--device cuda] [--cohorts 10,100] [--rounds 12] [METHOD ...]
"""

import argparse
import json
from itertools import islice
from statistics import median
from time import perf_counter

import torch

from fedreg import engines, federate
from fedreg.engines import Engine
from fedreg.experiments.experiment import load
from fedreg.experiments.setting import prepare

WARM_UP = 2


def finished(device: torch.device) -> None:
    """Wait for what a device was given to do."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def measure(name: str, cohort: int, rounds: int, device: torch.device) -> dict[str, object]:
    """The median seconds of a round on each engine, and their ratios."""
    s = prepare(load("digits", [f"plan.cohort={cohort}", f"plan.rounds={rounds + WARM_UP}"]), name, 0)
    kinds: dict[str, Engine] = {"sequential": engines.sequential()}
    kinds |= {f"vectorized({chunk})": engines.vectorized(chunk) for chunk in (16, 64, 256) if chunk // 4 < cohort}
    theta = s.theta.to(device)
    federations = {
        kind: federate(s.method, s.f, theta, s.population, s.plan, engine=engine) for kind, engine in kinds.items()
    }
    seconds: dict[str, list[float]] = {kind: [] for kind in kinds}
    for t in range(rounds + WARM_UP):
        for kind, federation in federations.items():
            begin = perf_counter()
            list(islice(federation, 1))
            finished(device)
            if t >= WARM_UP:
                seconds[kind].append(perf_counter() - begin)
    typical = {kind: round(median(taken), 4) for kind, taken in seconds.items()}
    ratios = {kind: round(typical["sequential"] / taken, 2) for kind, taken in typical.items() if kind != "sequential"}
    return {"method": name, "cohort": cohort, "round_seconds": typical, "times_as_fast": ratios}


def main() -> None:
    """Print what machine it is, then one line of JSON a method and cohort."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("methods", nargs="*", metavar="METHOD")
    parser.add_argument("--device", type=torch.device, default=torch.device("cpu"))
    parser.add_argument("--cohorts", type=lambda text: [int(word) for word in text.split(",")], default=[10])
    parser.add_argument("--rounds", type=int, default=12)
    args = parser.parse_args()
    on_cuda = args.device.type == "cuda"
    what = torch.cuda.get_device_name(args.device) if on_cuda else f"{torch.get_num_threads()} threads"
    print(json.dumps({"device": str(args.device), "what": what, "torch": torch.__version__}), flush=True)
    for name in args.methods or ["fedavg", "fedcurv", "fedreg"]:
        for cohort in args.cohorts:
            print(json.dumps(measure(name, cohort, args.rounds, args.device)), flush=True)


if __name__ == "__main__":
    main()
