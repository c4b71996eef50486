"""The least impulses of an answer, certified, and which impulses are unique.

The set of all impulses with the velocities of an answer (`problem/impulses.py`) rests on these velocities: on
which of them are zero, and on the directions of sliding. An answer accurate to 1e-8 gives neither to
rounding, so that it is polished, by a few steps of Newton's method, where that matters.
"""

from collections.abc import Iterable, Iterator

from stickslip.problem.impulses import ImpulseSet
from stickslip.problem.nonlinear import NonlinearProblem
from stickslip.problem.residuals import examine
from stickslip.problem.solution import Solution, Status
from stickslip.solvers.prox import ProximalNewton
from stickslip.state import BoolArray

ACCURATE = 1e-12
"""Error of an answer whose directions of sliding need no polish [-]."""
POLISH = ProximalNewton(tolerance=1e-13, max_iterations=20, sweeps=0)
"""What takes an answer to rounding; two to five steps do it."""


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
    """The answer with the least impulses of the first of these sets that are certified."""
    error = float("inf")
    for answer, found in sets:
        lam = None if answer.lam is None else found.least_lam
        residuals, u = examine(answer.problem, found.least, answer.v, lam)
        if residuals.solved(solution.tolerance):
            return solution.with_(
                r=found.least, u=u, v=answer.v, lam=lam, residuals=residuals, selection="least"
            )
        error = min(error, residuals.error)
    why = f"the impulses of least norm are not certified (error {error:.1e}); these are the solver's"
    return solution.with_(reason=why)


def unique_impulses(solution: Solution) -> BoolArray:
    """Return for each block whether its impulse is the same in all certified answers [-], shape (nb,)."""
    return impulse_set(solution).unique


def impulse_set(solution: Solution) -> ImpulseSet:
    """All impulses with the velocities of a certified answer, which is polished where directions matter."""
    return next(impulse_sets(solution))[1]


def impulse_sets(solution: Solution, error: float | None = None) -> Iterator[tuple[Solution, ImpulseSet]]:
    """The answer, unless it slides in inaccurate directions, and the polished one, with their sets.

    error: what directions of sliding are known to, the errors of these answers unless given [-].
    """
    found = ImpulseSet.of(solution, error)
    if solution.residuals.error <= ACCURATE or not found.slides:
        yield solution, found
    answer = _polished(solution)
    yield answer, ImpulseSet.of(answer, error)


def _polished(solution: Solution) -> Solution:
    """The answer to rounding, or the answer itself if that fails; what counts as zero stays as it was."""
    assert not isinstance(solution.problem, NonlinearProblem)
    found = POLISH.solve(solution.problem, guess=solution.r)
    if not found.residuals.error < solution.residuals.error:
        return solution
    return found.with_(status=Status.SOLVED, tolerance=solution.tolerance)
