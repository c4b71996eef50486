"""Gradient of a loss over a run: the transposed derivatives of its steps in reverse order, with
checkpointing.

def off_target(state):
    miss = state.q[7:10] - target
    dq = np.zeros(state.q.size)
    dq[7:10] = 2 * miss
    return miss @ miss, dq, None

g = trajectory_gradient(world, AtEnd(off_target), until=1.0, h=1e-3, solver=solver, by=("v", "mu"))
g.value, g.gradient["mu"]
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.gradients.derivative import Derivative
from stickslip.gradients.trajectory_robot import RobotRun
from stickslip.gradients.trajectory_run import CARRIED, Flagged, Flags, Run
from stickslip.gradients.trajectory_schedule import Backwards, checked_kept
from stickslip.gradients.trajectory_steps import Steps
from stickslip.gradients.trajectory_system import SystemSteps
from stickslip.mechanics.world import World
from stickslip.names import alternatives
from stickslip.robots.robot import Robot
from stickslip.schemes.body_world import PreparedWorld
from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.schemes.robot_prepared import PreparedRobot
from stickslip.schemes.step import Solver
from stickslip.state import Array, ModelError, State
from stickslip.systems.family import Family
from stickslip.systems.system import NonsmoothSystem

Moving = World | PreparedWorld | NonsmoothSystem | Family | PreparedSystem | Robot | PreparedRobot
"""Models whose runs can be differentiated."""
Loss = Callable[[int, State], "tuple[Any, Any, Any] | None"]
"""Function loss(k, state) of the state after k steps, which returns (value, dq, dv), or None for no
contribution. The sum of its values over k = 0, 1, ..., steps is differentiated. dq are derivatives by q,
shape
(7 n,), or by displacements, shape (6 n,); for a robot (nq,) or (nv,), for a system by q, shape (nq,). dv are
derivatives by v. None stands for zeros."""


@dataclass(frozen=True)
class AtEnd:
    """Loss of the last state only: a function of the state that returns (value, dq, dv)."""

    function: Callable[[State], tuple[Any, Any, Any]]


@dataclass(frozen=True, eq=False)
class TrajectoryGradient(Flagged):
    """Value of a loss over a run, and its gradient."""

    value: float
    """Sum of the loss over the states of the run."""
    gradient: dict[str, Array]
    """Gradients by name: `q`, by displacements of the start (δx [1/m], δθ [1/rad]), shape (6 n,), for a robot
    (nv,), for a system by the numbers of q; `v`, shape (6 n,) or (nv,); `h`, shape (); parameters in their
    shapes [1/unit]; controls with one row for each step, shape (steps, ...)."""
    start: State
    end: State
    steps: int
    """Number of steps of the run."""
    kinks: tuple[int, ...]
    """Steps without a derivative; the derivative of one side was taken."""
    not_unique: tuple[int, ...]
    """Steps in which impulses are not unique; their change of least norm was taken."""
    notes: tuple[str, ...]
    """Sentences about the first of these steps."""
    kept: int
    """Largest number of states stored at once."""
    made: int
    """Number of steps computed, including those recomputed from stored states."""
    _coordinates: Array | None = field(default=None, repr=False)
    """As `coordinates`; None if the gradient is not by q [1/m, -], shape (7 n,)."""

    @property
    def coordinates(self) -> Array:
        """Gradient by the numbers of q at the start, shape (7 n,), for a robot (nq,), tangential to unit
        quaternions."""
        if self._coordinates is None:
            raise ModelError("this gradient is not by q; ask for by=('q', ...)")
        return self._coordinates

    def __repr__(self) -> str:
        names = ", ".join(self.gradient)
        line = f"TrajectoryGradient over {self.steps} steps by {names}: value {self.value:.6g}"
        return "\n".join([line, *(f"  {note}" for note in self.notes)])


def trajectory_gradient(
    thing: Moving, loss: Loss | AtEnd, *, until: float, h: float | None = None,
    solver: Solver, scheme: Any = None, by: Iterable[str] = ("q", "v"), kappa: float = 0.0,
    checkpoints: int | None = None, start: Any = None,
    controls: Mapping[str, ArrayLike] | None = None, on_failure: str = "raise",
) -> TrajectoryGradient:  # fmt: skip
    """Differentiate a loss over the run that `simulate` would make of a world, robot or system.

    loss         `loss(k, state)` of the state after k steps, or `AtEnd(f)`; see `Loss`. It is called once for
                 every state, in reverse order
    by           `q`, `v` of the start, `h`, and fields of `Parameters`; for a system the inputs of its steps
    kappa        smoothing of contact and friction in the derivatives; 0 for exact derivatives
    checkpoints  largest number of states to store; by default about √(2 steps), with which no step is
                 computed more than twice in addition to its differentiation
    controls     inputs that differ from step to step: `effort`, shape (steps, na), and `wrench`, shape
                 (steps, n, 6), which replace those of the world, see `Parameters`; for a robot `ctrl`,
                 shape (steps, nu), and `force`, shape (steps, nv)
    on_failure   `raise` a SimulationFailure if a step misses its tolerance, or `accept` it

    The derivative by `h` is that by the lengths of the steps; the number of steps, and the times at which
    users' functions are evaluated, are constant.
    """
    steps = run_of(
        thing, until=until, h=h, scheme=scheme, solver=solver, start=start,
        controls=controls, kappa=kappa, on_failure=on_failure,
    )  # fmt: skip
    return gradient_along(steps, loss, checked_names(by, steps), checkpoints)


def run_of(thing: Moving, **how: Any) -> Run:
    """Return the run that `simulate` would make of a world, a robot, a system, or a family at its numbers."""
    if isinstance(thing, NonsmoothSystem | Family | PreparedSystem):
        return SystemSteps.of(thing, **how)
    if isinstance(thing, Robot | PreparedRobot):
        return RobotRun.of(thing, **how)
    return Steps.of(thing, **how)


def gradient_along(
    steps: Run, loss: Loss | AtEnd, by: tuple[str, ...], checkpoints: int | None = None
) -> TrajectoryGradient:
    """Return the gradient of a loss over a run."""
    loss_ = _checked_loss(loss, len(steps))
    run = Backwards(
        steps.start, len(steps), checked_kept(checkpoints, len(steps)), steps.make, steps.differentiate
    )
    account = _Account(steps, by)
    value, end = 0.0, steps.start.state
    for k, (derivative, after) in run:
        if k == len(steps) - 1:
            end = after.state
        value += account.weigh(k + 1, after.state, loss_)
        account.transpose(k, derivative)
    value += account.weigh(0, steps.start.state, loss_)
    gradient = account.gradient()
    on_q = steps.coordinates(steps.start.state.q, gradient["q"]) if "q" in gradient else None
    return TrajectoryGradient(
        value, gradient, steps.start.state, end, len(steps), *account.flags.summary(), run.most,
        run.made + len(steps), on_q,
    )  # fmt: skip


class _Account:
    """State of the backward pass: weights of the variables that steps carry over, and sums for inputs that
    are the same in all steps."""

    def __init__(self, steps: Run, by: tuple[str, ...]):
        self.steps, self.by = steps, by
        self.weights: dict[str, Array] = {name: np.zeros((steps.size(name), 1)) for name in CARRIED}
        self.inputs = [name for name in by if name not in (*CARRIED, "h")]
        self.sums: dict[str, Array] = {name: np.zeros(self._shape(name)) for name in self.inputs}
        self.h, self.before = 0.0, 0.0
        self.flags = Flags()

    def weigh(self, k: int, state: State, loss: Loss) -> float:
        """Evaluate the loss of the state after k steps, and add its derivatives to the weights."""
        terms = loss(k, state)
        if terms is None:
            return 0.0
        value, dq, dv = _three(k, terms)
        steps = self.steps
        by_q = _vector(k, "dq", dq, tuple(dict.fromkeys((state.q.size, steps.size("q")))))
        if by_q is not None:
            self.weights["q"] = self.weights["q"] + steps.displacements(state, by_q)[:, None]
        by_v = _vector(k, "dv", dv, (steps.size("v"),))
        if by_v is not None:
            self.weights["v"] = self.weights["v"] + by_v[:, None]
        return value

    def transpose(self, k: int, derivative: Derivative) -> None:
        """Propagate the weights backward over step k."""
        memory = [name for name in derivative.by if name in derivative.of and name not in CARRIED]
        names = [*CARRIED, *memory, *self.inputs]
        if "h" in self.by:
            names += [name for name in ("h", "h_before") if name in derivative.by]
        weights = derivative.backward(self.weights, names)
        self.weights = {name: weights[name] for name in (*CARRIED, *memory)}
        for name in self.inputs:
            if name in self.steps.controls:
                self.sums[name][k] = weights[name].reshape(self.sums[name].shape[1:])
            else:
                self.sums[name] = self.sums[name] + weights[name].reshape(self.sums[name].shape)
        if "h" in self.by:
            by_h = float(weights["h"][0, 0]) + self.before
            self.h += by_h * float(self.steps.shares[k])
            self.before = float(weights["h_before"][0, 0]) if "h_before" in weights else 0.0
        self.flags.add(k, derivative)

    def gradient(self) -> dict[str, Array]:
        """Return the gradient by the requested names, in their order."""
        gradients = {
            "q": self.weights["q"][:, 0],
            "v": self.weights["v"][:, 0],
            "h": np.array(self.h),
            **self.sums,
        }
        return {name: np.asarray(gradients[name]) for name in self.by}

    def _shape(self, name: str) -> tuple[int, ...]:
        shape = self.steps.shape(name)
        return (len(self.steps), *shape) if name in self.steps.controls else shape


def checked_names(by: Iterable[str], steps: Run) -> tuple[str, ...]:
    """Return the names to differentiate by, each once; raise a ModelError for unknown names."""
    if not isinstance(by, Iterable):
        raise ModelError(f"by is {by!r}; expected names, such as ('q', 'mu')")
    names = (by,) if isinstance(by, str) else tuple(dict.fromkeys(by))
    for name in names:
        if name not in steps.known:
            raise ModelError(f"no derivative by {name!r}; {alternatives(name, steps.known)}")
    return names


def _checked_loss(loss: Loss | AtEnd, steps: int) -> Loss:
    if isinstance(loss, AtEnd):
        function = loss.function

        def at_end(k: int, state: State) -> tuple[Any, Any, Any] | None:
            if k < steps:
                return None
            terms = function(state)
            if terms is None:
                raise ModelError("the loss at the end returned None; expected (value, dq, dv)")
            return terms

        return at_end
    if not callable(loss):
        raise ModelError(f"loss is {loss!r}; expected a function of (k, state), or AtEnd(f)")
    return loss


def _three(k: int, terms: Any) -> tuple[float, Any, Any]:
    try:
        value, dq, dv = terms
        loss = float(value)
    except (TypeError, ValueError):
        raise ModelError(f"loss after {k} steps: expected (value, dq, dv) or None, not {terms!r}") from None
    if not np.isfinite(loss):
        raise ModelError(f"loss after {k} steps: its value is {loss}")
    return loss, dq, dv


def _vector(k: int, name: str, given: Any, sizes: tuple[int, ...]) -> Array | None:
    if given is None:
        return None
    try:
        value = np.array(given, float).reshape(-1)
    except (TypeError, ValueError):
        raise ModelError(f"loss after {k} steps: {name} is {given!r}; expected numbers") from None
    if value.size not in sizes:
        expected = " or ".join(f"({size},)" for size in sizes)
        raise ModelError(f"loss after {k} steps: {name} has {value.size} numbers, expected shape {expected}")
    if not np.isfinite(value).all():
        raise ModelError(f"loss after {k} steps: {name} is not finite")
    return value
