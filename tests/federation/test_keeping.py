"""What clients keep: snapshots that never change, in memory and in a file, and every way to damage the file."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from fedreg import Diverged, FedAvg, FedregError, Scaffold, federate
from fedreg.core.errors import StorageError
from fedreg.core.rng import rng
from fedreg.engines import sequential
from fedreg.federation import keeping
from fedreg.federation.keeping import HEADER, Owns, Records, created, grown, opened, owns_of, records_of, unnamed

from ..cases import PLAN, THETA, F, population

PEOPLE = population(8)
LONG = replace(PLAN, rounds=9)


class Own(NamedTuple):
    """Leaves of several kinds, and of lengths that fill no record."""

    c: Tensor
    half: Tensor
    count: Tensor
    nothing: Tensor
    table: Tensor


def own(k: int) -> Own:
    c = torch.randn(5, generator=rng(k, "own"), dtype=torch.float64)
    return Own(c, c[:3].bfloat16(), torch.tensor(k), torch.zeros(0), torch.full((3, 2), k, dtype=torch.int16))


def same(a, b):
    assert type(a) is type(b)
    assert all(x.dtype == y.dtype and torch.equal(x, y) for x, y in zip(a, b, strict=True))


def filled(records: Records, rounds: int, clients: int = 20, cohort: int = 4):
    """Snapshots after each round, and what is in them by plain dicts."""
    owns, plain, snapshots = Owns(), {}, []
    for t in range(rounds):
        met = torch.randperm(clients, generator=rng(t, "met"))[:cohort].tolist()
        new = {i: own(100 * t + i) for i in met}
        owns, records = grown(owns, new, records)
        plain = {**plain, **new}
        snapshots.append((owns, plain))
    return snapshots, records


@pytest.mark.parametrize("on_disk", [True, False])
def test_snapshots_stay_what_they_were(tmp_path, on_disk):
    snapshots, _ = filled(unnamed(tmp_path, own(0)) if on_disk else None, 40)
    for owns, plain in snapshots:
        assert len(owns) == len(plain) == len(list(owns))
        assert sorted(owns) == sorted(plain)
        assert 99 not in owns
        for i in plain:
            assert i in owns
            same(owns[i], plain[i])
    with pytest.raises(KeyError):
        owns[99]
    assert list(tmp_path.iterdir()) == []


def test_in_memory_nothing_is_held_that_nobody_can_ask_for():
    snapshots, _ = filled(None, 40)
    assert all(sum(map(len, owns.layers)) == len(owns) for owns, _ in snapshots)


def test_a_round_copies_few_of_many(tmp_path):
    records, owns, copied = unnamed(tmp_path, own(0)), Owns(), 0
    for t in range(500):
        before = {id(layer) for layer in owns.layers}
        owns = owns.plus({8 * t + k: own(k) for k in range(8)}, records)
        assert len(owns.layers) <= 12
        copied += sum(len(layer) for layer in owns.layers if id(layer) not in before)
    assert len(owns) == 4000
    assert copied < 12 * 4000  # a whole copy a round would be a million


def test_a_file_is_at_most_twice_what_is_of_use(tmp_path):
    records = created(tmp_path / "c", 0, own(0), "run")
    snapshots, last = filled(records, 60)
    owns, plain = snapshots[-1]
    assert last.generation >= 3
    assert owns.records() is last
    for i in plain:
        same(owns[i], plain[i])
    assert last.count <= 2 * len(owns)
    assert last.path.stat().st_size == last.needed() <= HEADER + (2 * 20 + 4) * last.size
    kept = opened(tmp_path / "c", last.generation, own(0), "run", last.count)
    same(kept.read(0, 0).unbind(), last.read(0, 0).unbind())


def test_old_snapshots_outlive_their_file(tmp_path):
    snapshots, _ = filled(created(tmp_path / "c", 0, own(0), "run"), 60)
    for path in tmp_path.iterdir():
        path.unlink()
    for owns, plain in snapshots[::7]:
        for i in plain:
            same(owns[i], plain[i])


def test_a_file_that_nobody_holds_is_closed(tmp_path):
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        filled(unnamed(tmp_path, own(0)), 60)
    assert len(os.listdir("/proc/self/fd")) <= before


def test_a_disk_that_takes_a_part_at_a_time(tmp_path, monkeypatch):
    pwrite, preadv = os.pwrite, os.preadv
    monkeypatch.setattr(keeping.os, "pwrite", lambda fd, rest, at: pwrite(fd, rest[:7], at))
    monkeypatch.setattr(keeping.os, "preadv", lambda fd, rest, at: preadv(fd, [rest[0][:5]], at))
    owns = Owns().plus({3: own(3), 1: own(1)}, unnamed(tmp_path, own(0)))
    same(owns[3], own(3))
    same(owns[1], own(1))


def test_a_full_disk_adds_nothing(tmp_path, monkeypatch):
    records = created(tmp_path / "c", 0, own(0), "run")
    owns = Owns().plus({1: own(1)}, records)
    pwrite, room = os.pwrite, [2]

    def full(fd, rest, at):
        room[0] -= 1
        if room[0] < 0:
            raise OSError(28, "No space left on device")
        return pwrite(fd, rest, at)

    with monkeypatch.context() as patch:
        patch.setattr(keeping.os, "pwrite", full)
        with pytest.raises(StorageError, match=r"cannot write .*c\.0\.owns: No space left on device; make room"):
            owns.plus({i: own(50 + i) for i in range(4)}, records)
    assert records.count == 1
    same(owns[1], own(1))
    same(owns.plus({2: own(2)}, records)[2], own(2))


def test_what_could_not_be_read_again_is_not_written(tmp_path):
    records = unnamed(tmp_path, own(0))
    bad = own(1)._replace(c=torch.tensor([0, 1, float("nan"), 3, 4], dtype=torch.float64))
    with pytest.raises(Diverged, match=r"client 7 keeps numbers that are not finite \(c\)"):
        Owns().plus({7: bad}, records)
    with pytest.raises(FedregError, match=r"c: client 7 keeps \(5,\) torch\.float32, and was enrolled with \(5,\)"):
        Owns().plus({7: bad._replace(c=torch.zeros(5))}, records)
    assert records.count == 0


def test_damage_is_named(tmp_path):
    place = tmp_path / "c"
    records = created(place, 2, own(0), "run")
    owns = Owns().plus({i: own(i) for i in range(3)}, records)
    path, whole = records.path, records.path.read_bytes()
    assert path.name == "c.2.owns"
    path.write_bytes(whole[:-3])
    with pytest.raises(FedregError, match=r"c\.2\.owns: record 2, of client 2, is cut short; restore it from a copy"):
        owns[2]
    same(owns[1], own(1))
    with pytest.raises(FedregError, match=rf"it has {len(whole) - 3} bytes, and {len(whole)} are needed"):
        opened(place, 2, own(0), "run", 3)
    opened(place, 2, own(0), "run", 2)
    path.write_bytes(whole[: HEADER + records.size] + b"\xff" * records.size + whole[HEADER + 2 * records.size :])
    with pytest.raises(FedregError, match="record 1, of client 1, has numbers that are not finite"):
        owns[1]
    for run, like in (("other", own(0)), ("run", THETA[None])):
        with pytest.raises(FedregError, match="belongs to another run"):
            opened(place, 2, like, run, 0)
    path.unlink()
    with pytest.raises(FedregError, match=r"c\.2\.owns: it is not there; .*move the checkpoint away"):
        opened(place, 2, own(0), "run", 3)
    for error in ("cut short", "not there"):
        assert "\n" not in error


def test_records_are_nothing_but_the_leaves(tmp_path):
    records = created(tmp_path / "c", 0, own(0), "run")
    Owns().plus({4: own(4), 2: own(2)}, records)
    file = records.path.read_bytes()
    assert json.loads(file[:HEADER]) == {"fedreg": "owns", "format": 1, "run": "run", "bytes": records.size}
    assert len(file) == HEADER + 2 * records.size
    assert file[HEADER : HEADER + 40] == own(4).c.numpy().tobytes()


# In federate


def assert_same(a, b):
    assert a.t == b.t
    assert torch.equal(a.theta, b.theta)
    assert all(torch.equal(x, y) for x, y in zip(a.server, b.server, strict=True))
    assert a.owns.keys() == b.owns.keys()
    for i in a.owns:
        same(a.owns[i], b.owns[i])


def test_a_federation_on_disk_goes_on_from_any_round_bit_for_bit(tmp_path):
    """Also after later rounds were made, and after a file was left for a smaller one."""
    rounds = list(federate(Scaffold(0.1), F, THETA, PEOPLE, LONG, keep_in=tmp_path))
    for r, other in zip(rounds, federate(Scaffold(0.1), F, THETA, PEOPLE, LONG), strict=True):
        assert_same(r, other)
    files = {id(r.owns.records()) for r in rounds}
    assert len(files) > 2
    assert None not in {r.owns.records() for r in rounds}
    for r in rounds[:-1]:
        for keep_in in (str(tmp_path), None):
            again = list(federate(Scaffold(0.1), F, THETA, PEOPLE, LONG, after=r, keep_in=keep_in))
            assert_same(again[-1], rounds[-1])
    for r, other in zip(rounds, federate(Scaffold(0.1), F, THETA, PEOPLE, LONG), strict=True):
        assert_same(r, other)
    assert list(tmp_path.iterdir()) == []


def test_from_memory_to_disk_and_back(tmp_path):
    rounds = list(federate(Scaffold(0.1), F, THETA, PEOPLE, LONG))
    one = rounds[0]._replace(owns=dict(rounds[0].owns))
    two = next(federate(Scaffold(0.1), F, THETA, PEOPLE, LONG, after=one, keep_in=tmp_path))
    assert {isinstance(place, keeping.Record) for place in two.owns.places().values()} == {True, False}
    assert_same(two, rounds[1])
    last = list(federate(Scaffold(0.1), F, THETA, PEOPLE, LONG, after=two))[-1]
    assert_same(last, rounds[-1])


def test_where_nothing_is_kept_there_is_no_file(tmp_path):
    assert records_of(tmp_path, FedAvg(0.1).enrol(THETA)) is None
    assert len(list(federate(FedAvg(0.1), F, THETA, PEOPLE, PLAN, keep_in=tmp_path))[-1].owns) == 0


def test_a_place_that_is_none_is_said_before_the_first_round(tmp_path):
    with pytest.raises(FedregError, match=r"keep_in = '.*nowhere' is no folder; make it, or name another"):
        federate(Scaffold(0.1), F, THETA, PEOPLE, PLAN, keep_in=tmp_path / "nowhere")


def test_a_client_that_keeps_no_finite_numbers_stops_the_round(tmp_path):
    def spoiling(method, f, down, tasks):
        answer = sequential()(method, f, down, tasks)
        return answer._replace(owns=[type(kept)(kept.c_i / 0) for kept in answer.owns])

    rounds = federate(Scaffold(0.1), F, THETA, PEOPLE, PLAN, engine=spoiling, keep_in=tmp_path)
    with pytest.raises(
        Diverged, match=r"^round 1: client \d+ keeps numbers that are not finite \(c_i\); use a smaller"
    ):
        next(rounds)


def test_any_mapping_will_do():
    assert sorted(owns_of({3: own(3)}).places()) == [3]


PROGRAM = """
import json, sys
import torch
import fedreg
torch.set_num_threads(1)
clients, folder = int(sys.argv[1]), sys.argv[2] or None
module = torch.nn.Linear(1000, 200)  # 0.8 MB of parameters
people = fedreg.Population.from_owners(torch.rand(clients, 1000), torch.zeros(clients, dtype=torch.long), range(clients))
plan = fedreg.Plan(rounds=clients // 10, cohort=10, epochs=1, batch_size=1)
f, theta = fedreg.classification(module), fedreg.ravel(module)
for r in fedreg.federate(fedreg.Scaffold(0.1), f, theta, people, plan, keep_in=folder):
    pass
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))  # rusage counts the parent's, too
print(json.dumps([int(peak.split()[1]) / 1024, len(r.owns) * theta.nbytes / 2**20]))
"""


def megabytes(clients, folder):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(clients), str(folder)], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_memory_holds_cohorts_and_not_a_population(tmp_path):
    """What 250 of 400 clients keep takes 190 MB in memory, and less than half of that more than 40 clients on disk."""
    few, _ = megabytes(40, tmp_path)
    many, state = megabytes(400, tmp_path)
    held, _ = megabytes(400, "")
    assert state > 180
    assert many - few < state / 2
    assert held - many > state / 2
