"""Several shapes as one rigid body."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.mechanics.given import numbers, unit_quaternion
from stickslip.mechanics.inertia import about_point
from stickslip.mechanics.shapes import Shape
from stickslip.rotations import matrices, product
from stickslip.state import Array, ModelError


@dataclass(frozen=True, eq=False)
class Part:
    """A shape of a compound, with its pose in the frame of the compound."""

    shape: Shape
    """The shape."""
    position: Array
    """Position of the origin of its frame in the frame of the compound [m], shape (3,)."""
    quaternion: Array
    """Orientation in the frame of the compound, scalar first [-], shape (4,)."""


@dataclass(frozen=True, eq=False, init=False)
class Compound:
    """Rigid union of shapes: `Compound((shape, position, quaternion), ...)`; the quaternion is optional.

    Volume and inertia are sums over the parts, so that overlaps are counted more than once; give mass and
    inertia of the body if this matters. A part that is a compound is replaced by its parts. A compound with
    an
    infinite part (a plane, a height field) is infinite.

    Example:

        b = ss.WorldBuilder()
        handle, head = ss.Capsule(0.02, 0.3), ss.Cuboid((0.1, 0.04, 0.04))
        hammer = ss.shapes.Compound((handle, (0, 0, 0)), (head, (0, 0, 0.17)))
        b.body("hammer", hammer, position=(0, 0, 1))
    """

    parts: tuple[Part, ...]

    def __init__(self, *parts: Sequence[Any] | Part):
        if not parts:
            raise ModelError("Compound: parts is empty; give (shape, position, quaternion) for each part")
        flat = tuple(leaf for k, part in enumerate(parts) for leaf in _leaves(f"Compound: part {k}", part))
        object.__setattr__(self, "parts", flat)
        if not self.endless and not (math.isfinite(self.volume) and np.isfinite(self.inertia).all()):
            raise ModelError("Compound: its parts are too large or too far apart to compute its inertia")

    @property
    def endless(self) -> bool:
        """Whether a part is infinite."""
        return any(math.isinf(part.shape.volume) for part in self.parts)

    @property
    def volume(self) -> float:
        return sum(part.shape.volume for part in self.parts)

    @property
    def centroid(self) -> Array:
        if self.endless:
            return np.zeros(3)
        with np.errstate(over="ignore", invalid="ignore"):
            total = self.volume
            return sum((part.shape.volume / total * _centre(part) for part in self.parts), np.zeros(3))

    @property
    def inertia(self) -> Array:
        if self.endless:
            return np.diag([math.inf] * 3)
        centroid, total = self.centroid, np.zeros((3, 3))
        with np.errstate(over="ignore", invalid="ignore"):
            for part in self.parts:
                R = matrices(part.quaternion)
                total += about_point(
                    R @ part.shape.inertia @ R.T, part.shape.volume, _centre(part) - centroid
                )
        return 0.5 * (total + total.T)

    @property
    def reach(self) -> float:
        """Radius of the smallest sphere about the origin that contains the bounding spheres of the parts
        [m]."""
        return max(math.hypot(*part.position) + part.shape.reach for part in self.parts)


def _leaves(owner: str, given: Sequence[Any] | Part) -> tuple[Part, ...]:
    part = _part(owner, given)
    if not isinstance(part.shape, Compound):
        return (part,)
    R = matrices(part.quaternion)
    return tuple(
        Part(
            inner.shape,
            numbers(owner, "position", part.position + R @ inner.position, (3,)),
            unit_quaternion(owner, product(part.quaternion, inner.quaternion)),
        )
        for inner in part.shape.parts
    )


def _part(owner: str, given: Sequence[Any] | Part) -> Part:
    if isinstance(given, Part):
        given = (given.shape, given.position, given.quaternion)
    if not isinstance(given, tuple | list) or len(given) not in (2, 3):
        raise ModelError(f"{owner} is {given!r}; give (shape, position, quaternion)")
    shape, position, quaternion = (*given, (1.0, 0.0, 0.0, 0.0))[:3]
    if isinstance(shape, type) or not isinstance(shape, Shape):
        raise ModelError(f"{owner}: {shape!r} is not a shape; give (shape, position, quaternion)")
    return Part(shape, numbers(owner, "position", position, (3,)), unit_quaternion(owner, quaternion))


def _centre(part: Part) -> Array:
    """Centre of volume of a part in the frame of the compound [m], shape (3,)."""
    return part.position + matrices(part.quaternion) @ part.shape.centroid
