"""Search for a certificate of infeasibility, by linear programming.

`find_certificate(problem)` is called once, after all methods have failed. Its result is a claim, which
`problem/certificate.py` defines and checks.

1. A self-stress of normal impulses: y >= 0 with W y = 0 and y·u_free < 0. If W = H' M^-1 H there is no
   other certificate.
2. If W is not symmetric or has a negative eigenvalue: -W'y in K*, in a pyramid inside K* (exact in 2D).

All quantities are scaled to units of energy (W has unit diagonal), and the weights add up to at most 1. A
vertex of the program is one self-stress of few contacts. The program is solved to 1e-10; a projection onto
the exact equations then removes the remaining error, as the check requires.
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from stickslip.kernels import cones
from stickslip.problem.certificate import (
    Certificate,
    check_certificate,
    energy_units,
    matrix_of,
    weight_bounds,
)
from stickslip.problem.checks import Array, IntArray
from stickslip.problem.contact import ContactProblem
from stickslip.problem.convert import group_starts
from stickslip.problem.convert.facets import corners
from stickslip.problem.operator import BodyDelassus, Delassus
from stickslip.problem.sets import ProductSet

LARGEST = 2_000_000
"""Largest number of nonzeros of a linear program; larger problems only try the given direction."""
DENSE = 2_000
"""Largest number of rows of a W whose eigenvalues are computed."""
FACETS = 24
"""Number of sides of the pyramid inside K* for each group of two components."""
LINPROG = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10, "maxiter": 20_000}
NEGLIGIBLE = 1e-7
"""Relative size of weights that are rounding of the linear program."""


@dataclass(frozen=True, eq=False)
class _Scaled:
    """The problem in units of energy, and the components that may have a weight."""

    problem: ContactProblem
    scale: Array
    """Units of velocity, sqrt(rho) l [sqrt(kg)], shape (n,)."""
    K: ProductSet
    """Set of the impulses, divided by `scale` and by the largest free velocity."""
    u_free: Array
    """Free velocities, divided by the largest of them [-], shape (n,)."""
    equations: sp.csr_array
    """Rows that vanish for a self-stress [-], shape (m, n): W', or J' over bodies."""
    allowed: IntArray
    """Components that may have a weight [-], shape (count,)."""
    both_signs: np.ndarray
    """Whether each of them may have either sign [-], shape (count,), bool."""
    sign: Array
    """-1 for components that must be negative, otherwise 1 [-], shape (count,)."""

    def accepted(self, y: Array) -> Certificate | None:
        """Return the certificate of scaled weights y if the check accepts it."""
        claim = Certificate(y * self.scale)
        return claim if check_certificate(self.problem, claim).accepted else None


def find_certificate(problem: ContactProblem, direction: Array | None = None) -> Certificate | None:
    """Return a certificate that `problem` has no solution, accepted by the check; None if none is found.

    `direction`: direction in which the impulses of a solver diverged [N s], shape (n,), if known.
    """
    with np.errstate(all="ignore"):  # the check rejects an overflow
        scaled = _scaled(problem)
        if scaled is None:
            return None
        if direction is not None:
            certificate = _from_direction(scaled, direction)
            if certificate is not None:
                return certificate
        if scaled.equations.nnz > LARGEST:
            return None
        return _self_stress(scaled) or (_general(scaled) if not is_mechanical(problem.W) else None)


def is_mechanical(W: Delassus) -> bool:
    """Whether W is H' M^-1 H to rounding: symmetric and positive semidefinite, as far as is checked."""
    skew, negative = mechanical_defects(W)
    return skew <= 1e-8 and not negative > 1e-10 * W.size


def mechanical_defects(W: Delassus) -> tuple[float, float]:
    """Return max |W - W'| and the size of the smallest negative eigenvalue, over max |W| [-].

    Beyond `DENSE` rows only the diagonal is checked, and the second is NaN if it is nonnegative.
    """
    if isinstance(W, BodyDelassus) or W.size == 0:
        return 0.0, 0.0
    matrix = matrix_of(W)
    size = float(abs(matrix).max()) or 1.0
    skew = float(abs(matrix - matrix.T).max()) / size
    if W.size > DENSE:
        lowest = float(W.diagonal().min())
        return skew, -lowest / size if lowest < 0.0 else np.nan
    dense = W.dense()
    lowest = float(np.linalg.eigvalsh(0.5 * dense + 0.5 * dense.T)[0])
    return skew, max(0.0, -lowest / size)


def _scaled(problem: ContactProblem) -> _Scaled | None:
    units = energy_units(problem.K, problem.W.diagonal())
    u_free = units.scale * problem.u_free
    size = float(np.abs(u_free).max(initial=0.0))
    low, high = weight_bounds(problem.K)
    allowed = np.flatnonzero(low < high)
    D = sp.diags_array(units.scale)
    W = problem.W
    rows = (D @ W.sparse()).T if isinstance(W, BodyDelassus) else D @ sp.csr_array(matrix_of(W)).T @ D
    equations = sp.csr_array(rows)
    if not (0.0 < size < np.inf and np.isfinite(equations.data).all() and allowed.size):
        return None
    K = replace(units.K, lower=units.K.lower / size, upper=units.K.upper / size)
    return _Scaled(
        problem, units.scale, K, u_free / size, equations, allowed,
        (low < 0.0)[allowed] & (high > 0.0)[allowed], np.where(high[allowed] > 0.0, 1.0, -1.0),
    )  # fmt: skip


def _from_direction(scaled: _Scaled, direction: Array) -> Certificate | None:
    """Return the part of a diverging direction that is a self-stress of normal impulses."""
    y = np.zeros(scaled.scale.size)
    a = scaled.allowed
    y[a] = direction[a] / scaled.scale[a]
    y[a[~scaled.both_signs & (scaled.sign * y[a] < 0.0)]] = 0.0
    size = float(np.abs(y).max())
    if not 0.0 < size < np.inf:
        return None
    return _polished(scaled, y / size, np.arange(scaled.equations.shape[0]), 1e-4)


def _self_stress(scaled: _Scaled) -> Certificate | None:
    """Solve min y·u_free with W y = 0 and sum |y| <= 1."""
    columns, spread = _columns(scaled)
    weights = _solve(
        cost=columns.T @ scaled.u_free,
        equal=scaled.equations @ columns,
        above=sp.csr_array(np.ones((1, spread))),
        limit=np.ones(1),
        bounds=np.tile([0.0, np.inf], (spread, 1)),
    )
    if weights is None:
        return None
    return _polished(scaled, columns @ weights, np.arange(scaled.equations.shape[0]), NEGLIGIBLE)


def _general(scaled: _Scaled) -> Certificate | None:
    """Solve min sigma_K(W'y) + y·u_free with w = -W'y in a pyramid inside K* and sum |y| <= 1.

    The first attempt permits the boundary of the pyramid, the second only its interior.
    """
    # 1. Cost and equations in (weights, w, s, terms of intervals).
    K, n = scaled.K, scaled.scale.size
    columns, spread = _columns(scaled)
    pyramid = dual_pyramid(K, FACETS)
    ng, rows = K.group_size.size, pyramid.of_w.shape[0]
    bounded = _bounded(K)
    cost = np.concatenate([columns.T @ scaled.u_free, _half_bounds(K), np.zeros(ng), np.ones(bounded.size)])
    select = sp.csr_array(
        (np.ones(bounded.size), (np.arange(bounded.size), bounded)), shape=(bounded.size, n)
    )
    block = np.searchsorted(K.offset, bounded, side="right") - 1
    equal = sp.hstack([scaled.equations @ columns, sp.eye_array(n), sp.csr_array((n, ng + bounded.size))])
    # 2. Inequalities, and the linear program for each margin.
    for margin in (0.0, 1e-7):
        parts = [
            [None, pyramid.of_w, pyramid.of_s, None],
            [sp.csr_array(np.ones((1, spread))), None, None, None],
        ]
        for bound in (K.lower, K.upper):  # what an interval adds to sigma: max(-lower w, -upper w)
            parts.append([None, sp.diags_array(-bound[block]) @ select, None, -sp.eye_array(bounded.size)])
        above = sp.block_array(_filled(parts, (spread, n, ng, bounded.size)), format="csr")
        limit = np.zeros(above.shape[0])
        limit[: pyramid.contacts], limit[rows] = -margin, 1.0
        variables = np.full((cost.size, 2), [-np.inf, np.inf])
        variables[:spread, 0] = 0.0
        variables[spread : spread + n] = np.stack([pyramid.low, pyramid.high], axis=1)
        optimum = _solve(cost, sp.csr_array(equal), above, limit, variables)
        if optimum is None:
            return None
        w = optimum[spread : spread + n]
        still = np.flatnonzero(np.abs(w) <= NEGLIGIBLE)
        certificate = _polished(scaled, columns @ optimum[:spread], still, NEGLIGIBLE)
        if certificate is not None:
            return certificate
    return None


def _columns(scaled: _Scaled) -> tuple[sp.csr_array, int]:
    """Return a matrix (n, spread) from nonnegative unknowns, two for both signs, to weights; and spread."""
    two = np.flatnonzero(scaled.both_signs)
    row = np.concatenate([scaled.allowed, scaled.allowed[two]])
    value = np.concatenate([scaled.sign, -np.ones(two.size)])
    spread = row.size
    return sp.coo_array((value, (row, np.arange(spread))), shape=(scaled.scale.size, spread)).tocsr(), spread


def _bounded(K: ProductSet) -> IntArray:
    """Return the components of intervals with two finite bounds."""
    ends = np.isfinite(K.lower) & np.isfinite(K.upper)
    return K.offset[:-1][ends]


def _half_bounds(K: ProductSet) -> Array:
    """Return the cost of w for intervals with one finite bound: sigma is -bound w."""
    cost = np.zeros(K.size)
    half = np.isfinite(K.lower) != np.isfinite(K.upper)
    cost[K.offset[:-1][half]] = -np.where(np.isfinite(K.lower), K.lower, K.upper)[half]
    return cost


def _filled(parts: list[list[sp.csr_array | None]], widths: tuple[int, ...]) -> list[list[sp.csr_array]]:
    """Replace None by zero blocks."""
    filled = []
    for row in parts:
        height = next(part.shape[0] for part in row if part is not None)
        filled.append(
            [
                sp.csr_array((height, width)) if part is None else part
                for part, width in zip(row, widths, strict=True)
            ]
        )
    return filled


def _solve(
    cost: Array, equal: sp.csr_array, above: sp.csr_array, limit: Array, bounds: Array
) -> Array | None:
    """Return the optimum of a linear program if it is clearly negative."""
    result = linprog(
        cost, A_ub=above, b_ub=limit, A_eq=equal, b_eq=np.zeros(equal.shape[0]), bounds=bounds,
        method="highs-ds", options=LINPROG,
    )  # fmt: skip
    if result.x is None or result.status not in (0, 3) or not result.fun < -1e-9:
        return None
    return np.asarray(result.x)


def _polished(scaled: _Scaled, y: Array, still: IntArray, share: float) -> Certificate | None:
    """Project `y` onto the exact equations of the rows `still`; return its certificate if it is accepted.

    Weights below `share` of the largest, and those that change sign, are set to zero.
    """
    size = float(np.abs(y).max(initial=0.0))
    if size == 0.0:
        return None
    free = np.zeros(y.size, bool)
    free[scaled.allowed[scaled.both_signs]] = True
    sign = np.sign(y)
    for _ in range(5):
        support = np.flatnonzero(np.abs(y) > share * size)
        if not support.size or support.size * still.size > LARGEST:
            return None
        A, part = scaled.equations[still][:, support].toarray(), y[support]
        if still.size:
            U, sizes, V = np.linalg.svd(A, full_matrices=False)
            significant = sizes > 1e-10 * max(float(sizes[0]), 1e-300)
            for _ in range(3):  # repeated because of rounding
                part = part - V[significant].T @ ((U[:, significant].T @ (A @ part)) / sizes[significant])
        y = np.zeros(y.size)
        y[support] = part
        flipped = ~free & (sign * y < 0.0)
        if not flipped.any():
            return scaled.accepted(y)
        y[flipped] = 0.0
        share = NEGLIGIBLE
    return None


@dataclass(frozen=True, eq=False)
class DualPyramid:
    """{w : normals w <= sides s and s above every facet, low <= w <= high}, inside K*.

    All its points lie in K*, so a certificate found with it is valid. It may miss certificates, unless all
    groups have one component (2D), where the pyramid is K* itself.
    """

    of_w: sp.csr_array
    """Coefficients of w in the rows <= 0, contacts first, facets after [-], shape (rows, n)."""
    of_s: sp.csr_array
    """Coefficients of s, one bound on |w_g| for each group [-], shape (rows, ng)."""
    low: Array
    """Smallest w of blocks without friction [m/s], shape (n,); -inf for friction."""
    high: Array
    """Largest w of blocks without friction [m/s], shape (n,); inf for friction."""
    strict: Array
    """Inward direction of each component: 1 or -1, 0 if there is no interior [-], shape (n,)."""

    @property
    def contacts(self) -> int:
        """Number of rows that bound a normal component."""
        return int((self.strict[np.isinf(self.low)] == 1.0).sum())


def dual_pyramid(K: ProductSet, facets: int) -> DualPyramid:
    """Return the pyramid with `facets` sides for each group of two components; w may be scaled with K."""
    n, ng = K.size, K.group_size.size
    friction = np.flatnonzero(K.kind == cones.FRICTION)
    owner = K.group_owner
    row_of = np.full(len(K), -1)
    row_of[friction] = np.arange(friction.size)
    # w_N >= sum_g mu_g s_g
    w_row, w_col, w_val = [np.arange(friction.size)], [K.offset[friction]], [-np.ones(friction.size)]
    s_row, s_col, s_val = [row_of[owner]], [np.arange(ng)], [K.coefficient]
    rows, start = friction.size, group_starts(K)
    for size in np.unique(K.group_size).tolist():
        groups = np.flatnonzero(K.group_size == size)
        sides = _sides(size, facets)
        m = sides.shape[0]
        row = rows + np.arange(groups.size * m)
        w_row.append(np.repeat(row, size))
        w_col.append((start[groups][:, None, None] + np.arange(size) + np.zeros((m, 1), int)).reshape(-1))
        w_val.append(np.tile(sides.reshape(-1), groups.size))
        s_row.append(row)
        s_col.append(np.repeat(groups, m))
        s_val.append(-np.ones(row.size))
        rows += row.size
    of_w = _matrix(w_row, w_col, w_val, (rows, n))
    of_s = _matrix(s_row, s_col, s_val, (rows, ng))
    low, high, strict = np.full(n, -np.inf), np.full(n, np.inf), np.zeros(n)
    sizes = np.diff(K.offset)
    plain = np.repeat(K.kind != cones.FRICTION, sizes)
    up, down = np.repeat(K.upper == np.inf, sizes) & plain, np.repeat(K.lower == -np.inf, sizes) & plain
    low[up], high[down] = 0.0, 0.0
    strict[up & ~down], strict[down & ~up], strict[K.offset[friction]] = 1.0, -1.0, 1.0
    return DualPyramid(of_w, of_s, low, high, strict)


def _sides(size: int, facets: int) -> Array:
    """Return vectors a with |x| <= max a·x, shape (m, size); exact for one component."""
    if size == 2:
        return corners(2, facets) / np.cos(np.pi / facets)
    return np.concatenate([np.eye(size), -np.eye(size)]) * np.sqrt(size)


def _matrix(
    row: list[np.ndarray], col: list[np.ndarray], val: list[Array], shape: tuple[int, int]
) -> sp.csr_array:
    coords = np.concatenate(row), np.concatenate(col)
    return sp.coo_array((np.concatenate(val), coords), shape=shape).tocsr()
