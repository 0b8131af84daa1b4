"""An experiment's method with a seed, made ready to run."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from torch import nn

from ..core.method import Method
from ..core.module import ravel
from ..core.objective import Objective, classification, regression
from ..core.rng import number
from ..core.types import Vector
from ..datasets import DATASETS, validation
from ..federation.evaluation import Examples
from ..federation.population import Population
from ..federation.rounds import Plan
from ..networks import NETWORKS
from .experiment import Experiment
from .names import named


@dataclass(frozen=True)
class Setting:
    """All that federate needs, what to test on, and the whole of it in words that a file can hold."""

    method: Method[Any, Any, Any, Any]
    f: Objective
    theta: Vector
    population: Population
    plan: Plan
    test: Examples
    description: Mapping[str, Any]


def prepare(experiment: Experiment, name: str, seed: int) -> Setting:
    """The method of that name; the seed decides the partition, the first parameters and all that is random later."""
    scene, entry = experiment.scene, experiment.entry(name)
    dataset = named("dataset", scene.data.name, DATASETS)()
    if scene.data.evaluate_on == "validation":
        dataset = validation(dataset)
    train = dataset.train
    population = Population.from_partition(train.x, train.y, scene.partition, seed, dataset.owners)
    make = named("network", scene.network.name, NETWORKS)
    module = initialised(lambda: make(tuple(train.x.shape[1:]), dataset.outputs), seed)
    f = regression(module) if train.y.is_floating_point() else classification(module)
    plan = replace(entry.plan, seed=seed)
    description = {
        "experiment": experiment.name,
        "about": scene.about,
        "method": name,
        "settings": {"class": type(entry.method).__name__, **plain(entry.method)},
        "plan": plain(plan),
        "data": plain(scene.data),
        "partition": plain(scene.partition),
        "network": {**plain(scene.network), "parameters": len(ravel(module))},
        "reference": scene.reference,
        "population": population.summary()._asdict(),
    }
    return Setting(entry.method, f, ravel(module), population, plan, dataset.test, description)


def initialised(make: Callable[[], nn.Module], seed: int) -> nn.Module:
    """What make makes, its first parameters drawn from the seed alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(number(seed, "network"))
        return make()


def plain(settings: Any) -> dict[str, Any]:
    """A dataclass as a table; a function by its name."""
    return {key: getattr(value, "__name__", value) for key, value in asdict(settings).items()}
