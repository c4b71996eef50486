"""The verbs that differentiate: here names of solvers become solvers, as `solve` and `simulate` have it."""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, overload

from stickslip.arguments import check_differentiated
from stickslip.mechanics.world import World
from stickslip.names import alternatives
from stickslip.problem.solution import Solution
from stickslip.robots.robot import Robot
from stickslip.schemes.body_world import PreparedWorld
from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.schemes.robot_prepared import PreparedRobot
from stickslip.state import ModelError, State
from stickslip.systems.family import Family
from stickslip.systems.system import NonsmoothSystem

if TYPE_CHECKING:
    from stickslip.gradients.derivative import Derivative
    from stickslip.gradients.robot_step import RobotStepDerivative
    from stickslip.gradients.solution import SolutionDerivative
    from stickslip.gradients.step import StepDerivative
    from stickslip.gradients.system_step import SystemStepDerivative
    from stickslip.gradients.trajectory import AtEnd, Loss, Moving, TrajectoryGradient
    from stickslip.gradients.trajectory_sensitivity import TrajectorySensitivity
    from stickslip.schemes.body_step import BodyScheme
    from stickslip.schemes.step import Memory, Scheme

TOLERANCE = 1e-10
"""Of the steps that are differentiated, unless given [-]: a derivative is as good as the answer it is of."""

MOVING = "a World, a NonsmoothSystem, a Family or a Robot"
"""What has steps."""
FRAMEWORKS = ("jax", "torch")
"""Whose functions steps can be."""


@overload
def differentiate(
    thing: Solution, *, kappa: float = 0.0, tolerance: float | None = None, u_before: Any = None
) -> "SolutionDerivative": ...
@overload
def differentiate(
    thing: World | PreparedWorld, state: State | None = None, *, h: float,
    scheme: "str | BodyScheme | None" = None, solver: Any = "auto", tolerance: float | None = None,
    memory: "Memory | None" = None, kappa: float = 0.0,
) -> "StepDerivative": ...  # fmt: skip
@overload
def differentiate(
    thing: NonsmoothSystem | Family | PreparedSystem, state: State | None = None, *, h: float,
    scheme: "str | Scheme | None" = None, solver: Any = "auto", tolerance: float | None = None,
    memory: "Memory | None" = None, kappa: float = 0.0,
) -> "SystemStepDerivative": ...  # fmt: skip
@overload
def differentiate(
    thing: Robot | PreparedRobot, state: State | None = None, *, h: float | None = None, scheme: Any = None,
    solver: Any = "auto", tolerance: float | None = None, memory: "Memory | None" = None, kappa: float = 0.0,
) -> "RobotStepDerivative": ...  # fmt: skip


def differentiate(
    thing: "Solution | Moving",
    state: State | None = None,
    *,
    h: float | None = None,
    scheme: Any = None,
    solver: Any = "auto",
    tolerance: float | None = None,
    memory: Any = None,
    kappa: float = 0.0,
    u_before: Any = None,
) -> "Derivative":
    """How a solution changes with its problem, or the end of a step with its start and its world's numbers.

    thing   a certified `Solution` of a contact problem; or a `World`, a `NonsmoothSystem`, a `Family` of
            systems or a `Robot`, of which the step of length `h` [s] (of a robot that of its file unless
            given) from `state` (where it starts unless given) is made and differentiated; who differentiates
            many steps holds a `PreparedWorld`, a `PreparedSystem` or a `PreparedRobot`
    scheme  `moreau-jean`, of worlds `moreau-jean-semi-explicit`, unless given; `variational`, or a scheme.
            The scheme of worlds by name is without position correction, which has no derivative
    solver  a name or a solver; a named one is made with `tolerance`, 1e-10 unless given. Of a solution,
            `tolerance` is what it is accurate to, the solver's unless given
    memory  what the step before left (`Step.memory`), for the middle of a run
    kappa   smoothing of the laws of contact and friction [J]; 0 for the exact derivative
    u_before  of a solution: normal velocities before the impact, for derivatives by restitution

    The answer has `jvp`, `vjp` and `jacobian`, and says where it does not exist or is not unique.
    """
    if isinstance(thing, Solution):
        from stickslip.gradients.solution import solution_derivative

        return solution_derivative(thing, kappa=kappa, tolerance=tolerance, u_before=u_before)
    check_differentiated("differentiate", thing, f"a Solution, {MOVING}")
    if u_before is not None:
        raise ModelError("u_before is for solutions; a step has its own velocities before")
    made = made_solver(solver, TOLERANCE if tolerance is None else tolerance)
    if isinstance(thing, Robot | PreparedRobot):
        from stickslip.gradients.robot_step import robot_derivative

        return robot_derivative(thing, state, h=h, solver=made, scheme=scheme, memory=memory, kappa=kappa)
    if h is None:
        raise ModelError("h is missing: differentiate(world, state, h=...)")
    if isinstance(thing, NonsmoothSystem | Family | PreparedSystem):
        from stickslip.gradients.system_step import system_derivative

        return system_derivative(thing, state, h=h, solver=made, scheme=scheme, memory=memory, kappa=kappa)
    from stickslip.gradients.step import step_derivative

    return step_derivative(thing, state, h=h, solver=made, scheme=scheme, memory=memory, kappa=kappa)


def gradient(
    world: "Moving",
    loss: "Loss | AtEnd",
    *,
    until: float,
    h: float | None = None,
    solver: Any = "auto",
    tolerance: float = TOLERANCE,
    **how: Any,
) -> "TrajectoryGradient":
    """A loss over the run that `simulate` would make of a world, a robot or a system, and its gradient, by
    the adjoint.

    loss  `loss(k, state)` gives (value, dq, dv) of the state after k steps, or None where it does not count;
          or `AtEnd(f)` with f(state) of the last state alone
    how   scheme; by: names such as `q`, `v`, `h`, `mu`, `mass` (`q` and `v` of the start unless given);
          kappa; checkpoints: most states to keep at once; start; controls: inputs of every step of a world or
          a robot; on_failure
    """
    from stickslip.gradients.trajectory import trajectory_gradient

    check_differentiated("gradient", world, MOVING)
    made = made_solver(solver, tolerance)
    return trajectory_gradient(world, loss, until=until, h=h, solver=made, **how)


def sensitivity(
    world: "Moving",
    *,
    until: float,
    h: float | None = None,
    by: Any,
    solver: Any = "auto",
    tolerance: float = TOLERANCE,
    **how: Any,
) -> "TrajectorySensitivity":
    """How all states of the run that `simulate` would make of a world, a robot or a system change with few
    numbers.

    by   names as for `gradient`, or directions: {"mu": array of shape (size, columns)}
    how  scheme, kappa, record, start, controls, on_failure
    """
    from stickslip.gradients.trajectory_sensitivity import trajectory_sensitivity

    check_differentiated("sensitivity", world, MOVING)
    made = made_solver(solver, tolerance)
    return trajectory_sensitivity(world, until=until, h=h, by=by, solver=made, **how)


def step_function(
    world: World | NonsmoothSystem | Family | Robot,
    h: float,
    framework: str,
    *,
    solver: Any = "auto",
    tolerance: float = TOLERANCE,
    **how: Any,
) -> "Callable[..., tuple[Any, Any]]":
    """A step of a world, a robot or a system as a function (q, v, *inputs) -> (q, v) of `jax` or `torch`.

    how  scheme; inputs: names of `Parameters`, of a robot `ctrl`, `force`, `mass` and `friction`, or of
         numbers of a Family, that come after q and v; steps: how many are made; path: give the states after
         each of them; continues; kappa; on_kink: `accept` or `raise`; checkpoints; batch: a number of
         members, whose axis comes first in q, v and the inputs; an argument may also be one for all of them;
         processes: how many make the members
    """
    if framework not in FRAMEWORKS:
        raise ModelError(f"no framework {framework!r}; {alternatives(framework, FRAMEWORKS)}")
    check_differentiated("step_function", world, MOVING)
    module = import_module(f"stickslip.bridges.{framework}_step")
    made = made_solver(solver, tolerance)
    function: Callable[..., tuple[Any, Any]] = getattr(module, f"{framework}_step")(
        world, h, solver=made, **how
    )
    return function


def made_solver(solver: Any, tolerance: float) -> Any:
    """The solver that a name stands for, made with `tolerance`; a solver as it is."""
    from stickslip.solvers import registry

    return registry.make(solver, tolerance=tolerance) if isinstance(solver, str) else solver
