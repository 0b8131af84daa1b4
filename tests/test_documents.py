"""What the documents say is so: their code runs, their lines and tests exist, their tables are what was measured."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import torch

import fedreg
from fedreg.experiments.experiment import load
from fedreg.experiments.setting import plain
from fedreg.report import tables
from fedreg.report.columns import number
from fedreg.report.paper import table_of
from fedreg.runs.kept import gathered

ROOT = Path(__file__).parents[1]
PACKAGE = Path(fedreg.__file__).parent
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
ROWS = re.findall(r"^\| .* \|$", (ROOT / "docs" / "equations.md").read_text(), flags=re.MULTILINE)
TESTS = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))


def test_ones_own_model_in_ten_lines(capsys):
    code = BLOCKS[0]
    lines = [line for line in code.splitlines() if line and not line.startswith("import")]
    assert len(lines) <= 10
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    assert [int(line.split()[0]) for line in printed] == list(range(1, 21))
    first, last = (float(re.search(r"accuracy=([\d.]+)", line)[1]) for line in (printed[0], printed[-1]))
    assert first < 0.6
    assert last > 0.85


def test_a_dataset_of_ones_own():
    world = {"fedreg": fedreg, "owners": ["a", "b"], **dict.fromkeys(("x", "x_test"), torch.zeros(2, 3))}
    world |= dict.fromkeys(("y", "y_test"), torch.zeros(2, dtype=torch.int64))
    (code,) = [block for block in BLOCKS if "def mine" in block]
    exec(compile(code, "README.md", "exec"), world)
    assert isinstance(world["mine"](), fedreg.Dataset)


def test_a_method_of_ones_own_in_twenty_five_lines(tmp_path):
    (code,) = [block for block in BLOCKS if "class Leashed" in block]
    assert len(code.splitlines()) <= 25
    (tmp_path / "mine.py").write_text(code)
    toml = (PACKAGE / "experiments" / "digits.toml").read_text() + re.search(
        r"```toml\n(.*?)```", README, flags=re.DOTALL
    )[1]
    (tmp_path / "mine.toml").write_text(toml)
    words = [sys.executable, "-m", "fedreg", "run", "mine.toml", "leashed", "--set", "plan.rounds=2", "--json"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert '"method": "leashed"' in done.stdout


@pytest.mark.parametrize("row", [row for row in ROWS if ": `" in row], ids=lambda row: row.split("|")[1].strip())
def test_each_equation_has_its_line_and_its_test(row):
    name, line = re.search(r"`([\w/]+\.py)`: `([^`]+)`", row).groups()
    assert line in (PACKAGE / name).read_text(), f"{name} no longer says {line}"
    test = re.search(r"`(test_\w+)` \|$", row)[1]
    assert f"def {test}(" in TESTS


def test_every_equation_is_there():
    said = " ".join(row.split("|")[1] for row in ROWS)
    assert all(f"({i})" in said for i in range(1, 13))


def test_the_annotated_tree_is_the_tree():
    tree = re.search(r"```\nsrc/fedreg/\n(.*?)```", README, flags=re.DOTALL)[1].split("tests/")[0]
    for name in re.findall(r"^    ?(?:  )?(\w+\.py)", tree, flags=re.MULTILINE):
        assert list(PACKAGE.rglob(name)), name
    rooms = set(re.findall(r"^  (\w+)/", tree, flags=re.MULTILINE))
    assert rooms == {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}


def test_every_dependency_has_its_reason():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [
        *project["dependencies"],
        *(name for extra in project["optional-dependencies"].values() for name in extra),
    ]
    text = (ROOT / "docs" / "dependencies.md").read_text()
    for name in wanted:
        assert re.split(r"[>=<\[]", name)[0] in text, name


def said(spread, digits):
    """A median and its range, as the documents write it."""
    numbers = ["-" if spread[key] is None else f"{spread[key]:.{digits}f}" for key in ("median", "low", "high")]
    return f"{numbers[0]} ({numbers[1]}..{numbers[2]})"


def test_the_digits_table_is_what_was_measured():
    measured = json.loads((ROOT / "results" / "digits.json").read_text())
    assert len(measured["runs"]) == 5 * len(measured["methods"])
    assert measured["machines"]
    experiment = load("digits")
    for name, settings in measured["settings"].items():
        assert {
            "class": type(experiment.entries[name].method).__name__,
            **plain(experiment.entries[name].method),
        } == settings
    for row in measured["methods"]:
        cells = [said(target["rounds"], 0) for target in row["targets"]]
        cells += [said(row[key], 3) for key in ("final", "best", "last_ten")]
        assert f"| {row['method']} | {' | '.join(cells)} |" in README


@pytest.mark.parametrize("experiment", ["mnist-one-class", "mnist-two-classes"])
def test_the_table_of_mnist_is_what_was_measured(experiment):
    paper = table_of("1")
    runs = gathered([ROOT / "results" / "runs" / f"{experiment}.jsonl"])
    mine = [e for e in tables.entries(paper, tables.fitting(paper, runs)) if e.experiment == experiment]
    assert [len(e.seeds) for e in mine] == [3] * 6
    heading = f"| {mine[0].dataset} | rounds | R_0.5: paper | ours | R_0.9: paper | ours | R_1.0: paper | ours |\n"
    table = README.partition(heading)[2].split("\n\n")[0]
    rows = [
        f"| {e.method} | {tables.run(e)} | "
        + " | ".join(f"{number(e.paper[m], 0)} | {tables.reached(e, m)}" for m in ("R_0.5", "R_0.9", "R_1.0"))
        + " |"
        for e in mine
    ]
    assert table.splitlines()[1:] == rows  # below the rule under the heading


def test_the_settings_are_the_best_that_the_search_found():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import search_digits
    finally:
        sys.path.pop(0)
    experiment = load("digits")
    for method, ranges in search_digits.RANGES.items():
        path = ROOT / "results" / "digits-search.jsonl"
        assert len(search_digits.tried(path, method)) >= 30
        finalists = search_digits.ranked(path, method)
        assert len(finalists) >= search_digits.FINALISTS
        assert {key: getattr(experiment.entries[method].method, key) for key in ranges} == finalists[0][2]
