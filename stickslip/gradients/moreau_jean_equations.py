"""The contact problem of a step of Moreau-Jean along directions: `schemes/bodies.py` in complex numbers.

For a fixed set of active contacts and stops it is a smooth function of all inputs. The rows of joints are
multiplied by constant lengths of the world, which scale the impulses of joints but do not affect the motion.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from stickslip.detection.contacts import ContactSet
from stickslip.gradients import along
from stickslip.gradients.along import EPSILON, Complex, Inputs, changes, joined, over_sides
from stickslip.gradients.along_rows import ContactTable, JointBlocks, pairs_of
from stickslip.gradients.solution_exact import ACROSS, DOUBT
from stickslip.gradients.world_step import Equations, Part
from stickslip.kernels.bodies.joint_geometry import DRY, LOWER, UPPER
from stickslip.kernels.derivatives.along import accelerated
from stickslip.laws import components, groups
from stickslip.schemes.bodies import SemiExplicitMoreauJean
from stickslip.schemes.body_redundancy import project_redundant_rows
from stickslip.schemes.body_world import PreparedWorld
from stickslip.state import Array, BoolArray, IntArray, State


@dataclass(frozen=True, eq=False, slots=True)
class Middle:
    """State at the middle of a step, and free velocities, along directions."""

    given: Inputs
    J_inverse: Complex
    """Inverse inertia, 0 for bodies that are not dynamic [1/(kg m²)], shape (k, n, 3, 3)."""
    q: Complex
    """Coordinates at the middle of the step [m, -], shape (k, n, 7)."""
    v_start: Complex
    """Velocities before the forces [m/s, rad/s], shape (k, n, 6)."""
    v_free: Complex
    """Velocities after the forces, and prescribed velocities [m/s, rad/s], shape (k, n, 6)."""
    f: Complex
    """Momenta of the dynamic bodies after the forces [N s, N m s], shape (k, nd, 6)."""


@dataclass(frozen=True, eq=False, slots=True)
class Posed:
    """Data of a contact problem along directions, as in `GlobalProblem` and its set."""

    rows: Complex
    """Rows of H' over both sides, dynamic or not [-, m], shape (k, p, 2, 6)."""
    u_bias: Complex
    """Biases of the velocities [m/s], shape (k, p)."""
    struck: Complex
    """Change of approaching normal velocities by the impact, (1 + e) u_N [m/s], shape (k, p)."""
    coefficient: Complex
    """Friction coefficients of the groups [-, m], shape (k, ng)."""
    bound: Complex
    """Largest impulse of each block of dry friction, 0 of others [N s], shape (k, nb)."""
    e: Complex
    """Restitution of the contacts [-], shape (k, nc)."""
    gap: Complex
    """Gaps of the contacts [m], shape (k, nc)."""


class Phase(NamedTuple):
    """One contact problem of a step, at its solution."""

    forced: bool
    """Whether the momenta include the forces of the step."""
    v: Array
    """Velocities of the dynamic bodies [m/s, rad/s], shape (6 nd,)."""
    r: Array
    """Impulses of this and all previous phases [N s], shape (p,)."""
    left: float = 0.0
    """Share of the change of approaching normal velocities that later phases make [-]."""


class MoreauJeanEquations(Equations):
    """Equations of one step of a world, for given active contacts and joint blocks."""

    phases: tuple[Phase, ...] = ()
    """Contact problems of the step, at their solutions."""
    v_after: Array
    """Velocities of the dynamic bodies after the impulses [m/s, rad/s], shape (6 nd,)."""

    def __init__(
        self, scheme: SemiExplicitMoreauJean, prepared: PreparedWorld, state: State, h: float,
        contacts: ContactSet, bears: BoolArray, joints: JointBlocks,
    ):  # fmt: skip
        """bears: which contacts must have a smooth gap, shape (nc,)."""
        super().__init__(prepared, state, {}, h)
        self.theta, self.newton = scheme.theta, scheme.impact == "newton"
        self.contacts, self.joints = contacts, joints
        # indices of components among the six numbers of all contacts, and of groups among their coefficients
        self.slot, self.group = (np.flatnonzero(of(contacts.law)) for of in (components, groups))
        self.middle_base = self.middle(self.base)
        q = self.middle_base.q[0].real
        self.table = ContactTable.of_set(prepared, contacts, q)
        self.touching = self.table.along(self.table.shaped(self.world, self.base), self.middle_base.q)
        off = self.table.off(self.world, contacts, *self.touching, q)
        self.border, self.off = bears & (self.table.mark != 0), bears & (off > 1.0)
        """Loaded contacts on the border of a feature, and those off their smooth gap [-], shape (nc,)."""

    @cached_property
    def sides(self) -> IntArray:
        """Bodies of the two sides of each row [-], shape (p, 2)."""
        joints = self.world.joints.body[self.joints.joint].reshape(-1, 2)
        return np.concatenate([self.contacts.body[self.slot // 6], self.joints.of_rows(joints)])

    @cached_property
    def unit(self) -> Array:
        """Factors of the rows: 1 for contacts, `Blocks.unit` for joints [-, m], shape (p,)."""
        turns = np.logical_not(self._at_rest[0][:, :, :3].any(axis=(1, 2)))
        unit = np.ones(turns.size)
        unit[self.slot.size :] = self.joints.of_rows(self.bodies.joint_length[self.joints.joint])
        unit[~turns] = 1.0
        return unit

    @cached_property
    def bounces(self) -> BoolArray:
        """Rows to which restitution applies: normals and stops with negative approach velocity [-],
        shape (p,)."""
        _, _, approach, near = self._at_rest
        return (approach < 0.0) & ~near

    @cached_property
    def _normals(self) -> BoolArray:
        """Rows that are normals of contacts [-], shape (p,)."""
        normal = np.zeros(len(self.sides), bool)
        normal[: self.slot.size] = self.slot % 6 == 0
        return normal

    @cached_property
    def _pair(self) -> IntArray:
        """Pairs of materials of the contacts [-], shape (nc,)."""
        return pairs_of(self.world, self.contacts)

    @cached_property
    def grazes(self) -> BoolArray:
        """Rows with restitution whose approach velocity is 0, where restitution has a kink [-], shape
        (p,)."""
        _, e, _, near = self._at_rest
        return (e > 0.0) & near

    @cached_property
    def _at_rest(self) -> tuple[Array, Array, Array, BoolArray]:
        """Base values: rows, restitution, velocities before the impulses, and whether these count as 0."""
        at = self.middle_base
        rows, _, e, _, _ = self._raw(at, self.touching[0])
        approach = over_sides(rows, self.sides, at.v_start)[0].real
        size = sum(over_sides(abs(rows.real), self.sides, abs(v.real))[0] for v in (at.v_start, at.v_free))
        normal = np.flatnonzero(self._normals)
        size[normal] = np.maximum(size[normal], ACROSS * np.maximum(size[normal + 1], size[normal + 2]))
        return rows[0].real, e[0].real, approach, np.abs(approach) <= DOUBT * size

    def middle(self, given: Inputs) -> Middle:
        """Return the state at the middle of the step, with free velocities, for these inputs."""
        world, row, theta, h = self.world, self.bodies.row, self.theta, given.h
        first = (1.0 - theta) * h
        inverse = np.zeros_like(given.J)
        J_inv = np.linalg.inv(given.J[:, self.bodies.dynamic])
        inverse[:, self.bodies.dynamic] = 0.5 * (J_inv + np.swapaxes(J_inv, -1, -2))
        q, v = along.freely(row, given.J, inverse, given.q, given.v, first)
        F = along.forces_along(world, given, self.state.t + first, q, v)
        k = max(len(x) for x in (v, F, given.v, h, given.mass, given.J, given.gravity))
        v_free = np.array(np.broadcast_to(given.v, (k, *given.v.shape[1:])))
        if self.bodies.driven:
            along.prescribe(world, self.state.t + h, along.moved(q, given.v, theta * h), v_free)
        f = np.empty((k, self.bodies.dynamic.size, 6), complex)
        accelerated((row, given.mass, given.J, inverse), given.gravity, v, F, h, v_free, f)
        return Middle(given, inverse, q, v, v_free, f)

    def posed(self, at: Middle) -> Posed:
        """Return the data of the contact problem; contacts precede joints."""
        nc = len(self.contacts)
        touching, gap = self.table.along(self.table.shaped(self.world, at.given), at.q)
        rows, bias, e, bound, law = self._raw(at, touching)
        before = over_sides(rows, self.sides, at.v_start)
        bias = bias + e * np.where(self.bounces, before, 0.0)
        struck = (1.0 + e) * np.where(self.bounces & self._normals, before, 0.0)
        coefficient = law.reshape(len(law), 4 * nc)[:, self.group]
        if self.joints.joint.size:
            unit = self.unit
            rows, bias = rows * unit[:, None, None], bias * unit
            rows, bias = self._projected(at, rows, bias)
            bound = joined(np.zeros((1, nc)), bound / unit[self.slot.size :][self.joints.start[:-1]])
        return Posed(rows, bias, struck, coefficient, bound, law[..., 3], gap)

    def _projected(self, at: Middle, rows: Complex, bias: Complex) -> tuple[Complex, Complex]:
        """Return rows and biases, with redundant rows of joints projected out."""
        blocks, first, k = self.joints, self.slot.size, max(len(rows), len(bias))
        rows, bias = (np.array(np.broadcast_to(x, (k, *x.shape[1:]))) for x in (rows, bias))
        sides, error = self.world.joints.body[blocks.joint], blocks.along(self.world.joints, at.q)[1][0].real
        project_redundant_rows(
            self.bodies, sides, blocks.joint, blocks.part, np.diff(blocks.start), rows[:, first:],
            bias[:, first:], error * self.unit[first:],
        )  # fmt: skip
        return rows, bias

    def _raw(self, at: Middle, touching: Complex) -> tuple[Complex, ...]:
        """Return rows without units, biases without restitution, restitution, bounds of dry friction, and the
        laws of the contacts."""
        nc, joints, blocks = len(self.contacts), self.world.joints, self.joints
        law = at.given.law[:, self._pair]
        rows = touching.reshape(len(touching), 6 * nc, 2, 6)[:, self.slot]
        e = np.where(self.slot % 6 == 0, law[:, self.slot // 6, 3] * self.newton, 0.0)
        bias: Complex = np.zeros((1, self.slot.size))
        bound: Complex = np.zeros((1, nc))
        if blocks.joint.size:
            # change of the rows until the end of the step, as in `kernels/bodies/joints.joint_rows`
            reach, sides = self.theta * at.given.h, self.sides[self.slot.size :]
            held, _ = blocks.along(joints, at.q)
            ends, _ = blocks.along(joints, along.moved(at.q, at.v_start, reach))
            _, ahead = along.freely(self.bodies.row, at.given.J, at.J_inverse, at.q, at.v_start, reach)
            gain = over_sides(ends, sides, ahead) - over_sides(held, sides, at.v_start)
            stops = np.where(np.isin(blocks.part % 3, (LOWER, UPPER)), joints.e[blocks.joint], 0.0)
            rows, bias, e = joined(rows, held), joined(bias, gain), joined(e, blocks.of_rows(stops)[None])
            dry = (blocks.part > 0) & (blocks.part % 3 == 0)
            most = joints.friction[blocks.joint, (blocks.part > DRY).astype(int)]
            bound = at.given.h[:, None] * np.where(dry, most, 0.0)
        still = (self.sides >= 0) & (self.bodies.row[self.sides] < 0)
        return rows, bias + over_sides(rows * still[:, :, None], self.sides, at.v_free), e, bound, law

    # Effects of inputs, at the solutions of the phases.

    def solved(self, phases: tuple[Phase, ...], v_after: Array) -> None:
        """Set the solutions of the phases, at which effects are computed, and lay out the lines."""
        self.phases, self.v_after = phases, v_after
        n, nd, p = self.bodies.count, self.bodies.dynamic.size, len(self.sides)
        posed = self.posed(self.middle_base)
        rest = (x.shape[1] for x in (posed.coefficient, posed.bound, posed.e))
        number = self.number(*(6 * nd, p) * len(phases), *rest, 6 * n, 6 * n)
        row = np.where(self.sides >= 0, self.bodies.row[self.sides], -1)[:, :, None]
        pushed = np.where(row >= 0, 6 * row + np.arange(6), -1).reshape(p, 12)
        dynamic, parts = self.near[self.bodies.dynamic], []
        for momenta, velocities in zip(self.lines[: 2 * len(phases) : 2], self.lines[1::2], strict=False):
            parts.append(Part(number[momenta].reshape(nd, 6), dynamic))
            parts.append(Part(np.where(pushed >= 0, momenta.start + pushed, -1), self.sides))
            parts.append(Part(number[velocities, None], self.sides))
        for where in self.lines[-5:-2]:
            parts.append(Part(number[where, None], np.zeros((where.stop - where.start, 0), np.int64)))
        parts += [Part(number[where].reshape(n, 6), self.near) for where in self.lines[-2:]]
        self.parts = tuple(parts)

    def effects(self, given: Inputs) -> tuple[Array, ...]:
        """Return the changes of all parts.

        These are, for each phase, f - M v, H r by rows and sides, and H' v + u_bias; then coefficients,
        bounds
        and restitution; then displacements and velocities at the end.
        """
        k, at, p, dynamic = given.k, self.middle(given), len(self.sides), self.bodies.dynamic
        posed, parts = self.posed(at), []
        drows, mass, J = changes(posed.rows, k), given.mass[:, dynamic, None], given.J[:, dynamic]
        speed = at.v_start[:, dynamic]
        for phase in self.phases:
            v = phase.v.reshape(-1, 6)
            momentum = at.f - _momenta(mass, J, v) if phase.forced else _momenta(mass, J, speed - v)
            on_sides = np.concatenate([v, np.zeros((1, 6))])[
                np.where(self.sides >= 0, self.bodies.row[self.sides], -1)
            ]
            u = np.einsum("kpsi,psi->kp", drows, on_sides)
            u = u + changes(posed.u_bias - phase.left * posed.struck, k)
            parts += [changes(momentum, k), (drows * phase.r[:, None, None]).reshape(k, p, 12), u[:, :, None]]
        parts += [changes(x, k)[:, :, None] for x in (posed.coefficient, posed.bound, posed.e)]
        return *parts, *self.arrival(at, k)

    def arrival(self, at: Middle, k: int, dv: Array | None = None) -> tuple[Array, Array]:
        """Return the changes of q (displacements) and v at the end, each (k, n, 6).

        dv: changes of the velocities after the impulses, shape (k, nd, 6), 0 by default.
        """
        v = np.array(np.broadcast_to(at.v_free, (k, *at.v_free.shape[1:])))
        v[:, self.bodies.dynamic] = self.v_after.reshape(-1, 6) + (0.0 if dv is None else 1j * EPSILON * dv)
        reach = self.theta * at.given.h
        q_end, v_end = along.freely(self.bodies.row, at.given.J, at.J_inverse, at.q, v, reach)
        return along.displacements(q_end, k), changes(v_end, k)

    @cached_property
    def arrival_by_v(self) -> tuple[Array, Array]:
        """Derivatives of q and v of each dynamic body at the end by its v after the impulses, each
        (nd, 6, 6); bodies are independent during free motion."""
        dynamic = self.bodies.dynamic
        dv = np.broadcast_to(np.eye(6)[:, None], (6, dynamic.size, 6))
        q, v = (x[:, dynamic].transpose(1, 2, 0) for x in self.arrival(self.middle_base, 6, dv))
        return q, v


def _momenta(mass: Complex, J: Complex, v: Complex) -> Complex:
    """Return the momenta M v [N s, N m s], shape (k, nd, 6)."""
    turning = (J * v[..., None, 3:]).sum(axis=-1)
    return np.concatenate(np.broadcast_arrays(mass * v[..., :3], turning), axis=-1)
