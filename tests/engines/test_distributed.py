"""A cohort shared out to processes gives what one process gives, to the bit."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fedreg.core.errors import FedregError
from fedreg.engines import Team, distributed, joined, team_of, vectorized
from fedreg.engines.team import shares
from fedreg.runs.crew import free_port

from .team_member import fingerprints

ROOT = Path(__file__).parents[2]


def members(size, path, env=None):
    """What each of so many processes wrote."""
    about = {"WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    about |= {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1", "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.engines.team_member", str(path)],
            env={**os.environ, **about, "RANK": str(rank)},
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(size)
    ]
    for process in processes:
        _, stderr = process.communicate(timeout=240)
        assert process.returncode == 0, stderr
    return [json.loads(path.with_suffix(f".{rank}").read_text()) for rank in range(size)]


@pytest.mark.parametrize("size", [2, 3])
def test_any_number_of_processes_gives_the_bits_of_one(size, tmp_path):
    alone = {str(chunk): fingerprints(vectorized(chunk), Team()) for chunk in (1, 2, 16)}
    for rank, (found, said, (told, ranks)) in enumerate(members(size, tmp_path / "team")):
        assert found == alone
        assert told == "from the leader"
        assert ranks == list(range(size))
        elsewhere = "" if rank == size - 1 else f"rank {size - 1} of {size} failed: "
        assert said[0] == "Diverged: client 3 sent numbers"  # of which it does not matter where it was
        assert said[1] == f"FedregError: {elsewhere}the disk is full"
        assert said[2] == ("FedregError: " + elsewhere if elsewhere else "ZeroDivisionError: ") + "by zero"


def test_one_process_is_a_team_of_its_own():
    assert fingerprints(distributed(2), Team())["scaffold"] == fingerprints(vectorized(2), Team())["scaffold"]
    assert team_of(vectorized()) == Team(0, 1)
    with pytest.raises(ZeroDivisionError), Team().agreeing():
        raise ZeroDivisionError


def test_work_is_shared_out_evenly():
    assert shares([5, 1, 4, 2, 3], 2) == [[0, 1, 3], [2, 4]]
    assert shares([7], 3) == [[0], [], []]
    work = [float((7 * i) % 11 + 1) for i in range(40)]
    parts = shares(work, 4)
    assert sorted(i for part in parts for i in part) == list(range(40))
    loads = [sum(work[i] for i in part) for part in parts]
    assert max(loads) - min(loads) <= 1


def test_who_was_not_started_with_others_is_told_how(monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    with pytest.raises(FedregError, match=r"RANK.* not set\): torchrun .* or let fedreg start them: --workers 2"):
        joined()
