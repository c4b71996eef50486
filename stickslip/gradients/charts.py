"""Coordinates about a pose: how q of bodies, 7 numbers each, changes along the 6 of a small displacement.

A displacement (δx, δθ) of a body moves its centre of mass by δx and turns it by δθ in its own frame:
p ⊕ δθ = p ∘ (1, δθ / 2) to first order. Functions of q are taken as functions of x and p / |p|, so that they
have derivatives by all seven numbers.
"""

import numpy as np

from stickslip.rotations import rates
from stickslip.state import Array


def to_displacements(q: Array, change: Array) -> Array:
    """Displacements, shape (6 n, k), from changes of q, shape (7 n, k); what stretches p is left out."""
    return _applied(_backwards(q).transpose(0, 2, 1), change)


def to_coordinates(q: Array, displacement: Array) -> Array:
    """Changes of q, shape (7 n, k), from displacements, shape (6 n, k)."""
    return _applied(rates(q.reshape(-1, 7)[:, 3:]), displacement)


def weights_of_displacements(q: Array, weights: Array) -> Array:
    """The transpose of `to_coordinates`: weights of displacements, (6 n, k), from those of q, (7 n, k)."""
    return _applied(rates(q.reshape(-1, 7)[:, 3:]).transpose(0, 2, 1), weights)


def weights_of_coordinates(q: Array, weights: Array) -> Array:
    """The transpose of `to_displacements`: weights of q, (7 n, k), from those of displacements, (6 n, k)."""
    return _applied(_backwards(q), weights)


def _backwards(q: Array) -> Array:
    """∂δθ/∂p, transposed, shape (n, 4, 3)."""
    p = q.reshape(-1, 7)[:, 3:]
    length = np.linalg.norm(p, axis=1)[:, None, None]
    return np.asarray(4.0 * rates(p) / length**2)


def _applied(turning: Array, x: Array) -> Array:
    """x (n (3 + b), k) with its turning part multiplied by blocks (n, a, b), shape (n (3 + a), k)."""
    given = x.reshape(turning.shape[0], 3 + turning.shape[2], x.shape[1])
    out = np.concatenate([given[:, :3], np.matmul(turning, given[:, 3:])], axis=1)
    return out.reshape(out.shape[0] * out.shape[1], x.shape[1])
