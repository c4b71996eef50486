"""Position correction: the smallest shift, in the metric of the masses, that removes overlaps and openings.

    Δq = M⁻¹ N π,   0 <= N' Δq - need ⟂ π >= 0,   N' Δq = need for bilateral rows

N are the normal rows and need = -gap. It is computed by projected symmetric Gauss-Seidel sweeps over the
rows. bodies: `BodyArrays`; blocks: `Blocks`.
"""

from typing import NamedTuple

import numpy as np

from stickslip.kernels.bodies.joint_blocks import joint_blocks
from stickslip.kernels.bodies.layout import Span
from stickslip.kernels.bodies.motion import rate
from stickslip.kernels.bodies.rotation import times, turn
from stickslip.kernels.bodies.springs import spring_potential
from stickslip.kernels.cones import FREE
from stickslip.kernels.jit import jit, jit_without_lock
from stickslip.state import Array, BoolArray, IntArray

NEGLIGIBLE = 1e-9
"""Overlaps up to this share of the smallest shape are not corrected [-] (heuristic)."""
NEGLIGIBLE_OPENING = 1e-12
"""The same share in worlds with joints [-] (heuristic)."""
WORTH = 1e-3
"""There is no correction if the reserve is smaller than the energy that lifts the lightest body by this share
of the overlap [-] (heuristic)."""
PRECISION = 1e-3
"""Tolerance of a correction, over the largest overlap [-] (heuristic)."""
TRIALS = 30
"""Largest number of reductions of a shift that needs more energy than the reserve (heuristic)."""


class Wanted(NamedTuple):
    """Constraints of a correction and their required shifts."""

    sides: IntArray
    """First and second body, -1 for the inertial frame [-], shape (m, 2)."""
    rows: Array
    """Rows N' over both sides [-, m], shape (m, 2, 6)."""
    bilateral: BoolArray
    """Whether the constraint is bilateral [-], shape (m,)."""
    need: Array
    """Required shifts [m, rad], shape (m,)."""
    largest: float
    """Largest required shift; its magnitude for bilateral constraints [m, rad]."""


class Pushing(NamedTuple):
    """State of the sweeps of a correction."""

    sides: IntArray
    """First and second body, see `Wanted` [-], shape (m, 2)."""
    rows: Array
    """Rows N' over both sides [-, m], shape (m, 2, 6)."""
    bilateral: BoolArray
    """Whether the constraint is bilateral [-], shape (m,)."""
    need: Array
    """Required shifts [m, rad], shape (m,)."""
    inverse: Array
    """M⁻¹ N; 0 for bodies without dynamics [1/kg, 1/(kg m)], shape (m, 2, 6)."""
    diagonal: Array
    """Diagonal of N' M⁻¹ N [1/kg], shape (m,)."""
    pi: Array
    """Multipliers π [kg m], shape (m,)."""
    moved: Array
    """Shifts N' Δq [m, rad], shape (m,)."""


@jit
def sweep_back(bodies, target, tolerance, sweeps):
    """Return (shift, moved): Δq (n, 6) of all bodies, and the shifts N' Δq (m,) of the constraints."""
    pushing, shift = pushing_of(bodies, target), np.zeros((bodies.row.shape[0], 6))
    for sweep in range(sweeps):
        push_once(bodies.row, pushing, shift, sweep % 2 == 1)
        if missing(pushing, shift) <= tolerance:
            break
    return shift, pushing.moved


@jit_without_lock
def pushing_of(bodies, target):
    """Return the initial `Pushing`, with π = 0."""
    sides, rows, row, m = target.sides, target.rows, bodies.row, target.need.shape[0]
    inverse, diagonal = np.zeros((m, 2, 6)), np.zeros(m)
    for c in range(m):
        for side in range(2):
            b = sides[c, side]
            if b >= 0 and row[b] >= 0:
                for k in range(3):
                    inverse[c, side, k] = rows[c, side, k] / bodies.mass[b]
                inverse[c, side, 3], inverse[c, side, 4], inverse[c, side, 5] = times(
                    bodies.J_inverse[b], rows[c, side, 3], rows[c, side, 4], rows[c, side, 5]
                )
                for k in range(6):
                    diagonal[c] += rows[c, side, k] * inverse[c, side, k]
    return Pushing(sides, rows, target.bilateral, target.need, inverse, diagonal, np.zeros(m), np.empty(m))


@jit_without_lock
def push_once(row, pushing, shift, backwards):
    """pushing.pi, shift (n, 6) <- π and Δq after a sweep over the constraints, first to last or backwards."""
    sides, rows, bilateral, need, inverse, diagonal, pi, _ = pushing
    m = need.shape[0]
    for step in range(m):
        c = m - 1 - step if backwards else step
        if diagonal[c] > 0.0:
            new = pi[c] + (need[c] - rate(sides[c], rows[c], shift)) / diagonal[c]
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


@jit_without_lock
def missing(pushing, shift):
    """Return the largest shift that is still missing; pushing.moved <- N' Δq."""
    largest = 0.0
    for c in range(pushing.need.shape[0]):
        pushing.moved[c] = rate(pushing.sides[c], pushing.rows[c], shift)
        remaining = pushing.need[c] - pushing.moved[c]
        largest = max(largest, abs(remaining) if pushing.bilateral[c] else remaining)
    return largest


@jit
def shifted(bodies, q, shift, share, out):
    """out (n, 7) <- q moved by share times Δq. Return the increase of the potential energy of gravity [J]."""
    lifted = 0.0
    for i in range(bodies.row.shape[0]):
        if bodies.row[i] >= 0:
            turn(q[i], shift[i], share, out[i])
            for k in range(3):
                lifted -= bodies.mass[i] * bodies.gravity[k] * (out[i, k] - q[i, k])
        else:
            for k in range(7):
                out[i, k] = q[i, k]
    return lifted


@jit
def correct(bodies, forces, springs, blocks, overlaps, budget, q):
    """q (n, 7) <- corrected poses.

    Return (energy added [J], largest remaining overlap [m], largest shift [m]). forces: `ForceArrays` or
    None; springs: potential energy of springs at q [J]; blocks: contacts only; overlaps: `Overlaps`; budget:
    `Budget`.
    """
    if is_idle(overlaps, budget):
        return 0.0, overlaps.deepest, 0.0
    m = overlaps.need.shape[0]
    normals = np.empty((m, 2, 6))
    take_normals(blocks, normals)
    target = Wanted(blocks.sides, normals, np.zeros(m, np.bool_), overlaps.need, overlaps.largest)
    return push_back(bodies, forces, springs, target, overlaps, budget, q)


@jit
def is_idle(overlaps, budget):
    """Return whether overlaps of contacts need no correction, or the reserve is too small for one."""
    largest = overlaps.largest
    idle = largest <= NEGLIGIBLE * budget.size or budget.reserve < WORTH * largest * budget.least_weight
    return budget.sweeps == 0 or idle


@jit
def correct_jointed(bodies, forces, linkage, springs, blocks, overlaps, budget, v, q):
    """Correct contacts and joints. Return (joint with invalid rows or -1, the three results of `correct`).

    linkage: `Linkage`; blocks: contacts first; v (n, 6): velocities at the end of the step.
    """
    c, nj = overlaps.need.shape[0], linkage.length.shape[0]
    bad, links = joint_blocks(linkage.joints, q, v, v, v, Span(0.0, 0.0), np.zeros((nj, 2)), False)
    if bad >= 0:
        return bad, 0.0, 0.0, 0.0
    # 1. One row per contact, and all rows of constraints of joints and of active stops.
    m, largest, at = c + links.bias.shape[0], overlaps.largest, c
    target = Wanted(
        np.empty((m, 2), np.int64), np.empty((m, 2, 6)), np.zeros(m, np.bool_), np.empty(m), largest
    )  # fmt: skip
    target.sides[:c], target.need[:c] = blocks.sides[:c], overlaps.need
    take_normals(blocks, target.rows[:c])
    target.rows[c:] = links.rows
    for i in range(links.size.shape[0]):
        for _ in range(links.size[i]):
            target.sides[at, 0], target.sides[at, 1] = links.bodies[i, 0], links.bodies[i, 1]
            target.bilateral[at], target.need[at] = links.kind[i] == FREE, -links.error[at - c]
            largest = max(largest, abs(target.need[at]) if target.bilateral[at] else target.need[at])
            at += 1
    # 2. Correction, unless all errors are rounding.
    if budget.sweeps == 0 or largest <= NEGLIGIBLE_OPENING * budget.size:
        return -1, 0.0, overlaps.deepest, 0.0
    target = Wanted(target.sides, target.rows, target.bilateral, target.need, largest)
    lifted, depth, moved = push_back(bodies, forces, springs, target, overlaps, budget, q)
    return -1, lifted, depth, moved


@jit
def take_normals(blocks, out):
    """out (m, 2, 6) <- the first rows of the first m blocks."""
    for i in range(out.shape[0]):
        for side in range(2):
            for k in range(6):
                out[i, side, k] = blocks.rows[blocks.offset[i], side, k]


@jit
def push_back(bodies, forces, springs, target, overlaps, budget, q):
    """Correct the constraints `target`, contacts first, as far as the reserve allows; return as `correct`."""
    shift, moved = sweep_back(bodies, target, PRECISION * target.largest, budget.sweeps)
    return pay(bodies, forces, springs, shift, moved, overlaps, budget, q)


@jit
def pay(bodies, forces, springs, shift, moved, overlaps, budget, q):
    """q <- q moved by the largest share of Δq whose energy the reserve covers; return as `correct`.

    shift (n, 6): Δq; moved (m,): N' Δq.
    """
    share, reserve, out = 1.0, budget.reserve, np.empty(q.shape)
    for _ in range(TRIALS):
        lifted = shifted(bodies, q, shift, share, out)
        if forces is not None:
            lifted += spring_potential(forces.springs, out.reshape(-1)) - springs
        if lifted <= reserve:
            depth = largest = 0.0
            for i in range(moved.shape[0]):
                if i < overlaps.depth.shape[0]:
                    depth = max(depth, overlaps.depth[i] - share * moved[i])
                largest = max(largest, abs(moved[i]))
            for i in range(q.shape[0]):
                for k in range(7):
                    q[i, k] = out[i, k]
            return lifted, depth, share * largest
        share *= min(reserve / lifted, 0.5) if share < 1.0 else reserve / lifted
    return 0.0, overlaps.deepest, 0.0
