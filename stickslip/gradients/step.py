"""Derivative of one step of a world, for all schemes that have one."""

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
"""Module and function of the derivative, by name of the scheme."""


_REMEMBERED = {
    "moreau-jean-semi-explicit": ("joint_id", "joint_size", "joint_r", "reserve"),
    "variational-bodies": ("h", "id", "approach", "joint_id", "joint_approach", "potential"),
}
"""Arrays that the memory of a step always has, by name of the scheme."""


class StepDerivative(Derivative):
    """Derivative of one step of a world.

    By: `q`, displacements of the bodies at the start, 6 each (δx [m] inertial, δθ [rad] in the frame of the
    body), `v` [m/s, rad/s], `h` [s], and every field of `Parameters`. Of: `q` and `v` at the end in the same
    form, and the impulses `r` in the order of `Step.r`. Further variables that a scheme passes from step to
    step are in both.
    """

    step: Step
    """The differentiated step."""


def step_derivative(
    world: World | PreparedWorld, state: State | None = None, *, h: float, solver: Solver,
    scheme: str | BodyScheme | None = None, memory: Memory | None = None, kappa: float = 0.0,
) -> StepDerivative:  # fmt: skip
    """Make a step of length `h` [s] and differentiate it.

    state    state at the start of the step; by default `world.start`
    memory   `Step.memory` of the previous step; by default the memory of a first step
    kappa    smoothing of the laws of contact and friction; 0 for the exact derivative
    """
    chosen, prepared = scheme_to_differentiate(scheme), PreparedWorld.of(world)
    world = prepared.world
    begin = world.start if state is None else state
    if not isinstance(begin, State):
        raise ModelError(f"state is {type(begin).__name__}; expected a State, such as world.start")
    world.check_state(begin)
    checked_solver(solver)
    h, kappa = length("h", h), checked_kappa(kappa)
    derivative = differentiated(chosen)
    name, _ = registry.described(chosen)
    last = chosen.begin(prepared, begin, h) if memory is None else checked_memory(memory, _REMEMBERED[name])
    return derivative(chosen, prepared, begin, last, h, solver, kappa=kappa)


def scheme_to_differentiate(scheme: str | BodyScheme | None) -> BodyScheme:
    """Return the scheme of that name, or the given scheme; raise a ModelError if it has no derivative.

    Moreau-Jean by name is taken without position correction, which has no derivative.
    """
    chosen = registry.chosen_for_bodies(scheme)
    differentiated(chosen)  # raises a ModelError if there is none
    if (scheme is None or isinstance(scheme, str)) and hasattr(chosen, "correction"):
        return replace(chosen, correction=False)  # type: ignore[type-var]
    return chosen


def differentiated(scheme: BodyScheme) -> Callable[..., StepDerivative]:
    """Return the function that differentiates steps of the scheme; raise a ModelError if there is none."""
    name, _ = registry.described(scheme)
    if name not in _TABLE:
        raise ModelError(f"steps of {name} have no derivative; those of {', '.join(_TABLE)} have")
    module, function = _TABLE[name]
    derivative: Any = getattr(import_module(module), function)
    return derivative  # type: ignore[no-any-return]


def checked_solver(solver: Any) -> None:
    """Raise a ModelError if `solver` is not a solver."""
    if isinstance(solver, type) or not callable(getattr(solver, "solve", None)):
        raise ModelError(f"solver is {solver!r}; expected a solver, an object with a method solve")


def checked_memory(memory: Any, names: Iterable[str]) -> Memory:
    """Return the memory of a step; raise a ModelError unless it has finite arrays under these names."""
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
    """Return the smoothing as a float >= 0."""
    try:
        number = float(kappa)
    except (TypeError, ValueError):
        number = -1.0
    if not 0.0 <= number < np.inf:
        raise ModelError(f"kappa is {kappa!r}; it must be a number of at least 0 (0: no smoothing)")
    return number
