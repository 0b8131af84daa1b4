"""The columns that every table of convergence has, in a terminal, a document or the page."""

from collections.abc import Sequence

from ..studies.convergence import Row, Spread


def number(value: float | None, digits: int, none: str = "-") -> str:
    """A number, or what is said for none."""
    return none if value is None else f"{value:.{digits}f}"


def ranged(spread: Spread, digits: int, seeds: int, none: str = "-") -> str:
    """A median, with its range if there is more than one seed and a number in it."""
    text = number(spread.median, digits, none)
    if seeds < 2 or (spread.low is None and spread.high is None):
        return text
    return f"{text} ({number(spread.low, digits, none)}..{number(spread.high, digits, none)})"


def most_seeds(rows: Sequence[Row]) -> int:
    """How many seeds the method with the most has."""
    return max((row.seeds for row in rows), default=1)


def is_regression(rows: Sequence[Row]) -> bool:
    """Whether there are losses and no accuracies."""
    return all(row.best.high is None for row in rows) and any(row.loss.low is not None for row in rows)


def columns(rows: Sequence[Row]) -> dict[str, list[str]]:
    """A cell a method under each heading: R_a and accuracies or, for a regression, the loss."""
    seeds = most_seeds(rows)
    if is_regression(rows):
        return {"loss": [ranged(row.loss, 4, seeds) for row in rows]}
    shares = [target.share for target in rows[0].targets] if rows else []
    return {
        **{f"R_{share}": [ranged(row.targets[i].rounds, 0, seeds) for row in rows] for i, share in enumerate(shares)},
        "final": [ranged(row.final, 3, seeds) for row in rows],
        "best": [ranged(row.best, 3, seeds) for row in rows],
        "last ten": [ranged(row.last_ten, 3, seeds) for row in rows],
    }
