"""What a round costs with 1,000 and with 100,000 clients, interleaved, and how long a population takes to build.

python benchmarks/population.py
"""

import json
from statistics import median
from time import perf_counter

import torch

import fedreg
from fedreg.networks import NETWORKS

SIZE, ROUNDS, PIXELS = 8, 60, (1, 8, 8)
PLAN = fedreg.Plan(rounds=ROUNDS + 5, cohort=10, epochs=10, batch_size=8)


def world(clients: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Made-up examples, labels and owners, in random order."""
    random = torch.Generator().manual_seed(0)
    n = clients * SIZE
    owners = torch.arange(clients).repeat_interleave(SIZE)[torch.randperm(n, generator=random)]
    return torch.rand(n, *PIXELS, generator=random), torch.randint(0, 10, (n,), generator=random), owners


def main() -> None:
    """Print one line of JSON."""
    module = NETWORKS["cnn4"](PIXELS, 10)
    f, theta = fedreg.classification(module), fedreg.ravel(module)
    built, federations = {}, {}
    for clients in (1_000, 100_000):
        x, y, owners = world(clients)
        begin = perf_counter()
        population = fedreg.Population.from_owners(x, y, owners.numpy())
        built[clients] = round(perf_counter() - begin, 3)
        federations[clients] = fedreg.federate(fedreg.FedReg(0.1, 0.4, 0.05), f, theta, population, PLAN)
    seconds: dict[int, list[float]] = {clients: [] for clients in federations}
    for t in range(ROUNDS):
        for clients, rounds in federations.items():
            begin = perf_counter()
            next(rounds)
            if t >= 5:
                seconds[clients].append(perf_counter() - begin)
    typical = {clients: round(median(taken), 4) for clients, taken in seconds.items()}
    print(
        json.dumps(
            {"build_seconds": built, "round_seconds": typical, "ratio": round(typical[100_000] / typical[1_000], 3)}
        )
    )


if __name__ == "__main__":
    main()
