"""Prepared worlds: data that the steps of a world share, computed once and on first use.

A `World` is a plain value. Code that makes many steps of a world (a run, a derivative, a user's loop) passes
a `PreparedWorld` to the scheme in its place; a step that receives a `World` prepares it itself.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.detection.detector import Detector
from stickslip.kernels.bodies.joint_geometry import held
from stickslip.kernels.bodies.layout import BodyArrays, EffortArrays, Linkage
from stickslip.kernels.jit import formula
from stickslip.laws import components
from stickslip.mechanics.forces import Forces
from stickslip.mechanics.inputs import changed, with_inputs
from stickslip.mechanics.parameters import Parameters
from stickslip.mechanics.world import World
from stickslip.problem.checks import frozen
from stickslip.problem.mass import MassMatrix
from stickslip.schemes.body_stiffness import rates
from stickslip.state import Array, BoolArray, IntArray

if TYPE_CHECKING:
    from stickslip.schemes.equations import WorldEquations
    from stickslip.schemes.variational_contacts import StepShapes
    from stickslip.schemes.variational_start import StepStops

TOUCH = 1e-3
"""Least margin of detection, relative to the size of the smallest shape [-] (heuristic)."""

NO_FORCES: Array = frozen(np.zeros((3, 0, 6)))
"""Forces of a world without forces other than gravity [N, N m]."""


class Bodies:
    """Bodies of a world as arrays for the kernels."""

    def __init__(self, world: World):
        self.count = len(world.names)
        """Number n of bodies."""
        self.row = frozen(np.array(world.row, np.int64))
        """Row of each body in M, as `World.row` [-], shape (n,)."""
        self.dynamic = np.flatnonzero(self.row >= 0)
        """Numbers of the dynamic bodies [-], shape (nd,)."""
        self.mass: Array = frozen(np.array(world.mass, float))
        """Masses [kg], shape (n,)."""
        self.J: Array = frozen(np.array(world.inertia, float))
        """Inertia tensors [kg m²], shape (n, 3, 3)."""
        inverse = np.zeros_like(self.J)
        inverse[self.dynamic] = np.linalg.inv(self.J[self.dynamic])
        self.J_inverse: Array = frozen(0.5 * (inverse + inverse.transpose(0, 2, 1)))
        """Inverse inertia tensors, 0 for bodies without dynamics [1/(kg m²)], shape (n, 3, 3)."""
        self.gravity: Array = frozen(np.array(world.gravity, float))
        """Gravity [m/s²], shape (3,)."""
        self.M = MassMatrix(frozen(np.array(world.M, float)))
        """Mass matrix of the dynamic bodies, with its factors."""
        self.joint_length = _joint_lengths(world, self.mass, self.J_inverse, self.row)
        """Lengths that make rotational and translational rows of a joint comparable [m], shape (nj,)."""
        arms = np.linalg.norm(np.asarray(world.joints.point, float).reshape(-1, 2, 3), axis=2)
        self.joint_reach: Array = frozen(
            self.joint_length + np.where(_moves(world, self.row), arms, 0.0).max(axis=1, initial=0.0)
        )
        """Joint length plus the largest distance of a joint point from the centre of mass of a dynamic side
        [m], shape (nj,)."""
        extent = np.array([shape.reach for shape in world.shapes.shape], float)
        reach = np.linalg.norm(world.shapes.position, axis=1) + extent
        radius = np.zeros(self.count)
        np.maximum.at(radius, world.shapes.body, reach)
        self.radius: Array = frozen(radius)
        """Radii of bounding balls about the centres of mass [m], shape (n,); inf for planes."""
        finite = extent[np.isfinite(extent) & (extent > 0.0)]
        self.size = float(finite.min(initial=np.inf)) if finite.size else 1.0
        """Radius of the smallest shape [m]."""
        self.touch = TOUCH * self.size
        """Least margin of detection [m]."""
        weights = self.mass[self.dynamic] * float(np.linalg.norm(self.gravity))
        self.least_weight = float(weights.min(initial=np.inf)) if weights.size else 0.0
        """Least weight of a dynamic body [N]; 0 without dynamic bodies."""
        m = world.materials
        self.most_rows = int(components(m.law.reshape(-1, 4)).sum(axis=1).max())
        """Largest number of components of a contact."""
        touching = _touching(world, self.row)
        self.has_cones = bool(((m.mu > 0.0) | (m.mu_roll > 0.0))[touching].any())
        self.has_friction = self.has_cones or bool((m.mu_spin > 0.0)[touching].any())
        """Whether bodies that may touch have sliding or rolling friction (`has_cones`), or any friction."""
        self.forced, self.driven = len(world.forces) > 0, len(world.motions) > 0
        self.jointed = len(world.joints) > 0
        """Whether there are forces other than gravity (`forced`), kinematic bodies (`driven`), joints."""
        self.arrays = BodyArrays(
            self.row, self.mass, self.J, self.J_inverse, self.gravity, self.radius, self.M.matrix,
            self.M.inverse_root,
        )  # fmt: skip
        """The arrays above as the named tuple of the kernels."""
        self.forces = world.forces.arrays if self.forced else None
        """Springs, dampers and wrenches; None without forces other than gravity."""
        self.linkage: Linkage | None = None
        """Joints, and constant actuator efforts along them; None without joints."""
        if self.jointed:
            pairs = _redundant_pairs(world)
            self.linkage = Linkage(
                world.joints.arrays, _efforts(world.forces), self.joint_length, self.joint_reach,
                np.cumsum([0, *map(len, pairs)]), np.array([j for pair in pairs for j in pair], np.int64),
            )  # fmt: skip
        self.rates = rates(world, self.J_inverse)
        """Largest k/m of a spring [1/s²] and c/m of a damper [1/s], as `rates` returns them."""

    def with_forces(self, forces: Forces) -> "Bodies":
        """Return the same bodies under other forces with the same springs and dampers."""
        forced, linkage = len(forces) > 0, self.linkage
        linkage = None if linkage is None else linkage._replace(efforts=_efforts(forces))
        return changed(self, forced=forced, forces=forces.arrays if forced else None, linkage=linkage)


class PreparedWorld:
    """World with data that its steps share; each part is computed once, on first use."""

    def __init__(self, world: World, like: "PreparedWorld | None" = None):
        """like: a prepared world with the same shapes, materials, filters and joints, whose detector and
        tables are shared."""
        self.world = world
        self._like: PreparedWorld | None = None if like is None else (like._like or like)
        self.entries: dict[Any, Any] = {} if like is None else like.entries
        """Compiled entries of kernels, by the properties that determine the types of their arguments."""

    @classmethod
    def of(cls, world: "World | PreparedWorld") -> "PreparedWorld":
        """Return a prepared world; an argument that is already prepared is returned unchanged."""
        return world if isinstance(world, PreparedWorld) else cls(world)

    def with_forces(self, forces: Forces) -> "PreparedWorld":
        """Return the same world under other forces with the same springs and dampers."""
        prepared = PreparedWorld(replace(self.world, forces=forces), like=self)
        prepared.bodies = self.bodies.with_forces(forces)
        return prepared

    def with_inputs(self, values: Mapping[str, ArrayLike]) -> "PreparedWorld":
        """Return the same world with new values of some inputs, by name; the others keep their values.

        Prepared data are shared. `world.inputs` has the names, units and defaults.
        """
        world = with_inputs(self.world, values)
        prepared = PreparedWorld(world, like=self)
        same = world.forces is self.world.forces
        prepared.bodies = self.bodies if same else self.bodies.with_forces(world.forces)
        return prepared

    @cached_property
    def bodies(self) -> Bodies:
        """Bodies as arrays for the kernels."""
        return Bodies(self.world)

    @cached_property
    def detector(self) -> Detector:
        """Contact detector, with the compiled model of the narrow phase."""
        return Detector(self.world) if self._like is None else self._like.detector

    @cached_property
    def shapes(self) -> "StepShapes":
        """Contacts with smooth gaps, for the variational scheme and derivatives."""
        from stickslip.schemes.variational_contacts import StepShapes

        return StepShapes(self.world) if self._like is None else self._like.shapes

    @cached_property
    def stops(self) -> "StepStops":
        """Joint blocks of the variational scheme."""
        from stickslip.schemes.variational_start import StepStops

        return StepStops(self.world, self.bodies) if self._like is None else self._like.stops

    @cached_property
    def equations(self) -> "WorldEquations":
        """The world as a system of equations, for schemes of systems."""
        from stickslip.schemes.equations import WorldEquations

        return WorldEquations(self)

    def forces_at(self, t: float, q: Array, v: Array) -> Array:
        """Return the forces by kind without gravity, as `Forces.add` writes them, at q (n, 7) and v (n, 6)
        [N, N m], shape (3, n, 6); (3, 0, 6) if there are none."""
        if not self.bodies.forced:
            return NO_FORCES
        F = np.zeros((3, self.bodies.count, 6))
        self.world.forces.add(t, q.reshape(-1), v.reshape(-1), F)
        return F

    @cached_property
    def parameters(self) -> Parameters:
        """Differentiable parameters of the world."""
        return Parameters.of(self.world)


def _touching(world: World, row: IntArray) -> BoolArray:
    """Whether two materials may meet at a contact with a dynamic body [-], shape (nm, nm), bool."""
    shapes, count = world.shapes, len(world.materials.names)
    owners = np.unique(np.stack([shapes.material, shapes.body]), axis=1)
    moves = np.zeros(count, bool)
    moves[owners[0, row[owners[1]] >= 0]] = True
    bodies = np.bincount(owners[0], minlength=count)
    met = (moves[:, None] | moves) & ((bodies[:, None] > 0) & (bodies > 0))
    np.fill_diagonal(met, moves & (bodies > 1))
    return np.asarray(met)


def _joint_lengths(world: World, mass: Array, J_inverse: Array, row: IntArray) -> Array:
    """Return joint lengths from the dynamic sides: sqrt(Σ 1/m / Σ 1/J), a radius of gyration [m], shape
    (nj,)."""
    body, moves = _joint_bodies(world), _moves(world, row)
    shift = np.where(moves, 1.0 / np.where(row >= 0, mass, 1.0)[body], 0.0).sum(axis=1)
    turn = np.where(moves, np.trace(J_inverse, axis1=1, axis2=2)[body] / 3.0, 0.0).sum(axis=1)
    return frozen(np.sqrt(shift / turn))


def _efforts(forces: Forces) -> EffortArrays:
    """Return the constant efforts of all actuators; NaN for efforts that are functions."""
    actuators = forces.actuators
    if actuators is None:
        return EffortArrays(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
    return EffortArrays(actuators.joint, actuators.column, actuators.constant)


def _redundant_pairs(world: World) -> list[list[int]]:
    """Return the joints of each pair of bodies with several joints that constrain motion."""
    joints, pairs = world.joints, dict[tuple[int, ...], list[int]]()
    for j, sides in enumerate(np.sort(_joint_bodies(world), axis=1).tolist()):
        if sum(formula(held)(joints.kind[j], joints.lower[j, 0], joints.upper[j, 0])):
            pairs.setdefault(tuple(sides), []).append(j)
    return [group for _, group in sorted(pairs.items()) if len(group) > 1]


def _joint_bodies(world: World) -> IntArray:
    """Return the two bodies of each joint [-], shape (nj, 2)."""
    return np.asarray(world.joints.body, np.int64).reshape(-1, 2)


def _moves(world: World, row: IntArray) -> BoolArray:
    """Whether a side of a joint is a dynamic body [-], shape (nj, 2), bool."""
    body = _joint_bodies(world)
    return np.asarray((body >= 0) & (row[body] >= 0))
