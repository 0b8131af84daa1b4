"""A run of pFedGP: recorded, repeated and gone on with like any other's."""

import sys
from contextlib import closing

import pytest
import torch

from fedreg import FedregError, evaluate
from fedreg.experiments.experiment import load
from fedreg.experiments.setting import prepare
from fedreg.methods import PFedGP
from fedreg.runs import checkpoint
from fedreg.runs.configuration import identity_of

from .test_run import bits, read, without_seconds, world

SETTINGS = ["network.name=cnn4", "partition.classes=5", "partition.sizes=20", "methods.pfedgp.lr=0.3"]


def pfedgp(path, seed=0, resume=False):
    return world(path, "pfedgp", SETTINGS, seed, resume)


def test_rounds_are_recorded_with_the_accuracy_of_the_global_tree(tmp_path):
    lines = list(pfedgp(tmp_path / "run"))
    assert [line.t for line in lines] == [1, 2, 3, 4, 5, 6]
    s = prepare(load("digits", ["plan.rounds=6", "plan.epochs=2", "plan.cohort=4", *SETTINGS]), "pfedgp", 0)
    identity = identity_of(read(tmp_path / "run").configuration)
    last = checkpoint.load(tmp_path / "run" / "checkpoint.safetensors", s.method, s.theta, identity)
    score = evaluate(s.tested(last.theta), last.theta, s.test)
    assert (lines[-1].accuracy, lines[-1].loss) == tuple(score)
    assert score.accuracy > 0.2  # of ten classes, by ten kept images
    assert lines[0].bytes_up == lines[0].bytes_down == 4 * len(s.theta)


def test_a_run_repeats_and_goes_on_to_the_same_bits(tmp_path):
    lines = list(pfedgp(tmp_path / "whole"))
    with closing(pfedgp(tmp_path / "cut")) as first:
        for _ in range(3):
            next(first)
    again = list(pfedgp(tmp_path / "cut", resume=True))
    assert without_seconds(again) == without_seconds(lines)
    assert bits(tmp_path / "cut") == bits(tmp_path / "whole")


def test_the_network_has_no_classification_layer_and_starts_as_the_others_do():
    s, other = (prepare(load("digits", SETTINGS), name, 3) for name in ("pfedgp", "fedavg"))
    assert isinstance(s.method, PFedGP)
    assert len(other.theta) - len(s.theta) == 10 * (64 + 1)
    assert torch.equal(s.theta, other.theta[: len(s.theta)])
    assert s.description["network"]["parameters"] == len(s.theta)
    assert other.tested(other.theta) is other.f


def test_without_gpytorch_nothing_is_begun(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "gpytorch.kernels", None)
    with pytest.raises(FedregError, match=r"fedreg\[gp\]"):
        pfedgp(tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_network_of_one_layer_is_refused():
    with pytest.raises(FedregError, match="nothing but its classification layer"):
        prepare(load("digits", [*SETTINGS, "network.name=linear"]), "pfedgp", 0)
