"""A round of the digits experiment on each engine, interleaved: seconds, and how many times as fast as sequential.

python benchmarks/engines.py [METHOD ...]
"""

import json
import sys
from statistics import median
from time import perf_counter

from fedreg import engines, federate
from fedreg.experiments.experiment import load
from fedreg.experiments.setting import prepare

ROUNDS = 12


def main() -> None:
    """Print one line of JSON a method."""
    for name in sys.argv[1:] or ["fedavg", "fedcurv", "fedreg"]:
        s = prepare(load("digits"), name, 0)
        kinds = {"sequential": engines.sequential(), "vectorized": engines.vectorized()}
        federations = {
            kind: federate(s.method, s.f, s.theta, s.population, s.plan, engine=engine)
            for kind, engine in kinds.items()
        }
        seconds: dict[str, list[float]] = {kind: [] for kind in kinds}
        for t in range(ROUNDS):
            for kind, rounds in federations.items():
                begin = perf_counter()
                next(rounds)
                if t >= 2:
                    seconds[kind].append(perf_counter() - begin)
        typical = {kind: round(median(taken), 4) for kind, taken in seconds.items()}
        ratio = round(typical["sequential"] / typical["vectorized"], 2)
        print(json.dumps({"method": name, "round_seconds": typical, "times_as_fast": ratio}), flush=True)


if __name__ == "__main__":
    main()
