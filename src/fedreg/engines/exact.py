"""Sums that are the same to the bit in whatever order, and in however many places, their terms were added.

Addition of floats is not associative; of integers it is. So a term is cut into three integers on a fixed grid, from
2^62 * 2^18 down to 2^-66 (1.4e-20), and what is beneath the grid is left out of it before anything is added.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

STEP = 2.0**42  # from one digit to the next; leaves room to add 2^20 terms
UNIT = 2.0**18  # of the first digit
LARGEST = 2.0**50  # a term beyond is no parameter any more


def digits(x: Float[Tensor, "*n"]) -> Int[Tensor, "3 *n"]:
    """x as integers on the grid: x = (d_0 + d_1 / STEP + d_2 / STEP^2) UNIT."""
    rest = (x.cpu() if x.device.type == "mps" else x).double() / UNIT  # Apple's device has no double precision
    found = []
    for _ in range(3):
        whole = rest.trunc()
        found.append(whole.long())
        rest = (rest - whole) * STEP
    return torch.stack(found)


def number(d: Int[Tensor, "3 *n"]) -> Float[Tensor, "*n"]:
    """The number in double precision that digits, or a sum of such, stand for."""
    first, second, third = d.double()
    total: Tensor = (first + (second + third / STEP) / STEP) * UNIT
    return total
