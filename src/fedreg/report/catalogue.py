"""What there is to run."""

from collections.abc import Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from ..datasets import SOURCES
from ..datasets.source import Source
from ..datasets.store import State, cache, state
from ..engines import ENGINES
from ..experiments.experiment import Experiment, load, shipped
from ..experiments.setting import plain


def experiments() -> list[Experiment]:
    """Every experiment that comes with the package."""
    return [load(name) for name in shipped()]


def settings(experiment: Experiment, name: str) -> dict[str, Any]:
    """A method's settings, those that it leaves alone left out, and where its plan is not the experiment's."""
    entry = experiment.entries[name]
    plan = {key: value for key, value in plain(entry.plan).items() if plain(experiment.scene.plan)[key] != value}
    table = {**plain(entry.method), **plan}
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
        table.add_row(e.name, "", Text(e.scene.about, style="dim"))
        for i, name in enumerate(e.entries):
            words = ", ".join(f"{key} {value}" for key, value in settings(e, name).items())
            table.add_row("", name, words, end_section=i + 1 == len(e.entries))
    return table


def datasets() -> list[tuple[Source, State]]:
    """Every dataset that can be kept on this machine, and whether it is."""
    return [(source, state(name)) for name, source in SOURCES.items()]


def datasets_as_table(found: Sequence[tuple[Source, State]]) -> dict[str, Any]:
    """The datasets as plain tables, for JSON."""
    return {
        "folder": str(cache()),
        "datasets": {
            source.name: {
                "about": source.about,
                "here": has.here,
                "megabytes": round(has.megabytes, 1) if has.here else source.megabytes,
                "downloads": bool(source.mirrors),
                "licence": source.licence,
                "citation": source.citation,
            }
            for source, has in found
        },
    }


def datasets_view(found: Sequence[tuple[Source, State]]) -> Table:
    """The datasets for a person."""
    table = Table(header_style="bold", caption=f"in {cache()}", caption_justify="left")
    for heading in ("dataset", "about", "state", "MB", "licence"):
        table.add_column(heading, justify="right" if heading == "MB" else "left")
    for source, has in found:
        megabytes = has.megabytes if has.here else source.megabytes
        table.add_row(source.name, source.about, told(source, has), f"{megabytes:.0f}", source.licence)
    return table


def told(source: Source, has: State) -> str:
    """The state of a dataset in words."""
    if has.here:
        return "here"
    if has.half:
        return f"{has.half:.0f} MB of it are here; fedreg data get {source.name}"
    return f"fedreg data {'get' if source.mirrors else 'add'} {source.name}"
