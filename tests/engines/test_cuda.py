"""What holds on a processor holds on a CUDA device; skipped where there is none."""

import pytest
import torch

from fedreg import Examples, evaluate, federate
from fedreg.engines import sequential, vectorized
from fedreg.runs import checkpoint

from ..cases import METHODS, PLAN, THETA, F, population

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
PEOPLE = population()
methods = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
engines = pytest.mark.parametrize("engine", [sequential(), vectorized(2), vectorized(16)], ids=str)


@methods
@engines
def test_rounds_on_a_device_are_those_on_the_processor(method, engine):
    here = list(federate(method, F, THETA, PEOPLE, PLAN, engine=engine))[-1]
    there = list(federate(method, F, THETA.cuda(), PEOPLE, PLAN, engine=engine))[-1]
    for one, other in zip(here.server, there.server, strict=True):
        assert other.is_cuda
        torch.testing.assert_close(other.cpu(), one, rtol=1e-9, atol=1e-9)
    assert here.owns.keys() == there.owns.keys()
    for i in here.owns:
        for one, other in zip(here.owns[i], there.owns[i], strict=True):
            torch.testing.assert_close(other.cpu(), one, rtol=1e-9, atol=1e-9)


@methods
def test_a_federation_on_a_device_goes_on_from_a_checkpoint_bit_for_bit(method, tmp_path):
    theta = THETA.cuda()
    rounds = list(federate(method, F, theta, PEOPLE, PLAN))
    checkpoint.save(tmp_path / "c", rounds[1], "run")
    after = checkpoint.load(tmp_path / "c", method, theta, "run")
    again = list(federate(method, F, theta, PEOPLE, PLAN, after=after))[-1]
    assert all(torch.equal(a, b) for a, b in zip(again.server, rounds[-1].server, strict=True))


def test_a_model_on_a_device_is_scored_as_on_the_processor():
    examples = Examples(PEOPLE.x, PEOPLE.y)
    here, there = evaluate(F, THETA, examples), evaluate(F, THETA.cuda(), examples)
    assert there.accuracy == here.accuracy
    assert there.loss == pytest.approx(here.loss, rel=1e-12)
