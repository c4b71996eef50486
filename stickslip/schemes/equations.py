"""Worlds as systems of equations: Newton-Euler bodies, couplings and interactions with the same mechanics.

Bodies are systems with their names. Springs, dampers, actuators and users' forces are couplings. Constraints,
stops and dry friction of joints, and contacts, are interactions with the laws of the world. Contacts whose
features change with the motion are slots (`equations_features.py`). Coordinates of joints are ports with the
names of the joints.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from stickslip.detection.contacts import joined
from stickslip.kernels.bodies.joint_geometry import DRY, HOLD, LOWER, UPPER, held, leaves
from stickslip.laws import IMPACTS, Box, Equality, NewtonImpact, components
from stickslip.mechanics.forces import Forces
from stickslip.mechanics.world import BodyKind, World
from stickslip.mechanics.written_forces import JointEffort
from stickslip.problem.checks import Array, IntArray
from stickslip.schemes.body_joints import PARTS
from stickslip.schemes.body_world import PreparedWorld
from stickslip.schemes.equations_features import FeatureSearch
from stickslip.schemes.equations_pairs import (
    JointPort,
    PairRelation,
    Paths,
    Sides,
    contact_pair,
    joint_alone,
    joint_pair,
)
from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.schemes.step import Step, frozen_state
from stickslip.schemes.variational_contacts import Candidates
from stickslip.state import ModelError, State
from stickslip.systems.couplings import COORDINATE, VELOCITY, Coupling, Pushing, tied
from stickslip.systems.derivatives import differences
from stickslip.systems.dynamics import Dynamics
from stickslip.systems.newton_euler import NewtonEuler
from stickslip.systems.ports import Port, Reach
from stickslip.systems.system import Bound, Interaction, NonsmoothSystem

APART = 1e-6
"""Largest distance of a kinematic body from its path [m, -] (heuristic)."""


def as_system(
    world: World, systems: Iterable[Dynamics] = (), interactions: Iterable[Interaction] = (),
    couplings: Iterable[Coupling] = (),
) -> NonsmoothSystem:  # fmt: skip
    """Return the world as a system of equations, with additional systems, interactions and couplings, which
    refer to bodies and joints of the world by name."""
    origin = Origin(world, tuple(systems), tuple(interactions), tuple(couplings))
    system = WorldEquations(PreparedWorld.of(world), *origin[1:]).system
    _ORIGINS[system] = origin
    return system


class Origin(NamedTuple):
    """The world and the additional parts of a system of equations."""

    world: World
    """The world."""
    systems: tuple[Dynamics, ...]
    """Additional systems."""
    interactions: tuple[Interaction, ...]
    """Additional interactions."""
    couplings: tuple[Coupling, ...]
    """Additional couplings."""


_ORIGINS: "WeakKeyDictionary[NonsmoothSystem, Origin]" = WeakKeyDictionary()
"""Origins of the systems that `as_system` returned."""


def origin_of(system: NonsmoothSystem) -> Origin | None:
    """Return the world and the additional parts of a system; None for a system without a world."""
    return _ORIGINS.get(system)


class WorldEquations:
    """Equations of a world, with the index maps of its bodies, contacts and joints."""

    def __init__(
        self, prepared: PreparedWorld, systems: Iterable[Dynamics] = (),
        interactions: Iterable[Interaction] = (), couplings: Iterable[Coupling] = (),
    ):  # fmt: skip
        world = self.world = prepared.world
        shapes, self.paths = prepared.shapes, Paths(world)
        if shapes.is_crowded:
            raise ModelError(
                "the world has too many pairs of spheres to be written as equations, one interaction each;"
                " take scheme='moreau-jean-semi-explicit' or 'variational'"
            )
        self.table = shapes.table
        """Contacts with constant features, in the order of the first interactions."""
        self.search = None if shapes.other_pair is None else FeatureSearch(prepared, self.paths)
        """Search for the features of other contacts, whose interactions follow; None without any."""
        self.dynamic = np.flatnonzero(world.kind == BodyKind.DYNAMIC)
        """Numbers of the dynamic bodies [-], shape (nd,)."""
        if not self.dynamic.size:
            raise ModelError("a world without a dynamic body has no equations")
        joints = [(j, part, size) for j in range(len(world.joints)) for part, size in _parts_of(world, j)]
        ids = [j * len(PARTS) + part for j, part, size in joints for _ in range(size)]
        self.joint_id: IntArray = np.array(ids, np.int64)
        """Identifier of the block of each component of the joints, as `JointRows.id` [-], shape (p,)."""
        ties = self._contacts()
        count = len(ties)
        ties += [self._joint(j, part, size) for j, part, size in joints]
        end = len(ties)
        self.system = NonsmoothSystem(
            [*(_body(world, i) for i in self.dynamic.tolist()), *systems], [*ties, *interactions],
            [*_forces(world, self.paths), *couplings], self._ports(),
        )  # fmt: skip
        places = [self._place(world.names[i]) for i in self.dynamic]
        self.q = np.concatenate([q for q, _ in places])
        """Indices of the coordinates of dynamic bodies among those of the system [-], shape (7 nd,)."""
        self.v = np.concatenate([v for _, v in places])
        """Indices of the velocities of dynamic bodies among those of the system [-], shape (6 nd,)."""
        bound = self.system.interactions
        self.contacts, self.joints = bound[:count], bound[count:end]
        """Interactions of the contacts, and of the joints."""
        self.prepared = PreparedSystem(self.system)
        """The prepared system."""

    def _place(self, name: str) -> tuple[IntArray, IntArray]:
        """Return the indices of coordinates and velocities of a body."""
        member = self.system.members[name]
        place = self.system.places[member.system]
        return place.q.start + member.q, place.v.start + member.v

    def inside(self, state: State) -> State:
        """Convert a state of the world to one of its equations; raise ModelError if a kinematic body is not
        on its path."""
        if len(self.world.motions):
            places = self.paths.places(state.t)
            off = np.abs(places - state.q.reshape(-1, 7)).max(axis=1)
            for i in np.flatnonzero(off > APART).tolist():
                if self.paths.moves(i):
                    raise ModelError(
                        f"body {self.world.names[i]!r}: at t = {state.t:.9g} s it is {off[i]:.3g} m away from"
                        " where its motion leads from the start of the world; equations have it there. Begin"
                        " with world.start, or take scheme='moreau-jean-semi-explicit'"
                    )
        q, v = np.array(self.system.q0), np.array(self.system.v0)
        q[self.q] = state.q.reshape(-1, 7)[self.dynamic].reshape(-1)
        v[self.v] = state.v.reshape(-1, 6)[self.dynamic].reshape(-1)
        return frozen_state(state.t, q, v, self.system.z0)

    def outside(self, state: State) -> State:
        """Convert a state of the equations to one of the world."""
        q, v = self.paths.places(state.t), self.paths.twists(state.t)
        q[self.dynamic], v[self.dynamic] = state.q[self.q].reshape(-1, 7), state.v[self.v].reshape(-1, 6)
        return frozen_state(state.t, q.reshape(-1), v.reshape(-1), np.zeros(0))

    def met(self, step: Step) -> tuple[Candidates, tuple[Bound, ...]]:
        """Return the contacts of a step of the equations, sorted by id, and their interactions."""
        searched = step.searched
        if searched is None:
            return self.table, self.contacts
        features: Any = searched.features
        contacts, order = joined(self.table, features.rows)
        at = np.concatenate([np.arange(len(self.table)), len(self.table) + features.slot])[order]
        return contacts, tuple(searched.system.interactions[k] for k in at.tolist())

    def _contacts(self) -> list[Interaction]:
        """Return the interactions of the contacts of the table, then those of the slots."""
        table, search, impact = self.table, self.search, IMPACTS["newton"]
        bodies, laws, relations = table.body, table.law, [self._relation(i) for i in range(len(table))]
        if search is not None:
            bodies, laws = np.concatenate([bodies, search.body]), np.concatenate([laws, search.law])
            relations += [search.slot(k) for k in range(search.slots)]
        names = contact_names(self.world, bodies)
        return [
            Interaction(name, relation.sides.names, relation, impact.of(law))
            for name, relation, law in zip(names, relations, laws, strict=True)
        ]

    def _relation(self, i: int) -> PairRelation:
        """Return the relation of contact i of the table."""
        rows = np.flatnonzero(components(self.table.law[i : i + 1])[0])
        sides = Sides(self.world, self.paths, self.table.body[i])
        return PairRelation("contact", sides, contact_pair(self.table.forms, i, rows), slice(0, 1))

    def _joint(self, j: int, part: int, size: int) -> Interaction:
        """Return the interaction of one part of joint j: its constraints, a stop, or dry friction."""
        joints, kind = self.world.joints, LOWER + (part - LOWER) % 3
        sides = Sides(self.world, self.paths, joints.body[j])
        exact = slice(0 if part != HOLD and kind == DRY else None)  # friction has no position
        relation = PairRelation("joint", sides, joint_pair(joint_alone(joints.arrays, j), part), exact)
        if part == HOLD:
            return Interaction(joints.names[j], sides.names, relation, Equality(size))
        name = f"{joints.names[j]}: {PARTS[part]}"
        if kind == DRY:
            most = float(joints.friction[j, (part - LOWER) // 3])
            return Interaction(name, sides.names, relation, Box(-most, most))
        return Interaction(name, sides.names, relation, NewtonImpact(e=float(joints.e[j])))

    def _ports(self) -> Iterable[Port]:
        """Return the ports of the joints with free coordinates."""
        joints, ports = self.world.joints, []
        for j, name in enumerate(joints.names):
            low, high = joints.lower[j, 0], joints.upper[j, 0]
            columns = tuple(c for c in (0, 1) if leaves(c, int(joints.kind[j]), low, high))
            if columns and name not in self.world.number:
                sides = Sides(self.world, self.paths, joints.body[j])
                ports.append(JointPort(name, sides, joint_alone(joints.arrays, j), columns))
        return ports


def contact_names(world: World, bodies: IntArray) -> list[str]:
    """Return names of the interactions of contacts between bodies (k, 2): the names of the bodies, with a
    number if they have several contacts."""
    pairs = [tuple(pair) for pair in bodies.tolist()]
    several, seen, names = Counter(pairs), Counter[Any](), []
    for pair in pairs:
        seen[pair] += 1
        first, second = (world.names[b] for b in pair)
        names.append(f"{first} on {second}" + (f" {seen[pair]}" if several[pair] > 1 else ""))
    return names


def _body(world: World, i: int) -> NewtonEuler:
    """Return body i as a system."""
    q, v = world.start.q[7 * i : 7 * i + 7], world.start.v[6 * i : 6 * i + 6]
    return NewtonEuler(
        world.names[i], mass=float(world.mass[i]), inertia=world.inertia[i], q0=q, v0=v,
        force=world.mass[i] * world.gravity,
    )  # fmt: skip


def _parts_of(world: World, j: int) -> Iterable[tuple[int, int]]:
    """Yield the parts of joint j, as in `PARTS`, with their numbers of components."""
    joints = world.joints
    kind, low, high = int(joints.kind[j]), float(joints.lower[j, 0]), float(joints.upper[j, 0])
    size = sum(held(kind, low, high))
    if size:
        yield HOLD, size
    for c in (0, 1):
        if leaves(c, kind, low, high):
            if np.isfinite(joints.lower[j, c]):
                yield LOWER + 3 * c, 1
            if np.isfinite(joints.upper[j, c]):
                yield UPPER + 3 * c, 1
            if joints.friction[j, c] > 0.0:
                yield DRY + 3 * c, 1


def _forces(world: World, paths: Paths) -> list[Coupling]:
    """Return a coupling for each set of bodies that are coupled by forces."""
    # 1. Bodies of each force: springs, dampers, written forces, constant wrenches.
    forces, row = world.forces, world.row
    tables = [getattr(table, "body", np.zeros((0, 2), int)) for table in (forces.springs, forces.dampers)]
    acts = [[int(b) for b in pair] for table in tables for pair in table]
    for one in forces.written:
        pair = one.joints.body[one.joint] if isinstance(one, JointEffort) else [one.point.body]
        acts.append([int(b) for b in pair])
    if forces.wrench is not None:
        acts += [[int(i)] for i in np.flatnonzero(forces.wrench.any(axis=1))]
    acts = [[b for b in bodies if b >= 0 and row[b] >= 0] for bodies in acts]
    ns, nd, nw = len(tables[0]), len(tables[1]), len(forces.written)
    # 2. One coupling with the forces of each set of bodies.
    couplings: list[Coupling] = []
    for group in tied(acts):
        bodies = sorted({b for k in group for b in acts[k]})
        wrench = None
        if forces.wrench is not None:
            wrench = np.where(np.isin(np.arange(len(row)), bodies)[:, None], forces.wrench, 0.0)
        part = replace(
            forces, springs=_rows(forces.springs, [k for k in group if k < ns]),
            dampers=_rows(forces.dampers, [k - ns for k in group if ns <= k < ns + nd]),
            written=tuple(forces.written[k - ns - nd] for k in group if ns + nd <= k < ns + nd + nw),
            wrench=wrench,
        )  # fmt: skip
        couplings.append(WorldCoupling(world, paths, part, bodies))
    return couplings


def _rows(table: Any, which: list[int]) -> Any:
    """Return rows of `Springs` or `Dampers`; None for no rows."""
    if not which:
        return None
    columns = {name: getattr(table, name)[which] for name in vars(table) if name != "names"}
    return replace(table, names=tuple(table.names[k] for k in which), **columns)


class WorldCoupling(Coupling):
    """Springs, dampers, actuators and users' forces between some bodies of a world."""

    def __init__(self, world: World, paths: Paths, forces: Forces, bodies: list[int]):
        names = tuple(world.names[b] for b in bodies)
        super().__init__(f"forces on {', '.join(names)}", names, 0.0)
        self.world, self.paths, self.forces, self.bodies = world, paths, forces, bodies

    def bound(self, reach: Reach) -> Pushing:
        return _OfWorld(self, reach)


class _OfWorld(Pushing):
    """A `WorldCoupling` that is bound to a system."""

    def __init__(self, given: WorldCoupling, reach: Reach):
        self.given, self.reach = given, reach
        self.potential_known = not given.forces.written and given.forces.wrench is None
        self.at_q, self.at_v = (
            np.concatenate([getattr(part, key) for part in reach.parts]) for key in ("q", "v")
        )
        self.dq, self.dv = (
            differences(self.force, which, reach.whole[1]) for which in (COORDINATE, VELOCITY)
        )

    def _places(self, t: float, q: Array) -> Array:
        """Return the poses of all bodies of the world [m, -], shape (7 n,)."""
        out = self.given.paths.places(t)
        out[self.given.bodies] = q[self.at_q].reshape(-1, 7)
        return out.reshape(-1)

    def force(self, t: float, q: Array, v: Array, z: Array) -> Array:
        world, rates = self.given, self.given.paths.twists(t)
        F = np.zeros((3, *rates.shape))
        rates[world.bodies] = v[self.at_v].reshape(-1, 6)
        world.forces.add(t, self._places(t, q), rates.reshape(-1), F)
        out = np.zeros(self.reach.whole[1])
        out[self.at_v] = F.sum(axis=0)[world.bodies].reshape(-1)
        return out

    def force_dq(self, t: float, q: Array, v: Array, z: Array) -> Array:
        return self.dq(t, q, v, z)

    def force_dv(self, t: float, q: Array, v: Array, z: Array) -> Array:
        return self.dv(t, q, v, z)

    def potential(self, t: float, q: Array, z: Array) -> float:
        return self.given.forces.potential(t, self._places(t, q))
