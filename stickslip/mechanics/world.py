"""A world: bodies, shapes, materials, joints and forces as frozen arrays. `WorldBuilder` makes it.

Bodies are numbered in the order in which they were placed, whatever their kind. A body's frame stands in its
centre of mass; q = (x, p) and v = (ẋ, Ω) of a body are as `State` says, so that its mass matrix
diag(m I, J) is constant.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np

from stickslip.laws import IMPACTS, NewtonImpact, PoissonImpact
from stickslip.mechanics.forces import Forces
from stickslip.mechanics.given import Given
from stickslip.mechanics.inputs import DeclaredInput
from stickslip.mechanics.joints import JointKind, Joints
from stickslip.mechanics.materials import Materials
from stickslip.mechanics.motions import Motions
from stickslip.mechanics.sensors import BoundSensor
from stickslip.mechanics.shapes import Shape
from stickslip.names import LISTED, alternatives, listing
from stickslip.rotations import cross, matrices
from stickslip.state import Array, BoolArray, IntArray, ModelError, State, UnknownNameError, check_numbers

UNIT = 1e-6
"""Quaternions of a state are of unit length to this [-]."""


class BodyKind(IntEnum):
    """Kind of motion of a body: dynamic, kinematic or fixed."""

    DYNAMIC = 0
    """Moves by forces and contacts."""
    KINEMATIC = 1
    """Moves as prescribed, independent of forces."""
    FIXED = 2
    """Does not move."""


@dataclass(frozen=True, eq=False)
class Shapes:
    """The shapes of all bodies, one row each; a compound has a row per part."""

    shape: tuple[Shape, ...]
    """What each is."""
    body: IntArray
    """Whose it is [-], shape (ns,)."""
    position: Array
    """Of its origin in the frame of the body [m], shape (ns, 3)."""
    quaternion: Array
    """Its orientation in the frame of the body, scalar first [-], shape (ns, 4)."""
    material: IntArray
    """Row of `Materials` [-], shape (ns,)."""
    group: IntArray
    """Row of `Filters.collide` [-], shape (ns,)."""


@dataclass(frozen=True, eq=False)
class Filters:
    """Who never touches whom."""

    groups: tuple[str, ...]
    """Names of the groups of shapes; every shape is in one."""
    collide: BoolArray
    """Whether shapes of two groups may touch [-], shape (ng, ng), symmetric."""
    apart: IntArray
    """Pairs of bodies that never touch, the smaller number first, sorted [-], shape (k, 2)."""


@dataclass(frozen=True, eq=False)
class World:
    """Bodies with their joints, forces, sensors and contact laws; frozen. `start` is the initial state.

    `WorldBuilder.build` makes worlds.

    Example:

        b = ss.WorldBuilder()
        b.body("floor", ss.Plane(), fixed=True)
        b.body("ball", ss.Sphere(0.1), position=(0, 0, 1))
        world = b.build()
        print(world.names, world.mass)
    """

    names: tuple[str, ...]
    """Names of the bodies."""
    kind: IntArray
    """`BodyKind` of each [-], shape (n,)."""
    row: IntArray
    """Number of a body among the dynamic ones, -1 for the others [-], shape (n,)."""
    mass: Array
    """Mass of each body; 0 if it is not dynamic [kg], shape (n,)."""
    inertia: Array
    """About the centre of mass, in the frame of the body; 0 where it is not dynamic [kg m²],
    shape (n, 3, 3)."""
    origin: Array
    """Origin of the frame of the shapes, as given by the user, in the frame of the body [m], shape (n, 3)."""
    M: Array
    """Mass matrices of the dynamic bodies [kg, kg m²], shape (nd, 6, 6)."""
    shapes: Shapes
    materials: Materials
    filters: Filters
    gravity: Array
    """[m/s²], shape (3,)."""
    forces: Forces
    joints: Joints
    sensors: tuple[BoundSensor, ...]
    start: State
    motions: Motions = field(default_factory=Motions)
    """Motions of the kinematic bodies."""
    inputs: Mapping[str, DeclaredInput] = field(default_factory=dict)
    """Numbers that may be set between steps, by the names of their forces and kinematic bodies."""
    given: Given | None = field(default=None, repr=False)
    """Data of the builder that made the world, for model files."""
    number: Mapping[str, int] = field(init=False, repr=False)
    """Number of each body by its name."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "number", {name: i for i, name in enumerate(self.names)})

    def body(self, name: str) -> int:
        """Number of the body of that name; an unknown one is an UnknownNameError."""
        try:
            return self.number[name]
        except KeyError:
            raise UnknownNameError(
                f"unknown body {name!r}; {alternatives(name, self.names, most=LISTED)}"
            ) from None

    def law(self, first: str, second: str, impact: str = "newton") -> NewtonImpact | PoissonImpact:
        """The law of a contact of two materials, as interactions of a system have it.

        impact: `newton`, or `poisson` for steps of SemiExplicitMoreauJean(impact="poisson").
        """
        if impact not in IMPACTS:
            raise UnknownNameError(f"unknown impact {impact!r}; {alternatives(impact, IMPACTS)}")
        names = self.materials.names
        for name in (first, second):
            if name not in names:
                raise UnknownNameError(f"unknown material {name!r}; {alternatives(name, names, most=LISTED)}")
        return IMPACTS[impact].of(self.materials.law[names.index(first), names.index(second)])

    def pose(self, state: State, name: str) -> tuple[Array, Array]:
        """Return the pose of the frame in which the user gave the shapes of a body: position [m], shape (3,),
        and unit quaternion, scalar first, shape (4,)."""
        i = self.body(name)
        x, p = state.q[7 * i : 7 * i + 3], state.q[7 * i + 3 : 7 * i + 7]
        return x + matrices(p) @ self.origin[i], p.copy()

    def velocity(self, state: State, name: str) -> tuple[Array, Array]:
        """Return the velocity of the origin of that frame [m/s] and the angular velocity [rad/s], inertial,
        shape (3,)."""
        i = self.body(name)
        R = matrices(state.q[7 * i + 3 : 7 * i + 7])
        spin = R @ state.v[6 * i + 3 : 6 * i + 6]
        return state.v[6 * i : 6 * i + 3] + cross(spin, R @ self.origin[i]), spin

    def as_system(
        self, systems: Iterable[Any] = (), interactions: Iterable[Any] = (), couplings: Iterable[Any] = ()
    ) -> Any:
        """The same mechanics as equations: a `NonsmoothSystem` of Newton-Euler bodies, with systems,
        interactions and couplings of your own, which name bodies and joints of the world as they do systems.

        A ModelError says where there are too many pairs of shapes that may meet.
        """
        from importlib import import_module

        # The room where systems and worlds meet is above this one.
        made = import_module("stickslip.schemes.equations").as_system
        return made(self, systems, interactions, couplings)

    def check_state(self, state: State) -> None:
        """Raise a ModelError for an invalid state of this world: wrong sizes, numbers that are not finite,
        quaternions that are not of unit length, or fixed bodies that move."""
        n = len(self.names)
        check_numbers(
            state, {"q": 7 * n, "v": 6 * n}, lambda key, k: self._owner(k // (7 if key == "q" else 6))
        )
        with np.errstate(over="ignore"):
            lengths = np.linalg.norm(state.q.reshape(-1, 7)[:, 3:], axis=1)
        for k in np.flatnonzero(~(np.abs(lengths - 1.0) <= UNIT)).tolist():
            raise ModelError(
                f"{self._owner(k)}: at t = {state.t:.9g} s, its quaternion has length {lengths[k]:.9g};"
                " give one of length 1, p / |p|"
            )
        moving = state.v.reshape(-1, 6).any(axis=1)
        for k in np.flatnonzero(moving & (self.kind == BodyKind.FIXED)).tolist():
            raise ModelError(f"{self._owner(k)}: at t = {state.t:.9g} s it moves, but it is fixed")

    def _owner(self, body: int) -> str:
        return f"body {self.names[body]!r}"

    def _repr_html_(self) -> str:
        """How notebooks show it."""
        from importlib import import_module

        # The room that draws is above this one, and is looked at only when there is something to be seen.
        return str(import_module("stickslip.view.notebook").world_html(self))

    def __str__(self) -> str:
        """What is in it, by kinds."""
        bodies = _counted(BodyKind(kind).name.lower() for kind in self.kind)
        rows = [
            ("gravity", "({:g}, {:g}, {:g}) m/s²".format(*self.gravity)),
            ("shapes", _counted(type(shape).__name__ for shape in self.shapes.shape)),
            ("materials", listing(self.materials.names, LISTED)),
            ("groups", listing(self.filters.groups, LISTED) if len(self.filters.groups) > 1 else ""),
            ("apart", f"{len(self.filters.apart)} pairs" if len(self.filters.apart) else ""),
            ("joints", _counted(JointKind(kind).name.lower() for kind in self.joints.kind)),
            ("forces", str(self.forces)),
            ("inputs", listing(self.inputs, LISTED) if self.inputs else ""),
            ("sensors", listing((sensor.name for sensor in self.sensors), LISTED) if self.sensors else ""),
        ]
        lines = [f"World of {len(self.names)} bodies: {bodies or 'none'}; {self.mass.sum():.6g} kg"]
        return "\n".join(lines + [f"  {key:<9} {value}" for key, value in rows if value])

    def __repr__(self) -> str:
        return f"<World of {len(self.names)} bodies>"


def _counted(kinds: Iterable[str]) -> str:
    """«3 Cuboid, 1 Plane», the most frequent first."""
    return ", ".join(f"{count} {kind}" for kind, count in Counter(kinds).most_common())
