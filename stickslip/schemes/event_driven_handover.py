"""Accumulating impacts handed to time-stepping, which carries them over without looking at each.

Coupled interactions whose impacts accumulate are carried by Moreau-Jean, θ = 1/2, with small steps to the
accumulation point. What is coupled to none of them goes on from event to event meanwhile; so their systems
are ahead of the others, and wait, until those have caught up. Discrete parameters stay those of the step.
"""

import math
from collections.abc import Mapping

import numpy as np

from stickslip.problem.checks import Array
from stickslip.schemes.composite import part
from stickslip.schemes.event_driven_standing import Standing
from stickslip.schemes.moreau_jean import MoreauJean
from stickslip.schemes.step import frozen_state
from stickslip.schemes.work import work_of
from stickslip.state import State
from stickslip.systems.system import Bound, NonsmoothSystem

WHOLE = 1e-6
"""Share of a small step that is no step of its own."""


class Steady(NonsmoothSystem):
    """Systems whose discrete parameters are those of the step around their own."""

    def update(self, t: float, q: Array, v: Array, z: Array) -> Array:
        return z

    def _watch(self, whole: NonsmoothSystem, renumbered: Mapping[int, int]) -> None:
        """Guards are looked at where time-stepping ends."""


def send(at: Standing, group: list[Bound], until: float, speed: float) -> None:
    """Hand coupled interactions over until `until` [s]; `speed` is that of what accumulates [m/s]."""
    steps = at.options.small_steps
    for one in group:
        at.until[one.blocks] = until
        at.pace[one.blocks] = (until - at.t) / steps
        at.explained[one.blocks] = speed / steps


def carry(at: Standing, group: list[Bound], end: float) -> None:
    """Carry what was handed over to the accumulation point, or to the end of the step before it."""
    block = group[0].blocks.start
    until, pace = min(float(at.until[block]), end), float(at.pace[block])
    span, start = until - at.t, at.t
    if span <= 0.0:
        return
    numbers = tuple(sorted({i for one in group for i in one.systems}))
    mine, scheme = at.prepared.part(part, MoreauJean(), numbers, Steady), MoreauJean()
    steps = max(1, math.ceil(span / pace - WHOLE))
    h = span / steps
    state = frozen_state(start, at.q[mine.q], at.v[mine.v], at.z[mine.z])
    memory = scheme.begin(mine.system, state, h)
    for k in range(1, steps + 1):
        step = scheme.step(mine.system, state, memory, h, at.solver)
        at.keep("time-stepping", step.solves)
        if step.reason:
            at.reason = at.reason or step.reason
        at.impulse[mine.components] += step.r
        at.work += work_of(mine.system.system, state, step.state, h, step.r)
        t = until if k == steps else start + k * h
        state, memory = State(t, step.state.q, step.state.v, step.state.z), step.memory
    at.q, at.v = np.array(at.q), np.array(at.v)
    at.q[mine.q], at.v[mine.v] = state.q, state.v
    at.wait(group, mine.q, mine.v, until)
