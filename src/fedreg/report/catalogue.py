"""What there is to run."""

from collections.abc import Sequence
from typing import Any

from rich.table import Table

from ..engines import ENGINES
from ..experiments.experiment import Experiment, load, shipped
from ..experiments.setting import plain


def experiments() -> list[Experiment]:
    """Every experiment that comes with the package."""
    return [load(name) for name in shipped()]


def settings(experiment: Experiment, name: str) -> dict[str, Any]:
    """A method's settings, those that it leaves alone left out."""
    table = plain(experiment.entries[name].method)
    usual = {"gradient": "exact", "partly_private": False, "modified_gradient": False, "eta_p": None, "E": 10}
    return {key: value for key, value in table.items() if key not in usual or usual[key] != value}


def as_table(found: Sequence[Experiment]) -> dict[str, Any]:
    """The experiments and engines as plain tables, for JSON."""
    return {
        "experiments": {
            e.name: {
                "about": e.scene.about,
                "plan": plain(e.scene.plan),
                "methods": {n: settings(e, n) for n in e.entries},
            }
            for e in found
        },
        "engines": list(ENGINES),
    }


def view(found: Sequence[Experiment]) -> Table:
    """The experiments for a person."""
    table = Table(header_style="bold", caption=f"engines: {', '.join(ENGINES)}", caption_justify="left")
    for heading in ("experiment", "method", "settings"):
        table.add_column(heading)
    for e in found:
        for i, name in enumerate(e.entries):
            words = ", ".join(f"{key} {value}" for key, value in settings(e, name).items())
            table.add_row(e.name if i == 0 else "", name, words, end_section=i + 1 == len(e.entries))
        table.add_row("", "", e.scene.about, end_section=True, style="dim")
    return table
