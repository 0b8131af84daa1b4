"""What a person at a terminal sees: tables, and progress with the time left."""

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.live import Live
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from ..studies.convergence import Row
from .columns import columns, is_regression, most_seeds, number

WIDE = 104  # columns that the table of several seeds takes with its ranges


def convergence(rows: Sequence[Row], title: str, reference: str, running: bool = False, width: int = WIDE) -> Table:
    """The table of R_a and accuracies; medians alone where there is no room for ranges."""
    table = Table(title=title, title_justify="left", header_style="bold", caption_justify="left", box=SIMPLE_HEAD)
    table.caption = caption(rows, reference, width) + ("; still running" if running else "")
    table.add_column("method", no_wrap=True)
    cells = {
        "rounds": [str(row.rounds) for row in rows],
        **{heading: [short(heading, text, width) for text in texts] for heading, texts in columns(rows).items()},
        "seconds": [number(row.seconds.median, 1) for row in rows],
    }
    for heading in cells:
        table.add_column(heading, justify="right", no_wrap=heading != "rounds")
    for row, texts in zip(rows, zip(*cells.values(), strict=True), strict=True):
        method = Text(f"{row.method}{failed(row)}", style="red" if row.failures else "")
        table.add_row(method, *texts, style="bold" if row.method == "fedreg" else None)
    return table


def short(heading: str, text: str, width: int) -> str:
    """A cell that leaves room for the others: accuracies, and in a narrow terminal all, without their range."""
    return text if heading.startswith("R_") and width >= WIDE else text.partition(" ")[0]


def caption(rows: Sequence[Row], reference: str, width: int) -> str:
    """What the table's numbers are."""
    seeds = most_seeds(rows)
    many = f"; medians over {seeds} seeds{' (least..most)' if width >= WIDE else ''}" if seeds > 1 else ""
    if is_regression(rows):
        return f"loss: on the test examples, after the last round{many}"
    text = f"R_a: rounds to a x {reference}'s best accuracy"
    if all(row.method != reference for row in rows):
        return f"{text}, for which a run of {reference} with the same seed is needed"
    return text + many


def markdown(rows: Sequence[Row]) -> str:
    """The same table for a document."""
    found = columns(rows)
    lines = [f"| method | {' | '.join(found)} |", "|---|" + "---:|" * len(found)]
    for row, texts in zip(rows, zip(*found.values(), strict=True), strict=True):
        lines.append(f"| {row.method}{failed(row)} | {' | '.join(texts)} |")
    return "\n".join(lines)


def failed(row: Row) -> str:
    """How many of a method's runs failed, in words; nothing where none did."""
    return f" ({len(row.failures)} of {row.seeds} failed)" if row.failures else ""


def stdout() -> Console:
    """The console for results; wide enough for any table where it is not a terminal."""
    console = Console(highlight=False, markup=False, emoji=False)
    width = None if console.is_terminal else 120
    return Console(highlight=False, markup=False, emoji=False, width=width)


class Screen:
    """A live view on the error stream of so many rounds to come; prints plain lines where that is no terminal."""

    def __init__(self, rounds: int, heading: str) -> None:
        self.console = Console(stderr=True, markup=False, emoji=False)
        self.heading = heading
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("rounds"))
        self.progress = Progress(*columns, TimeElapsedColumn(), TextColumn("{task.fields[left]}"), console=self.console)
        self.task = self.progress.add_task("", total=rounds, left="")
        self.live = Live(self.progress, console=self.console, transient=True, refresh_per_second=4)

    def __enter__(self) -> "Screen":
        if self.console.is_terminal:
            self.live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.live.stop()

    def step(self, description: str, view: Table | None, left: float | None) -> None:
        """One more round is there; a table to show from now on, if it is new; the seconds that are still to come."""
        if self.heading and not self.console.is_terminal:  # else the table has it
            self.say(self.heading, style="bold")
            self.heading = ""
        text = "" if left is None else f"{clock(left)} left"
        self.progress.update(self.task, advance=1, description=description, left=text)
        if self.console.is_terminal and view:
            self.live.update(Group(view, self.progress))

    def say(self, text: str, style: str | None = None) -> None:
        """A line that stays."""
        self.console.print(text, style=style, highlight=False, soft_wrap=True)


class Download:
    """Bars for the files of a dataset that is downloaded or added; silent where there is no terminal."""

    def __init__(self) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
        console = Console(stderr=True)
        self.progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self.tasks: dict[str, TaskID] = {}

    def __enter__(self) -> "Download":
        self.progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.progress.stop()

    def watch(self, file: str, done: int, whole: int | None) -> None:
        """More of a file has come."""
        if file not in self.tasks:
            self.tasks[file] = self.progress.add_task(file)
        self.progress.update(self.tasks[file], completed=done, total=whole)


def clock(seconds: float) -> str:
    """Seconds as minutes and seconds."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
