"""Processes on this machine that are started together, so that they can run a federation as a team."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO

import torch

from ..core.errors import require
from ..engines.team import Gone

PATIENCE = 5.0  # seconds for the others to end when this process has
Other = tuple["subprocess.Popen[bytes]", IO[bytes]]  # and where it says what went wrong


@contextmanager
def crew(size: int, words: Sequence[str]) -> Iterator[None]:
    """So many processes of the command with these words, this one the first; nothing where torchrun started some."""
    require(size >= 1, f"--workers {size}: at least one process must work")
    if size == 1 or "RANK" in os.environ:
        yield
        return
    threads = max(1, (os.cpu_count() or 1) // size)
    about = {"WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    about |= {"OMP_NUM_THREADS": str(threads), "GLOO_SOCKET_IFNAME": "lo"}
    torch.set_num_threads(threads)
    os.environ.update(about, RANK="0", LOCAL_RANK="0")
    others = [started(words, rank) for rank in range(1, size)]
    try:
        yield
    except Gone as error:
        who = blame(others)
        for process, _ in others:  # they would wait for this one, which does not leave before them; they keep nothing
            process.kill()
        raise Gone(f"{who}; all whole rounds are kept, go on by --resume" if who else str(error)) from error
    finally:
        end(others)


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port: int = s.getsockname()[1]
        return port


def started(words: Sequence[str], rank: int) -> Other:
    """The process of this rank."""
    says = tempfile.TemporaryFile()  # noqa: SIM115  (closed when the process has ended)
    process = subprocess.Popen(
        [sys.executable, "-m", "fedreg", *words],
        env={**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=says,
    )
    return process, says


def blame(others: Sequence[Other]) -> str | None:
    """Which worker ended, and how; None if none did."""
    for rank, (process, says) in enumerate(others, start=1):
        with suppress(subprocess.TimeoutExpired):
            code = process.wait(timeout=1)
            says.seek(0)
            last = (says.read().decode(errors="replace").strip().splitlines() or [""])[-1]
            how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code} ({last})"
            if "another rank is gone" not in last:
                return f"worker {rank}, process {process.pid}, {how}"
    return None


def end(others: Sequence[Other]) -> None:
    """Wait for the others, which have nothing left to do; make those end that do not."""
    for process, says in others:
        try:
            process.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        says.close()
