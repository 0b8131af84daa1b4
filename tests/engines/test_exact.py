"""Sums that do not depend on the order of their terms."""

from fractions import Fraction
from itertools import permutations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedreg.core.errors import Diverged
from fedreg.core.method import Model
from fedreg.engines.cohort import Sum
from fedreg.engines.exact import LARGEST, digits, number

GRID = 2.0**-66


@given(st.floats(-LARGEST, LARGEST, width=32))
def test_a_number_is_what_its_digits_stand_for(x):
    back = float(number(digits(torch.tensor(x, dtype=torch.float32))))
    assert back == x if abs(x) >= 2.0**-42 or x == 0 else abs(back - x) < GRID


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=40))
def test_a_sum_is_the_exact_one(terms):
    total = sum(digits(torch.tensor(x, dtype=torch.float32)) for x in terms)
    exact = sum(map(Fraction, terms))
    assert abs(Fraction(float(number(total))) - exact) <= len(terms) * GRID + abs(exact) * 2.0**-52


def test_a_mean_is_the_same_to_the_bit_in_any_order():
    torch.manual_seed(0)
    parts = [(Model(torch.randn(1, 500) * 10.0**e), [3.0], [e + 4]) for e in range(-4, 2)]
    plain, means = set(), set()
    for order in permutations(parts):
        total, naive = Sum(), torch.zeros(500)
        for part in order:
            total = total.add(*part)
            naive = naive + 3 * part[0].theta[0]
        means.add(tuple(total.mean(18.0).theta.tolist()))
        plain.add(tuple(naive.tolist()))
    assert len(means) == 1
    assert len(plain) > 1  # which floats alone would not give


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 1e16])
def test_numbers_that_no_grid_has_are_refused_by_their_client(bad):
    ups = Model(torch.tensor([[1.0, 2.0], [3.0, bad]]))
    with pytest.raises(Diverged, match="client 9 sent numbers that are not finite, or beyond 1e15"):
        Sum().add(ups, [1.0, 1.0], [8, 9])
