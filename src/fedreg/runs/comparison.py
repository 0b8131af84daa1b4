"""Several methods, several seeds: each a run in its own folder, one after the other."""

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from shlex import join
from typing import Any, NamedTuple

import torch

from ..core.errors import FedregError, require
from ..engines import Engine, described
from ..engines.team import Gone
from ..experiments.experiment import Experiment
from ..experiments.setting import Setting, prepare
from .record import Line
from .run import run, verify


@dataclass(frozen=True, eq=False)
class Job:
    """One run to be made."""

    experiment: Experiment
    method: str
    seed: int
    engine: Engine
    device: torch.device
    settings: Sequence[str]  # what --set was given
    path: Path
    resume: bool
    source: str  # the experiment as the user named it


class Event(NamedTuple):
    """A round was recorded, or a run failed."""

    job: Job
    line: Line | None
    failure: str | None = None


def settled(job: Job) -> tuple[Setting, dict[str, Any]]:
    """All that the job needs, and its configuration."""
    setting = prepare(job.experiment, job.method, job.seed, job.device)
    engine = described(job.engine)
    words = ["fedreg", "run", job.source, job.method, "--seed", str(job.seed), "--engine", engine["name"]]
    words += [f"--chunk={engine['chunk']}"] if "chunk" in engine else []
    words += ["--device", str(job.device)] if job.device.type != "cpu" else []
    words += [word for text in job.settings for word in ("--set", text)]
    return setting, {**setting.description, "engine": engine, "command": join(words)}


def lines(job: Job) -> Generator[Line, None, None]:
    """The rounds of one job as they are recorded."""
    setting, configuration = settled(job)
    yield from run(setting, job.engine, configuration, job.path, job.resume)


def jobs(
    experiment: Experiment, methods: Sequence[str], seeds: Sequence[int], engine: Engine, device: torch.device,
    settings: Sequence[str], out: Path, resume: bool, source: str,
) -> list[Job]:  # fmt: skip
    """A job a method and seed, the reference's first, since the others are measured by it."""
    methods = sorted(dict.fromkeys(methods), key=lambda name: name != experiment.scene.reference)
    for name in methods:
        experiment.entry(name)
    require(bool(methods and seeds), "compare: at least one method and one seed are needed")
    return [
        Job(experiment, name, seed, engine, device, settings, out / name / f"seed-{seed}", resume, source)
        for seed in dict.fromkeys(seeds)
        for name in methods
    ]


def compare(jobs: Sequence[Job]) -> Generator[Event, None, None]:
    """Run the jobs, once all are seen to be possible; one that fails is told of, and the others go on."""
    for job in jobs:
        setting, configuration = settled(job)
        verify(setting, job.engine, configuration, job.path, job.resume)
    for job in jobs:
        try:
            with closing(lines(job)) as recorded:
                for line in recorded:
                    yield Event(job, line)
        except Gone:
            raise  # with those that worked with this one, the other jobs cannot be done either
        except FedregError as error:
            yield Event(job, None, str(error))


def refuse_taken(jobs: Sequence[Job]) -> None:
    """An error if folders are taken and the user did not say to go on with them."""
    taken = [job.path for job in jobs if not job.resume and (job.path / "config.json").exists()]
    if taken:
        more = f" (and {len(taken) - 1} more)" if len(taken) > 1 else ""
        raise FedregError(
            f"{taken[0]} already holds a run{more}; go on with it by --resume, or name another folder by --out"
        )
