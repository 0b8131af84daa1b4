"""What a run is: whether two configurations are the same, and where and with what one was started."""

import hashlib
import json
import os
import platform
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..core.errors import require
from ..version import __version__
from .device import hardware
from .disk import put_in_place, writing


def identity_of(configuration: Mapping[str, Any]) -> str:
    """A hash of all that decides a run's numbers: how many rounds of it there are does not, nor the command's words."""
    return hashlib.sha256(json.dumps(essence(configuration), sort_keys=True).encode()).hexdigest()


def essence(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration without what does not decide a run's numbers, nor what is not chosen (None)."""
    kept = {key: value for key, value in configuration.items() if key not in ("command", "about", "reference")}
    kept["plan"] = {key: value for key, value in configuration["plan"].items() if key != "rounds"}
    return json.loads(json.dumps(chosen(kept)))  # type: ignore[no-any-return]


def chosen(value: Any) -> Any:
    """The value; of a table, without what is None, so that a setting that is new in a later version changes no run."""
    if not isinstance(value, Mapping):
        return value
    return {key: chosen(part) for key, part in value.items() if part is not None}


def refuse_other(path: Path, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """An error that names the first thing in which two configurations differ, if they do."""
    before, after = leaves(essence(old)), leaves(essence(new))
    for key in {**after, **before}:
        was, value = before.get(key), after.get(key)
        require(
            was == value,
            f"{path} belongs to another configuration: {key} was {was!r} and is {value!r}; name another by --out, or "
            "move it away",
        )


def leaves(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A nested table as one, keys joined by dots."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        flat |= leaves(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return flat


def write_config(path: Path, configuration: Mapping[str, Any], sessions: list[dict[str, Any]]) -> None:
    """Put what the run is, and how it went so far, in its folder."""
    config = path / "config.json"
    with writing(config), put_in_place(config) as new:
        new.write_text(json.dumps({"configuration": configuration, "sessions": sessions}, indent=2), encoding="utf-8")


def session(t: int, device: torch.device, processes: int) -> dict[str, Any]:
    """When, where and with what a run was started after t rounds."""
    versions = {
        "fedreg": __version__,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "python": sys.version.split()[0],
    }
    machine = {
        "system": platform.platform(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "processes": processes,
        "threads": torch.get_num_threads(),
        "device": hardware(device),
    }
    return {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "after": t,
        "versions": versions,
        "machine": machine,
    }


def processor() -> str:
    """The processor's name, where the system tells it."""
    info = Path("/proc/cpuinfo")
    names = (
        [line.partition(":")[2].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
        if info.exists()
        else []
    )
    return names[0] if names else platform.processor()
