"""Time-stepping over accumulating impacts, without locating each of them.

Coupled interactions whose impacts accumulate are integrated by Moreau-Jean, θ = 1/2, with small steps to the
accumulation point. All other systems continue from event to event. The systems in time-stepping are then
ahead of the others, and wait until those reach the same time. Discrete parameters stay those of the step.
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
"""Remainder, relative to a small step, that is not made as a step of its own [-]."""


class Steady(NonsmoothSystem):
    """Systems whose discrete parameters do not change in the small steps."""

    def update(self, t: float, q: Array, v: Array, z: Array) -> Array:
        return z

    def _watch(self, whole: NonsmoothSystem, renumbered: Mapping[int, int]) -> None:
        """Ignore guards; they are evaluated at the end of time-stepping."""


def send(at: Standing, group: list[Bound], until: float, speed: float) -> None:
    """Start time-stepping of coupled interactions until `until` [s]; speed: that of the accumulating impacts
    [m/s]."""
    steps = at.options.small_steps
    for one in group:
        at.until[one.blocks] = until
        at.pace[one.blocks] = (until - at.t) / steps
        at.explained[one.blocks] = speed / steps


def carry(at: Standing, group: list[Bound], end: float) -> None:
    """Integrate interactions in time-stepping to the accumulation point, or to an earlier end of the step."""
    block = group[0].blocks.start
    until, pace = min(float(at.until[block]), end), float(at.pace[block])
    span, start = until - at.t, at.t
    if span <= 0.0:
        return
    numbers = tuple(sorted({i for one in group for i in one.systems}))
    piece, scheme = at.prepared.part(part, MoreauJean(), numbers, Steady), MoreauJean()
    steps = max(1, math.ceil(span / pace - WHOLE))
    h = span / steps
    state = frozen_state(start, at.q[piece.q], at.v[piece.v], at.z[piece.z])
    memory = scheme.begin(piece.system, state, h)
    for k in range(1, steps + 1):
        step = scheme.step(piece.system, state, memory, h, at.solver)
        at.keep("time-stepping", step.solves)
        if step.reason:
            at.reason = at.reason or step.reason
        at.impulse[piece.components] += step.r
        at.work += work_of(piece.system.system, state, step.state, h, step.r)
        t = until if k == steps else start + k * h
        state, memory = State(t, step.state.q, step.state.v, step.state.z), step.memory
    at.q, at.v = np.array(at.q), np.array(at.v)
    at.q[piece.q], at.v[piece.v] = state.q, state.v
    at.wait(group, piece.q, piece.v, until)
