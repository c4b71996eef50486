"""Derivatives of outputs, y[0] = y, y[1] = ẏ, y[2] = ÿ, and the index sets that they define.

Siconos Developer's Notes 2017, chapter 8. I0 contains all blocks of all interactions. For mechanical systems,
I1
contains the closed blocks, for which impact laws are stated on velocities, and I2 the closed blocks with
velocity 0, for which forces follow from accelerations. Blocks without a gap, such as joints, belong to all
sets. The law of a first-order interaction is stated on y, so that it belongs to I0 only.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from stickslip.problem.checks import Array
from stickslip.state import BoolArray, ModelError, State
from stickslip.systems.dynamics import FirstOrderDynamics, vector
from stickslip.systems.first_order import FirstOrder
from stickslip.systems.system import Bound, NonsmoothSystem

STEP = 1e-4
"""Time step of differences of rates, at unit speed [s]; heuristic."""


@dataclass(frozen=True, eq=False)
class IndexSets:
    """Output derivatives and index sets of the interactions of a system at a state; components and blocks are
    those of all interactions in order.
    """

    y: tuple[Array, Array, Array]
    """y[0] = y, y[1] = ẏ and y[2] = ÿ for the given multipliers [m, m/s, m/s², or any], shape (size,) each;
    NaN
    for y[2] of first-order interactions."""
    I0: BoolArray
    """All blocks [-], shape (blocks,), bool."""
    I1: BoolArray
    """Closed blocks of mechanical interactions [-], shape (blocks,), bool."""
    I2: BoolArray
    """Closed blocks that neither approach nor separate [-], shape (blocks,), bool."""

    @property
    def sets(self) -> tuple[BoolArray, BoolArray, BoolArray]:
        """I0, I1 and I2, each a subset of the previous one [-], shape (blocks,), bool each."""
        return self.I0, self.I1, self.I2


def index_sets(
    system: NonsmoothSystem, state: State | None = None, *, lam: ArrayLike | None = None,
    gap_tolerance: float = 1e-9, velocity_tolerance: float = 1e-10,
) -> IndexSets:  # fmt: skip
    """Return the output derivatives and index sets of a system at a state, by default the initial state.

    lam                 multipliers for which y[0], y[1] and y[2] are computed, forces in mechanics [N], shape
                        (size,); default 0, the motion without contact forces
    gap_tolerance       largest gap of a closed contact [m]
    velocity_tolerance  largest rate of a gap that neither closes nor opens [m/s]
    """
    if not isinstance(system, NonsmoothSystem):
        raise ModelError(f"system is a {type(system).__name__}; expected a NonsmoothSystem")
    at = State(0.0, system.q0, system.v0, system.z0) if state is None else state
    system.check_state(at)
    multipliers = np.zeros(system.size) if lam is None else vector("index_sets", "lam", lam, system.size)
    rates, accelerations = _motion(system, at, multipliers)
    y = tuple(np.full(system.size, np.nan) for _ in range(3))
    closed, still = np.ones(system.blocks, bool), np.ones(system.blocks, bool)
    for one in system.interactions:
        if isinstance(system.systems[one.systems[0]], FirstOrderDynamics):
            y[0][one.components], y[1][one.components] = _flow(one, at, multipliers, rates)
            closed[one.blocks] = False
            continue
        derivatives = _mechanical(one, at, multipliers, rates, accelerations)
        for level, values in zip(y, derivatives, strict=True):
            level[one.components] = values
        normal = one.blocks.start + np.flatnonzero(one.law.unilateral)
        closed[normal] = derivatives[0][one.law.normals] <= gap_tolerance
        still[normal] = np.abs(derivatives[1][one.law.normals]) <= velocity_tolerance
    return IndexSets((y[0], y[1], y[2]), np.ones(system.blocks, bool), closed, closed & still)


def _motion(system: NonsmoothSystem, at: State, lam: Array) -> tuple[Array, Array]:
    """Return q̇ and v̇ for these multipliers [any], shapes (nq,) and (nv,)."""
    push_q, push_v = np.zeros(at.q.size), np.zeros(at.v.size)
    for one in system.interactions:
        multipliers, z = lam[one.components], at.z[one.z]
        if isinstance(system.systems[one.systems[0]], FirstOrderDynamics):
            push_q[one.q] += one.flow.g(at.t, at.q[one.q], multipliers, z)
        else:
            push_v[one.v] += one.mechanical.forces(at.t, at.q[one.q], multipliers, z)
    rates, accelerations = np.empty(at.q.size), np.empty(at.v.size)
    for flow, p in system.flows:
        x, z = at.q[p.q], at.z[p.z]
        if isinstance(flow, FirstOrder):
            rates[p.q] = flow.velocity(at.t, x, z, push_q[p.q])
        else:
            rates[p.q] = np.linalg.solve(flow.mass(at.t, x, z), flow.rate(at.t, x, z) + push_q[p.q])
    for body, p in system.mechanical:
        q, v, z = at.q[p.q], at.v[p.v], at.z[p.z]
        T = body.kinematics(q)
        rates[p.q] = v if T is None else T @ v
        force = body.force(at.t, q, v, z) + push_v[p.v]
        accelerations[p.v] = np.linalg.solve(body.mass(at.t, q, z), force)
    return rates, accelerations


def _flow(one: Bound, at: State, lam: Array, rates: Array) -> tuple[Array, Array]:
    """Return y and ẏ of a first-order interaction at constant multipliers [any], shape (m,) each."""
    x, z, multipliers = at.q[one.q], at.z[one.z], lam[one.components]
    dt = STEP * max(1.0, abs(at.t)) * 1e-2
    drift = (one.flow.h(at.t + dt, x, multipliers, z) - one.flow.h(at.t - dt, x, multipliers, z)) / (2.0 * dt)
    return one.flow.h(at.t, x, multipliers, z), one.flow.C(at.t, x, multipliers, z) @ rates[one.q] + drift


def _mechanical(
    one: Bound, at: State, lam: Array, rates: Array, accelerations: Array
) -> tuple[Array, Array, Array]:
    """Return y, ẏ and ÿ of a mechanical interaction at constant multipliers [any], shape (m,) each."""
    v, z, multipliers, output = at.v[one.v], at.z[one.z], lam[one.components], one.mechanical

    def rate(s: float) -> Array:
        """Return ẏ at time t + s and the coordinates there, for the velocities at t."""
        t, q = at.t + s, at.q[one.q] + s * rates[one.q]
        u, drift = output.rows(t, q, multipliers, z) @ v, output.drift(t, q, multipliers, z)
        return u if drift is None else u + drift

    s = STEP / max(1.0, float(np.abs(v).max(initial=0.0)))
    bend = (8.0 * (rate(s) - rate(-s)) - (rate(2.0 * s) - rate(-2.0 * s))) / (12.0 * s)
    rows = output.rows(at.t, at.q[one.q], multipliers, z)
    return output.y(at.t, at.q[one.q], multipliers, z), rate(0.0), rows @ accelerations[one.v] + bend
