"""A Round on disk: safetensors, and beside it a file of what clients keep. Whole or not there, and never a pickle.

What clients keep is written as rounds go by (federation/keeping.py); a checkpoint says which records count. Those that
were added after it are written over when a run goes on from it, and files that it does not name are removed.
"""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from ..core.errors import FedregError, require
from ..core.method import Method
from ..core.types import Vector
from ..federation.keeping import Owns, Record, Records, created, opened, owns_of
from ..federation.rounds import Round, start
from .disk import put_in_place, writing

FORMAT = 2
OWNS_WITHIN = 1  # the format in which what clients keep was in the checkpoint itself


def save(path: Path, r: Round, run: str) -> None:
    """Write what is needed to go on from r; run is the identity of the run that it belongs to."""
    records, owns = on_disk(path, owns_of(r.owns), run)
    tensors = {f"server.{name}": leaf for name, leaf in r.server._asdict().items()}
    places = owns.places()
    tensors["own.clients"] = torch.tensor(list(places), dtype=torch.int64)
    tensors["own.records"] = torch.tensor([place.number for place in places.values()], dtype=torch.int64)
    # one entry alone: safetensors writes several in an order that changes from run to run
    about = {"format": FORMAT, "run": run, "t": r.t, "owns": records.generation if records else None}
    header = {"fedreg": json.dumps(about, sort_keys=True)}
    with writing(path), put_in_place(path) as new:
        save_file({name: leaf.detach().cpu().clone() for name, leaf in tensors.items()}, new, metadata=header)
    leave(path, records)


def leave(path: Path, records: Records | None) -> None:
    """Remove the files of what clients keep that a checkpoint does not need, if it names the one that it does."""
    for file in files(path) if records else ():
        if file != records.path:  # type: ignore[union-attr]
            with writing(file):
                file.unlink(missing_ok=True)


def on_disk(path: Path, owns: Owns, run: str) -> tuple[Records | None, Owns]:
    """The one file of a checkpoint in which everything is, written and on the disk, and what clients keep in it."""
    if not owns:
        return None, owns
    records = owns.records()
    if records is None or records.generation is None or records.place != path:
        numbers = [-1, *(int(file.suffixes[-2][1:]) for file in files(path))]
        records = created(path, max(numbers) + 1, next(iter(owns.values())), run)
        owns = owns.moved(records)
    records.sync()
    return records, owns


def files(path: Path) -> list[Path]:
    """The files of what clients keep that are beside a checkpoint."""
    known = path.parent.glob(f"{path.stem}.*.owns")
    return [file for file in known if file.name.removeprefix(f"{path.stem}.").removesuffix(".owns").isdecimal()]


def records_of(path: Path, r: Round, method: Method[Any, Any, Any, Any], theta: Vector, run: str) -> Records | None:
    """The file to go on with after r, whose checkpoint is at path; None if there is nothing to keep."""
    own = method.enrol(theta)
    return (owns_of(r.owns).records() or created(path, 0, own, run)) if own else None


def load(path: Path, method: Method[Any, Any, Any, Any], theta: Vector, run: str) -> Round:
    """The Round in a checkpoint of this run."""
    try:
        with safe_open(path, framework="pt") as file:
            header = json.loads((file.metadata() or {}).get("fedreg", "{}"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError, ValueError) as error:
        raise FedregError(
            f"checkpoint {path} is damaged ({error}); move it away to start again from round 1"
        ) from error
    known = isinstance(header, dict) and header.get("format") in (OWNS_WITHIN, FORMAT)
    require(
        known and header.get("run") == run,
        f"checkpoint {path} belongs to another run, or to another version of fedreg; name another folder by --out",
    )
    require(type(header.get("t")) is int and header["t"] >= 0, changed(path))
    first = start(method, theta)
    server = type(first.server)(
        **{name: fitting(path, tensors, f"server.{name}", leaf) for name, leaf in first.server._asdict().items()}
    )
    owns = read_owns(path, header, tensors, method.enrol(theta), run)
    return Round(header["t"], method.broadcast(server).theta, server, owns)


def read_owns(path: Path, header: dict[str, Any], tensors: dict[str, Tensor], like: Any, run: str) -> Owns:
    """What clients keep: the records that a checkpoint names, in a file that has them."""
    clients, numbers = tensors.get("own.clients"), tensors.get("own.records")
    if clients is None or clients.dtype != torch.int64:
        raise FedregError(changed(path))
    if not clients.numel():
        return Owns()
    require(
        header["format"] != OWNS_WITHIN,
        f"checkpoint {path} is of an earlier version of fedreg, which had in it what clients keep; go on with that "
        "version, or move it away to start again from round 1",
    )
    require(bool(like), f"checkpoint {path}: its clients keep something, and this method's nothing; it is another's")
    generation = header.get("owns")
    if numbers is None or numbers.dtype != torch.int64 or numbers.shape != clients.shape or type(generation) is not int:
        raise FedregError(changed(path))
    require(generation >= 0 and min(*clients.tolist(), *numbers.tolist()) >= 0, changed(path))
    records = opened(path, generation, like, run, count=int(numbers.max()) + 1)
    places = {i: Record(records, number) for i, number in zip(clients.tolist(), numbers.tolist(), strict=True)}
    return Owns((places,), len(places))


def changed(path: Path) -> str:
    """What is said of a checkpoint in which something is missing that is always there."""
    return f"checkpoint {path} was changed by hand; move it away to start again from round 1"


def fitting(path: Path, tensors: dict[str, Tensor], name: str, like: Tensor) -> Tensor:
    """The tensor of that name on like's device, or an error if it has another shape or type than like's."""
    found = tensors.get(name)
    if found is None or found.shape != like.shape or found.dtype != like.dtype:
        has = "is not there" if found is None else f"is {tuple(found.shape)} {found.dtype}"
        raise FedregError(
            f"checkpoint {path}: {name} {has}, where {tuple(like.shape)} {like.dtype} is needed; it is another method's"
        )
    require(bool(found.isfinite().all()), f"checkpoint {path}: {name} has numbers that are not finite; move it away")
    return found.to(like.device)
