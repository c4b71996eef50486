"""Impulses of a run of written equations, chosen when they are asked for: of many, those of least norm.

Where the rows of the active blocks are linearly independent there is one set of impulses with the recorded
motion, and it is the solver's. Elsewhere the steps of the record are made once more, from the record before,
and each of their problems is asked for its certified impulses of least norm (`problem/impulses.py`).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from stickslip.problem.checks import Array, IntArray
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.schemes.body_forces import LEAST, UNIQUE
from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.schemes.step import Scheme, Selector, Solver, Step
from stickslip.simulation.clock import OFF_CLOCK
from stickslip.simulation.trajectory import Trajectory
from stickslip.state import BoolArray, ModelError, State
from stickslip.systems.relations import FirstOrderOutput
from stickslip.systems.system import Bound, NonsmoothSystem

INDEPENDENT = 1e-9
"""Least singular value, over the largest, of rows of length 1 that are independent [-]."""
SAME_STEP = 1e-9
"""Largest relative difference of the end of a step made again from the recorded one [-]."""


@dataclass(eq=False)
class WrittenForces:
    """What chooses the impulses of a run."""

    begin: Callable[[], tuple[PreparedSystem, Scheme, Solver, Selector]]
    """Gives the system, the scheme, the solver, and what chooses."""

    @cached_property
    def parts(self) -> tuple[PreparedSystem, Scheme, Solver, Selector]:
        """What `begin` gives."""
        return self.begin()

    @property
    def system(self) -> NonsmoothSystem:
        """Whose run it is."""
        return self.parts[0].system

    def __call__(self, of: Trajectory) -> dict[str, Any]:
        """Impulses r [N s], shape (n, size), and the choice of those of each block [-], shape (n, blocks)."""
        if of.records is None:
            return self._told(of)
        found = []
        for k in range(len(of)):  # each from the record before it in the run
            start = of.number(k) == 0
            told = self._told(replace(of[k : k + 1], choose=None) if start else of.before(k))
            found.append({name: one[-1] for name, one in told.items()})
        return {name: np.stack([one[name] for one in found]) for name in found[0]}

    def _told(self, of: Trajectory) -> dict[str, Any]:
        """Those of some records, of which the first keeps the solver's."""
        r, choice = np.array(of.solver_r), np.zeros((len(of), self.system.blocks), np.int64)
        choice[0] = UNIQUE
        patterns, which = np.unique(of.active[1:], axis=0, return_inverse=True)
        for i, active in enumerate(patterns):
            records = 1 + np.flatnonzero(which.reshape(-1) == i)
            independent = self._independent(of, active, records)
            choice[records[independent]] = UNIQUE
            for k in records[~independent].tolist():
                again = self._again(of, k)
                if again is not None:
                    r[k], choice[k] = again
        return {"r": r, "choice": choice}

    def _independent(self, of: Trajectory, active: BoolArray, records: IntArray) -> BoolArray:
        """Of records with the same active blocks: whether the rows of these, since the record before, are
        independent [-], shape (k,), bool."""
        acting = [one for one in self.system.interactions if active[one.blocks].any()]
        if any(isinstance(one.output, FirstOrderOutput) for one in acting):
            return np.zeros(records.size, bool)
        if any(one.mechanical.compliant or one.mechanical.has_input for one in acting):
            return np.zeros(records.size, bool)
        if not acting:
            return np.ones(records.size, bool)
        if all(one.mechanical.constant for one in acting):
            return np.full(records.size, _independent(self._rows(of, active, acting, int(records[0]))))
        found = [_independent(self._rows(of, active, acting, k)) for k in records.tolist()]
        return np.array(found, bool)

    def _rows(self, of: Trajectory, active: BoolArray, acting: list[Bound], k: int) -> Array:
        """Rows of the active blocks in the step that ends with record k [any], shape (m, nv)."""
        rows = []
        for one in acting:
            on = np.repeat(active[one.blocks], np.diff(one.law.K.offset))
            whole = np.zeros((int(on.sum()), of.v.shape[1]))
            at = (float(of.t[k - 1]), of.q[k - 1, one.q], np.zeros(one.law.size), of.z[k, one.z])
            whole[:, one.v] = one.mechanical.rows(*at)[on]
            rows.append(whole)
        return np.concatenate(rows)

    def _again(self, of: Trajectory, k: int) -> tuple[Array, IntArray] | None:
        """Impulses and choice of record k, from its steps made again; None where that does not lead there."""
        first, last, clock, lengths = int(of.index[k - 1]), int(of.index[k]), of.clock, [float(of.h[k])]
        if last != OFF_CLOCK and clock.adaptive is not None:
            lengths *= last - first
        elif last != OFF_CLOCK:
            lengths = [clock.length(i) for i in range(first + 1 if first >= 0 else last, last + 1)]
            if of.h[k] != lengths[-1]:  # one that was halved
                return None
        state = State(float(of.t[k - 1]), *(np.array(x[k - 1]) for x in (of.q, of.v, of.z)))
        if not all(np.isfinite(x[j]).all() for x in (of.q, of.v) for j in (k - 1, k)):  # a run that blew up
            return None
        memory = of.checkpoint(k - 1).memory
        r, unique = np.zeros(self.system.size), np.ones(self.system.blocks, bool)
        values = of.model.values
        prepared, scheme, solver, select = self.parts
        for h in lengths:
            try:
                step = scheme.step(prepared, state, memory, h, solver)
            except ModelError:
                return None
            told = _least(self.system, step, select)
            if told is None:
                return None
            r = np.where(values, told[0], r + told[0])
            unique &= told[1]
            state, memory = step.state, step.memory
        size = float(np.abs(of.q[k]).max(initial=0.0) + of.h[k] * np.abs(of.v[k]).max(initial=0.0))
        if not np.abs(state.q - of.q[k]).max(initial=0.0) <= SAME_STEP * max(size, 1e-300):
            return None
        return r, np.where(unique, UNIQUE, LEAST)


def _independent(rows: Array) -> bool:
    """Whether rows are linearly independent."""
    if rows.shape[0] > rows.shape[1]:
        return False
    length = np.linalg.norm(rows, axis=1)
    if not np.isfinite(length).all() or not length.all():
        return False
    values = np.linalg.svd(rows / length[:, None], compute_uv=False)
    return bool(values[-1] > INDEPENDENT * values[0])


def _least(system: NonsmoothSystem, step: Step, select: Selector) -> tuple[Array, BoolArray] | None:
    """Impulses of least norm of a step, and which blocks have no others; None where they are none."""
    if not step.ok or len(step.components) != len(step.solves):
        return None
    r, owner = np.array(step.r), _owner(system)
    unique = np.ones(system.blocks, bool)
    for solution, components in zip(step.solves, step.components, strict=True):
        least, same = select(solution)
        if same.all():
            continue
        if least.selection != "least":
            return None
        r[components] = least.r if least.lam is None else np.concatenate([least.r, least.lam])
        problem = solution.problem
        starts = problem.K.offset[:-1] if isinstance(problem, GlobalProblem | ContactProblem) else slice(None)
        unique[owner[components[starts][~same]]] = False
        unique[owner[components[problem.size :]]] = False  # bilateral ones, of which it is not known
    return r, unique


def _owner(system: NonsmoothSystem) -> IntArray:
    """Number of the block of each component [-], shape (size,)."""
    parts = [
        np.repeat(np.arange(one.blocks.start, one.blocks.stop), np.diff(one.law.K.offset))
        for one in system.interactions
    ]
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)
