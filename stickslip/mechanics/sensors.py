"""Sensors: numbers read from a state, recorded beside it."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.mechanics.given import called
from stickslip.mechanics.joints import column_of, coordinate
from stickslip.mechanics.points import Point, bind_point
from stickslip.state import Array, ModelError, State

if TYPE_CHECKING:
    from stickslip.mechanics.world import World


@dataclass(frozen=True, eq=False)
class Sensor:
    """Something that is measured: `Sensor("height", lambda world, state: world.pose(state, "box")[0][2])`."""

    name: str
    """By which a trajectory knows it."""
    function: Callable[["World", State], Any]
    """What it shows in a state; always of the same shape."""

    def read(self, world: "World", state: State) -> Array:
        """What it shows [any]."""
        owner = f"sensor {self.name!r}"
        value = called(owner, "function", self.function, (world, state), state.t)
        try:
            return np.array(value, float)
        except (TypeError, ValueError):
            raise ModelError(f"{owner} at t = {state.t:.9g} s shows {value!r}; give real numbers") from None

    def bind(self, world: "World") -> "Sensor":
        """Itself."""
        if not callable(self.function):
            raise ModelError(f"sensor {self.name!r}: {self.function!r} is not a function of (world, state)")
        return self


@dataclass(frozen=True, eq=False)
class Sensing(ABC):
    """A sensor that is known by the names of what it measures, until a world is there."""

    name: str
    """By which a trajectory knows it."""

    @abstractmethod
    def bind(self, world: "World") -> Sensor:
        """The sensor in that world."""


@dataclass(frozen=True, eq=False)
class PositionSensor(Sensing):
    """Where a point of a body is [m], shape (3,); by default its centre of mass."""

    body: str
    point: ArrayLike | None = None
    """Inertial, at the start [m], shape (3,)."""

    def bind(self, world: "World") -> Sensor:
        point = bind_point(f"sensor {self.name!r}", world, self.body, "point", self.point)
        return Sensor(self.name, lambda world, state: point.position(state.q))


@dataclass(frozen=True, eq=False)
class VelocitySensor(Sensing):
    """The velocity of a point of a body [m/s], shape (3,), inertial; by default of its centre of mass."""

    body: str
    point: ArrayLike | None = None
    """Inertial, at the start [m], shape (3,)."""

    def bind(self, world: "World") -> Sensor:
        point = bind_point(f"sensor {self.name!r}", world, self.body, "point", self.point)
        return Sensor(self.name, lambda world, state: point.velocity(state.q, state.v))


@dataclass(frozen=True, eq=False)
class JointSensor(Sensing):
    """The coordinate of a joint and its rate [m, m/s or rad, rad/s], shape (2,).

    Angles are from -π to π. A cylindrical joint shows its sliding, or its angle where `turn` is set.
    """

    joint: str
    turn: bool = False

    def bind(self, world: "World") -> Sensor:
        j, column = column_of(f"sensor {self.name!r}", world.joints, self.joint, self.turn)
        return Sensor(
            self.name,
            lambda world, state: np.array(coordinate(world.joints, j, column, state.q, state.v)),
        )


@dataclass(frozen=True, eq=False)
class DistanceSensor(Sensing):
    """The distance of two points of bodies [m], shape (); by default of their centres of mass."""

    first: str
    second: str | None = None
    """None: `second_point` stands still in the inertial frame."""
    first_point: ArrayLike | None = None
    """Inertial, at the start [m], shape (3,)."""
    second_point: ArrayLike | None = None
    """Inertial, at the start [m], shape (3,)."""

    def bind(self, world: "World") -> Sensor:
        owner = f"sensor {self.name!r}"
        first = bind_point(owner, world, self.first, "first_point", self.first_point)
        second = bind_point(owner, world, self.second, "second_point", self.second_point)
        return Sensor(self.name, lambda world, state: _distance(first, second, state.q))


def _distance(first: Point, second: Point, q: Array) -> Array:
    return np.array(np.linalg.norm(first.position(q) - second.position(q)))
