"""The derivative of one step of a world, whatever scheme makes it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from stickslip.gradients.derivative import Derivative
from stickslip.mechanics.world import World
from stickslip.schemes import registry
from stickslip.schemes.body_step import BodyScheme
from stickslip.schemes.body_world import PreparedWorld
from stickslip.schemes.step import Memory, Solver, Step
from stickslip.simulation.clock import length
from stickslip.state import ModelError, State

_GRADIENTS = "stickslip.gradients."
_TABLE = {
    "moreau-jean-semi-explicit": (_GRADIENTS + "moreau_jean", "moreau_jean_derivative"),
    "variational-bodies": (_GRADIENTS + "variational", "variational_derivative"),
}
"""Schemes whose steps have derivatives, and where these are."""


_REMEMBERED = {
    "moreau-jean-semi-explicit": ("joint_id", "joint_size", "joint_r", "reserve"),
    "variational-bodies": ("h", "id", "approach", "joint_id", "joint_approach", "potential"),
}
"""What their memory has, whatever the world."""


class StepDerivative(Derivative):
    """Derivative of one step of a world.

    By: `q`, displacements of the bodies at the start, 6 each (δx [m] inertial, δθ [rad] in the frame of the
    body), `v` [m/s, rad/s], `h` [s], and every field of `Parameters`. Of: `q` and `v` at the end in the same
    form, and the impulses `r` in the order of `Step.r`. Further variables that a scheme passes from step to
    step are in both.
    """

    step: Step
    """The step itself."""


def step_derivative(
    world: World | PreparedWorld, state: State | None = None, *, h: float, solver: Solver,
    scheme: str | BodyScheme | None = None, memory: Memory | None = None, kappa: float = 0.0,
) -> StepDerivative:  # fmt: skip
    """Make the step of length `h` [s] from `state` (`world.start` unless given), and differentiate it.

    memory: what the step before left, as `Step.memory` has it; that of a first step unless given.
    kappa: smoothing of the laws of contact and friction; 0 for the exact derivative.
    """
    made, prepared = scheme_to_differentiate(scheme), PreparedWorld.of(world)
    world = prepared.world
    begin = world.start if state is None else state
    if not isinstance(begin, State):
        raise ModelError(f"state is {type(begin).__name__}; expected a State, such as world.start")
    world.check_state(begin)
    checked_solver(solver)
    h, kappa = length("h", h), checked_kappa(kappa)
    derivative = differentiated(made)
    name, _ = registry.described(made)
    kept = made.begin(prepared, begin, h) if memory is None else checked_memory(memory, _REMEMBERED[name])
    return derivative(made, prepared, begin, kept, h, solver, kappa=kappa)


def scheme_to_differentiate(scheme: str | BodyScheme | None) -> BodyScheme:
    """The scheme that a name or a scheme stands for; Moreau-Jean by name is without position correction,
    which is swept and has no derivative."""
    made = registry.chosen_for_bodies(scheme)
    differentiated(made)  # or there is none
    if (scheme is None or isinstance(scheme, str)) and hasattr(made, "correction"):
        return replace(made, correction=False)  # type: ignore[type-var]
    return made


def differentiated(scheme: BodyScheme) -> Callable[..., StepDerivative]:
    """The function that differentiates a step of that scheme; a ModelError where there is none."""
    name, _ = registry.described(scheme)
    if name not in _TABLE:
        raise ModelError(f"steps of {name} have no derivative; those of {', '.join(_TABLE)} have")
    module, function = _TABLE[name]
    found: Any = getattr(import_module(module), function)
    return found  # type: ignore[no-any-return]


def checked_solver(solver: Any) -> None:
    """Refuse what is not a solver."""
    if isinstance(solver, type) or not callable(getattr(solver, "solve", None)):
        raise ModelError(f"solver is {solver!r}; expected a solver, an object with a method solve")


def checked_memory(memory: Any, names: Iterable[str]) -> Memory:
    """What a step left, with arrays of finite numbers under these names."""
    if not isinstance(memory, Mapping):
        raise ModelError(f"memory is {type(memory).__name__}; expected the `memory` of a step")
    for name in names:
        if name not in memory:
            raise ModelError(f"memory has no {name!r}; expected the `memory` of a step of this scheme")
        value = memory[name]
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "fiu":
            raise ModelError(f"memory: {name} is {type(value).__name__}; expected an array of numbers")
        if not np.isfinite(value).all():
            raise ModelError(f"memory: {name} is not finite")
        if name.endswith("approach") and (value < 0.0).any():
            raise ModelError(f"memory: {name} has speeds below 0")
    return dict(memory)


def checked_kappa(kappa: float) -> float:
    """The smoothing, as a number from 0."""
    try:
        given = float(kappa)
    except (TypeError, ValueError):
        given = -1.0
    if not 0.0 <= given < np.inf:
        raise ModelError(f"kappa is {kappa!r}; it must be a number of at least 0 (0: no smoothing)")
    return given
