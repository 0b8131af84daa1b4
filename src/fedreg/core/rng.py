"""Randomness as a function of where it is used, so that no order of execution can change it."""

import hashlib
from math import tau
from operator import index

import torch
from jaxtyping import Int
from torch import Tensor

from .types import Key, Vector

WORD = 0xFFFFFFFF


def number(seed: int, *path: int | str) -> int:
    """64 bits, as a signed integer, that depend on (seed, *path) and on nothing else."""
    place = tuple(part if isinstance(part, str) else index(part) for part in (seed, *path))  # numpy's integers too
    digest = hashlib.sha256(repr(place).encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def rng(seed: int, *path: int | str) -> torch.Generator:
    """A generator that depends on (seed, *path) and on nothing else."""
    return torch.Generator().manual_seed(number(seed, *path))


def philox(key: Key, counter: Int[Tensor, " m"]) -> tuple[Int[Tensor, " m"], ...]:
    """Four random 32-bit words for each counter: Philox4x32-10 of Salmon et al., SC 2011.

    Plain tensor arithmetic, so that it gives the same bits in a loop, under vmap and on any device.
    """
    k0, k1 = key & WORD, (key >> 32) & WORD
    zero = torch.zeros_like(counter)
    c0, c1, c2, c3 = counter & WORD, (counter >> 32) & WORD, zero, zero
    for _ in range(10):
        p0, p1 = c0 * 0xD2511F53, c2 * 0xCD9E8D57
        c0, c1, c2, c3 = ((p1 >> 32) & WORD) ^ c1 ^ k0, p1 & WORD, ((p0 >> 32) & WORD) ^ c3 ^ k1, p0 & WORD
        k0, k1 = (k0 + 0x9E3779B9) & WORD, (k1 + 0xBB67AE85) & WORD
    return c0, c1, c2, c3


def normal(key: Key, like: Vector) -> Vector:
    """Standard normal numbers, as many and of the kind of like, by the Box-Muller transform."""
    words = philox(key, torch.arange((len(like) + 3) // 4, device=like.device))
    u0, u1, u2, u3 = ((w.to(like.dtype) + 0.5) / 2**32 for w in words)
    r0, r1 = (-2 * u0.log()).sqrt(), (-2 * u2.log()).sqrt()
    z = [r0 * (tau * u1).cos(), r0 * (tau * u1).sin(), r1 * (tau * u3).cos(), r1 * (tau * u3).sin()]
    return torch.cat(z)[: len(like)]
