"""The global tree, against GPyTorch's own processes with one model a node, and integrals on a grid."""

import sys

import gpytorch
import pytest
import torch
from torch.nn.functional import normalize

import fedreg
from fedreg import Examples, FedregError, Objective
from fedreg.core.polya_gamma import Asked, Prior, mean_field, omega
from fedreg.core.rng import rng

PRIOR = Prior(6.0, 0.7, 8)
ONE = torch.ones(1, dtype=torch.float64)


def embeds(classes):
    """An objective whose embedding is its input, times theta."""
    return Objective(lambda theta, x: theta * x, lambda z: z, lambda z, y: z, classifies=True, classes=classes)


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=rng(seed, *shape), dtype=torch.float64)


@pytest.fixture
def exact():
    """An exact process of GPyTorch's, fitted to one node."""

    class Exact(gpytorch.models.ExactGP):
        def __init__(self, z, sides):
            kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel()).double()
            kernel.outputscale, kernel.base_kernel.lengthscale = torch.tensor([6.0, 0.7]).double()
            a = Asked(sides - 0.5, torch.ones_like(sides))
            precision = omega(mean_field(kernel(z).to_dense().detach(), a, PRIOR.updates), a.w)
            noise = gpytorch.likelihoods.FixedNoiseGaussianLikelihood(noise=1 / precision)
            super().__init__(z, a.kappa / precision, noise)
            self.kernel = kernel
            self.eval()

        def forward(self, z):
            return gpytorch.distributions.MultivariateNormal(torch.zeros(len(z)).to(z), self.kernel(z))

        @torch.no_grad()
        def probability(self, z):
            f = self(z)
            grid = torch.linspace(-12, 12, 4001, dtype=torch.float64)[:, None]
            weights = torch.distributions.Normal(f.mean, f.variance.sqrt()).log_prob(grid).exp()
            return (weights * grid.sigmoid()).sum(0) / weights.sum(0)

    return Exact


@pytest.mark.parametrize(("classes", "n"), [(2, 2), (3, 3), (5, 5), (6, 15), (8, 8)])
def test_it_is_gpytorchs_one_node_at_a_time(exact, classes, n):
    z, y, z_star = normal(n, 3), torch.arange(n) % classes, normal(11, 3, seed=1)
    expected = torch.zeros(11, classes, dtype=torch.float64)

    def down(low, size):
        """Add what the nodes below say of classes low to low + size."""
        if size == 1:
            return
        half, mine = size // 2, (y >= low) & (y < low + size)
        right = slice(low + half, min(low + size, classes))
        if low + half < classes:
            p = exact(normalize(z[mine]), (y[mine] >= low + half).double()).probability(normalize(z_star))
            expected[:, right] += p.log()[:, None]
            expected[:, low : low + half] += (1 - p).log()[:, None]
            down(low + half, half)
        down(low, half)

    down(0, 2 ** (classes - 1).bit_length())
    objective = fedreg.gp_tree(PRIOR, embeds(classes), Examples(z, y))(ONE)
    torch.testing.assert_close(objective.network(ONE, z_star), expected, rtol=0, atol=1e-3)  # 20 places of quadrature


@pytest.mark.parametrize("classes", [2, 3, 7, 8])
def test_probabilities_sum_to_1_whichever_classes_are_kept(classes):
    z = normal(4, 3)
    for y in (torch.arange(4) % classes, torch.zeros(4, dtype=torch.int64), torch.full((4,), classes - 1)):
        objective = fedreg.gp_tree(PRIOR, embeds(classes), Examples(z, y))(ONE)
        scores = objective.network(ONE, normal(9, 3, seed=2))
        assert scores.shape == (9, classes)
        assert scores.isfinite().all()  # a class of which nothing is kept is unlikely, and not impossible
        torch.testing.assert_close(scores.exp().sum(1), torch.ones(9, dtype=torch.float64))
        torch.testing.assert_close(objective.link(scores), scores.exp())


def test_it_tells_classes_that_lie_apart():
    centres = normal(7, 16)
    y = torch.arange(140) % 7
    x = centres[y] + 0.3 * normal(140, 16)
    at = fedreg.gp_tree(Prior(8.0, 1.0, 10), embeds(7), Examples(centres, torch.arange(7)))
    score = fedreg.evaluate(at(ONE), ONE, Examples(x, y))
    assert score.accuracy > 0.9
    assert score.loss < torch.tensor(7.0).log()


def test_it_repeats_and_does_not_mind_order_or_how_labels_are_written():
    z, y, z_star = normal(12, 3), torch.arange(12) % 5, normal(6, 3, seed=3)
    f = embeds(5)
    first = fedreg.gp_tree(PRIOR, f, Examples(z, y))(ONE).network(ONE, z_star)
    assert torch.equal(fedreg.gp_tree(PRIOR, f, Examples(z, y))(ONE).network(ONE, z_star), first)
    order = torch.randperm(12, generator=rng(0))
    rows = torch.nn.functional.one_hot(y, 5).double()
    for kept in (Examples(z[order], y[order]), Examples(z, rows)):
        torch.testing.assert_close(fedreg.gp_tree(PRIOR, f, kept)(ONE).network(ONE, z_star), first)
    assert not torch.allclose(fedreg.gp_tree(PRIOR, f, Examples(z, y.flip(0)))(ONE).network(ONE, z_star), first)


def test_it_is_fitted_to_embeddings_of_the_theta_that_it_is_given():
    z, y = normal(6, 3), torch.arange(6) % 3
    theta = torch.tensor([1.0, 5.0, 0.1]).double()
    at = fedreg.gp_tree(PRIOR, embeds(3), Examples(z, y))
    expected = fedreg.gp_tree(PRIOR, embeds(3), Examples(theta * z, y))(ONE).network(ONE, theta * normal(4, 3))
    torch.testing.assert_close(at(theta).network(theta, normal(4, 3)), expected)


def test_kept_examples_are_seen_through_their_view():
    z, y = normal(6, 3), torch.arange(6) % 3
    whole = (100 * z).round().to(torch.int32)
    seen = fedreg.gp_tree(PRIOR, embeds(3), Examples(whole, y, lambda x: x.double() / 7))(ONE)
    plain = fedreg.gp_tree(PRIOR, embeds(3), Examples(whole.double() / 7, y))(ONE)
    torch.testing.assert_close(seen.network(ONE, z), plain.network(ONE, z))


def test_without_gpytorch_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "gpytorch.kernels", None)
    with pytest.raises(FedregError, match=r'needs GPyTorch; install it by pip install "fedreg\[gp\]"') as caught:
        fedreg.gp_tree(PRIOR, embeds(3), Examples(normal(3, 3), torch.arange(3)))
    assert "\n" not in str(caught.value)


def test_nothing_kept_and_one_class_are_refused():
    with pytest.raises(FedregError, match="0 inputs and 0 labels"):
        fedreg.gp_tree(PRIOR, embeds(3), Examples(normal(3, 3)[:0], torch.arange(0)))
    with pytest.raises(FedregError, match="1 class"):
        fedreg.gp_tree(PRIOR, embeds(1), Examples(normal(3, 3), torch.zeros(3).long()))(ONE)
