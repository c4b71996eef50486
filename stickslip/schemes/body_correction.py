"""Position correction after a step: it closes overlaps and open joints and does not change velocities.

The shift is Δq = M⁻¹ N π with 0 <= N' Δq - need ⟂ π >= 0 over the normal rows N of the step. It may lift
bodies. The energy for that comes from a reserve: the energy dissipated by contacts and joints so far, minus
the energy added by earlier corrections. If the reserve is too small, the shift is applied in part.
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
"""Errors of the joints of a world without joints."""


class Corrected(NamedTuple):
    """Result of a position correction."""

    lifted: float
    """Potential energy added by the correction [J]."""
    penetration: float
    """Deepest remaining overlap [m]."""
    size: float
    """Largest displacement of a contact or joint [m]."""
    opening: Array
    """Remaining errors of the joints, as returned by `joint_errors` [m, rad], shape (nj, 2)."""


def corrected(
    start: Start, blocks: Blocks, t: float, q: Array, v: Array, springs: float, overlaps: Overlaps,
    reserve: float, sweeps: int,
) -> Corrected:  # fmt: skip
    """Correct the poses q [m, -], shape (n, 7), in place with at most `sweeps` sweeps; with 0 only measure.

    springs: potential of the springs at q [J]; overlaps: overlaps of the contacts; reserve: largest energy
    that the correction may add [J].
    """
    world, bodies = start.world, start.bodies
    budget = Budget(reserve, sweeps, bodies.size, bodies.least_weight)
    mechanics = bodies.arrays, bodies.forces
    graph = blocks.parts(bodies)
    if graph is not None and not kernels.is_idle(overlaps, budget):
        moves = body_parts.sweep_back(bodies.arrays, graph, blocks.arrays, overlaps, sweeps)
        lifted, overlap, size = kernels.pay(*mechanics, springs, *moves, overlaps, budget, q)
        return Corrected(lifted, overlap, size, NO_ERRORS)
    if blocks.joints is None:
        lifted, overlap, size = kernels.correct(*mechanics, springs, blocks.arrays, overlaps, budget, q)
        return Corrected(lifted, overlap, size, NO_ERRORS)
    bad, lifted, overlap, size = kernels.correct_jointed(
        *mechanics, bodies.linkage, springs, blocks.arrays, overlaps, budget, v, q
    )
    if bad >= 0:
        joint_rows(world, t, q.reshape(-1), v.reshape(-1), 0.0, 1.0)  # raises ModelError
    return Corrected(lifted, overlap, size, joint_errors(world, q.reshape(-1)))
