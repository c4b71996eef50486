"""Orientations of shapes in bodies and of bodies in space: unit quaternions, scalar first.

R = Φ(p) takes coordinates in the turned frame to those outside (Siconos Developer's Notes 2017, (11.19)).
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from stickslip.mechanics.given import numbers
from stickslip.state import Array, ModelError


def unit_quaternion(owner: str, value: ArrayLike) -> Array:
    """`value` scaled to length 1 [-], shape (4,); zero and what is not finite belong to no orientation."""
    given = numbers(owner, "quaternion", value, (4,))
    if not given.any():
        raise ModelError(f"{owner}: quaternion is zero; (1, 0, 0, 0) is no rotation")
    if abs(math.hypot(*given) - 1.0) <= 4e-16:
        return given  # rounding is not scaled away, so that scaling twice changes nothing
    unit = given / np.abs(given).max()
    unit /= math.hypot(*unit)
    unit.flags.writeable = False
    return unit


def rotation(p: Array) -> Array:
    """R = Φ(p) [-], shape (3, 3), of a unit quaternion."""
    p0, p1, p2, p3 = (float(x) for x in p)
    return np.array(
        [
            [1.0 - 2.0 * (p2 * p2 + p3 * p3), 2.0 * (p1 * p2 - p3 * p0), 2.0 * (p1 * p3 + p2 * p0)],
            [2.0 * (p1 * p2 + p3 * p0), 1.0 - 2.0 * (p1 * p1 + p3 * p3), 2.0 * (p2 * p3 - p1 * p0)],
            [2.0 * (p1 * p3 - p2 * p0), 2.0 * (p2 * p3 + p1 * p0), 1.0 - 2.0 * (p1 * p1 + p2 * p2)],
        ]
    )


def product(p: Array, q: Array) -> Array:
    """p ∘ q [-], shape (4,): first turned by q, then by p."""
    p0, p1, p2, p3 = (float(x) for x in p)
    q0, q1, q2, q3 = (float(x) for x in q)
    return np.array(
        [
            p0 * q0 - p1 * q1 - p2 * q2 - p3 * q3,
            p0 * q1 + p1 * q0 + p2 * q3 - p3 * q2,
            p0 * q2 + p2 * q0 + p3 * q1 - p1 * q3,
            p0 * q3 + p3 * q0 + p1 * q2 - p2 * q1,
        ]
    )
