"""Enumeration of all complementary bases of a box problem: every solution, or a proof that there is none.

Each solution has a basis, which defines the unknowns that are at a bound (`kernels/bases.py`). There are 2
for each unknown with one bound and 3 for each with two. A basis with a regular block has one candidate point,
which is computed. A basis with a singular block and consistent equations is decided by a linear program. A
basis fails if bounds or signs are violated by more than rounding. If all bases fail and none is undecided,
the problem has no solution.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from stickslip.kernels import bases as kernels
from stickslip.problem.box import BoxProblem
from stickslip.problem.checks import Array, IntArray, frozen
from stickslip.problem.equilibration import equilibrate
from stickslip.problem.residuals import judge

VIOLATED = 1e-7
"""Smallest violation of a singular basis, relative to its terms, that counts as infeasible."""
LINPROG = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
SAME = 1e-8
"""Relative distance below which two solutions count as equal."""


@dataclass(frozen=True, eq=False)
class Exhaustion:
    """Result of the enumeration of the bases of a box problem."""

    total: int
    """Number of complementary bases."""
    examined: int
    """Number of bases examined, from the first on."""
    solutions: tuple[Array, ...]
    """Distinct solutions, at most one for each basis [unit of z], shape (n,) each."""
    undecided: int
    """Number of bases that rounding leaves undecided."""

    @property
    def proves_none(self) -> bool:
        """Whether every basis was examined and clearly fails: the problem has no solution."""
        return self.examined == self.total and not self.solutions and not self.undecided


def count_bases(problem: BoxProblem) -> int:
    """Return the number of complementary bases: 2 per unknown with one bound, 3 per unknown with two."""
    low, high = np.isfinite(problem.lower), np.isfinite(problem.upper)
    moving = problem.lower < problem.upper
    return int(2 ** int((low ^ high).sum()) * 3 ** int((low & high & moving).sum()))


def exhaust(problem: BoxProblem, tolerance: float, limit: int, first: bool = False) -> Exhaustion:
    """Examine at most `limit` bases; with `first`, stop at the first solution.

    A point is a solution if the judge accepts it at `tolerance`.
    """
    with np.errstate(all="ignore"):  # an overflow leaves a basis undecided
        return _exhaust(problem, tolerance, limit, first)


def _exhaust(problem: BoxProblem, tolerance: float, limit: int, first: bool) -> Exhaustion:
    # 1. Equilibrated problem.
    A: Array = problem.A.toarray() if isinstance(problem.A, sp.csr_array) else problem.A
    rows, columns = equilibrate(A)
    scaled = (rows[:, None] * A * columns, rows * problem.b, problem.lower / columns, problem.upper / columns)
    system = tuple(frozen(np.ascontiguousarray(x)) for x in scaled)
    total = count_bases(problem)
    last, index, undecided = min(total, limit), 0, 0
    # 2. One candidate point for each basis that does not fail.
    solutions: list[Array] = []
    state, z = np.empty(problem.size, np.int64), np.empty(problem.size)
    while index < last:
        outcome, index = kernels.next_basis(*system, index, last, state, z)
        if outcome == kernels.NONE:
            break
        point = z if outcome == kernels.HOLDS else _least_violation(system, state)
        if point is not None:
            point = finished(problem, columns * point, state)
            if not judge(problem, point).solved(tolerance):
                undecided += 1
            elif not any(_same(point, other) for other in solutions):
                solutions.append(point)
        index += 1
        if solutions and first:
            break
    return Exhaustion(total, int(index), tuple(solutions), undecided)


def finished(problem: BoxProblem, z: Array, state: IntArray) -> Array:
    """Return z with its equations solved to rounding on the original problem, and within its bounds.

    `state`: whether each unknown is at its lower bound, inside, or at its upper bound
    (`kernels/bases.py`), shape (n,).
    """
    inside = np.flatnonzero(state == kernels.INSIDE)
    z = np.where(state == kernels.INSIDE, z, np.where(state == kernels.LOWER, problem.lower, problem.upper))
    part = problem.A[inside][:, inside]
    A = part.toarray() if isinstance(part, sp.csr_array) else part
    with np.errstate(all="ignore"):
        regular = inside.size > 0 and np.linalg.cond(A) < 1e13
    for _ in range(3 if inside.size else 0):  # iterative refinement
        w = problem.value(z)[inside]
        if not np.isfinite(w).all() or not w.any():
            break
        step = np.linalg.solve(A, w) if regular else np.linalg.lstsq(A, w, rcond=1e-12)[0]
        z[inside] -= step
    return np.clip(z, problem.lower, problem.upper)


def _least_violation(system: tuple[Array, ...], state: IntArray) -> Array | None:
    """Return the point of a singular basis with the least violation of bounds and signs; None if it is large.

    Unknowns z_I and t: min t with A_II z_I = -(b_I + A_IN z_N), bounds of z_I and signs of values violated by
    at most t.
    """
    from scipy.optimize import linprog  # slow to import, rarely needed

    A, b, lower, upper = system
    inside = np.flatnonzero(state == kernels.INSIDE)
    others = np.flatnonzero((state != kernels.INSIDE) & (lower < upper))
    z = np.where(state == kernels.INSIDE, 0.0, np.where(state == kernels.LOWER, lower, upper))
    constant = A @ z + b
    size = float(np.abs(constant).max(initial=0.0)) or 1.0  # unit of the point
    sign = np.where(state[others] == kernels.LOWER, 1.0, -1.0)
    eye, low, high = np.eye(inside.size), lower[inside], upper[inside]
    above = [-sign[:, None] * A[np.ix_(others, inside)], -eye[np.isfinite(low)], eye[np.isfinite(high)]]
    limit = np.concatenate([sign * constant[others], -low[np.isfinite(low)], high[np.isfinite(high)]]) / size
    block = np.hstack([np.vstack(above), -np.ones((limit.size, 1))])
    cost = np.zeros(inside.size + 1)
    cost[-1] = 1.0
    result = linprog(
        cost, A_ub=block, b_ub=limit, A_eq=np.hstack([A[np.ix_(inside, inside)], np.zeros((inside.size, 1))]),
        b_eq=-constant[inside] / size, bounds=[(None, None)] * inside.size + [(0.0, None)], method="highs-ds",
        options=LINPROG,
    )  # fmt: skip
    if result.x is None:
        return z  # the linear program failed: the judge will leave the basis undecided
    if result.fun > VIOLATED * max(1.0, float(np.abs(limit).max(initial=0.0))):
        return None
    z[inside] = size * result.x[:-1]
    return z


def _same(a: Array, b: Array) -> bool:
    size = max(float(np.abs(a).max(initial=0.0)), float(np.abs(b).max(initial=0.0)))
    return bool(np.abs(a - b).max(initial=0.0) <= SAME * size)
