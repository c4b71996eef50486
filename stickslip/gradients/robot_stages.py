"""MuJoCo's stages at the start of a step of a robot, for inputs that differ from those of the step.

A `Sample` holds the matrices and vectors that MuJoCo computes for some state, controls and parameters. Its
rows are those of the blocks of the step: contacts, limits, equalities and dry friction. A contact is
identified with one of the step if it is between the same two geoms and at the same place.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np

from stickslip.detection.mujoco_library import load_mujoco
from stickslip.gradients.charts import JointChart
from stickslip.kernels.robots.layout import CONTACT, Free, Rows
from stickslip.kernels.robots.rows import MOST_OF_A_PAIR
from stickslip.kernels.robots.steps import problem_of_step
from stickslip.problem.sets import ProductSet, blocks_of, spans
from stickslip.schemes.robot_memory import restore
from stickslip.schemes.robot_prepared import PreparedRobot
from stickslip.schemes.step import Memory, Step
from stickslip.state import Array, BoolArray, IntArray, State

FAR = 1e-4
"""Largest distance that a contact may move for a difference of inputs [m]; heuristic."""


class Sample(NamedTuple):
    """Results of MuJoCo's stages for some inputs, for the blocks of the step."""

    A: Array
    """Matrix M + h D + h² K [kg, kg m²], shape (nv, nv)."""
    v: Array
    """Velocities without impulses [m/s, rad/s], shape (nv,)."""
    J: Array
    """Rows of the blocks [-, m], shape (n, nv)."""
    bias: Array
    """Biases of the velocities J v [m/s, rad/s], shape (n,)."""
    gap: Array
    """Gaps, or errors of equalities [m, rad], shape (n,)."""
    along: Array
    """Velocities of mocap bodies along normals, 0 for other components [m/s], shape (n,)."""
    bounds: Array
    """Coefficients of friction, then lower and upper bounds of blocks, 0 if infinite [-, N s], shape
    (ng + 2 nb,)."""
    act: Array
    """Activations at the end [any], shape (na,)."""


class Blocks(NamedTuple):
    """Kinds and identities of the blocks of a step."""

    what: IntArray
    """Kind of each block, as `Rows.what` [-], shape (nb,)."""
    key: IntArray
    """Identity of each block, as `Rows.key` [-], shape (nb,)."""
    point: Array
    """Contact points, 0 for other blocks [m], shape (nb, 3)."""
    frame: Array
    """Contact frames, 0 for other blocks [-], shape (nb, 9)."""

    def part(self, which: IntArray | int) -> "Blocks":
        """Return some blocks, or one."""
        return Blocks(self.what[which], self.key[which], self.point[which], self.frame[which])


class RobotStages:
    """MuJoCo's stages of one step that was made, for other inputs."""

    def __init__(
        self, prepared: PreparedRobot, state: State, memory: Memory, h: float, step: Step, every: bool
    ):
        """every: include contacts and limits that are inactive in the step, which smoothed laws need."""
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
        """Blocks that a sample for other inputs did not have."""
        with self._at_start():
            A, v, rows, act = self._evaluate(self.inputs)
            whole, names = _set_of(rows), 4 * rows.key + rows.what
            active = step.memory["key"].astype(np.int64)
            self.on = np.arange(len(whole)) if every else np.flatnonzero(np.isin(names, active))
            """Constraints that are blocks of the equations [-], shape (nb,)."""
            self.blocks = self._blocks(rows, self.on)
            self.K, self._names = blocks_of(whole, self.on), names
            self._keep = spans(whole.offset, self.on), spans(whole.group_offset, self.on)
            self.base = _sample(A, v, rows, act, self.on, self._keep)
            off = np.setdiff1d(np.arange(len(whole)), self.on)
            first = whole.offset[off]
            self.inactive = rows.J[first], rows.gap[first] + h * rows.along[off]
            """Rows and gaps of inactive contacts and limits, after the motion of mocap bodies in the step."""

    @contextmanager
    def _at_start(self) -> Iterator[None]:
        """Context in which MuJoCo's data is at the start of the step; afterwards the data is released."""
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

    def _evaluate(self, x: Mapping[str, Array]) -> tuple[Array, Array, Rows, Array]:
        """Return A, v_free, rows of all constraints, and activations at the end, for inputs x."""
        prepared = self.prepared
        m, d, motion, h = prepared.model, prepared.data, prepared.motion, float(x["h"][0])
        motion.qpos[:], motion.qvel[:] = self.state.q, x["v"]
        motion.act[:], motion.ctrl[:] = x["act"], x["ctrl"]
        self._mujoco.mj_integratePos(m, motion.qpos, x["q"], 1.0)
        prepared.begin_again()
        prepared.begin_drive(h)
        free, rows = self._free_motion(h)
        A, act = np.zeros(motion.qvel.size**2), x["act"]
        A[self._entries] = np.tile(motion.M + h * free.more, 2)
        if act.size:
            t = d.time
            self._mujoco.mj_Euler(m, d)
            act, d.time = np.array(motion.act), t
        return A.reshape(motion.qvel.size, -1), free.v, rows, act

    def _free_motion(self, h: float) -> tuple[Free, Rows]:
        """Return free motion over a step of length h [s] and rows of all constraints at the state of the
        data."""
        prepared = self.prepared
        settings, carried = prepared.settings(h, 0.0), prepared.carried(h)
        forced = np.ones(prepared.data.nefc, np.int64)
        free, rows, _ = problem_of_step(*prepared.begin(), settings, carried, forced)
        n, nv = rows.u_free.size, prepared.model.nv
        J = np.zeros((n, nv))
        for k in range(n):
            first, last, at = rows.first[k], rows.last[k], rows.begin[k]
            J[k, first:last] = rows.J[at : at + last - first]
        return deepcopy((free, rows._replace(J=J)))  # the next step overwrites their memory

    def _blocks(self, rows: Rows, which: IntArray) -> Blocks:
        """Return kind, identity, point and frame of these blocks."""
        contact = rows.contact[which]
        point, frame = np.zeros((which.size, 3)), np.zeros((which.size, 9))
        touching = contact >= 0
        if touching.any():
            contacts = self.prepared.data.contact
            number = contact[touching]
            point[touching], frame[touching] = contacts.pos[number], contacts.frame[number]
        return Blocks(rows.what[which], rows.key[which], point, frame)

    def sample(self, x: Mapping[str, Array], moves: bool = True) -> Sample:
        """Return the stages' results for inputs x; blocks that are missing there keep their base values.

        moves: whether contacts may have moved.
        """
        A, v, rows, act = self._evaluate(x)
        if np.array_equal(4 * rows.key + rows.what, self._names) and (
            not moves or self._same(self.blocks, self._blocks(rows, self.on)).all()
        ):
            return _sample(A, v, rows, act, self.on, self._keep)
        same, here = self._match(rows)
        K, base = _set_of(rows), self.base
        if same.size == len(self.K):
            return _sample(A, v, rows, act, here, (spans(K.offset, here), spans(K.group_offset, here)))
        J, bias, gap, along = base.J.copy(), base.bias.copy(), base.gap.copy(), base.along.copy()
        keep, places = spans(K.offset, here), spans(self.K.offset, same)
        J[places], bias[places], gap[places] = rows.J[keep], rows.bias[keep], rows.gap[keep]
        along[places] = _spread(rows)[keep]
        return Sample(A, v, J, bias, gap, along, base.bounds, act)

    def _match(self, rows: Rows) -> tuple[IntArray, IntArray]:
        """Match blocks of the step with the constraints `rows`.

        Return the indices of matched blocks and of their constraints. A contact is matched with the closest
        one of the same pair of geoms; unmatched blocks are added to `lost`.
        """
        mine = self.blocks
        theirs, same, here = self._blocks(rows, np.arange(rows.what.size)), [], []
        pair = np.where(theirs.what == CONTACT, theirs.key // MOST_OF_A_PAIR, theirs.key)
        for i in range(mine.key.size):
            number = mine.key[i] // MOST_OF_A_PAIR if mine.what[i] == CONTACT else mine.key[i]
            candidates = np.flatnonzero((theirs.what == mine.what[i]) & (pair == number))
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
        """Whether contacts have the same point and frame up to `FAR`; always true for other blocks."""
        moved: Array = np.abs(b.point - a.point).max(axis=-1, initial=0.0)
        turned: Array = np.abs(b.frame - a.frame).max(axis=-1, initial=0.0)
        return np.asarray(np.maximum(moved, 0.1 * turned) <= FAR)


def _sample(
    A: Array, v: Array, rows: Rows, act: Array, on: IntArray, keep: tuple[IntArray, IntArray]
) -> Sample:
    """Return the sample of the blocks `on`, whose components and groups are `keep`."""
    components, groups = keep
    _, _, lower, upper, _, _, coefficient = rows.K
    ends = np.concatenate([lower[on], upper[on]])
    bounds = np.concatenate([coefficient[groups], np.where(np.isfinite(ends), ends, 0.0)])
    return Sample(
        A,
        v,
        rows.J[components],
        rows.bias[components],
        rows.gap[components],
        _spread(rows)[components],
        bounds,
        act,
    )


def _spread(rows: Rows) -> Array:
    """Velocities of mocap bodies along normals, for all components [m/s], shape (n,)."""
    out = np.zeros(rows.u_free.size)
    out[rows.K[1][:-1]] = rows.along
    return out


def _set_of(rows: Rows) -> ProductSet:
    kind, offset, lower, upper, groups, sizes, coefficient = rows.K
    return ProductSet(kind, offset, lower, upper, groups, sizes, coefficient)
