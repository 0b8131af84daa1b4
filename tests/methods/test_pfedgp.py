"""pFedGP against its own definition: the evidence of a tree, node by node, by autograd."""

import pytest
import torch
from torch import nn
from torch.nn.functional import normalize, one_hot

import fedreg
from fedreg import Data, Examples, FedregError, PFedGP, Plan, client_round, federate, schedule
from fedreg.core.rng import rng

from ..cases import CLASSES, THETA, F, client, population

METHOD = PFedGP(0.3, outputscale=5.0, lengthscale=0.8, updates=6)


def evidence(z, sides, updates):
    """The bound on log p(sides), with dense inverses and the best normal q(f) written out."""
    z = normalize(z)
    K = 5.0 * (-((z[:, None] - z[None]) ** 2).sum(-1) / (2 * 0.8**2)).exp()
    kappa, eye = sides - 0.5, torch.eye(len(z), dtype=torch.float64)
    c = K.detach().diagonal().sqrt()
    for _ in range(updates):
        covariance = torch.linalg.inv(torch.linalg.inv(K.detach() + 1e-12 * eye) + ((c / 2).tanh() / (2 * c)).diag())
        c = (covariance.diagonal() + (covariance @ kappa) ** 2).sqrt()
    precision = (c / 2).tanh() / (2 * c)
    marginal = torch.distributions.MultivariateNormal(torch.zeros(len(z)).double(), K + (1 / precision).diag())
    y = kappa / precision  # N(y; f, 1 / precision) is the likelihood, up to what it lacks
    lacks = 0.5 * (2 * torch.pi / precision).log() + kappa**2 / (2 * precision)
    return marginal.log_prob(y) + (lacks - (2 * (c / 2).cosh()).log() + precision * c**2 / 2).sum()


def tree(z, labels, classes, updates):
    """The evidence of a whole tree: a class goes left or right by its bits, from the first."""
    total = torch.zeros((), dtype=torch.float64)
    middle = 2 ** ((max(classes) - min(classes)).bit_length() - 1)
    sides = ((labels - min(classes)) >= middle).double()
    if len(set(sides.tolist())) == 2:
        total = total + evidence(z, sides, updates)
    for part in (range(min(classes), min(classes) + middle), range(min(classes) + middle, max(classes) + 1)):
        mine = torch.isin(labels, torch.tensor(list(part)))
        if len(part) > 1 and mine.any():
            total = total + tree(z[mine], labels[mine], part, updates)
    return total


@pytest.mark.parametrize("batch_size", [4, 9])
def test_a_round_is_the_definition(batch_size):
    data = client(1, 9)
    batches = schedule(9, 2, batch_size, rng(3))
    theta = THETA.clone()
    for b in batches.batches():
        theta = theta.detach().requires_grad_()
        rows = b.rows[b.rows >= 0]
        loss = -tree(F.network(theta, data.x[rows]), data.y[rows].argmax(1), range(CLASSES), 6) / len(rows)
        theta = theta - 0.3 * torch.autograd.grad(loss, theta)[0] if loss.requires_grad else theta
    found = client_round(METHOD, F, METHOD.init(THETA), (), data, batches)[0].theta
    assert (found - THETA).norm() > 1e-2
    torch.testing.assert_close(found, theta.detach(), rtol=1e-6, atol=1e-9)


def test_the_gradient_is_the_slope_of_the_settled_loss():
    method, data, h = PFedGP(0.1, updates=200), client(2, 7), 1e-5
    g = torch.func.grad(method.loss, argnums=1)(F, THETA, data)
    for seed in range(3):
        way = torch.randn(len(THETA), generator=rng(seed), dtype=torch.float64)
        slope = (method.loss(F, THETA + h * way, data) - method.loss(F, THETA - h * way, data)) / (2 * h)
        assert float(g @ way) == pytest.approx(float(slope), rel=1e-5)


def test_examples_of_weight_0_do_not_matter_whatever_they_are():
    data, strange = client(1, 6), client(2, 3)
    both = Data(
        torch.cat([data.x, 1e3 * strange.x]), torch.cat([data.y, strange.y]), torch.cat([data.w, 0 * strange.w])
    )
    torch.testing.assert_close(METHOD.loss(F, THETA, both), METHOD.loss(F, THETA, data), rtol=1e-12, atol=1e-12)
    gradient = torch.func.grad(METHOD.loss, argnums=1)
    torch.testing.assert_close(gradient(F, THETA, both), gradient(F, THETA, data), rtol=1e-10, atol=1e-12)


def test_a_client_of_one_class_has_nothing_to_tell_apart():
    data = client(0, 5)
    data = data._replace(y=data.y[:1].expand(5, CLASSES))
    up, _ = client_round(METHOD, F, METHOD.init(THETA), (), data, schedule(5, 3, 5, rng(0)))
    assert torch.equal(up.theta, THETA)


def test_it_learns_an_embedding_in_which_a_few_kept_examples_tell_the_classes():
    centres = torch.randn(5, 12, generator=rng(8), dtype=torch.float64)
    labels = torch.arange(400) % 5
    x = centres[labels] + 0.7 * torch.randn(400, 12, generator=rng(9), dtype=torch.float64)
    x[:, 6:] = 6 * torch.randn(400, 6, generator=rng(10), dtype=torch.float64)  # noise that hides them
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        module = fedreg.headless(nn.Sequential(nn.Linear(12, 16), nn.Tanh(), nn.Linear(16, 5)).double())
    f, theta = fedreg.embedding(module, 5), fedreg.ravel(module)
    assert len(theta) == 13 * 16
    people = fedreg.Population.from_owners(x[:200], labels[:200], [i // 20 for i in range(200)])
    method, test = PFedGP(1.0), Examples(x[200:], labels[200:])
    at = fedreg.gp_tree(method.prior(), f, Examples(x[:10], labels[:10]))
    before = fedreg.evaluate(at(theta), theta, test)
    *_, last = federate(method, f, theta, people, Plan(rounds=15, cohort=5, epochs=10, batch_size="full"))
    after = fedreg.evaluate(at(last.theta), last.theta, test)
    assert after.accuracy > max(0.6, before.accuracy + 0.2)
    assert after.loss < before.loss


def test_what_it_cannot_learn_is_refused_before_the_first_round():
    regression = fedreg.regression(nn.Sequential(nn.Flatten(), nn.Linear(12, CLASSES)).double())
    theta = torch.zeros(13 * CLASSES, dtype=torch.float64)
    with pytest.raises(FedregError, match="regression"):
        fedreg.client_round(METHOD, regression, METHOD.init(theta), (), client(0, 3), schedule(3, 1, 3, rng(0)))
    one = nn.Linear(12, 1).double()
    people = fedreg.Population.from_pairs([(torch.randn(3, 12), torch.zeros(3, dtype=torch.int64))])
    with pytest.raises(FedregError, match="tells classes apart") as caught:
        federate(METHOD, fedreg.classification(one), fedreg.ravel(one), people, Plan(1, 1, 1, 3))
    assert "\n" not in str(caught.value)
    for wrong in (
        {"lr": 0.0},
        {"lr": 0.1, "outputscale": 0.0},
        {"lr": 0.1, "lengthscale": -1.0},
        {"lr": 0.1, "updates": -1},
    ):
        with pytest.raises(FedregError):
            PFedGP(**wrong)


def test_classes_may_be_more_than_the_numbers_of_an_embedding():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        module = nn.Sequential(nn.Flatten(), nn.Linear(12, 3)).double()
    people, plan = population(), Plan(1, 5, 1, "full")
    f, theta = fedreg.embedding(module, CLASSES), fedreg.ravel(module)
    (r,) = federate(METHOD, f, theta, people, plan)
    assert not torch.equal(r.theta, theta)
    with pytest.raises(FedregError, match="for 0 to 2"):
        federate(METHOD, fedreg.embedding(module, 3), theta, people, plan)
    with pytest.raises(FedregError, match="embeds and does not classify"):
        federate(fedreg.FedAvg(0.1), f, theta, people, plan)
    with pytest.raises(FedregError, match=r"evaluate fedreg\.gp_tree"):
        fedreg.evaluate(f, theta, Examples(people.x, one_hot(people.y, CLASSES).double()))
