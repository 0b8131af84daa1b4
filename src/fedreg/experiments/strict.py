"""Tables into dataclasses, every mistake named by its path."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, make_dataclass
from typing import Any, TypeVar, get_args, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError

from ..core.errors import FedregError
from .names import nearest

T = TypeVar("T")


def strict(kind: type[T], table: Mapping[str, Any], where: str) -> T:
    """kind(**table); unknown, missing and ill-typed keys are an error of one line, however many there are."""
    if not (isinstance(kind, type) and is_dataclass(kind)):
        raise FedregError(f"{where}: {getattr(kind, '__name__', kind)!r} is no dataclass with settings")
    config = ConfigDict(extra="forbid", strict=True)
    holder = make_dataclass("holder", [("value", kind)], namespace={"__pydantic_config__": config})
    try:
        value: T = TypeAdapter(holder).validate_json(json.dumps({"value": table}, default=str)).value
    except TypeError as error:
        raise FedregError(f"{where}: {kind.__name__} cannot be made: {error}") from error
    except ValidationError as error:
        said: dict[str, str] = {}
        for problem in error.errors():
            path, complaint = explain(kind, table, problem)
            said.setdefault(path, complaint)
        raise FedregError("; ".join(f"{where}: {path}{complaint}" for path, complaint in said.items())) from None
    return value


def explain(kind: type[Any], table: Mapping[str, Any], problem: Any) -> tuple[str, str]:
    """The path of a key as the user wrote it, and what is wrong with it."""
    loc = problem["loc"][1:]
    if problem["type"] == "missing":
        return written(loc[:-1], table, loc[-1]), " is missing"
    if problem["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return written(loc[:-1], table, loc[-1]), f" is unknown{nearest(str(loc[-1]), names_at(kind, loc[:-1]))}"
    if problem["type"] == "value_error":
        return "", str(problem["msg"]).removeprefix("Value error, ")
    message = str(problem["msg"])
    return written(loc, table), f" = {problem['input']!r}: {message[:1].lower()}{message[1:]}"


def written(loc: Sequence[int | str], table: Any, *last: object) -> str:
    """The part of loc that is in the table, without the names of types that pydantic adds, and last."""
    path: list[object] = []
    for part in loc:
        if isinstance(table, Mapping) and part in table:
            path.append(part)
            table = table[part]
    return ".".join(map(str, [*path, *last]))


def names_at(kind: Any, loc: Sequence[int | str]) -> list[str]:
    """The keys known at loc."""
    for part in loc:
        if is_dataclass(kind):
            kind = get_type_hints(kind).get(str(part))
        for choice in get_args(kind):
            if part in (getattr(choice, "kind", None), getattr(choice, "__name__", None)):
                kind = choice
    choices = [kind, *get_args(kind)]
    return [field.name for choice in choices if is_dataclass(choice) for field in fields(choice)]
