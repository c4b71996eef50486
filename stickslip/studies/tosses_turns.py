"""Turns of many frames at once: quaternions, scalar first, and rotation vectors."""

import numpy as np

from stickslip.state import Array


def product(p: Array, q: Array) -> Array:
    """p ∘ q [-], shape (..., 4)."""
    a, b, c, d = np.moveaxis(p, -1, 0)
    w, x, y, z = np.moveaxis(q, -1, 0)
    parts = (a * w - b * x - c * y - d * z, a * x + b * w + c * z - d * y,
             a * y - b * z + c * w + d * x, a * z + b * y - c * x + d * w)  # fmt: skip
    return np.stack(parts, axis=-1)


def conjugate(p: Array) -> Array:
    """The inverses of unit quaternions [-], shape (..., 4)."""
    return p * np.array([1.0, -1.0, -1.0, -1.0])


def exponential(r: Array) -> Array:
    """The quaternions of rotation vectors r [rad], shape (..., 3), [-], shape (..., 4)."""
    angle = np.linalg.norm(r, axis=-1, keepdims=True)
    return np.concatenate([np.cos(angle / 2.0), np.sinc(angle / (2.0 * np.pi)) * r / 2.0], axis=-1)


def logarithm(p: Array) -> Array:
    """The rotation vectors of unit quaternions, of the shorter way [rad], shape (..., 3)."""
    p = np.where(p[..., :1] < 0.0, -p, p)
    s = np.linalg.norm(p[..., 1:], axis=-1, keepdims=True)
    return p[..., 1:] * np.where(s > 1e-12, 2.0 * np.arctan2(s, p[..., :1]) / np.maximum(s, 1e-12), 2.0)


def between(p: Array, q: Array) -> Array:
    """Rotation vectors from p to q in the frame of p [rad], shape (..., 3)."""
    return logarithm(product(conjugate(p), q))


def turning(r: Array) -> Array:
    """Rotation in the frame of `exponential(r)` by a change of r, shape (3, 3): I - b [r]× + c [r]×²."""
    x = np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])
    angle = float(np.linalg.norm(r))
    half = np.sinc(0.5 * angle / np.pi)
    b = 0.5 * half**2  # (1 - cos) / angle²
    c = (1.0 - np.sinc(angle / np.pi)) / angle**2 if angle > 1e-3 else 1.0 / 6.0
    return np.asarray(np.eye(3) - b * x + c * x @ x)
