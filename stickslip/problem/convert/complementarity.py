"""Conversions of box problems to LCPs, and between LCPs and quadratic programs.

- `box_to_lcp`: bounds shifted, upper bounds as unknowns, free unknowns eliminated: 0 <= x ⟂ M x + q >= 0.
- `qp_to_lcp`: the optimality conditions of a quadratic program (Cottle, Pang & Stone 1992, 1.2).
- `lcp_to_qp`, `symmetric_lcp_to_qp`: the quadratic programs whose optimum solves an LCP (the same, 3.1).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from stickslip.problem.box import BoxProblem, lcp
from stickslip.problem.certificate import Certificate
from stickslip.problem.checks import Array, IntArray, ProblemError, finite, flat, floats
from stickslip.problem.convert.conversion import Answer, Conversion
from stickslip.problem.program import ConeProgram

REGULAR = 1e-12
"""Reciprocal condition number below which equations do not determine the free unknowns."""
PIVOT = 1e-10
"""Smallest principal pivot relative to its terms."""
NOT_MONOTONE = 1e-10
"""Size of a negative eigenvalue of A + A', relative to its largest entry, that counts as rounding."""


@dataclass(frozen=True, eq=False)
class Mixed:
    """A box problem with every bound at 0: z = offset + sign x, and multipliers of the upper bounds."""

    problem: BoxProblem
    """The original box problem."""
    M: Array
    """Matrix of the unknowns (x, multipliers) [unit of A], shape (m, m)."""
    q: Array
    """Constant term [unit of b], shape (m,)."""
    free: np.ndarray
    """Whether each unknown is without bound [-], shape (m,), bool."""
    kept: IntArray
    """Unknowns of the box problem that are not fixed by equal bounds, in their order, shape (k,)."""
    sign: Array
    """-1 if only the upper bound is finite, else 1 [-], shape (k,)."""
    offset: Array
    """Bound that is shifted to 0; 0 for free unknowns [unit of z], shape (n,)."""
    doubled: IntArray
    """Indices in `kept` of unknowns with two bounds; multiplier j belongs to doubled[j], shape (t,)."""

    def recover(self, y: Array) -> Array:
        """Return z of the box problem from y = (x, multipliers), shape (n,)."""
        z = self.offset.copy()
        z[self.kept] += self.sign * y[: self.kept.size]
        return z

    def guess(self, z: Array) -> Array:
        """Return y from z, with multipliers from the values of the box problem, shape (m,)."""
        w = self.problem.value(z)[self.kept]
        x = self.sign * (z - self.offset)[self.kept]
        y = np.concatenate([x, np.maximum(-w[self.doubled], 0.0)])
        return np.where(self.free, y, np.maximum(y, 0.0))

    def certificate(self, y: Array) -> Certificate:
        """Return the certificate of the box problem from weights of the rows of this problem."""
        weights = np.zeros(self.problem.size)
        weights[self.kept] = self.sign * y[: self.kept.size]
        return Certificate(weights)


def mixed_form(problem: BoxProblem) -> Mixed:
    """Shift bounds to 0: l <= z <= u becomes 0 <= x ⟂ A z + b + s >= 0 and 0 <= s ⟂ u - l - x >= 0."""
    A, low, high = _dense(problem.A), problem.lower, problem.upper
    fixed, free = low == high, (low == -np.inf) & (high == np.inf)
    rows = np.flatnonzero(~fixed)
    mirrored = (low == -np.inf) & ~free
    sign = np.where(mirrored, -1.0, 1.0)[rows]
    offset = np.where(free, 0.0, np.where(mirrored, high, low))
    doubled = np.flatnonzero((np.isfinite(low) & np.isfinite(high))[rows])
    E = np.zeros((rows.size, doubled.size))
    E[doubled, np.arange(doubled.size)] = 1.0
    main = sign[:, None] * A[np.ix_(rows, rows)] * sign
    M = np.block([[main, E], [-E.T, np.zeros((doubled.size, doubled.size))]])
    width = (high[rows] - low[rows])[doubled]
    q = np.concatenate([sign * (A @ offset + problem.b)[rows], width])
    all_free = np.concatenate([free[rows], np.zeros(doubled.size, bool)])
    return Mixed(problem, M, q, all_free, rows, sign, offset, doubled)


def box_to_lcp(problem: BoxProblem) -> Conversion[BoxProblem]:
    """Convert any box problem to an LCP.

    Unknowns with equal bounds are constants; a second bound adds an unknown (`mixed_form`). Free unknowns
    are eliminated by a principal pivot on their equations (Cottle, Pang & Stone 1992, 2.3), together with
    complementary pairs if the equations alone do not determine them. Free unknowns without a pivot are
    split into x = p - m. Positive semidefinite matrices stay positive semidefinite.
    """
    _check_box("box_to_lcp", problem)
    with np.errstate(all="ignore"):  # the LCP rejects an overflow
        return _as_lcp(mixed_form(problem))


def _as_lcp(mixed: Mixed) -> Conversion[BoxProblem]:
    # 1. Principal pivot on the set S.
    M, q, free = mixed.M, mixed.q, mixed.free
    S = pivot_set(M, free)
    N = np.setdiff1d(np.arange(q.size), S)
    turned = np.flatnonzero(~free[S])  # pairs in S with value and unknown exchanged
    split = np.flatnonzero(free[N])
    Q = np.linalg.inv(M[np.ix_(S, S)])
    to_s, from_s = Q @ M[np.ix_(S, N)], M[np.ix_(N, S)] @ Q
    base = Q @ q[S]
    matrix = np.block(
        [
            [M[np.ix_(N, N)] - M[np.ix_(N, S)] @ to_s, from_s[:, turned]],
            [-to_s[turned], Q[np.ix_(turned, turned)]],
        ]
    )
    constant = np.concatenate([q[N] - M[np.ix_(N, S)] @ base, -base[turned]])
    # 2. Remaining free unknowns as differences of two nonnegative ones.
    if split.size:
        _clean(matrix, constant, split, np.abs(M).max(), np.abs(q).max())
    count = N.size + turned.size
    rows = np.concatenate([np.arange(count), split])
    signs = np.ones(rows.size)
    signs[count:] = -1.0
    new = lcp(signs[:, None] * matrix[np.ix_(rows, rows)] * signs, signs * constant[rows])

    # 3. Maps of solutions, guesses and certificates.

    def recover(x: Array) -> Answer:
        joined = x[:count].copy()
        joined[split] -= x[count:]
        y = np.empty(q.size)
        y[N] = joined[: N.size]
        y[S] = Q[:, turned] @ joined[N.size :] - to_s @ y[N] - base
        return Answer(mixed.recover(y))

    def guess(z: Array) -> Array:
        y = mixed.guess(z)
        w = M @ y + q
        joined = np.concatenate([y[N], w[S[turned]]])
        minus = np.maximum(-joined[split], 0.0)
        return np.concatenate([np.maximum(joined, 0.0), minus])

    def certificate(new: Certificate) -> Certificate:
        joined = new.y[:count].copy()
        joined[split] -= new.y[count:]
        weights = np.empty(q.size)
        weights[N] = joined[: N.size]
        weights[S] = -(from_s.T @ joined[: N.size]) - Q[turned].T @ joined[N.size :]
        weights = np.where(mixed.free, weights, np.maximum(weights, 0.0))
        return mixed.certificate(weights)

    return Conversion(new, recover, guess, certificate)


def pivot_set(M: Array, free: np.ndarray) -> IntArray:
    """Return indices S of a regular principal block of M with as many free unknowns as possible, ascending.

    S contains exactly the free unknowns if their block is regular. Otherwise they are pivoted one by one, or
    in pairs with a zero on the diagonal, by the largest pivot (after Bunch & Kaufman 1977); pairs with other
    unknowns come last.
    """
    f = np.flatnonzero(free)
    if not f.size or 1.0 / _condition(M[np.ix_(f, f)]) > REGULAR:
        return f
    T, size = M.copy(), np.maximum(np.abs(M), np.abs(M).T)
    size = np.sqrt(np.outer(size.max(axis=1), size.max(axis=1))) + 1e-300
    chosen: list[int] = []
    remaining = set(f.tolist())
    while remaining:
        pair = _largest_pivot(T, size, np.array(sorted(remaining)), free, chosen)
        if not pair:
            break
        block = T[np.ix_(pair, pair)]
        T = T - T[:, pair] @ np.linalg.solve(block, T[pair, :])
        T[pair, :] = T[:, pair] = 0.0
        chosen += pair
        remaining -= set(pair)
    return np.array(sorted(chosen), np.int64)


def _largest_pivot(
    T: Array, size: Array, remaining: IntArray, free: np.ndarray, chosen: list[int]
) -> list[int]:
    """Return one or two indices of the best principal pivot of a free unknown; none if all are rounding."""
    share = T / size
    diagonal = np.diagonal(share)
    single = int(remaining[np.argmax(np.abs(diagonal[remaining]))])
    others = np.ones(free.size, bool)
    others[chosen] = False
    for candidates in (others & free, others):
        columns = np.flatnonzero(candidates)
        crossed = share[np.ix_(remaining, columns)] * share[np.ix_(columns, remaining)].T
        determinant = np.outer(diagonal[remaining], diagonal[columns]) - crossed
        both = np.sqrt(np.minimum(np.abs(crossed), np.abs(determinant)))
        i, j = np.unravel_index(int(np.argmax(both)), both.shape)
        if abs(diagonal[single]) >= max(0.5 * both[i, j], PIVOT):
            return [single]
        if both[i, j] > PIVOT:
            return [int(remaining[i]), int(columns[j])]
    return []


def _clean(matrix: Array, constant: Array, rows: IntArray, size: float, load: float) -> None:
    """Set rounding errors of the elimination to zero in rows and columns of free unknowns without pivot."""
    block = matrix[rows, :]
    block[np.abs(block) <= REGULAR * size] = 0.0
    matrix[rows, :] = block
    columns = matrix[:, rows]
    columns[np.abs(columns) <= REGULAR * size] = 0.0
    matrix[:, rows] = columns
    small = rows[np.abs(constant[rows]) <= REGULAR * load]
    constant[small] = 0.0


def qp_to_lcp(P: Any, c: ArrayLike, A: Any, b: ArrayLike) -> Conversion[BoxProblem]:
    """Convert min ½ x'P x + c'x with A x >= b, x >= 0 to the LCP of its optimality conditions.

    The unknowns are (x, y) with multipliers y of A x >= b: M = [[P, -A'], [A, 0]], q = (c, -b). P must be
    symmetric and positive semidefinite, so that they are sufficient. `recover` returns x as r and y as lam.
    """
    P, c, A, b = _dense(P), floats("c", c).reshape(-1), _dense(A), floats("b", b).reshape(-1)
    for name, array in (("P", P), ("c", c), ("A", A), ("b", b)):
        finite(name, array)
    n, m = c.size, b.size
    if P.shape != (n, n) or A.shape != (m, n):
        raise ProblemError(
            f"P has shape {P.shape} and A {A.shape}, expected {(n, n)} and {(m, n)} with c ({n},), b ({m},)"
        )
    _refuse_indefinite(P, "P", "the solutions of its LCP would only be stationary points")
    skew = float(np.abs(P - P.T).max(initial=0.0))
    if skew > 1e-10 * np.abs(P).max(initial=0.0):
        raise ProblemError(f"P is not symmetric: entries differ by {skew:.3g} from their mirror image")
    M = np.block([[P, -A.T], [A, np.zeros((m, m))]])
    return Conversion(
        lcp(M, np.concatenate([c, -b])),
        lambda z: Answer(z[:n], None, z[n:]),
        lambda x: np.concatenate([np.maximum(x, 0.0), np.zeros(m)]),
    )


def program_to_box(program: ConeProgram) -> BoxProblem:
    """Return the optimality conditions of a program with linear rows: P x + c = A'y, 0 <= y ⟂ A x + b >= 0.

    The unknowns are (x, y); x and the multipliers y of the equations are free.
    """
    if program.second_order.size:
        raise ProblemError(
            f"the program has {program.second_order.size} second-order cones; only linear rows can be"
            " converted"
        )
    A, n = program.A, program.size
    matrix = sp.block_array(
        [[program.P, -A.T], [A, sp.csr_array((program.rows, program.rows))]], format="csr"
    )
    lower = np.full(n + program.rows, -np.inf)
    lower[n + program.zero :] = 0.0
    upper = np.full(lower.size, np.inf)
    return BoxProblem(matrix, np.concatenate([program.c, program.b]), lower, upper)


@dataclass(frozen=True, eq=False)
class Quadratic:
    """A quadratic program equivalent to an LCP, and the map of its solution back."""

    problem: ConeProgram
    """The program; all its rows are inequalities."""

    def recover(self, x: ArrayLike) -> Answer:
        """Return z of the LCP from the optimum x: the same numbers."""
        return Answer(flat("x", x, self.problem.size))


def lcp_to_qp(problem: BoxProblem) -> Quadratic:
    """Return the quadratic program min z'(A z + b) with A z + b >= 0, z >= 0, whose optimum is 0 if z solves
    the LCP.

    A + A' must be positive semidefinite, so that the program is convex.
    """
    A = _lcp_matrix(problem)
    _refuse_indefinite(A, "A", "the quadratic program is not convex")
    n = problem.size
    rows = sp.vstack([sp.csr_array(A), sp.eye_array(n, format="csr")], format="csr")
    with np.errstate(over="ignore"):  # the program rejects an overflow
        P = sp.csr_array(A + A.T)
    return Quadratic(
        ConeProgram(P, problem.b, rows, np.concatenate([problem.b, np.zeros(n)]), nonnegative=2 * n)
    )


def symmetric_lcp_to_qp(problem: BoxProblem) -> Quadratic:
    """Return min ½ z'A z + b'z, z >= 0, for symmetric positive semidefinite A; multipliers are A z + b."""
    A = _lcp_matrix(problem)
    skew = float(np.abs(A - A.T).max(initial=0.0))
    if skew > 1e-10 * np.abs(A).max(initial=0.0):
        raise ProblemError(f"A is not symmetric (by {skew:.3g}); use lcp_to_qp, which accepts it")
    _refuse_indefinite(A, "A", "the quadratic program is not convex")
    n = problem.size
    symmetric = sp.csr_array(0.5 * A + 0.5 * A.T)
    return Quadratic(ConeProgram(symmetric, problem.b, sp.eye_array(n), np.zeros(n), nonnegative=n))


def least_eigenvalue(A: Array) -> float:
    """Return the smallest eigenvalue of (A + A')/2 over the largest entry [-]; >= 0 if A is monotone."""
    size = float(np.abs(A).max(initial=0.0))
    if not size:
        return 0.0
    half = 0.5 * A / size
    return float(np.linalg.eigvalsh(half + half.T)[0])


def is_monotone(A: Array) -> bool:
    """Whether A + A' is positive semidefinite to rounding."""
    return least_eigenvalue(A) >= -NOT_MONOTONE * max(1, A.shape[0])


def _refuse_indefinite(A: Array, name: str, why: str) -> None:
    if not is_monotone(A):
        lowest = f"{least_eigenvalue(A):.3g} of its largest entry"
        raise ProblemError(f"{name} + {name}' has a negative eigenvalue, {lowest}: {why}")


def _lcp_matrix(problem: BoxProblem) -> Array:
    _check_box("this conversion", problem)
    if problem.kind != "lcp":
        raise ProblemError(f"this is a {problem.kind}, not an LCP; convert it by box_to_lcp")
    return _dense(problem.A)


def _check_box(name: str, problem: object) -> None:
    if not isinstance(problem, BoxProblem):
        raise ProblemError(f"{name} takes a BoxProblem, not {type(problem).__name__}")


def _dense(value: Any) -> Array:
    return np.asarray(value.toarray()) if sp.issparse(value) else np.atleast_2d(floats("matrix", value))


def _condition(block: Array) -> float:
    with np.errstate(all="ignore"):
        value = float(np.linalg.cond(block)) if block.size else 1.0
    return value if np.isfinite(value) else np.inf
