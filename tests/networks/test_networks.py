"""What every network owes: its size, and gradients under vmap that are those of a loop."""

from functools import partial

import pytest
import torch
from torch.func import vmap
from torch.utils._pytree import tree_map

from fedreg import Data, FedAvg, FedReg, classification, ravel, schedule
from fedreg.core.module import cut, shapes
from fedreg.core.rng import rng
from fedreg.engines import Task, sequential, vectorized
from fedreg.networks import NETWORKS

from .tiny_vit import tiny_vit

SMALL = {  # inputs no larger than they must be, and outputs
    "cnn4": ((1, 6, 6), 3),
    "cnn5": ((1, 20, 20), 3),
    "cnn10": ((1, 10, 12), 3),
    "densenet121": ((3, 29, 29), 3),
    "linear": ((2, 3), 3),
    "resnet9": ((3, 8, 8), 3),
    "vit": ((3, 9, 12), 3),
}
SIZES = [
    ("cnn5", (1, 28, 28), 10, 228_010),
    ("cnn5", (3, 32, 32), 10, 344_298),
    ("cnn10", (3, 224, 224), 2, 491_282),
    ("densenet121", (3, 64, 64), 2, 6_955_906),
    ("densenet121", (3, 64, 64), 2028, 9_032_556),
    ("resnet9", (3, 32, 32), 10, 6_568_673),
    ("resnet9", (3, 32, 32), 100, 6_614_843),
    ("vit", (3, 32, 32), 5, 2_853),
]
networks = pytest.mark.parametrize("name", NETWORKS)


@pytest.fixture(autouse=True, scope="module")
def small_transformer(tmp_path_factory):
    """A transformer in place of the one on the hub."""
    with pytest.MonkeyPatch.context() as patch:
        weights = tiny_vit(tmp_path_factory.mktemp("vit"))
        patch.setitem(NETWORKS, "vit", partial(NETWORKS["vit"], weights=str(weights)))
        yield


def small(name):
    """A small network in double precision."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return NETWORKS[name](*SMALL[name]).double()


def made(name):
    """Its objective, and parameters near its first ones, so that none is at a special value."""
    module = small(name)
    theta = ravel(module)
    return classification(module), theta + 0.02 * torch.randn(theta.shape, generator=rng(0, "theta")).double()


def data(name, n, seed=0):
    """n examples with classes in turn."""
    shape, outputs = SMALL[name]
    y = torch.nn.functional.one_hot(torch.arange(n) % outputs, outputs).double()
    return Data(torch.randn(n, *shape, generator=rng(seed, "x")).double(), y, torch.ones(n).double())


def test_every_network_has_a_small_case():
    assert set(SMALL) == set(NETWORKS)


@pytest.mark.parametrize(("name", "shape", "outputs", "parameters"), SIZES)
def test_sizes(name, shape, outputs, parameters):
    module = NETWORKS[name](shape, outputs)
    assert len(ravel(module)) == parameters
    assert module(torch.zeros(2, *shape)).shape == (2, outputs)


@networks
def test_gradients_under_vmap_are_those_of_a_loop(name):
    f, theta = made(name)
    thetas = torch.stack([theta, theta + 0.01 * torch.randn(theta.shape, generator=rng(1, "theta")).double()])
    clients = [data(name, 2, seed) for seed in (0, 1)]
    together = tree_map(lambda *fields: torch.stack(fields), *clients)
    for of in (f.grad, f.grad_x):
        loop = torch.stack([of(t, d) for t, d in zip(thetas, clients, strict=True)])
        assert loop.abs().amax() > 0
        torch.testing.assert_close(vmap(of)(thetas, together), loop, rtol=1e-9, atol=1e-11)


@networks
def test_every_parameter_is_learnt_and_every_example_alone(name):
    f, theta = made(name)
    examples = data(name, 3)
    one_by_one = torch.cat([f.network(theta, x[None]) for x in examples.x])
    torch.testing.assert_close(f.network(theta, examples.x), one_by_one, rtol=1e-9, atol=1e-11)
    for part, grad in cut(f.grad(theta, examples), shapes(small(name))).items():
        assert grad.ne(0).any(), part


@networks
@pytest.mark.parametrize("method", [FedAvg(0.01), FedReg(0.01, 0.5, 0.01, E=1)], ids=["fedavg", "fedreg"])
def test_engines_agree(name, method):
    f, theta = made(name)
    tasks = [Task(i, (), data(name, n, i), schedule(n, 1, 2, rng(i, "batches"))) for i, n in enumerate((2, 1))]
    down = method.broadcast(method.init(theta))
    loop, together = (engine(method, f, down, tasks).mean.theta for engine in (sequential(), vectorized(2)))
    assert not loop.equal(theta)
    torch.testing.assert_close(together, loop, rtol=1e-8, atol=1e-9)
