"""Processes that classify, against integrals on a grid, dense inverses, and one node at a time."""

from itertools import combinations, pairwise
from math import pi

import gpytorch
import pytest
import torch
from torch.nn.functional import logsigmoid, normalize, one_hot

from fedreg import FedregError
from fedreg.core.polya_gamma import Asked, Prior, evidence, mean_field, omega, posterior, questions
from fedreg.core.rng import rng

PRIOR = Prior(8.0, 1.0, 10)


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=rng(seed, *shape), dtype=torch.float64)


def asked(signs):
    """Sides as signs, each of weight 1."""
    signs = torch.tensor(signs, dtype=torch.float64)
    return Asked(signs / 2, torch.ones_like(signs))


def on_grid(K, log_likelihood):
    """log of the integral of N(f; 0, K) exp(log_likelihood(f)), for two examples."""
    axis = torch.linspace(-20, 20, 1601, dtype=torch.float64)
    f = torch.cartesian_prod(axis, axis)
    prior = torch.distributions.MultivariateNormal(torch.zeros(2, dtype=torch.float64), K)
    return (prior.log_prob(f) + log_likelihood(f)).logsumexp(0) + 2 * (axis[1] - axis[0]).log()


@pytest.mark.parametrize("signs", [(1.0, 1.0), (1.0, -1.0)])
@pytest.mark.parametrize("seed", range(3))
def test_the_evidence_is_a_bound_to_which_the_mean_field_comes_near(signs, seed):
    K = PRIOR.covariance(normal(2, 3, seed=seed))
    exact = on_grid(K, lambda f: logsigmoid(torch.tensor(signs) * f).sum(1))
    best = evidence(K, asked(signs), mean_field(K, asked(signs), 100))
    assert exact - 0.3 < best < exact
    for i in range(5):
        assert evidence(K, asked(signs), 5 * normal(2, seed=i).abs() + 0.01) <= best + 1e-12


def test_the_evidence_of_any_c_is_the_integral_of_its_bound_on_the_sigmoids():
    """log s(x) >= log s(c) + (x - c) / 2 - tanh(c / 2) / 4c (x^2 - c^2), of Jaakkola and Jordan."""
    K, signs, c = PRIOR.covariance(normal(2, 3)), torch.tensor([1.0, -1.0]), torch.tensor([0.7, 2.3]).double()

    def bound(f):
        x = signs * f
        return (logsigmoid(c) + (x - c) / 2 - (c / 2).tanh() / (4 * c) * (x**2 - c**2)).sum(1)

    torch.testing.assert_close(evidence(K, asked([1.0, -1.0]), c), on_grid(K, bound), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_each_update_raises_the_evidence(seed):
    n = 12
    K = PRIOR.covariance(normal(n, 3, seed=seed))
    a = asked(normal(n, seed=seed + 50).sign().tolist())
    bounds = [float(evidence(K, a, mean_field(K, a, updates))) for updates in range(30)]
    assert all(later >= sooner - 1e-12 for sooner, later in pairwise(bounds))
    assert bounds[1] > bounds[0] + 1e-6
    assert bounds[29] - bounds[10] < 1e-3  # it has settled


def test_the_mean_of_a_polya_gamma_variable_is_that_of_its_series():
    """PG(w, c) is the sum of Gamma(w, 1) / 2 pi^2 / ((k - 1/2)^2 + (c / 2 pi)^2)."""
    k = torch.arange(1, 400_001, dtype=torch.float64)
    for c in (0.01, 1.0, 7.0):
        series = 3 * (1 / ((k - 0.5) ** 2 + (c / (2 * pi)) ** 2)).sum() / (2 * pi**2)
        mean = omega(torch.tensor([c]).double(), torch.tensor([3.0]).double())
        assert float(mean) == pytest.approx(float(series), rel=1e-5)


def test_the_posterior_is_that_of_dense_inverses():
    K = PRIOR.covariance(normal(9, 3))
    known, new = slice(0, 6), slice(6, 9)
    kappa, precision = normal(6), normal(6, seed=1).abs()
    f = posterior(K[known, known], kappa, precision)
    wide = torch.cat([precision, torch.zeros(3)])  # a likelihood of 1 where nothing is known
    covariance = torch.linalg.inv(torch.linalg.inv(K) + wide.diag())
    mean = covariance @ torch.cat([kappa, torch.zeros(3)])
    for part in (known, new):
        at = f.at(K[known, part], K.diagonal()[part])
        torch.testing.assert_close(at[0], mean[part], rtol=1e-8, atol=1e-8)
        torch.testing.assert_close(at[1], covariance.diagonal()[part], rtol=1e-8, atol=1e-8)
    log_det = torch.logdet(torch.eye(6) + K[known, known] @ precision.diag())
    torch.testing.assert_close(f.half_log_det, log_det / 2)


def test_the_covariance_is_gpytorchs_of_embeddings_of_length_1():
    z = normal(7, 4)
    kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel()).double()
    kernel.outputscale, kernel.base_kernel.lengthscale = torch.tensor([3.0, 0.6], dtype=torch.float64)
    expected = kernel(normalize(z)).to_dense()
    torch.testing.assert_close(Prior(3.0, 0.6, 1).covariance(z), expected, rtol=1e-9, atol=1e-9)


def test_an_embedding_of_zero_does_no_harm():
    z = normal(3, 4) * torch.tensor([1.0, 0.0, 1.0])[:, None]
    slope = torch.func.grad(lambda z: PRIOR.covariance(z).square().sum())(z)
    assert slope.isfinite().all()
    assert PRIOR.covariance(z).isfinite().all()


@pytest.mark.parametrize("classes", [2, 3, 4, 5, 8, 9])
def test_any_two_classes_are_told_apart_at_one_node(classes):
    y = one_hot(torch.arange(classes)).double()
    together, asks = questions(y, torch.ones(classes, dtype=torch.float64))
    assert len(together) == len(asks.w) == {2: 1, 3: 2, 4: 2, 5: 3, 8: 3, 9: 4}[classes]
    for a, b in combinations(range(classes), 2):
        apart = together[:, a, b] & (asks.kappa[:, a] == -asks.kappa[:, b]) & (asks.w[:, a] == 1) & (asks.w[:, b] == 1)
        assert apart.sum() == 1
    assert set(asks.kappa.flatten().tolist()) <= {-0.5, 0.0, 0.5}
    assert ((asks.kappa != 0) == (asks.w != 0)).all()
    nodes = sum(len({tuple(row) for row in level[w > 0].tolist()}) for level, w in zip(together, asks.w, strict=True))
    assert nodes == classes - 1


def test_only_nodes_with_examples_on_both_sides_ask():
    y, w = one_hot(torch.tensor([5, 5, 4, 0, 7]), 8).double(), torch.tensor([1.0, 1, 1, 1, 0]).double()
    _, asks = questions(y, w)
    assert asks.w.tolist() == [
        [1, 1, 1, 0, 0],
        [0, 0, 0, 0, 0],
        [1, 1, 1, 1, 0],
    ]  # 4 or 5; none, but for padding; 0 or not
    assert asks.kappa.tolist() == [[0.5, 0.5, -0.5, 0, 0], [0, 0, 0, 0, 0], [0.5, 0.5, 0.5, -0.5, 0]]


def test_a_level_is_its_nodes_one_by_one():
    z, labels = normal(14, 3), torch.randint(0, 6, (14,), generator=rng(4))
    together, asks = questions(one_hot(labels, 6).double(), torch.ones(14, dtype=torch.float64))
    K = PRIOR.covariance(z)
    levels = evidence(K * together, asks, mean_field(K * together, asks, 7))
    for level in range(3):
        total = 0.0
        for node in range(4):
            mine = labels // 2 ** (level + 1) == node
            bits = labels[mine] // 2**level % 2
            if len(set(bits.tolist())) == 2:
                a = asked((2.0 * bits - 1).tolist())
                total += evidence(K[mine][:, mine], a, mean_field(K[mine][:, mine], a, 7))
        torch.testing.assert_close(levels[level], torch.as_tensor(total).double())


def test_the_slope_of_the_evidence_at_a_fixed_c_is_that_of_the_best_evidence():
    K, a = PRIOR.covariance(normal(8, 3)), asked(normal(8, seed=3).sign().tolist())

    def best(s):
        return evidence(s * K, a, mean_field(s * K, a, 300))

    s, h = torch.tensor(0.9).double(), 1e-4
    fixed = mean_field(s * K, a, 300)
    slope = torch.func.grad(lambda s: evidence(s * K, a, fixed))(s)
    torch.testing.assert_close(slope, (best(s + h) - best(s - h)) / (2 * h), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ((0.0, 1.0, 1), "outputscale = 0.0"),
        ((1.0, -1.0, 1), "lengthscale = -1.0"),
        ((1.0, float("inf"), 1), "inf"),
        ((1.0, 1.0, -1), "updates = -1"),
    ],
)
def test_a_prior_that_is_none_is_refused(settings, said):
    with pytest.raises(FedregError, match=said):
        Prior(*settings)
    Prior(1.0, 1.0, 0)
