"""Impulses of least norm of a solution, certified, and uniqueness of impulses.

The set of all impulses with the velocities of a solution (`problem/impulses.py`) depends on these velocities:
on which of them are zero, and on the directions of sliding. A solution accurate to 1e-8 determines neither to
rounding. It is therefore refined by a few Newton steps if directions of sliding matter.
"""

from collections.abc import Iterable, Iterator

from stickslip.problem.impulses import ImpulseSet
from stickslip.problem.nonlinear import NonlinearProblem
from stickslip.problem.residuals import examine
from stickslip.problem.solution import Solution, Status
from stickslip.solvers.prox import ProximalNewton
from stickslip.state import BoolArray

ACCURATE = 1e-12
"""Error of a solution up to which its directions of sliding need no refinement [-]."""
POLISH = ProximalNewton(tolerance=1e-13, max_iterations=20, sweeps=0)
"""Solver that refines a solution to rounding; two to five steps are sufficient."""


def least_impulses(solution: Solution) -> Solution:
    """Return the answer with the impulses of least norm, judged again; its `selection` is then `least`.

    Its velocities differ from those of the answer by less than the tolerance. If the impulses of least norm
    are not certified, the answer is returned with its own impulses and a reason. Answers that are not
    certified, and those of nonlinear problems, are returned unchanged.
    """
    if not solution.ok or isinstance(solution.problem, NonlinearProblem) or not solution.problem.size:
        return solution
    if solution.selection == "least":
        return solution
    return least_among(solution, impulse_sets(solution))


def least_among(solution: Solution, sets: Iterable[tuple[Solution, ImpulseSet]]) -> Solution:
    """Return the solution with the least impulses of the first of these sets that are certified."""
    error = float("inf")
    for answer, impulses in sets:
        lam = None if answer.lam is None else impulses.least_lam
        residuals, u = examine(answer.problem, impulses.least, answer.v, lam)
        if residuals.solved(solution.tolerance):
            return solution.with_(
                r=impulses.least, u=u, v=answer.v, lam=lam, residuals=residuals, selection="least"
            )
        error = min(error, residuals.error)
    why = f"the impulses of least norm are not certified (error {error:.1e}); these are the solver's"
    return solution.with_(reason=why)


def unique_impulses(solution: Solution) -> BoolArray:
    """Return for each block whether its impulse is the same in all certified answers [-], shape (nb,)."""
    return impulse_set(solution).unique


def impulse_set(solution: Solution) -> ImpulseSet:
    """Return all impulses with the velocities of a certified solution, refined if directions matter."""
    return next(impulse_sets(solution))[1]


def impulse_sets(solution: Solution, error: float | None = None) -> Iterator[tuple[Solution, ImpulseSet]]:
    """Yield the solution, unless its directions of sliding are inaccurate, then a refined one; with sets.

    error: accuracy of the directions of sliding [-]; by default the errors of these solutions.
    """
    impulses = ImpulseSet.of(solution, error)
    if solution.residuals.error <= ACCURATE or not impulses.slides:
        yield solution, impulses
    answer = _polished(solution)
    yield answer, ImpulseSet.of(answer, error)


def _polished(solution: Solution) -> Solution:
    """Refine a solution to rounding, or return it if that fails; its tolerance is kept."""
    assert not isinstance(solution.problem, NonlinearProblem)
    refined = POLISH.solve(solution.problem, guess=solution.r)
    if not refined.residuals.error < solution.residuals.error:
        return solution
    return refined.with_(status=Status.SOLVED, tolerance=solution.tolerance)
