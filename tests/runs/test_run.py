"""Runs on disk: every way to break one, and what is left of it."""

import json
import os
from contextlib import closing

import pytest
import torch

from fedreg import Diverged, FedregError
from fedreg.core.errors import StorageError
from fedreg.engines import sequential
from fedreg.experiments.experiment import load
from fedreg.experiments.setting import prepare
from fedreg.runs import checkpoint, disk
from fedreg.runs import run as module
from fedreg.runs.configuration import identity_of
from fedreg.runs.record import find, read
from fedreg.runs.run import run

SMALL = ["network.name=linear", "plan.rounds=6", "plan.epochs=2", "plan.cohort=4"]


def world(path, method="scaffold", settings=(), seed=0, resume=False):
    """A run, ready to be iterated over."""
    setting = prepare(load("digits", [*SMALL, *settings]), method, seed)
    configuration = {**setting.description, "engine": {"name": "sequential"}, "command": "fedreg run"}
    return run(setting, sequential(), configuration, path, resume)


def bits(path):
    return (path / "checkpoint.safetensors").read_bytes()


def without_seconds(lines):
    return [line._replace(train_seconds=0, evaluate_seconds=0) for line in lines]


@pytest.fixture
def whole(tmp_path):
    path = tmp_path / "whole"
    lines = list(world(path))
    return path, lines


def test_a_run_is_recorded_round_by_round(whole):
    path, lines = whole
    record = read(path)
    assert [line.t for line in lines] == [1, 2, 3, 4, 5, 6]
    assert record.lines == lines
    assert 0 <= lines[-1].accuracy <= 1
    assert lines[0].bytes_up == lines[0].bytes_down == 2 * 4 * 650
    assert len(lines[0].clients) == 4
    assert min(line.train_seconds for line in lines) > 0
    assert record.configuration["population"]["hash"]
    assert record.configuration["settings"]["class"] == "Scaffold"
    assert record.sessions[0]["versions"]["torch"] == torch.__version__
    assert record.sessions[0]["machine"]["cores"] == os.cpu_count()
    assert sorted(entry.name for entry in path.iterdir()) == [
        "checkpoint.0.owns",
        "checkpoint.safetensors",
        "config.json",
        "lock",
        "rounds.jsonl",
    ]


def test_the_same_run_has_the_same_bits(whole, tmp_path):
    path, lines = whole
    again = list(world(tmp_path / "again"))
    assert bits(tmp_path / "again") == bits(path)
    assert without_seconds(again) == without_seconds(lines)


@pytest.mark.parametrize("rounds", [1, 3, 5])
def test_a_run_left_early_goes_on_to_the_same_bits(whole, tmp_path, rounds):
    path, lines = whole
    with closing(world(tmp_path / "left")) as begun:
        for _ in range(rounds):
            next(begun)
    resumed = list(world(tmp_path / "left", resume=True))
    assert without_seconds(resumed) == without_seconds(lines)
    assert bits(tmp_path / "left") == bits(path)
    sessions = read(tmp_path / "left").sessions
    assert sessions[0]["after"] == 0
    assert len(sessions) == 2


def test_a_finished_run_is_read_and_not_run_again(whole, monkeypatch):
    path, lines = whole
    monkeypatch.setattr(module, "federate", None)
    before = bits(path)
    assert list(world(path, resume=True)) == lines
    assert bits(path) == before


def test_a_finished_run_can_be_made_longer(whole, tmp_path):
    path, _ = whole
    longer = list(world(path, settings=["plan.rounds=8"], resume=True))
    straight = list(world(tmp_path / "straight", settings=["plan.rounds=8"]))
    assert without_seconds(longer) == without_seconds(straight)
    assert bits(path) == bits(tmp_path / "straight")
    assert read(path).rounds == 8


def test_a_folder_in_use_is_not_written_over(whole):
    path, _ = whole
    before = bits(path)
    with pytest.raises(FedregError, match=r"already holds a run of 6 rounds; go on by --resume"):
        list(world(path))
    assert bits(path) == before


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"seed": 1}, "plan.seed was 0 and is 1|population.hash was"),
        ({"method": "fedavg"}, "method was 'scaffold' and is 'fedavg'"),
        ({"settings": ["methods.scaffold.lr=0.01"]}, "settings.lr was 0.* and is 0.01"),
        ({"settings": ["data.augment=crop"]}, "data.augment was None and is 'crop'"),
    ],
)
def test_a_folder_of_another_configuration_is_refused(whole, other, said):
    path, _ = whole
    with pytest.raises(FedregError, match=f"belongs to another configuration: .*{said}"):
        list(world(path, **other, resume=True))


def test_what_was_chosen_and_is_no_longer_makes_another_configuration(tmp_path):
    list(world(tmp_path / "cropped", settings=["data.augment=crop"]))
    (tmp_path / "cropped" / "checkpoint.safetensors").unlink()
    with pytest.raises(FedregError, match=r"data\.augment was 'crop' and is None"):
        list(world(tmp_path / "cropped", resume=True))


def test_a_folder_of_other_things_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(FedregError, match=r"is not empty and holds no run.*thesis\.tex"):
        list(world(tmp_path))


def test_a_line_cut_short_by_a_crash_is_made_again(whole, tmp_path):
    path, lines = whole
    with closing(world(tmp_path / "cut")) as begun:
        for _ in range(3):
            next(begun)
    file = tmp_path / "cut" / "rounds.jsonl"
    file.write_bytes(file.read_bytes()[:-20])
    os.remove(tmp_path / "cut" / "checkpoint.safetensors")
    assert len(read(tmp_path / "cut").lines) == 2
    assert without_seconds(list(world(tmp_path / "cut", resume=True))) == without_seconds(lines)
    assert bits(tmp_path / "cut") == bits(path)


def test_lost_lines_are_noticed(whole):
    path, _ = whole
    file = path / "rounds.jsonl"
    kept = file.read_text().splitlines(keepends=True)
    file.write_text("".join(kept[:4]))
    with pytest.raises(FedregError, match="has 4 lines but the checkpoint is of round 6"):
        list(world(path, resume=True))
    file.write_text("".join(kept[1:]))
    with pytest.raises(FedregError, match=r"line 1 of rounds\.jsonl is of round 2"):
        read(path)


def test_a_truncated_checkpoint_is_named(whole):
    path, _ = whole
    state = path / "checkpoint.safetensors"
    state.write_bytes(bits(path)[:-100])
    with pytest.raises(FedregError, match=r"checkpoint\.safetensors is damaged.*move it away"):
        list(world(path, settings=["plan.rounds=7"], resume=True))


def test_a_foreign_checkpoint_is_named(whole, tmp_path):
    path, _ = whole
    list(world(tmp_path / "other", seed=3))
    (path / "checkpoint.safetensors").write_bytes(bits(tmp_path / "other"))
    with pytest.raises(FedregError, match="belongs to another run"):
        list(world(path, settings=["plan.rounds=7"], resume=True))
    from safetensors.torch import save_file

    save_file({"a": torch.zeros(1)}, path / "checkpoint.safetensors")
    with pytest.raises(FedregError, match="belongs to another run"):
        list(world(path, settings=["plan.rounds=7"], resume=True))


def test_a_pickle_is_never_loaded(whole):
    path, _ = whole

    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(path / "exploded"),)

    torch.save(Bomb(), path / "checkpoint.safetensors")
    with pytest.raises(FedregError, match="is damaged"):
        list(world(path, settings=["plan.rounds=7"], resume=True))
    assert not (path / "exploded").exists()


def test_a_checkpoint_of_another_method_or_network_is_named(whole):
    path, _ = whole
    header = checkpoint.safe_open(path / "checkpoint.safetensors", framework="pt").metadata()
    identity = json.loads(header["fedreg"])["run"]
    cnn = prepare(load("digits"), "scaffold", 0)
    with pytest.raises(FedregError, match=r"server.theta is \(650,\) .*where \(38282,\)"):
        checkpoint.load(path / "checkpoint.safetensors", cnn.method, cnn.theta, identity)
    curved = prepare(load("digits", SMALL), "fedcurv", 0)
    with pytest.raises(FedregError, match=r"server\.F is not there.*it is another method's"):
        checkpoint.load(path / "checkpoint.safetensors", curved.method, curved.theta, identity)


@pytest.mark.parametrize("moment", ["save_file", "replace"])
def test_a_crash_while_a_checkpoint_is_written_leaves_the_last_whole_one(whole, tmp_path, monkeypatch, moment):
    path, lines = whole
    monkeypatch.setattr(module, "SHARE_OF_TIME", 1e9)  # a checkpoint after every round
    begun = world(tmp_path / "crash")
    for _ in range(3):
        next(begun)

    class Crash(BaseException):
        pass

    def crash(*_, **__):
        raise Crash

    target = (checkpoint, "save_file") if moment == "save_file" else (disk.os, "replace")
    with monkeypatch.context() as patch:
        patch.setattr(*target, crash)
        with pytest.raises(Crash):
            list(begun)
    resumed = list(world(tmp_path / "crash", resume=True))
    assert without_seconds(resumed) == without_seconds(lines)
    assert bits(tmp_path / "crash") == bits(path)


def test_a_read_only_disk_is_said_before_the_first_round(tmp_path, monkeypatch):
    def read_only(*_, **__):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(module.Path, "mkdir", read_only)
    with pytest.raises(StorageError, match=r"cannot write .*: Read-only file system; make room or mend its rights"):
        next(world(tmp_path / "x"))


def test_a_disk_that_fills_up_keeps_what_was_recorded(whole, tmp_path, monkeypatch):
    path, lines = whole
    begun = world(tmp_path / "full")
    for _ in range(3):
        next(begun)
    before = (tmp_path / "full" / "rounds.jsonl").read_bytes()

    def full(file, text):
        file.write(text[:10].encode())
        file.flush()
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(module, "append", full)
        with pytest.raises(StorageError, match="No space left on device"):
            next(begun)
    assert "No space left" in read(tmp_path / "full").failure
    assert (tmp_path / "full" / "rounds.jsonl").read_bytes().startswith(before)
    assert without_seconds(list(world(tmp_path / "full", resume=True))) == without_seconds(lines)
    assert bits(tmp_path / "full") == bits(path)
    assert read(tmp_path / "full").failure is None


def test_a_run_that_diverges_keeps_its_rounds_and_says_why(tmp_path, monkeypatch):
    from fedreg.federation.evaluation import Score

    scores = iter([Score(0.5, 1.0), Score(0.5, 1.0), Score(0.1, float("nan"))])
    monkeypatch.setattr(module, "evaluate", lambda *_, **__: next(scores))
    begun = world(tmp_path / "run")
    with pytest.raises(Diverged, match="round 3: the test loss is nan; use a smaller learning rate"):
        list(begun)
    record = read(tmp_path / "run")
    assert len(record.lines) == 2
    assert "round 3" in record.failure


def test_two_processes_do_not_write_one_folder(tmp_path):
    with closing(world(tmp_path / "run")) as begun:
        next(begun)
        with pytest.raises(FedregError, match="is in use by another process"):
            next(world(tmp_path / "run", resume=True))


def test_runs_are_found_below_a_folder(whole, tmp_path):
    path, _ = whole
    list(world(tmp_path / "deep" / "er", seed=1))
    assert {record.path for record in find([tmp_path])} == {path, tmp_path / "deep" / "er"}
    assert len(find([tmp_path, path])) == 2
    (tmp_path / "empty").mkdir()
    for wrong, said in ((tmp_path / "none", "there is no folder"), (tmp_path / "empty", "there is no run in")):
        with pytest.raises(FedregError, match=said):
            find([wrong])
    (path / "config.json").write_text("{")
    with pytest.raises(FedregError, match="cannot be read"):
        find([path])


def test_mistakes_leave_no_folder_behind(tmp_path):
    with pytest.raises(FedregError, match="cohort = 999"):
        next(world(tmp_path / "x", settings=["plan.cohort=999"]))
    assert not (tmp_path / "x").exists()


def test_a_setting_that_nobody_chose_is_no_other_configuration():
    old = {"plan": {"rounds": 3, "seed": 0}, "data": {"name": "digits"}}
    new = {"plan": {"rounds": 9, "seed": 0}, "data": {"name": "digits", "scaling": None}, "about": "words"}
    assert identity_of(old) == identity_of(new)
    assert identity_of(old) != identity_of({**new, "data": {"name": "digits", "scaling": "unit"}})
