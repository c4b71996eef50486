"""Sensors of steps: forces, moments, contacts, acceleration and angular velocity.

Forces are impulses divided by the length of the step, so that an impact reads as its impulse over h. If
impulses
are not unique, forces are those of the solver's solution. At the start of a run there is no step: forces are
0,
there are no contacts, and accelerometers read the value for constant velocity.
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from stickslip.kernels.steps.tables import JointTable
from stickslip.mechanics.joints import number_of_joint, reaction
from stickslip.mechanics.points import Point, bind_point, number_of
from stickslip.mechanics.sensors import BoundSensor, Reading, Sensing, joint_place
from stickslip.rotations import matrices
from stickslip.state import Array, IntArray, ModelError

if TYPE_CHECKING:
    from stickslip.mechanics.world import World

TORSION_FIRST = (5, 3, 4)
"""Components of r with the moments about n, t1, t2, in the order of the rows of the contact frame."""


@dataclass(frozen=True, eq=False)
class _Reaction(Sensing):
    """Base class of sensors of the reaction of a joint or of contacts on a body."""

    _: KW_ONLY
    joint: str | None = None
    """Joint, whose reaction on its first body is measured."""
    body: str | None = None
    """Body on which contact forces are measured, if `joint` is None."""
    other: str | None = None
    """With `body`: only contacts with this body; None: all contacts."""

    def _bound(self, world: "World", part: int) -> BoundSensor:
        """Return the bound sensor of forces (part 0) or of moments (part 1)."""
        owner = f"sensor {self.name!r}"
        if (self.joint is None) == (self.body is None) or (self.other is not None and self.body is None):
            raise ModelError(f"{owner}: give a joint, or a body and optionally a second body that touches it")
        read: Callable[[Reading], Array]
        if self.joint is not None:
            j = number_of_joint(owner, world.joints, self.joint)
            read = lambda reading: _of_joint(reading, j)[part]  # noqa: E731
            place = joint_place(world.joints, j)
        else:
            i, other = _pair(owner, world, str(self.body), self.other)
            read = lambda reading: _of_contacts(reading, i, other)[part]  # noqa: E731
            place = Point(i, np.zeros(3))
        return BoundSensor(self.name, read, self.joint is not None, (place,))


@dataclass(frozen=True, eq=False)
class ForceSensor(_Reaction):
    """Mean force over the step in the inertial frame [N], shape (3,): of a joint on its first body, or of
    all contacts on a body (with `other`: of those with that body only).

    Example:

        sensor = ss.sensors.ForceSensor("pin", joint="knee")
        sensor = ss.sensors.ForceSensor("foot", body="foot", other="floor")
    """

    def bind(self, world: "World") -> BoundSensor:
        return self._bound(world, 0)


@dataclass(frozen=True, eq=False)
class TorqueSensor(_Reaction):
    """Mean moment over the step in the inertial frame [N m], shape (3,): of a joint on its first body
    about the point of the joint, or of all contacts on a body about its centre of mass.
    """

    def bind(self, world: "World") -> BoundSensor:
        return self._bound(world, 1)


@dataclass(frozen=True, eq=False)
class ContactSensor(Sensing):
    """Contact of a body with others, shape (3,): 1 for contact and 0 otherwise [-], the sum of the normal
    forces [N], and the number of loaded contacts [-].

    Example:

        b = ss.WorldBuilder()
        b.body("floor", ss.Plane(), fixed=True)
        b.body("foot", ss.Sphere(0.1), position=(0, 0, 0.1))
        b.sensor(ss.sensors.ContactSensor("touch", "foot"))
        print(ss.simulate(b.build(), until=0.1, h=1e-2).sensors["touch"][-1])
    """

    body: str
    other: str | None = None
    """Only contacts with this body; None: all contacts."""

    def bind(self, world: "World") -> BoundSensor:
        i, other = _pair(f"sensor {self.name!r}", world, self.body, self.other)

        def read(reading: Reading) -> Array:
            normal = reading.r[_touching(reading, i, other)[0], 0]
            pressing = normal[normal > 0.0]
            total = float(pressing.sum()) / reading.h if pressing.size else 0.0
            return np.array([float(pressing.size > 0), total, float(pressing.size)])

        return BoundSensor(self.name, read, places=(Point(i, np.zeros(3)),))


@dataclass(frozen=True, eq=False)
class Accelerometer(Sensing):
    """Proper acceleration of a point of a body [m/s²], shape (3,): (v_end - v_start) / h - g in the frame of
    the body in the middle of the step. The default point is the centre of mass.

    The sensor reads g upwards at rest and 0 in free fall; an impact in a step reads as its Δv / h. At the
    start of a run it reads -g.
    """

    body: str
    point: ArrayLike | None = None
    """Point in the inertial frame at the start [m], shape (3,)."""

    def bind(self, world: "World") -> BoundSensor:
        point = bind_point(f"sensor {self.name!r}", world, self.body, "point", self.point)
        i = 7 * point.body

        def read(reading: Reading) -> Array:
            proper, end, start = -reading.world.gravity, reading.state, reading.before
            if reading.h > 0.0:
                change = point.velocity(end.q, end.v) - point.velocity(start.q, start.v)
                proper = change / reading.h + proper
            p, last = end.q[i + 3 : i + 7], start.q[i + 3 : i + 7]
            middle = p + (last if p @ last >= 0.0 else -last)
            return np.asarray(proper @ matrices(middle / np.sqrt(middle @ middle)))

        return BoundSensor(self.name, read, places=(point,))


@dataclass(frozen=True, eq=False)
class Gyroscope(Sensing):
    """Angular velocity of a body in its own frame [rad/s], shape (3,)."""

    body: str

    def bind(self, world: "World") -> BoundSensor:
        body = number_of(f"sensor {self.name!r}", world, self.body)
        spin = slice(6 * body + 3, 6 * body + 6)
        place = Point(body, np.zeros(3))
        return BoundSensor(self.name, lambda reading: reading.state.v[spin], places=(place,))


def _pair(owner: str, world: "World", body: str, other: str | None) -> tuple[int, int | None]:
    i = number_of(owner, world, body)
    return i, None if other is None else number_of(owner, world, other)


def _touching(reading: Reading, i: int, other: int | None) -> tuple[IntArray, IntArray]:
    """Return the contacts of body i with another one (None: all), and the side of body i in each [-], shape
    (k,)."""
    rows, side = np.nonzero(reading.body == i)
    if other is not None:
        selected = reading.body[rows, 1 - side] == other
        rows, side = rows[selected], side[selected]
    return rows, side


def _of_contacts(reading: Reading, i: int, other: int | None) -> tuple[Array, Array]:
    """Return force [N] and moment about the centre of mass [N m] of contacts on body i, shape (3,) each."""
    rows, side = _touching(reading, i, other)
    if not rows.size:
        return np.zeros(3), np.zeros(3)
    r = reading.r[rows] * ((1.0 - 2.0 * side) / reading.h)[:, None]
    force = np.einsum("ki,kij->kj", r[:, :3], reading.frame[rows])
    moment = np.einsum("ki,kij->kj", r[:, TORSION_FIRST], reading.frame[rows])
    position = slice(7 * i, 7 * i + 3)
    centre = 0.5 * (
        reading.before.q[position] + reading.state.q[position]
    )  # at the middle of the step, like the contact points
    moment += np.cross(reading.point[rows] - centre, force)
    return force.sum(axis=0), moment.sum(axis=0)


def _of_joint(reading: Reading, j: int) -> tuple[Array, Array]:
    """Return force [N] and moment about its point [N m] of joint j on its first body, shape (3,) each."""
    impulses = JointTable(np.array([0, reading.joint_r.size]), reading.joint_id, reading.joint_r)
    q, v = reading.state.q[None], reading.state.v[None]
    mean = reaction(reading.world.joints.arrays, j, np.array([reading.h]), q, v, impulses)
    return mean.force[0], mean.moment[0]
