"""Ways to run client_round on a cohort. They differ in speed and place, and in result by rounding alone."""

from .cohort import Answer, Engine, Task
from .sequential import sequential
from .vectorized import vectorized

ENGINES: dict[str, type[sequential] | type[vectorized]] = {"sequential": sequential, "vectorized": vectorized}

__all__ = ["ENGINES", "Answer", "Engine", "Task", "sequential", "vectorized"]
