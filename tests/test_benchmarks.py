"""The benchmark against other frameworks gives all the same work: the plain loop and fedreg do it to the same numbers."""

import json
import os
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest
import torch

import fedreg
from fedreg.core.data import schedule
from fedreg.core.rng import rng
from fedreg.federation.rounds import cohort

PEERS = Path(__file__).parents[1] / "benchmarks" / "peers"


@pytest.fixture
def work(tmp_path):
    """Three rounds of logistic regression on made-up images, written as the benchmark writes its work."""
    random = np.random.default_rng(0)
    lengths = random.integers(3, 30, size=20)
    n, plan = int(lengths.sum()), fedreg.Plan(rounds=3, cohort=5, epochs=2, batch_size=10, seed=0)
    cohorts = [cohort(plan, t, len(lengths))[0] for t in (1, 2, 3)]
    drawn = [
        schedule(int(lengths[i]), 2, 10, rng(0, "batches", t, i)).rows
        for t, clients in enumerate(cohorts, 1)
        for i in clients
    ]
    shuffles = [rows[rows >= 0].numpy() for rows in drawn]
    arrays = {
        "x": random.normal(size=(n, 1, 28, 28)).astype(np.float32),
        "y": random.integers(10, size=n),
        "offsets": np.concatenate([[0], lengths.cumsum()]),
        "test_x": random.normal(size=(50, 1, 28, 28)).astype(np.float32),
        "test_y": random.integers(10, size=50),
        "cohorts": np.array(cohorts),
        "shuffles": np.concatenate(shuffles),
        "places": np.cumsum([0, *map(len, shuffles)]),
        "initial_0": random.normal(size=(10, 784)).astype(np.float32) / 28,
        "initial_1": np.zeros(10, np.float32),
    }
    words = {"network": "linear", "rounds": 3, "epochs": 2, "batch_size": 10, "lr": 0.03, "seed": 0, "parameters": 2}
    (tmp_path / "work.json").write_text(json.dumps(words))
    np.savez(tmp_path / "work.npz", **arrays)
    return tmp_path / "work.json"


@pytest.fixture(scope="module")
def tell():
    """The module that judges runs and prints them."""
    spec = spec_from_file_location("peers_tell", PEERS / "tell.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(peer, norm=2.0, accuracy=0.5, repetition=0, training=1.0):
    """A made-up run of three rounds."""
    return {"peer": peer, "setup": "--threads 1", "repetition": repetition, "start": 0.5, "compilation": 0.0,
            "training": [9.0, training, training], "evaluation": [9.0, 0.25, 0.25], "norms": [norm, 3.0, 4.0],
            "accuracies": [0.1, 0.2, accuracy], "versions": {"python": "3"}, "peak_mb": 100}  # fmt: skip


def test_other_numbers_than_the_plain_loops_are_no_result(tell):
    limits = {"norm": 1e-5, "accuracy": 0.01}
    plain = run("plain")
    assert tell.wrong(run("peer"), plain, limits) is None
    assert tell.wrong(run("peer", norm=2.0 + 1e-6, accuracy=0.509), plain, limits) is None
    assert "round 1 the parameters" in tell.wrong(run("peer", norm=2.001), plain, limits)
    assert "round 3 the accuracy is 0.0200" in tell.wrong(run("peer", accuracy=0.52), plain, limits)
    assert "norm" in tell.wrong(run("peer", norm=float("nan")), plain, limits)


def test_the_table_leaves_out_the_first_round_and_nobody_who_failed(tell):
    records = [run("plain"), run("plain", repetition=1, training=3.0), run("peer", training=4.0)]
    text = tell.table("work", [*records, {"peer": "other", "failed": "not installed: no such version"}], [2, 1])
    row = next(line for line in text.splitlines() if line.startswith("peer ") and "threads" in line)
    assert row.split()[-9:] == ["8.00", "8.25", "3.67", "-", "8.50", "3.40", "-", "0.5000", "100"]
    assert "other: no result: not installed: no such version" in text


def told(script, work):
    """What a peer prints at its end."""
    source = str(Path(fedreg.__file__).parents[1])
    words = [sys.executable, str(PEERS / script), str(work)]
    done = subprocess.run(
        words, env={**os.environ, "PYTHONPATH": source}, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_the_plain_loop_and_fedreg_do_the_same(work):
    plain, ours = told("plain.py", work), told("ours.py", work)
    for run in (plain, ours):
        assert len(run["training"]) == len(run["evaluation"]) == len(run["accuracies"]) == 3
    torch.testing.assert_close(ours["norms"], plain["norms"], rtol=1e-6, atol=0)
    np.testing.assert_allclose(ours["accuracies"], plain["accuracies"], atol=0.021)  # one image of 50 by rounding
    assert len(set(plain["norms"])) == 3
