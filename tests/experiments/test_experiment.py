import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import fedreg
from fedreg import DPSGD, ByClass, Dataset, Examples, FedAvg, FedregError, Plan, PowerLaw, evaluate
from fedreg.datasets import one_of_each, validation
from fedreg.experiments.experiment import load, parse, put
from fedreg.experiments.names import named
from fedreg.experiments.setting import prepare

PACKAGE = Path(fedreg.__file__).parent
MINIMAL = """
about = "a test"
reference = "fedavg"
data = { name = "digits" }
partition = { kind = "by_class", sizes = 8 }
network = { name = "linear" }
plan = { rounds = 2, cohort = 3, epochs = 1, batch_size = 4 }

[methods.fedavg]
lr = 0.1

[methods.private]
method = "fedavg"
lr = 1
gradient = { C = 1.0, sigma = 0.5 }
plan = { epochs = 5 }
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(MINIMAL)
    return str(path)


def test_a_file_becomes_dataclasses(file):
    experiment = load(file)
    assert experiment.name == "mine"
    assert experiment.scene.partition == ByClass(sizes=8)
    assert experiment.entries["fedavg"].method == FedAvg(0.1)
    assert experiment.entries["private"].method == FedAvg(1.0, DPSGD(1.0, 0.5))
    assert experiment.entries["private"].plan == Plan(rounds=2, cohort=3, epochs=5, batch_size=4)


def test_settings_are_put_in(file):
    experiment = load(file, ["plan.rounds=9", "partition.sizes={ exponent = 1.0, smallest = 2 }", "partition.clients=9",
                             "data.evaluate_on=validation", "methods.private.plan.epochs=2"])  # fmt: skip
    assert experiment.entries["fedavg"].plan.rounds == 9
    assert experiment.entries["private"].plan.epochs == 2
    assert experiment.scene.partition.sizes == PowerLaw(1.0, smallest=2)
    assert experiment.scene.data.evaluate_on == "validation"
    assert put({"a": 1}, "b.c=x") == {"a": 1, "b": {"c": "x"}}


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("plan.round=5", r"plan.round is unknown; did you mean 'rounds'\?"),
        ("plan.rounds=5.5", r"plan.rounds = 5.5"),
        ("plan.rounds=many", r"plan.rounds = 'many'"),
        ("plan.rounds=0", r"plan: rounds = 0 must be at least 1"),
        ("plan.batch_size=all", r"plan.batch_size = 'all'"),
        ("plan=3", r"plan = 3"),
        ("plan.weights=sizes", r"plan.weights = 'sizes': input should be 'uniform' or 'size'"),
        ("data.nam=x", r"data.nam is unknown; did you mean 'name'\?"),
        ("dat.name=x", r"dat is unknown; did you mean 'data'\?"),
        ("partition.kind=by_clas", r"partition = .*'by_class', 'uniform'"),
        ("partition.clases=2", r"partition.clases is unknown; did you mean 'classes'\?"),
        ("reference=sgd", r"reference = 'sgd' is not one of its methods \['fedavg', 'private'\]"),
        ("methods.fedavg.gama=1", r"methods.fedavg: gama is unknown; there is lr, gradient"),
        ("methods.fedavg.lr=-1", r"methods.fedavg: FedAvg: lr = -1.0 must be positive"),
        ("methods.fedreg.lr=1", r"methods.fedreg: gamma is missing; .*eta_s is missing"),
        ("methods.other.lr=1", r"methods.other: there is no method 'other'; there is fedavg"),
        ("methods.other.method=fedrex", r"no method 'fedrex'; did you mean 'fedreg'\?"),
        ("methods.fedavg.plan=7", r"methods.fedavg.plan must be a table"),
        ("methods.fedavg.plan.seed=7", r"methods.fedavg.plan.seed: methods are compared on the same seeds"),
        (
            'methods.dp={ method = "fedreg:DPSGD", C = 1.0, sigma = 1.0 }',
            r"methods.dp: 'fedreg:DPSGD' is a DPSGD, and no Met",
        ),
        ("methods.fedavg=7", r"methods.fedavg must be a table"),
        ("methods.private.gradient.sigm=1", r"gradient.sigm is unknown; did you mean 'sigma'\?"),
        ("nonsense", r"write it as key=value"),
        ("about.x=1", r"about is not a table"),
    ],
)
def test_every_mistake_is_named_by_its_path_in_one_line(file, setting, said):
    with pytest.raises(FedregError, match=said) as caught:
        load(file, [setting])
    assert "\n" not in str(caught.value)


def test_missing_parts_are_named():
    with pytest.raises(FedregError, match=r"x: about is missing; x: data is missing; .*x: plan is missing"):
        parse("x", {})
    table = {"about": "", "data": {"name": ""}, "partition": {"kind": "by_owner"}, "network": {"name": ""}}
    with pytest.raises(FedregError, match="methods is missing"):
        parse("x", {**table, "plan": {"rounds": 1, "cohort": 1, "epochs": 1, "batch_size": 1}})


def test_unknown_names_have_a_hint(tmp_path):
    with pytest.raises(FedregError, match=r"no experiment 'digit'; did you mean 'digits'\?"):
        load("digit")
    with pytest.raises(FedregError, match="No such file"):
        load(str(tmp_path / "none.toml"))
    (tmp_path / "bad.toml").write_text("a = = 1")
    with pytest.raises(FedregError, match=r"bad\.toml.*line 1"):
        load(str(tmp_path / "bad.toml"))
    with pytest.raises(FedregError, match=r"no method 'fedrag'; did you mean 'fedreg'\?"):
        load("digits").entry("fedrag")
    with pytest.raises(FedregError, match=r"no network 'cn4'; did you mean 'cnn4'\?"):
        prepare(load("digits", ["network.name=cn4"]), "fedavg", 0)
    for name in ("no.such:thing", "json:nothing"):
        with pytest.raises(FedregError, match="cannot be imported"):
            named("network", name, {})


def tiny(shape, outputs):
    """A network of a user's own, named in an experiment by its path."""
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 3), nn.Tanh(), nn.Linear(3, outputs))


def owned():
    """A dataset of a user's own, with owners and values to predict."""
    x, y = torch.rand(12, 5), torch.rand(12, 2)
    from fedreg import Examples

    return Dataset(Examples(x, y), Examples(x, y), outputs=2, owners=[i // 3 for i in range(12)])


def of_arrays():
    """The same, in numpy's arrays."""
    given = owned()
    train, test = (e._replace(x=e.x.numpy(), y=e.y.numpy()) for e in (given.train, given.test))
    return given._replace(train=train, test=test, owners=np.array(given.owners))


def test_a_dataset_of_ones_own_may_be_of_arrays(file):
    settings = ["data.name=tests.experiments.test_experiment:{}", 'partition={ kind = "by_owner" }']
    arrays, tensors = (
        prepare(load(file, [settings[0].format(name), settings[1]]), "fedavg", 0) for name in ("of_arrays", "owned")
    )
    assert isinstance(arrays.test.x, torch.Tensor)
    assert arrays.population.x.shape == tensors.population.x.shape
    assert evaluate(arrays.f, arrays.theta, arrays.test).loss > 0


def test_networks_and_datasets_of_ones_own_are_named_by_their_path(file):
    setting = prepare(load(file, ["network.name=tests.experiments.test_experiment:tiny"]), "fedavg", 0)
    assert len(setting.theta) == 64 * 3 + 3 + 3 * 10 + 10
    settings = ["data.name=tests.experiments.test_experiment:owned", 'partition={ kind = "by_owner" }']
    setting = prepare(load(file, settings), "fedavg", 0)
    assert len(setting.population) == 4
    assert not setting.f.classifies


def test_the_seed_decides_partition_and_parameters(file):
    experiment = load(file)
    a, again, b = (prepare(experiment, "fedavg", seed) for seed in (0, 0, 1))
    assert torch.equal(a.theta, again.theta)
    assert a.description == again.description
    assert not torch.equal(a.theta, b.theta)
    assert a.description["population"]["hash"] != b.description["population"]["hash"]
    before = torch.random.get_rng_state()
    prepare(experiment, "fedavg", 2)
    assert torch.equal(before, torch.random.get_rng_state())


def test_validation_never_shows_the_test_examples(file):
    test = prepare(load(file), "fedavg", 0)
    validation = prepare(load(file, ["data.evaluate_on=validation"]), "fedavg", 0)
    assert not set(map(tuple, validation.test.x.flatten(1).tolist())) & set(map(tuple, test.test.x.flatten(1).tolist()))
    assert len(validation.population.x) + len(validation.test.x) == len(test.population.x)


def test_a_validation_split_keeps_owners_and_takes_a_fifth_of_values_too():
    x = torch.arange(20.0)[:, None]
    examples = fedreg.Examples(x, x.clone())
    split = validation(Dataset(examples, examples, outputs=1, owners=[f"owner {i}" for i in range(20)]))
    assert (len(split.train.x), len(split.test.x)) == (16, 4)
    assert [f"owner {int(i)}" for i in split.train.x[:, 0]] == list(split.owners)


def test_what_is_beside_an_experiment_can_be_named_in_it(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "beside.py").write_text("from fedreg import FedAvg as Mine")
    text = (PACKAGE / "experiments" / "digits.toml").read_text()
    (tmp_path / "own.toml").write_text(text + '\n[methods.mine]\nmethod = "beside:Mine"\nlr = 0.1\n')
    assert load(str(tmp_path / "own.toml")).entries["mine"].method.lr == 0.1


def test_a_change_of_inputs_or_of_first_parameters_is_another_run(file):
    told = prepare(load(file), "fedavg", 0).description
    assert prepare(load(file), "fedavg", 1).description["initial"] != told["initial"]
    people = prepare(load(file), "fedavg", 0).population
    assert replace(people, x=people.x * 2).summary().hash != people.summary().hash


def test_one_of_each_class_is_drawn_by_the_seed_and_shown_as_test_examples_are():
    y = torch.tensor([3, 0, 3, 3, 0, 5] * 5)
    train = Examples(torch.arange(30.0)[:, None], y, lambda x: x + 1, lambda *_: None)
    dataset = Dataset(train, Examples(train.x, y, torch.neg), outputs=6)
    draws = [one_of_each(dataset, seed) for seed in (0, 0, 1, 2)]
    for draw in draws:
        assert draw.y.tolist() == [0, 3, 5]
        assert y[draw.x[:, 0].long()].tolist() == [0, 3, 5]
        assert draw.view is torch.neg
        assert draw.augment is None
    assert torch.equal(draws[0].x, draws[1].x)
    assert len({tuple(draw.x.flatten().tolist()) for draw in draws}) == 3
