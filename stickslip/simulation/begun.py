"""Start of a run: its scheme, state, memory and clock, by the same rules for every model."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from stickslip.mechanics.world import World
from stickslip.problem.contact import Level
from stickslip.schemes import registry
from stickslip.schemes.body_step import BodyScheme
from stickslip.schemes.body_world import PreparedWorld
from stickslip.schemes.equations_scheme import ByEquations
from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.schemes.registry import SchemeChoice
from stickslip.schemes.starts import check_start
from stickslip.schemes.step import Memory, first_state, frozen_state
from stickslip.simulation import paces
from stickslip.simulation.checkpoint import Checkpoint
from stickslip.simulation.clock import Clock, Stride, checked_clock
from stickslip.simulation.model import Model
from stickslip.simulation.world_model import WorldModel
from stickslip.state import Array, BoolArray, ModelError, State
from stickslip.systems.system import NonsmoothSystem


@dataclass(frozen=True, eq=False, slots=True)
class Begun:
    """Start of a run."""

    scheme: Any
    """The scheme."""
    state: State
    """Initial state."""
    memory: Memory
    """Initial memory of the scheme."""
    clock: Clock
    """Clock of the run, with its current index."""
    sums: dict[str, float] = field(default_factory=dict)
    """Energies summed up to here, as in a `Checkpoint`."""
    inputs: dict[str, Array] = field(default_factory=dict)
    """Values of inputs, as in a `Checkpoint` [any], any shape."""


def begun_new(scheme: Any, state: State, h: Stride | None, prepared: Any) -> Begun:
    """Return the start of a run of a prepared model at `state`."""
    if h is None:
        raise ModelError("h is missing: give h=..., the length of a step [s]")
    if isinstance(h, tuple) and h[0] < state.t:
        raise ModelError(f"grid starts at {h[0]:g} s, before the start, t = {state.t:g} s")
    return _begun(scheme, state, h, prepared)


def begun_from(
    start: Checkpoint, scheme: Any, h: Stride | None, prepared: Any, good: Callable[[Array], BoolArray]
) -> Begun:  # fmt: skip
    """Return the start of a run of a prepared model at a checkpoint; good: returns which numbers are valid in
    a memory."""
    before = start.clock
    same = registry.described(scheme) == (start.scheme, start.scheme_options)
    if same and (h is None or Clock.of(start.state.t, h).stride == before.stride):
        for name, value in start.memory.items():
            if not good(value).all():
                raise ModelError(f"the memory of the start: {name!r} is not finite")
        checked_clock(before, start.state.t)
        paces.checked(start.memory, before)
        return Begun(scheme, start.state, start.memory, before, start.sums, start.inputs)
    # With another scheme or step length the memory is not valid, and the clock restarts.
    begun = _begun(scheme, start.state, before.stride if h is None else h, prepared)
    return replace(begun, sums=start.sums, inputs=start.inputs)


def _begun(scheme: Any, state: State, h: Stride, prepared: Any) -> Begun:
    """Return a start with a new clock and the scheme's initial memory."""
    clock = Clock.of(state.t, h)
    if clock.adaptive is not None:
        paces.check_scheme(*registry.described(scheme))
    memory = paces.begun(scheme.begin(prepared, state, clock.h), clock)
    return Begun(scheme, state, memory, clock)


def numbers(value: Array) -> BoolArray:
    """Return a mask of numbers that are not NaN; memories of event-driven runs contain infinite times."""
    return ~np.isnan(value)


def begun_world(
    prepared: PreparedWorld, model: WorldModel, h: Stride | None, scheme: str | BodyScheme | None, start: Any
) -> Begun:  # fmt: skip
    """Return the start of a run of a world, from None (the world's start), a State or a Checkpoint."""
    world = prepared.world
    if start is None or isinstance(start, State):
        chosen = registry.chosen_for_bodies(scheme)
        state = world.start if start is None else checked_state(world, start)
        return begun_new(chosen, state, h, prepared)
    if not isinstance(start, Checkpoint) or not isinstance(start.model, WorldModel):
        kind = "of a system" if isinstance(start, Checkpoint) else type(start).__name__
        raise ModelError(
            f"start is {kind}; expected a checkpoint of a world, such as trajectory.checkpoint(), or a State"
        )
    start.model.check_same(model)
    checked_state(world, start.state)
    chosen = (
        registry.remade_for_bodies(start.scheme, start.scheme_options)
        if scheme is None
        else registry.chosen_for_bodies(scheme)
    )
    good = numbers if isinstance(chosen, ByEquations) else np.isfinite
    return begun_from(start, chosen, h, prepared, good)


def checked_state(world: World, state: State) -> State:
    """Return a checked, read-only copy of a user's state of a world."""
    try:
        q, v = np.array(state.q, float), np.array(state.v, float)
        copy = State(float(state.t), q, v)
    except (TypeError, ValueError) as error:
        raise ModelError(f"start: t, q and v must be real numbers: {error}") from None
    world.check_state(copy)
    q.flags.writeable = v.flags.writeable = False
    return copy


def _checked_system_state(system: NonsmoothSystem, state: State) -> State:
    """Return a checked, read-only copy of a user's state of a system."""
    system.check_state(state)
    q, v, z = (np.array(x, float) for x in (state.q, state.v, state.z))
    return frozen_state(float(state.t), q, v, z)


def begun_system(
    prepared: PreparedSystem, h: Stride | None, scheme: SchemeChoice | None, start: Any
) -> Begun:
    """Return the start of a run of a system, from None (the system's start), a State or a Checkpoint."""
    system = prepared.system
    if start is None or isinstance(start, State):
        chosen = registry.chosen_for_system(scheme, system)
        state = first_state(system) if start is None else _checked_system_state(system, start)
        begun = begun_new(chosen, state, h, prepared)
        check_start(prepared, state, begun.clock.h, chosen)
        return begun
    if not isinstance(start, Checkpoint) or not isinstance(start.model, Model):
        kind = "of a world" if isinstance(start, Checkpoint) else type(start).__name__
        raise ModelError(
            f"start is {kind}; expected a checkpoint of a system, such as trajectory.checkpoint(-1),"
            " or a State"
        )
    # The comparison ignores levels, and the scheme need not support the system: any level serves.
    start.model.check_same(Model.of(system, (Level.VELOCITY,) * len(system.interactions)))
    chosen = (
        registry.remade(start.scheme, start.scheme_options) if scheme is None else registry.chosen(scheme)
    )
    system.check_state(start.state)
    return begun_from(start, chosen, h, prepared, numbers)
