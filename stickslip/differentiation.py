"""The verbs that differentiate: here names of solvers become solvers, as `solve` and `simulate` have it."""

from typing import TYPE_CHECKING, Any, overload

from stickslip.mechanics.world import World
from stickslip.problem.solution import Solution
from stickslip.state import ModelError, State

if TYPE_CHECKING:
    from stickslip.gradients.derivative import Derivative
    from stickslip.gradients.solution import SolutionDerivative
    from stickslip.gradients.step import StepDerivative
    from stickslip.schemes.body_step import BodyScheme
    from stickslip.schemes.step import Memory

TOLERANCE = 1e-10
"""Of the steps that are differentiated, unless given [-]: a derivative is as good as the answer it is of."""


@overload
def differentiate(thing: Solution, *, kappa: float = 0.0, **more: Any) -> "SolutionDerivative": ...
@overload
def differentiate(
    thing: World, state: State | None = None, *, h: float, scheme: "str | BodyScheme | None" = None,
    solver: Any = "auto", tolerance: float = TOLERANCE, memory: "Memory | None" = None, kappa: float = 0.0,
) -> "StepDerivative": ...  # fmt: skip


def differentiate(
    thing: Solution | World,
    state: State | None = None,
    *,
    h: float | None = None,
    scheme: Any = None,
    solver: Any = "auto",
    tolerance: float = TOLERANCE,
    memory: Any = None,
    kappa: float = 0.0,
    **more: Any,
) -> "Derivative":
    """How a solution changes with its problem, or the end of a step with its start and its world's numbers.

    thing   a certified `Solution` of a contact problem, or a `World`, of which the step of length `h` [s]
            from `state` (`world.start` unless given) is made and differentiated
    scheme  `moreau-jean` (unless given) or `variational`, or a scheme for worlds
    solver  a name or a solver; a named one is made with `tolerance`
    memory  what the step before left (`BodyStep.memory`), for the middle of a run
    kappa   smoothing of the laws of contact and friction; 0 for the exact derivative

    The answer has `jvp`, `vjp` and `jacobian`, and says where it does not exist or is not unique.
    """
    if isinstance(thing, Solution):
        from stickslip.gradients.solution import solution_derivative

        return solution_derivative(thing, kappa=kappa, **more)
    if not isinstance(thing, World):
        raise ModelError(f"cannot differentiate {type(thing).__name__}; expected a Solution or a World")
    if more:
        raise ModelError(f"no argument {', '.join(more)} for a step of a world")
    if h is None:
        raise ModelError("h is missing: differentiate(world, state, h=...)")
    from stickslip.gradients.step import step_derivative

    return step_derivative(
        thing, state, h=h, solver=made_solver(solver, tolerance), scheme=scheme, memory=memory, kappa=kappa
    )


def made_solver(solver: Any, tolerance: float) -> Any:
    """The solver that a name stands for, made with `tolerance`; a solver as it is."""
    from stickslip.schemes.quick import Quick
    from stickslip.solvers import registry

    if not isinstance(solver, str):
        return solver
    made = registry.make(solver, tolerance=tolerance)
    return Quick(made, tolerance) if solver == "auto" else made
