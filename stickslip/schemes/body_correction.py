"""Position correction after a step: overlaps and open joints are closed, velocities stay as they are.

The shift is Δq = M⁻¹ N π with 0 <= N' Δq - need ⟂ π >= 0 over the normal rows N of the step. It may lift
bodies. The energy that takes comes from a reserve, which is what contacts and joints have taken so far less
what corrections have given: where the reserve is too small, only a part of the shift is done.
"""

from typing import NamedTuple

import numpy as np

from stickslip.kernels import cones
from stickslip.kernels.bodies import correction as kernels
from stickslip.kernels.bodies.layout import Budget, Overlaps
from stickslip.problem.checks import frozen
from stickslip.schemes.body_blocks import Blocks
from stickslip.schemes.body_joints import joint_errors, joint_rows
from stickslip.schemes.body_start import Start
from stickslip.state import Array

NEGLIGIBLE_OPENING = 1e-12
"""The same of open joints."""
NO_ERRORS: Array = np.zeros((0, 2))
"""Of no joints."""


class Corrected(NamedTuple):
    """Where a correction ended."""

    q: Array
    """Coordinates of all bodies [m, -], shape (n, 7)."""
    lifted: float
    """Potential energy that it gave [J]."""
    penetration: float
    """Deepest overlap that is left [m]."""
    opening: Array
    """Errors of the joints that are left, as `joint_errors` has them [m, rad], shape (nj, 2)."""
    size: float
    """Largest displacement of a contact or joint [m]."""


def corrected(
    start: Start, blocks: Blocks, t: float, q: Array, v: Array, springs: float, overlaps: Overlaps,
    reserve: float, sweeps: int,
) -> Corrected:  # fmt: skip
    """q [m, -], shape (n, 7), corrected with at most so many sweeps; with none, only looked at.

    springs: their potential at q [J]; overlaps: of the contacts; reserve: what the correction may cost [J].
    """
    world, bodies = start.world, start.bodies
    if blocks.joints is None:
        budget = Budget(reserve, sweeps, bodies.size, bodies.least_weight)
        lifted, left, size = kernels.correct(
            bodies.arrays, bodies.forces, springs, blocks.arrays, overlaps, budget, q
        )
        return Corrected(q, lifted, left, NO_ERRORS, size)
    count, normals = blocks.count, blocks.K.offset[: blocks.count]
    joints = joint_rows(world, t, q.reshape(-1), v.reshape(-1), 0.0, 1.0)
    assert joints is not None
    free = np.repeat(joints.kind == cones.FREE, joints.size)
    sides = frozen(np.concatenate([blocks.sides[:count], np.repeat(joints.bodies, joints.size, axis=0)]))
    rows = np.concatenate([blocks.rows[normals], joints.rows])
    need = np.concatenate([overlaps.need, -joints.error])
    bilateral = np.concatenate([np.zeros(count, bool), free])
    opened = np.where(free, np.abs(joints.error), -joints.error)
    largest = max(overlaps.largest, float(opened.max(initial=0.0)))
    if sweeps == 0 or largest <= NEGLIGIBLE_OPENING * bodies.size:
        return Corrected(q, 0.0, overlaps.deepest, joint_errors(world, q.reshape(-1)), 0.0)
    tolerance, out = kernels.PRECISION * largest, np.empty_like(q)
    shift, moved = kernels.sweep_back(bodies.arrays, sides, rows, bilateral, need, tolerance, sweeps)
    share = 1.0
    for _ in range(kernels.TRIALS):
        lifted = kernels.shifted(bodies.arrays, q, shift, share, out)
        if start.forced:
            lifted += world.forces.potential(t, out.reshape(-1)) - springs
        if lifted <= reserve:
            break
        share *= min(reserve / lifted, 0.5) if share < 1.0 else reserve / lifted
    else:
        return Corrected(q, 0.0, overlaps.deepest, joint_errors(world, q.reshape(-1)), 0.0)
    depth = overlaps.depth - share * moved[:count]
    size = share * float(np.abs(moved).max(initial=0.0))
    return Corrected(out, lifted, float(depth.max(initial=0.0)), joint_errors(world, out.reshape(-1)), size)
