"""Joints of Newton-Euler bodies: between one body and the world, or two bodies; the law is Equality.

Points and axes are given in the inertial frame at the start, and fixed to both bodies (the world is the
second
body of a single body), so that y = 0 at the start. Outputs and rows are those of joints of worlds. The
builder
of worlds accepts these joints too; `kind` is their name there.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from stickslip import rotations
from stickslip.kernels.bodies.joint_geometry import BALL, DISTANCE, FIXED, HINGE, SLIDER
from stickslip.kernels.bodies.joints import held_rows
from stickslip.kernels.bodies.layout import JointArrays
from stickslip.problem.checks import Array
from stickslip.state import ModelError
from stickslip.systems.body_outputs import BodyOutput, poses
from stickslip.systems.dynamics import vector
from stickslip.systems.relations import Binding, MechanicalOutput

_ENDS = ("first", "second")


@dataclass(frozen=True, eq=False)
class BallJoint:
    """Joint that keeps a point of two bodies together: 3 components.

    Example:

        b = ss.WorldBuilder()
        b.body("rod", ss.Capsule(0.02, 0.4), position=(0, 0, -0.2))
        b.joint("pivot", ss.joints.BallJoint((0, 0, 0)), "rod")
    """

    kind: ClassVar[str] = "ball"

    point: ArrayLike
    """Point in the inertial frame at the start [m], shape (3,)."""

    def bound(self, to: Binding) -> MechanicalOutput:
        return Joint(to, "BallJoint", (_Part(to, BALL, 3, 0, self.point),))


@dataclass(frozen=True, eq=False)
class FixedJoint:
    """Joint that fixes two bodies to each other: 6 components, of which the last three are of orientation
    [rad].
    """

    kind: ClassVar[str] = "fixed"

    point: ArrayLike = (0.0, 0.0, 0.0)
    """Reference point of forces, at the start, inertial frame [m], shape (3,)."""

    def bound(self, to: Binding) -> MechanicalOutput:
        return Joint(to, "FixedJoint", (_Part(to, FIXED, 3, 3, self.point),))


@dataclass(frozen=True, eq=False)
class HingeJoint:
    """Joint that keeps a point and an axis of two bodies together: 5 components.

    Example:

        b = ss.WorldBuilder()
        b.body("door", ss.Cuboid((0.8, 0.04, 2.0)), position=(0.4, 0, 1))
        b.joint("hinge", ss.joints.HingeJoint((0, 0, 1), (0, 0, 1)), "door", limits=(-1.5, 1.5))
    """

    kind: ClassVar[str] = "hinge"

    point: ArrayLike
    """Point of the axis in the inertial frame at the start [m], shape (3,)."""
    axis: ArrayLike
    """Direction in the inertial frame at the start [-], shape (3,)."""

    def bound(self, to: Binding) -> MechanicalOutput:
        n, t1, t2 = rotations.frame(_unit(to, self.axis))
        # constraints: t1 · n₁ = t2 · n₁ = 0, with tangents of the second body and the axis of the first
        return Joint(to, "HingeJoint", (_Part(to, HINGE, 3, 2, self.point, np.array([n, t2, -t1])),))


@dataclass(frozen=True, eq=False)
class SliderJoint:
    """Joint that lets a body slide along an axis of the other without rotation: 5 components, two of
    position.
    """

    kind: ClassVar[str] = "slider"

    axis: ArrayLike
    """Direction in the inertial frame at the start [-], shape (3,)."""
    point: ArrayLike = (0.0, 0.0, 0.0)
    """A point of the axis at the start, inertial frame [m], shape (3,)."""

    def bound(self, to: Binding) -> MechanicalOutput:
        line = _Part(to, SLIDER, 2, 0, self.point, rotations.frame(_unit(to, self.axis)))
        return Joint(to, "SliderJoint", (line, _Part(to, FIXED, 0, 3, self.point)))


@dataclass(frozen=True, eq=False)
class DistanceJoint:
    """Joint that keeps the distance of two points, like a rod with a ball joint at each end: 1 component."""

    kind: ClassVar[str] = "distance"

    first: ArrayLike
    """Point on the first body, at the start, inertial frame [m], shape (3,)."""
    second: ArrayLike
    """Point on the second body or the world, at the start, inertial frame [m], shape (3,)."""
    length: float | None = None
    """Distance of the points [m]; by default the distance at the start."""

    def bound(self, to: Binding) -> MechanicalOutput:
        start = float(np.linalg.norm(np.subtract(*(vector(to.owner, n, getattr(self, n), 3) for n in _ENDS))))
        length = start if self.length is None else float(vector(to.owner, "length", self.length, 1)[0])
        if not (length > 0.0 and start > 0.0):
            raise ModelError(f"{to.owner}: a DistanceJoint needs a positive length and two different points")
        return Joint(to, "DistanceJoint", (_Part(to, DISTANCE, 1, 0, self.first, None, self.second, length),))


class Joint(BodyOutput):
    """Bound joint: concatenation of its parts."""

    def __init__(self, to: Binding, kind: str, parts: "tuple[_Part, ...]"):
        super().__init__(to, kind, (sum(part.size for part in parts),))
        self.parts = parts

    def y(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        return np.concatenate([part.at(q)[0] for part in self.parts])

    def body_rows(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        rows = np.concatenate([part.at(q)[1] for part in self.parts])
        return rows[:, 0] if self.single else rows.reshape(self.m, 12)


class _Part:
    """Components of a joint, computed like those of worlds (`kernels/bodies/joint_geometry.py`)."""

    def __init__(
        self, to: Binding, kind: int, place: int, turn: int, point: ArrayLike, axes: Array | None = None,
        second: ArrayLike | None = None, length: float = 0.0,
    ):  # fmt: skip
        """Create a part with `place` components of position and `turn` components of orientation.

        point    point at the start, in the inertial frame; `second` is that of the second body if it differs
        axes     rows of the joint frame at the start, in the inertial frame; by default those of the first
        body
        """
        if to.nq not in (7, 14):
            raise ModelError(f"{to.owner}: a joint connects one or two Newton-Euler bodies")
        self.owner, self.kind, self.place, self.turn, self.length = to.owner, kind, place, turn, length
        sides = poses(to.q0)
        first = vector(to.owner, "point" if second is None else _ENDS[0], point, 3)
        places = first, first if second is None else vector(to.owner, _ENDS[1], second, 3)
        axes = sides[0].R.T if axes is None else axes
        local = np.array([[body.own(one) for body, one in zip(sides, places, strict=True)]])
        frame, body = np.array([[axes @ body.R for body in sides]]), np.array([[0, 1 if to.nq == 14 else -1]])
        unused = np.zeros((1, 2))
        self.joints = JointArrays(
            np.array([kind]), body, local, frame, np.array([length]), unused, unused, unused, np.zeros(1)
        )
        """Arrays of this joint alone."""

    @property
    def size(self) -> int:
        return self.place + self.turn

    def at(self, q: Array) -> tuple[Array, Array]:
        """Return y [m, rad], shape (size,), and rows of both bodies [-, m], shape (size, 2, 6)."""
        y, rows = np.empty(self.size), np.empty((self.size, 2, 6))
        held_rows(self.joints, 0, self.place, self.turn, np.ascontiguousarray(q), rows, y)
        if self.kind == DISTANCE and y[0] == -self.length:
            raise ModelError(f"{self.owner}: the two points of the DistanceJoint coincide")
        return y, rows


def _unit(to: Binding, axis: ArrayLike) -> Array:
    direction = vector(to.owner, "axis", axis, 3)
    size = float(np.linalg.norm(direction))
    if not size > 0.0:
        raise ModelError(f"{to.owner}: axis is zero")
    return np.asarray(direction / size)
