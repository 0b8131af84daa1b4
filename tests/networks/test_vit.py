import os
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import ViTForImageClassification

from fedreg import Data, FedAvg, FedregError, classification, ravel, schedule
from fedreg.core.rng import rng
from fedreg.engines import Task, sequential, vectorized
from fedreg.experiments.experiment import Architecture
from fedreg.experiments.setting import network
from fedreg.networks.vit import vit

from .tiny_vit import tiny_vit


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    return str(tiny_vit(tmp_path_factory.mktemp("vit")))


def test_it_starts_from_the_weights_and_all_of_it_is_to_be_trained(weights):
    module = vit((3, 16, 16), 5, weights)
    known = ViTForImageClassification.from_pretrained(weights).state_dict()
    body = {f"vit.{name}": p for name, p in module.model.named_parameters()}
    assert set(body) == {name for name in known if name.startswith("vit.")}
    assert all(torch.equal(p, known[name]) for name, p in body.items())
    assert all(p.requires_grad for p in module.parameters())
    assert len(ravel(module)) == 2_853
    assert not any(isinstance(part, nn.Dropout) and part.p > 0 for part in module.modules())


def test_the_old_head_is_thrown_away_even_if_it_has_as_many_classes(weights):
    old = ViTForImageClassification.from_pretrained(weights).classifier.weight
    assert not torch.equal(vit((3, 16, 16), 7, weights).head.weight, old)


def test_the_head_comes_from_the_seed_and_the_rest_does_not(weights):
    first, again, other = (network(Architecture("vit", weights), (3, 16, 16), 5, seed) for seed in (0, 0, 1))
    assert torch.equal(ravel(first), ravel(again))
    assert not torch.equal(first.head.weight, other.head.weight)
    assert torch.equal(ravel(first.model), ravel(other.model))
    assert first.head.weight.std().item() == pytest.approx(0.02, rel=0.4)


def test_images_of_any_side_are_shown_at_the_models_own(weights):
    module = vit((3, 16, 16), 5, weights)
    x = torch.rand(2, 3, 9, 12)
    large = nn.functional.interpolate(x, size=(16, 16), mode="bilinear", align_corners=False)
    torch.testing.assert_close(module(x), module(large))
    same = module.head(module.model(large).last_hidden_state[:, 0])
    torch.testing.assert_close(module(large), same)


def test_a_grey_image_is_grey_in_colour(weights):
    module = vit((1, 16, 16), 5, weights)
    x = torch.rand(2, 1, 16, 16)
    torch.testing.assert_close(module(x), module(x.expand(-1, 3, -1, -1)))
    with pytest.raises(FedregError, match=r"for images of 3 channels and these have 2; use other weights"):
        vit((2, 16, 16), 5, weights)


def test_it_learns_on_both_engines_in_single_precision(weights):
    module = network(Architecture("vit", weights), (3, 12, 12), 3, 0)
    f, theta = classification(module), ravel(module)
    x = torch.randn(4, 3, 12, 12, generator=rng(0, "x"))
    data = Data(x, torch.eye(3)[[0, 1, 2, 0]], torch.ones(4))
    tasks = [Task(i, (), data, schedule(4, 100, 4, rng(i, "batches"))) for i in range(2)]
    down = FedAvg(0.1).broadcast(FedAvg(0.1).init(theta))
    for engine in (sequential(), vectorized(2)):
        assert f.loss(engine(FedAvg(0.1), f, down, tasks).mean.theta, data) < 0.9 * f.loss(theta, data)


def test_what_is_no_model_is_refused_in_one_line(weights, tmp_path, monkeypatch):
    for nothing in (tmp_path, tmp_path / "absent"):
        with pytest.raises(FedregError, match=r"network vit: no weights .* set network\.weights to a folder") as caught:
            vit((3, 16, 16), 5, str(nothing))
        assert "\n" not in str(caught.value)
    part = tmp_path / "part"
    ViTForImageClassification.from_pretrained(weights).save_pretrained(part)
    tensors = load_file(part / "model.safetensors")
    save_file(
        {name: t.clone() for name, t in tensors.items() if "layernorm_after" not in name}, part / "model.safetensors"
    )
    with pytest.raises(FedregError, match=r"lack 4 parameters, such as \['.*layernorm_after"):
        vit((3, 16, 16), 5, str(part))


def test_without_the_hub_the_remedy_is_named():
    code = "from fedreg.networks.vit import vit; vit((3, 32, 32), 10)"
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": "/nonexistent"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    last = done.stderr.strip().splitlines()[-1]
    assert "FedregError: network vit: no weights 'google/vit-base-patch32-384'" in last
    assert "hf download google/vit-base-patch32-384" in last


def test_a_network_without_pre_training_takes_no_weights(weights):
    with pytest.raises(FedregError, match=r"'cnn5' is not pre-trained and takes no weights; omit network\.weights"):
        network(Architecture("cnn5", weights), (1, 28, 28), 10, 0)
