"""An experiment's method with a seed, made ready to run."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from inspect import signature
from typing import Any

import torch
from torch import nn

from ..core.errors import FedregError, require
from ..core.method import DeepKernel, Method
from ..core.module import headless, ravel
from ..core.objective import Objective, classification, embedding, regression
from ..core.rng import number
from ..core.types import Vector
from ..datasets import DATASETS, Dataset, augmented, one_of_each, scaled, validation
from ..federation.examples import Examples
from ..federation.gp_tree import gp_tree
from ..federation.population import Population
from ..federation.rounds import Plan
from ..networks import NETWORKS
from .experiment import Architecture, Experiment
from .names import made, named

CPU = torch.device("cpu")


@dataclass(frozen=True)
class Setting:
    """All that federate needs, what to test on, and the whole of it in words that a file can hold."""

    method: Method[Any, Any, Any, Any]
    f: Objective
    theta: Vector
    population: Population
    plan: Plan
    test: Examples
    tested: Callable[[Vector], Objective]  # what is evaluated after a round, of its theta: f, unless the method says so
    description: Mapping[str, Any]


def prepare(experiment: Experiment, name: str, seed: int, device: torch.device = CPU) -> Setting:
    """The method of that name; the seed decides the partition, the first parameters and all that is random later."""
    scene, entry = experiment.scene, experiment.entry(name)
    dataset = made("dataset", scene.data.name, Dataset, named("dataset", scene.data.name, DATASETS))
    dataset = dataset._replace(train=dataset.train.tensors(), test=dataset.test.tensors())
    if scene.data.evaluate_on == "validation":
        dataset = validation(dataset)
    if scene.data.scaling is not None:
        dataset = scaled(dataset, scene.data.scaling)
    if scene.data.augment is not None:
        dataset = augmented(dataset, scene.data.augment)
    train = dataset.train
    try:
        population = Population.from_partition(train.x, train.y, scene.partition, seed, dataset.owners, *train[2:])
    except FedregError as error:
        raise FedregError(f"{experiment.name}: {error}") from error
    shape = tuple(dataset.test.first(1, torch.zeros(0)).shape[1:])
    module = network(scene.network, shape, dataset.outputs, seed).to(device)
    f, theta, tested = objectives(entry.method, module, dataset, seed)
    plan = replace(entry.plan, seed=seed)
    words = described(experiment, name)
    description = {
        **words,
        "plan": plain(plan),
        "network": {**words["network"], "parameters": len(theta)},
        "initial": fingerprint(theta),
        "device": device.type,
        "population": population.summary()._asdict(),
    }
    test = dataset.test._replace(x=dataset.test.x.to(device), y=dataset.test.y.to(device))  # looked at in every round
    return Setting(entry.method, f, theta, population, plan, test, tested, description)


def objectives(
    method: Method[Any, Any, Any, Any], module: nn.Module, dataset: Dataset, seed: int
) -> tuple[Objective, Vector, Callable[[Vector], Objective]]:
    """What is minimised, the first parameters of it, and what is evaluated after a round, of its parameters."""
    classes = not dataset.train.y.is_floating_point()
    if classes and isinstance(method, DeepKernel):
        module = headless(module)
        f = embedding(module, dataset.outputs)
        return f, ravel(module), gp_tree(method.prior(), f, one_of_each(dataset, seed))
    f = classification(module) if classes else regression(module)
    return f, ravel(module), lambda theta: f


def described(experiment: Experiment, name: str) -> dict[str, Any]:
    """What the experiment says of itself and of one of its methods, in words that a file can hold."""
    scene, entry = experiment.scene, experiment.entry(name)
    return {
        "experiment": experiment.name,
        "about": scene.about,
        "reference": scene.reference,
        "method": name,
        "settings": {"class": type(entry.method).__name__, **plain(entry.method)},
        "plan": plain(entry.plan),
        "data": plain(scene.data),
        "partition": plain(scene.partition),
        "network": plain(scene.network),
    }


def fingerprint(theta: Vector) -> str:
    """The first digits of the parameters' sha256."""
    return hashlib.sha256(theta.cpu().numpy().tobytes()).hexdigest()[:16]


def network(architecture: Architecture, shape: tuple[int, ...], outputs: int, seed: int) -> nn.Module:
    """The network of that name; parameters that are not pre-trained are drawn from the seed alone."""
    name, weights = architecture.name, architecture.weights
    make = named("network", name, NETWORKS)
    if weights is not None:
        require(
            "weights" in signature(make).parameters,
            f"network {name!r} is not pre-trained and takes no weights; omit network.weights = {weights!r}",
        )
        make = partial(make, weights=weights)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(number(seed, "network"))
        return made("network", name, nn.Module, lambda: make(shape, outputs))


def plain(settings: Any) -> dict[str, Any]:
    """A dataclass as a table; a function by its name."""
    return {key: getattr(value, "__name__", value) for key, value in asdict(settings).items()}
