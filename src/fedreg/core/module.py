"""A torch module as a function of one flat vector of its trainable parameters, and back."""

from collections.abc import Callable
from copy import deepcopy

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from .errors import require
from .types import Inputs, Outputs, Vector


def ravel(module: nn.Module) -> Vector:
    """The trainable parameters of module, end to end."""
    parameters = trainable(module).values()
    return torch.cat([p.detach().flatten() for p in parameters])


def unravel(module: nn.Module, theta: Vector) -> nn.Module:
    """A copy of module with theta for its trainable parameters."""
    copy = deepcopy(module)
    copy.load_state_dict(cut(theta, shapes(module)), strict=False)
    return copy


def flat(module: nn.Module) -> Callable[[Vector, Inputs], Outputs]:
    """theta, x -> module(x), theta standing in for the module's trainable parameters."""
    refuse_hidden_state(module)
    named = shapes(module)

    def network(theta: Vector, x: Inputs) -> Outputs:
        out: Tensor = functional_call(module, cut(theta, named), (x,))
        return out

    return network


def shapes(module: nn.Module) -> dict[str, torch.Size]:
    """The shapes of the trainable parameters, by name."""
    return {name: p.shape for name, p in trainable(module).items()}


def cut(theta: Vector, shapes: dict[str, torch.Size]) -> dict[str, Tensor]:
    """theta as parameters of these shapes."""
    sizes = [shape.numel() for shape in shapes.values()]
    require(
        sum(sizes) == len(theta),
        f"the module has {sum(sizes)} trainable parameters but theta has {len(theta)} numbers; "
        "make theta by ravel(module) of the same module",
    )
    parts = torch.split(theta, sizes)
    return {name: part.view(shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}


def trainable(module: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters that ask for a gradient, by name; a shared one once."""
    parameters = {name: p for name, p in module.named_parameters() if p.requires_grad}
    require(bool(parameters), f"{type(module).__name__} has no trainable parameters; there is nothing to learn")
    dtypes = {p.dtype for p in parameters.values()}
    require(len(dtypes) == 1, f"{type(module).__name__} mixes {dtypes}; convert it to one of them by module.to(dtype)")
    return parameters


def refuse_hidden_state(module: nn.Module) -> None:
    """An error that names the first layer whose output depends on more than theta and its own input."""
    for name, layer in module.named_modules():
        what = f"{name or 'the module'} is a {type(layer).__name__}"
        running = any(key.startswith("running_") for key, _ in layer.named_buffers(recurse=False))
        require(
            not (running or isinstance(layer, _BatchNorm)),
            f"{what}: statistics of a batch can be neither averaged over clients nor padded; "
            "use GroupNorm: fedreg.group_norm(module) converts a BatchNorm",
        )
        require(
            not (isinstance(layer, _DropoutNd) and layer.training and layer.p > 0),
            f"{what} in training mode: its masks come from a global generator and would not repeat; "
            "set its p to 0 or call module.eval()",
        )


def group_norm(module: nn.Module, groups: int = 32) -> nn.Module:
    """A copy of module with a GroupNorm in place of each BatchNorm: at most so many groups, of two channels or more."""
    if isinstance(module, _BatchNorm):
        channels = module.num_features
        fitting = [g for g in range(1, groups + 1) if channels % g == 0 and 2 * g <= channels]
        norm = nn.GroupNorm(max(fitting, default=1), channels, eps=module.eps, affine=module.affine)
        if module.affine:
            norm.load_state_dict({"weight": module.weight.detach(), "bias": module.bias.detach()})
            norm.to(module.weight)
        return norm
    copy = deepcopy(module)
    for name, child in module.named_children():
        copy.add_module(name, group_norm(child, groups))
    return copy


def headless(module: nn.Module) -> nn.Module:
    """A copy of module that gives what its last linear layer is given; the last is the one that it names last."""
    linear = [name for name, layer in module.named_modules() if isinstance(layer, nn.Linear)]
    what = type(module).__name__
    require(bool(linear), f"{what} has no linear layer, so that there is none to leave out; give it one at its end")
    copy = deepcopy(module)
    if linear[-1]:
        copy.set_submodule(linear[-1], nn.Identity())
    learns = linear[-1] != "" and any(p.requires_grad for p in copy.parameters())
    require(learns, f"{what} learns nothing but its classification layer; use a deeper network to embed by")
    return copy
