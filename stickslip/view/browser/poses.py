"""Vectors and orientations of many bodies at once; quaternions have their scalar first."""

import numpy as np

from stickslip.state import Array, BoolArray


def turned(p: Array, a: Array) -> Array:
    """Vectors a in the frames that unit quaternions p say, in the frame outside, shape (n, 3)."""
    once = np.cross(p[:, 1:], a)
    return np.asarray(a + 2.0 * (p[:, :1] * once + np.cross(p[:, 1:], once)))


def product(p: Array, q: Array) -> Array:
    """p ∘ q of many quaternions [-], shape (n, 4): first turned by q, then by p."""
    scalar = p[:, :1] * q[:, :1] - np.einsum("ki,ki->k", p[:, 1:], q[:, 1:])[:, None]
    vector = p[:, :1] * q[:, 1:] + q[:, :1] * p[:, 1:] + np.cross(p[:, 1:], q[:, 1:])
    return np.concatenate([scalar, vector], axis=1)


def unit_turns(p: Array) -> tuple[Array, BoolArray]:
    """Quaternions made unit ones [-], shape (n, 4), and which could be, shape (n,); others do not turn."""
    with np.errstate(all="ignore"):
        length = np.linalg.norm(p, axis=1)
        good = (length > 0.0) & np.isfinite(length)
    return np.where(good[:, None], p / np.where(good, length, 1.0)[:, None], [1.0, 0.0, 0.0, 0.0]), good
