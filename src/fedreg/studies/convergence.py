"""How soon a method gets how far: R_a, the paper's measure, and what it costs.

R_a is the number of rounds trained when the accuracy on the test examples first reaches a times the best accuracy that
the reference method has in any of its rounds. A regression has no accuracy, and so no R_a: its loss is told.
"""

from collections.abc import Sequence
from math import inf, isfinite
from statistics import mean, median
from typing import Any, NamedTuple

from ..runs.record import Line, Record

SHARES = (0.5, 0.9, 1.0)
ORDER = ("sgd", "fedavg", "fedprox", "scaffold", "fedcurv")  # as in the paper's tables, where FedReg comes last


class Spread(NamedTuple):
    """The median over seeds, the least and the most; None where not every seed that counts has a value."""

    median: float | None
    low: float | None
    high: float | None


class Target(NamedTuple):
    """What it took to reach a share of the reference's best accuracy."""

    share: float
    rounds: Spread
    seconds: Spread
    megabytes: Spread  # up and down, one client
    reached: int  # in how many of the seeds


class Row(NamedTuple):
    """A method in a table of convergence."""

    method: str
    seeds: int
    rounds: int  # that were run, the least over the seeds
    final: Spread
    best: Spread
    last_ten: Spread  # the mean accuracy of the last ten rounds
    loss: Spread  # on the test examples, after the last round
    seconds: Spread  # of training and evaluation, all rounds
    targets: list[Target]
    failures: list[str]


def table(records: Sequence[Record], reference: str, shares: Sequence[float] = SHARES) -> list[Row]:
    """A row a method; a seed's rounds are counted to what the reference reached with the same seed."""
    methods = sorted(dict.fromkeys(record.method for record in records), key=place)
    bests = {record.seed: best(record.lines) for record in records if record.method == reference}
    goals = {seed: accuracy for seed, accuracy in bests.items() if accuracy is not None}
    return [row([record for record in records if record.method == method], goals, shares) for method in methods]


def place(method: str) -> tuple[int, str]:
    """Where a method stands in a table: the paper's baselines, others, FedReg and its variants."""
    if method in ORDER:
        return ORDER.index(method), method
    return len(ORDER) + method.startswith("fedreg"), method


def row(records: Sequence[Record], goals: dict[int, float], shares: Sequence[float]) -> Row:
    """The row of one method's runs."""
    begun = [record for record in records if record.lines or record.failure]
    scored = [record for record in begun if accuracies(record.lines) or record.failure]
    tens = [last_ten(record) for record in scored]
    return Row(
        method=records[0].method,
        seeds=len(records),
        rounds=min((len(record.lines) for record in records), default=0),
        final=spread([ten[-1] if ten else None for ten in tens], worst=-inf),
        best=spread([best(record.lines) for record in scored], worst=-inf),
        last_ten=spread([mean(ten) if ten else None for ten in tens], worst=-inf),
        loss=spread([None if record.failure else record.lines[-1].loss for record in begun]),
        seconds=spread([sum(line.train_seconds + line.evaluate_seconds for line in record.lines) for record in begun]),
        targets=[target(begun, goals, share) for share in shares],
        failures=[record.failure for record in records if record.failure],
    )


def target(records: Sequence[Record], goals: dict[int, float], share: float) -> Target:
    """What it took the runs to reach a share of their goals."""
    counted = [record for record in records if record.seed in goals]
    reached = [reaching(record.lines, share * goals[record.seed]) for record in counted]
    return Target(
        share,
        spread([None if r is None else len(r) for r in reached]),
        spread([None if r is None else sum(line.train_seconds for line in r) for r in reached]),
        spread([None if r is None else sum(line.bytes_up + line.bytes_down for line in r) / 1e6 for r in reached]),
        sum(r is not None for r in reached),
    )


def reaching(lines: Sequence[Line], accuracy: float) -> Sequence[Line] | None:
    """The rounds up to the first that reaches this accuracy; None if none does."""
    for i, line in enumerate(lines):
        if line.accuracy is not None and line.accuracy >= accuracy:
            return lines[: i + 1]
    return None


def accuracies(lines: Sequence[Line]) -> list[float]:
    """The accuracy after each round; nothing for a regression, which has none."""
    return [line.accuracy for line in lines if line.accuracy is not None]


def last_ten(record: Record) -> list[float]:
    """The accuracies of a run's last ten rounds; nothing for one that failed, which has no last model."""
    return [] if record.failure else accuracies(record.lines)[-10:]


def best(lines: Sequence[Line]) -> float | None:
    """The best accuracy of any round; None for a regression."""
    return max(accuracies(lines), default=None)


def spread(values: Sequence[float | None], worst: float = inf) -> Spread:
    """Median and range, where a None counts as the worst there is and is None when it is the median or an end."""
    if not values:
        return Spread(None, None, None)
    numbers = [worst if value is None else value for value in values]

    def said(number: float) -> float | None:
        return number if isfinite(number) else None

    return Spread(said(median(numbers)), said(min(numbers)), said(max(numbers)))


def as_table(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The rows as plain tables, for JSON."""
    return [
        {
            **row._asdict(),
            **{key: getattr(row, key)._asdict() for key in ("final", "best", "last_ten", "loss", "seconds")},
            "targets": [
                {**t._asdict(), **{key: getattr(t, key)._asdict() for key in ("rounds", "seconds", "megabytes")}}
                for t in row.targets
            ],
        }
        for row in rows
    ]
