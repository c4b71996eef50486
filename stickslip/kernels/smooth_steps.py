"""Step of the Dormand-Prince method of order 8 for a smooth motion, with dense output.

Hairer, Norsett & Wanner 1993, Solving Ordinary Differential Equations I, II.5 and II.10. Coefficients and
step-size control are those of SciPy's `DOP853`.
"""

import math
from typing import NamedTuple

import numpy as np

from stickslip.kernels import smooth
from stickslip.kernels.jit import jit
from stickslip.state import Array

STAGES, ALL_STAGES, POWERS = 12, 16, 7
"""Number of stages of a step, of stages including those of dense output, and of its powers."""
SAFETY, LEAST_FACTOR, MOST_FACTOR, EXPONENT = 0.9, 0.2, 10.0, -0.125
"""Parameters of step-size control: safety factor, bounds of the factor, exponent of the error [-]."""
SHORTEST = 10.0 * 2.0**-52
"""Smallest length of a sample relative to the time [-]."""
OLD, NEW, INNER, LOOK = range(4)
"""Rows of `Bench.states`: start of the step, end, inside of a stage, dense output."""


class Tableau(NamedTuple):
    """Coefficients of the method [-]."""

    A: Array
    """Stages, shape (STAGES, STAGES)."""
    B: Array
    """Weights, shape (STAGES,)."""
    C: Array
    """Times of the stages, shape (STAGES,)."""
    E3: Array
    """Error of order 3, shape (STAGES + 1,)."""
    E5: Array
    """Error of order 5, shape (STAGES + 1,)."""
    D: Array
    """Dense output, shape (4, ALL_STAGES)."""
    A_extra: Array
    """Additional stages of dense output, shape (3, ALL_STAGES)."""
    C_extra: Array
    """Times of the additional stages, shape (3,)."""


class Options(NamedTuple):
    """Options of the scheme `EventDriven`."""

    rtol: float
    atol: float
    max_step: float
    parts: int
    gap_tolerance: float
    velocity_tolerance: float


class Bench(NamedTuple):
    """Work arrays of one step of the integrator."""

    stages: Array
    """Rates at the stages, shape (ALL_STAGES, n)."""
    states: Array
    """Rows OLD to LOOK, shape (4, n)."""
    powers: Array
    """Coefficients of dense output, shape (POWERS, n)."""
    looks: Array
    """Watched quantities, rows G to FASTEST, shape (`smooth_samples.LOOKS`, watched)."""


@jit
def combine(state, stages, a, count, h, out):
    """out <- state + h Σ a_j stage_j over the first `count` stages."""
    for k in range(state.shape[0]):
        s = 0.0
        for j in range(count):
            s += stages[j, k] * a[j]
        out[k] = state[k] + s * h


@jit
def step(model, stretch, z, tools, t, end, h):
    """Make one accepted step from `states[OLD]` to `states[NEW]`; return (end, next length, determinant).

    The end is t if no step is accepted. `room` holds the balance of forces at the end.
    """
    tableau, options, work, room, bench = tools
    states, stages, rejected = bench.states, bench.stages, False
    least = 10.0 * (np.nextafter(t, math.inf) - t)
    old, new, inner, n = states[OLD], states[NEW], states[INNER], states.shape[1]
    while True:
        if h < least:
            return t, h, math.nan
        # 1. The stages k_s = f(t + c_s h, y + h Σ a_sj k_j).
        t_new = min(t + h, end)
        h = t_new - t
        for s in range(1, STAGES):
            combine(old, stages, tableau.A[s], s, h, inner)
            at_stage = t + tableau.C[s] * h
            if math.isnan(smooth.state_rates(model, stretch, at_stage, inner, z, work, room, stages[s])):
                return t, h, math.nan
        # 2. The new state y + h Σ b_s k_s, and its rates.
        combine(old, stages, tableau.B, STAGES, h, new)
        determinant = smooth.state_rates(model, stretch, t_new, new, z, work, room, stages[STAGES])
        if math.isnan(determinant):
            return t, h, math.nan
        # 3. The error, from the embedded formulas of order 5 and 3 (II.10).
        five, three = 0.0, 0.0
        for k in range(n):
            scale, e5, e3 = options.atol + max(abs(old[k]), abs(new[k])) * options.rtol, 0.0, 0.0
            for j in range(STAGES + 1):
                e5 += stages[j, k] * tableau.E5[j]
                e3 += stages[j, k] * tableau.E3[j]
            five, three = five + (e5 / scale) ** 2, three + (e3 / scale) ** 2
        if not five < math.inf:
            return t, h, math.nan
        error = 0.0
        if five > 0.0 or three > 0.0:
            error = h * five / math.sqrt((five + 0.01 * three) * n)
        # 4. The step is accepted, or repeated with a shorter length.
        if error < 1.0:
            factor = MOST_FACTOR if error == 0.0 else min(MOST_FACTOR, SAFETY * error**EXPONENT)
            return t_new, h * (min(1.0, factor) if rejected else factor), determinant
        h *= max(LEAST_FACTOR, SAFETY * error**EXPONENT)
        rejected = True


@jit
def interpolate(model, stretch, z, tools, t, h):
    """Write the coefficients of dense output of the step of length h from t; return False for NaN rates."""
    tableau, _, work, room, bench = tools
    states, stages, F = bench.states, bench.stages, bench.powers
    for s in range(ALL_STAGES - STAGES - 1):
        row = STAGES + 1 + s
        combine(states[OLD], stages, tableau.A_extra[s], row, h, states[INNER])
        at_stage = t + tableau.C_extra[s] * h
        rates = smooth.state_rates(model, stretch, at_stage, states[INNER], z, work, room, stages[row])
        if math.isnan(rates):
            return False
    for k in range(states.shape[1]):
        moved = states[NEW, k] - states[OLD, k]
        F[0, k], F[1, k] = moved, h * stages[0, k] - moved
        F[2, k] = 2.0 * moved - h * (stages[STAGES, k] + stages[0, k])
        for i in range(4):
            s = 0.0
            for j in range(ALL_STAGES):
                s += tableau.D[i, j] * stages[j, k]
            F[3 + i, k] = h * s
    return True


@jit
def state_within(bench, x):
    """states[LOOK] <- state at the fraction x of the step, by dense output."""
    for k in range(bench.states.shape[1]):
        value = 0.0
        for i in range(POWERS):
            value += bench.powers[POWERS - 1 - i, k]
            value *= x if i % 2 == 0 else 1.0 - x
        bench.states[LOOK, k] = value + bench.states[OLD, k]
