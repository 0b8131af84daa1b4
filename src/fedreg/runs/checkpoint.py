"""A Round on disk, as safetensors: whole or not there at all, and never a pickle."""

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
from ..federation.rounds import Round, start
from .disk import put_in_place, writing

FORMAT = 1


def save(path: Path, r: Round, run: str) -> None:
    """Write what is needed to go on from r; run is the identity of the run that it belongs to."""
    tensors = {f"server.{name}": leaf for name, leaf in r.server._asdict().items()}
    tensors["own.clients"] = torch.tensor(sorted(r.owns), dtype=torch.int64)
    for name in next(iter(r.owns.values()))._fields if r.owns else ():
        tensors[f"own.{name}"] = torch.stack([getattr(r.owns[i], name) for i in sorted(r.owns)])
    # one entry alone: safetensors writes several in an order that changes from run to run
    header = {"fedreg": json.dumps({"format": FORMAT, "run": run, "t": r.t}, sort_keys=True)}
    with writing(path), put_in_place(path) as new:
        save_file({name: leaf.detach().cpu().clone() for name, leaf in tensors.items()}, new, metadata=header)


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
    require(
        isinstance(header, dict) and header.get("format") == FORMAT and header.get("run") == run,
        f"checkpoint {path} belongs to another run, or to another version of fedreg; name another folder by --out",
    )
    first = start(method, theta)
    clients = tensors.get("own.clients")
    require(
        type(header.get("t")) is int and header["t"] >= 0 and clients is not None and clients.dtype == torch.int64,
        f"checkpoint {path} was changed by hand; move it away to start again from round 1",
    )
    server = type(first.server)(
        **{name: fitting(path, tensors, f"server.{name}", leaf, ()) for name, leaf in first.server._asdict().items()}
    )
    clients = tensors["own.clients"].tolist()
    own = method.enrol(theta)
    columns = (
        {name: fitting(path, tensors, f"own.{name}", leaf, (len(clients),)) for name, leaf in own._asdict().items()}
        if clients
        else {}
    )
    owns = {i: type(own)(**{name: column[k] for name, column in columns.items()}) for k, i in enumerate(clients)}
    return Round(header["t"], method.broadcast(server).theta, server, owns)


def fitting(path: Path, tensors: dict[str, Tensor], name: str, like: Tensor, stacked: tuple[int, ...]) -> Tensor:
    """The tensor of that name on like's device, or an error if it has another shape or type than like's."""
    shape = (*stacked, *like.shape)
    found = tensors.get(name)
    if found is None or tuple(found.shape) != shape or found.dtype != like.dtype:
        has = "is not there" if found is None else f"is {tuple(found.shape)} {found.dtype}"
        raise FedregError(
            f"checkpoint {path}: {name} {has}, where {shape} {like.dtype} is needed; it is another method's"
        )
    require(bool(found.isfinite().all()), f"checkpoint {path}: {name} has numbers that are not finite; move it away")
    return found.to(like.device)
