"""What is kept of a run: what it was, one line a round, how it was started and how it ended."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from ..core.errors import FedregError, require
from .configuration import chosen, leaves


class Line(NamedTuple):
    """One round."""

    t: int  # rounds trained
    accuracy: float | None
    loss: float
    train_seconds: float
    evaluate_seconds: float
    bytes_down: int  # to each client
    bytes_up: int  # from each client
    clients: list[int]  # who answered
    dropped: list[int]  # who was sampled and did not

    def text(self) -> str:
        """The line as JSON, which has no word for numbers that are not finite."""
        return json.dumps(self._asdict(), allow_nan=False)

    def finite(self) -> bool:
        """Whether the model could be evaluated."""
        return math.isfinite(self.loss)


@dataclass(frozen=True)
class Population:
    """What a page tells of the clients."""

    clients: int
    sizes: list[float]
    classes: list[float] | None


@dataclass(frozen=True)
class Configuration:
    """What of a configuration is needed to tell of its run."""

    experiment: str
    about: str
    method: str
    reference: str
    command: str
    population: Population
    plan: dict[str, Any]
    settings: dict[str, Any]
    network: dict[str, Any]
    data: dict[str, Any]
    partition: dict[str, Any]
    engine: dict[str, Any]


@dataclass(frozen=True)
class Session:
    """What of a session is needed."""

    after: int
    machine: dict[str, Any]
    versions: dict[str, Any]


MEANT = "settings", "plan"  # what one chooses to have another result
LINE, CONFIGURATION, SESSIONS = TypeAdapter(Line), TypeAdapter(Configuration), TypeAdapter(list[Session])


@dataclass(frozen=True)
class Record:
    """A run as its folder tells it."""

    path: Path
    configuration: Mapping[str, Any]
    sessions: list[dict[str, Any]]  # each start: when, from which round, versions, machine, how it ended
    lines: list[Line]
    variant: str = ""  # what tells it from other runs of its method, where there are such

    @property
    def method(self) -> str:
        """The method's name in its experiment, and the variant."""
        return f"{self.configuration['method']} {self.variant}".strip()

    @property
    def seed(self) -> int:
        """The seed of all that was random."""
        return int(self.configuration["plan"]["seed"])

    @property
    def rounds(self) -> int:
        """The number of rounds that were planned."""
        return int(self.configuration["plan"]["rounds"])

    @property
    def failure(self) -> str | None:
        """Why the run stopped for good, if it did."""
        failure: str | None = self.sessions[-1].get("failure") if self.sessions else None
        return failure

    @property
    def title(self) -> str:
        """What the run was part of."""
        return f"{self.configuration['experiment']}: {self.configuration['about']}"

    @property
    def command(self) -> str:
        """The command that makes the same run again."""
        return str(self.configuration["command"])


def read(path: Path) -> Record:
    """The record in a run folder."""
    config = path / "config.json"
    require(path.is_dir(), f"there is no run folder {path}")
    require(config.is_file(), f"{path} is not a run folder: it has no config.json")
    try:
        table = json.loads(config.read_text(encoding="utf-8"))
        lines = read_lines(path / "rounds.jsonl")
        record = validated(Record(path, table["configuration"], table["sessions"], lines))
    except (OSError, ValueError, KeyError, TypeError) as error:
        what = error.errors()[0] if isinstance(error, ValidationError) else None
        reason = f"{'.'.join(map(str, what['loc']))}: {what['msg']}" if what else str(error)[:200]
        raise FedregError(
            f"run folder {path} cannot be read ({reason}); restore it from a copy or move it away"
        ) from error
    return record


def validated(record: Record) -> Record:
    """The record, if it has what is needed to tell of it."""
    CONFIGURATION.validate_python(record.configuration)
    SESSIONS.validate_python(record.sessions)
    return record


def read_lines(path: Path) -> list[Line]:
    """The whole lines of a file of rounds; one that a crash cut short is not counted."""
    if not path.exists():
        return []
    whole = path.read_bytes().rpartition(b"\n")[0]
    try:
        lines = [LINE.validate_json(text) for text in (whole.split(b"\n") if whole else [])]
    except ValidationError as error:
        raise ValueError(f"{path.name} was changed by hand, or damaged: {error.errors()[0]['msg']}") from error
    for i, line in enumerate(lines, start=1):
        if line.t != i or not line.finite():
            raise ValueError(f"line {i} of {path.name} is of round {line.t}, with a loss of {line.loss}")
    return lines


def find(paths: list[Path]) -> list[Record]:
    """Every run in these folders and below, in the order of their paths."""
    found: dict[Path, Record] = {}
    for path in paths:
        require(path.exists(), f"there is no folder {path}")
        configs = sorted(path.rglob("config.json"))
        require(bool(configs), f"there is no run in {path}; fedreg run or fedreg compare makes one")
        for config in configs:
            found.setdefault(config.parent.resolve(), read(config.parent))
    return list(found.values())


def told_apart(records: list[Record]) -> list[Record]:
    """The records of one experiment, named apart where a method was run with several settings."""
    for key in ("experiment", "data", "partition", "network"):
        known = {
            json.dumps(chosen({key: record.configuration[key]}), sort_keys=True): record.path for record in records
        }
        require(
            len(known) == 1, f"these runs differ in {key}: {', '.join(map(str, known.values()))}; report them apart"
        )
    return [replace(record, variant=variant(record, records)) for record in records]


def variant(record: Record, records: list[Record]) -> str:
    """The settings in which a run differs from others of its method; an error if it is there twice.

    Engines give the same results, and tell runs apart only where one seed was run on several.
    """
    alike = [other for other in records if other.configuration["method"] == record.configuration["method"]]
    told = {(other.seed, json.dumps(choices(other, MEANT), sort_keys=True)) for other in alike}
    parts = MEANT if len(told) == len(alike) else (*MEANT, "engine")
    mine = choices(record, parts)
    twins = [str(other.path) for other in alike if other.seed == record.seed and choices(other, parts) == mine]
    require(len(twins) == 1, f"{' and '.join(twins)} are the same run; name one of them alone")
    differing = [key for key in mine if any(choices(other, parts).get(key) != mine[key] for other in alike)]
    return ", ".join(f"{key.partition('.')[2]} {mine[key]}" for key in differing)


def choices(record: Record, parts: Sequence[str]) -> dict[str, Any]:
    """What was chosen for these parts of a run, apart from its seed and its length."""
    words = leaves(chosen({key: record.configuration[key] for key in parts}))
    return {key: value for key, value in words.items() if key not in ("plan.seed", "plan.rounds")}
