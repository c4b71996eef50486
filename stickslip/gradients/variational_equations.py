"""Equations of a step of the variational scheme along directions, at constant end velocities and impulses.

They are e = p - P(v) + H r, and the variables of the laws: gaps and joint errors at the end of the step minus
the
gaps of restitution, slip velocities, and rates of dry friction with rows at the start.
"""

from copy import copy
from functools import cached_property
from typing import NamedTuple

import numpy as np

from stickslip.gradients import along
from stickslip.gradients.along import (
    Complex,
    Inputs,
    changes,
    displacements,
    inputs_along,
    joined,
    over_sides,
)
from stickslip.gradients.along_rows import ContactTable, JointBlocks, pairs_of
from stickslip.gradients.world_step import Equations, Part
from stickslip.kernels.bodies.joint_geometry import DRY, HOLD
from stickslip.kernels.derivatives.along import momenta
from stickslip.laws import components
from stickslip.problem.step_problem import StepProblem
from stickslip.problem.step_tangent import step_blocks
from stickslip.schemes.body_joints import PARTS
from stickslip.schemes.body_world import PreparedWorld
from stickslip.schemes.step import Memory, Step
from stickslip.state import Array, BoolArray, IntArray, State


class Values(NamedTuple):
    """Quantities in the equations, along directions."""

    node: Complex
    """Velocities before the step; for bodies that are not dynamic, over the step [m/s, rad/s], shape (k, n,
    6)."""
    rows: Complex
    """Rows of contacts, six each, and of joint blocks, at the start [-, m], shape (k, p, 2, 6)."""
    u: Complex
    """Rows times velocities [m/s, rad/s], shape (k, p)."""
    y: Complex
    """Variables of the laws [m, rad, m/s, rad/s], shape (k, p)."""
    q: Complex
    """Coordinates at the end [m, -], shape (k, n, 7)."""
    v: Complex
    """Velocities at the end [m/s, rad/s], shape (k, n, 6)."""
    most: Complex
    """Bounds of the impulses of dry friction, 0 for other rows of joints [N s, N m s], shape (k, mj)."""


class VariationalEquations(Equations):
    """Equations of one step of a world, at velocities v of all bodies, (n, 6), and impulses r."""

    def __init__(
        self, prepared: PreparedWorld, state: State, memory: Memory, step: Step, problem: StepProblem,
        v: Array, r: Array,
    ):  # fmt: skip
        super().__init__(prepared, state, memory, problem.h)
        self.step, self.problem, self.v = step, problem, v
        blocks, nc = step_blocks(problem), problem.contacts.gap.size
        start = blocks.K.offset[nc:] - blocks.K.offset[nc]
        self.joints = JointBlocks(blocks.joint[nc:], blocks.part[nc:], start)
        self.table = ContactTable.of_step(problem.contacts, step.contacts)
        self.pair = pairs_of(self.world, step.contacts)
        self.joint, self.part = (self.joints.of_rows(x) for x in (self.joints.joint, self.joints.part))
        sides = self.world.joints.body[self.joint].reshape(-1, 2)
        self.sides: IntArray = np.concatenate([np.repeat(problem.contacts.forms.body, 6, axis=0), sides])
        self.row = np.append(self.bodies.row, -1)[self.sides]
        """Dynamic bodies of all rows, -1 for other bodies [-], shape (p, 2)."""
        self.dry: BoolArray = (self.part != HOLD) & (self.part % 3 == 0)
        self.r = _all_components(problem.contacts.law, r, r.size - self.joint.size)
        """Impulses of all rows, 0 for rows that the solution lacks [N s, N m s], shape (p,)."""
        ids_of = step.contacts.id, self.joint * len(PARTS) + self.part
        self.known = matched(ids_of[0], memory["id"]), matched(ids_of[1], memory["joint_id"])
        """Contacts and rows of stops with an approach speed in the memory, each with the positions there."""
        closed = (
            matched(step.memory[name], ids)[1] for name, ids in zip(("id", "joint_id"), ids_of, strict=True)
        )
        normals, stops = closed
        self.closed = np.concatenate([6 * normals, 6 * nc + stops])
        """Rows whose approach speed the step stores [-], shape (any,)."""
        self._lay_out(nc, normals.size)

    def at(self, r: Array) -> "VariationalEquations":
        """Return a copy with other impulses of the solution."""
        copied = copy(self)
        copied.r = _all_components(self.problem.contacts.law, r, r.size - self.joint.size)
        return copied

    @cached_property
    def by_end(self) -> tuple[Values, Array, Array, Array]:
        """All values, and their derivatives by the end velocities of bodies.

        These are the derivatives of momenta (nd, 6, 6), of the variables of the laws (p, 2, 6), and of
        displacements at the end (nd, 6, 6). Bodies of one colour are changed together.
        """
        dynamic, nd = self.bodies.dynamic, self.bodies.dynamic.size
        A, C, end = np.zeros((nd, 6, 6)), np.zeros((len(self.sides), 2, 6)), np.zeros((nd, 6, 6))
        values, colours = self.values(self.base) if not nd else None, self.colour
        for colour in set(colours[dynamic].tolist()):
            mine = (colours == colour) & (self.bodies.row >= 0)
            values = self.values(inputs_along(self.base, {"v_end": np.kron(mine[:, None], np.eye(6))}))
            about = changes(values.y, 6).T
            leaves = changes(self._momenta(self.base, values.v, self.base.h), 6)
            A[mine[dynamic]] = leaves[:, mine].transpose(1, 2, 0)
            end[mine[dynamic]] = displacements(values.q, 6)[:, mine].transpose(1, 2, 0)
            of_mine = np.append(mine, False)[self.sides]
            C[of_mine] = np.broadcast_to(about[:, None], C.shape)[of_mine]
        assert values is not None
        return values, A, C, end

    def _lay_out(self, nc: int, normals: int) -> None:
        n, nd, p = self.bodies.count, self.bodies.dynamic.size, len(self.sides)
        stops = self.closed.size - normals
        number = self.number(6 * nd, p, 6 * n, 6 * n, normals, stops, 3 * nc, p - 6 * nc)
        none = np.zeros((self.size, 0), np.int64)
        pushed = np.where(self.row[:, :, None] >= 0, 6 * self.row[:, :, None] + np.arange(6), -1)
        bodies = (number[where].reshape(-1, 6) for where in self.lines[2:4])
        memory, rest = (slice(self.lines[i].start, self.lines[i + 1].stop) for i in (4, 6))
        self.parts = (
            Part(number[: 6 * nd].reshape(nd, 6), self.near[self.bodies.dynamic]),
            Part(pushed.reshape(p, 12), self.sides),
            Part(number[self.lines[1], None], self.sides),
            *(Part(line, self.near) for line in bodies),
            Part(number[memory, None], self.sides[self.closed]),
            Part(number[rest, None], none[rest]),
        )

    def values(self, given: Inputs) -> Values:
        """Return all quantities of the equations, for these inputs."""
        world, dynamic, h, nc = self.world, self.bodies.dynamic, given.h, len(self.table.kind)
        # 1. Velocities at the node and at the end.
        v = given.v.copy()
        if self.bodies.driven:
            v = np.array(np.broadcast_to(v, (given.k, *v.shape[1:])))
            along.prescribe(world, self.state.t + 0.5 * h, along.moved(given.q, given.v, 0.5 * h), v)
        v_end = np.array(np.broadcast_to(v, (max(len(v), len(given.v_end)), *v.shape[1:])))
        v_end[:, dynamic] = self.v[dynamic] + given.v_end[:, dynamic]
        # 2. Rows at the start; gaps and errors at the end.
        q_end, shaped = along.moved(given.q, v_end, h), self.table.shaped(world, given)
        touching, _ = self.table.along(shaped, given.q)
        rows = touching.reshape(len(touching), 6 * nc, 2, 6)
        rows = joined(rows, self.joints.along(world.joints, given.q)[0])
        u = over_sides(rows, self.sides, v_end)
        _, gap = self.table.along(shaped, q_end)
        _, value = self.joints.along(world.joints, q_end)
        # 3. Restitution.
        (contact, at), (stop, stop_at) = self.known
        y = np.array(np.broadcast_to(u, (given.k, len(self.sides))))
        y[:, 0 : 6 * nc : 6], y[:, 6 * nc :] = gap, np.where(self.dry, y[:, 6 * nc :], value)
        if contact.size or stop.size:
            bounce = np.zeros_like(y)
            bounce[:, 6 * contact] = given.law[:, self.pair[contact], 3] * given.approach[:, at]
            bounce[:, 6 * nc + stop] = world.joints.e[self.joint[stop]] * given.joint_approach[:, stop_at]
            y -= h[:, None] * bounce
        friction = world.joints.friction[self.joint, (self.part > DRY).astype(int)]
        most = 0.5 * (h + given.h_before)[:, None] * np.where(self.dry, friction, 0.0)
        return Values(v, rows, u, y, q_end, v_end, most)

    def _left(self, given: Inputs, found: Values) -> Complex:
        """p - P(v) of the dynamic bodies [N s, N m s], shape (k, nd, 6)."""
        F = along.forces_along(self.world, given, np.array([self.state.t], complex), given.q, found.node)
        force = np.array(np.broadcast_to(F, (given.k, *F.shape[1:])))
        force[:, :, :3] += given.mass[:, :, None] * given.gravity[:, None]
        share = 0.5 * (given.h + given.h_before)[:, None, None]
        p = self._momenta(given, given.v, -given.h_before) + share * force
        return (p - self._momenta(given, found.v, given.h))[:, self.bodies.dynamic]

    def _momenta(self, given: Inputs, v: Complex, h: Complex) -> Complex:
        k, n = max(len(x) for x in (given.mass, given.J, v, h)), v.shape[1]
        out = np.empty((k, n, 6), complex)
        momenta(given.mass, given.J, v, h, out)
        return out

    def effects(self, given: Inputs) -> tuple[Array, ...]:
        """Return the changes of all parts.

        These are momenta, H r by rows and sides, variables of the laws, displacements and velocities at the
        end,
        stored approach speeds, and coefficients and bounds of friction.
        """
        values, k = self.values(given), given.k
        pushed = changes(values.rows, k) * self.r[:, None, None]
        came = over_sides(values.rows[:, self.closed], self.sides[self.closed], given.v)
        law = given.law[:, self.pair, :3].reshape(len(given.law), 3 * self.pair.size)
        bounds = np.concatenate([changes(law, k), changes(values.most, k)], axis=1)
        return (
            changes(self._left(given, values), k), pushed.reshape(k, len(self.sides), 12),
            changes(values.y, k)[:, :, None], displacements(values.q, k), changes(values.v, k),
            -changes(came, k)[:, :, None], bounds[:, :, None],
        )  # fmt: skip


def matched(ids: Array | IntArray, known: Array | IntArray) -> tuple[IntArray, IntArray]:
    """Return the positions of common ids in both arrays, in the order of the first."""
    place = {one: k for k, one in enumerate(known.tolist())}
    both = [(i, place[one]) for i, one in enumerate(ids.tolist()) if one in place] if place else []
    here, there = np.array(both, np.int64).reshape(-1, 2).T
    return here, there


def _all_components(law: Array, r: Array, contacts: int) -> Array:
    """Return impulses with six components for each contact; the first `contacts` entries of r are of
    contacts."""
    whole = np.zeros((len(law), 6))
    whole[components(law)] = r[:contacts]
    return np.concatenate([whole.reshape(-1), r[contacts:]])
