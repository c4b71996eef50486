"""Semismooth Newton for mixed complementarity problems over a box.

The problem -F(z) in N_[lower, upper](z) as equations Phi(z) = 0, component by component:

    phi(z - lower, -phi(upper - z, -F)),   phi(a, b) = a + b - √(a² + b² + 2 kappa)

with the function of Fischer 1992 & Burmeister, nested for two bounds (Billups 1995, 2.2), or z - P(z - F),
the min function. kappa > 0 smooths (Kanzow 1996): at the zeros a b = kappa. The generalised Newton step is
computed by LU; by the Levenberg-Marquardt equations if the matrix is singular or the direction poor; and
along the negative gradient if both fail. A nonmonotone line search on |Phi|²/2 shortens the steps (De Luca,
Facchinei & Kanzow 1996, algorithm 3.1; Grippo, Lampariello & Lucidi 1986). With |Phi|² as its parameter the
Levenberg-Marquardt method converges quadratically also if solutions are not isolated (Yamashita & Fukushima
2001), as with redundant contacts.

Plain NumPy: most time is spent in F, its Jacobian and one factorisation, which are library calls and
callables that cannot be compiled.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as dense_linalg
import scipy.sparse as sp
from scipy.linalg import lapack
from scipy.sparse import linalg as sparse_linalg

from stickslip.problem.checks import Array, IntArray
from stickslip.problem.nonlinear import Matrix, NonlinearProblem

ARMIJO = 1e-4
"""Armijo constant: fraction of the predicted decrease of the merit that a step must achieve."""
SHORTEST = 2.0**-14
"""Smallest step length of the line search."""
MEMORY = 5
"""Memory of the nonmonotone line search, in steps."""
DESCENT = 1e-10
"""Smallest cosine between a direction and that of steepest descent."""
SINGULAR = 1e-11
"""Reciprocal condition number below which a matrix counts as singular."""
ROUNDING = 1e-13
"""Shift of a sparse matrix relative to its largest entry; far below SINGULAR."""
LEAST_DAMPING, MOST_DAMPING = 1e-18, 1e4
"""Range of the Levenberg-Marquardt parameter."""
FIRST_DAMPING, TRIALS = 1e-6, 8
"""First Levenberg-Marquardt parameter, times min(1, |Phi|²), and number of increases in one step."""


class Equations(NamedTuple):
    """Phi, and dPhi = diag(by_z) + diag(by_F) dF."""

    value: Array
    """Phi(z), shape (n,)."""
    by_z: Array
    """Derivative by z, component by component, shape (n,)."""
    by_F: Array
    """Derivative by F (without its weight), component by component, shape (n,)."""


Pair = tuple[Array, Array, Array]
"""Values of a function of two numbers and its derivatives by both."""


def fischer_burmeister(a: Array, b: Array, kappa: float) -> Pair:
    """Return a + b - √(a² + b² + 2 kappa), with an element of the generalised derivative at 0."""
    root = np.hypot(np.hypot(a, b), np.sqrt(2.0 * kappa))
    flat, s = root == 0.0, a + b
    safe = np.where(flat, 1.0, root)
    # Without cancellation: 2 (a b - kappa) / (a + b + root) where the sum is positive.
    value = np.where(s > 0.0, 2.0 * (a * b - kappa) / np.where(s > 0.0, s + root, 1.0), s - root)
    corner = 1.0 - np.sqrt(0.5)  # approached along a = b
    return value, np.where(flat, corner, 1.0 - a / safe), np.where(flat, corner, 1.0 - b / safe)


def minimum(a: Array, b: Array, kappa: float) -> Pair:
    """Return min(a, b), smoothed as (a + b - √((a - b)² + 4 kappa)) / 2 (Chen & Harker 1993)."""
    if not kappa:
        first = a <= b
        return np.where(first, a, b), np.where(first, 1.0, 0.0), np.where(first, 0.0, 1.0)
    root = np.sqrt((a - b) ** 2 + 4.0 * kappa)
    share = (a - b) / root
    return 0.5 * (a + b - root), 0.5 * (1.0 - share), 0.5 * (1.0 + share)


MAPS: dict[str, Callable[[Array, Array, float], Pair]] = {
    "fischer-burmeister": fischer_burmeister,
    "min": minimum,
}


def equations(
    phi: Callable[[Array, Array, float], Pair], z: Array, F: Array, lower: Array, upper: Array, kappa: float
) -> Equations:
    """Return phi(z - lower, -phi(upper - z, -F)) by component; z - lower if the bounds are equal."""
    fixed = lower == upper
    value, by_z, by_F = F.copy(), np.zeros_like(z), np.ones_like(z)
    b = np.flatnonzero((upper < np.inf) & ~fixed)
    if b.size:
        high, da, db = phi(upper[b] - z[b], -F[b], kappa)
        value[b], by_z[b], by_F[b] = -high, da, db
    a = np.flatnonzero((lower > -np.inf) & ~fixed)
    if a.size:
        low, da, db = phi(z[a] - lower[a], value[a], kappa)
        value[a], by_z[a], by_F[a] = low, da + db * by_z[a], db * by_F[a]
    value[fixed], by_z[fixed], by_F[fixed] = z[fixed] - lower[fixed], 1.0, 0.0
    return Equations(value, by_z, by_F)


class Newton:
    """Semismooth Newton on one problem: the iterate, its merit and its steps."""

    def __init__(self, problem: Any, map_name: str, weight: Array | float = 1.0):
        """`problem`: an object with size, lower, upper, value and slope as of `NonlinearProblem`.

        `weight` > 0 scales F, because phi compares F with z; the solutions stay the same.
        """
        self.problem, self.phi, self.weight = problem, MAPS[map_name], weight
        self.operations = 0.0
        """Approximate number of multiplications of the factorisations."""

    def begin(self, z: Array, kappa: float, bounds: tuple[Array, Array] | None = None) -> None:
        """Start at z with this smoothing, over the box of the problem or over `bounds`."""
        box: tuple[Array, Array] = self.problem.lower, self.problem.upper
        self.lower, self.upper = box if bounds is None else bounds
        self.kappa, self.z = kappa, z
        self.still = False
        """Whether no direction reduced the merit from the last iterate."""
        self.length = 1.0
        """Length of the last step relative to the full one."""
        self._recent: list[float] = []
        self._damping = FIRST_DAMPING
        self.at = self._equations(z)
        self.merit = _merit(self.at.value)

    def _equations(self, z: Array) -> Equations:
        F = self.weight * self.problem.value(z)
        result = equations(self.phi, z, F, self.lower, self.upper, self.kappa)
        return result._replace(by_F=self.weight * result.by_F)

    def merit_at(self, z: Array) -> float:
        """Return |Phi|²/2 at z."""
        return _merit(self._equations(z).value)

    @property
    def error(self) -> float:
        """|Phi|_inf; infinite if not finite."""
        error = float(np.abs(self.at.value).max(initial=0.0))
        return error if np.isfinite(error) else np.inf

    def step(self) -> Array:
        """Compute and return the next iterate; set `still` if no step reduces the merit."""
        if self.problem.size == 0 or not np.isfinite(self.merit):
            self.still = True
            return self.z
        J = _chained(self.at, self.problem.slope(self.z))
        entries = J.data if sp.issparse(J) else J
        if not np.isfinite(entries).all():
            self.still = True
            return self.z
        self._recent = [*self._recent, self.merit][-MEMORY:]
        # 1. Newton's direction.
        gradient = np.asarray(J.T @ self.at.value).reshape(-1)
        if self._search(self._newton(J), gradient):
            return self.z
        # 2. Levenberg-Marquardt directions with increasing parameter.
        for _ in range(TRIALS):
            if self._search(self._damped(J), gradient):
                self._damping = max(0.1 * self._damping, LEAST_DAMPING)
                return self.z
            self._damping = min(30.0 * self._damping, MOST_DAMPING)
        # 3. Steepest descent; its scale is a bound of |J|², so that the first trial is not too long.
        steepest = float(np.square(entries).sum())
        self.still = not self._search(-gradient / (steepest or 1.0), gradient)
        return self.z

    def _newton(self, J: Any) -> Array | None:
        """Return -J^-1 Phi; None if J is singular to working precision."""
        n = self.problem.size
        if not sp.issparse(J):
            self.operations += n**3 / 3
            lu, pivots, info = lapack.dgetrf(J)
            if info != 0 or lapack.dgecon(lu, np.abs(J).sum(axis=0).max())[0] < SINGULAR:
                return None
            return np.asarray(-lapack.dgetrs(lu, pivots, self.at.value)[0])
        # Shifted by rounding, because SuperLU prints a message if a matrix is exactly singular.
        shift = ROUNDING * float(np.abs(J.data).max(initial=1.0))
        try:
            factors = sparse_linalg.splu(sp.csc_array(J + shift * sp.eye_array(n)))
        except RuntimeError:
            return None
        self.operations += float(factors.nnz) ** 2 / (2.0 * n)
        pivot = np.abs(factors.U.diagonal())
        return None if pivot.min() < SINGULAR * pivot.max() else -factors.solve(self.at.value)

    def _damped(self, J: Any) -> Array | None:
        """Return argmin |J d + Phi|² + nu |d|², by orthogonal factors or the quasi-definite system."""
        n = self.problem.size
        nu = max(self._damping * min(1.0, 2.0 * self.merit), LEAST_DAMPING)
        target = np.concatenate([-self.at.value, np.zeros(n)])
        if not sp.issparse(J):
            self.operations += 4 * n**3
            stacked = np.concatenate([J, np.sqrt(nu) * np.eye(n)])
            return np.asarray(
                dense_linalg.lstsq(stacked, target, lapack_driver="gelsy", check_finite=False)[0]
            )
        eye = sp.eye_array(n)
        try:
            factors = sparse_linalg.splu(sp.csc_array(sp.block_array([[eye, J], [J.T, -nu * eye]])))
        except RuntimeError:
            return None
        self.operations += float(factors.nnz) ** 2 / (4.0 * n)
        return np.asarray(factors.solve(target)[n:])

    def _search(self, d: Array | None, gradient: Array) -> bool:
        """Line search: halve a step along a descent direction until the merit falls below recent ones."""
        if d is None or not np.isfinite(d).all():
            return False
        slope, bound, t = float(gradient @ d), max(self._recent), 1.0
        if not slope <= -DESCENT * float(np.linalg.norm(gradient)) * float(np.linalg.norm(d)):
            return False
        while t >= SHORTEST:
            z = self.z + t * d
            trial = self._equations(z)
            merit = _merit(trial.value)
            if merit <= bound + ARMIJO * t * slope:
                moved = bool((z != self.z).any())
                self.z, self.at, self.merit, self.length = z, trial, merit, t
                return moved
            t *= 0.5
        return False


def balance(problem: NonlinearProblem, z: Array) -> Array:
    """Return weights of F that scale the largest entry of each row of the Jacobian at z to 1, shape (n,)."""
    if not problem.size:
        return np.ones(0)
    J = problem.slope(z)
    size = abs(J).max(axis=1).toarray() if sp.issparse(J) else np.abs(J).max(axis=1)
    size = np.asarray(size).reshape(-1)
    known = (size >= np.finfo(float).tiny) & np.isfinite(size)
    return np.where(known, 1.0 / np.where(known, size, 1.0), 1.0)


def face(
    problem: NonlinearProblem, z: Array, cut: float, leader: IntArray, weight: Array | float = 1.0
) -> tuple[Array, Array]:
    """Return bounds that fix the components active at z, and leave the others without bounds.

    Unknowns whose `leader` is at its bound are fixed at 0.
    """
    F, low, high = weight * problem.value(z), problem.lower, problem.upper
    at_low = (low > -np.inf) & (z - low <= np.maximum(F, cut))
    at_high = (high < np.inf) & (high - z <= np.maximum(-F, cut)) & ~at_low
    value = np.where(at_low, low, np.where(at_high, high, 0.0))
    held = at_low | at_high
    if leader.size:
        follows = (leader >= 0) & at_low[leader]
        value, held = np.where(follows, 0.0, value), held | follows
    return np.where(held, value, -np.inf), np.where(held, value, np.inf)


def interior(problem: NonlinearProblem, z: Array) -> Array:
    """Return z moved inside the box: at least 1 from a bound, or to the middle between two bounds."""
    low, high = problem.lower, problem.upper
    with np.errstate(invalid="ignore"):
        middle = np.where(np.isfinite(low) & np.isfinite(high), 0.5 * low + 0.5 * high, z)
    both = np.isfinite(low) & np.isfinite(high)
    return np.where(both, middle, np.clip(z, low + 1.0, high - 1.0))


def _merit(phi: Array) -> float:
    merit = 0.5 * float(phi @ phi)
    return merit if np.isfinite(merit) else np.inf


def _chained(linearised: Equations, J: Matrix) -> Any:
    """Return diag(by_z) + diag(by_F) J."""
    if sp.issparse(J):
        return sp.csr_array(sp.diags_array(linearised.by_F) @ J + sp.diags_array(linearised.by_z))
    out = linearised.by_F[:, None] * J
    out[np.diag_indices_from(out)] += linearised.by_z
    return out
