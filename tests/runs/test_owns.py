"""A run's files of what clients keep: killed at any moment, they and the checkpoint agree; and what each costs."""

import os
from contextlib import closing, suppress
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file, save_file

from fedreg import Examples, FedregError, Plan, Scaffold
from fedreg.engines import sequential
from fedreg.experiments.experiment import load
from fedreg.experiments.setting import Setting, prepare
from fedreg.runs import checkpoint
from fedreg.runs import run as module
from fedreg.runs.run import run

from ..cases import THETA, F, population
from .test_run import SMALL, bits, without_seconds, world

PEOPLE = population(6)
DESCRIPTION = prepare(load("digits", SMALL), "scaffold", 0).description
CONFIGURATION = {**DESCRIPTION, "engine": {"name": "sequential"}, "command": "fedreg run"}
PLAN = Plan(rounds=6, cohort=3, epochs=1, batch_size=4)
SETTING = Setting(Scaffold(0.1), F, THETA, PEOPLE, PLAN, Examples(PEOPLE.x, PEOPLE.y), lambda theta: F, DESCRIPTION)
RECORD = THETA.nbytes


def small(path, resume=False, rounds=6):
    """A run of six clients that leaves its file for a smaller one every few rounds."""
    setting = replace(SETTING, plan=replace(PLAN, rounds=rounds))
    return run(setting, sequential(), CONFIGURATION, path, resume)


def state(path):
    """The name and the bytes of the checkpoint and of all that goes with it."""
    return {file.name: file.read_bytes() for file in path.glob("checkpoint*")}


@pytest.fixture
def each_round(monkeypatch):
    """A checkpoint after every round."""
    monkeypatch.setattr(module, "SHARE_OF_TIME", 1e9)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "run"
    return path, list(small(path)), state(path)


def test_only_the_file_that_the_checkpoint_names_is_left(whole, each_round, tmp_path):
    _, lines, states = whole
    assert sorted(states) == ["checkpoint.2.owns", "checkpoint.safetensors"]
    assert without_seconds(list(small(tmp_path / "often"))) == without_seconds(lines)
    assert state(tmp_path / "often") == states  # whenever checkpoints were written


class Killed(BaseException):
    """What a process does not live to see."""


class Fate:
    """Lets a process change so many things on the disk, and nothing after them, whatever it tries to clean up."""

    def __init__(self, monkeypatch, most):
        self.left = most
        for name in ("pwrite", "replace", "unlink", "fsync", "ftruncate"):
            monkeypatch.setattr(os, name, self.ending(getattr(os, name), torn=name == "pwrite"))

    def ending(self, do, torn):
        def done(*words, **more):
            self.left -= 1
            if self.left == 0 and torn:
                do(words[0], words[1][: len(words[1]) // 2], words[2])
            if self.left <= 0:
                raise Killed
            return do(*words, **more)

        return done


def test_killed_at_every_change_of_the_disk(whole, each_round, tmp_path):
    _, lines, states = whole
    moments = 0
    while True:
        path = tmp_path / str(moments)
        with pytest.MonkeyPatch.context() as patch:
            fate = Fate(patch, moments + 1)
            with suppress(Killed):
                list(small(path))
        if fate.left > 0:
            break
        assert without_seconds(list(small(path, resume=(path / "config.json").exists()))) == without_seconds(lines)
        assert state(path) == states, f"killed at change {moments}"
        moments += 1
    assert moments > 6 * (3 + 6)


def test_records_are_on_the_disk_before_a_checkpoint_names_them(each_round, tmp_path, monkeypatch):
    """A power cut leaves no test to look; what is looked at is the order of calls."""
    waiting, late, checkpoint_name = set(), [], "checkpoint.safetensors"
    pwrite, fsync, move = os.pwrite, os.fsync, os.replace

    def putting(old, new):
        if str(new).endswith(checkpoint_name):
            late.append(str(max(tmp_path.glob("run/*.owns"))) in waiting)
        move(old, new)

    def name(fd):
        return os.readlink(f"/proc/self/fd/{fd}")

    monkeypatch.setattr(os, "pwrite", lambda fd, rest, at: waiting.add(name(fd)) or pwrite(fd, rest, at))
    monkeypatch.setattr(os, "fsync", lambda fd: waiting.discard(name(fd)) or fsync(fd))
    monkeypatch.setattr(os, "replace", putting)
    list(small(tmp_path / "run"))
    assert late == [True] + [False] * 6  # the first names none


def test_a_checkpoint_costs_what_is_new(each_round, tmp_path, monkeypatch):
    """Bytes that a round adds to a run of SCAFFOLD with 176 clients, the index of its records apart."""
    written = []
    pwrite = os.pwrite

    def counting(fd, rest, at):
        written.append(len(rest))
        return pwrite(fd, rest, at)

    monkeypatch.setattr(os, "pwrite", counting)
    sizes = []
    with closing(world(tmp_path / "run", settings=["plan.rounds=30"])) as lines:
        for line in lines:
            assert (
                sum(written[1:] if line.t == 1 else written) == 4 * 2608
            )  # 650 numbers of 4 bytes, to a multiple of 16
            written.clear()
            sizes.append((tmp_path / "run" / "checkpoint.safetensors").stat().st_size)
    assert sizes[-1] < 2 * 2600 + 16 * 176 + 600
    assert sizes[-1] - sizes[1] < 16 * 176 + 100


@pytest.fixture
def damaged(whole, tmp_path):
    """A copy of the whole run to be damaged, and the file in it."""
    import shutil

    shutil.copytree(whole[0], tmp_path / "damaged")
    return tmp_path / "damaged", tmp_path / "damaged" / "checkpoint.2.owns"


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (
            lambda file: file.unlink(),
            r"checkpoint\.2\.owns: it is not there; restore it from a copy, or move the check",
        ),
        (lambda file: file.write_bytes(file.read_bytes()[: 3 * RECORD]), r"it has \d+ bytes, and \d+ are needed"),
        (lambda file: file.write_bytes(file.read_bytes().replace(b'"run": "', b'"run": "0')[1:]), "another run"),
        (lambda file: file.write_bytes(file.read_bytes()[:256] + b"\xff" * 99 * RECORD), "are not finite; restore"),
    ],
    ids=["missing", "short", "foreign", "not finite"],
)
def test_damage_is_named_and_the_remedy_works(whole, damaged, damage, said):
    path, file = damaged
    damage(file)
    with pytest.raises(FedregError, match=said) as caught:
        list(small(path, resume=True, rounds=9))
    assert "\n" not in str(caught.value)
    (path / "checkpoint.safetensors").rename(path / "away")
    assert len(list(small(path, resume=True))) == 6
    assert state(path) == whole[2]


def test_an_index_changed_by_hand_is_named(whole, damaged):
    path, _ = damaged
    file = path / "checkpoint.safetensors"
    tensors, header = load_file(file), checkpoint.safe_open(file, framework="pt").metadata()
    for change in (
        {"own.records": tensors["own.records"][1:]},
        {"own.records": tensors["own.records"].float()},
        {"own.records": tensors["own.records"] - 9},
        {"own.clients": tensors["own.clients"].int()},
    ):
        save_file({**tensors, **change}, file, metadata=header)
        with pytest.raises(FedregError, match="was changed by hand"):
            list(small(path, resume=True, rounds=9))
    save_file(tensors, file, metadata={"fedreg": header["fedreg"].replace('"owns": 2', '"owns": "../2"')})
    with pytest.raises(FedregError, match="was changed by hand"):
        list(small(path, resume=True, rounds=9))


def test_a_checkpoint_of_the_first_format(whole, damaged, tmp_path):
    """Is refused where it has in it what clients keep, and read where there is nothing of that."""
    path, _ = damaged
    file = path / "checkpoint.safetensors"
    header = checkpoint.safe_open(file, framework="pt").metadata()["fedreg"]
    save_file(load_file(file), file, metadata={"fedreg": header.replace('"format": 2', '"format": 1')})
    with pytest.raises(
        FedregError, match="of an earlier version of fedreg, which had in it what clients keep; go on w"
    ):
        list(small(path, resume=True, rounds=9))
    lines = list(world(tmp_path / "fedavg", "fedavg"))
    file = tmp_path / "fedavg" / "checkpoint.safetensors"
    before, tensors = bits(tmp_path / "fedavg"), load_file(file)
    header = checkpoint.safe_open(file, framework="pt").metadata()["fedreg"]
    del tensors["own.records"]
    old = header.replace('"format": 2', '"format": 1').replace('"owns": null, ', "")
    save_file(tensors, file, metadata={"fedreg": old})
    again = list(world(tmp_path / "fedavg", "fedavg", ["plan.rounds=7"], resume=True))
    assert without_seconds(again)[:6] == without_seconds(lines)
    assert bits(tmp_path / "fedavg") != before
    assert sorted(load_file(file)) == ["own.clients", "own.records", "server.theta"]


def test_rounds_in_memory_are_saved_whole(tmp_path):
    rounds = list(module.federate(Scaffold(0.1), F, THETA, PEOPLE, PLAN))
    for r in rounds[2:5]:
        checkpoint.save(tmp_path / "c", r, "run")
        assert len(list(tmp_path.glob("c.*.owns"))) == 1
        loaded = checkpoint.load(tmp_path / "c", Scaffold(0.1), THETA, "run")
        assert all(torch.equal(loaded.owns[i].c_i, r.owns[i].c_i) for i in r.owns)
    (tmp_path / "c.mine.owns").write_text("kept")
    checkpoint.save(tmp_path / "c", rounds[5], "run")
    assert (tmp_path / "c.mine.owns").exists()
