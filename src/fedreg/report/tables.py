"""The paper's tables beside what was measured here."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table
from rich.text import Text

from ..experiments.experiment import Experiment, load
from ..experiments.setting import described
from ..runs.configuration import chosen, leaves
from ..runs.record import Record
from ..studies.convergence import Row, Spread, spread
from ..studies.convergence import table as rows_of
from .columns import number as said
from .columns import ranged
from .page import machines
from .paper import RESULTS, Column, PaperTable

DIGITS = {"R_0.5": 0, "R_0.9": 0, "R_1.0": 0, "best": 3, "seconds": 2}

# The parts of a configuration that make a run a row of the paper, and what in them need not be the experiment's own
PARTS = ("settings", "plan", "data", "partition", "network")
ASIDE = {"plan.rounds", "plan.seed", "network.parameters"}


class Entry(NamedTuple):
    """A method on a dataset: what the paper says, and what was measured."""

    dataset: str
    experiment: str
    method: str
    paper: Mapping[str, float | None]  # measure -> number; None where the paper prints "-"
    ours: Mapping[str, Spread]  # likewise; empty where nothing has been run
    rounds: tuple[int, int]  # that were run, the least and the most over the seeds
    planned: int
    seeds: list[int]
    commands: list[str]
    failures: list[str]  # why runs stopped for good, those that did


def kept(number: str) -> list[Path]:
    """The runs that come with fedreg, for a table of rounds; their seconds, on shared devices, are none to compare."""
    return [] if number == "C.2" else sorted(RESULTS.glob("runs/*.jsonl"))


def fitting(paper: PaperTable, records: Sequence[Record]) -> list[Record]:
    """Those of the table's experiments with their own settings, the longest of each method and seed."""
    experiments = {name: load(name) for column in paper.columns for name in column.experiments}
    longest: dict[tuple[str, str, int], Record] = {}
    for record in records:
        name = str(record.configuration["experiment"])
        if name in experiments and unchanged(record, experiments[name]):
            key = name, str(record.configuration["method"]), record.seed
            longest[key] = max(longest.get(key, record), record, key=lambda r: len(r.lines))
    return list(longest.values())


def unchanged(record: Record, experiment: Experiment) -> bool:
    """Whether a run is the experiment's own but for its seed, its length and what it was run with."""
    method = record.configuration["method"]
    if method not in experiment.entries:
        return False
    mine, own = (
        leaves(chosen({part: table[part] for part in PARTS}))
        for table in (record.configuration, described(experiment, method))
    )
    return {key for key in {*mine, *own} if mine.get(key) != own.get(key)} <= ASIDE


def entries(paper: PaperTable, records: Sequence[Record]) -> list[Entry]:
    """A row a method, dataset and experiment, whether it was run or not."""
    return [
        entry(column, experiment, method, records)
        for column in paper.columns
        for experiment in (map(load, column.experiments) if column.experiments else [None])
        for method in column.rows
    ]


def entry(column: Column, experiment: Experiment | None, method: str, records: Sequence[Record]) -> Entry:
    """The row of one method; with the paper's numbers alone where no experiment is about it."""
    paper: dict[str, float | None] = {
        measure: None if said == "-" else float(said)
        for measure, said in zip(column.measures, column.rows[method], strict=True)
    }
    if experiment is None:
        return Entry(column.dataset, "", method, paper, {}, (0, 0), 0, [], [], [])
    about = [record for record in records if record.configuration["experiment"] == experiment.name]
    mine = [record for record in about if record.configuration["method"] == method and record.lines]
    reference = experiment.scene.reference
    row = next((row for row in rows_of(about, reference) if row.method == method), None) if mine else None
    lengths = [len(record.lines) for record in mine]
    return Entry(
        column.dataset,
        experiment.name,
        method,
        paper,
        {measure: measured(measure, row, mine) for measure in column.measures} if row else {},
        (min(lengths, default=0), max(lengths, default=0)),
        experiment.entries[method].plan.rounds if method in experiment.entries else 0,
        sorted(record.seed for record in mine),
        [record.command for record in mine],
        [f"{experiment.name} {method}, seed {r.seed}: {r.failure}" for r in mine if r.failure],
    )


def measured(measure: str, row: Row, records: Sequence[Record]) -> Spread:
    """A measure over the seeds."""
    if measure == "best":
        return row.best
    if measure == "seconds":
        return spread([seconds(record) for record in records])
    return next(target.rounds for target in row.targets if measure == f"R_{target.share}")


def seconds(record: Record) -> float:
    """What a client's local training took on average, the engine's sharing of time counted in."""
    cohort = int(record.configuration["plan"]["cohort"])
    return sum(line.train_seconds for line in record.lines) / len(record.lines) / cohort


def as_table(number: str, paper: PaperTable, found: Sequence[Entry], records: Sequence[Record]) -> dict[str, Any]:
    """The table for a program."""
    rows = [{**e._asdict(), "ours": {key: value._asdict() for key, value in e.ours.items()} or None} for e in found]
    return {"table": number, "about": paper.about, "rows": rows, "machines": machines(records)}


def view(number: str, paper: PaperTable, found: Sequence[Entry]) -> Group:
    """The table for a person: paper | ours in every cell, experiment by experiment."""
    title = Text(f"Table {number}: {paper.about}", style="bold")
    alike: dict[str, list[Entry]] = defaultdict(list)
    for e in found:
        alike[f"{e.dataset}: {e.experiment}" if e.experiment else e.dataset].append(e)
    return Group(title, *(part(heading, rows) for heading, rows in alike.items()))


def part(heading: str, rows: Sequence[Entry]) -> Table:
    """The rows of one experiment."""
    table = Table(title=f"\n{heading}", title_justify="left", header_style="bold", box=SIMPLE_HEAD)
    table.padding = (0, 1, 0, 0)
    table.add_column("paper | ours", no_wrap=True)
    for measure in (*rows[0].paper, "rounds", "seeds"):
        wide = len("(123..456)") if measure.startswith("R_") else None
        table.add_column(measure, justify="right", overflow="fold", min_width=wide)
    for e in rows:
        table.add_row(e.method, *(cell(e, measure) for measure in e.paper), run(e), str(len(e.seeds) or ""))
    return table


def cell(e: Entry, measure: str) -> str:
    """The paper's number and ours."""
    digits = DIGITS[measure]
    ours = " "
    if e.ours:  # of accuracies the median alone, which leaves room for the ranges of rounds
        found = e.ours[measure]
        ours = reached(e, measure) if measure.startswith("R_") else said(found.median, digits)
    return f"{said(e.paper[measure], digits)} | {ours}"


def reached(e: Entry, measure: str) -> str:
    """A number of rounds and its range; what was not reached was not in all that are planned, or not in those run."""
    cut = e.rounds[0] < e.planned and not e.failures
    return ranged(e.ours[measure], 0, len(e.seeds), f">{e.rounds[0]}" if cut else "-")


def run(e: Entry) -> str:
    """How many rounds were run, of how many, and in how many seeds they ended in a failure."""
    least, most = e.rounds
    if not e.ours:
        return "not run" if e.planned else "no preset"
    failed = f", {len(e.failures)} failed" if e.failures else ""
    return f"{least if least == most else f'{least}..{most}'} of {e.planned}{failed}"


def notes(number: str, found: Sequence[Entry], records: Sequence[Record]) -> list[str]:
    """What the numbers are, how to have a row again, and where ours were made."""
    lines = [
        "R_a: rounds to a x SGD's best in the rounds it was run, with the same seed.",
        "A dash: never; >150: not in the 150 rounds that were run, of more that are planned.",
        "best: over the rounds that were run, as is the paper's ACC.",
        "Ours: the median over seeds, and for R_a the range.",
    ]
    for e in [e for e in found if e.ours and e.method == "fedreg"][:1]:
        words = f"--methods sgd,fedreg --seeds {','.join(map(str, e.seeds))} --set plan.rounds={e.rounds[1]} --resume"
        lines.append(f"a row again: fedreg compare {e.experiment} {words}")
        lines.append(f"             fedreg table {number} runs/{e.experiment}")
    if number == "C.2":
        lines = ["Seconds are of your own runs, made one at a time: fedreg table C.2 runs/EXPERIMENT"]
    lines += [f"failed: {failure}" for e in found for failure in e.failures]
    lines += [f"{name}: {load(name).scene.about}" for name in dict.fromkeys(e.experiment for e in found if e.ours)]
    shown = {(e.experiment, e.method) for e in found if e.ours}
    mine = [r for r in records if (r.configuration["experiment"], r.configuration["method"]) in shown]
    return [*lines, *(f"ours on {machine}" for machine in machines(mine))]
