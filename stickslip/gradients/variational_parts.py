"""A solved step of the variational scheme, taken apart: rows, laws and their change with poses."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.gradients.variational_motion import End, momentum_by_v
from stickslip.kernels.bodies.joint_geometry import DRY, HOLD, LOWER, UPPER, held
from stickslip.kernels.variational_derivatives import laws, motion, parts
from stickslip.kernels.variational_derivatives.rows import ANGLE, AXIS, JOINT_ROWS, SLIDE
from stickslip.mechanics.world import World
from stickslip.problem.step_problem import LINEARISED, MODELS, StepProblem
from stickslip.problem.step_tangent import StepBlocks, step_blocks, step_end
from stickslip.state import Array, BoolArray, IntArray

TURN = 2.0 * np.pi
NEGLIGIBLE = 1e-5
"""Share of the arm of a row, per step, that velocities are always measured by [-]."""


@dataclass(frozen=True, eq=False, slots=True)
class Contacts:
    """Contacts at a solution, all with six components: N, T1, T2, rolling about t1, t2, torsion."""

    body: IntArray
    """[-], shape (nc, 2)."""
    component: IntArray
    """Where components are in the solution's r, -1 for those that it does not have [-], shape (nc, 6)."""
    rows: Array
    """At the start [-, m], shape (nc, 6, 2, 6)."""
    by_v: Array
    """Of gaps at the end and of slip velocities by v [s, m s, -, m], shape (nc, 6, 2, 6)."""
    by_q: Array
    """The same by displacements at the start [-, m, 1/s, m/s], shape (nc, 6, 2, 6)."""
    by_h: Array
    """Of gaps at the end by h [m/s], shape (nc,)."""
    wrench: Array
    """What impulses do to both bodies, by displacements of both (middle axis) [N s/m, N s,
    N m s], shape (nc, 12, 12)."""
    came: Array
    """Speed of approach before the step, by displacements [1/s, m/s], shape (nc, 12)."""
    r: Array
    """[N s, N m s], shape (nc, 6)."""
    L_u: Array
    """The laws by gaps and slip velocities, scaled [1/s, -], shape (nc, 6, 6)."""
    L_r: Array
    """By impulses [m/(N s s), -], shape (nc, 6, 6)."""
    L_mu: Array
    """By mu, mu_roll, mu_spin [N s], shape (nc, 6, 3)."""
    state: IntArray
    """What gap, friction, rolling and torsion do, as `laws` numbers it [-], shape (nc, 4)."""
    mark: IntArray
    """Where there is no derivative [-], shape (nc,)."""


@dataclass(frozen=True, eq=False, slots=True)
class JointParts:
    """Joints at a solution; rows are numbered as in the kernels: six held, slide, angle, axis."""

    rows: Array
    """At the start [-, m], shape (nj, 9, 2, 6)."""
    wrench: Array
    """What impulses and efforts do to both bodies, by displacements of both [N s/m, N s, N m s], shape
    (nj, 12, 12)."""
    came: Array
    """Rows times velocities before the step, by displacements [1/s, m/s], shape (nj, 12, 9)."""
    column: IntArray
    """Sliding or turning, of the unknowns [-], shape (m,)."""
    what: IntArray
    """HOLD, LOWER, UPPER or DRY, of the unknowns [-], shape (m,)."""
    body: IntArray
    """Of the unknowns [-], shape (m, 2)."""
    component: IntArray
    """Of the unknowns in r [-], shape (m,)."""
    acts: Array
    """Of the unknowns: what a unit impulse does [-, m], shape (m, 2, 6)."""
    by_v: Array
    """Of errors and gaps at the end and of rates, by v [s, m s, -, m], shape (m, 2, 6)."""
    by_q: Array
    """The same by displacements [-, m, 1/s, m/s], shape (m, 2, 6)."""
    by_h: Array
    """The same by h [m/s, rad/s], shape (m,)."""
    L_u: Array
    """Their laws by errors, gaps and rates, scaled [1/s, -], shape (m,)."""
    L_r: Array
    """By impulses [m/(N s s), -], shape (m,)."""
    L_most: Array
    """By the largest friction [-], shape (m,)."""
    joint: IntArray
    """Whose they are [-], shape (m,)."""
    part: IntArray
    """As `body_joints.PARTS` [-], shape (m,)."""
    mark: IntArray
    """[-], shape (m,)."""


@dataclass(frozen=True, eq=False, slots=True)
class Solved:
    """A step at its solution."""

    problem: StepProblem
    blocks: StepBlocks
    v: Array
    """Of all bodies over the step [m/s, rad/s], shape (n, 6)."""
    v_before: Array
    """Over the step before [m/s, rad/s], shape (n, 6)."""
    r: Array
    """[N s, N m s], shape (p,)."""
    kappa: float
    q_end: Array
    """[m, -], shape (n, 7)."""
    end: End
    A: Array
    """∂P/∂v of the dynamic bodies [kg, kg m²], shape (nd, 6, 6)."""
    inverse: Array
    """A⁻¹ [1/kg, 1/(kg m²)], shape (nd, 6, 6)."""
    light: Array
    """M⁻¹ of all bodies, 0 of those that do not answer [1/kg, 1/(kg m²)], shape (n + 1, 6, 6)."""
    fast: Array
    """Velocities that move them: |v| + |M⁻¹ p| [m/s, rad/s], shape (n + 1, 6)."""

    @classmethod
    def of(cls, problem: StepProblem, v: Array, v_before: Array, r: Array, kappa: float) -> "Solved":
        """The step at velocities v of all bodies, (n, 6)."""
        n, moves = v.shape[0], problem.row >= 0
        A = momentum_by_v(problem.mass[moves], problem.J[moves], v[moves], problem.h)
        inverse = np.empty_like(A)
        motion.slope_inverses(A, inverse)
        light, fast = np.zeros((n + 1, 6, 6)), np.zeros((n + 1, 6))
        light[np.flatnonzero(moves)] = inverse
        fast[:n] = np.abs(v) + np.abs(np.matmul(light[:n], problem.p[:, :, None])[:, :, 0])
        return cls(
            problem, step_blocks(problem), v, v_before, r, kappa, step_end(problem, v),
            End.of(v, problem.h), A, inverse, light, fast,
        )  # fmt: skip

    def weights(self, rows: Array, body: IntArray) -> tuple[Array, Array]:
        """Velocity of a unit impulse, and velocities that move them, of rows (m, 2, 6), shape (m,) each."""
        w, scale = np.empty(rows.shape[0]), np.empty(rows.shape[0])
        # nothing that moves bodies less than this share of their arms in a step says anything
        least = NEGLIGIBLE / self.problem.h
        motion.row_weights(rows, body, self.light, self.fast, least, w, scale)
        return w, scale


def contacts_of(solved: Solved, directions: int = parts.POSES) -> tuple[Contacts, Array, Array, Array, Array]:
    """The contacts, and what changes with their points and radii where `directions` asks for it: wrenches
    (nc, 8, 12), slip velocities (nc, 8, 6), speeds before (nc, 8) and gaps at the end (nc, 8)."""
    problem, c, h = solved.problem, solved.problem.contacts, solved.problem.h
    nc = len(c)
    component = _components(solved.blocks, c.law, nc)
    r = np.where(component >= 0, solved.r[component], 0.0) if solved.r.size else np.zeros((nc, 6))
    rows, end_rows, gap = np.empty((nc, 6, 2, 6)), np.empty((nc, 2, 6)), np.zeros(nc)
    wrench, rate = np.zeros((nc, directions, 12)), np.zeros((nc, directions, 6))
    before, opening = np.zeros((nc, directions, 6)), np.zeros((nc, directions - parts.POSES))
    body = np.array(c.body, np.int64)
    parts.contact_parts(
        *_own(c.kind, body, c.point, c.normal, c.radius, c.frame, r, problem.q, solved.q_end, solved.v,
              solved.v_before),
        directions, rows, end_rows, gap, wrench, rate, before, opening,
    )  # fmt: skip
    u = (rows * _at(solved.v, body)[:, None]).sum(axis=(2, 3))
    by_v, by_q = rows.copy(), rate[:, : parts.POSES].transpose(0, 2, 1).reshape(nc, 6, 2, 6).copy()
    turned = by_q[:, 0].copy()
    by_v[:, 0], by_q[:, 0], by_h = solved.end.rows_from_end(end_rows, body)
    forecast = c.kind == LINEARISED
    if forecast.any():
        by_v[forecast, 0] = h * rows[forecast, 0]
        by_q[forecast, 0] = rows[forecast, 0] + h * turned[forecast]
        by_h[forecast] = u[forecast, 0]
        gap = np.where(forecast, c.gap + h * u[:, 0], gap)
    flat = rows.reshape(-1, 2, 6)
    w, scale = solved.weights(flat, np.repeat(body, 6, axis=0))
    w, scale = w.reshape(nc, 6), scale.reshape(nc, 6)
    scale[:, 0] = scale[:, :3].max(axis=1)  # what slides along a plane has no normal velocity to measure by
    L_u, L_r, L_mu = np.empty((nc, 6, 6)), np.empty((nc, 6, 6)), np.empty((nc, 6, 3))
    state, mark = np.empty((nc, 4), np.int64), np.empty(nc, np.int64)
    laws.contact_laws(
        MODELS.index(problem.model), solved.kappa, *_own(c.law, r, gap - c.bounce, u), h,
        w, scale, L_u, L_r, L_mu, state, mark,
    )  # fmt: skip
    found = Contacts(
        body, component, rows, by_v, by_q, by_h, wrench[:, : parts.POSES], before[:, : parts.POSES, 0], r,
        L_u, L_r, L_mu, state, mark,
    )  # fmt: skip
    more = slice(parts.POSES, None)
    return found, wrench[:, more], rate[:, more], before[:, more, 0], opening


@dataclass(frozen=True, eq=False, slots=True)
class JointLayout:
    """Which unknowns the joints of a world have; the same in all its steps, but for the contacts before."""

    joint: IntArray
    """[-], shape (m,)."""
    part: IntArray
    """[-], shape (m,)."""
    column: IntArray
    """[-], shape (m,)."""
    what: IntArray
    """[-], shape (m,)."""
    line: IntArray
    """Row of the joint, as kernels number them [-], shape (m,)."""
    sign: Array
    """-1 of upper stops, else 1 [-], shape (m,)."""
    count: IntArray
    """Components of place and turn that joints hold [-], shape (nj, 2)."""
    body: IntArray
    """Of the joints [-], shape (nj, 2)."""
    stop: IntArray
    """Unknowns that are stops [-], shape (k,)."""
    dry: IntArray
    """Unknowns that are dry friction [-], shape (k,)."""

    @classmethod
    def of(cls, world: World, solved: Solved) -> "JointLayout":
        """Those of `world`, made on first use and kept with it."""
        found: JointLayout | None = world.__dict__.get("_joint_layout")
        if found is None:
            found = cls.made(solved)
            world.__dict__["_joint_layout"] = found
        return found

    @classmethod
    def made(cls, solved: Solved) -> "JointLayout":
        """From the blocks of a step."""
        j, nc, blocks = solved.problem.joints, len(solved.problem.contacts), solved.blocks
        block = np.arange(nc, len(blocks.K.kind))
        size = np.diff(blocks.K.offset)[block]
        joint, part = np.repeat(blocks.joint[block], size), np.repeat(blocks.part[block], size)
        within = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
        turning = part >= LOWER + 3
        what = np.where(part == HOLD, HOLD, LOWER + (part - LOWER) % 3)
        line = np.where(what == HOLD, within, np.where(turning, ANGLE, SLIDE))
        return cls(
            joint, part, turning.astype(np.int64), what, line, np.where(what == UPPER, -1.0, 1.0),
            _held(j.kind, j.lower, j.upper), np.array(j.body, np.int64),
            np.flatnonzero((what == LOWER) | (what == UPPER)), np.flatnonzero(what == DRY),
        )  # fmt: skip


def joints_of(world: World, solved: Solved, effort: Array) -> JointParts:
    """The joints; effort (nj, 2): impulses of actuators along their two coordinates."""
    problem, j = solved.problem, solved.problem.joints
    nj = len(j)
    layout = JointLayout.of(world, solved) if nj else JointLayout.made(solved)
    joint, line, sign = layout.joint, layout.line, layout.sign
    first = int(solved.blocks.K.offset[len(problem.contacts)]) if nj else 0
    r = solved.r[first : first + joint.size]
    coefficient = np.zeros((nj, JOINT_ROWS))
    np.add.at(coefficient, (joint, line), sign * r)
    coefficient[:, SLIDE] += effort[:, 0]
    coefficient[:, AXIS] += effort[:, 1]
    rows, end_rows, value = (
        np.empty((nj, JOINT_ROWS, 2, 6)),
        np.empty((nj, JOINT_ROWS, 2, 6)),
        np.empty((nj, 8)),
    )
    wrench, rate = np.zeros((nj, 12, 12)), np.zeros((nj, 12, JOINT_ROWS))
    before = np.zeros((nj, 12, JOINT_ROWS))
    parts.joint_parts(
        *_own(j.kind, layout.body, j.point, j.frame, j.length, layout.count, coefficient, problem.q,
              solved.q_end, solved.v, solved.v_before),
        rows, end_rows, value, wrench, rate, before,
    )  # fmt: skip
    sides, s3 = layout.body[joint], sign[:, None, None]
    acts, ends = s3 * rows[joint, line], s3 * end_rows[joint, line]
    by_v, by_q, by_h = solved.end.rows_from_end(ends, sides)
    L_u, L_r, L_most = np.ones(line.size), np.zeros(line.size), np.zeros(line.size)
    mark = np.zeros(line.size, np.int64)
    for which in (layout.stop, layout.dry):
        if not which.size:
            continue
        n, at, k = which.size, (joint[which], layout.column[which]), sides[which]
        on, slack, most, did = np.empty(n), np.empty(n), np.zeros(n), np.empty(n, np.int64)
        marked = np.empty(n, np.int64)
        w, scale = solved.weights(acts[which], k)
        if which is layout.stop:
            y = value[joint[which], line[which]]
            y = np.where(layout.column[which] == 1, _within_turn(y, j.lower[at], j.upper[at]), y)
            limit = np.where(layout.what[which] == LOWER, j.lower[at], j.upper[at])
            s = sign[which] * (y - limit) - j.bounce[(*at, layout.what[which] - LOWER)]
            laws.stop_laws(solved.kappa, r[which], s, problem.h, w, scale, on, slack, did, marked)
        else:
            by_v[which], by_h[which] = acts[which], 0.0
            by_q[which] = rate[joint[which], :, line[which]].reshape(-1, 2, 6)
            u = (acts[which] * _at(solved.v, k)).sum(axis=(1, 2))
            laws.dry_laws(solved.kappa, j.friction[at], r[which], u, w, scale, on, slack, most, did, marked)
        L_u[which], L_r[which], L_most[which], mark[which] = on, slack, most, marked
    return JointParts(
        rows, wrench, before, layout.column, layout.what, sides, first + np.arange(joint.size), acts, by_v,
        by_q, by_h, L_u, L_r, L_most, joint, layout.part, mark,
    )  # fmt: skip


def _held(kind: IntArray, lower: Array, upper: Array) -> IntArray:
    """How many components of place and of turn joints hold [-], shape (nj, 2)."""
    each = zip(kind.tolist(), lower[:, 0].tolist(), upper[:, 0].tolist(), strict=True)
    return np.array([held(*one) for one in each], np.int64).reshape(-1, 2)


def _within_turn(angle: Array, lower: Array, upper: Array) -> Array:
    """Angles in the turn about the middle of their stops."""
    both = np.isfinite(lower) & np.isfinite(upper)
    middle = np.where(both, 0.5 * (np.where(both, lower, 0.0) + np.where(both, upper, 0.0)), angle)
    return angle + TURN * np.floor((middle - angle) / TURN + 0.5)


def _components(blocks: StepBlocks, law: Array, nc: int) -> IntArray:
    """Where the six components of contacts are in r, -1 for those that are not there, shape (nc, 6)."""
    at = blocks.K.offset[:nc, None]
    rolls, spins = law[:, 1] > 0.0, law[:, 2] > 0.0
    out = np.full((nc, 6), -1, np.int64)
    out[:, :3] = at + np.arange(3)
    out[:, 3:5] = np.where(rolls[:, None], at + np.array([3, 4]), -1)
    out[:, 5] = np.where(spins, at[:, 0] + 3 + 2 * rolls, -1)
    return out


def _at(x: Array, body: IntArray) -> Array:
    """Rows of x (n, 6) for bodies, 0 for the inertial frame -1."""
    return np.where((body >= 0)[..., None], x[body], 0.0)


def kept_rows(L_u: Array, L_r: Array) -> BoolArray:
    """Which equations of contacts are more than dr = something known, shape (nc, 6)."""
    off = L_r.copy()
    index = np.arange(L_r.shape[-1])
    off[..., index, index] = 0.0
    return np.asarray((L_u != 0.0).any(axis=-1) | (off != 0.0).any(axis=-1))


def matched(ids: Array | IntArray, known: Array | IntArray) -> tuple[IntArray, IntArray]:
    """Places of the ids that both have, in either."""
    if not len(ids) or not len(known):
        none = np.zeros(0, np.int64)
        return none, none
    _, here, there = np.intersect1d(
        np.asarray(ids, np.int64), np.asarray(known, np.int64), return_indices=True
    )
    return here, there


def _own(*arrays: Any) -> tuple[Any, ...]:
    """Arrays as kernels are compiled for: writable and in one piece."""
    return tuple(x if x.flags.writeable and x.flags.c_contiguous else np.array(x, order="C") for x in arrays)
