"""Forces on bodies besides gravity: springs, dampers, actuators, and user-defined functions.

Users define forces by the names of bodies and joints; `bound` converts them to arrays and functions of a
world.
"""

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.kernels.bodies.layout import DamperArrays, ForceArrays, PushArrays, SpringArrays
from stickslip.kernels.bodies.springs import add_dampers, add_pushes, add_springs, spring_potential
from stickslip.mechanics.given import columns, not_negative
from stickslip.mechanics.inputs import Input, changed
from stickslip.mechanics.points import Point, bind_point, number_of
from stickslip.mechanics.written_forces import (
    Actuators,
    JointEffort,
    WrittenForce,
    joint_effort,
    read_only,
    written_force,
)
from stickslip.state import Array, IntArray, ModelError

if TYPE_CHECKING:
    from stickslip.mechanics.world import World

POTENTIAL, DAMPING, WORKING = 0, 1, 2
"""Rows of F in `Forces.add`: forces of a potential, dissipative forces, and all others; energies are summed
separately for each."""
Given = Any
"""A constant, or a function of some arguments, which are matched by name."""


@dataclass(frozen=True, eq=False)
class Force:
    """Base class of forces as users define them, by the names of bodies and joints."""

    name: str


@dataclass(frozen=True, eq=False)
class Spring(Force):
    """Linear spring with a damper between two points: f = -stiffness (l - length) - damping l̇.

    Example:

        b = ss.WorldBuilder()
        b.body("ball", ss.Sphere(0.1), position=(0, 0, 1))
        b.force(ss.forces.Spring("tether", "ball", stiffness=50, second_point=(0, 0, 2)))
    """

    first: str
    """First body."""
    second: str | None = None
    """Second body; if None, `second_point` is fixed in the inertial frame."""
    _: KW_ONLY
    stiffness: float
    """Stiffness [N/m], >= 0."""
    length: float | None = None
    """Rest length [m], >= 0; by default the length at the start."""
    damping: float = 0.0
    """Damping coefficient [N s/m], >= 0."""
    first_point: ArrayLike | None = None
    """Point of the first body in the inertial frame at the start [m], shape (3,); by default its centre of
    mass."""
    second_point: ArrayLike | None = None
    """Point of the second body in the inertial frame at the start [m], shape (3,); by default its centre of
    mass."""


@dataclass(frozen=True, eq=False)
class Damper(Force):
    """Viscous force -linear (relative velocity) at a point of the first body, and viscous moment -angular
    (relative angular velocity), relative to a second body or the inertial frame.

    Example:

        b = ss.WorldBuilder()
        b.body("ball", ss.Sphere(0.1), position=(0, 0, 1))
        b.force(ss.forces.Damper("air", "ball", linear=0.1))
    """

    first: str
    """First body."""
    second: str | None = None
    """Second body; None is the inertial frame."""
    _: KW_ONLY
    linear: float = 0.0
    """Coefficient of the force [N s/m], >= 0."""
    angular: float = 0.0
    """Coefficient of the moment [N m s], >= 0."""
    point: ArrayLike | None = None
    """Point of the first body in the inertial frame at the start [m], shape (3,); by default its centre of
    mass."""


@dataclass(frozen=True, eq=False)
class Actuator(Force):
    """Force [N] along the axis of a joint, or moment [N m] about it, which acts on the first body of the
    joint
    and with opposite sign on the second.

    The effort is a number, a function of any of (t, position, velocity) of the coordinate, or an `Input`.
    Angles are between -π and π, or within half a turn of the middle of the stops.

    Example:

        b = ss.WorldBuilder()
        b.body("wheel", ss.Cylinder(0.1, 0.02), position=(0, 0, 0))
        b.joint("axle", "hinge", "wheel", point=(0, 0, 0), axis=(0, 0, 1))
        b.force(ss.forces.Actuator("motor", "axle", lambda t, velocity: 0.1 - 0.01 * velocity))
    """

    joint: str
    effort: Given = field(default_factory=Input)
    """Constant, function or `Input`; by default an input with value 0."""
    turn: bool = False
    """Whether the actuator turns a cylindrical joint instead of sliding it."""


@dataclass(frozen=True, eq=False)
class BodyForce(Force):
    """Force [N] at a point of a body and moment [N m], in the inertial frame.

    Both are constants, inputs, or functions of any of (t, x, p, v, spin): position and velocity of the centre
    of mass, quaternion and angular velocity, in the inertial frame.

    Example:

        b = ss.WorldBuilder()
        b.body("ball", ss.Sphere(0.1), position=(0, 0, 1))
        b.force(ss.forces.BodyForce("drag", "ball", force=lambda v: -0.1 * v))
    """

    body: str
    _: KW_ONLY
    force: Given = None
    moment: Given = None
    point: ArrayLike | None = None
    """Point of application in the inertial frame at the start [m], shape (3,); by default the centre of
    mass."""


@dataclass(frozen=True, eq=False)
class Springs:
    """Springs of a world as arrays."""

    names: tuple[str, ...]
    body: IntArray
    """First and second body, -1 for the inertial frame [-], shape (ns, 2)."""
    point: Array
    """End points in the frames of the bodies [m], shape (ns, 2, 3)."""
    stiffness: Array
    """Stiffnesses [N/m], shape (ns,)."""
    length: Array
    """Rest lengths [m], shape (ns,)."""
    damping: Array
    """Damping coefficients [N s/m], shape (ns,)."""


@dataclass(frozen=True, eq=False)
class Dampers:
    """Dampers of a world as arrays."""

    names: tuple[str, ...]
    body: IntArray
    """First and second body, -1 for the inertial frame [-], shape (nd, 2)."""
    point: Array
    """Points in the frame of the first body [m], shape (nd, 3)."""
    linear: Array
    """Coefficients of the forces [N s/m], shape (nd,)."""
    angular: Array
    """Coefficients of the moments [N m s], shape (nd,)."""


@dataclass(frozen=True, eq=False)
class Forces:
    """Forces of a world besides gravity."""

    springs: Springs | None = None
    dampers: Dampers | None = None
    written: tuple[JointEffort | WrittenForce, ...] = ()
    """Actuators and user-defined forces."""
    bodies: tuple[str, ...] = field(default=(), repr=False)
    """Names of the bodies of the world, for error messages."""
    wrench: Array | None = None
    """Constant force on the centre of mass and constant moment of each body, both in the inertial frame
    [N, N m], shape (n, 6); set by `Parameters`."""

    def add(self, t: float, q: Array, v: Array, F: Array) -> None:
        """Add forces (inertial frame [N]) and moments (body frame [N m]) to F, shape (3, n, 6).

        F[POTENTIAL] receives forces of a potential, F[DAMPING] dissipative forces, F[WORKING] all others.
        Raise a ModelError that names force, body and t for a non-finite value.
        """
        q, v = read_only(q), read_only(v)
        if self.springs is not None:
            s = self.springs
            bad = add_springs(self.arrays.springs, q, v, F[POTENTIAL], F[DAMPING])
            if bad >= 0:
                raise self._not_finite("spring", s.names[bad], s.body[bad], t)
        if self.dampers is not None:
            d = self.dampers
            bad = add_dampers(self.arrays.dampers, q, v, F[DAMPING])
            if bad >= 0:
                raise self._not_finite("damper", d.names[bad], d.body[bad], t)
        if self.actuators is not None:
            self.actuators.add(self.actuators.values(t, q, v), q, F[WORKING])
        add_pushes(self.arrays.pushes, q, F[WORKING])
        for one in self.written:
            if isinstance(one, WrittenForce) and one.constant is None:
                one.add(t, q, v, F[WORKING])

    @cached_property
    def actuators(self) -> Actuators | None:
        """Actuators among `written` as arrays; None if there are none."""
        return Actuators.of(self.written)

    @cached_property
    def arrays(self) -> ForceArrays:
        """Springs, dampers and constant forces on bodies as arrays for kernels."""
        s, d = self.springs or Springs(*columns([], (2,), (2, 3), (), (), ())), self.dampers
        d = d or Dampers(*columns([], (2,), (3,), (), ()))
        pushes = [
            (one.point.body, one.point.local, one.constant)
            for one in self.written
            if isinstance(one, WrittenForce) and one.constant is not None
        ]
        if self.wrench is not None:
            pushes += [(int(i), np.zeros(3), self.wrench[i]) for i in np.flatnonzero(self.wrench.any(axis=1))]
        return ForceArrays(
            SpringArrays(s.body, s.point, s.stiffness, s.length, s.damping),
            DamperArrays(d.body, d.point, d.linear, d.angular),
            PushArrays(*columns([("", *one) for one in pushes], (), (3,), (6,))[1:]),
        )

    def with_values(self, values: Mapping[int, Array]) -> "Forces":
        """Return a copy with other values of inputs, by index in `written` [N, N m]; other data are
        shared."""
        written, rows, copied = list(self.written), self._rows, changed(self)
        actuators, arrays = self.actuators, self.arrays
        effort: Array | None = None
        wrench: Array | None = None
        for k, value in values.items():
            one = written[k] = written[k].with_value(value)
            if isinstance(one, JointEffort):
                assert actuators is not None
                effort = actuators.constant.copy() if effort is None else effort
                effort[rows[k]] = value
            elif (constant := one.constant) is not None:
                wrench = arrays.pushes.wrench.copy() if wrench is None else wrench
                wrench[rows[k]] = constant
        copied.__dict__["written"] = tuple(written)
        if effort is not None:
            copied.__dict__["actuators"] = changed(actuators, constant=effort)
        if wrench is not None:
            copied.__dict__["arrays"] = arrays._replace(pushes=arrays.pushes._replace(wrench=wrench))
        return copied

    @cached_property
    def _rows(self) -> tuple[int, ...]:
        """Index of each of `written` among the actuators, the constant forces or the functions."""
        groups = [
            "actuator" if isinstance(one, JointEffort) else "function" if one.constant is None else "push"
            for one in self.written
        ]
        return tuple(groups[:k].count(group) for k, group in enumerate(groups))

    @property
    def need_python(self) -> bool:
        """Whether any force is a Python function."""
        return any(
            (one.effort if isinstance(one, JointEffort) else one).constant is None for one in self.written
        )

    def potential(self, t: float, q: Array) -> float:
        """Potential energy of all springs [J]; excludes gravity."""
        return 0.0 if self.springs is None else float(spring_potential(self.arrays.springs, q))

    def __len__(self) -> int:
        compiled = (table for table in (self.springs, self.dampers) if table is not None)
        pushed = 0 if self.wrench is None else int(self.wrench.any(axis=1).sum())
        return sum(len(table.names) for table in compiled) + len(self.written) + pushed

    def __str__(self) -> str:
        kinds = {
            "springs": 0 if self.springs is None else len(self.springs.names),
            "dampers": 0 if self.dampers is None else len(self.dampers.names),
            "actuators": sum(isinstance(one, JointEffort) for one in self.written),
            "body forces": sum(isinstance(one, WrittenForce) for one in self.written),
            "wrenches": 0 if self.wrench is None else int(self.wrench.any(axis=1).sum()),
        }
        return ", ".join(f"{count} {kind}" for kind, count in kinds.items() if count)

    def _not_finite(self, kind: str, name: str, sides: IntArray, t: float) -> ModelError:
        bodies = " and ".join(repr(self.bodies[side]) for side in sides if side >= 0)
        return ModelError(f"{kind} {name!r} on body {bodies} is not finite at t = {t:.9g} s")


def bound(world: "World", forces: Iterable[Force]) -> Forces:
    """Check the forces, and return them bound to the bodies and joints of a world."""
    springs: list[tuple[Any, ...]] = []
    dampers: list[tuple[Any, ...]] = []
    written: list[JointEffort | WrittenForce] = []
    for force in forces:
        match force:
            case Spring():
                springs.append(_spring(world, force))
            case Damper():
                dampers.append(_damper(world, force))
            case Actuator():
                written.append(joint_effort(world, force.name, force.joint, force.effort, force.turn))
            case BodyForce():
                body = number_of(f"body force {force.name!r}", world, force.body)
                point = bind_point(f"body force {force.name!r}", world, force.body, "point", force.point)
                _check_moved(f"body force {force.name!r}", world, body)
                written.append(written_force(force.name, force.body, point, force.force, force.moment))
            case _:
                raise ModelError(f"force {force.name!r} is not a Spring, Damper, Actuator or BodyForce")
    return Forces(
        Springs(*columns(springs, (2,), (2, 3), (), (), ())) if springs else None,
        Dampers(*columns(dampers, (2,), (3,), (), ())) if dampers else None,
        tuple(written),
        world.names,
    )


def _spring(world: "World", spring: Spring) -> tuple[Any, ...]:
    owner = f"spring {spring.name!r}"
    first = bind_point(owner, world, spring.first, "first_point", spring.first_point)
    second = bind_point(owner, world, spring.second, "second_point", spring.second_point)
    _check_sides(owner, world, first, second)
    start = float(np.linalg.norm(first.position(world.start.q) - second.position(world.start.q)))
    return (
        spring.name,
        (first.body, second.body),
        (first.local, second.local),
        not_negative(owner, "stiffness", spring.stiffness),
        start if spring.length is None else not_negative(owner, "length", spring.length),
        not_negative(owner, "damping", spring.damping),
    )


def _damper(world: "World", damper: Damper) -> tuple[Any, ...]:
    owner = f"damper {damper.name!r}"
    first = bind_point(owner, world, damper.first, "point", damper.point)
    second = Point(-1 if damper.second is None else number_of(owner, world, damper.second), np.zeros(3))
    _check_sides(owner, world, first, second)
    return (
        damper.name,
        (first.body, second.body),
        first.local,
        not_negative(owner, "linear", damper.linear),
        not_negative(owner, "angular", damper.angular),
    )


def _check_sides(owner: str, world: "World", first: Point, second: Point) -> None:
    if first.body == second.body:
        raise ModelError(f"{owner}: body {world.names[first.body]!r} cannot act on itself")
    _check_moved(owner, world, first.body, second.body)


def _check_moved(owner: str, world: "World", *bodies: int) -> None:
    if all(body < 0 or world.row[body] < 0 for body in bodies):
        names = ", ".join(repr(world.names[body]) for body in bodies if body >= 0)
        raise ModelError(f"{owner}: {names} is not dynamic; at least one body must be dynamic")
