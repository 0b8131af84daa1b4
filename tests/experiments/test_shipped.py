"""Every shipped experiment starts, on a small made-up copy of its dataset."""

from dataclasses import replace

import pytest

from fedreg.datasets import SOURCES, covid_ct, landmarks
from fedreg.datasets.download import add
from fedreg.experiments.experiment import load, shipped
from fedreg.experiments.setting import prepare
from fedreg.federation.rounds import federate

from ..datasets.copies import COPIES
from ..networks.tiny_vit import tiny_vit


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder with a small copy of every dataset that is kept on a disk."""
    folder = tmp_path_factory.mktemp("data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FEDREG_DATA", str(folder / "cache"))
        for module in (covid_ct, landmarks):
            patch.setattr(module, "SIDE", 64)
        for name, copy in COPIES.items():
            add(replace(SOURCES[name], content=None), copy(folder / name))
        yield folder


def small(name, folder):
    """The experiment, made small."""
    settings = ["plan.rounds=1", "plan.cohort=2", "plan.epochs=1", "methods.fedreg.E=2"]
    if load(name).scene.network.name == "vit":
        settings.append(f"network.weights={tiny_vit(folder / 'vit')}")
    if getattr(load(name).scene.partition, "clients", None) is not None:
        settings.append("partition.clients=10")
    return load(name, settings)


def test_there_is_a_copy_of_every_dataset():
    assert set(COPIES) == set(SOURCES)
    assert "digits" in shipped()


@pytest.mark.parametrize(("name", "method"), [(name, method) for name in shipped() for method in load(name).entries])
def test_a_round_of_every_method_of_every_experiment(data, name, method):
    s = prepare(small(name, data), method, 0)
    assert s.description["method"] == method
    assert s.plan.seed == 0
    (r,) = federate(s.method, s.f, s.theta, s.population, s.plan)
    assert not r.theta.equal(s.theta)
