"""Where a run is computed, and what makes its numbers repeat there."""

import os

import torch

from ..core.errors import FedregError, require


def device_of(name: str) -> torch.device:
    """The device of that name, made ready to give the same bits every time."""
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise FedregError(f"--device {name}: there is no such device; cpu, cuda, cuda:1 or mps are meant") from error
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    require(there.get(device.type, False), f"--device {name}: this machine has none; use --device cpu")
    if device.type == "cuda":
        local = int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count()
        if device.index is None and local:  # each of a machine's processes has a device of its own
            device = torch.device("cuda", local)
        torch.cuda.set_device(device)
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.backends.cudnn.deterministic = True
        torch.backends.cudnn.benchmark = False
        torch.backends.cudnn.allow_tf32 = False  # else a convolution keeps 10 of float32's 23 bits
    return device


def hardware(device: torch.device) -> str:
    """The accelerator's name, or cpu."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
