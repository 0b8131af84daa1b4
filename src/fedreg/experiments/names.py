"""Things by the names that people type."""

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any, TypeVar

from ..core.errors import FedregError, require

T = TypeVar("T")


def named(what: str, name: str, known: Mapping[str, T], where: str = "") -> T:
    """The dataset, network or method of that name, ours or, as "package.module:name", anybody's."""
    if name in known:
        return known[name]
    module, colon, member = name.partition(":")
    require(
        bool(colon), f"{where}there is no {what} {name!r}{nearest(name, list(known))} (or give package.module:name)"
    )
    try:
        found: T = getattr(import_module(module), member)
    except (Exception, SystemExit) as error:
        raise FedregError(f"{where}{what} {name!r} cannot be imported: {type(error).__name__}: {error}") from error
    return found


def made(what: str, name: str, kind: type[T], call: Callable[[], Any]) -> T:
    """What a function that a user may have written gives, if it is of this kind."""
    try:
        found = call()
    except FedregError:
        raise
    except (Exception, SystemExit) as error:
        raise FedregError(f"{what} {name!r} failed: {type(error).__name__}: {error}") from error
    if not isinstance(found, kind):
        raise FedregError(f"{what} {name!r} gave a {type(found).__name__}, and a {kind.__name__} is needed")
    return found


def nearest(name: str, known: Sequence[str]) -> str:
    """A hint for the end of an error: the known name most like this one, or all of them."""
    match = get_close_matches(name, known, n=1)
    if match:
        return f"; did you mean {match[0]!r}?"
    return f"; there is {', '.join(known)}" if known else ""
