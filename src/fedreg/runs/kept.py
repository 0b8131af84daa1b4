"""Runs as small JSON lines, one a run, fit for a repository: all of a run but its checkpoint and its clients' names."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core.errors import FedregError, require
from .configuration import identity_of
from .disk import put_in_place, writing
from .record import Line, Record, find, validated

DIGITS = 6  # of a loss that are kept
NUMBERS = ("accuracy", "loss", "train_seconds", "evaluate_seconds", "bytes_down", "bytes_up")


def gathered(paths: Sequence[Path]) -> list[Record]:
    """Every run in these folders and below, and in these .jsonl files."""
    found = []
    for path in paths:
        found += kept(path) if path.suffix == ".jsonl" and not path.is_dir() else find([path])
    return list({record.path.resolve(): record for record in found}.values())


def kept(path: Path) -> list[Record]:
    """The runs in a file."""
    require(path.is_file(), f"there is no file {path}")
    found = []
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            found.append(record_of(path.with_name(f"{path.name}:{number}"), json.loads(text)))
        except (ValueError, KeyError, TypeError) as error:
            raise FedregError(f"{path}, line {number}, is no run ({str(error)[:200]}); restore or remove it") from error
    return found


def keep(records: Iterable[Record], path: Path) -> int:
    """Put the runs in the file, each in the place of a shorter record of the same run; how many are there then."""
    best = {identity_of(record.configuration): record for record in (kept(path) if path.exists() else [])}
    for record in records:
        identity = identity_of(record.configuration)
        known = best.get(identity)
        if record.lines and (known is None or len(record.lines) >= len(known.lines)):
            best[identity] = record
    require(bool(best), "none of these runs has a round on record; there is nothing to keep")
    ordered = sorted(best.values(), key=lambda r: (str(r.configuration["experiment"]), r.method, r.seed))
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with put_in_place(path) as new:
            new.write_text("".join(f"{text_of(record)}\n" for record in ordered), encoding="utf-8")
    return len(ordered)


def text_of(record: Record) -> str:
    """The run as a line of JSON."""
    rounds = {key: [shortened(key, getattr(line, key)) for line in record.lines] for key in NUMBERS}
    whole = {"configuration": record.configuration, "sessions": record.sessions, "rounds": rounds}
    return json.dumps(whole, separators=(",", ":"), allow_nan=False)


def shortened(key: str, value: Any) -> Any:
    """A number as it is kept: seconds to a thousandth, losses to a few digits, others as they are."""
    if key.endswith("seconds"):
        return round(value, 3)
    return float(f"{value:.{DIGITS}g}") if key == "loss" else value


def record_of(path: Path, whole: Mapping[str, Any]) -> Record:
    """The run that a line tells of."""
    columns = zip(*(whole["rounds"][key] for key in NUMBERS), strict=True)
    lines = [
        Line(t, **dict(zip(NUMBERS, numbers, strict=True)), clients=[], dropped=[])
        for t, numbers in enumerate(columns, start=1)
    ]
    return validated(Record(path, whole["configuration"], whole["sessions"], lines))
