"""Steps of systems whose contacts are detected anew in every step, for any scheme of systems.

A step uses the features that may meet in it, so that its gaps are smooth. If other features overlap at its
end, they are added and the step is repeated.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Protocol

import numpy as np

from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.schemes.step import CONTACT_WORK, Memory, Searched, Solver, Step
from stickslip.schemes.work import work_of
from stickslip.state import State
from stickslip.systems.searches import Features, Search, fitted, slots_of
from stickslip.systems.system import NonsmoothSystem

FEATURES = "features"
"""Name of the memory entry with the names of the features of all slots."""
MOST_LOOKS = 30
"""Largest number of repetitions of a step because of new features at its end (heuristic)."""


class Inner(Protocol):
    """Protocol of the scheme that makes the step."""

    forgotten: ClassVar[Mapping[str, float]]
    """Entries of its memory by block or component, with their values for new features."""

    def _step(
        self, prepared: PreparedSystem, state: State, memory: Memory, h: float, solver: Solver
    ) -> Step: ...


def searched_step(
    scheme: Inner, prepared: PreparedSystem, search: Search, state: State, memory: Memory, h: float,
    solver: Solver,
) -> Step:  # fmt: skip
    """Make the step of length h from `state` by a scheme, with the contacts detected for it."""
    system, names = prepared.system, memory[FEATURES]
    arrays = {name: value for name, value in memory.items() if name != FEATURES}
    at, late = slots_of(system), tuple[Any, ...]()
    for _ in range(MOST_LOOKS):
        # 1. Features that may meet, and the step with them.
        features = search.near(system, state, h, names, late)
        of_step = prepared.part(_fitted, features)
        new = [at[slot] for slot in np.flatnonzero(names != features.names).tolist() if slot in at]
        known = _recalled(scheme, of_step.system, state, arrays, new)
        step = scheme._step(of_step, state, known, h, solver)
        # 2. Features that overlap at its end and were not included.
        entered, _ = search.entered(system, state, step.state, features)
        if entered is None or step.reason:
            break
        late = (*late, entered)
    else:
        step = replace(
            step, reason=f"at t = {state.t:.9g} s contacts were met {MOST_LOOKS} times that were not looked"
            " for; use a smaller h",
        )  # fmt: skip
    measures = dict(step.measures)
    if CONTACT_WORK not in measures:
        measures[CONTACT_WORK] = work_of(of_step.system, state, step.state, step.h, step.r)
    assert step.interactions is not None
    return replace(
        step, memory={**step.memory, FEATURES: features.names}, measures=measures,
        interactions=replace(step.interactions, searched=Searched(of_step.system, features, known)),
    )  # fmt: skip


def _fitted(prepared: PreparedSystem, features: Features) -> PreparedSystem:
    """Return the system with these features in its slots."""
    return PreparedSystem(fitted(prepared.system, features))


def _recalled(scheme: Inner, system: NonsmoothSystem, state: State, memory: Memory, new: list[int]) -> Memory:
    """Return the memory with initial values for the interactions `new`, whose features have changed."""
    if not new:
        return memory
    ties, out = [system.interactions[k] for k in new], dict(memory)
    for name, value in scheme.forgotten.items():
        array = np.array(memory[name])
        for one in ties:
            array[one.blocks if len(array) == system.blocks else one.components] = value
        out[name] = array
    if "y" in out:  # outputs at the end of the previous step, which is the start of this one
        y = np.array(out["y"])
        for one in ties:
            y[one.components] = one.y(state.t, state.q, state.z)
        out["y"] = y
    return out
