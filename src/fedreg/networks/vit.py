"""A pre-trained vision transformer (Dosovitskiy et al., ICLR 2021), by transformers, with a head of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, final

import torch
from torch import Tensor, nn

from ..core.errors import FedregError, require

WEIGHTS = "google/vit-base-patch32-384"
DEVIATION = 0.02  # of the head's first weights, which is that of every layer before its pre-training


def vit(shape: tuple[int, ...], outputs: int, weights: str = WEIGHTS) -> nn.Module:
    """The model of that name on the hub, or in that folder, with a new head; all of it is to be trained."""
    model = pretrained(weights)
    channels = model.config.num_channels
    require(
        shape[0] in (1, channels),
        f"network vit: weights = {weights!r} are for images of {channels} channels and these have {shape[0]}; "
        "use other weights, or another network",
    )
    return Transformer(model, outputs)


@final
class Transformer(nn.Module):
    """A transformer that is shown images at its own size, and a linear head on its class token."""

    def __init__(self, model: Any, outputs: int) -> None:
        super().__init__()
        self.model = model
        self.head = nn.Linear(model.config.hidden_size, outputs)
        nn.init.trunc_normal_(self.head.weight, std=DEVIATION)
        nn.init.zeros_(self.head.bias)
        side = model.config.image_size
        self.size = (side, side) if isinstance(side, int) else tuple(side)
        self.channels = model.config.num_channels

    def forward(self, x: Tensor) -> Tensor:
        x = x.expand(-1, self.channels, -1, -1)  # grey is the same in each colour
        x = nn.functional.interpolate(x, size=self.size, mode="bilinear", align_corners=False)
        scores: Tensor = self.head(self.model(x).last_hidden_state[:, 0])
        return scores


def pretrained(weights: str) -> Any:
    """The model of that name or in that folder, without its head and without dropout."""
    try:
        from transformers import ViTModel  # here, since it takes seconds
    except ImportError as error:
        raise FedregError('network vit needs transformers; install it by pip install "fedreg[transformers]"') from error
    folder = Path(weights).expanduser()
    try:
        with quiet():
            model, about = ViTModel.from_pretrained(
                str(folder) if folder.is_dir() else weights,
                add_pooling_layer=False,
                attn_implementation="eager",  # the others have no rule for vmap
                hidden_dropout_prob=0.0,
                attention_probs_dropout_prob=0.0,
                output_loading_info=True,
            )
    except OSError as error:
        raise FedregError(
            f"network vit: no weights {weights!r}: there is no such folder with a model, and the hub gave none; set "
            f"network.weights to a folder that has one, or run 'hf download {WEIGHTS}' where the hub can be reached"
        ) from error
    absent = sorted(about["missing_keys"])
    require(
        not absent,
        f"network vit: weights = {weights!r} lack {len(absent)} parameters, such as {absent[:1]}; give a ViT's",
    )
    return model.to(torch.get_default_dtype())


@contextmanager
def quiet() -> Iterator[None]:
    """Without transformers' report on the old head, which is left out on purpose."""
    from transformers.utils import logging

    before = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(before)
