"""Multinomial logistic regression, or linear regression."""

from math import prod

from torch import nn


def linear(shape: tuple[int, ...], outputs: int) -> nn.Module:
    """One fully connected layer."""
    return nn.Sequential(nn.Flatten(), nn.Linear(prod(shape), outputs))
