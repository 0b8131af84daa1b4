"""Accuracy (of a regression the loss) against rounds, megabytes and seconds, with seeds as bands, as Plotly figures."""

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from statistics import median
from typing import Any, NamedTuple

import plotly.graph_objects as go

from ..runs.record import Line, Record
from ..studies.convergence import accuracies, best, place

# Okabe and Ito's palette, which people with any colour vision can tell apart
COLOURS = {
    "fedreg": "#D55E00", "fedavg": "#0072B2", "sgd": "#7A7A7A", "fedprox": "#56B4E9", "fedcurv": "#009E73",
    "scaffold": "#CC79A7",
}  # fmt: skip
OTHERS = ("#E69F00", "#8C6BB1", "#A6761D", "#1B9E77", "#B2182B", "#4D4D4D")


class Axis(NamedTuple):
    """What accuracy is drawn against: the name in the page, the heading, and what a round adds."""

    name: str
    heading: str
    unit: str
    cost: Callable[[Line], float]


AXES = (
    Axis("rounds", "Rounds", "rounds", lambda line: 1),
    Axis("megabytes", "Megabytes, up and down, of a client in every round", "MB",
         lambda line: (line.bytes_up + line.bytes_down) / 1e6),
    Axis("seconds", "Seconds of training", "s", lambda line: line.train_seconds),
)  # fmt: skip


def colours(methods: Sequence[str]) -> dict[str, str]:
    """A colour a method, the same on every page where the method is one of the paper's."""
    others = [method for method in methods if method not in COLOURS]
    return {method: COLOURS.get(method) or OTHERS[others.index(method) % len(OTHERS)] for method in methods}


def figure(
    records: Sequence[Record], axis: Axis, reference: str, authors: Mapping[str, Sequence[float]] | None = None
) -> go.Figure:
    """Accuracy against an axis: a line for the median over seeds, a band from the least to the most.

    Against rounds the authors' own accuracies, if they are given, are dotted lines.
    """
    chart = go.Figure()
    methods = sorted({record.method for record in records if record.lines}, key=place)
    for method, colour in colours(methods).items():
        mine = [record for record in records if record.method == method and record.lines]
        add_method(chart, mine, axis, colour)
        if authors and method in authors and axis.name == "rounds":
            add_authors(chart, method, authors[method][: 1 + max(len(record.lines) for record in mine)], colour)
    bests = [best(record.lines) for record in records if record.method == reference]
    goals = [accuracy for accuracy in bests if accuracy is not None]
    for share in (0.5, 0.9, 1.0) if goals else ():
        label = f"{share:g} x {reference}'s best" if axis.name == "rounds" else ""
        chart.add_hline(share * median(goals), line={"width": 1, "dash": "dot", "color": "#999"}, annotation_text=label,
                        annotation_position="top left", annotation_font={"size": 11, "color": "#888"})  # fmt: skip
    chart.update_xaxes(title_text=axis.heading, rangemode="tozero")
    if any(accuracies(record.lines) for record in records):
        chart.update_yaxes(title_text="Test accuracy", range=[0, 1.02], tickformat=".1f")
    else:
        chart.update_yaxes(title_text="Test loss", rangemode="tozero")
    return chart


def add_method(chart: go.Figure, records: Sequence[Record], axis: Axis, colour: str) -> None:
    """Draw one method's band and line."""
    rounds = min(len(record.lines) for record in records)
    whole = [record.lines[:rounds] for record in records]
    costs = zip(*(accumulate(axis.cost(line) for line in lines) for lines in whole), strict=True)
    x = [median(cost) for cost in costs]
    scores = list(zip(*((accuracies(lines) or [line.loss for line in lines]) for lines in whole), strict=True))
    name = records[0].method
    group: dict[str, Any] = {"legendgroup": name, "mode": "lines"}
    if len(records) > 1:
        edge = {**group, "line": {"width": 0}, "showlegend": False, "hoverinfo": "skip"}
        chart.add_scatter(x=x, y=[max(s) for s in scores], **edge)
        chart.add_scatter(x=x, y=[min(s) for s in scores], fill="tonexty", fillcolor=faint(colour), **edge)
    said = "%{y:.3f}" if axis.name == "rounds" else "%{y:.3f} after %{customdata} rounds"
    width = 3 if name == "fedreg" else 1.8
    chart.add_scatter(x=x, y=[median(s) for s in scores], name=name, line={"color": colour, "width": width},
                      customdata=list(range(1, rounds + 1)), hovertemplate=said, **group)  # fmt: skip


def add_authors(chart: go.Figure, method: str, accuracies: Sequence[float], colour: str) -> None:
    """Draw the authors' own run of a method, as far as ours goes."""
    line = {"color": colour, "width": 1.5, "dash": "dot"}
    x = list(range(len(accuracies)))
    name = f"{method}, the authors'"
    chart.add_scatter(x=x, y=list(accuracies), name=name, line=line, mode="lines", hovertemplate="%{y:.3f}")


def faint(colour: str) -> str:
    """The colour, nearly transparent."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.16)"
