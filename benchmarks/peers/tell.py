"""What the runs gave: whether they are a result, and the table."""

import os
import platform
from pathlib import Path
from statistics import median

HEADINGS = ["peer", "setup", "start", "compile", "first round"]


def machine() -> dict:
    """The machine, in words, and how busy it was before."""
    model = next((line.split(":")[1].strip() for line in cpu() if line.startswith("model name")), platform.machine())
    return {"machine": model, "cores": len(os.sched_getaffinity(0)), "load": round(os.getloadavg()[0], 2)}


def cpu() -> list[str]:
    """What Linux says of the processor."""
    path = Path("/proc/cpuinfo")
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def seconds(record: dict, every: int) -> float:
    """Seconds of all rounds after the first, where every so manieth is tested."""
    tests = [s for t, s in enumerate(record["evaluation"], 1) if t > 1 and t % every == 0]
    return sum(record["training"][1:]) + sum(tests)


def wrong(told: dict, plain: dict, work: dict) -> str | None:
    """Why a run is no result, if it is none: it has computed something else than the plain loop."""
    if "norms" not in plain or "norms" not in told:
        return None
    norm = abs(told["norms"][0] / plain["norms"][0] - 1)
    if not norm <= work["norm"]:
        return f"after round 1 the parameters' norm is {norm:.1e} of it away from the plain loop's"
    away = [abs(a - b) for a, b in zip(told["accuracies"], plain["accuracies"], strict=True)]
    most = max(away)
    if not most <= work["accuracy"]:
        return f"after round {away.index(most) + 1} the accuracy is {most:.4f} away from the plain loop's"
    return None


def spread(values: list[float], digits: int) -> str:
    """The median, and the range if there are several."""
    told = f"{median(values):.{digits}f}"
    return told if len(values) == 1 else f"{told} ({min(values):.{digits}f}..{max(values):.{digits}f})"


def ratios(mine: list[dict], others: list[dict], every: int) -> str:
    """How many times another's seconds mine took, repetition by repetition."""
    by = {record["repetition"]: seconds(record, every) for record in others}
    found = [seconds(r, every) / by[r["repetition"]] for r in mine if r["repetition"] in by]
    return spread(found, 2) if found else "-"


def cells(mine: list[dict], of: dict[str, list[dict]], tests: list[int]) -> list[str]:
    """A peer's row."""
    first = mine[0]
    row = [first["peer"], first["setup"].replace("--", "")]
    row += [spread([r[key] for r in mine], 1) for key in ("start", "compilation")]
    row += [spread([r["training"][0] for r in mine], 1), spread([sum(r["training"][1:]) for r in mine], 2)]
    for every in tests:
        row.append(spread([seconds(r, every) for r in mine], 2))
        row += [ratios(mine, of.get(other, []), every) for other in ("plain", "fedreg")]
    return [*row, f"{median(r['accuracies'][-1] for r in mine):.4f}", spread([r["peak_mb"] for r in mine], 0)]


def table(work: str, records: list[dict], tests: list[int]) -> str:
    """A row a peer: seconds, ratios, accuracy and megabytes; and below it what failed, and the versions."""
    good = [r for r in records if "failed" not in r]
    of = {r["peer"]: [other for other in good if other["peer"] == r["peer"]] for r in good}
    rounds = max((len(r["training"]) for r in good), default=0)
    head = [*HEADINGS, "training"]
    for every in tests:
        head += [f"tested every {every}" if every > 1 else "tested always", "/ plain", "/ fedreg"]
    rows = [[*head, "accuracy", "MB"], *(cells(mine, of, tests) for mine in of.values())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    said = [f"\n{work}: seconds of rounds 2 to {rounds}: median and range; / is how many times as long"]
    failed = dict.fromkeys(f"{r['peer']}: no result: {r['failed']}" for r in records if "failed" in r)
    versions = [f"{p}: " + ", ".join(f"{k} {v}" for k, v in mine[0]["versions"].items()) for p, mine in of.items()]
    return "\n".join([*said, *lines, *failed, *versions])
