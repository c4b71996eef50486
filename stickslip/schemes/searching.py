"""Steps of systems whose contacts are found anew in every step, by any scheme of systems.

A step has the features that may meet in it, so that its gaps are smooth. At its end it is looked again: what
overlaps there although it was not among them is taken in, and the step is made anew.
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
"""What tells the features of the slots in the memory of a scheme."""
MOST_LOOKS = 30
"""Most times that a step is made because its end overlaps where it had no contact."""


class Inner(Protocol):
    """What is asked of the scheme."""

    forgotten: ClassVar[Mapping[str, float]]
    """Of its memory, what blocks or components whose features are new begin with."""

    def _step(
        self, prepared: PreparedSystem, state: State, memory: Memory, h: float, solver: Solver
    ) -> Step: ...


def searched_step(
    scheme: Inner, prepared: PreparedSystem, search: Search, state: State, memory: Memory, h: float,
    solver: Solver,
) -> Step:  # fmt: skip
    """The step of length h from `state` by a scheme, with contacts found for it."""
    system, names = prepared.system, memory[FEATURES]
    own = {name: value for name, value in memory.items() if name != FEATURES}
    at, late = slots_of(system), tuple[Any, ...]()
    for _ in range(MOST_LOOKS):
        features = search.near(system, state, h, names, late)
        of_step = prepared.part(_fitted, features)
        new = [at[slot] for slot in np.flatnonzero(names != features.names).tolist() if slot in at]
        known = _recalled(scheme, of_step.system, state, own, new)
        step = scheme._step(of_step, state, known, h, solver)
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
    return PreparedSystem(fitted(prepared.system, features))


def _recalled(scheme: Inner, system: NonsmoothSystem, state: State, memory: Memory, new: list[int]) -> Memory:
    """The memory where the interactions `new` have other features than before, of which it knows nothing."""
    if not new:
        return memory
    ties, out = [system.interactions[k] for k in new], dict(memory)
    for name, value in scheme.forgotten.items():
        array = np.array(memory[name])
        for one in ties:
            array[one.blocks if len(array) == system.blocks else one.components] = value
        out[name] = array
    if "y" in out:  # outputs at the end of the step before, which are those of the start of this one
        y = np.array(out["y"])
        for one in ties:
            y[one.components] = one.y(state.t, state.q, state.z)
        out["y"] = y
    return out
