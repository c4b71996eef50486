"""Position correction after a step: overlaps and open joints are closed, velocities stay as they are.

The shift is Δq = M⁻¹ N π with 0 <= N' Δq - need ⟂ π >= 0 over the normal rows N of the step. It may lift
bodies. The energy that takes comes from a reserve, which is what contacts and joints have taken so far less
what corrections have given: where the reserve is too small, only a part of the shift is done.
"""

from typing import NamedTuple

import numpy as np

from stickslip.kernels.bodies import correction as kernels
from stickslip.mechanics.world import World
from stickslip.schemes.body_blocks import Blocks
from stickslip.schemes.body_world import Bodies
from stickslip.state import Array

NEGLIGIBLE = 1e-12
"""Overlaps up to this share of the smallest shape are left as they are."""
PRECISION = 1e-3
"""Share of the deepest overlap up to which it is corrected."""
TRIALS = 30
"""Most halvings of a shift that springs make dearer than gravity says."""


class Corrected(NamedTuple):
    """Where a correction ended."""

    q: Array
    """Coordinates of all bodies [m, -], shape (n, 7)."""
    lifted: float
    """Potential energy that it gave [J]."""
    penetration: float
    """Deepest overlap that is left [m]."""
    opening: float
    """Largest error of a joint that is left [m, rad]."""
    size: float
    """Largest displacement of a contact or joint [m]."""


def corrected(
    world: World, bodies: Bodies, blocks: Blocks, t: float, q: Array, springs: float, u: Array, reach: float,
    reserve: float, sweeps: int,
) -> Corrected:  # fmt: skip
    """q [m, -], shape (n, 7), corrected with at most so many sweeps; with none, only looked at.

    springs: their potential at q [J]; u: velocities of the rows at the end of the step; reach: time from
    where gaps were measured to there [s]; reserve: what the correction may cost [J].
    """
    count, offset = blocks.count, blocks.K.offset
    need = np.empty(count)
    deepest, largest = kernels.needs(blocks.contacts.gap, reach, offset, u, need)
    if sweeps == 0 or largest <= NEGLIGIBLE * bodies.size:
        return Corrected(q, 0.0, deepest, 0.0, 0.0)
    shift, moved, out = np.zeros((bodies.count, 6)), np.empty(count), np.empty_like(q)
    kernels.sweep_back(
        bodies.row, bodies.mass, bodies.J_inverse, blocks.sides, np.arange(count), offset[:count], blocks.rows,
        np.zeros(count, bool), need, PRECISION * largest, sweeps, shift, moved,
    )  # fmt: skip
    share = 1.0
    for _ in range(TRIALS):
        lifted = kernels.shifted(bodies.row, bodies.mass, bodies.gravity, q, shift, share, out)
        if len(world.forces):
            lifted += world.forces.potential(t, out.reshape(-1)) - springs
        if lifted <= reserve:
            break
        share *= min(reserve / lifted, 0.5) if share < 1.0 else reserve / lifted
    else:
        return Corrected(q, 0.0, deepest, 0.0, 0.0)
    depth = -(blocks.contacts.gap + reach * u[offset[:count]]) - share * moved
    return Corrected(
        out, lifted, float(depth.max(initial=0.0)), 0.0, share * float(np.abs(moved).max(initial=0.0))
    )
