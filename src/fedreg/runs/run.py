"""A run in a folder: recorded round by round, resumable at any moment, one process at a time."""

import os
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from functools import partial
from io import FileIO
from pathlib import Path
from tempfile import gettempdir
from time import perf_counter
from typing import Any

import torch
from filelock import FileLock, Timeout
from torch.utils._pytree import tree_map_only

from ..core.errors import Diverged, FedregError, StorageError, require
from ..engines import Engine, Team, team_of
from ..experiments.setting import Setting
from ..federation.check import check, check_examples
from ..federation.evaluation import evaluate
from ..federation.examples import refuse_not_finite
from ..federation.keeping import Records, grown, owns_of, records_of
from ..federation.rounds import Round, federate, start
from . import checkpoint
from .configuration import identity_of, refuse_other, session, write_config
from .disk import sync, writing
from .record import Line, read

SHARE_OF_TIME = 0.05  # that checkpoints may take
AT_ONCE = 16  # clients of which a leader tells what they keep
LINES, STATE = "rounds.jsonl", "checkpoint.safetensors"


def run(setting: Setting, engine: Engine, configuration: Mapping[str, Any], path: Path, resume: bool) -> Iterator[Line]:
    """Yield each round's line, recorded ones first; go on with what the folder holds if resume, else demand none.

    Of a team each process yields the lines; its leader alone reads and writes the folder.
    """
    verify(setting, engine, configuration, path, resume)
    team = team_of(engine)
    with ExitStack() as held:
        with team.agreeing():
            if team.leads:
                with writing(path):
                    path.mkdir(parents=True, exist_ok=True)
                held.enter_context(alone(path))
        yield from run_alone(setting, engine, configuration, path, team)


def verify(setting: Setting, engine: Engine, configuration: Mapping[str, Any], path: Path, resume: bool) -> None:
    """An error if the run cannot be begun, or gone on with, in this folder; nothing is written."""
    check(setting.method, setting.f, setting.theta, setting.population, setting.plan.cohort, engine)
    check_examples(setting.f, setting.theta, setting.test, "test ")
    refuse_not_finite("test inputs", setting.test.x)
    team = team_of(engine)
    with team.agreeing():
        if team.leads and path.exists():
            refuse_folder(configuration, path, resume)


def refuse_folder(configuration: Mapping[str, Any], path: Path, resume: bool) -> None:
    """An error if the run cannot be in this folder, where something is."""
    require(path.is_dir(), f"{path} is no folder; name another place by --out")
    if not (path / "config.json").exists():
        strangers = [entry.name for entry in path.iterdir() if entry.name not in ("lock", "config.json.new")]
        require(not strangers, f"{path} is not empty and holds no run (but {strangers[:3]}); name another by --out")
        return
    record = read(path)
    require(
        resume,
        f"{path} already holds a run of {len(record.lines)} rounds; go on by --resume, or name another by --out",
    )
    refuse_other(path, record.configuration, configuration)


def run_alone(
    setting: Setting, engine: Engine, configuration: Mapping[str, Any], path: Path, team: Team
) -> Iterator[Line]:
    """run, in a folder where nobody else writes."""
    with team.agreeing():
        state = found(setting, configuration, path) if team.leads else None
    after, sessions, lines, records = told(team, state, setting)
    yield from lines[: setting.plan.rounds]
    if min(after.t, len(lines)) >= setting.plan.rounds:
        return
    sessions = [*sessions, session(after.t, setting.theta.device, team.size)]
    with team.agreeing():
        if team.leads:
            write_config(path, configuration, sessions)
    s, identity = setting, identity_of(configuration)
    try:
        with team.agreeing():
            if team.leads:
                records = checkpoint.records_of(path / STATE, after, s.method, s.theta, identity)
        rounds = federate(s.method, s.f, s.theta, s.population, s.plan, engine, after, records)
        with closing(kept(rounds, after, path / STATE, identity, team)) as timed:
            yield from recorded(setting, timed, path / LINES, len(lines), team)
    except FedregError as error:
        sessions[-1]["failure"] = str(error)
        with suppress(StorageError):  # the failure itself is what is told
            if team.leads:
                write_config(path, configuration, sessions)
        raise


def told(team: Team, state: Any, setting: Setting) -> tuple[Round, list[dict[str, Any]], list[Line], Records | None]:
    """What the leader found, on each process's device; the others have a file of their own for what clients keep."""
    if team.size == 1:
        return (*state, None)
    on_cpu, here = partial(moved, torch.device("cpu")), partial(moved, setting.theta.device)
    whole = state[0].owns if team.leads else {}
    said: Any = (on_cpu(state[0]._replace(owns={})), *state[1:], sorted(whole)) if team.leads else None
    after, sessions, lines, clients = team.tell(said)
    records = None if team.leads else records_of(gettempdir(), setting.method.enrol(setting.theta))
    owns = owns_of({})
    for k in range(0, len(clients), AT_ONCE):
        part = team.tell({i: on_cpu(whole[i]) for i in clients[k : k + AT_ONCE]} if team.leads else None)
        if not team.leads:
            owns, records = grown(owns, here(part), records)
    return state[0] if team.leads else here(after)._replace(owns=owns), sessions, lines, records


def moved(device: torch.device, tree: Any) -> Any:
    """The same with its tensors on a device."""
    return tree_map_only(torch.Tensor, lambda leaf: leaf.to(device), tree)


def kept(
    rounds: Iterator[Round], after: Round, state: Path, identity: str, team: Team
) -> Generator[tuple[Round, float], None, None]:
    """Each round with its seconds; checkpoints often enough to lose little, and seldom enough to cost little."""
    last, saved, cost = after, None, 0.0  # the last round that was passed on, the last that was saved, its seconds
    saved_at = perf_counter()
    try:
        while True:
            with team.agreeing():
                if team.leads and (saved is None or perf_counter() - saved_at > cost / SHARE_OF_TIME):
                    begin = perf_counter()
                    save(state, last, identity)
                    saved, saved_at = last, perf_counter()
                    cost = saved_at - begin
            begin = perf_counter()
            r = next(rounds, None)
            if r is None:
                return
            yield r, perf_counter() - begin
            last = r  # its line is on record by now
    finally:
        if team.leads and saved is not last:
            save(state, last, identity)


def save(state: Path, r: Round, identity: str) -> None:
    """Write a checkpoint, once the lines that lead to it are on the disk."""
    lines = state.with_name(LINES)
    if lines.exists():
        with writing(lines):
            sync(lines)
    checkpoint.save(state, r, identity)


def recorded(
    setting: Setting, rounds: Iterator[tuple[Round, float]], path: Path, known: int, team: Team
) -> Iterator[Line]:
    """The line of each round beyond those that are known, once it is in the file."""
    with path.open("ab", buffering=0) if team.leads else nullcontext() as file:
        for r, seconds in rounds:
            if r.t > known:
                line = measured(setting, r, seconds, team)
                with team.agreeing():
                    if file is not None:
                        with writing(path):
                            append(file, line.text())
                yield line


def found(
    setting: Setting, configuration: Mapping[str, Any], path: Path
) -> tuple[Round, list[dict[str, Any]], list[Line]]:
    """Where to go on from, the sessions before this one and the lines on record."""
    first = start(setting.method, setting.theta)
    if not (path / "config.json").exists():
        return first, [], []
    record = read(path)
    cut_torn_line(path / LINES)
    state = path / STATE
    if not state.exists():
        return first, record.sessions, record.lines
    after = checkpoint.load(state, setting.method, setting.theta, identity_of(configuration))
    checkpoint.leave(state, owns_of(after.owns).records())
    require(
        len(record.lines) >= after.t,
        f"{path}: {LINES} has {len(record.lines)} lines but the checkpoint is of round {after.t}; "
        "lines were lost, move the checkpoint away to start again from round 1",
    )
    return after, record.sessions, record.lines


def measured(setting: Setting, r: Round, train_seconds: float, team: Team) -> Line:
    """A round's line."""
    begin = perf_counter()
    score = evaluate(setting.tested(r.theta), r.theta, setting.test, team=team)
    seconds = perf_counter() - begin
    line = Line(
        r.t, score.accuracy, score.loss, round(train_seconds, 6), round(seconds, 6), r.bytes_down, r.bytes_up,
        list(r.clients), list(r.dropped),
    )  # fmt: skip
    if not line.finite():
        raise Diverged(f"round {r.t}: the test loss is {score.loss}; use a smaller learning rate")
    return line


def append(file: FileIO, text: str) -> None:
    """Write a whole line at the end of file, or nothing."""
    end, rest = file.tell(), text.encode() + b"\n"
    try:
        while rest:  # a nearly full disk takes a part
            rest = rest[file.write(rest) or 0 :]
    except OSError:
        os.ftruncate(file.fileno(), end)
        raise


def cut_torn_line(path: Path) -> None:
    """Remove what a crash left of a line that was being written."""
    if path.exists():
        with writing(path), path.open("rb+") as file:
            file.truncate(file.read().rfind(b"\n") + 1)


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Nobody else writes in this folder meanwhile."""
    lock = FileLock(path / "lock")
    with writing(path):
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise FedregError(
                f"{path} is in use by another process; wait for it, or name another folder by --out"
            ) from None
    try:
        yield
    finally:
        lock.release()
