"""The paper's tables beside what was run."""

import json

import pytest
from rich.console import Console

from fedreg.experiments.experiment import load
from fedreg.experiments.setting import described
from fedreg.report import tables
from fedreg.report.paper import RESULTS, table_of
from fedreg.runs.kept import gathered, record_of
from fedreg.studies.convergence import table


def record(experiment, method, seed, accuracies, settings=()):
    """A run of this experiment with these accuracies, as if it had been made."""
    words = described(load(experiment, settings), method)
    words["plan"] = {**words["plan"], "seed": seed}
    words["population"] = {"clients": 1, "sizes": [1, 1, 1], "classes": [1, 1, 1]}
    words |= {"command": f"fedreg run {experiment} {method} --seed {seed}", "engine": {"name": "vectorized"}}
    n = len(accuracies)
    machine = {"processor": "abacus", "cores": 1, "threads": 1, "device": "cpu", "system": "wood"}
    rounds = {key: [1.0] * n for key in ("loss", "evaluate_seconds", "bytes_down", "bytes_up")}
    rounds |= {"accuracy": list(accuracies), "train_seconds": [20.0] * n}
    session = {"after": 0, "machine": machine, "versions": {"fedreg": "0"}}
    return record_of(RESULTS / "made-up", {"configuration": words, "sessions": [session], "rounds": rounds})


SGD = [record("mnist-one-class", "sgd", seed, [0.3, 0.6, 0.8]) for seed in (0, 1)]
FEDREG = [
    record("mnist-one-class", "fedreg", 0, [0.5, 0.75, 0.9]),
    record("mnist-one-class", "fedreg", 1, [0.1, 0.2, 0.5, 0.7]),
]


def row(found, experiment, method):
    """The only entry of a method."""
    (entry,) = [e for e in found if (e.experiment, e.method) == (experiment, method)]
    return entry


def test_a_row_counts_rounds_to_what_sgd_reached_with_the_same_seed():
    records = tables.fitting(table_of("1"), [*SGD, *FEDREG])
    e = row(tables.entries(table_of("1"), records), "mnist-one-class", "fedreg")
    assert e.paper == {"R_0.5": 5, "R_0.9": 32, "R_1.0": 384, "best": 0.978}
    assert e.ours["R_0.5"] == (2, 1, 3)
    assert e.ours["R_0.9"] == (None, 2, None)  # 0.72 with seed 0 after two rounds, with seed 1 never
    assert e.ours["best"][0] == pytest.approx(0.8)
    assert (e.rounds, e.planned, e.seeds) == ((3, 4), 500, [0, 1])
    assert [line.split()[2] for line in e.commands] == ["mnist-one-class"] * 2


def test_what_was_not_run_is_said_and_not_left_out():
    found = tables.entries(table_of("1"), [])
    assert len(found) == 24  # four experiments of six methods
    assert {tables.run(e) for e in found} == {"not run"}
    assert tables.cell(row(found, "mnist-one-class", "fedreg"), "R_0.9") == "32 |  "
    assert tables.cell(row(found, "mnist-one-class", "fedavg"), "R_1.0") == "- |  "


def test_a_run_with_other_settings_is_no_row_of_the_paper():
    other = record("mnist-one-class", "fedreg", 0, [0.9], ["methods.fedreg.gamma=0.9"])
    elsewhere = record("mnist-one-class", "fedreg", 1, [0.9], ["partition.clients=10"])
    shorter = record("mnist-one-class", "fedreg", 2, [0.9], ["plan.rounds=1"])
    found = tables.fitting(table_of("1"), [other, elsewhere, shorter, record("digits", "fedreg", 0, [0.9])])
    assert [r.seed for r in found] == [2]


def test_the_longest_of_a_seed_counts():
    assert tables.fitting(table_of("1"), [FEDREG[0], record("mnist-one-class", "fedreg", 0, [0.2])]) == [FEDREG[0]]


def test_table_c2_is_seconds_of_one_client():
    runs = [record("mnist-two-classes", "fedavg", 0, [0.1, 0.2])]
    e = row(tables.entries(table_of("C.2"), runs), "mnist-two-classes", "fedavg")
    assert e.ours["seconds"] == (2, 2, 2)  # 20 s a round of ten clients


@pytest.mark.parametrize("number", ["1", "2", "3", "4", "C.1", "C.2"])
def test_every_table_can_be_seen_and_read_by_a_program(number):
    paper = table_of(number)
    records = tables.fitting(paper, gathered(sorted(RESULTS.glob("runs/*.jsonl"))))
    found = tables.entries(paper, records)
    console = Console(width=120, record=True)
    console.print(tables.view(number, paper, found))
    text = console.export_text()
    for column in paper.columns:
        assert column.dataset in text
    json.dumps(tables.as_table(number, paper, found, records), allow_nan=False)


def test_the_notes_give_a_command_that_runs_the_row_again():
    records = [*SGD, *FEDREG]
    notes = tables.notes("1", tables.entries(table_of("1"), records), records)
    (command,) = [note.partition(": ")[2] for note in notes if note.startswith("a row again")]
    assert command.startswith("fedreg compare mnist-one-class --methods sgd,fedreg --seeds 0,1 --set plan.rounds=4")
    assert any("abacus" in note for note in notes)


def test_results_are_of_shipped_experiments_with_their_reference():
    records = gathered(sorted(RESULTS.glob("runs/*.jsonl")))
    for experiment in {r.configuration["experiment"] for r in records}:
        about = [r for r in records if r.configuration["experiment"] == experiment]
        rows = {row.method: row for row in table(about, "sgd")}
        assert "sgd" in rows
        assert load(experiment)
