"""Runs in a file of JSON lines tell what their folders told."""

import json

import pytest
import torch

from fedreg import FedregError
from fedreg.engines import vectorized
from fedreg.experiments.experiment import load
from fedreg.runs.comparison import compare, jobs
from fedreg.runs.kept import gathered, keep
from fedreg.studies.convergence import table


def made(out, rounds=4, seeds=(0, 1)):
    """The folder of a few short runs."""
    experiment = load("digits", [f"plan.rounds={rounds}", "plan.epochs=1", "network.name=linear"])
    todo = jobs(
        experiment, ["sgd", "fedreg"], seeds, vectorized(), torch.device("cpu"), [], out, True, "digits"
    )  # fmt: skip
    assert all(event.failure is None for event in compare(todo))
    return out


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return made(tmp_path_factory.mktemp("runs"))


def test_a_kept_run_tells_what_its_folder_told(runs, tmp_path):
    assert keep(gathered([runs]), tmp_path / "kept.jsonl") == 4
    before, after = (
        sorted(gathered([path]), key=lambda r: (r.method, r.seed)) for path in (runs, tmp_path / "kept.jsonl")
    )
    for was, is_now in zip(before, after, strict=True):
        assert is_now.configuration == was.configuration
        assert is_now.sessions == was.sessions
        assert [line.accuracy for line in is_now.lines] == [line.accuracy for line in was.lines]
        assert [line.bytes_up for line in is_now.lines] == [line.bytes_up for line in was.lines]
        assert [line.loss for line in is_now.lines] == pytest.approx([line.loss for line in was.lines], rel=1e-5)
    rows = [table(records, "sgd") for records in (before, after)]
    assert [row.targets[1].rounds for row in rows[0]] == [row.targets[1].rounds for row in rows[1]]


def test_the_longer_record_of_a_run_stays(runs, tmp_path):
    path = tmp_path / "kept.jsonl"
    keep(gathered([runs]), path)
    longer = made(tmp_path / "longer", rounds=6, seeds=(1, 2))
    assert keep(gathered([longer]), path) == 6
    assert keep(gathered([runs]), path) == 6
    lengths = {(r.method, r.seed): len(r.lines) for r in gathered([path])}
    assert lengths == {(m, s): 4 if s == 0 else 6 for m in ("sgd", "fedreg") for s in (0, 1, 2)}


def test_a_run_is_gathered_once(runs, tmp_path):
    keep(gathered([runs]), tmp_path / "kept.jsonl")
    assert len(gathered([runs, runs / "sgd"])) == 4
    assert len(gathered([tmp_path / "kept.jsonl", tmp_path / "kept.jsonl"])) == 4


@pytest.mark.parametrize("damage", ["{", "{}", '{"configuration": 1, "sessions": [], "rounds": {}}', "[]"])
def test_a_damaged_line_is_named(runs, tmp_path, damage):
    path = tmp_path / "kept.jsonl"
    keep(gathered([runs]), path)
    path.write_text(path.read_text() + damage + "\n")
    with pytest.raises(FedregError, match=r"kept\.jsonl, line 5, is no run"):
        gathered([path])


def test_unequal_columns_are_no_run(runs, tmp_path):
    path = tmp_path / "kept.jsonl"
    keep(gathered([runs]), path)
    first, *rest = path.read_text().splitlines()
    whole = json.loads(first)
    whole["rounds"]["loss"].pop()
    path.write_text("\n".join([json.dumps(whole), *rest]))
    with pytest.raises(FedregError, match="line 1, is no run"):
        gathered([path])


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FedregError, match="there is no file"):
        gathered([tmp_path / "none.jsonl"])
