from dataclasses import replace
from pathlib import Path

import pytest

from fedreg.report.columns import columns
from fedreg.report.terminal import convergence, markdown
from fedreg.runs.record import Line, Record
from fedreg.studies.convergence import Spread, as_table, place, spread, table


def record(method, seed, accuracies, up=500_000):
    lines = [Line(t, a, 1.0, 2.0, 0.5, 500_000, up, [0], []) for t, a in enumerate(accuracies, start=1)]
    return Record(Path(method), {"method": method, "plan": {"seed": seed, "rounds": 9}}, [], lines)


SGD = [record("sgd", 0, [0.1, 0.5, 0.8, 0.7]), record("sgd", 1, [0.1, 0.2, 0.3, 0.4])]
REG = [record("fedreg", 0, [0.41, 0.73, 0.79, 0.6]), record("fedreg", 1, [0.4, 0.5, 0.5, 0.5])]


def test_r_a_counts_rounds_to_a_share_of_the_references_best_with_the_same_seed():
    sgd, reg = table([*REG, *SGD], "sgd", shares=(0.5, 0.9, 1.0))
    assert (sgd.method, reg.method) == ("sgd", "fedreg")
    assert [target.rounds for target in reg.targets] == [Spread(1, 1, 1), Spread(1.5, 1, 2), Spread(None, 1, None)]
    assert [target.reached for target in reg.targets] == [2, 2, 1]
    assert [target.rounds.median for target in sgd.targets] == [2, 3.5, 3.5]
    assert reg.targets[1].seconds.median == 3.0
    assert reg.targets[1].megabytes.median == 1.5


def test_accuracies_are_final_best_and_mean_of_the_last_ten():
    (row,) = table([record("sgd", 0, [0.0] * 5 + [0.9] + [0.5] * 9)], "sgd")
    assert row.final.median == 0.5
    assert row.best.median == 0.9
    assert row.last_ten.median == pytest.approx(0.54)
    assert row.seconds.median == pytest.approx(37.5)


def test_never_reached_is_worse_than_any_number():
    assert spread([5, None, 7]) == Spread(7, 5, None)
    assert spread([None, None, 7]) == Spread(None, 7, None)
    assert spread([]) == Spread(None, None, None)


def test_a_seed_that_failed_counts_as_the_worst_and_not_as_nothing():
    runs = [
        replace(record("mine", seed, scores), sessions=[{"failure": "diverged"}])
        for seed, scores in ((0, []), (1, [0.8]))
    ]
    (sgd, mine) = table([*SGD, record("sgd", 2, [0.5, 0.6]), *runs, record("mine", 2, [0.3, 0.7, 0.5])], "sgd")
    assert mine.seeds == 3
    assert mine.targets[1].rounds == Spread(2, 1, None)  # never, one round before it failed, two
    assert mine.best == Spread(0.7, None, 0.8)
    assert mine.final == Spread(None, None, 0.5)
    assert mine.loss == Spread(None, 1.0, None)
    assert "mine (2 of 3 failed)" in markdown([sgd, mine])


def test_without_the_reference_there_are_no_targets():
    (row,) = table(REG, "sgd")
    assert all(target.rounds == Spread(None, None, None) for target in row.targets)
    (nothing,) = table([record("sgd", 0, [])], "sgd")
    assert nothing.best == Spread(None, None, None)
    convergence([nothing], "empty", "sgd")
    assert as_table([row])[0]["targets"][0]["rounds"] == {"median": None, "low": None, "high": None}


def test_methods_stand_in_the_papers_order_with_fedreg_last():
    names = ["fedreg_mg", "fedreg", "mine", "fedcurv", "scaffold", "fedprox", "fedavg", "sgd"]
    assert sorted(names, key=place) == [
        "sgd",
        "fedavg",
        "fedprox",
        "scaffold",
        "fedcurv",
        "mine",
        "fedreg",
        "fedreg_mg",
    ]


def test_a_regression_has_a_loss_and_no_r_a():
    lines = [Line(t, None, 1.0 / t, 2.0, 0.5, 500_000, 500_000, [0], []) for t in (1, 2, 4)]
    runs = [Record(Path(m), {"method": m, "plan": {"seed": 0, "rounds": 3}}, [], lines) for m in ("sgd", "fedreg")]
    rows = table(runs, "sgd")
    for row in rows:
        assert row.loss == Spread(0.25, 0.25, 0.25)
        assert row.best == row.final == row.last_ten == Spread(None, None, None)
        assert all(target.rounds.median is None and target.reached == 0 for target in row.targets)
    assert columns(rows) == {"loss": ["0.2500", "0.2500"]}
    assert "loss" in str(convergence(rows, "", "sgd").columns[2].header)
