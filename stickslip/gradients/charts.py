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
    n, k = q.size // 7, change.shape[1]
    given, p = change.reshape(n, 7, k), q.reshape(n, 7)[:, 3:]
    unit = p / np.linalg.norm(p, axis=1, keepdims=True)
    length = np.linalg.norm(p, axis=1)[:, None, None]
    turned = 4.0 * np.einsum("nij,nik->njk", rates(unit), given[:, 3:]) / length
    return np.concatenate([given[:, :3], turned], axis=1).reshape(6 * n, k)


def to_coordinates(q: Array, displacement: Array) -> Array:
    """Changes of q, shape (7 n, k), from displacements, shape (6 n, k)."""
    n, k = q.size // 7, displacement.shape[1]
    given = displacement.reshape(n, 6, k)
    p = q.reshape(n, 7)[:, 3:]
    turned = np.einsum("nij,njk->nik", rates(p), given[:, 3:])
    return np.concatenate([given[:, :3], turned], axis=1).reshape(7 * n, k)


def weights_of_displacements(q: Array, weights: Array) -> Array:
    """The transpose of `to_coordinates`: weights of displacements, (6 n, k), from those of q, (7 n, k)."""
    n, k = q.size // 7, weights.shape[1]
    given = weights.reshape(n, 7, k)
    turned = np.einsum("nij,nik->njk", rates(q.reshape(n, 7)[:, 3:]), given[:, 3:])
    return np.concatenate([given[:, :3], turned], axis=1).reshape(6 * n, k)


def weights_of_coordinates(q: Array, weights: Array) -> Array:
    """The transpose of `to_displacements`: weights of q, (7 n, k), from those of displacements, (6 n, k)."""
    n, k = q.size // 7, weights.shape[1]
    given, p = weights.reshape(n, 6, k), q.reshape(n, 7)[:, 3:]
    length = np.linalg.norm(p, axis=1)[:, None, None]
    unit = p / np.linalg.norm(p, axis=1, keepdims=True)
    turned = 4.0 * np.einsum("nij,njk->nik", rates(unit), given[:, 3:]) / length
    return np.concatenate([given[:, :3], turned], axis=1).reshape(7 * n, k)
