"""Where an exact derivative is taken: the solution to rounding, inside its case if it is not the only one.

Where contacts hold each other (four feet of a table) impulses are not unique, and a solver may return some
without impulse at a contact that others would press, or with all its friction where others have some left: on
a border that is not one of the problem. So nothing is read off impulses that a solver happened to find: where
there are others with the same velocities, the derivative is taken at one inside the set of all of them
(`problem/impulses.py`), which is the same for every solver. A border that is left is met by all certified
impulses.

Data that are known to a share only (a state that a run left) move velocities by that share of the largest
velocity that goes into them, and impulses alike:

    doubt_i = share push_i max(|u_free_i|, max_j |W_ij r_j|).

A border closer than that is not decided, and counts as one.
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
"""Error of the law at which a point counts as a solution [-]."""
DOUBT = 1e-5
"""Share to which the velocities are known that the state of a step leads to [-]: a thousand times the
tolerance of runs. Closer to a border a derivative would hold for changes that are smaller than errors of the
state."""
ACROSS = 0.1
"""Share of the doubt about a sliding velocity that the normal one has at least [-]: what slides fast along a
plane has hardly a normal velocity to measure by."""
ZEROS = (1.0, 10.0, 100.0)
"""Tolerances of velocities that are tried as zero, over that of the solution [-]."""


@dataclass(frozen=True, eq=False)
class ExactPoint:
    """Impulses, the law there, and its matrix factored."""

    r: Array
    """[N s], shape (n,)."""
    law: Law
    error: float
    """Residual of the law over the size of impulses and velocities [-]."""
    problem: "_Problem"
    accuracy: float
    """Impulses and velocities below ten times this share of their size are zero [-]."""

    @cached_property
    def factor(self) -> Factor:
        """Of A + B push W length."""
        return Factor(self.law.matrix(self.problem.W), self.law.passive, self._rank)

    def doubted(self, share: float) -> Law:
        """The same law with the borders that are undecided where velocities are known to a share [-]."""
        return self.problem.law(self.r, self.accuracy, share) if share else self.law

    @property
    def _rank(self) -> float:
        """Singular values smaller than what the matrix is known to are zero [-]."""
        return float(min(max(RANK, 30.0 * max(self.error, 1e-16) / self.law.slowest), 1e-6))


def exact_point(problem: Reduced, r: Array, tolerance: float, found: bool = False) -> ExactPoint:
    """The solution r, accurate to `tolerance`, to rounding; `found`: with these impulses, unique or not."""
    given = _Problem(problem, tolerance)
    point = given.polished(given.at(r))
    if not found and (point.law.kinks or point.error > SAME or not point.factor.full_rank):
        point = given.canonical(point)
    # What polishing left undecided is on a border: cases are told apart at what the point is accurate to.
    accuracy = point.error * np.sqrt(max(1, len(problem.K)))
    return point if accuracy <= tolerance else given.at(point.r, accuracy)


class _Problem:
    """A problem, and what its solutions are accurate to."""

    def __init__(self, problem: Reduced, tolerance: float):
        self.K, self.W, self.u_free, self.u = problem.K, problem.W, problem.u_free, problem.u
        self.scales, self.tolerance = problem.scales, tolerance

    def at(self, r: Array, accuracy: float | None = None) -> ExactPoint:
        """The law at r, accurate to the tolerance unless given."""
        accuracy = self.tolerance if accuracy is None else accuracy
        law, u = self.law(r, accuracy), self.u(r)
        return ExactPoint(r, law, self._relative(law.residual(), r, u), self, accuracy)

    def law(self, r: Array, accuracy: float, share: float = 0.0) -> Law:
        """The law at r, accurate to `accuracy`, where velocities are known to a share."""
        doubt = self._doubt(r, share) if share else None
        return exact_law(self.K, self.scales, r, self.u(r), accuracy, doubt)

    def _doubt(self, r: Array, share: float) -> Array:
        """How far impulses and velocities may be off with the data [kg m/s], shape (n,)."""
        if sp.issparse(self.W):
            given = abs(self.W @ sp.diags_array(r)).max(axis=1).toarray().reshape(-1)
        else:
            given = np.abs(self.W * r).max(axis=1, initial=0.0)
        doubt = share * self.scales.push * np.maximum(given, np.abs(self.u_free))
        rubs = np.flatnonzero(self.K.kind == cones.FRICTION)
        normal, size = self.K.offset[rubs], self.K.group_size[self.K.group_offset[rubs]]
        sliding = np.maximum(doubt[normal + 1], doubt[normal + size])
        doubt[normal] = np.maximum(doubt[normal], ACROSS * sliding)
        return doubt

    def polished(self, point: ExactPoint) -> ExactPoint:
        """Newton's method as long as it helps and every block goes on doing what it does."""
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
        """A solution of the same velocities inside the set of all of them; `point` where none is found.

        Velocities of an answer at the edge of sliding are less accurate than its tolerance, so that larger
        ones are tried as zero: what Newton's method then takes to rounding without a border is a solution.
        """
        best = point
        for zero in ZEROS:
            found = self.polished(self.at(self._inside(point, zero * self.tolerance)))
            if found.error > max(SAME, best.error) or not self._near(found.r - point.r, point.r):
                continue
            if found.error <= SAME and not found.law.kinks:
                return found
            if best is point:
                best = found
        return best

    def _inside(self, point: ExactPoint, tolerance: float) -> Array:
        """Impulses of the same velocities in the relative interior of all of them [N s], shape (n,)."""
        W = self.W
        operator = block_delassus(W, self.K) if sp.issparse(W) else DenseDelassus(np.array(W))
        problem = ContactProblem.unchecked(operator, np.array(self.u_free), self.K)
        return ImpulseSet(problem, point.r, self.u(point.r), tolerance, error=point.error).inside

    def _near(self, moved: Array, r: Array) -> bool:
        """Whether other impulses have the same velocities, to what these are known."""
        change = float(np.linalg.norm(self.scales.push * (self.W @ moved)))
        return change <= max(1e3 * self.tolerance, 1e-7) * self._size(r, self.u(r))

    def _size(self, r: Array, u: Array) -> float:
        return max(float(np.linalg.norm(r / self.scales.length)), float(np.linalg.norm(self.scales.push * u)))

    def _relative(self, residual: Array, r: Array, u: Array) -> float:
        size = self._size(r, u)
        return float(np.linalg.norm(residual)) / size if size else 0.0
