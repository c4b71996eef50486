"""Orientations that users give: an axis and an angle, a quaternion, a direction."""

import math

import numpy as np
from numpy.typing import ArrayLike

from stickslip.mechanics.given import numbers
from stickslip.rotations import about
from stickslip.state import Array, ModelError


def rotation(axis: ArrayLike, angle: float) -> Array:
    """The unit quaternion of a turn by `angle` [rad] about `axis` [-], scalar first, shape (4,).

    A ramp:

        b.body("ramp", ss.Plane(), quaternion=ss.rotation((0, 1, 0), 0.4), fixed=True)
    """
    return about(direction("rotation", "axis", axis), float(numbers("rotation", "angle", angle, ())))


def direction(owner: str, field: str, value: ArrayLike) -> Array:
    """The unit vector along three numbers that are not all zero [-], shape (3,)."""
    found = numbers(owner, field, value, (3,))
    largest = float(np.abs(found).max())
    if largest == 0.0:
        raise ModelError(f"{owner}: {field} is zero, which has no direction")
    scaled = found / largest
    return scaled / np.sqrt(scaled @ scaled)


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
