"""Implementation of `stickslip.solve`: creates solvers from names, and handles signals during long solves."""

from typing import Any

from numpy.typing import ArrayLike

from stickslip.arguments import check_solved
from stickslip.interrupts import Interrupts
from stickslip.problem.solution import Problem, check_selection
from stickslip.solvers import registry


def solve(
    problem: Any, solver: str | Any, guess: ArrayLike | None, select: str, options: dict[str, Any]
) -> Any:
    """Implement `stickslip.solve`."""
    instance: Any = registry.make(solver, **options) if isinstance(solver, str) else _given(solver, options)
    if select != "any":
        from stickslip.solvers.impulses import least_impulses

        check_solved(problem)
        check_selection(problem, select)
        return least_impulses(solve(problem, instance, guess, "any", {}))
    first = None
    if isinstance(problem, Problem) and hasattr(instance, "begin"):
        # One compiled call without callbacks, so signals need no handling.
        first = instance.begin(problem, guess)
        if first.solution is not None:
            return first.solution
    else:
        check_solved(problem)
    with Interrupts() as interrupts:
        if first is not None:
            return interrupts.run(instance.go_on, first, problem)
        return interrupts.run(instance.solve, problem, guess=guess)


def _given(solver: Any, options: dict[str, Any]) -> Any:
    """Check a solver that is passed instead of a name, and so has its options already."""
    if isinstance(solver, type) or not callable(getattr(solver, "solve", None)):
        raise TypeError(
            f"solver is {solver!r}; expected a name, such as 'auto', or a solver with a method solve"
        )
    if options:
        raise TypeError(
            f"{type(solver).__name__} has its options already; set {', '.join(options)} when you make it"
        )
    return solver
