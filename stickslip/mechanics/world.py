"""A world: bodies, shapes, materials, joints and forces as frozen arrays. `WorldBuilder` makes it.

Bodies are numbered in the order in which they were placed, whatever their kind. A body's frame stands in its
centre of mass; q = (x, p) and v = (ẋ, Ω) of a body are as `State` says, so that its mass matrix
diag(m I, J) is constant.
"""

from dataclasses import dataclass
from enum import IntEnum

from stickslip.mechanics.forces import Forces
from stickslip.mechanics.joints import Joints
from stickslip.mechanics.sensors import Sensor
from stickslip.mechanics.shapes import Shape
from stickslip.state import Array, BoolArray, IntArray, ModelError, State


class BodyKind(IntEnum):
    """How a body moves."""

    DYNAMIC = 0
    """By forces and contacts."""
    KINEMATIC = 1
    """As prescribed, whatever pushes against it."""
    FIXED = 2
    """Not at all."""


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
class Materials:
    """What every pair of materials does when it touches; symmetric tables."""

    names: tuple[str, ...]
    mu: Array
    """Friction [-], shape (nm, nm)."""
    mu_roll: Array
    """Rolling friction [m], shape (nm, nm)."""
    mu_spin: Array
    """Torsional friction about the normal [m], shape (nm, nm)."""
    e: Array
    """Restitution [-], shape (nm, nm)."""


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
    """Bodies in space and all that acts between them; frozen. `start` is where they are at first."""

    names: tuple[str, ...]
    """Of the bodies."""
    kind: IntArray
    """`BodyKind` of each [-], shape (n,)."""
    row: IntArray
    """Number of a body among the dynamic ones, -1 for the others [-], shape (n,)."""
    mass: Array
    """Of each body; 0 where it is not dynamic [kg], shape (n,)."""
    inertia: Array
    """About the centre of mass, in the frame of the body; 0 where it is not dynamic [kg m²], (n, 3, 3)."""
    origin: Array
    """Of the frame in which the user gave the shapes, in the frame of the body [m], shape (n, 3)."""
    M: Array
    """Mass matrices of the dynamic bodies [kg, kg m²], shape (nd, 6, 6)."""
    shapes: Shapes
    materials: Materials
    filters: Filters
    gravity: Array
    """[m/s²], shape (3,)."""
    forces: Forces
    joints: Joints
    sensors: tuple[Sensor, ...]
    start: State

    def body(self, name: str) -> int:
        """Number of the body of that name; an unknown one is a KeyError that lists some of the known."""
        try:
            return self.names.index(name)
        except ValueError:
            known = ", ".join(self.names[:12]) + (", ..." if len(self.names) > 12 else "")
            raise KeyError(f"no body {name!r}; known: {known or 'none'}") from None

    def check_state(self, state: State) -> None:
        """Refuse a state whose arrays are not of this world."""
        n = len(self.names)
        for key, value, size in (("q", state.q, 7 * n), ("v", state.v, 6 * n)):
            if value.shape != (size,):
                raise ModelError(f"state.{key} has shape {value.shape}, expected ({size},): {n} bodies")
