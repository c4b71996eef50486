"""Sensors: values computed from a step or its end state, and recorded with it.

This file has sensors of states. Sensors of steps, such as forces and accelerations, are in `step_sensors.py`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from stickslip.kernels.steps.tables import JointTable
from stickslip.mechanics.given import called
from stickslip.mechanics.joints import Joints, column_of, coordinate, number_of_joint, reaction
from stickslip.mechanics.points import Point, bind_point
from stickslip.state import Array, IntArray, ModelError, State

if TYPE_CHECKING:
    from stickslip.mechanics.world import World


NO_ROWS: Array = np.zeros(0)
"""Joint impulses of a step without joints [N s], shape (0,)."""
NO_ID: IntArray = np.zeros(0, np.int64)
"""Joint ids of a step without joints [-], shape (0,)."""


class Reading(NamedTuple):
    """Data of a step for sensors: its start and end, and the impulses of contacts and joints."""

    world: "World"
    state: State
    """State at the end of the step."""
    before: State
    """State at the start of the step."""
    h: float
    """Length of the step [s]; 0 at the start of a run."""
    body: IntArray
    """First and second body of each contact [-], shape (nc, 2)."""
    point: Array
    """Contact points, inertial frame [m], shape (nc, 3)."""
    frame: Array
    """Contact frames with rows n, t1, t2; n from the second body to the first [-], shape (nc, 3, 3)."""
    r: Array
    """Impulses of the step on the first body: N, T1, T2 [N s], rolling about t1, t2, torsion about n [N m s],
    shape (nc, 6)."""
    joint_r: Array = NO_ROWS
    """Impulses of the joints [N s, N m s], shape (p,)."""
    joint_id: IntArray = NO_ID
    """Joint and part of each impulse, as `Step.joint_id` [-], shape (p,)."""
    reactions: Callable[[], Array] | None = None
    """Around a robot, whose joints have no impulses: function that returns force and moment of each joint, as
    `reaction` does [N, N m], shape (nj, 6)."""

    def reaction(self, joint: int | str) -> tuple[Array, Array]:
        """Return mean force [N] and moment about its point [N m] of a joint on its first body, inertial,
        shape (3,) each."""
        joints = self.world.joints
        j = number_of_joint("reaction", joints, joint) if isinstance(joint, str) else joint
        if self.reactions is not None:
            wrench = self.reactions()[j]
            return wrench[:3], wrench[3:]
        impulses = JointTable(np.array([0, self.joint_r.size]), self.joint_id, self.joint_r)
        mean = reaction(
            joints.arrays, j, np.array([self.h]), self.state.q[None], self.state.v[None], impulses
        )
        return mean.force[0], mean.moment[0]

    @classmethod
    def at(cls, world: "World", state: State) -> "Reading":
        """Return the reading of an initial state: without contacts and impulses, with h = 0."""
        none = np.zeros((0, 2), np.int64), np.zeros((0, 3)), np.zeros((0, 3, 3)), np.zeros((0, 6))
        return cls(world, state, state, 0.0, *none)


@dataclass(frozen=True, eq=False)
class BoundSensor:
    """A sensor bound to its world."""

    name: str
    function: Callable[[Reading], Any]
    """Function that returns the value for a step, always of the same shape."""
    places: tuple[Point, ...] = ()
    """Points at which it is drawn; empty for user-defined functions."""

    def read(self, reading: Reading) -> Array:
        """Return the value for a step [any]."""
        owner, t = f"sensor {self.name!r}", reading.state.t
        value = called(owner, "function", self.function, (reading,), t)
        try:
            return np.array(value, float)
        except (TypeError, ValueError):
            raise ModelError(f"{owner} at t = {t:.9g} s shows {value!r}; give real numbers") from None


@dataclass(frozen=True, eq=False)
class Sensing(ABC):
    """Base class of sensors as users define them, by the names of bodies and joints."""

    name: str
    """Name of the sensor in trajectories."""

    @abstractmethod
    def bind(self, world: "World") -> BoundSensor:
        """Return the sensor bound to a world."""


@dataclass(frozen=True, eq=False)
class Sensor(Sensing):
    """User-defined sensor: a function of (world, state), or of the `Reading` of the step.

    Example:

        height = ss.sensors.Sensor("height", lambda world, state: world.pose(state, "box")[0][2])
        push = ss.sensors.Sensor("push", lambda reading: reading.r[:, 0].sum())
    """

    function: Callable[["World", State], Any] | Callable[[Reading], Any]
    """Function that returns the value, always of the same shape."""

    def bind(self, world: "World") -> BoundSensor:
        function: Any = self.function
        if not callable(function):
            raise ModelError(
                f"sensor {self.name!r}: {function!r} is not a function of (world, state) or of a reading"
            )
        if _takes_one(function):
            return BoundSensor(self.name, function)
        return BoundSensor(self.name, lambda reading: function(reading.world, reading.state))


def _takes_one(function: Callable[..., Any]) -> bool:
    """Whether a function takes exactly one positional argument."""
    try:
        parameters = signature(getattr(function, "py_func", function)).parameters.values()
    except (TypeError, ValueError):
        return False
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len(places) == 1 and not any(p.kind is p.VAR_POSITIONAL for p in parameters)


@dataclass(frozen=True, eq=False)
class PositionSensor(Sensing):
    """Position of a point of a body [m], shape (3,); the default point is the centre of mass.

    Example:

        b = ss.WorldBuilder()
        b.body("ball", ss.Sphere(0.1), position=(0, 0, 1))
        b.sensor(ss.sensors.PositionSensor("where", "ball"))
        print(ss.simulate(b.build(), until=0.1, h=1e-2).sensors["where"][-1])
    """

    body: str
    point: ArrayLike | None = None
    """Point in the inertial frame at the start [m], shape (3,)."""

    def bind(self, world: "World") -> BoundSensor:
        point = bind_point(f"sensor {self.name!r}", world, self.body, "point", self.point)
        return BoundSensor(self.name, lambda reading: point.position(reading.state.q), places=(point,))


@dataclass(frozen=True, eq=False)
class VelocitySensor(Sensing):
    """Velocity of a point of a body in the inertial frame [m/s], shape (3,); the default point is the
    centre of mass.
    """

    body: str
    point: ArrayLike | None = None
    """Point in the inertial frame at the start [m], shape (3,)."""

    def bind(self, world: "World") -> BoundSensor:
        point = bind_point(f"sensor {self.name!r}", world, self.body, "point", self.point)
        return BoundSensor(
            self.name, lambda reading: point.velocity(reading.state.q, reading.state.v), places=(point,)
        )


@dataclass(frozen=True, eq=False)
class JointSensor(Sensing):
    """Coordinate of a joint and its rate [m, m/s or rad, rad/s], shape (2,).

    Angles are between -π and π. The coordinate of a cylindrical joint is that of sliding, or with `turn` the
    angle.
    """

    joint: str
    turn: bool = False

    def bind(self, world: "World") -> BoundSensor:
        j, column = column_of(f"sensor {self.name!r}", world.joints, self.joint, self.turn)
        return BoundSensor(
            self.name,
            lambda of: np.array(coordinate(of.world.joints, j, column, of.state.q, of.state.v)),
            places=(joint_place(world.joints, j),),
        )


@dataclass(frozen=True, eq=False)
class DistanceSensor(Sensing):
    """Distance between two points of bodies [m], shape (); the default points are the centres of mass."""

    first: str
    second: str | None = None
    """Second body; if None, `second_point` is fixed in the inertial frame."""
    first_point: ArrayLike | None = None
    """Point in the inertial frame at the start [m], shape (3,)."""
    second_point: ArrayLike | None = None
    """Point in the inertial frame at the start [m], shape (3,)."""

    def bind(self, world: "World") -> BoundSensor:
        owner = f"sensor {self.name!r}"
        first = bind_point(owner, world, self.first, "first_point", self.first_point)
        second = bind_point(owner, world, self.second, "second_point", self.second_point)
        return BoundSensor(
            self.name, lambda reading: _distance(first, second, reading.state.q), places=(first, second)
        )


def joint_place(joints: Joints, j: int) -> Point:
    """Return the point of joint j in its first body."""
    return Point(int(joints.body[j, 0]), joints.point[j, 0])


def _distance(first: Point, second: Point, q: Array) -> Array:
    return np.array(np.linalg.norm(first.position(q) - second.position(q)))
