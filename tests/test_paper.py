"""The paper's numbers, transcribed twice: what the package ships is what tests/paper.py holds."""

import pytest

from fedreg.core.errors import FedregError
from fedreg.experiments.experiment import load, shipped
from fedreg.experiments.setting import described
from fedreg.report.paper import authors, table_of, tables

from .paper import APPENDIX_B, TABLES

NAMES = {
    "SGD": "sgd", "FedAvg": "fedavg", "FedProx": "fedprox", "SCAFFOLD": "scaffold", "FedCurv": "fedcurv",
    "FedReg": "fedreg", "pFedGP": "pfedgp", "DPSGD": "sgd-dpsgd", "FedAvg with DPSGD": "fedavg-dpsgd",
    "FedProx with DPSGD": "fedprox-dpsgd", "FedCurv with DPSGD": "fedcurv-dpsgd", "FedReg with MG": "fedreg-mg",
}  # fmt: skip
PARTITIONS = {  # section 4.1: clients, classes a client, examples a client; None where it does not say
    "mnist-one-class": (5000, 1, None),
    "mnist-two-classes": (5000, 2, None),
    "emnist": (10000, 1, 24),
    "cifar10-uniform": (10000, None, 5),
    "cifar10-one-class": (10000, 1, 5),
    "cifar100-resnet9": (50000, None, 1),
    "cifar100-transformer": (50000, None, 1),
}


ODD = {  # what the authors' curves say where their tables say something else
    ("mnist-one-class", "sgd", "R_0.5"): 35,
    ("emnist", "scaffold", "R_0.9"): 212,
    ("cifar100-resnet9", "sgd", "R_1.0"): 1199,
}


def numbers(row):
    """The numbers of a row, as a tuple; None for a dash."""
    return tuple(None if said == "-" else said for said in row)


@pytest.mark.parametrize("number", TABLES)
def test_a_table_is_as_the_paper_prints_it(number):
    shipped_table = {
        column.dataset: {method: numbers(row) for method, row in column.rows.items()}
        for column in tables()[number].columns
    }
    again = {
        dataset: {NAMES[method]: row if isinstance(row, tuple) else (row,) for method, row in rows.items()}
        for dataset, rows in TABLES[number].items()
    }
    assert shipped_table == again


def test_every_table_is_here_and_every_column_has_an_experiment():
    assert set(tables()) == set(TABLES) == {"1", "2", "3", "4", "C.1", "C.2"}
    for table in tables().values():
        for column in table.columns:
            assert set(column.experiments) <= set(shipped())
            assert {len(row) for row in column.rows.values()} == {len(column.measures)}


def test_an_unknown_table_is_named():
    with pytest.raises(FedregError, match=r"no table 'C1'; did you mean 'C\.1'"):
        table_of("C1")


def preset(experiment, method):
    """A method's settings and plan in an experiment."""
    said = described(load(experiment), method)
    settings, plan = dict(said["settings"]), said["plan"]
    if "mu" in settings:
        settings["weight"] = settings.pop("mu") / 2
    return settings, plan


@pytest.mark.parametrize(
    ("experiment", "method"), [(e, m) for e, about in APPENDIX_B.items() for m in about["methods"]]
)
def test_a_preset_is_appendix_b(experiment, method):
    about = APPENDIX_B[experiment]
    settings, plan = preset(experiment, method)
    for key, value in about["methods"][method].items():
        assert settings[key] == pytest.approx(value, rel=1e-12), key
    assert (plan["rounds"], plan["cohort"]) == (about["rounds"], about["cohort"])
    if method == "sgd":  # one step on all of a client's examples
        assert settings["class"] == "FedAvg"
        assert (plan["epochs"], plan["batch_size"]) == (1, "full")
    else:
        assert plan["epochs"] == about["epochs"]
        assert plan["batch_size"] == about.get("batch_size", plan["batch_size"])
    if settings["class"] == "FedReg":  # section 3.1
        assert (settings["E"], settings["eta_p"]) == (10, None)
    assert plan["weights"] == "uniform"


@pytest.mark.parametrize("experiment", PARTITIONS)
def test_a_partition_is_section_4_1(experiment):
    clients, classes, size = PARTITIONS[experiment]
    partition = described(load(experiment), "sgd")["partition"]
    assert partition["clients"] == clients
    assert partition.get("classes") == classes
    assert partition["sizes"] == size if size else set(partition["sizes"]) == {"exponent", "smallest", "largest"}


def test_the_authors_curves_give_the_papers_table_but_for_a_few_numbers():
    for number in ("1", "2", "3", "C.1"):
        for column in table_of(number).columns:
            curves = authors(column.experiments[0])
            best = max(curves["sgd"])
            for method, row in column.rows.items():
                if method not in curves:
                    continue
                for measure, said in zip(column.measures, numbers(row), strict=True):
                    if measure == "best":
                        assert max(curves[method]) == pytest.approx(said, abs=0.0011)
                        continue
                    goal = float(measure[2:]) * best
                    reached = next((t for t, accuracy in enumerate(curves[method]) if accuracy >= goal), None)
                    expected = ODD.get((column.experiments[0], method, measure), said)
                    assert reached == expected, (column.dataset, method, measure)
