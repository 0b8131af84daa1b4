"""The work that every peer is given: dealt once, by fedreg, and written as one .npz and one .json file."""

import json
from pathlib import Path

import numpy as np
import torch

from fedreg import FedAvg
from fedreg.core.data import schedule
from fedreg.core.module import cut, shapes
from fedreg.core.rng import rng
from fedreg.experiments.experiment import load
from fedreg.experiments.setting import Setting, prepare
from fedreg.federation.examples import seen
from fedreg.federation.rounds import cohort
from fedreg.networks import NETWORKS

HERE = Path(__file__).parent


def dealt(name: str, rounds: int, folder: Path, seed: int = 0) -> Path:
    """The file that describes so many rounds of FedAvg of an experiment, whose arrays lie beside it."""
    own = HERE / f"{name}.toml"
    experiment = load(str(own) if own.exists() else name, [f"plan.rounds={rounds}"])
    s = prepare(experiment, "fedavg", seed)
    if not isinstance(s.method, FedAvg) or s.plan.weights != "uniform" or s.plan.batch_size == "full":
        raise SystemExit(f"{name}: the peers do plain FedAvg with a uniform mean, and this is something else")
    network = experiment.scene.network.name
    initial = parameters(s, network)
    words = {
        "network": network,
        "rounds": rounds,
        "epochs": s.plan.epochs,
        "batch_size": s.plan.batch_size,
        "lr": s.method.lr,
        "seed": seed,
        "parameters": len(initial),
    }
    path = folder / f"{name}-{rounds}.json"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(words), encoding="utf-8")
    np.savez(path.with_suffix(".npz"), **examples(s), **order(s), **initial)
    return path


def parameters(s: Setting, network: str) -> dict[str, np.ndarray]:
    """The first parameters, in the shapes of the network's."""
    shape = tuple(seen(s.test.x[:1], s.test.view, s.theta).shape[1:])
    made = cut(s.theta, shapes(NETWORKS[network](shape, 10)))
    return {f"initial_{i}": values.numpy() for i, values in enumerate(made.values())}


def examples(s: Setting) -> dict[str, np.ndarray]:
    """The clients' examples, client after client, and the test's, as a network sees them."""
    rows, offsets = s.population.shares
    return {
        "x": seen(s.population.x[rows], s.population.view, s.theta).numpy(),
        "y": s.population.y[rows].long().numpy(),
        "offsets": offsets.numpy(),
        "test_x": seen(s.test.x, s.test.view, s.theta).numpy(),
        "test_y": s.test.y.long().numpy(),
    }


def order(s: Setting) -> dict[str, np.ndarray]:
    """Each round's clients, and the shuffles of their examples: those that federate will draw."""
    lengths = s.population.lengths().tolist()
    cohorts = [cohort(s.plan, t, len(lengths))[0] for t in range(1, s.plan.rounds + 1)]
    shuffles = []
    for t, clients in enumerate(cohorts, 1):
        for i in clients:
            drawn = schedule(lengths[i], s.plan.epochs, s.plan.batch_size, rng(s.plan.seed, "batches", t, i)).rows
            shuffles.append(drawn[drawn >= 0])
    places = torch.tensor([0, *map(len, shuffles)]).cumsum(0)
    return {"cohorts": np.array(cohorts), "shuffles": torch.cat(shuffles).numpy(), "places": places.numpy()}
