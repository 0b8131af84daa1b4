"""Runs shared out to processes on the command line: started by fedreg, by torchrun, and killed."""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from fedreg.runs.crew import free_port

WORDS = ["run", "digits", "scaffold", "--set", "plan.rounds=12", "--set", "plan.epochs=3", "--chunk", "3"]
ENV = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}


def fedreg(*words, **more):
    return subprocess.run(
        [sys.executable, "-m", "fedreg", *map(str, words)],
        env={**ENV, **more},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def bits(out):
    return hashlib.sha256((out / "checkpoint.safetensors").read_bytes()).hexdigest()


def lines(out):
    file = out / "rounds.jsonl"
    return file.read_bytes().count(b"\n") if file.exists() else 0


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The bits of a run in one process."""
    out = tmp_path_factory.mktemp("alone") / "run"
    done = fedreg(*WORDS, "--out", out)
    assert done.returncode == 0, done.stderr
    return bits(out)


def test_two_workers_give_the_bits_of_one_process(alone, tmp_path):
    done = fedreg(*WORDS, "--workers", 2, "--out", tmp_path / "two")
    assert done.returncode == 0, done.stderr
    assert bits(tmp_path / "two") == alone
    assert done.stderr.count("12 rounds") == 1  # one of them speaks for all
    assert '"processes": 2' in (tmp_path / "two" / "config.json").read_text()


def test_a_worker_that_is_killed_is_named_and_the_run_goes_on_without_it(alone, tmp_path):
    out = tmp_path / "killed"
    words = [sys.executable, "-m", "fedreg", *WORDS, "--set", "plan.rounds=400", "--workers", "3", "--out", str(out)]
    run = subprocess.Popen(words, env=ENV, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and lines(out) < 4:
        time.sleep(0.01)
    others = subprocess.run(["pgrep", "-P", str(run.pid)], capture_output=True, text=True, check=True).stdout.split()
    assert len(others) == 2
    os.kill(int(others[0]), signal.SIGKILL)
    _, stderr = run.communicate(timeout=120)
    assert run.returncode == 1
    said = " ".join(stderr.split())
    assert f"process {others[0]}, was killed by SIGKILL; all whole rounds are kept, go on by --resume" in said
    assert "Traceback" not in stderr
    for pid in others:  # nobody is left behind
        assert not os.path.exists(f"/proc/{pid}")
    rounds = f"plan.rounds={lines(out) + 3}"
    done = fedreg(*WORDS, "--set", rounds, "--workers", 2, "--resume", "--out", out)  # one worker fewer
    assert done.returncode == 0, done.stderr
    assert fedreg(*WORDS, "--set", rounds, "--out", tmp_path / "whole").returncode == 0
    assert bits(out) == bits(tmp_path / "whole")


def test_torchrun_gives_the_bits_of_one_process(alone, tmp_path):
    torchrun = ["torch.distributed.run", "--nnodes", "1", "--nproc-per-node", "2", "--master-port", str(free_port())]
    done = subprocess.run(
        [sys.executable, "-m", *torchrun, "-m", "fedreg", *WORDS, "--engine", "distributed", "--out", tmp_path / "t"],
        env=ENV,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert bits(tmp_path / "t") == alone


def test_a_mistake_is_told_once_and_before_any_work(tmp_path):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "thesis.tex").write_text("mine")
    for words, said in (
        (["--workers", 2, "--out", tmp_path / "taken"], "is not empty and holds no run"),
        (["--workers", 0], "at least one process must work"),
        (["--engine", "distributed"], "or let fedreg start them: --workers 2"),
    ):
        done = fedreg(*WORDS, *words)
        assert done.returncode == 2, done.stderr
        assert done.stderr.count("error:") == 1
        assert said in " ".join(done.stderr.split())


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("ip"), reason="network namespaces want root and iproute2")
def test_two_hosts_give_the_bits_of_one_process(alone, tmp_path):
    """Two network namespaces, joined by a cable of their own, stand for two machines."""
    names = [f"fedreg-{os.getpid()}-{i}" for i in (0, 1)]
    command = [sys.executable, "-m", "fedreg", *WORDS, "--engine", "distributed"]
    ip = lambda *words: subprocess.run(["ip", *map(str, words)], check=True)  # noqa: E731
    try:
        for name in names:
            ip("netns", "add", name)
        ip("link", "add", "fr0", "netns", names[0], "type", "veth", "peer", "name", "fr0", "netns", names[1])
        for i, name in enumerate(names):
            ip("-n", name, "addr", "add", f"10.97.0.{i + 1}/24", "dev", "fr0")
            ip("-n", name, "link", "set", "fr0", "up")
            ip("-n", name, "link", "set", "lo", "up")
        runs = [
            subprocess.Popen(
                ["ip", "netns", "exec", name, *command, "--out", str(tmp_path / f"host{rank}")],
                env={**ENV, "GLOO_SOCKET_IFNAME": "fr0", "MASTER_ADDR": "10.97.0.1", "MASTER_PORT": "29511"}
                | {"RANK": str(rank), "WORLD_SIZE": "2"},
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank, name in enumerate(names)
        ]
        for run in runs:
            _, stderr = run.communicate(timeout=240)
            assert run.returncode == 0, stderr
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False)
    assert bits(tmp_path / "host0") == alone
    assert not (tmp_path / "host1").exists()  # the leader alone writes
