"""The experiments whose clients are owners, with a network that is quick."""

import tomllib
from dataclasses import replace

import pytest

from fedreg.datasets import SOURCES
from fedreg.datasets.download import add
from fedreg.experiments.experiment import parse, put, shipped
from fedreg.experiments.setting import prepare
from fedreg.federation.rounds import federate

from ..datasets.copies import COPIES

CLIENTS = {"covid-ct": ("covid-ct", [9, 7, 4]), "landmarks": ("landmarks-user-160k", [5, 5, 4, 4])}


def quick(name):
    """The experiment with a linear network, and fewer rounds, clients and epochs."""
    table = tomllib.loads(shipped()[name].read_text(encoding="utf-8"))
    assert table["data"]["augment"] == "resized-crop"
    assert table["network"]["name"] == "densenet121"
    for setting in ("network.name=linear", "plan.rounds=2", "plan.cohort=2", "plan.epochs=1"):
        table = put(table, setting)
    return parse(name, table)


@pytest.mark.parametrize(
    ("name", "method"),
    [
        *[("covid-ct", method) for method in ("sgd", "fedavg", "fedprox", "scaffold", "fedcurv", "fedreg")],
        *[("landmarks", method) for method in ("sgd", "fedavg", "fedreg")],
    ],
)
def test_owners_are_clients_and_every_method_of_the_paper_learns_there(tmp_path, monkeypatch, name, method):
    monkeypatch.setenv("FEDREG_DATA", str(tmp_path / "cache"))
    dataset, sizes = CLIENTS[name]
    add(replace(SOURCES[dataset], content=None), COPIES[dataset](tmp_path / "copy"))
    s = prepare(quick(name), method, 0)
    assert s.population.lengths().tolist() == sizes
    *_, r = federate(s.method, s.f, s.theta, s.population, s.plan)
    assert r.t == 2
    assert r.theta.isfinite().all()
    assert not r.theta.equal(s.theta)


def test_the_experiments_have_these_methods_alone():
    assert set(quick("covid-ct").entries) == {"sgd", "fedavg", "fedprox", "scaffold", "fedcurv", "fedreg"}
    assert set(quick("landmarks").entries) == {"sgd", "fedavg", "fedreg", "pfedgp"}
