"""A world prepared for steps: what they make of it once, made on first use and held beside it.

A `World` is a plain value. Whoever makes many steps of one (a run, a derivative, a loop by hand) holds a
`PreparedWorld` and gives it to the scheme in its place; a step that is given a world itself prepares its own.
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
"""Contacts closer than this share of the smallest shape are always looked at."""

NO_FORCES: Array = frozen(np.zeros((3, 0, 6)))


class Bodies:
    """The bodies of a world as kernels take them."""

    def __init__(self, world: World):
        self.count = len(world.names)
        """Number n of bodies."""
        self.row = frozen(np.array(world.row, np.int64))
        """As the world's [-], shape (n,)."""
        self.dynamic = np.flatnonzero(self.row >= 0)
        """Numbers of the dynamic bodies [-], shape (nd,)."""
        self.mass: Array = frozen(np.array(world.mass, float))
        """[kg], shape (n,)."""
        self.J: Array = frozen(np.array(world.inertia, float))
        """[kg m²], shape (n, 3, 3)."""
        inverse = np.zeros_like(self.J)
        inverse[self.dynamic] = np.linalg.inv(self.J[self.dynamic])
        self.J_inverse: Array = frozen(0.5 * (inverse + inverse.transpose(0, 2, 1)))
        """0 where a body is not dynamic [1/(kg m²)], shape (n, 3, 3)."""
        self.gravity: Array = frozen(np.array(world.gravity, float))
        """[m/s²], shape (3,)."""
        self.M = MassMatrix(frozen(np.array(world.M, float)))
        """Of the dynamic bodies; its factors are made once."""
        self.joint_length = _joint_lengths(world, self.mass, self.J_inverse, self.row)
        """At which turning a joint is as hard as shifting it, about [m], shape (nj,)."""
        arms = np.linalg.norm(np.asarray(world.joints.point, float).reshape(-1, 2, 3), axis=2)
        self.joint_reach: Array = frozen(
            self.joint_length + np.where(_moves(world, self.row), arms, 0.0).max(axis=1, initial=0.0)
        )
        """Of the dynamic sides of a joint, from their centres of mass to beyond its points [m], (nj,)."""
        own = np.array([shape.reach for shape in world.shapes.shape], float)
        reach = np.linalg.norm(world.shapes.position, axis=1) + own
        radius = np.zeros(self.count)
        np.maximum.at(radius, world.shapes.body, reach)
        self.radius: Array = frozen(radius)
        """Of balls about the centres of mass that hold the bodies [m], shape (n,); inf for planes."""
        finite = own[np.isfinite(own) & (own > 0.0)]
        self.size = float(finite.min(initial=np.inf)) if finite.size else 1.0
        """Radius of the smallest shape [m]."""
        self.touch = TOUCH * self.size
        """Least margin of detection [m]."""
        weights = self.mass[self.dynamic] * float(np.linalg.norm(self.gravity))
        self.least_weight = float(weights.min(initial=np.inf)) if weights.size else 0.0
        """Of a dynamic body [N]."""
        m = world.materials
        self.most_rows = int(components(m.law.reshape(-1, 4)).sum(axis=1).max())
        """Most components that a contact can have."""
        touching = _touching(world, self.row)
        self.has_cones = bool(((m.mu > 0.0) | (m.mu_roll > 0.0))[touching].any())
        self.has_friction = self.has_cones or bool((m.mu_spin > 0.0)[touching].any())
        """Whether bodies that may touch have sliding or rolling friction, and whether they have any."""
        self.forced, self.driven = len(world.forces) > 0, len(world.motions) > 0
        self.jointed = len(world.joints) > 0
        """Whether there are forces beside gravity, kinematic bodies, joints."""
        self.arrays = BodyArrays(
            self.row, self.mass, self.J, self.J_inverse, self.gravity, self.radius, self.M.matrix,
            self.M.inverse_root,
        )  # fmt: skip
        """The same as kernels take them together."""
        self.forces = world.forces.arrays if self.forced else None
        """Springs, dampers and wrenches; None without forces beside gravity."""
        self.linkage: Linkage | None = None
        """Joints, and constant efforts along them; None without joints."""
        if self.jointed:
            pairs = _redundant_pairs(world)
            self.linkage = Linkage(
                world.joints.arrays, _efforts(world.forces), self.joint_length, self.joint_reach,
                np.cumsum([0, *map(len, pairs)]), np.array([j for pair in pairs for j in pair], np.int64),
            )  # fmt: skip
        self.rates = rates(world, self.J_inverse)
        """Of its stiffest spring [1/s²] and damper [1/s]."""

    def with_forces(self, forces: Forces) -> "Bodies":
        """The same bodies under other forces, whose springs and dampers are those of before."""
        forced, linkage = len(forces) > 0, self.linkage
        linkage = None if linkage is None else linkage._replace(efforts=_efforts(forces))
        return changed(self, forced=forced, forces=forces.arrays if forced else None, linkage=linkage)


class PreparedWorld:
    """World with data that its steps share; each part is computed once, on first use."""

    def __init__(self, world: World, like: "PreparedWorld | None" = None):
        """like: another, of a world with the same shapes, materials, filters and joints; what says where
        bodies touch and what joints hold is then that of the other."""
        self.world = world
        self._like: PreparedWorld | None = None if like is None else (like._like or like)
        self.entries: dict[Any, Any] = {} if like is None else like.entries
        """What calls of kernels go to, by what the types of their arguments depend on."""

    @classmethod
    def of(cls, world: "World | PreparedWorld") -> "PreparedWorld":
        """A world prepared; one that is already is returned as it is."""
        return world if isinstance(world, PreparedWorld) else cls(world)

    def with_forces(self, forces: Forces) -> "PreparedWorld":
        """The same world under other forces, whose springs and dampers are those of before."""
        found = PreparedWorld(replace(self.world, forces=forces), like=self)
        found.bodies = self.bodies.with_forces(forces)
        return found

    def with_inputs(self, values: Mapping[str, ArrayLike]) -> "PreparedWorld":
        """The same world with these values of its inputs, by name; the others stay as they are here.

        What was made of this one is shared. `world.inputs` has the names, units and defaults.
        """
        world = with_inputs(self.world, values)
        found = PreparedWorld(world, like=self)
        same = world.forces is self.world.forces
        found.bodies = self.bodies if same else self.bodies.with_forces(world.forces)
        return found

    @cached_property
    def bodies(self) -> Bodies:
        """As kernels take them."""
        return Bodies(self.world)

    @cached_property
    def detector(self) -> Detector:
        """Finds contacts; it holds the compiled model of the narrow phase."""
        return Detector(self.world) if self._like is None else self._like.detector

    @cached_property
    def shapes(self) -> "StepShapes":
        """Contacts with smooth gaps, of the variational scheme and of derivatives."""
        from stickslip.schemes.variational_contacts import StepShapes

        return StepShapes(self.world) if self._like is None else self._like.shapes

    @cached_property
    def stops(self) -> "StepStops":
        """Blocks of joints in steps of the variational scheme."""
        from stickslip.schemes.variational_start import StepStops

        return StepStops(self.world, self.bodies) if self._like is None else self._like.stops

    @cached_property
    def equations(self) -> "WorldEquations":
        """The world as equations, for schemes of systems."""
        from stickslip.schemes.equations import WorldEquations

        return WorldEquations(self)

    def forces_at(self, t: float, q: Array, v: Array) -> Array:
        """Forces beside gravity by kind, as `Forces.add` has them, at q (n, 7) and v (n, 6) [N, N m], shape
        (3, n, 6); (3, 0, 6) where there are none."""
        if not self.bodies.forced:
            return NO_FORCES
        F = np.zeros((3, self.bodies.count, 6))
        self.world.forces.add(t, q.reshape(-1), v.reshape(-1), F)
        return F

    @cached_property
    def parameters(self) -> Parameters:
        """The numbers of the world that one may differentiate by."""
        return Parameters.of(self.world)


def _touching(world: World, row: IntArray) -> BoolArray:
    """Whether materials may meet at a contact with a dynamic body [-], shape (nm, nm), bool."""
    shapes, count = world.shapes, len(world.materials.names)
    owners = np.unique(np.stack([shapes.material, shapes.body]), axis=1)
    moves = np.zeros(count, bool)
    moves[owners[0, row[owners[1]] >= 0]] = True
    bodies = np.bincount(owners[0], minlength=count)
    met = (moves[:, None] | moves) & ((bodies[:, None] > 0) & (bodies > 0))
    np.fill_diagonal(met, moves & (bodies > 1))
    return np.asarray(met)


def _joint_lengths(world: World, mass: Array, J_inverse: Array, row: IntArray) -> Array:
    """Radii of gyration of the dynamic sides together: 1/m over 1/J, both summed [m], shape (nj,)."""
    body, moves = _joint_bodies(world), _moves(world, row)
    shift = np.where(moves, 1.0 / np.where(row >= 0, mass, 1.0)[body], 0.0).sum(axis=1)
    turn = np.where(moves, np.trace(J_inverse, axis1=1, axis2=2)[body] / 3.0, 0.0).sum(axis=1)
    return frozen(np.sqrt(shift / turn))


def _efforts(forces: Forces) -> EffortArrays:
    """Of all actuators; those that are functions are not a number."""
    found = forces.actuators
    if found is None:
        return EffortArrays(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
    return EffortArrays(found.joint, found.column, found.constant)


def _redundant_pairs(world: World) -> list[list[int]]:
    """Joints between each two bodies that several joints hold."""
    joints, pairs = world.joints, dict[tuple[int, ...], list[int]]()
    for j, sides in enumerate(np.sort(_joint_bodies(world), axis=1).tolist()):
        if sum(formula(held)(joints.kind[j], joints.lower[j, 0], joints.upper[j, 0])):
            pairs.setdefault(tuple(sides), []).append(j)
    return [found for _, found in sorted(pairs.items()) if len(found) > 1]


def _joint_bodies(world: World) -> IntArray:
    return np.asarray(world.joints.body, np.int64).reshape(-1, 2)


def _moves(world: World, row: IntArray) -> BoolArray:
    """Which sides of the joints are dynamic [-], shape (nj, 2), bool."""
    body = _joint_bodies(world)
    return np.asarray((body >= 0) & (row[body] >= 0))
