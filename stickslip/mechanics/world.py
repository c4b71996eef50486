"""Worlds: bodies, shapes, materials, joints and forces as frozen arrays, created by `WorldBuilder`.

Bodies are numbered in the order in which they were added, whatever their kind. The origin of a body's frame
is
its centre of mass. q = (x, p) and v = (ẋ, Ω) of a body are as documented in `State`, so that its mass matrix
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
"""Largest error of the length of a quaternion in a state [-]; heuristic."""


class BodyKind(IntEnum):
    """Kind of motion of a body: dynamic, kinematic or fixed."""

    DYNAMIC = 0
    """Moved by forces and contacts."""
    KINEMATIC = 1
    """Moved as prescribed, independent of forces."""
    FIXED = 2
    """Does not move."""


@dataclass(frozen=True, eq=False)
class Shapes:
    """Shapes of all bodies, one row each; a compound has one row per part."""

    shape: tuple[Shape, ...]
    """The shapes."""
    body: IntArray
    """Body of each shape [-], shape (ns,)."""
    position: Array
    """Position of its origin in the frame of the body [m], shape (ns, 3)."""
    quaternion: Array
    """Orientation in the frame of the body, scalar first [-], shape (ns, 4)."""
    material: IntArray
    """Index of its material in `Materials` [-], shape (ns,)."""
    group: IntArray
    """Index of its group in `Filters.groups` [-], shape (ns,)."""


@dataclass(frozen=True, eq=False)
class Filters:
    """Pairs of groups and of bodies whose contacts are excluded."""

    groups: tuple[str, ...]
    """Names of the groups; every shape belongs to one group."""
    collide: BoolArray
    """Whether shapes of two groups may touch [-], shape (ng, ng), symmetric."""
    apart: IntArray
    """Pairs of bodies whose contacts are excluded, smaller index first, sorted [-], shape (k, 2)."""


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
    """`BodyKind` of each body [-], shape (n,)."""
    row: IntArray
    """Index of each body among the dynamic bodies, -1 if it is not dynamic [-], shape (n,)."""
    mass: Array
    """Mass of each body; 0 if it is not dynamic [kg], shape (n,)."""
    inertia: Array
    """Inertia about the centre of mass in the frame of the body; 0 if it is not dynamic [kg m²],
    shape (n, 3, 3)."""
    origin: Array
    """Origin of the frame of the shapes, as given by the user, in the frame of the body [m], shape (n, 3)."""
    M: Array
    """Mass matrices of the dynamic bodies [kg, kg m²], shape (nd, 6, 6)."""
    shapes: Shapes
    materials: Materials
    filters: Filters
    gravity: Array
    """Gravity in the inertial frame [m/s²], shape (3,)."""
    forces: Forces
    joints: Joints
    sensors: tuple[BoundSensor, ...]
    start: State
    motions: Motions = field(default_factory=Motions)
    """Motions of the kinematic bodies."""
    inputs: Mapping[str, DeclaredInput] = field(default_factory=dict)
    """Inputs, which may be set between steps, by the names of their forces and kinematic bodies."""
    given: Given | None = field(default=None, repr=False)
    """Calls of the builder that created the world, for model files."""
    number: Mapping[str, int] = field(init=False, repr=False)
    """Index of each body by name."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "number", {name: i for i, name in enumerate(self.names)})

    def body(self, name: str) -> int:
        """Return the index of the body of that name; raise an UnknownNameError if there is none."""
        try:
            return self.number[name]
        except KeyError:
            raise UnknownNameError(
                f"unknown body {name!r}; {alternatives(name, self.names, most=LISTED)}"
            ) from None

    def law(self, first: str, second: str, impact: str = "newton") -> NewtonImpact | PoissonImpact:
        """Return the law of a contact between two materials, in the form that interactions of systems take.

        impact   `newton`, or `poisson` for steps of SemiExplicitMoreauJean(impact="poisson")
        """
        if impact not in IMPACTS:
            raise UnknownNameError(f"unknown impact {impact!r}; {alternatives(impact, IMPACTS)}")
        names = self.materials.names
        for name in (first, second):
            if name not in names:
                raise UnknownNameError(f"unknown material {name!r}; {alternatives(name, names, most=LISTED)}")
        return IMPACTS[impact].of(self.materials.law[names.index(first), names.index(second)])

    def pose(self, state: State, name: str) -> tuple[Array, Array]:
        """Return the pose of the user's frame of a body, in which its shapes were given: position [m], shape
        (3,), and unit quaternion, scalar first, shape (4,)."""
        i = self.body(name)
        x, p = state.q[7 * i : 7 * i + 3], state.q[7 * i + 3 : 7 * i + 7]
        return x + matrices(p) @ self.origin[i], p.copy()

    def velocity(self, state: State, name: str) -> tuple[Array, Array]:
        """Return the velocity of the origin of the user's frame [m/s] and the angular velocity [rad/s], both
        in the inertial frame, shape (3,)."""
        i = self.body(name)
        R = matrices(state.q[7 * i + 3 : 7 * i + 7])
        spin = R @ state.v[6 * i + 3 : 6 * i + 6]
        return state.v[6 * i : 6 * i + 3] + cross(spin, R @ self.origin[i]), spin

    def as_system(
        self, systems: Iterable[Any] = (), interactions: Iterable[Any] = (), couplings: Iterable[Any] = ()
    ) -> Any:
        """Return the world as equations: a `NonsmoothSystem` of Newton-Euler bodies.

        Further systems, interactions and couplings may be added; they refer to bodies and joints of the world
        by name, as they do to systems. Raise a ModelError if too many pairs of shapes may come into contact.
        """
        from importlib import import_module

        # Imported by name: the import ladder places `schemes` above this room.
        convert = import_module("stickslip.schemes.equations").as_system
        return convert(self, systems, interactions, couplings)

    def check_state(self, state: State) -> None:
        """Raise a ModelError for an invalid state of this world: wrong sizes, non-finite values, quaternions
        that are not of unit length, or fixed bodies that move."""
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
        """Return HTML for notebooks."""
        from importlib import import_module

        # Imported by name and on use: the import ladder places `view` above this room.
        return str(import_module("stickslip.view.notebook").world_html(self))

    def __str__(self) -> str:
        """Return a summary: the number of bodies, shapes, joints, forces and sensors by kind."""
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
    """Return counts such as "3 Cuboid, 1 Plane", the most frequent kind first."""
    return ", ".join(f"{count} {kind}" for kind, count in Counter(kinds).most_common())
