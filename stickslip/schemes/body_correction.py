"""Position correction after a step: overlaps and open joints are closed, velocities stay as they are.

The shift is Δq = M⁻¹ N π with 0 <= N' Δq - need ⟂ π >= 0 over the normal rows N of the step. It may lift
bodies. The energy that takes comes from a reserve, which is what contacts and joints have taken so far less
what corrections have given: where the reserve is too small, only a part of the shift is done.
"""

from typing import NamedTuple

import numpy as np

from stickslip.kernels.bodies import correction as kernels
from stickslip.kernels.bodies.layout import Budget, Overlaps
from stickslip.schemes import body_parts
from stickslip.schemes.body_blocks import Blocks
from stickslip.schemes.body_joints import joint_errors, joint_rows
from stickslip.schemes.body_start import Start
from stickslip.state import Array

NO_ERRORS: Array = np.zeros((0, 2))
"""Of no joints."""


class Corrected(NamedTuple):
    """What a correction did."""

    lifted: float
    """Potential energy that it gave [J]."""
    penetration: float
    """Deepest overlap that is left [m]."""
    size: float
    """Largest displacement of a contact or joint [m]."""
    opening: Array
    """Errors of the joints that are left, as `joint_errors` has them [m, rad], shape (nj, 2)."""


def corrected(
    start: Start, blocks: Blocks, t: float, q: Array, v: Array, springs: float, overlaps: Overlaps,
    reserve: float, sweeps: int,
) -> Corrected:  # fmt: skip
    """q [m, -], shape (n, 7) <- corrected with at most so many sweeps; with none, only looked at.

    springs: their potential at q [J]; overlaps: of the contacts; reserve: what the correction may cost [J].
    """
    world, bodies = start.world, start.bodies
    budget = Budget(reserve, sweeps, bodies.size, bodies.least_weight)
    given = bodies.arrays, bodies.forces
    graph = blocks.parts(bodies)
    if graph is not None and not kernels.is_idle(overlaps, budget):
        moves = body_parts.sweep_back(bodies.arrays, graph, blocks.arrays, overlaps, sweeps)
        lifted, left, size = kernels.pay(*given, springs, *moves, overlaps, budget, q)
        return Corrected(lifted, left, size, NO_ERRORS)
    if blocks.joints is None:
        lifted, left, size = kernels.correct(*given, springs, blocks.arrays, overlaps, budget, q)
        return Corrected(lifted, left, size, NO_ERRORS)
    bad, lifted, left, size = kernels.correct_jointed(
        *given, bodies.linkage, springs, blocks.arrays, overlaps, budget, v, q
    )
    if bad >= 0:
        joint_rows(world, t, q.reshape(-1), v.reshape(-1), 0.0, 1.0)  # raises
    return Corrected(lifted, left, size, joint_errors(world, q.reshape(-1)))
