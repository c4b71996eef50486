"""Where a run begins, and with what: the same rules for every model."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stickslip.schemes import registry
from stickslip.schemes.step import Memory
from stickslip.simulation.checkpoint import Checkpoint
from stickslip.simulation.clock import Clock, checked_clock, length
from stickslip.state import Array, BoolArray, ModelError, State


@dataclass(frozen=True, eq=False, slots=True)
class Begun:
    """Where a run begins, and with what."""

    scheme: Any
    state: State
    memory: Memory
    clock: Clock
    sums: dict[str, float] = field(default_factory=dict)
    """As those of a `Checkpoint`."""


def begun_new(scheme: Any, state: State, h: float | None, begin: Callable[[State, float], Memory]) -> Begun:
    """A run that begins at `state`; begin: makes the scheme's memory there."""
    if h is None:
        raise ModelError("h is missing: simulate(model, until=..., h=...)")
    h = length("h", h)
    return Begun(scheme, state, begin(state, h), Clock(state.t, h))


def begun_from(
    start: Checkpoint, scheme: Any, h: float | None, begin: Callable[[State, float], Memory],
    good: Callable[[Array], BoolArray],
) -> Begun:  # fmt: skip
    """A run that goes on from a checkpoint; good: which numbers a memory may have."""
    step = start.clock.h if h is None else length("h", h)
    same = registry.described(scheme) == (start.scheme, start.scheme_options)
    if same and step == start.clock.h:
        for name, value in start.memory.items():
            if not good(value).all():
                raise ModelError(f"the memory of the start: {name!r} is not finite")
        checked_clock(start.clock, start.state.t)
        return Begun(scheme, start.state, start.memory, start.clock, start.sums)
    # Another scheme or step has no use for the memory, and counts from here.
    return Begun(scheme, start.state, begin(start.state, step), Clock(start.state.t, step), start.sums)


def numbers(value: Array) -> BoolArray:
    """Those that are not NaN: event-driven runs remember infinite times."""
    return ~np.isnan(value)
