"""The equations of a step of a robot (`kernels/robots/steps.py`) as a function of all that it depends on.

    A (v⁺ - v_free) - J' r = 0,    the law on u = J v⁺ + bias,    q⁺ = q ∘ h (v⁺ + w)

with A = M + h D + h² K. v⁺ and r appear linearly: A and J are what the step has. What state, controls and
numbers of the model change is by central differences of MuJoCo's stages at the start of the step, with v⁺ and
r held, for the same contacts, limits and equalities. A contact is the same if it is one of the same two
geoms, at the same place.

w, the correction of positions, is differentiated as what its sweeps go to: with p its impulses,

    A w - J' p = 0,    J w + gap / h (+ J v⁺) = 0 where p acts.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from stickslip.detection.mujoco_library import load_mujoco
from stickslip.gradients.charts import JointChart
from stickslip.gradients.robot_numbers import restitution_of_blocks
from stickslip.kernels import cones
from stickslip.kernels.robots.impulses import DEEPEST, NEGLIGIBLE
from stickslip.kernels.robots.layout import CONTACT, EQUALITY, LIMIT, Free, Rows
from stickslip.kernels.robots.rows import MOST_OF_A_PAIR
from stickslip.kernels.robots.steps import problem_of_step
from stickslip.problem.sets import ProductSet, blocks_of, spans
from stickslip.robots.numbers import BOUNCES as OF_IMPACTS
from stickslip.robots.numbers import numbers_of
from stickslip.schemes.robot_memory import restore
from stickslip.schemes.robot_prepared import PreparedRobot
from stickslip.schemes.step import Memory, Step
from stickslip.state import Array, BoolArray, IntArray, State

SHUT, CLOSES, BOUNCES = range(3)
"""What the bias of a contact or limit is: 0, gap / h, or e times the velocity before."""
EPSILON = {"q": 1e-6, "v": 1e-5, "act": 1e-6, "ctrl": 1e-5, "mass": 1e-5, "friction": 1e-5, "h": 1e-5}
"""Half of the way of differences: of mass, friction and h over themselves, of v, act and ctrl over their size
above 1."""
FAR = 1e-4
"""How far a contact may move along such a way [m]."""
ROUNDING = 1e-11
"""Of the lines of the equations, over their size [-]."""
BENT = 1e-2
"""Slopes from both sides that differ by more than this share are two [-]."""


class Sample(NamedTuple):
    """What MuJoCo's stages give for some inputs, for the blocks of the step."""

    A: Array
    """M + h D + h² K [kg, kg m²], shape (nv, nv)."""
    v: Array
    """Velocities without impulses [m/s, rad/s], shape (nv,)."""
    J: Array
    """Shape (n, nv)."""
    bias: Array
    """[m/s, rad/s], shape (n,)."""
    gap: Array
    """[m, rad], shape (n,)."""
    along: Array
    """Velocities of mocap bodies along normals, else 0 [m/s], shape (n,)."""
    bounds: Array
    """Coefficients of friction, then lower and upper bounds of blocks, 0 for none [-, N s], shape
    (ng + 2 nb,)."""
    act: Array
    """Activations at the end [any], shape (na,)."""


class Blocks(NamedTuple):
    """The blocks of a step, and which contact of MuJoCo's each is."""

    what: IntArray
    """As `Rows` has it [-], shape (nb,)."""
    key: IntArray
    """As `Rows` has it [-], shape (nb,)."""
    point: Array
    """Of contacts, else 0 [m], shape (nb, 3)."""
    frame: Array
    """Of contacts, else 0 [-], shape (nb, 9)."""

    def part(self, which: IntArray | int) -> "Blocks":
        """Some of them, or one."""
        return Blocks(self.what[which], self.key[which], self.point[which], self.frame[which])


class RobotEquations:
    """The equations of one step that was made."""

    def __init__(
        self, prepared: PreparedRobot, state: State, memory: Memory, h: float, step: Step, every: bool
    ):
        """every: with contacts and limits that take no part in the step, as they push from afar in smoothed
        laws."""
        self.prepared, self.state, self.h, self.step = prepared, state, h, step
        self.memory = memory
        m = prepared.model
        self.chart = JointChart(m)
        na, nu = m.na, m.nu
        self.inputs: dict[str, Array] = {
            "q": np.zeros(m.nv), "v": np.array(state.v), "act": np.array(state.z[:na]),
            "ctrl": np.array(state.z[na : na + nu]), "force": np.zeros(m.nv), "h": np.array([h]),
            "mass": np.array(m.body_mass), "friction": np.array(m.geom_friction).reshape(-1),
            "restitution": np.array(prepared.robot.restitution),
            "limit_restitution": np.array(prepared.robot.limit_restitution),
        }  # fmt: skip
        self.shapes = {name: one.shape for name, one in self.inputs.items()}
        self.shapes["friction"] = (m.ngeom, 3)
        down, across = np.repeat(np.arange(m.nv), m.M_rownnz), np.array(m.M_colind)
        self._entries = np.concatenate([down * m.nv + across, across * m.nv + down])
        self._mujoco: Any = load_mujoco()
        self.lost: set[int] = set()
        """Blocks that are not found again beside the step."""
        with self._placed():
            A, v, rows, act = self._evaluated(self.inputs)
            whole, names = _set_of(rows), 4 * rows.key + rows.what
            last = step.memory["key"].astype(np.int64)
            self.on = np.arange(len(whole)) if every else np.flatnonzero(np.isin(names, last))
            self.blocks = self._blocks(rows, self.on)
            self.K, self._names = blocks_of(whole, self.on), names
            self._keep = spans(whole.offset, self.on), spans(whole.group_offset, self.on)
            self.base = _sample(A, v, rows, act, self.on, self._keep)
            off = np.setdiff1d(np.arange(len(whole)), self.on)
            first = whole.offset[off]
            self.left = rows.J[first], rows.gap[first] + h * rows.along[off]
            """Rows and gaps of what takes no part, after the motion of mocap bodies in the step."""
        self.r = self._impulses(names[self.on], last)
        self.normals = self.K.offset[:-1][self.blocks.what >= LIMIT]
        """First components of contacts and limits."""
        self.e, self._shares = restitution_of_blocks(prepared, self.blocks.what, self.blocks.key)
        before = self.before()
        gap = self.base.gap[self.normals]
        bounces = (self.e > 0.0) & (before < 0.0) & (gap + h * before <= 0.0)
        self.branch = np.where(bounces, BOUNCES, np.where(gap > NEGLIGIBLE, CLOSES, SHUT))

    def before(self) -> Array:
        """Velocities of contacts and limits at the start [m/s, rad/s], shape (normals,)."""
        n = self.normals
        return np.asarray(self.base.J[n] @ self.state.v + self.base.along[n])

    # 1. MuJoCo's stages.

    @contextmanager
    def _placed(self) -> Iterator[None]:
        """The data at the start of the step, and free of it afterwards."""
        prepared = self.prepared
        prepared.at = None
        restore(prepared, self.state, self.memory)
        prepared.begin_drive(self.h)
        prepared.look_ahead(self.h, prepared.carried(self.h), self.state)
        try:
            with prepared.held_margins():
                yield
        finally:
            prepared.release()
            prepared.at = None

    def _evaluated(self, x: Mapping[str, Array]) -> tuple[Array, Array, Rows, Array]:
        """A, v_free, rows of all constraints, and activations at the end."""
        prepared = self.prepared
        m, d, motion, h = prepared.model, prepared.data, prepared.motion, float(x["h"][0])
        motion.qpos[:], motion.qvel[:] = self.state.q, x["v"]
        motion.act[:], motion.ctrl[:] = x["act"], x["ctrl"]
        self._mujoco.mj_integratePos(m, motion.qpos, x["q"], 1.0)
        prepared.begin_again()
        prepared.begin_drive(h)
        free, rows = self._begun(h)
        A, act = np.zeros(motion.qvel.size**2), x["act"]
        A[self._entries] = np.tile(motion.M + h * free.more, 2)
        if act.size:
            t = d.time
            self._mujoco.mj_Euler(m, d)
            act, d.time = np.array(motion.act), t
        return A.reshape(motion.qvel.size, -1), free.v, rows, act

    def _begun(self, h: float) -> tuple[Free, Rows]:
        """Free motion over a step of length h [s] from where the data is, and rows of all constraints."""
        prepared = self.prepared
        settings, carried = prepared.settings(h, 0.0), prepared.carried(h)
        forced = np.ones(prepared.data.nefc, np.int64)
        free, rows, _ = problem_of_step(*prepared.begin(), settings, carried, forced)
        n, nv = rows.u_free.size, prepared.model.nv
        J = np.zeros((n, nv))
        for k in range(n):
            first, last, at = rows.first[k], rows.last[k], rows.begin[k]
            J[k, first:last] = rows.J[at : at + last - first]
        return deepcopy((free, rows._replace(J=J)))  # the next step takes their memory

    def _blocks(self, rows: Rows, which: IntArray) -> Blocks:
        """What blocks are, and where."""
        contact = rows.contact[which]
        point, frame = np.zeros((which.size, 3)), np.zeros((which.size, 9))
        touching = contact >= 0
        if touching.any():
            found = self.prepared.data.contact
            point[touching], frame[touching] = found.pos[contact[touching]], found.frame[contact[touching]]
        return Blocks(rows.what[which], rows.key[which], point, frame)

    def sample(self, x: Mapping[str, Array], moves: bool = True) -> Sample:
        """What the stages give for x; blocks that are not found again stay as they are. moves: whether
        contacts may be elsewhere."""
        A, v, rows, act = self._evaluated(x)
        if np.array_equal(4 * rows.key + rows.what, self._names) and (
            not moves or self._same(self.blocks, self._blocks(rows, self.on)).all()
        ):
            return _sample(A, v, rows, act, self.on, self._keep)
        same, here = self._match(rows)
        K, base = _set_of(rows), self.base
        if same.size == len(self.K):
            return _sample(A, v, rows, act, here, (spans(K.offset, here), spans(K.group_offset, here)))
        J, bias, gap, along = base.J.copy(), base.bias.copy(), base.gap.copy(), base.along.copy()
        keep, own = spans(K.offset, here), spans(self.K.offset, same)
        J[own], bias[own], gap[own] = rows.J[keep], rows.bias[keep], rows.gap[keep]
        along[own] = _spread(rows)[keep]
        return Sample(A, v, J, bias, gap, along, base.bounds, act)

    def _match(self, rows: Rows) -> tuple[IntArray, IntArray]:
        """Blocks of the step that are found again, and which they are among those of all constraints."""
        mine = self.blocks
        theirs, same, here = self._blocks(rows, np.arange(rows.what.size)), [], []
        pair = np.where(theirs.what == CONTACT, theirs.key // MOST_OF_A_PAIR, theirs.key)
        for i in range(mine.key.size):
            own = mine.key[i] // MOST_OF_A_PAIR if mine.what[i] == CONTACT else mine.key[i]
            candidates = np.flatnonzero((theirs.what == mine.what[i]) & (pair == own))
            near = self._same(mine.part(i), theirs.part(candidates))
            if near.any():
                away = np.linalg.norm(theirs.point[candidates] - mine.point[i], axis=1)
                same.append(i)
                here.append(int(candidates[np.argmin(np.where(near, away, np.inf))]))
            else:
                self.lost.add(i)
        return np.array(same, np.int64), np.array(here, np.int64)

    @staticmethod
    def _same(a: Blocks, b: Blocks) -> BoolArray:
        """Whether contacts are at the same place, with the same axes; others are."""
        moved: Array = np.abs(b.point - a.point).max(axis=-1, initial=0.0)
        turned: Array = np.abs(b.frame - a.frame).max(axis=-1, initial=0.0)
        return np.asarray(np.maximum(moved, 0.1 * turned) <= FAR)

    # 2. What the step was.

    def _impulses(self, names: IntArray, last: IntArray) -> Array:
        """Impulses of the step [N s, N m s], shape (n,)."""
        r, memory = np.zeros(self.K.size), self.step.memory
        offset, order = memory["offset"].astype(np.int64), np.argsort(last, kind="stable")
        for i, at in enumerate(np.searchsorted(last[order], names).tolist()):
            if at < last.size and last[order[at]] == names[i]:
                b = int(order[at])
                r[self.K.offset[i] : self.K.offset[i + 1]] = memory["r"][offset[b] : offset[b + 1]]
        return r

    # 3. The correction of positions.

    def correction(self, v: Array, touching: BoolArray) -> tuple[Array, Array, IntArray]:
        """(w, impulses p, components at which it acts) of the step with v⁺; touching: components that bear
        and neither overlap nor gape, which it would move apart."""
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
        W = base.J[at] @ np.linalg.solve(base.A, base.J[at].T)
        acts = free[at].copy()
        if need >= NEGLIGIBLE:
            acts |= want[at] < 0.0
            for _ in range(2 * at.size + 2):
                own = np.zeros(at.size)
                if acts.any():
                    part = np.ix_(acts, acts)
                    own[acts] = np.linalg.lstsq(W[part], -want[at[acts]], rcond=1e-12)[0]
                pulls = np.where(acts & ~free[at], own, 0.0)
                short = np.where(acts, 0.0, W @ own + want[at])
                if pulls.min() < -1e-12 * np.abs(own).max():
                    acts[np.argmin(pulls)] = False
                elif h * short.min() < -NEGLIGIBLE:
                    acts[np.argmin(short)] = True
                else:
                    break
            p[at] = own
        w = np.asarray(np.linalg.solve(base.A, base.J.T @ p), float)
        still = h * np.abs(base.J @ w + want) <= NEGLIGIBLE
        acts |= touching[at] & still[at]
        return w, p, at[acts]

    def closing(self, v: Array, w: Array) -> tuple[Array, Array]:
        """(P, by h): how the closing of equalities at the end of the step (`kernels/robots/equalities.py`)
        passes on displacements, shape (nv, nv), and what mocap bodies that go on add to them, shape (nv,).

        P = I - X G, X = M⁻¹ G' (G M⁻¹ G')⁺ with M and the rows G of equalities at the end, exact as far as
        its shift, which is of second order in h, is small. Velocities v and w of the correction bring
        positions to where it begins.
        """
        prepared = self.prepared
        m, d, nv = prepared.model, prepared.data, prepared.model.nv
        if not m.neq:
            return np.eye(nv), np.zeros(nv)
        with self._placed():
            q = np.array(self.state.q)
            for one in (v, w):
                self._mujoco.mj_integratePos(m, q, one, self.h)
            prepared.place(replace(self.step.state, q=q))
            if not d.ne or np.abs(d.efc_pos[: d.ne]).max() > DEEPEST:
                return np.eye(nv), np.zeros(nv)
            _, rows = self._begun(self.h)
            M = np.zeros(nv * nv)
            M[self._entries] = np.tile(prepared.motion.M, 2)
            G, opened = rows.J[spans(rows.K[1], np.flatnonzero(rows.what == EQUALITY))], self._opened()
        pushed = np.linalg.solve(M.reshape(nv, nv), G.T)
        X = pushed @ np.linalg.pinv(G @ pushed, rcond=1e-9, hermitian=True)
        return np.eye(nv) - X @ G, -X @ opened

    def _opened(self) -> Array:
        """How errors of equalities at the end, where the data is, change with h as mocap bodies go on
        [m/s, rad/s], shape (ne,)."""
        prepared, m, d = self.prepared, self.prepared.model, self.prepared.data
        drive, found, e = prepared.drive, [], EPSILON["h"] * self.h
        if drive is None or not drive.mocap.size:
            return np.zeros(d.ne)
        place = self.state.z[m.na + m.nu :]
        pos, quat = place[: 3 * m.nmocap].reshape(-1, 3), place[3 * m.nmocap :].reshape(-1, 4)
        for h in (self.h + e, self.h - e):
            d.mocap_pos[:], d.mocap_quat[:] = drive.poses(self.state.t, h, pos, quat)
            prepared.make_stages()
            found.append(np.array(d.efc_pos[: d.ne]))
        return (found[0] - found[1]) / (2.0 * e)

    # 4. Lines of the equations.

    def lines(self, x: Mapping[str, Array], held: "Held") -> Array:
        """balance (nv), law (n), coefficient (ng), lower and upper (nb), act (na), and of the correction push
        (nv) and want (acting) for x, one after the other."""
        found = self.base if x is self.inputs else self.sample(x, x["q"] is not self.inputs["q"])
        h, n, acting = float(x["h"][0]), self.normals, held.acting
        balance = found.A @ (held.v - found.v) - found.J.T @ held.r
        bias = found.bias.copy()
        bias[n] = found.along[n] + np.where(self.branch == CLOSES, found.gap[n] / h, 0.0)
        if self.e.any():
            after = found.along[n] + self.e * (found.J[n] @ x["v"] + found.along[n])
            bias[n] = np.where(self.branch == BOUNCES, after, bias[n])
        parts = [balance, found.J @ held.v + bias, found.bounds, found.act]
        if not acting.size:
            return np.concatenate([*parts, np.zeros(balance.size)])
        want = found.J[acting] @ held.w + held.moves * found.gap[acting] / h
        want += np.where(held.bears, found.J[acting] @ held.end + found.along[acting], 0.0)
        return np.concatenate([*parts, found.A @ held.w - found.J.T @ held.p, want])

    def effect(self, name: str, held: "Held") -> tuple[Array, list[int]]:
        """How all lines change with an input, shape (lines, numbers), and by which numbers they have two
        slopes."""
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
            halves = self._shares[name][self.branch == BOUNCES]
            return out, np.flatnonzero(((halves > 0.0) & (halves < 1.0)).any(axis=0)).tolist()
        noise = ROUNDING * max(1.0, float(np.abs(base).max(initial=0.0)))
        columns = self._touched() if name == "friction" else range(x.size)
        with self._placed():
            for j in columns:
                own = {"mass": abs(x[j]), "h": x[j], "q": 1.0, "friction": x[j]}
                size = own.get(name, max(1.0, abs(x[j])))
                step = EPSILON[name] * (size or 1.0)
                down = 0.0 if name == "mass" and not size else step
                above, below = (self._moved(name, j, way, held) for way in (step, -down))
                out[:, j] = (above - below) / (step + down)
                bend = np.abs(above - 2.0 * base + below) / step if down else 0.0
                if np.max(bend, initial=0.0) > max(BENT * np.abs(out[:, j]).max(initial=0.0), noise / step):
                    bent.append(j)
        return out, bent

    def _moved(self, name: str, j: int, way: float, held: "Held") -> Array:
        """The lines where one number is another."""
        value = self.inputs[name].copy()
        value[j] += way
        x = {**self.inputs, name: value}
        if name not in ("mass", "friction"):
            return self.lines(x, held)
        m = self.prepared.model
        with numbers_of(m, **{name: value}):
            return self.lines(x, held)

    def _touched(self) -> list[int]:
        """Coefficients of the geoms in contacts that take part; those that are 0 stay."""
        n, pairs = self.prepared.model.ngeom, self.blocks.key[self.blocks.what == CONTACT] // MOST_OF_A_PAIR
        geoms = np.unique(np.concatenate([pairs // n, pairs % n]))
        mu = self.inputs["friction"]
        return [int(3 * g + k) for g in geoms for k in range(3) if mu[3 * g + k] > 0.0]

    # 5. Names.

    def name_of(self, block: int) -> str:
        """What a block is called in a sentence."""
        robot, what, key = self.prepared.robot, int(self.blocks.what[block]), int(self.blocks.key[block])
        if what == CONTACT:
            a, b = (robot.names("geom")[g] for g in divmod(key // MOST_OF_A_PAIR, self.prepared.model.ngeom))
            return f"a contact of geoms {a!r} and {b!r}"
        if what == LIMIT:
            kind = "tendon" if key & 2 else "joint"
            return f"the limit of {kind} {robot.names(kind)[key // 4]!r}"
        if what == EQUALITY:
            return f"equality {robot.names('equality')[key]!r}"
        if key & 1:
            return f"dry friction of tendon {robot.names('tendon')[key // 2]!r}"
        joint = int(self.prepared.model.dof_jntid[key // 2])
        return f"dry friction of joint {robot.names('joint')[joint]!r}"

    def number_of(self, name: str, j: int) -> str:
        """What a number of an input is called in a sentence."""
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
    """What is held while inputs change."""

    v: Array
    """Velocities at the end [m/s, rad/s], shape (nv,)."""
    r: Array
    """Impulses [N s, N m s], shape (n,)."""
    end: Array
    """Velocities of the step itself, which differ from v in smoothed laws [m/s, rad/s], shape (nv,)."""
    w: Array
    """Of the correction [m/s, rad/s], shape (nv,)."""
    p: Array
    """Its impulses [N s, N m s], shape (n,)."""
    acting: IntArray
    """Components at which it acts [-], shape (acting,)."""
    bears: BoolArray
    """Which of them are contacts and limits [-], shape (acting,)."""
    moves: Array
    """1 where it follows the gap, 0 where that is beyond what one step corrects [-], shape (acting,)."""


def _sample(
    A: Array, v: Array, rows: Rows, act: Array, on: IntArray, keep: tuple[IntArray, IntArray]
) -> Sample:
    """Of the blocks `on`, whose components and groups are `keep`."""
    own, groups = keep
    _, _, lower, upper, _, _, coefficient = rows.K
    ends = np.concatenate([lower[on], upper[on]])
    bounds = np.concatenate([coefficient[groups], np.where(np.isfinite(ends), ends, 0.0)])
    return Sample(A, v, rows.J[own], rows.bias[own], rows.gap[own], _spread(rows)[own], bounds, act)


def _spread(rows: Rows) -> Array:
    """Velocities of mocap bodies along normals, by components [m/s], shape (n,)."""
    out = np.zeros(rows.u_free.size)
    out[rows.K[1][:-1]] = rows.along
    return out


def _set_of(rows: Rows) -> ProductSet:
    kind, offset, lower, upper, groups, sizes, coefficient = rows.K
    return ProductSet(kind, offset, lower, upper, groups, sizes, coefficient)
