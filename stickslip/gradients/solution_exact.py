"""Where an exact derivative is taken: the solution to rounding, inside its case if it is not the only one.

Where contacts hold each other (four feet of a table) impulses are not unique, and a solver may return some
without impulse at a contact that others would press: on a border that is not one of the problem. The central
path at a small kappa ends in the middle of all solutions, so it tells which contacts can press.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from stickslip.gradients.solution_factor import RANK, Factor
from stickslip.gradients.solution_laws import Law, LawScales, exact_law, family_rows, scalar_components
from stickslip.gradients.solution_smooth import central_point
from stickslip.kernels import cones
from stickslip.problem.sets import ProductSet
from stickslip.state import Array, ModelError

POLISH = 4
"""Newton steps, at most, that take a solution to rounding before it is differentiated."""
MIDDLE = 1e-10
"""Kappa of the middle of all solutions, over the product of the sizes of impulses and velocities [-]."""
ROUNDING = 1e-12
"""Error of the law at which a point counts as a solution [-]."""


def exact_point(
    K: ProductSet, scales: LawScales, W: Array | sp.csr_array, u_free: Array, r: Array, tolerance: float
) -> tuple[Array, Law, float]:
    """r to rounding with the law there, and the share of the largest singular value that counts as zero."""
    problem = _Problem(K, scales, W, u_free, tolerance)
    point = problem.polished(problem.at(r))
    if point.law.kinks:
        middle = problem.middle(point)
        if middle is not None and len(middle.law.kinks) < len(point.law.kinks):
            point = middle
    return point.r, point.law, point.rank


@dataclass(frozen=True, eq=False)
class _Point:
    """Impulses, and the law as it is there."""

    r: Array
    law: Law
    error: float
    """Residual of the law over the size of impulses and velocities [-]."""

    @property
    def rank(self) -> float:
        """Singular values smaller than what the matrix is known to are zero [-]."""
        return float(min(max(RANK, 30.0 * max(self.error, 1e-16) / self.law.slowest), 1e-6))


@dataclass(frozen=True, eq=False)
class _Problem:
    """u = W r + u_free with the law of K."""

    K: ProductSet
    scales: LawScales
    W: Array | sp.csr_array
    u_free: Array
    tolerance: float

    def at(self, r: Array) -> _Point:
        u = self.W @ r + self.u_free
        law = exact_law(self.K, self.scales, r, u, self.tolerance)
        return _Point(r, law, self._relative(law.residual(), r, u))

    def polished(self, point: _Point) -> _Point:
        """Newton's method as long as it helps and every block goes on doing what it does."""
        for _ in range(POLISH):
            if point.error <= 1e-15:
                break
            better = self.at(self._step(point.r, point.law, point.rank, point.law.residual()))
            if not better.error < point.error or better.law.cases != point.law.cases:
                break
            point = better
        return point

    def middle(self, point: _Point) -> _Point | None:
        """A solution of the same velocities with the cases that the end of the central path has, if any."""
        scales, u = self.scales, self.W @ point.r + self.u_free
        size = self._size(point.r, u) / np.sqrt(max(1, len(self.K)))
        kappa = MIDDLE * size * size / float(np.median(scales.push))
        if not kappa > 0.0:
            return None
        try:
            r, _ = central_point(self.K, scales, self.W, self.u_free, point.r, kappa)
        except ModelError:
            return None
        for _ in range(POLISH):
            u = self.W @ r + self.u_free
            case_r, case_u = _nearest_case(self.K, scales, r, u)
            law = exact_law(self.K, scales, case_r, case_u, 1e-14)
            residual = law.residual() + law.applied((r - case_r) / scales.length, scales.push * (u - case_u))
            if self._relative(residual, r, u) <= ROUNDING:
                break
            r = self._step(r, law, 1e-9, residual)
        found = self.at(r)
        moved = float(np.linalg.norm(scales.push * (self.W @ (r - point.r))))
        same = moved <= max(1e3 * self.tolerance, 1e-7) * self._size(point.r, u)
        return found if found.error <= ROUNDING and same else None

    def _step(self, r: Array, law: Law, rank: float, residual: Array) -> Array:
        factor = Factor(law.matrix(self.W), law.passive, rank)
        return r - self.scales.length * factor.solve(residual[:, None])[:, 0]

    def _size(self, r: Array, u: Array) -> float:
        return max(float(np.linalg.norm(r / self.scales.length)), float(np.linalg.norm(self.scales.push * u)))

    def _relative(self, residual: Array, r: Array, u: Array) -> float:
        size = self._size(r, u)
        return float(np.linalg.norm(residual)) / size if size else 0.0


def _nearest_case(K: ProductSet, scales: LawScales, r: Array, u: Array) -> tuple[Array, Array]:
    """r and u of the central path with the smaller one of every complementary pair put to zero."""
    z, y = r / scales.length, scales.push * u
    if (K.kind != cones.FRICTION).any():
        rows, _, low, high = scalar_components(K)
        low, high = low / scales.length[rows], high / scales.length[rows]
        at_low, at_high = y[rows] > z[rows] - low, -y[rows] > high - z[rows]
        z[rows] = np.where(at_low, low, np.where(at_high, high, z[rows]))
        y[rows] = np.where(at_low | at_high, y[rows], 0.0)
    for groups, blocks in K.families().items():
        if not groups:
            continue
        rows, group, slices = family_rows(K, groups, blocks)
        impulse, velocity = z[rows], y[rows]
        closed = impulse[:, 0] > velocity[:, 0]
        velocity[closed, 0] = 0.0
        for g, part in enumerate(slices):
            margin = scales.coefficient[group[:, g]] * impulse[:, 0] - np.linalg.norm(
                impulse[:, part], axis=1
            )
            velocity[closed & (np.linalg.norm(velocity[:, part], axis=1) <= margin), part] = 0.0
        impulse[~closed] = 0.0
        z[rows], y[rows] = impulse, velocity
    return scales.length * z, y / scales.push
