"""A run killed again and again ends with the very bits of one that was not."""

import hashlib
import json
import signal
import subprocess
import sys
import time

import pytest

RUN = [sys.executable, "-m", "fedreg", "run", "digits", "scaffold", "--set", "plan.rounds=40", "--set", "plan.epochs=5"]


@pytest.fixture(autouse=True)
def heeding_interrupts():
    """In a shell's background a process is born deaf to them, and so would be those that the tests start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def start(out, *more):
    return subprocess.Popen([*RUN, "--out", str(out), *more], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def finish(process):
    stdout, stderr = process.communicate(timeout=240)
    assert process.returncode == 0, stderr
    return stdout


def lines(out):
    file = out / "rounds.jsonl"
    return file.read_bytes().count(b"\n") if file.exists() else 0


def stop_at(process, out, rounds, how):
    """Wait until so many rounds are recorded, and stop the process there."""
    deadline = time.monotonic() + 120
    while lines(out) < rounds and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    process.send_signal(how)
    process.communicate()
    return process.returncode


def digest(out):
    """Of the checkpoint and of the file in which it has what clients keep, by name."""
    files = sorted(out.glob("checkpoint*"))
    assert len(files) == 2
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def numbers(out):
    """All that is recorded but the seconds."""
    return [
        {key: value for key, value in json.loads(line).items() if not key.endswith("seconds")}
        for line in (out / "rounds.jsonl").read_text().splitlines()
    ]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    out = tmp_path_factory.mktemp("whole") / "run"
    finish(start(out))
    return out


def test_killed_at_five_moments_and_resumed(whole, tmp_path):
    out = tmp_path / "killed"
    assert stop_at(start(out), out, 1, signal.SIGKILL) == -signal.SIGKILL
    for rounds in (8, 15, 27, 36):
        before = lines(out)
        assert stop_at(start(out, "--resume"), out, rounds, signal.SIGKILL) == -signal.SIGKILL
        assert before <= lines(out) < 40
    finish(start(out, "--resume"))
    assert digest(out) == digest(whole)
    assert numbers(out) == numbers(whole)


def test_interrupted_politely_it_says_how_to_go_on(whole, tmp_path):
    out = tmp_path / "interrupted"
    process = start(out)
    while lines(out) < 5:
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Go on with: fedreg run digits scaffold" in stderr
    assert f"--out {out} --resume" in stderr
    assert "Traceback" not in stderr
    process = start(out, "--resume")
    while lines(out) < 20:
        time.sleep(0.002)
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "--resume --resume" not in stderr
    finish(start(out, "--resume"))
    assert digest(out) == digest(whole)
