"""Ways to run client_round on a cohort. They differ in speed and place, and in result by rounding alone."""

from dataclasses import asdict, is_dataclass
from typing import Any

from .cohort import Answer, Engine, Task
from .distributed import distributed
from .sequential import sequential
from .team import Team, joined
from .vectorized import vectorized

ENGINES: dict[str, type[sequential] | type[vectorized] | type[distributed]] = {
    "sequential": sequential,
    "vectorized": vectorized,
    "distributed": distributed,
}


def team_of(engine: object) -> Team:
    """The processes among which an engine shares out its work: this one alone, for most."""
    return engine.team if isinstance(engine, distributed) else Team()


def described(engine: Engine) -> dict[str, Any]:
    """What of an engine decides a result's last bits, in words that a file can hold."""
    alone = engine.alone if isinstance(engine, distributed) else engine
    return {"name": type(alone).__name__, **(asdict(alone) if is_dataclass(alone) else {})}


__all__ = [
    "ENGINES",
    "Answer",
    "Engine",
    "Task",
    "Team",
    "described",
    "distributed",
    "joined",
    "sequential",
    "team_of",
    "vectorized",
]
