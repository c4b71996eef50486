"""All complementary bases of a box problem: every solution, or the proof that there is none.

A solution belongs to a basis that says which unknowns are at a bound (`kernels/bases.py`). There are 2 for
each unknown with one bound and 3 for each with two. A basis with a regular block holds one point, which
is computed; one with a singular block whose equations do not contradict each other is decided by a
linear program. A basis fails where bounds or signs are violated by more than rounding explains. Where no
basis holds a solution and none is left undecided, the problem has none.
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
"""Least violation of a singular basis, over the size of its terms, that the linear program cannot explain."""
LINPROG = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
SAME = 1e-8
"""Relative distance below which two solutions are one."""


@dataclass(frozen=True, eq=False)
class Exhaustion:
    """What the bases of a box problem hold."""

    total: int
    """Complementary bases there are."""
    examined: int
    """How many of them were examined, from the first on."""
    solutions: tuple[Array, ...]
    """Solutions found, one for each basis that has any, equal ones once [unit of z], shape (n,) each."""
    undecided: int
    """Bases that rounding does not decide."""

    @property
    def proves_none(self) -> bool:
        """Whether every basis was examined and clearly fails: the problem has no solution."""
        return self.examined == self.total and not self.solutions and not self.undecided


def count_bases(problem: BoxProblem) -> int:
    """Complementary bases: 2 for each unknown with one bound, 3 for each between two."""
    low, high = np.isfinite(problem.lower), np.isfinite(problem.upper)
    moving = problem.lower < problem.upper
    return int(2 ** int((low ^ high).sum()) * 3 ** int((low & high & moving).sum()))


def exhaust(problem: BoxProblem, tolerance: float, limit: int, first: bool = False) -> Exhaustion:
    """Examine at most `limit` bases; stop at the `first` solution if that is all that is asked for.

    A point is a solution where the judge accepts it at `tolerance`.
    """
    with np.errstate(all="ignore"):  # what overflows is undecided
        return _exhaust(problem, tolerance, limit, first)


def _exhaust(problem: BoxProblem, tolerance: float, limit: int, first: bool) -> Exhaustion:
    A: Array = problem.A.toarray() if isinstance(problem.A, sp.csr_array) else problem.A
    rows, columns = equilibrate(A)
    scaled = (rows[:, None] * A * columns, rows * problem.b, problem.lower / columns, problem.upper / columns)
    system = tuple(frozen(np.ascontiguousarray(x)) for x in scaled)
    total = count_bases(problem)
    last, index, undecided = min(total, limit), 0, 0
    found: list[Array] = []
    state, z = np.empty(problem.size, np.int64), np.empty(problem.size)
    while index < last:
        what, index = kernels.next_basis(*system, index, last, state, z)
        if what == kernels.NONE:
            break
        point = z if what == kernels.HOLDS else _least_violation(system, state)
        if point is not None:
            point = finished(problem, columns * point, state)
            if not judge(problem, point).solved(tolerance):
                undecided += 1
            elif not any(_same(point, other) for other in found):
                found.append(point)
        index += 1
        if found and first:
            break
    return Exhaustion(total, int(index), tuple(found), undecided)


def finished(problem: BoxProblem, z: Array, state: IntArray) -> Array:
    """z with its equations solved to rounding on the problem as given, and within its bounds.

    `state` says for each unknown whether it is at its lower bound, inside, or at its upper bound
    (`kernels/bases.py`), shape (n,).
    """
    inside = np.flatnonzero(state == kernels.INSIDE)
    z = np.where(state == kernels.INSIDE, z, np.where(state == kernels.LOWER, problem.lower, problem.upper))
    part = problem.A[inside][:, inside]
    A = part.toarray() if isinstance(part, sp.csr_array) else part
    with np.errstate(all="ignore"):
        regular = inside.size > 0 and np.linalg.cond(A) < 1e13
    for _ in range(3 if inside.size else 0):  # refinement: each takes away the rounding of the one before
        w = problem.value(z)[inside]
        if not np.isfinite(w).all() or not w.any():
            break
        step = np.linalg.solve(A, w) if regular else np.linalg.lstsq(A, w, rcond=1e-12)[0]
        z[inside] -= step
    return np.clip(z, problem.lower, problem.upper)


def _least_violation(system: tuple[Array, ...], state: IntArray) -> Array | None:
    """The point of a singular basis that violates bounds and signs least; None where it clearly does.

    Unknowns z_I and t: min t with A_II z_I = -(b_I + A_IN z_N), z_I within its bounds to t, values of the
    right sign to t.
    """
    from scipy.optimize import linprog  # a slow import, for the rare case

    A, b, lower, upper = system
    inside = np.flatnonzero(state == kernels.INSIDE)
    others = np.flatnonzero((state != kernels.INSIDE) & (lower < upper))
    z = np.where(state == kernels.INSIDE, 0.0, np.where(state == kernels.LOWER, lower, upper))
    constant = A @ z + b
    size = float(np.abs(constant).max(initial=0.0)) or 1.0  # the point in units of what it is made of
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
        return z  # nothing is known: the judge will call it undecided
    if result.fun > VIOLATED * max(1.0, float(np.abs(limit).max(initial=0.0))):
        return None
    z[inside] = size * result.x[:-1]
    return z


def _same(one: Array, other: Array) -> bool:
    size = max(float(np.abs(one).max(initial=0.0)), float(np.abs(other).max(initial=0.0)))
    return bool(np.abs(one - other).max(initial=0.0) <= SAME * size)
