"""What the paper's tables say, and the curves that its authors published."""

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from ..core.errors import require
from ..experiments.names import nearest
from ..experiments.strict import strict

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results"
Number: TypeAlias = float | Literal["-"]


@dataclass(frozen=True)
class Column:
    """What a table says of one dataset: a row of numbers a method."""

    dataset: str
    experiments: list[str]  # that are about it, the paper's own first
    measures: list[Literal["R_0.5", "R_0.9", "R_1.0", "best", "seconds"]]
    rows: dict[str, list[Number]]


@dataclass(frozen=True)
class PaperTable:
    """A table of the paper."""

    about: str
    columns: list[Column]


@dataclass(frozen=True)
class Paper:
    """The paper's tables by their numbers."""

    tables: dict[str, PaperTable]


def tables() -> dict[str, PaperTable]:
    """The paper's tables by their numbers."""
    table = tomllib.loads((HERE / "paper.toml").read_text(encoding="utf-8"))
    return strict(Paper, table, "paper").tables


def table_of(number: str) -> PaperTable:
    """The paper's table of that number."""
    known = tables()
    require(number in known, f"the paper has no table {number!r}{nearest(number, list(known))}")
    return known[number]


def authors(experiment: str) -> dict[str, list[float]]:
    """The authors' own accuracies by method, of one seed, after 0, 1, 2 ... rounds; empty where there are none."""
    path = RESULTS / "authors.jsonl"
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines()) if path.is_file() else ()
    own = theirs(experiment)
    return {line["method"]: line["accuracy"] for line in lines if line["experiment"] == own}


def theirs(experiment: str) -> str:
    """The paper's own experiment on this one's dataset; another one's is itself."""
    columns = [column for table in tables().values() for column in table.columns]
    return next((column.experiments[0] for column in columns if experiment in column.experiments), experiment)
