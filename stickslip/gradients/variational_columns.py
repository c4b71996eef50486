"""Right-hand sides of a step's derivative: what each input changes while v and the impulses stand still.

A dv - B dr = e,    C dv + D dr = c,    and what changes in the step's results beside dv and dr.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from stickslip.gradients.variational_driven import driven, with_driven
from stickslip.gradients.variational_forces import efforts_of, other_forces, wrench_turned
from stickslip.gradients.variational_motion import (
    momentum_by_h,
    momentum_by_inertia,
    momentum_by_v,
)
from stickslip.gradients.variational_parts import (
    Solved,
    contacts_of,
    joints_of,
    kept_rows,
    matched,
)
from stickslip.gradients.variational_right_sides import Columns
from stickslip.gradients.variational_shapes import by_place, by_size
from stickslip.gradients.variational_system import Rows, System, spread, spread_sparse
from stickslip.kernels.bodies.joint_geometry import DRY, LOWER, UPPER
from stickslip.kernels.variational_derivatives.parts import add_pairs
from stickslip.mechanics.world import World
from stickslip.rotations import matrices
from stickslip.schemes.body_joints import PARTS
from stickslip.schemes.body_step import BodyStep
from stickslip.schemes.step import Memory
from stickslip.state import Array, IntArray, State

DENSE = 900
"""Most columns of dense matrices."""


class Linear:
    """One solved step as a linear system, with its right-hand sides on demand."""

    def __init__(self, world: World, state: State, memory: Memory, step: BodyStep, solved: Solved):
        self.world, self.state, self.memory, self.step, self.solved = world, state, memory, step, solved
        problem = solved.problem
        self.h, self.row = problem.h, problem.row
        self.n, self.nd = problem.row.size, int((problem.row >= 0).sum())
        self.before = float(memory["h"][0])
        self.share = 0.5 * (self.before + self.h)
        v_node = problem.v.reshape(-1)
        self.efforts = efforts_of(world, state.t, state.q, v_node)
        self.contacts = contacts_of(solved)[0]
        self.joints = joints_of(world, solved, self.share * self.efforts.per_joint(len(problem.joints)))
        self._v_node = v_node
        self._number()
        self.system = System(
            solved.A, solved.inverse, Rows(self.row_of[self.body], self.acts, self.moves, self.D)
        )

    def _number(self) -> None:
        """Number the unknown impulses: of contacts whose equations say more than a value, then of joints."""
        c, j = self.contacts, self.joints
        self.row_of = np.append(self.row, -1)
        kept = kept_rows(c.L_u, c.L_r)
        self.contact, self.component = np.nonzero(kept)
        nk = self.contact.size
        at = np.full((len(c.body), 6), -1, np.int64)
        at[kept] = np.arange(nk)
        self.at = at
        self.given = ~kept
        self.body = np.concatenate([c.body[self.contact], j.body])
        self.acts = np.concatenate([c.rows[kept], j.acts])
        L_u = c.L_u[kept][:, None, :]
        moves = np.matmul(L_u, c.by_v.reshape(-1, 6, 12)[self.contact]).reshape(-1, 2, 6)
        by_q = np.matmul(L_u, c.by_q.reshape(-1, 6, 12)[self.contact]).reshape(-1, 2, 6)
        self.moves = np.concatenate([moves, j.L_u[:, None, None] * j.by_v])
        self.by_q = np.concatenate([by_q, j.L_u[:, None, None] * j.by_q])
        i, k, m = np.nonzero(kept[:, :, None] & kept[:, None, :] & (c.L_r != 0.0))
        slack = np.flatnonzero(j.L_r)
        self.nk, self.m = nk, nk + j.component.size
        self.D = (
            np.concatenate([c.L_r[i, k, m], j.L_r[slack]]),
            np.concatenate([at[i, k], nk + slack]),
            np.concatenate([at[i, m], nk + slack]),
        )

    # what the inputs change

    def columns(self, name: str) -> Columns:
        """Of one input."""
        table: dict[str, Callable[[], Columns]] = {
            "q": self._by_q, "v": self._by_v, "h": self._by_h, "h_before": self._by_h_before,
            "approach": self._by_approach,
            "joint_approach": self._by_joint_approach, "gravity": self._by_gravity, "mass": self._by_mass,
            "inertia": self._by_inertia, "size": lambda: by_size(self),
            "place": lambda: by_place(self), "e": self._by_e, "effort": self._by_effort,
            "wrench": self._by_wrench,
            "mu": lambda: self._by_mu(0), "mu_roll": lambda: self._by_mu(1),
            "mu_spin": lambda: self._by_mu(2),
        }  # fmt: skip
        return table[name]()

    @cached_property
    def _is_dense(self) -> bool:
        return 6 * self.n <= DENSE

    def spread(self, rows: Array, body: IntArray) -> Any:
        """Rows (m, 2, 6) of pairs of bodies as a matrix (m, 6 n), dense or sparse."""
        return (spread if self._is_dense else spread_sparse)(rows, body, self.n)

    def _summed(self, value: Array, line: IntArray, column: IntArray, shape: tuple[int, int]) -> Any:
        """A matrix of entries, equal places added, those with a negative place left out."""
        there = (line >= 0) & (column >= 0)
        value, line, column = value[there], line[there], column[there]
        if self._is_dense:
            flat = np.bincount(line * shape[1] + column, value, shape[0] * shape[1])
            return flat.astype(float, copy=False).reshape(shape)
        return sparse.csr_matrix((value, (line, column)), shape=shape)

    def _pairs(self, wrench: Array, body: IntArray) -> tuple[Array, IntArray, IntArray]:
        """Entries of ∂(wrenches on both bodies)/∂(their displacements), from (k, 12, 12)."""
        row = self.row_of[body]
        line = np.where(row[:, :, None] >= 0, 6 * row[:, :, None] + np.arange(6), -1).reshape(-1, 1, 12)
        column = np.where(body[:, :, None] >= 0, 6 * body[:, :, None] + np.arange(6), -1).reshape(-1, 12, 1)
        shape = wrench.shape
        return (
            wrench.reshape(-1),
            np.broadcast_to(line, shape).reshape(-1),
            np.broadcast_to(column, shape).reshape(-1),
        )

    def _own_blocks(self, blocks: Array, of: int = 0, by: int = 0) -> tuple[Array, IntArray, IntArray]:
        """Entries of blocks (n, a, b) of the dynamic bodies on the diagonal, from component `of`, `by` on."""
        moves = np.flatnonzero(self.row >= 0)
        a, b = blocks.shape[1:]
        line = 6 * self.row[moves][:, None, None] + of + np.arange(a)[:, None]
        column = 6 * moves[:, None, None] + by + np.arange(b)
        shape = (moves.size, a, b)
        return (
            blocks[moves].reshape(-1),
            np.broadcast_to(line, shape).reshape(-1),
            np.broadcast_to(column, shape).reshape(-1),
        )

    def _actuated(self) -> tuple[Array, Array]:
        """What actuators do to both bodies, by displacements and by velocities of both, (k, 12, 12) each,
        beside what the turning of their axes does, which the joints have."""
        f, rows, came = self.efforts, self.joints.rows, self.joints.came
        act = self.share * rows[f.joint, f.line].reshape(-1, 12)
        place = rows[f.joint, f.coordinate].reshape(-1, 12)
        rate = came[f.joint, :, f.line].reshape(-1, 12)
        by_q = f.slope[:, :1] * place + f.slope[:, 1:] * rate
        by_v = f.slope[:, 1:] * rows[f.joint, f.line].reshape(-1, 12)
        return by_q[:, :, None] * act[:, None, :], by_v[:, :, None] * act[:, None, :]

    def other_forces(self, by: str) -> Any:
        """Of springs, dampers and users' forces on bodies, times the share of the step; dense."""
        F = other_forces(self.world, self.state.t, self.state.q, self._v_node, by=by)
        if F is None:
            return None
        moved = F.reshape(self.n, 6, F.shape[1])[self.row >= 0]
        return self.share * moved.reshape(6 * self.nd, F.shape[1])

    def _by_q(self) -> Columns:
        wrenches = [
            (self.contacts.wrench, self.contacts.body),
            (self.joints.wrench, np.array(self.solved.problem.joints.body, np.int64)),
        ]
        if self.efforts.slope.any():
            wrenches.append((self._actuated()[0], self.world.joints.body[self.efforts.joint]))
        e = self._paired(wrenches)
        turned = wrench_turned(self.world, self.state.q)
        if turned is not None:
            e = e + self._summed(*self._own_blocks(self.share * turned, 3, 3), (6 * self.nd, 6 * self.n))
        more = self.other_forces("q")
        e = e if more is None else e + more
        c = -self.spread(self.by_q, self.body)
        q = self._end(self.solved.end.by_turn, 1.0)
        approach, joint_approach = self._came(self.contacts.came.reshape(-1, 2, 6), self.joints.came)
        out = Columns(e, c, None, None, q, approach, joint_approach)
        moved = driven(self, "q")
        return out if moved is None else with_driven(self, out, moved)

    def _paired(self, wrenches: list[tuple[Array, IntArray]]) -> Any:
        """The sum of what displacements change in wrenches on pairs of bodies, shape (6 nd, 6 n)."""
        shape = 6 * self.nd, 6 * self.n
        if not self._is_dense:
            parts = [self._pairs(wrench, body) for wrench, body in wrenches]
            value, line, column = (np.concatenate(x) for x in zip(*parts, strict=True))
            return self._summed(value, line, column, shape)
        e, row = np.zeros(shape), np.array(self.row)
        for wrench, body in wrenches:
            add_pairs(np.ascontiguousarray(wrench), np.array(body), row, e)
        return e

    def _by_v(self) -> Columns:
        problem = self.solved.problem
        blocks = momentum_by_v(problem.mass, problem.J, self.solved.v_before, -self.before)
        e = self._on_diagonal(blocks)
        if self.efforts.slope.any():
            e = e + self._paired([(self._actuated()[1], self.world.joints.body[self.efforts.joint])])
        more = self.other_forces("v")
        if more is not None:
            more[:, np.repeat(self.row < 0, 6)] = 0.0  # of these the velocities over the step, below
            e = e + more
        rows = self.joints.rows.transpose(0, 2, 3, 1).reshape(-1, 12, self.joints.rows.shape[1])
        approach, joint_approach = self._came(self.contacts.rows[:, 0], rows)
        out = Columns(e, None, None, None, None, approach, joint_approach)
        moved = driven(self, "v")
        if moved is not None:
            return with_driven(self, out, moved)
        return out if (self.row >= 0).all() else self._with_rest(out)

    def _with_rest(self, given: Columns) -> Columns:
        """`given` with what follows from velocities of fixed bodies, which go through a step as they are."""
        still = np.flatnonzero(self.row < 0)
        rests = np.repeat(self.row < 0, 6).astype(float)
        F, q = self.other_forces("v"), self._end(self.solved.end.by_spin, self.h, still)
        e = given.e if F is None else given.e + F * rests
        # of the rows those sides alone that rest
        c = -self.spread(self.moves, np.where(self.row_of[self.body] < 0, self.body, -1))
        return replace(
            given, e=e, c=c, v=np.diag(rests) if self._is_dense else sparse.diags(rests).tocsr(), q=q
        )

    def _on_diagonal(self, blocks: Array) -> Any:
        """Blocks (n, 6, 6) of the dynamic bodies as a matrix (6 nd, 6 n)."""
        if not self._is_dense:
            return self._summed(*self._own_blocks(blocks), (6 * self.nd, 6 * self.n))
        out, moves = np.zeros((self.nd, 6, self.n, 6)), np.flatnonzero(self.row >= 0)
        out[self.row[moves], :, moves] = blocks[moves]
        return out.reshape(6 * self.nd, 6 * self.n)

    def _end(self, turning: Array, straight: float, which: IntArray | None = None) -> Any:
        """Displacements at the end by blocks (n, 3, 3) of turning and a factor of straight motion, of all
        bodies or of some; (6 n, 6 n)."""
        body = np.arange(self.n) if which is None else which
        if self._is_dense:
            out = np.zeros((self.n, 6, self.n, 6))
            out[body, 3:, body, 3:] = turning[body]
            for k in range(3):
                out[body, k, body, k] = straight
            return out.reshape(6 * self.n, 6 * self.n)
        blocks = np.zeros((body.size, 6, 6))
        blocks[:, range(3), range(3)] = straight
        blocks[:, 3:, 3:] = turning[body]
        index = 6 * body[:, None, None]
        line = np.broadcast_to(index + np.arange(6)[:, None], blocks.shape).reshape(-1)
        column = np.broadcast_to(index + np.arange(6), blocks.shape).reshape(-1)
        return self._summed(blocks.reshape(-1), line, column, (6 * self.n, 6 * self.n))

    @cached_property
    def end_by_v(self) -> Any:
        """∂(displacements at the end)/∂v, shape (6 n, 6 n)."""
        return self._end(self.solved.end.by_spin, self.h)

    def displacements(self, dv: Array) -> Array:
        """What changes dv (6 nd, k) of velocities of the dynamic bodies do to those at the end, (6 nd, k)."""
        change = dv.reshape(self.nd, 2, 3, dv.shape[1])
        out = np.empty_like(change)
        out[:, 0] = self.h * change[:, 0]
        np.matmul(self.solved.end.by_spin[self.row >= 0], change[:, 1], out=out[:, 1])
        return out.reshape(dv.shape)

    def _by_h(self) -> Columns:
        s, problem, j = self.solved, self.solved.problem, self.joints
        force = self._forces()
        e = (0.5 * force - momentum_by_h(problem.J, s.v, self.h))[self.row >= 0].reshape(-1, 1)
        speeds = self._bounces() / self.h if self.h else self._bounces()
        at_gap = self.contacts.by_h - speeds
        by_contact = -np.einsum("ck,c->ck", self.contacts.L_u[:, :, 0], at_gap)[self.contact, self.component]
        by_joint = -j.L_u * (j.by_h - self._stop_bounces() / self.h) - j.L_most * 0.5 * self._dry()
        c = np.concatenate([by_contact, by_joint])[:, None]
        out = Columns(e, c, None, None, s.end.by_h.reshape(-1, 1))
        moved = driven(self, "h")
        return out if moved is None else with_driven(self, out, moved)

    def _by_h_before(self) -> Columns:
        """By the length of the step before: the node's share of the forces, and the momentum that arrives."""
        momentum = momentum_by_h(self.solved.problem.J, self.solved.v_before, -self.before)
        e = (0.5 * self._forces() - momentum)[self.row >= 0].reshape(-1, 1)
        dry = -self.joints.L_most * 0.5 * self._dry()
        return Columns(e, np.concatenate([np.zeros(self.nk), dry])[:, None])

    def _forces(self) -> Array:
        """All forces at the node, gravity's too [N, N m], shape (n, 6)."""
        F = np.zeros((3, self.n, 6))
        self.world.forces.add(self.state.t, self.state.q, self._v_node, F)
        total = F.sum(axis=0)
        total[:, :3] += self.world.mass[:, None] * self.world.gravity
        return np.asarray(total)

    def _bounces(self) -> Array:
        return self.solved.problem.contacts.bounce

    def _stop_bounces(self) -> Array:
        """Of the unknowns of joints [m, rad], shape (mj,)."""
        column, what = self.joints.column, self.joints.what
        bounce = self.solved.problem.joints.bounce
        stop = (what == LOWER) | (what == UPPER)
        return np.where(stop, bounce[self.joints.joint, column, np.where(stop, what - LOWER, 0)], 0.0)

    def _dry(self) -> Array:
        """Dry friction of the unknowns of joints [N, N m], shape (mj,)."""
        column, what = self.joints.column, self.joints.what
        return np.where(what == DRY, self.world.joints.friction[self.joints.joint, column], 0.0)

    def _by_gravity(self) -> Columns:
        moves = self.row >= 0
        e = np.zeros((self.nd, 6, 3))
        e[:, range(3), range(3)] = self.share * self.world.mass[moves, None]
        return Columns(e.reshape(-1, 3))

    def _by_mass(self) -> Columns:
        change = self.solved.v_before[:, :3] - self.solved.v[:, :3] + self.share * self.world.gravity
        blocks = np.concatenate([change, np.zeros_like(change)], axis=1)
        e = np.zeros((self.nd, 6, self.n))
        moves = np.flatnonzero(self.row >= 0)
        e[self.row[moves], :, moves] = blocks[moves]
        return Columns(e.reshape(6 * self.nd, self.n))

    def _by_inertia(self) -> Columns:
        s = self.solved
        blocks = momentum_by_inertia(s.v_before, -self.before) - momentum_by_inertia(s.v, self.h)
        return Columns(self._on_diagonal(blocks))

    def _by_effort(self) -> Columns:
        f = self.efforts
        joint, line = f.joint[f.inputs], f.line[f.inputs]
        body = np.asarray(self.world.joints.body)[joint].reshape(-1, 2)
        rows = self.share * self.joints.rows[joint, line]
        return Columns(spread(rows, self.row_of[body], self.nd).T)

    def _by_wrench(self) -> Columns:
        blocks = np.zeros((self.n, 6, 6))
        blocks[:, range(3), range(3)] = self.share
        blocks[:, 3:, 3:] = self.share * matrices(self.state.q.reshape(-1, 7)[:, 3:]).transpose(0, 2, 1)
        return Columns(self._on_diagonal(blocks))

    @cached_property
    def _pair(self) -> IntArray:
        """Which pair of materials contacts are of [-], shape (nc,)."""
        material = np.sort(self.world.shapes.material[self.step.contacts.shape], axis=1)
        count = len(self.world.materials.names)
        i, j = material[:, 0], material[:, 1]
        return np.asarray(i * count - i * (i - 1) // 2 + j - i)

    @cached_property
    def _pair_count(self) -> int:
        count = len(self.world.materials.names)
        return count * (count + 1) // 2

    def _by_mu(self, g: int) -> Columns:
        c, nc = self.contacts, len(self.contacts.body)
        law = c.L_mu[:, :, g]
        right = np.zeros((self.m, self._pair_count))
        right[np.arange(self.nk), self._pair[self.contact]] = -law[self.contact, self.component]
        known = np.where(self.given, -law, 0.0)
        if not known.any():
            return Columns(None, right)
        r = np.zeros((nc, 6, self._pair_count))
        r[np.arange(nc), :, self._pair] = known
        wrench = np.einsum("ck,cksi->csi", known, c.rows)
        e = spread(wrench, self.row_of[c.body], self.nd)
        by_pair = np.zeros((self._pair_count, nc))
        by_pair[self._pair, np.arange(nc)] = 1.0
        return Columns((by_pair @ e).T, right, r.reshape(6 * nc, self._pair_count))

    def _by_e(self) -> Columns:
        law, right = self.solved.problem.contacts.law, np.zeros((self.m, self._pair_count))
        approach = self._approaches()
        gap = np.flatnonzero(self.component == 0)
        i = self.contact[gap]
        right[gap, self._pair[i]] = self.contacts.L_u[i, 0, 0] * self.h * approach[i]
        assert law.shape[0] == len(self.contacts.body)
        return Columns(None, right)

    def _approaches(self) -> Array:
        """How fast contacts had come that closed in the step before [m/s], shape (nc,)."""
        out = np.zeros(len(self.contacts.body))
        here, there = matched(self.step.contacts.id, self.memory["id"])
        out[here] = self.memory["approach"][there]
        return out

    def _by_approach(self) -> Columns:
        right = np.zeros((self.m, self.memory["approach"].size))
        here, there = matched(self.step.contacts.id, self.memory["id"])
        e = self.solved.problem.contacts.law[:, 3]
        for i, k in zip(here.tolist(), there.tolist(), strict=True):
            if self.at[i, 0] >= 0:
                right[self.at[i, 0], k] = self.contacts.L_u[i, 0, 0] * self.h * e[i]
        return Columns(None, right)

    def _by_joint_approach(self) -> Columns:
        right, j = np.zeros((self.m, self.memory["joint_approach"].size)), self.joints
        here, there = matched(j.joint * len(PARTS) + j.part, self.memory["joint_id"])
        right[self.nk + here, there] = j.L_u[here] * self.h * self.world.joints.e[j.joint[here]]
        return Columns(None, right)

    def _came(self, contact: Array, joint: Array) -> tuple[Any, Any]:
        """Rows of the speeds that the step remembers: of contacts (nc, 2, 6), of stops (nj, 12, 9)."""
        c, j, memory = self.contacts, self.joints, self.step.memory
        if not (memory["id"].size or memory["joint_id"].size):
            none = np.zeros((0, 6 * self.n))
            return none, none
        _, here = matched(memory["id"], self.step.contacts.id)
        approach = -self.spread(contact[here], c.body[here])
        column, what = j.column, j.what
        _, stop = matched(memory["joint_id"], j.joint * len(PARTS) + j.part)
        sign = np.where(what[stop] == UPPER, 1.0, -1.0)
        rows = joint[j.joint[stop], :, 6 + column[stop]].reshape(-1, 2, 6)
        return approach, self.spread(sign[:, None, None] * rows, j.body[stop])
