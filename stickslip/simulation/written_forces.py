"""Selection of the reported impulses of a run of systems, on access: those of least norm if not unique.

If the rows of the active blocks are linearly independent, the impulses of the recorded motion are unique, and
they are the solver's. Otherwise the steps of the record are repeated from the previous record, and the
certified impulses of least norm of each problem are selected (`problem/impulses.py`).
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
"""Least singular value of unit rows, relative to the largest, that counts as independent [-] (heuristic)."""
SAME_STEP = 1e-9
"""Largest relative difference between the end of a repeated step and the recorded one [-] (heuristic)."""


@dataclass(eq=False)
class WrittenForces:
    """Function that selects the impulses of the records of a run."""

    begin: Callable[[], tuple[PreparedSystem, Scheme, Solver, Selector]]
    """Returns the system, the scheme, the solver, and the selector."""

    @cached_property
    def parts(self) -> tuple[PreparedSystem, Scheme, Solver, Selector]:
        """Result of `begin`."""
        return self.begin()

    @property
    def system(self) -> NonsmoothSystem:
        """The simulated system."""
        return self.parts[0].system

    def __call__(self, of: Trajectory) -> dict[str, Any]:
        """Return impulses r [N s], shape (n, size), and their choice for each block [-], shape (n,
        blocks)."""
        if of.records is None:
            return self._selected(of)
        rows = []
        for k in range(len(of)):  # each from the previous record of the run
            start = of.number(k) == 0
            selected = self._selected(replace(of[k : k + 1], choose=None) if start else of.before(k))
            rows.append({name: column[-1] for name, column in selected.items()})
        return {name: np.stack([row[name] for row in rows]) for name in rows[0]}

    def _selected(self, of: Trajectory) -> dict[str, Any]:
        """Return the impulses of consecutive records, of which the first has the solver's."""
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
        """Whether the rows of the active blocks are independent, for records with the same active blocks [-],
        shape (k,), bool."""
        acting = [one for one in self.system.interactions if active[one.blocks].any()]
        if any(isinstance(one.output, FirstOrderOutput) for one in acting):
            return np.zeros(records.size, bool)
        if any(one.mechanical.compliant or one.mechanical.has_input for one in acting):
            return np.zeros(records.size, bool)
        if not acting:
            return np.ones(records.size, bool)
        if all(one.mechanical.constant for one in acting):
            return np.full(records.size, _independent(self._rows(of, active, acting, int(records[0]))))
        independent = [_independent(self._rows(of, active, acting, k)) for k in records.tolist()]
        return np.array(independent, bool)

    def _rows(self, of: Trajectory, active: BoolArray, acting: list[Bound], k: int) -> Array:
        """Return the rows of the active blocks in the step that ends with record k [any], shape (m, nv)."""
        rows = []
        for one in acting:
            on = np.repeat(active[one.blocks], np.diff(one.law.K.offset))
            whole = np.zeros((int(on.sum()), of.v.shape[1]))
            at = (float(of.t[k - 1]), of.q[k - 1, one.q], np.zeros(one.law.size), of.z[k, one.z])
            whole[:, one.v] = one.mechanical.rows(*at)[on]
            rows.append(whole)
        return np.concatenate(rows)

    def _again(self, of: Trajectory, k: int) -> tuple[Array, IntArray] | None:
        """Return impulses and choice of record k, from its steps repeated; None if they do not lead to the
        record."""
        # 1. Lengths of the steps of the record.
        first, last, clock, lengths = int(of.index[k - 1]), int(of.index[k]), of.clock, [float(of.h[k])]
        if last != OFF_CLOCK and clock.adaptive is not None:
            lengths *= last - first
        elif last != OFF_CLOCK:
            lengths = [clock.length(i) for i in range(first + 1 if first >= 0 else last, last + 1)]
            if of.h[k] != lengths[-1]:  # a halved step
                return None
        state = State(float(of.t[k - 1]), *(np.array(x[k - 1]) for x in (of.q, of.v, of.z)))
        if not all(np.isfinite(x[j]).all() for x in (of.q, of.v) for j in (k - 1, k)):  # a diverged run
            return None
        # 2. The steps, with the impulses of least norm.
        memory = of.checkpoint(k - 1).memory
        r, unique = np.zeros(self.system.size), np.ones(self.system.blocks, bool)
        values = of.model.values
        prepared, scheme, solver, select = self.parts
        for h in lengths:
            try:
                step = scheme.step(prepared, state, memory, h, solver)
            except ModelError:
                return None
            least = _least(self.system, step, select)
            if least is None:
                return None
            r = np.where(values, least[0], r + least[0])
            unique &= least[1]
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
    """Return the impulses of least norm of a step, and whether those of each block are unique; None without
    certified ones."""
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
        unique[owner[components[problem.size :]]] = False  # bilateral ones: uniqueness is not known
    return r, unique


def _owner(system: NonsmoothSystem) -> IntArray:
    """Return the number of the block of each component [-], shape (size,)."""
    parts = [
        np.repeat(np.arange(one.blocks.start, one.blocks.stop), np.diff(one.law.K.offset))
        for one in system.interactions
    ]
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)
