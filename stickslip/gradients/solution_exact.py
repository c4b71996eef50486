"""Point of linearisation of exact derivatives: the solution refined to rounding, in the interior of its set.

If contacts are redundant (four feet of a table), impulses are not unique. A solver may return impulses on a
border that is not a property of the problem: no impulse at a contact that is loaded in other solutions, or
friction at its limit that is not in other solutions. The cases are therefore not determined from the solver's
impulses. If other impulses have the same velocities, the derivative is taken in the interior of the set of
all
such impulses (`problem/impulses.py`), at a point that is the same for every solver. A border at that point is
common to all certified impulses.

If the data are known to a relative accuracy `share` only (the state of a run), velocities have errors of that
share of their largest term, and impulses likewise:

    doubt_i = share push_i max(|u_free_i|, max_j |W_ij r_j|).

A border closer than that counts as a kink.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from stickslip.gradients.solution_factor import RANK, Factor
from stickslip.gradients.solution_laws import Law, exact_law
from stickslip.gradients.solution_rows import Reduced
from stickslip.kernels import cones
from stickslip.problem.contact import ContactProblem
from stickslip.problem.impulses import ImpulseSet
from stickslip.problem.operator import DenseDelassus, block_delassus
from stickslip.state import Array

POLISH = 4
"""Newton steps, at most, that take a solution to rounding before it is differentiated."""
SAME = 1e-12
"""Residual of the law at which a point counts as a solution [-]; heuristic."""
DOUBT = 1e-5
"""Relative accuracy of velocities computed from the state of a step [-]: a thousand times the tolerance of
runs. Closer to a border a derivative would be valid only for changes smaller than errors of the state."""
ACROSS = 0.1
"""Lower bound of the doubt of a normal velocity, as a share of the doubt of the sliding velocity [-];
heuristic.
A contact that slides fast along a plane has almost no normal velocity of its own to define a scale."""
ZEROS = (1.0, 10.0, 100.0)
"""Tolerances below which velocities are tried as zero, relative to that of the solution [-]; heuristic."""


@dataclass(frozen=True, eq=False)
class ExactPoint:
    """Impulses, the linearised law, and its factored matrix."""

    r: Array
    """Impulses [N s], shape (n,)."""
    law: Law
    error: float
    """Residual of the law relative to the size of impulses and velocities [-]."""
    problem: "_Problem"
    accuracy: float
    """Impulses and velocities below ten times this share of their size count as zero [-]."""

    @cached_property
    def factor(self) -> Factor:
        """Factorisation of A + B push W length."""
        return Factor(self.law.matrix(self.problem.W), self.law.passive, self._rank)

    def doubted(self, share: float) -> Law:
        """Return the law with the kinks that result if velocities have the relative accuracy `share` [-]."""
        return self.problem.law(self.r, self.accuracy, share) if share else self.law

    @property
    def _rank(self) -> float:
        """Relative size of singular values that count as zero, by the accuracy of the matrix [-]."""
        return float(min(max(RANK, 30.0 * max(self.error, 1e-16) / self.law.slowest), 1e-6))


def exact_point(problem: Reduced, r: Array, tolerance: float, found: bool = False) -> ExactPoint:
    """Return the point of linearisation for a solution r that is accurate to `tolerance`.

    found: keep these impulses even if they are not unique.
    """
    equations = _Problem(problem, tolerance)
    point = equations.polished(equations.at(r))
    if not found and (point.law.kinks or point.error > SAME or not point.factor.full_rank):
        point = equations.canonical(point)
    # Determine the cases anew with the accuracy of the refined point.
    accuracy = point.error * np.sqrt(max(1, len(problem.K)))
    return point if accuracy <= tolerance else equations.at(point.r, accuracy)


class _Problem:
    """A contact problem, and the accuracy of its solution."""

    def __init__(self, problem: Reduced, tolerance: float):
        self.K, self.W, self.u_free, self.u = problem.K, problem.W, problem.u_free, problem.u
        self.scales, self.tolerance = problem.scales, tolerance

    def at(self, r: Array, accuracy: float | None = None) -> ExactPoint:
        """Return the point at r with its law; the accuracy of r is by default the tolerance."""
        accuracy = self.tolerance if accuracy is None else accuracy
        law, u = self.law(r, accuracy), self.u(r)
        return ExactPoint(r, law, self._relative(law.residual(), r, u), self, accuracy)

    def law(self, r: Array, accuracy: float, share: float = 0.0) -> Law:
        """Return the law at r; share: relative accuracy of velocities, 0 if exact."""
        doubt = self._doubt(r, share) if share else None
        return exact_law(self.K, self.scales, r, self.u(r), accuracy, doubt)

    def _doubt(self, r: Array, share: float) -> Array:
        """Return the errors of impulses and velocities due to the accuracy of the data [kg m/s], shape
        (n,)."""
        if sp.issparse(self.W):
            effect = abs(self.W @ sp.diags_array(r)).max(axis=1).toarray().reshape(-1)
        else:
            effect = np.abs(self.W * r).max(axis=1, initial=0.0)
        doubt = share * self.scales.push * np.maximum(effect, np.abs(self.u_free))
        rubs = np.flatnonzero(self.K.kind == cones.FRICTION)
        normal, size = self.K.offset[rubs], self.K.group_size[self.K.group_offset[rubs]]
        sliding = np.maximum(doubt[normal + 1], doubt[normal + size])
        doubt[normal] = np.maximum(doubt[normal], ACROSS * sliding)
        return doubt

    def polished(self, point: ExactPoint) -> ExactPoint:
        """Refine the point by Newton's method, while the error decreases and all cases are unchanged."""
        for _ in range(POLISH):
            if point.error <= 1e-15:
                break
            step = point.factor.solve(point.law.residual()[:, None])[:, 0]
            better = self.at(point.r - self.scales.length * step)
            if not better.error < point.error or better.law.cases != point.law.cases:
                break
            point = better
        return point

    def canonical(self, point: ExactPoint) -> ExactPoint:
        """Return a solution in the interior of the set of solutions with the same velocities.

        Near the onset of sliding, velocities are less accurate than the tolerance; larger velocities are
        therefore tried as zero. A point that Newton's method refines to rounding without a kink is accepted.
        Return `point` if there is none.
        """
        best = point
        for zero in ZEROS:
            candidate = self.polished(self.at(self._inside(point, zero * self.tolerance)))
            if candidate.error > max(SAME, best.error) or not self._near(candidate.r - point.r, point.r):
                continue
            if candidate.error <= SAME and not candidate.law.kinks:
                return candidate
            if best is point:
                best = candidate
        return best

    def _inside(self, point: ExactPoint, tolerance: float) -> Array:
        """Return impulses in the relative interior of the set with the same velocities [N s], shape (n,)."""
        W = self.W
        operator = block_delassus(W, self.K) if sp.issparse(W) else DenseDelassus(np.array(W))
        problem = ContactProblem.unchecked(operator, np.array(self.u_free), self.K)
        return ImpulseSet(problem, point.r, self.u(point.r), tolerance, error=point.error).inside

    def _near(self, moved: Array, r: Array) -> bool:
        """Whether impulses changed by `moved` have the same velocities, within their accuracy."""
        change = float(np.linalg.norm(self.scales.push * (self.W @ moved)))
        return change <= max(1e3 * self.tolerance, 1e-7) * self._size(r, self.u(r))

    def _size(self, r: Array, u: Array) -> float:
        return max(float(np.linalg.norm(r / self.scales.length)), float(np.linalg.norm(self.scales.push * u)))

    def _relative(self, residual: Array, r: Array, u: Array) -> float:
        size = self._size(r, u)
        return float(np.linalg.norm(residual)) / size if size else 0.0
