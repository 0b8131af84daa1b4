"""Geometry of the parameter space R^d."""

import torch

from .types import Scalar, Vector


def dot(a: Vector, b: Vector) -> Scalar:
    """The inner product of a and b."""
    return (a * b).sum()


def coefficient(a: Vector, b: Vector) -> Scalar:
    """The w for which w * b is the projection of a onto the line through b; zero if b is zero."""
    bb = dot(b, b)
    return torch.where(bb > 0, dot(a, b) / torch.where(bb > 0, bb, 1.0), 0.0)


def project(theta: Vector, centre: Vector, normal: Vector) -> Vector:
    """The point nearest theta in the half-space {t : (centre - t) . normal >= 0}.

    Solves problems (8) and (9) of the paper by the closed form (10), whose max(., 0) is the relu.
    """
    w = torch.relu(coefficient(theta - centre, normal))
    return theta - w * normal


def reject(a: Vector, b: Vector) -> Vector:
    """The component of a orthogonal to b: equation (12)."""
    return a - coefficient(a, b) * b
