"""What is said of runs when they are done: a table or JSON on stdout, and a page."""

import json
from pathlib import Path
from typing import Any

import typer

from ..core.errors import require
from ..runs.record import Record
from ..studies.convergence import as_table, table
from .page import Authors, machines, write_page
from .paper import authors
from .terminal import convergence, stdout


def beside(records: list[Record]) -> dict[str, list[float]]:
    """The authors' curves of the experiment that these runs are of."""
    experiment = str(records[0].configuration["experiment"])
    found = authors(experiment)
    require(bool(found), f"--paper: the paper has no experiment {experiment}; leave it out")
    return found


def tell(records: list[Record], page: Path | None, as_json: bool, failures: list[str], others: Authors = None) -> None:
    """The table of these runs on stdout, and the page."""
    reference = str(records[0].configuration["reference"])
    rows = table(records, reference)
    result = {
        "reference": reference,
        "methods": as_table(rows),
        "settings": {record.method: record.configuration["settings"] for record in records},
        "runs": [str(record.path) for record in records],
        "machines": machines(records),
    }
    show(
        {**result, "page": str(page) if page else None, "failures": failures},
        convergence(rows, records[0].title, reference, width=stdout().width),
        as_json,
    )
    if page:
        write_page(page, records, rows, reference, others)
    if not as_json:
        stdout().print(f"page: {page}" if page else f"run: {records[0].path}", soft_wrap=True)


def show(result: Any, view: Any, as_json: bool) -> None:
    """The result on stdout, for a program or for a person."""
    if as_json:
        typer.echo(json.dumps(result, indent=2, allow_nan=False))
    else:
        stdout().print(view)
