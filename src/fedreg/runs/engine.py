"""The engine that a user names."""

import torch

from ..core.errors import FedregError, require
from ..engines import ENGINES, Engine, distributed, joined, sequential, vectorized
from ..experiments.names import nearest


def engine_of(name: str, chunk: int | None, workers: int, device: torch.device) -> Engine:
    """The engine of that name; vectorized in several processes is distributed."""
    if name not in ENGINES:
        raise FedregError(f"--engine {name}: there is no such engine{nearest(name, list(ENGINES))}")
    if name == "sequential":
        require(chunk is None, "--chunk is for the engine vectorized, not for sequential; leave it out")
        require(workers == 1, "--workers is for the engine vectorized, not for sequential; leave it out")
        return sequential()
    alone = vectorized() if chunk is None else vectorized(chunk)
    if name == "distributed" or workers > 1:
        return distributed(alone.chunk, joined(device))
    return alone
