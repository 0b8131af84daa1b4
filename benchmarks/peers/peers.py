"""Who takes part, in which setups, and the environment of each."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple
from venv import create

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BENCH = ROOT / ".bench"


class Unable(Exception):
    """A peer that cannot be installed or run, and why, in one line."""


class Peer(NamedTuple):
    """A script, the environment it needs (None: fedreg's own), and the setups of which its best is taken."""

    script: str
    environment: str | None
    setups: list[str]


ONE_PROCESS = ["--threads 1", "--threads 2"]
ACTORS = ["--processes 2 --threads 1", "--processes 1 --threads 2"]
PEERS = {
    "plain": Peer("plain.py", None, ONE_PROCESS),
    "fedreg": Peer("ours.py", None, ONE_PROCESS),
    "fedreg-sequential": Peer("ours.py", None, [f"--sequential {words}" for words in ONE_PROCESS]),
    "pfl": Peer("with_pfl.py", "pfl", ONE_PROCESS),
    "pfl-two": Peer("with_pfl.py", "pfl", ["--processes 2 --threads 1"]),
    "fedlab": Peer("with_fedlab.py", "fedlab", ONE_PROCESS),
    "fedjax": Peer("with_fedjax.py", "fedjax", ONE_PROCESS),
    "flower": Peer("with_flower.py", "flower", ACTORS),
    "flower-few": Peer("with_flower.py", "flower", [f"--few {words}" for words in ACTORS]),
}
QUIET = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "JAX_PLATFORMS": "cpu",
}


def interpreter(peer: Peer) -> Path:
    """The interpreter of the peer's environment, which is made if it is not there."""
    if peer.environment is None:
        return Path(sys.executable)
    place = BENCH / peer.environment
    python, done = place / "bin" / "python", place / "installed"
    files = [HERE / "requirements" / f"{peer.environment}{kind}.txt" for kind in ("", "-alone")]
    torch = torch_here() if peer.environment != "fedjax" else ""
    wanted = torch + "\n".join(file.read_text() for file in files if file.exists())
    if done.exists() and done.read_text() == wanted:
        return python
    create(place, clear=True, with_pip=True)
    install(python, ["-r", str(files[0]), *([torch.strip()] if torch else [])])
    if files[1].exists():
        install(python, ["--no-deps", "-r", str(files[1])])
    done.write_text(wanted)
    return python


def torch_here() -> str:
    """fedreg's own version of PyTorch, for every peer that needs one, so that none is faster by a newer one."""
    import torch

    return f"torch=={torch.__version__.split('+')[0]}\n"


def install(python: Path, words: list[str]) -> None:
    """Install packages, or say why they cannot be."""
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unable(f"not installed: {last(done.stderr)}")


def last(text: str) -> str:
    """The last line that says what went wrong."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "Error" in line or "ERROR" in line]
    return (errors or lines or ["it said nothing"])[-1][:200]


def environment(peer: Peer) -> dict[str, str]:
    """The environment variables of a run: quiet, and with fedreg's source where it is fedreg's own."""
    variables = {**os.environ, **QUIET}
    variables.pop("PYTHONPATH", None)
    return variables if peer.environment else {**variables, "PYTHONPATH": str(ROOT / "src")}
