"""Joints of Newton-Euler bodies: one body to the world, or two bodies; the law is Equality.

Points and axes are given in the inertial frame, as they stand at the start, and stay with both bodies (the
world is the second body of a body alone), so that y = 0 at the start. Each joint knows y(q) and its rows
(Siconos Developer's Notes 2017, (11.42) and (11.44)).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from stickslip import rotations
from stickslip.problem.checks import Array
from stickslip.state import ModelError
from stickslip.systems.body_outputs import BodyOutput, Pose, poses
from stickslip.systems.dynamics import vector
from stickslip.systems.relations import Binding, MechanicalOutput


@dataclass(frozen=True, eq=False)
class BallJoint:
    """Two bodies share a point: 3 components."""

    point: ArrayLike
    """At the start, inertial frame [m], shape (3,)."""

    def bound(self, to: Binding) -> MechanicalOutput:
        return Joint(to, "BallJoint", (_Point(to, self.point),))


@dataclass(frozen=True, eq=False)
class FixedJoint:
    """Two bodies move as one: 6 components, of which the last three are of orientation [rad]."""

    point: ArrayLike = (0.0, 0.0, 0.0)
    """Where forces are counted, at the start, inertial frame [m], shape (3,)."""

    def bound(self, to: Binding) -> MechanicalOutput:
        return Joint(to, "FixedJoint", (_Point(to, self.point), _Orientation(to)))


@dataclass(frozen=True, eq=False)
class HingeJoint:
    """Two bodies share a point and an axis: 5 components."""

    point: ArrayLike
    """At the start, inertial frame [m], shape (3,)."""
    axis: ArrayLike
    """At the start, inertial frame [-], shape (3,)."""

    def bound(self, to: Binding) -> MechanicalOutput:
        return Joint(to, "HingeJoint", (_Point(to, self.point), _Axis(to, self.axis)))


@dataclass(frozen=True, eq=False)
class SliderJoint:
    """A body slides along an axis of the other and does not turn: 5 components, the first two of position."""

    axis: ArrayLike
    """At the start, inertial frame [-], shape (3,)."""
    point: ArrayLike = (0.0, 0.0, 0.0)
    """A point of the axis at the start, inertial frame [m], shape (3,)."""

    def bound(self, to: Binding) -> MechanicalOutput:
        return Joint(to, "SliderJoint", (_Line(to, self.point, self.axis), _Orientation(to)))


@dataclass(frozen=True, eq=False)
class DistanceJoint:
    """Two points keep their distance, a rod with a ball at each end: 1 component."""

    first: ArrayLike
    """On the first body, at the start, inertial frame [m], shape (3,)."""
    second: ArrayLike
    """On the second body or the world, at the start, inertial frame [m], shape (3,)."""
    length: float | None = None
    """[m]; the distance at the start unless given."""

    def bound(self, to: Binding) -> MechanicalOutput:
        return Joint(to, "DistanceJoint", (_Rod(to, self),))


class Joint(BodyOutput):
    """A bound joint, made of parts one after the other."""

    def __init__(self, to: Binding, kind: str, parts: "tuple[_Part, ...]"):
        super().__init__(to, kind, (sum(part.size for part in parts),))
        self.parts = parts

    def y(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        bodies = poses(q)
        return np.concatenate([part.y(*bodies) for part in self.parts])

    def pair(self, t: float, q: Array, z: Array) -> tuple[Array, Array]:
        bodies = poses(q)
        found = [part.pair(*bodies) for part in self.parts]
        return np.concatenate([a for a, _ in found]), np.concatenate([b for _, b in found])


class _Part(ABC):
    """Some components of a joint: y, and the rows of the first body and (unsigned) of the second."""

    size: int

    @abstractmethod
    def y(self, a: Pose, b: Pose) -> Array:
        """Outputs [m, rad], shape (size,)."""

    @abstractmethod
    def pair(self, a: Pose, b: Pose) -> tuple[Array, Array]:
        """Rows of the first body and of the second [-, m], each of shape (size, 6)."""


class _Point(_Part):
    """A point of both bodies: its place on the first minus its place on the second."""

    size = 3

    def __init__(self, to: Binding, point: ArrayLike):
        place = vector(to.owner, "point", point, 3)
        self.first, self.second = (body.own(place) for body in _start(to))

    def y(self, a: Pose, b: Pose) -> Array:
        return a.place(self.first) - b.place(self.second)

    def pair(self, a: Pose, b: Pose) -> tuple[Array, Array]:
        return a.velocity(a.place(self.first)), b.velocity(b.place(self.second))


class _Orientation(_Part):
    """2 vec(e) of the turn e between the bodies since the start: its rotation vector while small [rad]."""

    size = 3

    def __init__(self, to: Binding):
        a, b = _start(to)
        self.relative = rotations.product(rotations.conjugate(b.p), a.p)
        self.turn = rotations.matrices(self.relative)

    def _error(self, a: Pose, b: Pose) -> Array:
        e = rotations.product(rotations.conjugate(rotations.product(b.p, self.relative)), a.p)
        return e if e[0] >= 0.0 else -e

    def y(self, a: Pose, b: Pose) -> Array:
        return 2.0 * self._error(a, b)[1:]

    def pair(self, a: Pose, b: Pose) -> tuple[Array, Array]:
        e = self._error(a, b)
        first, second = np.zeros((3, 6)), np.zeros((3, 6))
        # ė = (e ∘ (0, Ω₁) - (0, S'Ω₂) ∘ e) / 2 with S the relative rotation at the start, by (11.30)
        first[:, 3:] = e[0] * np.eye(3) + rotations.skew(e[1:])
        second[:, 3:] = (e[0] * np.eye(3) - rotations.skew(e[1:])) @ self.turn.T
        return first, second


class _Axis(_Part):
    """An axis of the first body stays perpendicular to two directions of the second: b_i · a = 0."""

    size = 2

    def __init__(self, to: Binding, axis: ArrayLike):
        n, t1, t2 = rotations.frame(_unit(to, axis))
        a, b = _start(to)
        self.axis, self.across = a.R.T @ n, (b.R.T @ t1, b.R.T @ t2)

    def y(self, a: Pose, b: Pose) -> Array:
        axis = a.R @ self.axis
        return np.array([(b.R @ one) @ axis for one in self.across])

    def pair(self, a: Pose, b: Pose) -> tuple[Array, Array]:
        axis = a.R @ self.axis
        rows = np.array([rotations.cross(axis, b.R @ one) for one in self.across])
        return rows @ a.spin(), rows @ b.spin()


class _Line(_Part):
    """A point of the first body stays on a line of the second: b_i · (P₁ - P₂) = 0."""

    size = 2

    def __init__(self, to: Binding, point: ArrayLike, axis: ArrayLike):
        place = vector(to.owner, "point", point, 3)
        _, t1, t2 = rotations.frame(_unit(to, axis))
        a, b = _start(to)
        self.first, self.second = a.own(place), b.own(place)
        self.across = b.R.T @ t1, b.R.T @ t2

    def y(self, a: Pose, b: Pose) -> Array:
        between = a.place(self.first) - b.place(self.second)
        return np.array([(b.R @ one) @ between for one in self.across])

    def pair(self, a: Pose, b: Pose) -> tuple[Array, Array]:
        across = np.array([b.R @ one for one in self.across])
        here = a.place(self.first)
        # the directions turn with the second body: its velocity counts at the first body's point
        return across @ a.velocity(here), across @ b.velocity(here)


class _Rod(_Part):
    """The distance of two points minus the length."""

    size = 1

    def __init__(self, to: Binding, given: DistanceJoint):
        self.owner = to.owner
        first, second = (vector(to.owner, n, getattr(given, n), 3) for n in ("first", "second"))
        a, b = _start(to)
        self.first, self.second = a.own(first), b.own(second)
        start = float(np.linalg.norm(first - second))
        self.length = start if given.length is None else float(vector(to.owner, "length", given.length, 1)[0])
        if not (self.length > 0.0 and start > 0.0):
            raise ModelError(f"{to.owner}: the length of a DistanceJoint is positive, and its points differ")

    def _between(self, a: Pose, b: Pose) -> tuple[float, Array]:
        between = a.place(self.first) - b.place(self.second)
        distance = float(np.sqrt(between @ between))
        if distance == 0.0:
            raise ModelError(f"{self.owner}: the two points of the DistanceJoint coincide")
        return distance, between / distance

    def y(self, a: Pose, b: Pose) -> Array:
        return np.array([self._between(a, b)[0] - self.length])

    def pair(self, a: Pose, b: Pose) -> tuple[Array, Array]:
        along = self._between(a, b)[1][None, :]
        return along @ a.velocity(a.place(self.first)), along @ b.velocity(b.place(self.second))


def _start(to: Binding) -> tuple[Pose, Pose]:
    if to.nq not in (7, 14):
        raise ModelError(f"{to.owner}: joints are between Newton-Euler bodies, one or two")
    return poses(to.q0)


def _unit(to: Binding, axis: ArrayLike) -> Array:
    given = vector(to.owner, "axis", axis, 3)
    size = float(np.linalg.norm(given))
    if not size > 0.0:
        raise ModelError(f"{to.owner}: axis is zero")
    return np.asarray(given / size)
