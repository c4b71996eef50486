"""Semismooth Newton for mixed complementarity problems over a box.

The problem -F(z) in N_[lower, upper](z) as equations Phi(z) = 0, component by component:

    phi(z - lower, -phi(upper - z, -F)),   phi(a, b) = a + b - √(a² + b² + 2 kappa)

with the function of Fischer 1992 & Burmeister, nested where there are two bounds (Billups 1995, 2.2), or
z - P(z - F), the min function. kappa > 0 smooths (Kanzow 1996): on its zeros a b = kappa. The
generalised Newton step is taken by LU, by Levenberg and Marquardt's equations where the matrix is
singular or the direction poor, and along the gradient where both fail; steps are shortened by a
nonmonotone line search on |Phi|²/2 (De Luca, Facchinei & Kanzow 1996, algorithm 3.1; Grippo, Lampariello
& Lucidi 1986). With |Phi|² as its parameter the method of Levenberg and Marquardt is quadratic where
solutions are not isolated, too (Yamashita & Fukushima 2001), which redundant contacts ask for.

Plain NumPy: the time goes to F, its Jacobian and one factorisation, which are calls of libraries and of
callables that could not be compiled anyway.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as dense_linalg
import scipy.sparse as sp
from scipy.linalg import lapack
from scipy.sparse import linalg as sparse_linalg

from stickslip.problem.checks import Array
from stickslip.problem.nonlinear import Matrix, NonlinearProblem

DENSE = 300
"""Unknowns up to which matrices are factored as one array."""
ARMIJO = 1e-4
"""Share of the predicted decrease of the merit that a step must bring."""
SHORTEST = 2.0**-14
"""Shortest step of the line search."""
MEMORY = 5
"""Steps whose largest merit a new one is compared with."""
DESCENT = 1e-10
"""Least cosine between a direction and the one of steepest descent."""
SINGULAR = 1e-11
"""Reciprocal condition number below which a matrix is taken for singular."""
LEAST_DAMPING, MOST_DAMPING = 1e-18, 1e4
"""Range of the parameter of Levenberg and Marquardt."""
STILL = 12
"""Steps without lowering the best merit by a tenth after which a phase has stopped."""


class Equations(NamedTuple):
    """Phi, and dPhi = diag(by_z) + diag(by_F) dF."""

    value: Array
    """Phi(z), shape (n,)."""
    by_z: Array
    """Derivative by z, component by component, shape (n,)."""
    by_F: Array
    """Derivative by F, component by component, shape (n,)."""


def fischer_burmeister(z: Array, F: Array, lower: Array, upper: Array, kappa: float = 0.0) -> Equations:
    """The nested function of Fischer and Burmeister for every component."""
    has_low, has_high = lower > -np.inf, upper < np.inf
    value, by_z, by_F = F.copy(), np.zeros_like(z), np.ones_like(z)
    b = np.flatnonzero(has_high)
    if b.size:  # -phi(upper - z, -F), which is what stands in the place of F from here on
        phi, da, db = _phi(upper[b] - z[b], -F[b], kappa)
        value[b], by_z[b], by_F[b] = -phi, da, db
    a = np.flatnonzero(has_low)
    if a.size:
        phi, da, db = _phi(z[a] - lower[a], value[a], kappa)
        value[a], by_z[a], by_F[a] = phi, da + db * by_z[a], db * by_F[a]
    return Equations(value, by_z, by_F)


def _phi(a: Array, b: Array, kappa: float) -> tuple[Array, Array, Array]:
    """a + b - √(a² + b² + 2 kappa) and its derivatives, of an element of the subdifferential at 0."""
    root = np.sqrt(np.hypot(a, b) ** 2 + 2.0 * kappa) if kappa else np.hypot(a, b)
    flat = root == 0.0
    safe = np.where(flat, 1.0, root)
    with np.errstate(invalid="ignore", over="ignore"):
        # a + b - root without cancellation: 2 (a b - kappa) / (a + b + root) where the sum is positive.
        s = a + b
        value = np.where(s > 0.0, 2.0 * (a * b - kappa) / np.where(s > 0.0, s + root, 1.0), s - root)
    half = np.sqrt(0.5)  # the direction (1, 1), one of the generalised derivatives at 0
    return value, np.where(flat, 1.0 - half, 1.0 - a / safe), np.where(flat, 1.0 - half, 1.0 - b / safe)


def minimum(z: Array, F: Array, lower: Array, upper: Array, kappa: float = 0.0) -> Equations:
    """z - P(z - F): min(z - lower, F) where there is no upper bound; smoothed as Chen & Harker's."""
    if kappa:
        return _smoothed_minimum(z, F, lower, upper, kappa)
    inside = (z - F > lower) & (z - F < upper)
    value = z - np.clip(z - F, lower, upper)
    return Equations(value, np.where(inside, 0.0, 1.0), np.where(inside, 1.0, 0.0))


def _smoothed_minimum(z: Array, F: Array, lower: Array, upper: Array, kappa: float) -> Equations:
    """(a + b - √((a - b)² + 4 kappa)) / 2, nested as the other one; zeros with a b = kappa again."""
    value, by_z, by_F = F.copy(), np.zeros_like(z), np.ones_like(z)
    b = np.flatnonzero(upper < np.inf)
    if b.size:
        low, da, db = _soft_min(upper[b] - z[b], -F[b], kappa)
        value[b], by_z[b], by_F[b] = -low, da, db
    a = np.flatnonzero(lower > -np.inf)
    if a.size:
        low, da, db = _soft_min(z[a] - lower[a], value[a], kappa)
        value[a], by_z[a], by_F[a] = low, da + db * by_z[a], db * by_F[a]
    return Equations(value, by_z, by_F)


def _soft_min(a: Array, b: Array, kappa: float) -> tuple[Array, Array, Array]:
    root = np.sqrt((a - b) ** 2 + 4.0 * kappa)
    share = (a - b) / root
    return 0.5 * (a + b - root), 0.5 * (1.0 - share), 0.5 * (1.0 + share)


MAPS: dict[str, Callable[..., Equations]] = {"fischer-burmeister": fischer_burmeister, "min": minimum}


class Newton:
    """Steps of one problem: the iterate, its merit, and how the next one is found."""

    def __init__(self, problem: NonlinearProblem, map_name: str):
        self.problem, self.map = problem, MAPS[map_name]
        self.damping = 1e-6
        self.still = False
        """Whether no direction led anywhere from the last iterate."""
        self.operations = 0.0
        """Multiplications of factorisations, about."""
        self._recent: list[float] = []

    def begin(self, z: Array, kappa: float) -> Array:
        """Start a phase at z with this smoothing."""
        self.kappa, self._recent, self.still, self.damping = kappa, [], False, 1e-6
        self.z = z
        self.F = self.problem.value(z)
        self.at = self._equations(z, self.F)
        self.merit = _merit(self.at.value)
        return z

    def _equations(self, z: Array, F: Array) -> Equations:
        return self.map(z, F, self.problem.lower, self.problem.upper, self.kappa)

    @property
    def finite(self) -> bool:
        """Whether the merit is a number."""
        return bool(np.isfinite(self.merit))

    def step(self) -> Array:
        """The next iterate; `still` where there is none."""
        J = _jacobian(self.at, self.problem.slope(self.z))
        if not np.isfinite(J.data if sp.issparse(J) else J).all():
            self.still = True
            return self.z
        self._recent = [*self._recent, self.merit][-MEMORY:]
        gradient = np.asarray(J.T @ self.at.value).reshape(-1)
        d = self._newton(J)
        if d is not None and self._good(d, gradient) and self._search(d, gradient):
            return self.z
        for _ in range(8):
            d = self._damped(J, gradient, self.damping)
            if d is not None and self._good(d, gradient) and self._search(d, gradient):
                self.damping = max(0.1 * self.damping, LEAST_DAMPING)
                return self.z
            self.damping = min(30.0 * max(self.damping, 1e-10), MOST_DAMPING)
        self.still = not self._search(-gradient / max(1.0, float(np.abs(J.data if sp.issparse(J) else J).max()) ** 2), gradient)
        return self.z

    def _good(self, d: Array, gradient: Array) -> bool:
        slope = float(gradient @ d)
        return slope <= -DESCENT * float(np.linalg.norm(gradient)) * float(np.linalg.norm(d))

    def _newton(self, J: Matrix) -> Array | None:
        """-J^-1 Phi; None where J is singular to working precision."""
        n = self.problem.size
        if not sp.issparse(J):
            if n == 0:
                return np.zeros(0)
            self.operations += n**3 / 3
            lu, pivots, info = lapack.dgetrf(J)
            if info != 0 or lapack.dgecon(lu, np.abs(J).sum(axis=0).max())[0] < SINGULAR:
                return None
            d = -lapack.dgetrs(lu, pivots, self.at.value)[0]
        else:
            try:
                factors = sparse_linalg.splu(sp.csc_array(J))
            except RuntimeError:  # exactly singular
                return None
            self.operations += float(factors.nnz) ** 2 / (2.0 * n)
            pivot = np.abs(factors.U.diagonal())
            if pivot.min() < SINGULAR * pivot.max():
                return None
            d = -factors.solve(self.at.value)
        return d if np.isfinite(d).all() else None

    def _damped(self, J: Matrix, gradient: Array, damping: float) -> Array | None:
        """argmin |J d + Phi|² + nu |d|², by orthogonal factors or the quasi-definite system."""
        n = self.problem.size
        nu = max(damping * min(1.0, 2.0 * self.merit), LEAST_DAMPING)
        if not sp.issparse(J):
            self.operations += 4 * n**3
            stacked = np.concatenate([J, np.sqrt(nu) * np.eye(n)])
            target = np.concatenate([-self.at.value, np.zeros(n)])
            d = dense_linalg.lstsq(stacked, target, lapack_driver="gelsy", check_finite=False)[0]
        else:
            eye = sp.eye_array(n)
            try:
                factors = sparse_linalg.splu(sp.csc_array(sp.block_array([[eye, J], [J.T, -nu * eye]])))
            except RuntimeError:
                return None
            d = factors.solve(np.concatenate([-self.at.value, np.zeros(n)]))[n:]
        return d if np.isfinite(d).all() else None

    def _search(self, d: Array, gradient: Array) -> bool:
        """Halve the step until the merit falls enough below the largest of the recent ones."""
        slope, bound, t = float(gradient @ d), max(self._recent), 1.0
        while t >= SHORTEST:
            z = self.z + t * d
            F = self.problem.value(z)
            at = self._equations(z, F)
            merit = _merit(at.value)
            if merit <= bound + ARMIJO * t * slope and (merit < bound or t == 1.0):
                moved = bool((z != self.z).any())
                self.z, self.F, self.at, self.merit = z, F, at, merit
                return moved
            t *= 0.5
        return False


def _merit(phi: Array) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        merit = 0.5 * float(phi @ phi)
    return merit if np.isfinite(merit) else np.inf


def _jacobian(at: Equations, J: Matrix) -> Any:
    if sp.issparse(J):
        return sp.csr_array(sp.diags_array(at.by_F) @ J + sp.diags_array(at.by_z))
    out = at.by_F[:, None] * J
    out[np.diag_indices_from(out)] += at.by_z
    return out
