"""Public functions that differentiate, with solvers created from their names as in `solve` and `simulate`."""

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
"""Default tolerance of differentiated steps [-]: derivatives are as accurate as the solution."""

MOVING = "a World, a NonsmoothSystem, a Family or a Robot"
"""Models that have steps, for messages."""
FRAMEWORKS = ("jax", "torch")
"""Frameworks for which steps can be converted to functions."""


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
    """Return the derivative of a solution, or of one step of a model.

    thing   a certified `Solution` of a contact problem; or a `World`, `NonsmoothSystem`, `Family` of systems
            or `Robot`, whose step of length `h` [s] from `state` is made and differentiated. For many steps
            in a loop of your own, pass a `PreparedWorld`, `PreparedSystem` or `PreparedRobot`
    state   start of the step; that of the model unless given
    h       length of the step [s]; for robots that of the file unless given
    scheme  `moreau-jean` (for worlds `moreau-jean-semi-explicit`) unless given; `variational`; or a scheme. A
            scheme for worlds given by name has no position correction, which is not differentiable
    solver  a name or a solver
    tolerance  tolerance of a named solver, 1e-10 unless given; for a solution its accuracy
    memory  `Step.memory` of the step before, in the middle of a run
    kappa   smoothing of the laws of contact and friction [J]; 0 for the exact derivative
    u_before  for a solution: normal velocities before the impact, for derivatives by restitution

    The result has `jvp`, `vjp` and `jacobian`. `exists` and `unique` tell where the derivative does not exist
    or is not unique.

    Example:

        b = ss.WorldBuilder()
        b.body("floor", ss.Plane(), fixed=True)
        b.body("ball", ss.Sphere(0.1), position=(0, 0, 0.1), velocity=(2, 0, 0))
        d = ss.differentiate(b.build(), h=1e-2)
        print(d.jacobian("v", "mu").shape, d.exists)
    """
    if isinstance(thing, Solution):
        from stickslip.gradients.solution import solution_derivative

        return solution_derivative(thing, kappa=kappa, tolerance=tolerance, u_before=u_before)
    check_differentiated("differentiate", thing, f"a Solution, {MOVING}")
    if u_before is not None:
        raise ModelError("u_before applies to solutions; a step contains its velocities before")
    instance = made_solver(solver, TOLERANCE if tolerance is None else tolerance)
    if isinstance(thing, Robot | PreparedRobot):
        from stickslip.gradients.robot_step import robot_derivative

        return robot_derivative(thing, state, h=h, solver=instance, scheme=scheme, memory=memory, kappa=kappa)
    if h is None:
        raise ModelError("h is missing: differentiate(world, state, h=...)")
    if isinstance(thing, NonsmoothSystem | Family | PreparedSystem):
        from stickslip.gradients.system_step import system_derivative

        return system_derivative(
            thing, state, h=h, solver=instance, scheme=scheme, memory=memory, kappa=kappa
        )
    from stickslip.gradients.step import step_derivative

    return step_derivative(thing, state, h=h, solver=instance, scheme=scheme, memory=memory, kappa=kappa)


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
    """Return the value of a loss over a run and its gradient, computed by the adjoint method.

    world      a world, a robot, a system or a family of systems
    loss       `loss(k, state)` returns (value, dq, dv) for the state after k steps, or None where it does not
               contribute; or `AtEnd(f)`, where f(state) is evaluated at the last state only
    until, h   end and time step [s], as of `simulate`
    how        scheme; by: names of inputs such as `q`, `v`, `h`, `mu`, `mass` (`q` and `v` of the start
               unless given); kappa; checkpoints: largest number of states to keep; start; controls: inputs of
               every step of a world or a robot; on_failure

    Example:

        b = ss.WorldBuilder()
        b.body("floor", ss.Plane(), fixed=True)
        b.body("ball", ss.Sphere(0.1), position=(0, 0, 0.1), velocity=(2, 0, 0))
        way = ss.gradients.AtEnd(lambda state: (state.q[7], np.eye(14)[7], np.zeros(12)))  # x of the ball
        g = ss.gradient(b.build(), way, until=0.1, h=1e-2, by=("v", "mu"))
        print(g.value, g.gradient["mu"])
    """
    from stickslip.gradients.trajectory import trajectory_gradient

    check_differentiated("gradient", world, MOVING)
    instance = made_solver(solver, tolerance)
    return trajectory_gradient(world, loss, until=until, h=h, solver=instance, **how)


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
    """Return the derivatives of all recorded states of a run with respect to a few numbers.

    by   names as for `gradient`, or directions: {"mu": array of shape (size, columns)}
    how  scheme, kappa, record, start, controls, on_failure

    Example:

        b = ss.WorldBuilder()
        b.body("floor", ss.Plane(), fixed=True)
        b.body("ball", ss.Sphere(0.1), position=(0, 0, 0.1), velocity=(2, 0, 0))
        s = ss.sensitivity(b.build(), until=0.1, h=1e-2, by=("mu",))
        print(s)
    """
    from stickslip.gradients.trajectory_sensitivity import trajectory_sensitivity

    check_differentiated("sensitivity", world, MOVING)
    instance = made_solver(solver, tolerance)
    return trajectory_sensitivity(world, until=until, h=h, by=by, solver=instance, **how)


def step_function(
    world: World | NonsmoothSystem | Family | Robot,
    h: float,
    framework: str,
    *,
    solver: Any = "auto",
    tolerance: float = TOLERANCE,
    **how: Any,
) -> "Callable[..., tuple[Any, Any]]":
    """Return a step as a differentiable function (q, v, *inputs) -> (q, v) of JAX or torch.

    framework  `jax` or `torch`
    how  scheme; inputs: names of `Parameters`, for robots `ctrl`, `force`, `mass` and `friction`, or of
         numbers of a Family, which follow q and v; steps: number of steps; path: return the states after each
         step; continues; kappa; on_kink: `accept` or `raise`; checkpoints; batch: number of members, along
         the first axis of q, v and the inputs; an argument may also be common to all members; processes:
         number of processes that make the members

    Example:

        import torch
        b = ss.WorldBuilder()
        b.body("floor", ss.Plane(), fixed=True)
        b.body("ball", ss.Sphere(0.1), position=(0, 0, 0.1), velocity=(2, 0, 0))
        world = b.build()
        step = ss.step_function(world, 1e-2, "torch")
        q, v = step(torch.tensor(world.start.q), torch.tensor(world.start.v))
    """
    if framework not in FRAMEWORKS:
        raise ModelError(f"unknown framework {framework!r}; {alternatives(framework, FRAMEWORKS)}")
    check_differentiated("step_function", world, MOVING)
    module = import_module(f"stickslip.bridges.{framework}_step")
    instance = made_solver(solver, tolerance)
    function: Callable[..., tuple[Any, Any]] = getattr(module, f"{framework}_step")(
        world, h, solver=instance, **how
    )
    return function


def made_solver(solver: Any, tolerance: float) -> Any:
    """Return the solver of a name, created with `tolerance`; a solver object is returned as it is."""
    from stickslip.solvers import registry

    return registry.make(solver, tolerance=tolerance) if isinstance(solver, str) else solver
