"""Networks that need an extra: named when it is missing, and free of charge until it is used."""

import subprocess
import sys

import pytest
import torch
from torch import nn

from fedreg import FedregError
from fedreg.networks import NETWORKS
from fedreg.networks.densenet121 import densenet121


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [("densenet121", "monai.networks.nets", "medical"), ("vit", "transformers", "transformers")],
)
def test_a_missing_extra_is_named(monkeypatch, name, module, extra):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(FedregError, match=rf'{name} needs .*; install it by pip install "fedreg\[{extra}\]"') as caught:
        NETWORKS[name]((3, 64, 64), 2)
    assert "\n" not in str(caught.value)


def test_extras_are_not_imported_before_they_are_used():
    code = "import sys, fedreg.experiments.setting; print(*{'gpytorch', 'monai', 'transformers'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_densenet_is_normalised_by_groups():
    module = densenet121((3, 64, 64), 2)
    norms = [part for part in module.modules() if "Norm" in type(part).__name__]
    assert len(norms) == 121
    assert all(isinstance(norm, nn.GroupNorm) and norm.num_groups == 32 for norm in norms)
    assert not any(getattr(part, "inplace", False) for part in module.modules())
    with pytest.raises(FedregError, match="28 x 64 pixels cannot be halved five times"):
        densenet121((3, 28, 64), 2)
    assert densenet121((3, 29, 40), 2)(torch.zeros(1, 3, 29, 40)).shape == (1, 2)
