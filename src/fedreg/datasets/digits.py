"""Handwritten digits, 8 x 8 pixels, 1,797 of them, as they come with scikit-learn.

Alpaydin and Kaynak, Optical Recognition of Handwritten Digits, UCI, 1998, https://doi.org/10.24432/C50P49, CC BY 4.0.
"""

import torch
from sklearn.datasets import load_digits

from ..federation.examples import Examples
from .dataset import Dataset, chosen, held_out


def digits() -> Dataset:
    """The digits with pixels in [0, 1], a fifth of each class held out as the test examples."""
    source = load_digits()
    x = torch.tensor(source.images / 16, dtype=torch.float32)[:, None]
    examples = Examples(x, torch.tensor(source.target))
    held = held_out(examples.y, 0.2, seed=0)
    return Dataset(chosen(examples, ~held), chosen(examples, held), outputs=10)
