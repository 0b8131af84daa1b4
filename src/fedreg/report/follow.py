"""Runs as they happen: the lines that come in, shown and kept."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import mean
from time import monotonic

from ..runs.comparison import Event, Job
from ..runs.record import Line, Record
from ..studies.convergence import Row, best, table
from .terminal import Screen, clock, convergence

REFRESH = 0.25  # seconds


class Pace:
    """How long rounds take, method by method, and so how long the rest will."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.jobs = jobs
        self.taken: dict[str, list[float]] = defaultdict(list)

    def add(self, method: str, line: Line) -> None:
        """One more round was seen."""
        self.taken[method].append(line.train_seconds + line.evaluate_seconds)

    def left(self, done: dict[Job, list[Line]], over: set[Job]) -> float | None:
        """The seconds still to come; None before anything is known."""
        if not self.taken:
            return None
        known = {method: mean(taken) for method, taken in self.taken.items()}
        usual = mean(known.values())
        return sum(
            (planned(job) - len(done[job])) * known.get(job.method, usual) for job in self.jobs if job not in over
        )


def planned(job: Job) -> int:
    """The rounds that a job asks for."""
    return job.experiment.entry(job.method).plan.rounds


def follow(events: Iterator[Event], jobs: Sequence[Job], screen: Screen) -> list[str]:
    """Show every event as it comes; the failures at the end."""
    done: dict[Job, list[Line]] = {job: [] for job in jobs}
    pace, shown, over, failures = Pace(jobs), 0.0, set[Job](), list[str]()
    for job, line, failure in events:
        if line is None:
            over.add(job)
            failures.append(f"{job.method}, seed {job.seed}: {failure}")
            screen.say(f"failed: {failures[-1]}", style="red")
            continue
        done[job].append(line)
        pace.add(job.method, line)
        finished = line.t == planned(job)
        view = None
        if finished or monotonic() - shown > REFRESH:
            shown = monotonic()
            view = convergence(rows_of(done), title(job), job.experiment.scene.reference, True, screen.console.width)
        screen.step(f"{job.method}, seed {job.seed}", view, pace.left(done, over))
        if finished:
            over.add(job)
            screen.say(summary(job, done[job]))
    return failures


def rows_of(done: dict[Job, list[Line]]) -> list[Row]:
    """The table so far."""
    records = [
        Record(job.path, {"method": job.method, "plan": {"seed": job.seed}}, [], lines)
        for job, lines in done.items()
        if lines
    ]
    return table(records, next(iter(done)).experiment.scene.reference) if records else []


def title(job: Job) -> str:
    """The heading of a comparison."""
    return f"{job.experiment.name}: {job.experiment.scene.about}"


def summary(job: Job, lines: list[Line]) -> str:
    """One line about a finished run."""
    seconds = sum(line.train_seconds + line.evaluate_seconds for line in lines)
    accuracy = best(lines)
    said = f"loss {lines[-1].loss:.3g}" if accuracy is None else f"best accuracy {accuracy:.3f}"
    return f"{job.method}, seed {job.seed}: {len(lines)} rounds, {said}, {clock(seconds)}"
