"""Turns of bodies: a quaternion from an axis and an angle, and rotation matrices of many at once."""

import numpy as np
from numpy.typing import ArrayLike

from stickslip.mechanics.given import numbers
from stickslip.state import Array, ModelError


def rotation(axis: ArrayLike, angle: float) -> Array:
    """The unit quaternion of a turn by `angle` [rad] about `axis` [-], scalar first, shape (4,).

    A ramp:

        b.body("ramp", ss.Plane(), quaternion=ss.rotation((0, 1, 0), 0.4), fixed=True)
    """
    turn = 0.5 * float(numbers("rotation", "angle", angle, ()))
    return np.array([np.cos(turn), *(np.sin(turn) * direction("rotation", "axis", axis))])


def direction(owner: str, field: str, value: ArrayLike) -> Array:
    """The unit vector along three numbers that are not all zero [-], shape (3,)."""
    found = numbers(owner, field, value, (3,))
    largest = float(np.abs(found).max())
    if largest == 0.0:
        raise ModelError(f"{owner}: {field} is zero, which has no direction")
    scaled = found / largest
    return scaled / np.sqrt(scaled @ scaled)


def matrices(p: Array) -> Array:
    """R(p) of unit quaternions (..., 4), from body axes to inertial ones [-], shape (..., 3, 3)."""
    p0, p1, p2, p3 = np.moveaxis(p, -1, 0)
    out = np.empty((*p.shape[:-1], 3, 3))
    out[..., 0, 0] = 1.0 - 2.0 * (p2 * p2 + p3 * p3)
    out[..., 0, 1] = 2.0 * (p1 * p2 - p3 * p0)
    out[..., 0, 2] = 2.0 * (p1 * p3 + p2 * p0)
    out[..., 1, 0] = 2.0 * (p1 * p2 + p3 * p0)
    out[..., 1, 1] = 1.0 - 2.0 * (p1 * p1 + p3 * p3)
    out[..., 1, 2] = 2.0 * (p2 * p3 - p1 * p0)
    out[..., 2, 0] = 2.0 * (p1 * p3 - p2 * p0)
    out[..., 2, 1] = 2.0 * (p2 * p3 + p1 * p0)
    out[..., 2, 2] = 1.0 - 2.0 * (p1 * p1 + p2 * p2)
    return out


def cross(a: Array, b: Array) -> Array:
    """a × b, shape (3,); written out, because NumPy's is slow on single vectors."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def frame(axis: Array) -> Array:
    """Rows: a unit axis and two more, right-handed [-], shape (3, 3)."""
    least = np.zeros(3)
    least[int(np.argmin(np.abs(axis)))] = 1.0
    second = cross(axis, least)
    second /= np.sqrt(second @ second)
    return np.array([axis, second, cross(axis, second)])
