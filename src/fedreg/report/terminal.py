"""What a person at a terminal sees: tables, and progress with the time left."""

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from ..studies.convergence import Row, Spread


def number(value: float | None, digits: int) -> str:
    """A number, or a dash for none."""
    return "-" if value is None else f"{value:.{digits}f}"


def ranged(spread: Spread, digits: int, seeds: int) -> str:
    """A median, with its range if there is more than one seed."""
    text = number(spread.median, digits)
    return text if seeds < 2 else f"{text} ({number(spread.low, digits)}..{number(spread.high, digits)})"


def convergence(rows: Sequence[Row], title: str, reference: str, running: bool = False) -> Table:
    """The table of R_a and accuracies."""
    table = Table(title=title, title_justify="left", header_style="bold", caption_justify="left", box=SIMPLE_HEAD)
    seeds = max((row.seeds for row in rows), default=1)
    table.caption = f"R_a: rounds to a x {reference}'s best accuracy"
    if all(row.method != reference for row in rows):
        table.caption += f", for which a run of {reference} with the same seed is needed"
    elif seeds > 1:
        table.caption += f"; medians over {seeds} seeds (least..most)"
    table.add_column("method", no_wrap=True)
    table.add_column("rounds", justify="right")
    for share in [target.share for target in rows[0].targets] if rows else []:
        table.add_column(f"R_{share}", justify="right", no_wrap=True)
    for heading in ("final", "best", "last ten", "seconds"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        targets = [ranged(target.rounds, 0, seeds) for target in row.targets]
        scores = [number(score.median, 3) for score in (row.final, row.best, row.last_ten)]
        method = f"[red]{row.method} (failed)[/red]" if row.failures else row.method
        style = "bold" if row.method == "fedreg" else None
        table.add_row(method, str(row.rounds), *targets, *scores, number(row.seconds.median, 1), style=style)
    if running:
        table.caption += "; still running"
    return table


def markdown(rows: Sequence[Row]) -> str:
    """The same table for a document."""
    seeds = max((row.seeds for row in rows), default=1)
    shares = [target.share for target in rows[0].targets] if rows else []
    lines = ["| method | " + " | ".join([*(f"R_{share}" for share in shares), "final", "best", "last ten"]) + " |"]
    lines.append("|---|" + "---:|" * (len(shares) + 3))
    for row in rows:
        cells = [ranged(target.rounds, 0, seeds) for target in row.targets]
        cells += [ranged(score, 3, seeds) for score in (row.final, row.best, row.last_ten)]
        lines.append(f"| {row.method} | {' | '.join(cells)} |")
    return "\n".join(lines)


def stdout() -> Console:
    """The console for results; wide enough for any table where it is not a terminal."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=120)


class Screen:
    """A live view on the error stream of so many rounds to come; prints plain lines where that is no terminal."""

    def __init__(self, rounds: int, heading: str) -> None:
        self.console = Console(stderr=True)
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


def clock(seconds: float) -> str:
    """Seconds as minutes and seconds."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
