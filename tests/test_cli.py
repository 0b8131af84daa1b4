"""The command line, as a person and as a script use it."""

import json
import os
import resource
import subprocess
import sys

import pytest

from fedreg import cli

QUICK = ["--set", "plan.rounds=3", "--set", "plan.epochs=1", "--set", "network.name=linear"]


@pytest.fixture
def fedreg(monkeypatch, capsys, tmp_path):
    """Call the command line in this process, in a folder of its own; give exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["fedreg", *words])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        said = capsys.readouterr()
        return caught.value.code or 0, said.out, said.err

    return call


def test_list_shows_what_there_is(fedreg):
    code, out, _ = fedreg("list")
    assert code == 0
    for word in ("digits", "fedreg", "scaffold", "gamma", "vectorized"):
        assert word in out
    code, out, err = fedreg("list", "--json")
    table = json.loads(out)
    assert (code, err) == (0, "")
    assert set(table["experiments"]["digits"]["methods"]) == {
        "sgd",
        "fedavg",
        "fedprox",
        "fedcurv",
        "scaffold",
        "fedreg",
    }
    assert table["engines"] == ["sequential", "vectorized", "distributed"]


def test_run_makes_a_run(fedreg, tmp_path):
    code, out, err = fedreg("run", "digits", "fedavg", *QUICK)
    assert code == 0
    assert "runs/digits/fedavg/seed-0" in out
    assert "3 rounds, best accuracy" in err
    assert (tmp_path / "runs/digits/fedavg/seed-0/checkpoint.safetensors").exists()
    code, _, err = fedreg("run", "digits", "fedavg", *QUICK)
    assert code == 2
    assert "--resume" in err
    assert fedreg("run", "digits", "fedavg", *QUICK, "--resume")[0] == 0


def test_json_is_all_there_is_on_stdout(fedreg):
    code, out, _ = fedreg("run", "digits", "sgd", *QUICK, "--seed", "4", "--out", "there", "--json")
    result = json.loads(out)
    assert code == 0
    assert result["runs"] == ["there"]
    assert result["methods"][0]["method"] == "sgd"
    assert 0 <= result["methods"][0]["best"]["median"] <= 1
    assert result["failures"] == []
    code, out, _ = fedreg("report", "there", "-o", "page.html", "--json")
    assert json.loads(out)["page"] == "page.html"


def test_compare_makes_runs_a_table_and_a_page(fedreg, tmp_path):
    words = ["compare", "digits", "--methods", "fedreg,sgd", "--seeds", "0,1", *QUICK, "--out", "both"]
    code, out, _ = fedreg(*words)
    assert code == 0
    assert "R_0.9" in out
    assert out.index("sgd") < out.index("fedreg")
    page = (tmp_path / "both/report.html").read_text()
    assert "fedreg run digits fedreg --seed 1" in page
    assert len(list((tmp_path / "both").rglob("rounds.jsonl"))) == 4
    code, _, err = fedreg(*words)
    assert code == 2
    assert "(and 3 more)" in err
    assert fedreg(*words, "--resume")[0] == 0
    code, out, _ = fedreg("report", "both", "-o", "again.html")
    assert code == 0
    assert (tmp_path / "again.html").exists()
    code, out, _ = fedreg("report", "both", "--markdown")
    assert code == 0
    assert out.startswith("| method | R_0.5 | R_0.9 | R_1.0 | final |")
    assert out.count("\n") == 4


def test_runs_are_kept_in_a_file_and_reported_from_it(fedreg, tmp_path):
    fedreg("compare", "digits", "--methods", "sgd,fedreg", *QUICK, "--out", "both")
    code, out, _ = fedreg("keep", "both", "-o", "kept/digits.jsonl")
    assert (code, out) == (0, "runs in kept/digits.jsonl: 2\n")
    folders, kept = (json.loads(fedreg("report", path, "--json")[1]) for path in ("both", "kept/digits.jsonl"))
    assert [row["best"] for row in kept["methods"]] == [row["best"] for row in folders["methods"]]
    code, _, err = fedreg("keep", "both", "-o", "kept")
    assert code == 2
    assert "ends in .jsonl" in err
    code, _, err = fedreg("report", "both", "--paper")
    assert code == 2
    assert "the paper has no experiment digits" in err


def test_a_table_of_the_paper(fedreg):
    code, out, _ = fedreg("table", "1")
    assert code == 0
    assert "MNIST (one class)" in out
    assert "mnist-one-class" in out
    assert "33 | " in out
    assert "not run" in out
    code, out, _ = fedreg("table", "C.1", "--json")
    rows = {row["method"]: row for row in json.loads(out)["rows"]}
    assert rows["fedreg"]["paper"]["R_0.9"] == 101
    assert rows["pfedgp"]["paper"]["R_0.9"] is None
    code, _, err = fedreg("table", "5")
    assert code == 2
    assert "the paper has no table '5'" in err
    code, _, err = fedreg("table", "1", "nowhere")
    assert code == 2
    assert "there is no folder nowhere" in err


def test_settings_of_one_method_are_told_apart(fedreg):
    for gamma in (0.2, 0.8):
        done = fedreg(
            "run", "digits", "fedreg", *QUICK, "--set", f"methods.fedreg.gamma={gamma}", "--out", f"runs/{gamma}"
        )
        assert done[0] == 0
    fedreg("run", "digits", "sgd", *QUICK, "--out", "runs/sgd")
    code, out, _ = fedreg("report", "runs")
    assert code == 0
    assert "fedreg gamma 0.2" in out
    assert "fedreg gamma 0.8" in out
    assert " sgd  " in out


def test_what_does_not_belong_together_is_reported_apart(fedreg):
    fedreg("run", "digits", "sgd", *QUICK, "--out", "a")
    fedreg("run", "digits", "sgd", *QUICK, "--out", "b")
    code, _, err = fedreg("report", "a", "b")
    assert code == 2
    assert "a and b are the same run" in err
    fedreg("run", "digits", "sgd", *QUICK, "--set", "partition.sizes=4", "--out", "c")
    code, _, err = fedreg("report", "a", "c")
    assert code == 2
    assert "differ in partition: a, c; report them apart" in err


def test_the_plans_seed_is_the_seed_unless_another_is_given(fedreg, tmp_path):
    fedreg("run", "digits", "sgd", *QUICK, "--set", "plan.seed=5")
    fedreg("compare", "digits", "--methods", "fedavg", *QUICK, "--set", "plan.seed=6")
    fedreg("run", "digits", "sgd", *QUICK, "--set", "plan.seed=5", "--seed", "7")
    made = {str(path.parent.relative_to(tmp_path / "runs/digits")) for path in tmp_path.rglob("config.json")}
    assert made == {"sgd/seed-5", "fedavg/seed-6", "sgd/seed-7"}


def test_the_command_on_record_makes_the_same_run_again(fedreg, tmp_path):
    fedreg("run", "digits", "fedprox", *QUICK, "--engine", "vectorized", "--chunk", "3", "--out", "one")
    command = json.loads((tmp_path / "one/config.json").read_text())["configuration"]["command"].split()
    assert command[0] == "fedreg"
    assert fedreg(*command[1:], "--out", "two")[0] == 0
    assert (tmp_path / "one/checkpoint.safetensors").read_bytes() == (
        tmp_path / "two/checkpoint.safetensors"
    ).read_bytes()


def test_a_run_that_diverges_does_not_stop_the_others(fedreg):
    wild = [*QUICK, "--set", "plan.epochs=3", "--set", "methods.fedprox.lr=1e30"]
    code, out, err = fedreg("compare", "digits", "--methods", "sgd,fedprox,fedavg", *wild, "--json")
    result = json.loads(out)
    assert code == 1
    assert len(result["failures"]) == 1
    assert "fedprox, seed 0: round 1: client" in result["failures"][0]
    assert "failed: fedprox" in err
    rounds = {row["method"]: row["rounds"] for row in result["methods"]}
    assert rounds == {"sgd": 3, "fedavg": 3, "fedprox": 0}
    code, out, _ = fedreg("report", "runs/digits")
    assert code == 0
    assert "fedprox (1 of 1 failed)" in out
    code, out, _ = fedreg("report", "runs/digits", "--markdown")
    assert "| fedprox (1 of 1 failed) | - | - | - | - |" in out
    assert fedreg("run", "digits", "fedprox", *wild, "--out", "alone")[0] == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "digit", "fedreg"], "did you mean 'digits'?"),
        (["run", "digits", "fedrag"], "did you mean 'fedreg'?"),
        (["run", "digits", "fedreg", "--set", "plan.round=5"], "plan.round is unknown; did you mean 'rounds'?"),
        (["run", "digits", "fedreg", "--set", "methods.fedreg.gamma=2"], "gamma = 2.0 is outside [0, 1]"),
        (["run", "digits", "fedreg", "--set", "methods.fedreg.eta_s=-1"], "eta_s = -1.0 must be finite and not negative"),
        (["run", "digits", "fedreg", "--set", "methods.fedreg.E=-1"], "E = -1 must not be negative"),
        (["run", "digits", "fedreg", "--set", "plan.cohort=0"], "cohort = 0"),
        (["run", "digits", "fedreg", "--set", "plan.cohort=1000"], "cohort = 1000, but there are 176 clients"),
        (["run", "digits", "fedreg", "--engine", "vectorised"], "did you mean 'vectorized'?"),
        (["run", "digits", "fedreg", "--engine", "sequential", "--chunk", "3"], "--chunk is for the engine vectorized"),
        (["run", "digits", "fedreg", "--chunk", "0"], "chunk = 0"),
        (["compare", "digits", "--seeds", "0,x"], "--seeds 0,x"),
        (["compare", "digits", "--methods", "sgd,nope"], "no method 'nope'"),
        (["report", "nowhere"], "there is no folder nowhere"),
        (["data", "get", "mnits"], "there is no dataset 'mnits' to have; did you mean 'mnist'?"),
        (["data", "add", "json:loads", "."], "there is no dataset 'json:loads' to have"),
        (["run", "nothing.toml", "fedreg"], "nothing.toml"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line_and_exit_2(fedreg, tmp_path, words, said):
    code, out, err = fedreg(*words)
    assert code == 2
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert said in err
    assert list(tmp_path.iterdir()) == []


def test_unknown_words_are_a_usage_error(fedreg):
    assert fedreg("runn")[0] == 2
    assert fedreg("run", "digits")[0] == 2
    assert fedreg("run", "digits", "fedreg", "--rounds", "3")[0] == 2


def test_help_teaches_by_example(fedreg):
    for verb in ("run", "compare", "report", "list"):
        code, out, _ = fedreg(verb, "--help")
        assert code == 0
        assert f"fedreg {verb}" in out.split("Example:")[1]
    code, out, _ = fedreg("--version")
    assert (code, out) == (0, "0.1.0\n")
    assert "compare digits" in fedreg("--help")[1]


def test_a_disk_that_is_full_is_said_before_the_first_round(tmp_path):
    """A real process whose files may not grow beyond 20 kB: the first checkpoint does not fit."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))  # noqa: E731
    words = [sys.executable, "-m", "fedreg", "run", "digits", "fedavg", "--out", str(tmp_path / "full")]
    done = subprocess.run(words, capture_output=True, text=True, preexec_fn=limit, timeout=120, check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "cannot write" in done.stderr
    assert "File too large" in done.stderr
    assert not (tmp_path / "full" / "rounds.jsonl").exists() or (tmp_path / "full" / "rounds.jsonl").read_text() == ""


def test_a_folder_that_cannot_be_made_is_a_failure(fedreg, tmp_path):
    (tmp_path / "file").write_text("")
    code, out, err = fedreg("run", "digits", "sgd", *QUICK, "--out", "file/run")
    assert (code, out) == (1, "")
    assert "cannot write file/run: Not a directory" in err


def test_completion_is_offered(tmp_path):
    environment = {**os.environ, "_FEDREG_COMPLETE": "complete_bash", "COMP_WORDS": "fedreg comp", "COMP_CWORD": "1"}
    script = os.path.join(os.path.dirname(sys.executable), "fedreg")
    done = subprocess.run([script], capture_output=True, text=True, env=environment, timeout=60, check=False)
    assert "compare" in done.stdout


REGRESSION = """
about = "Sums"
[data]
name = "sums:sums"
[partition]
kind = "uniform"
sizes = 4
[network]
name = "linear"
[plan]
rounds = 4
cohort = 5
epochs = 2
batch_size = 4
[methods.sgd]
method = "fedavg"
lr = 0.05
plan = { epochs = 1, batch_size = "full" }
[methods.fedreg]
lr = 0.05
gamma = 0.5
eta_s = 0.01
"""
SUMS = """
import torch
import fedreg

def sums():
    x = torch.randn(120, 3, generator=torch.Generator().manual_seed(0))
    y = x.sum(1, keepdim=True)
    return fedreg.Dataset(fedreg.Examples(x[:100], y[:100]), fedreg.Examples(x[100:], y[100:]), outputs=1)
"""


def test_a_regression_is_compared_by_its_loss(fedreg, tmp_path, monkeypatch):
    (tmp_path / "sums.py").write_text(SUMS)
    (tmp_path / "sums.toml").write_text(REGRESSION)
    monkeypatch.syspath_prepend(tmp_path)
    code, out, err = fedreg("compare", "sums.toml")
    assert code == 0, err
    assert "R_0.9" not in out
    assert "loss" in out.splitlines()[2]
    page = (tmp_path / "runs/sums/report.html").read_text()
    assert "Test loss" in page
    code, out, _ = fedreg("report", "runs/sums", "--json")
    methods = json.loads(out)["methods"]
    assert all(0 < method["loss"]["median"] < 3 for method in methods)
    assert all(target["reached"] == 0 for method in methods for target in method["targets"])
    code, _, err = fedreg("run", "sums.toml", "fedreg", "--out", "mg", "--set", "methods.fedreg.modified_gradient=true")
    assert code == 2
    assert "modified_gradient needs classes" in err
