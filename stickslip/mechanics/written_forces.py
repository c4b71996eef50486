"""User-defined forces as functions or constants: efforts of actuators, forces and moments on bodies."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.kernels.bodies.joints import add_efforts
from stickslip.kernels.bodies.springs import add_wrench
from stickslip.mechanics.given import numbers, of_all, value_of
from stickslip.mechanics.inputs import Input, changed
from stickslip.mechanics.joints import SLIDING, Joints, column_of, coordinate
from stickslip.mechanics.points import Point
from stickslip.rotations import turned
from stickslip.state import Array, IntArray, ModelError

if TYPE_CHECKING:
    from stickslip.mechanics.world import World

EFFORT = ("t", "position", "velocity")
"""Arguments of functions for efforts."""
BODY = ("t", "x", "p", "v", "spin")
"""Arguments of functions for forces and moments on bodies."""


@dataclass(frozen=True, eq=False)
class Written:
    """A user's constant or function."""

    owner: str
    """Owner in error messages."""
    field: str
    """Name of the quantity in error messages."""
    shape: tuple[int, ...]
    constant: Array | None
    """Value of a constant or input; None for a function [unit of the field], shape `shape`."""
    function: Callable[..., Any] | None
    unit: str = ""
    is_input: bool = False
    """Whether the constant may be set between steps."""

    def __call__(self, t: float, *arguments: Any) -> Array:
        """Return the value [unit of the field], shape `shape`, checked to be finite."""
        if self.constant is not None:
            return self.constant
        assert self.function is not None
        return value_of(self.owner, self.field, self.function, (t, *arguments), t, self.shape)


def written(
    owner: str, field: str, given: Any, shape: tuple[int, ...], arguments: tuple[str, ...], unit: str
) -> Written:
    """Return `given` as a constant of that shape, an input, or a function of all `arguments`."""
    if isinstance(given, Input):
        return Written(owner, field, shape, given.value(owner, field, shape), None, unit, True)
    if callable(given):
        return Written(owner, field, shape, None, of_all(owner, field, given, arguments), unit)
    return Written(owner, field, shape, numbers(owner, field, given, shape), None, unit)


@dataclass(frozen=True, eq=False)
class JointEffort:
    """An actuator bound to its world."""

    name: str
    joints: Joints
    joint: int
    """Index of the joint."""
    column: int
    """Coordinate of the joint: `SLIDING` or `TURNING`."""
    effort: Written

    @property
    def inputs(self) -> tuple[Written, ...]:
        """The effort, if it is an input."""
        return (self.effort,) if self.effort.is_input else ()

    def with_value(self, value: Array) -> "JointEffort":
        """Return a copy with another value of the input [N, N m], shape ()."""
        return changed(self, effort=changed(self.effort, constant=value))


def joint_effort(world: "World", name: str, joint: str, effort: Any, turn: bool) -> JointEffort:
    """Return an actuator of a joint, bound to its world."""
    owner = f"actuator {name!r}"
    j, column = column_of(owner, world.joints, joint, turn)
    sides = ", ".join(repr(world.names[body]) for body in world.joints.body[j] if body >= 0)
    owner, unit = f"{owner} on body {sides}", "N" if column == SLIDING else "N m"
    return JointEffort(name, world.joints, j, column, written(owner, "effort", effort, (), EFFORT, unit))


@dataclass(frozen=True, eq=False)
class WrittenForce:
    """A force and a moment on a body, bound to a world; None for zero."""

    name: str
    point: Point
    force: Written | None
    moment: Written | None

    @property
    def constant(self) -> Array | None:
        """Constant force and moment [N, N m], shape (6,); None if one is a function."""
        parts = [np.zeros(3) if one is None else one.constant for one in (self.force, self.moment)]
        return None if any(one is None for one in parts) else np.concatenate(parts)  # type: ignore[arg-type]

    @property
    def inputs(self) -> tuple[Written, ...]:
        """Force and moment, as far as they are inputs."""
        return tuple(one for one in (self.force, self.moment) if one is not None and one.is_input)

    def with_value(self, value: Array) -> "WrittenForce":
        """Return a copy with another value of the inputs [N, N m], shape (3,) or (6,)."""
        force, moment = self.force, self.moment
        if force is not None and force.is_input:
            force = changed(force, constant=value[:3])
        if moment is not None and moment.is_input:
            moment = changed(moment, constant=value[-3:])
        return WrittenForce(self.name, self.point, force, moment)

    def add(self, t: float, q: Array, v: Array, F: Array) -> None:
        """Add the wrench to F, shape (n, 6). q and v must be read-only, because users' functions see them."""
        i = self.point.body
        x, p, rate = q[7 * i : 7 * i + 3], q[7 * i + 3 : 7 * i + 7], v[6 * i : 6 * i + 3]
        spin = turned(p, v[6 * i + 3 : 6 * i + 6])
        f = np.zeros(3) if self.force is None else self.force(t, x, p, rate, spin)
        moment = np.zeros(3) if self.moment is None else self.moment(t, x, p, rate, spin)
        add_wrench(i, turned(p, self.point.local), f, moment, 1.0, q, F)


def written_force(name: str, body: str, point: Point, force: Any, moment: Any) -> WrittenForce:
    """Return a user-defined force on a body."""
    owner = f"body force {name!r} on body {body!r}"
    if force is None and moment is None:
        raise ModelError(f"{owner}: give a force or a moment")
    return WrittenForce(
        name,
        point,
        None if force is None else written(owner, "force", force, (3,), BODY, "N"),
        None if moment is None else written(owner, "moment", moment, (3,), BODY, "N m"),
    )


@dataclass(frozen=True, eq=False)
class Actuators:
    """Actuators of joints as arrays."""

    joints: Joints
    joint: IntArray
    """Joint of each actuator [-], shape (k,)."""
    column: IntArray
    """Coordinate of the joint: sliding or turning [-], shape (k,)."""
    effort: tuple[Written, ...]
    constant: Array
    """Constant efforts; NaN for functions [N, N m], shape (k,)."""

    @classmethod
    def of(cls, forces: Iterable[JointEffort | WrittenForce]) -> "Actuators | None":
        """Return the actuators among the forces; None if there are none."""
        actuators = [one for one in forces if isinstance(one, JointEffort)]
        if not actuators:
            return None
        constant = [
            np.nan if one.effort.constant is None else float(one.effort.constant) for one in actuators
        ]
        return cls(
            actuators[0].joints, np.array([one.joint for one in actuators]),
            np.array([one.column for one in actuators]),
            tuple(one.effort for one in actuators), np.array(constant),
        )  # fmt: skip

    def coordinate(self, k: int, q: Any, v: Any) -> tuple[Any, Any]:
        """Return coordinate and rate of actuator k [m, m/s or rad, rad/s]."""
        return coordinate(self.joints, int(self.joint[k]), int(self.column[k]), q, v)

    def values(self, t: float, q: Array, v: Array) -> Array:
        """Return all efforts at a state [N, N m], shape (k,)."""
        out = self.constant.copy()
        for k in np.flatnonzero(np.isnan(out)).tolist():
            out[k] = float(self.effort[k](t, *self.coordinate(k, q, v)))
        return out

    def add(self, effort: Any, q: Any, F: Any) -> None:
        """F (n, 6) <- F + wrenches of efforts (k,) at q (7 n,), real or complex."""
        add_efforts(self.joints.arrays, self.joint, self.column, effort, q, F)


def read_only(array: Array) -> Array:
    """Return a read-only view."""
    view = array.view()
    view.flags.writeable = False
    return view
