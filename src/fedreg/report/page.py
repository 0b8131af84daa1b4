"""One self-contained HTML page about runs: curves, the table of R_a, configurations, and how to repeat them."""

import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any, TypeAlias

from plotly.offline import get_plotlyjs

from ..core.errors import require
from ..runs.disk import put_in_place, writing
from ..runs.record import Record
from ..studies.convergence import Row
from ..version import __version__
from .columns import columns, is_regression, most_seeds, ranged
from .curves import AXES, colours, figure

HERE = Path(__file__).parent
Authors: TypeAlias = Mapping[str, Sequence[float]] | None  # the paper's authors' accuracies, to be drawn beside ours
BESIDE = '<p class="note">Dotted: the runs of the paper\'s authors, one seed each, as far as ours go.</p>'


def write_page(
    path: Path, records: Sequence[Record], rows: Sequence[Row], reference: str, authors: Authors = None
) -> None:
    """Put the page at path, whole or not at all."""
    require(bool(path.name) and not path.is_dir(), f"{path or '-o'} is no file; name one, such as report.html")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with put_in_place(path) as new:
            new.write_text(page(records, rows, reference, authors), encoding="utf-8")


def page(records: Sequence[Record], rows: Sequence[Row], reference: str, authors: Authors = None) -> str:
    """The page's HTML."""
    charts = {axis.name: json.loads(figure(records, axis, reference, authors).to_json()) for axis in AXES}
    titles = list(dict.fromkeys(record.title for record in records))
    population = records[0].configuration["population"]
    fields = {
        "title": escape("; ".join(titles)),
        "experiment": escape(str(records[0].configuration["experiment"])),
        "about": escape(str(records[0].configuration["about"])),
        "headline": headline(rows, reference),
        "facts": facts(records, population),
        "beside": BESIDE if authors else "",
        "table": table(rows, reference),
        "runs": "\n".join(map(details, records)),
        "commands": escape("\n".join(again(record) for record in records)),
        "machine": "".join(f"<li>{escape(line)}</li>" for line in machines(records)),
        "version": __version__,
        "style": (HERE / "page.css").read_text(encoding="utf-8"),
        "script": (HERE / "page.js").read_text(encoding="utf-8"),
        "plotly": get_plotlyjs(),
        "charts": json.dumps(charts).replace("</", "<\\/"),
    }
    return Template((HERE / "page.html").read_text(encoding="utf-8")).substitute(fields)


def headline(rows: Sequence[Row], reference: str) -> str:
    """The one thing to know: who reaches 0.9 of the reference's best accuracy when."""
    if is_regression(rows):
        return "<p>A regression: its runs are compared by their loss on the test examples.</p>"
    found = [(row.method, target) for row in rows for target in row.targets if target.share == 0.9]
    reached = sorted(((t.rounds.median, method) for method, t in found if t.rounds.median is not None))
    if not reached:
        return f"<p>No method reached 0.9 of {escape(reference)}'s best accuracy.</p>"
    colour = colours([row.method for row in rows])
    cards = "".join(
        f'<div class="card"><b style="color:{colour[method]}">{rounds:g}</b><span>{escape(method)}</span></div>'
        for rounds, method in reached
    )
    never = [method for method, target in found if target.rounds.median is None]
    missed = f'<p class="note">Not reached by {escape(", ".join(never))}.</p>' if never else ""
    said = f"Rounds to 0.9 of {escape(reference)}'s best accuracy"
    return f'<h2>{said}</h2><div class="cards">{cards}</div>{missed}'


def facts(records: Sequence[Record], population: Any) -> str:
    """The population and the number of runs, in words."""
    sizes, classes = population["sizes"], population["classes"]
    words = [
        f"{population['clients']:,} clients",
        f"{between(sizes)} examples each",
        f"{between(classes)} class{'es' if classes[2] > 1 else ''} each" if classes else "",
        f"{records[0].configuration['plan']['cohort']} clients a round",
        f"{records[0].configuration['network']['parameters']:,} parameters",
        f"{len({record.seed for record in records})} seed{'s' if len({r.seed for r in records}) > 1 else ''}",
    ]
    return "".join(f"<li>{word}</li>" for word in words if word)


def between(spread: Sequence[float]) -> str:
    """A range in words."""
    return f"{spread[0]}" if spread[0] == spread[2] else f"{spread[0]} to {spread[2]}"


def table(rows: Sequence[Row], reference: str) -> str:
    """The table of R_a, accuracies and what the targets cost."""
    seeds = most_seeds(rows)
    cells = {"rounds": [str(row.rounds) for row in rows], **columns(rows)}
    for i, target in enumerate(rows[0].targets):
        if target.share == 0.9 and not is_regression(rows):
            cells["s to 0.9"] = [ranged(row.targets[i].seconds, 1, seeds) for row in rows]
            cells["MB to 0.9"] = [ranged(row.targets[i].megabytes, 1, seeds) for row in rows]
    body = []
    for row, texts in zip(rows, zip(*cells.values(), strict=True), strict=True):
        count = f"{len(row.failures)} of {row.seeds} failed"
        failed = f'<br><small class="failed">{count}</small>' if row.failures else ""
        kind = ' class="ours"' if row.method == "fedreg" else ""
        body.append(
            f"<tr{kind}><th>{escape(row.method)}{failed}</th>{''.join(f'<td>{text}</td>' for text in texts)}</tr>"
        )
    heads = [re.sub(r"^R_(.*)", r"R<sub>\1</sub>", heading) for heading in ("method", *cells)]
    head = "".join(f"<th>{heading}</th>" for heading in heads)
    whole = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
    failures = [f"{row.method}: {failure}" for row in rows for failure in row.failures]
    why = "".join(f'<p class="note failed">{escape(failure)}</p>' for failure in failures)
    return f'<div class="scroll">{whole}</div><p class="note">{note(rows, reference)}</p>{why}'


def note(rows: Sequence[Row], reference: str) -> str:
    """What the table's numbers are."""
    many = " Medians over the seeds, with the range." if most_seeds(rows) > 1 else ""
    if is_regression(rows):
        return f"Loss: the mean on the test examples after the last round.{many}"
    return (
        f"R<sub>a</sub> is the number of rounds trained when the test accuracy first reaches a times the best that "
        f"{escape(reference)} has in any round with the same seed; a dash: not in the rounds run. Last ten: the mean "
        f"accuracy of the last ten rounds. s and MB to 0.9: of training, and up and down for one client.{many}"
    )


def again(record: Record) -> str:
    """The command that repeats a run, in a folder where it meets nothing."""
    return f"{record.command} --out again/{record.configuration['method']}-{record.seed}"


def details(record: Record) -> str:
    """A run's whole configuration, folded."""
    text = escape(json.dumps(record.configuration, indent=2))
    failed = f" <small class='failed'>{escape(record.failure)}</small>" if record.failure else ""
    done = f"{len(record.lines)} of {record.rounds} rounds"
    summary = f"{escape(record.method)}, seed {record.seed} <small>{done}</small>{failed}"
    return f"<details><summary>{summary}</summary><pre>{text}</pre></details>"


def machines(records: Sequence[Record]) -> list[str]:
    """Where the runs were made, and with what."""
    said: dict[str, None] = {}
    for record in records:
        for session in record.sessions:
            on, by = session["machine"], session["versions"]
            versions = ", ".join(f"{name} {version}" for name, version in by.items())
            place = f"{on['processor']}, {on['cores']} cores, {on['threads']} threads, {on['device']}"
            place += f", {on['processes']} processes" if on.get("processes", 1) > 1 else ""
            said[f"{place}; {on['system']}; {versions}"] = None
    return list(said)
