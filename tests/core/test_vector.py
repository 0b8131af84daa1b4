import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fedreg.core.rng import rng
from fedreg.core.vector import coefficient, dot, project, reject


def vectors(seed: int, d: int = 6, count: int = 3):
    return torch.randn(count, d, generator=rng(seed), dtype=torch.float64)


seeds = st.integers(0, 10_000)


@given(seeds)
@settings(deadline=None, max_examples=50)
def test_projection_is_feasible_idempotent_and_nearest(seed):
    theta, centre, normal = vectors(seed)
    p = project(theta, centre, normal)
    slack = dot(centre - p, normal)
    assert slack >= -1e-12
    torch.testing.assert_close(project(p, centre, normal), p, rtol=0, atol=1e-12)
    if dot(centre - theta, normal) >= 0:
        assert torch.equal(p, theta)
    else:
        assert abs(slack) < 1e-12  # tight when active
    for other in centre + vectors(seed + 1, count=20):
        if dot(centre - other, normal) >= 0:
            assert dot(theta - p, theta - p) <= dot(theta - other, theta - other) + 1e-12


def test_projection_by_hand():
    theta, centre, normal = torch.tensor([3.0, 1.0]), torch.tensor([1.0, 1.0]), torch.tensor([2.0, 0.0])
    assert project(theta, centre, normal).tolist() == [1.0, 1.0]
    assert project(theta, centre, -normal).tolist() == [3.0, 1.0]


def test_projection_along_nothing_changes_nothing():
    theta, centre, _ = vectors(0)
    assert torch.equal(project(theta, centre, torch.zeros(6, dtype=torch.float64)), theta)
    assert torch.equal(reject(theta, torch.zeros(6, dtype=torch.float64)), theta)


def test_projecting_on_the_second_half_space_may_leave_the_first():
    """After (9), (8) may be violated: the paper solves the two problems one after the other, not jointly."""
    centre, g_s, g_p = torch.zeros(2), torch.tensor([1.0, 0.0]), torch.tensor([-1.0, 1.0])
    theta = project(project(torch.tensor([1.0, 3.0]), centre, g_s), centre, g_p)
    assert dot(centre - theta, g_p) >= 0
    assert dot(centre - theta, g_s) < 0


@given(seeds)
@settings(deadline=None, max_examples=50)
def test_rejection_is_orthogonal_and_leaves_what_is_orthogonal(seed):
    a, b, _ = vectors(seed)
    r = reject(a, b)
    assert abs(dot(r, b)) < 1e-10
    torch.testing.assert_close(reject(r, b), r)
    torch.testing.assert_close(r + coefficient(a, b) * b, a)


@pytest.mark.parametrize("wrong", [torch.zeros(4), torch.zeros(())])
def test_shapes_are_checked_under_test(wrong):
    with pytest.raises(Exception, match="project"):
        project(torch.zeros(3), torch.zeros(3), wrong)
