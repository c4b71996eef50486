"""Position correction: the shortest way, measured by the masses, back to where nothing overlaps.

    Δq = M⁻¹ N π,   0 <= N' Δq - need ⟂ π >= 0,   = for bilateral rows

with N the normal rows and need = -gap; projected Gauss-Seidel sweeps over the rows, forth and back.
Blocks and bodies as in `motion.py`.
"""

import numpy as np

from stickslip.kernels.bodies.motion import row_velocity
from stickslip.kernels.bodies.rotation import times, turn
from stickslip.kernels.bodies.springs import spring_potential
from stickslip.kernels.jit import jit

NEGLIGIBLE = 1e-9
"""Overlaps up to this share of the smallest shape are left as they are."""
WORTH = 1e-3
"""Share of an overlap that the reserve must at least be able to undo of the lightest body."""
PRECISION = 1e-3
"""Share of the deepest overlap up to which it is corrected."""
TRIALS = 30
"""Most halvings of a shift that is dearer than the reserve."""
OPENS = 1e-3
"""A contact that opens by more than this share of its overlap in a step needs no correction."""


@jit
def sweep_back(row, mass, J_inverse, sides, rows, bilateral, need, tolerance, sweeps, shift, moved):
    """shift, moved <- Δq of all bodies (zero on entry), and how far it moves each constraint.

    sides (m, 2), rows (m, 2, 6), bilateral, need, moved (m,): one row per constraint; shift (n, 6).
    """
    m = need.shape[0]
    inverse, diagonal, pi = np.zeros((m, 2, 6)), np.zeros(m), np.zeros(m)
    for c in range(m):
        for side in range(2):
            b = sides[c, side]
            if b >= 0 and row[b] >= 0:
                for k in range(3):
                    inverse[c, side, k] = rows[c, side, k] / mass[b]
                inverse[c, side, 3], inverse[c, side, 4], inverse[c, side, 5] = times(
                    J_inverse[b], rows[c, side, 3], rows[c, side, 4], rows[c, side, 5]
                )
                for k in range(6):
                    diagonal[c] += rows[c, side, k] * inverse[c, side, k]
    for sweep in range(sweeps):
        for step in range(m):
            c = step if sweep % 2 == 0 else m - 1 - step
            if diagonal[c] > 0.0:
                new = pi[c] + (need[c] - row_velocity(sides, rows, c, c, shift)) / diagonal[c]
                if not bilateral[c]:
                    new = max(new, 0.0)
                change = new - pi[c]
                pi[c] = new
                if change != 0.0:
                    for side in range(2):
                        b = sides[c, side]
                        if b >= 0 and row[b] >= 0:
                            for k in range(6):
                                shift[b, k] += inverse[c, side, k] * change
        left = 0.0
        for c in range(m):
            moved[c] = row_velocity(sides, rows, c, c, shift)
            missing = need[c] - moved[c]
            left = max(left, abs(missing) if bilateral[c] else missing)
        if left <= tolerance:
            break


@jit
def shifted(row, mass, gravity, q, shift, share, out):
    """out <- q moved by share Δq; returns what gravity's potential gained [J]."""
    lifted = 0.0
    for i in range(row.shape[0]):
        if row[i] >= 0:
            turn(q[i], shift[i], share, out[i])
            for k in range(3):
                lifted -= mass[i] * gravity[k] * (out[i, k] - q[i, k])
        else:
            for k in range(7):
                out[i, k] = q[i, k]
    return lifted


@jit
def is_idle(largest, reserve, size, least_weight):
    """Whether overlaps need no correction, or the reserve cannot pay for any.

    largest: need [m]; size: of the smallest shape [m]; least_weight: of a dynamic body [N].
    """
    return largest <= NEGLIGIBLE * size or reserve < WORTH * largest * least_weight


@jit
def correct(
    bodies, forces, springs, sides, offset, rows, gap, u, reach, reserve, sweeps, size, least_weight, need,
    deepest, largest, q,
):  # fmt: skip
    """(energy given [J], deepest overlap left [m], largest displacement [m]); q (n, 7) <- corrected.

    bodies: `BodyArrays`; forces: `ForceArrays` or None; springs: their potential at q [J]; contacts: sides,
    offset, rows, gap, and u as `motion.py` has them; need, deepest and largest as `needs` found them;
    reserve: what the correction may cost [J].
    """
    if sweeps == 0 or is_idle(largest, reserve, size, least_weight):
        return 0.0, deepest, 0.0
    m = gap.shape[0]
    normals, bilateral = np.empty((m, 2, 6)), np.zeros(m, np.bool_)
    shift, moved, out = np.zeros((q.shape[0], 6)), np.empty(m), np.empty(q.shape)
    for i in range(m):
        for side in range(2):
            for k in range(6):
                normals[i, side, k] = rows[offset[i], side, k]
    sweep_back(
        bodies.row, bodies.mass, bodies.J_inverse, sides, normals, bilateral, need, PRECISION * largest,
        sweeps, shift, moved,
    )  # fmt: skip
    share = 1.0
    for _ in range(TRIALS):
        lifted = shifted(bodies.row, bodies.mass, bodies.gravity, q, shift, share, out)
        if forces is not None:
            lifted += spring_potential(forces, out.reshape(-1)) - springs
        if lifted <= reserve:
            depth = most = 0.0
            for i in range(m):
                depth = max(depth, -(gap[i] + reach * u[offset[i]]) - share * moved[i])
                most = max(most, abs(moved[i]))
            for i in range(q.shape[0]):
                for k in range(7):
                    q[i, k] = out[i, k]
            return lifted, depth, share * most
        share *= min(reserve / lifted, 0.5) if share < 1.0 else reserve / lifted
    return 0.0, deepest, 0.0


@jit
def needs(gap, reach, offset, u, need):
    """need <- how far each contact is to be moved apart; returns the deepest overlap, and the largest need.

    One that overlaps and opens by itself is only kept from closing; one with a gap may use it up.
    """
    deepest, largest = 0.0, 0.0
    for i in range(gap.shape[0]):
        opened = reach * u[offset[i]]
        depth = -(gap[i] + opened)
        deepest = max(deepest, depth)
        need[i] = 0.0 if opened > OPENS * depth > 0.0 else depth
        largest = max(largest, need[i])
    return deepest, largest
