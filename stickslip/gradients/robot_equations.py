"""Equations of a step of a robot (`kernels/robots/steps.py`) as a function of its inputs.

    A (v⁺ - v_free) - J' r = 0,    the law on u = J v⁺ + bias,    q⁺ = q ∘ h (v⁺ + w)

with A = M + h D + h² K. The equations are linear in v⁺ and r, with the matrices A and J of the step. Their
derivatives by state, controls and parameters of the model are central differences of MuJoCo's stages at the
start of the step (`robot_stages.py`), at constant v⁺ and r and for the same contacts, limits and equalities.

The correction of positions w is differentiated at the limit of its sweeps: with p its impulses,

    A w - J' p = 0,    J w + gap / h (+ J v⁺) = 0 where p acts.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from stickslip.gradients.robot_numbers import restitution_of_blocks
from stickslip.gradients.robot_stages import RobotStages
from stickslip.kernels import cones
from stickslip.kernels.robots.impulses import DEEPEST, NEGLIGIBLE
from stickslip.kernels.robots.layout import CONTACT, EQUALITY, LIMIT
from stickslip.kernels.robots.rows import MOST_OF_A_PAIR
from stickslip.problem.sets import spans
from stickslip.robots.numbers import BOUNCES as OF_IMPACTS
from stickslip.robots.numbers import numbers_of
from stickslip.schemes.robot_prepared import PreparedRobot
from stickslip.schemes.step import Memory, Step
from stickslip.state import Array, BoolArray, IntArray, State

SHUT, CLOSES, BOUNCES = range(3)
"""Cases of the bias of a contact or limit: 0, gap / h, or e times the velocity before the step."""
EPSILON = {"q": 1e-6, "v": 1e-5, "act": 1e-6, "ctrl": 1e-5, "mass": 1e-5, "friction": 1e-5, "h": 1e-5}
"""Steps of central differences by input: relative for mass, friction and h; absolute for q; relative to
max(1, |value|) for v, act and ctrl. Heuristic."""
ROUNDING = 1e-11
"""Rounding error of the residuals of the equations, relative to their size [-]; heuristic."""
BENT = 1e-2
"""Relative difference of the slopes from both sides above which an input has two slopes [-]; heuristic."""


class RobotEquations(RobotStages):
    """Equations of one step of a robot."""

    def __init__(
        self, prepared: PreparedRobot, state: State, memory: Memory, h: float, step: Step, every: bool
    ):
        """every: include contacts and limits that are inactive in the step, which smoothed laws need."""
        super().__init__(prepared, state, memory, h, step, every)
        self.r = self._impulses(self._names[self.on], step.memory["key"].astype(np.int64))
        self.normals = self.K.offset[:-1][self.blocks.what >= LIMIT]
        """First components of contacts and limits [-], shape (normals,)."""
        self.e, self._shares = restitution_of_blocks(prepared, self.blocks.what, self.blocks.key)
        before = self.before()
        gap = self.base.gap[self.normals]
        bounces = (self.e > 0.0) & (before < 0.0) & (gap + h * before <= 0.0)
        self.branch = np.where(bounces, BOUNCES, np.where(gap > NEGLIGIBLE, CLOSES, SHUT))

    def before(self) -> Array:
        """Normal velocities of contacts and limits at the start of the step [m/s, rad/s], shape
        (normals,)."""
        n = self.normals
        return np.asarray(self.base.J[n] @ self.state.v + self.base.along[n])

    # 1. Impulses of the step.

    def _impulses(self, names: IntArray, last: IntArray) -> Array:
        """Impulses of the step [N s, N m s], shape (n,)."""
        r, memory = np.zeros(self.K.size), self.step.memory
        offset, order = memory["offset"].astype(np.int64), np.argsort(last, kind="stable")
        for i, place in enumerate(np.searchsorted(last[order], names).tolist()):
            if place < last.size and last[order[place]] == names[i]:
                b = int(order[place])
                r[self.K.offset[i] : self.K.offset[i + 1]] = memory["r"][offset[b] : offset[b + 1]]
        return r

    # 2. The correction of positions.

    def correction(self, v: Array, touching: BoolArray) -> tuple[Array, Array, IntArray]:
        """Return the correction w, its impulses p, and the components at which it acts, for the velocities
        v⁺.

        touching   components of loaded contacts with gap 0, which are added where the corrected gap is 0

        A small linear complementarity problem in p, solved by an active-set iteration.
        """
        # 1. Required displacement per h: equalities fully, contacts and limits where they overlap.
        base, K, h = self.base, self.K, self.h
        free = np.repeat(K.kind == cones.FREE, np.diff(K.offset))
        normal = np.zeros(K.size, bool)
        normal[self.normals] = True
        depth = DEEPEST
        want = np.where(free, np.clip(base.gap, -depth, depth), np.maximum(base.gap, -depth)) / h
        want += np.where(normal, base.J @ v + base.along, 0.0)
        need = h * max(np.abs(want[free]).max(initial=0.0), (-want[normal]).max(initial=0.0))
        at, p = np.flatnonzero(free | normal), np.zeros(K.size)
        if not at.size:
            return np.zeros(v.size), p, at
        # 2. Active set: drop the largest pull, add the largest violation.
        W = base.J[at] @ np.linalg.solve(base.A, base.J[at].T)
        acts = free[at].copy()
        if need >= NEGLIGIBLE:
            acts |= want[at] < 0.0
            for _ in range(2 * at.size + 2):
                impulses = np.zeros(at.size)
                if acts.any():
                    part = np.ix_(acts, acts)
                    impulses[acts] = np.linalg.lstsq(W[part], -want[at[acts]], rcond=1e-12)[0]
                pulls = np.where(acts & ~free[at], impulses, 0.0)
                violation = np.where(acts, 0.0, W @ impulses + want[at])
                if pulls.min() < -1e-12 * np.abs(impulses).max():
                    acts[np.argmin(pulls)] = False
                elif h * violation.min() < -NEGLIGIBLE:
                    acts[np.argmin(violation)] = True
                else:
                    break
            p[at] = impulses
        # 3. The correction, and touching components that it leaves closed.
        w = np.asarray(np.linalg.solve(base.A, base.J.T @ p), float)
        still = h * np.abs(base.J @ w + want) <= NEGLIGIBLE
        acts |= touching[at] & still[at]
        return w, p, at[acts]

    def closing(self, v: Array, w: Array) -> tuple[Array, Array]:
        """Linearise the closing of equalities at the end of the step (`kernels/robots/equalities.py`).

        Return its derivative P by displacements, shape (nv, nv), and its derivative by h due to moving mocap
        bodies, shape (nv,). P = I - X G with X = M⁻¹ G' (G M⁻¹ G')⁺, and M and the rows G of equalities at
        the end. The shift by the closing, of second order in h, is neglected. The closing starts from the
        positions after the velocities v and the correction w.
        """
        prepared = self.prepared
        m, d, nv = prepared.model, prepared.data, prepared.model.nv
        if not m.neq:
            return np.eye(nv), np.zeros(nv)
        with self._at_start():
            q = np.array(self.state.q)
            for velocity in (v, w):
                self._mujoco.mj_integratePos(m, q, velocity, self.h)
            prepared.place(replace(self.step.state, q=q))
            if not d.ne or np.abs(d.efc_pos[: d.ne]).max() > DEEPEST:
                return np.eye(nv), np.zeros(nv)
            _, rows = self._free_motion(self.h)
            M = np.zeros(nv * nv)
            M[self._entries] = np.tile(prepared.motion.M, 2)
            G, opened = rows.J[spans(rows.K[1], np.flatnonzero(rows.what == EQUALITY))], self._opened()
        pushed = np.linalg.solve(M.reshape(nv, nv), G.T)
        X = pushed @ np.linalg.pinv(G @ pushed, rcond=1e-9, hermitian=True)
        return np.eye(nv) - X @ G, -X @ opened

    def _opened(self) -> Array:
        """Derivative by h of the errors of equalities at the end, due to moving mocap bodies [m/s, rad/s],
        shape (ne,); by central differences. MuJoCo's data must be at the end of the step."""
        prepared, m, d = self.prepared, self.prepared.model, self.prepared.data
        drive, errors, e = prepared.drive, [], EPSILON["h"] * self.h
        if drive is None or not drive.mocap.size:
            return np.zeros(d.ne)
        place = self.state.z[m.na + m.nu :]
        pos, quat = place[: 3 * m.nmocap].reshape(-1, 3), place[3 * m.nmocap :].reshape(-1, 4)
        for h in (self.h + e, self.h - e):
            d.mocap_pos[:], d.mocap_quat[:] = drive.poses(self.state.t, h, pos, quat)
            prepared.make_stages()
            errors.append(np.array(d.efc_pos[: d.ne]))
        return (errors[0] - errors[1]) / (2.0 * e)

    # 3. Residuals of the equations, and their derivatives.

    def lines(self, x: Mapping[str, Array], held: "Held") -> Array:
        """Return the residuals of all equations for inputs x, concatenated.

        Their order is balance (nv), law (n), coefficient (ng), lower and upper (nb), act (na), and for the
        correction push (nv) and want (acting).
        """
        sample = self.base if x is self.inputs else self.sample(x, x["q"] is not self.inputs["q"])
        h, n, acting = float(x["h"][0]), self.normals, held.acting
        balance = sample.A @ (held.v - sample.v) - sample.J.T @ held.r
        bias = sample.bias.copy()
        bias[n] = sample.along[n] + np.where(self.branch == CLOSES, sample.gap[n] / h, 0.0)
        if self.e.any():
            after = sample.along[n] + self.e * (sample.J[n] @ x["v"] + sample.along[n])
            bias[n] = np.where(self.branch == BOUNCES, after, bias[n])
        parts = [balance, sample.J @ held.v + bias, sample.bounds, sample.act]
        if not acting.size:
            return np.concatenate([*parts, np.zeros(balance.size)])
        want = sample.J[acting] @ held.w + held.moves * sample.gap[acting] / h
        want += np.where(held.bears, sample.J[acting] @ held.end + sample.along[acting], 0.0)
        return np.concatenate([*parts, sample.A @ held.w - sample.J.T @ held.p, want])

    def effect(self, name: str, held: "Held") -> tuple[Array, list[int]]:
        """Return the derivatives of all residuals by an input, shape (lines, numbers), and the indices of the
        numbers at which the slopes from both sides differ."""
        x, base = self.inputs[name], self.lines(self.inputs, held)
        out = np.zeros((base.size, x.size))
        bent: list[int] = []
        if name == "force":
            out[: x.size] = -self.h * np.eye(x.size)
            return out, bent
        if name in OF_IMPACTS:
            before = np.where(self.branch == BOUNCES, self.before(), 0.0)
            share = before[:, None] * self._shares[name]
            out[self.state.v.size + self.normals] = share
            shares = self._shares[name][self.branch == BOUNCES]
            return out, np.flatnonzero(((shares > 0.0) & (shares < 1.0)).any(axis=0)).tolist()
        noise = ROUNDING * max(1.0, float(np.abs(base).max(initial=0.0)))
        columns = self._touched() if name == "friction" else range(x.size)
        with self._at_start():
            for j in columns:
                scales = {"mass": abs(x[j]), "h": x[j], "q": 1.0, "friction": x[j]}
                size = scales.get(name, max(1.0, abs(x[j])))
                step = EPSILON[name] * (size or 1.0)
                down = 0.0 if name == "mass" and not size else step
                above, below = (self._moved(name, j, way, held) for way in (step, -down))
                out[:, j] = (above - below) / (step + down)
                bend = np.abs(above - 2.0 * base + below) / step if down else 0.0
                if np.max(bend, initial=0.0) > max(BENT * np.abs(out[:, j]).max(initial=0.0), noise / step):
                    bent.append(j)
        return out, bent

    def _moved(self, name: str, j: int, way: float, held: "Held") -> Array:
        """Return the residuals with entry j of input `name` changed by `way`."""
        value = self.inputs[name].copy()
        value[j] += way
        x = {**self.inputs, name: value}
        if name not in ("mass", "friction"):
            return self.lines(x, held)
        m = self.prepared.model
        with numbers_of(m, **{name: value}):
            return self.lines(x, held)

    def _touched(self) -> list[int]:
        """Return the indices of the nonzero friction coefficients of geoms in active contacts."""
        n, pairs = self.prepared.model.ngeom, self.blocks.key[self.blocks.what == CONTACT] // MOST_OF_A_PAIR
        geoms = np.unique(np.concatenate([pairs // n, pairs % n]))
        mu = self.inputs["friction"]
        return [int(3 * g + k) for g in geoms for k in range(3) if mu[3 * g + k] > 0.0]

    # 4. Names for messages.

    def name_of(self, block: int) -> str:
        """Return the name of a block in messages."""
        robot, sort, key = self.prepared.robot, int(self.blocks.what[block]), int(self.blocks.key[block])
        if sort == CONTACT:
            a, b = (robot.names("geom")[g] for g in divmod(key // MOST_OF_A_PAIR, self.prepared.model.ngeom))
            return f"a contact of geoms {a!r} and {b!r}"
        if sort == LIMIT:
            kind = "tendon" if key & 2 else "joint"
            return f"the limit of {kind} {robot.names(kind)[key // 4]!r}"
        if sort == EQUALITY:
            return f"equality {robot.names('equality')[key]!r}"
        if key & 1:
            return f"dry friction of tendon {robot.names('tendon')[key // 2]!r}"
        joint = int(self.prepared.model.dof_jntid[key // 2])
        return f"dry friction of joint {robot.names('joint')[joint]!r}"

    def number_of(self, name: str, j: int) -> str:
        """Return the name of number j of an input in messages."""
        robot, m = self.prepared.robot, self.prepared.model
        if name in ("q", "v"):
            return f"{name} of joint {robot.names('joint')[int(m.dof_jntid[j])]!r}"
        if name == "friction":
            return f"friction of geom {robot.names('geom')[j // 3]!r}"
        if name == "limit_restitution":
            return f"restitution at the limit of {(*robot.names('joint'), *robot.names('tendon'))[j]!r}"
        kind = {"mass": "body", "ctrl": "actuator", "restitution": "geom"}.get(name)
        return f"{name} of {kind} {robot.names(kind)[j]!r}" if kind else name


class Held(NamedTuple):
    """Quantities that are held constant while inputs change."""

    v: Array
    """Velocities at the end [m/s, rad/s], shape (nv,)."""
    r: Array
    """Impulses [N s, N m s], shape (n,)."""
    end: Array
    """Velocities at the end of the step as made; they differ from v in smoothed laws [m/s, rad/s], shape
    (nv,)."""
    w: Array
    """Correction of positions, as a velocity [m/s, rad/s], shape (nv,)."""
    p: Array
    """Impulses of the correction [N s, N m s], shape (n,)."""
    acting: IntArray
    """Components at which the correction acts [-], shape (acting,)."""
    bears: BoolArray
    """Whether each of these is a contact or limit [-], shape (acting,)."""
    moves: Array
    """1 where the correction follows the gap, 0 where the gap exceeds the correction of one step [-], shape
    (acting,)."""
