"""Experiments as data: TOML in, frozen dataclasses out."""

import re
import sys
import tomllib
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from ..core.errors import FedregError, require
from ..core.method import Method
from ..datasets import Augmentation, Scaling
from ..federation.partition import ByClass, ByOwner, Dirichlet, Uniform
from ..federation.rounds import Plan
from ..methods import METHODS
from .names import named, nearest
from .strict import strict

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Source:
    """Which examples are learnt from, and which the model is tested on."""

    name: str  # in fedreg.datasets, or "package.module:function"
    evaluate_on: Literal["test", "validation"] = "test"
    scaling: Scaling | None = None  # of images of bytes; None: as the dataset shows them
    augment: Augmentation | None = None  # of the training images


@dataclass(frozen=True)
class Architecture:
    """Which network learns."""

    name: str  # in fedreg.networks, or "package.module:function"
    weights: str | None = None  # what a pre-trained one starts from, on a hub or in a folder; None: its own choice


@dataclass(frozen=True)
class Scene:
    """All of an experiment but its methods."""

    about: str
    data: Source
    partition: Annotated[ByClass | Uniform | Dirichlet | ByOwner, Field(discriminator="kind")]
    network: Architecture
    plan: Plan
    reference: str = "sgd"  # the method whose best accuracy the others' rounds are counted to


@dataclass(frozen=True)
class Entry:
    """A method with its settings, and the plan it is run by."""

    method: Method[Any, Any, Any, Any]
    plan: Plan


@dataclass(frozen=True)
class Experiment:
    """Everything that a comparison of methods is made of."""

    name: str
    scene: Scene
    entries: Mapping[str, Entry]

    def entry(self, name: str) -> Entry:
        """The method of that name."""
        require(
            name in self.entries, f"experiment {self.name} has no method {name!r}{nearest(name, list(self.entries))}"
        )
        return self.entries[name]


def shipped() -> dict[str, Path]:
    """The experiments that come with the package, by name."""
    return {path.stem: path for path in sorted(HERE.glob("*.toml"))}


def load(experiment: str, settings: Sequence[str] = ()) -> Experiment:
    """The experiment of that name or in that file, with settings such as "plan.rounds=5" put in."""
    path = Path(experiment) if experiment.endswith(".toml") else shipped().get(experiment)
    if experiment.endswith(".toml") and str(path and path.parent.resolve()) not in sys.path:
        sys.path.insert(0, str(path and path.parent.resolve()))  # for "mine:Method" in a file beside it
    if path is None:
        raise FedregError(
            f"there is no experiment {experiment!r}{nearest(experiment, list(shipped()))} (or give a .toml file)"
        )
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise FedregError(f"experiment {path}: {error}") from error
    for setting in settings:
        table = put(table, setting)
    return parse(path.stem, table)


def parse(name: str, table: Mapping[str, Any]) -> Experiment:
    """The experiment that a TOML table describes, or an error that names every wrong key."""
    rest = {key: value for key, value in table.items() if key != "methods"}
    scene = strict(Scene, rest, name)
    methods = table.get("methods")
    if not isinstance(methods, dict) or not methods:
        raise FedregError(f"{name}: methods is missing; add a table such as [methods.fedavg]")
    entries = {key: entry(f"{name}: methods.{key}", key, value, rest["plan"]) for key, value in methods.items()}
    require(
        scene.reference in entries,
        f"{name}: reference = {scene.reference!r} is not one of its methods {sorted(entries)}",
    )
    return Experiment(name, scene, entries)


def entry(where: str, key: str, table: Any, plan: Mapping[str, Any]) -> Entry:
    """The method that a table describes; its kind is the table's name unless it says otherwise."""
    require(isinstance(table, dict), f"{where} must be a table of settings")
    require(
        re.fullmatch(r"[\w-]+", key) is not None, f"{where}: a method's name may have letters, digits, _ and - alone"
    )
    settings = dict(table)
    kind, own_plan = settings.pop("method", key), settings.pop("plan", {})
    require(isinstance(kind, str), f"{where}.method = {kind!r} must be a name")
    require(isinstance(own_plan, dict), f"{where}.plan must be a table")
    require(
        "seed" not in own_plan, f"{where}.plan.seed: methods are compared on the same seeds; set plan.seed, or --seed"
    )
    method = strict(named("method", kind, METHODS, f"{where}: "), settings, where)
    require(isinstance(method, Method), f"{where}: {kind!r} is a {type(method).__name__}, and no Method")
    return Entry(method, strict(Plan, {**plan, **own_plan}, f"{where}.plan"))


def put(table: Mapping[str, Any], setting: str) -> dict[str, Any]:
    """A copy of table with a setting like "plan.rounds=5" put in; the value is read as TOML, or else as text."""
    key, equals, text = setting.partition("=")
    require(bool(key.strip() and equals), f"--set {setting}: write it as key=value, for example plan.rounds=5")
    try:
        table_of_value = tomllib.loads(f"value = {text}")
        value = table_of_value["value"]
    except tomllib.TOMLDecodeError:
        table_of_value, value = {"value": text}, text
    require(list(table_of_value) == ["value"], f"--set {key}: there is more than one value; say --set once for each")
    copy = deepcopy(dict(table))
    place = copy
    *parents, last = key.strip().split(".")
    for parent in parents:
        place = place.setdefault(parent, {})
        require(isinstance(place, dict), f"--set {setting}: {parent} is not a table")
    place[last] = value
    return copy
