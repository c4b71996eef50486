"""Position correction: the shortest way, measured by the masses, back to where nothing overlaps.

    Δq = M⁻¹ N π,   0 <= N' Δq - need ⟂ π >= 0,   = for bilateral rows

with N the normal rows and need = -gap; projected Gauss-Seidel sweeps over the rows, forth and back.
bodies: `BodyArrays`; blocks: `Blocks`.
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
"""Overlaps up to this share of the smallest shape are left as they are."""
NEGLIGIBLE_OPENING = 1e-12
"""The same where there are joints."""
WORTH = 1e-3
"""Share of an overlap that the reserve must at least be able to undo of the lightest body."""
PRECISION = 1e-3
"""Share of the deepest overlap up to which it is corrected."""
TRIALS = 30
"""Most halvings of a shift that is dearer than the reserve."""


class Wanted(NamedTuple):
    """What a correction is to move, one row a constraint."""

    sides: IntArray
    """First and second body, -1 for the inertial frame [-], shape (m, 2)."""
    rows: Array
    """[-, m], shape (m, 2, 6)."""
    bilateral: BoolArray
    """Whether no further either [-], shape (m,)."""
    need: Array
    """How far [m, rad], shape (m,)."""
    largest: float
    """Of `need`, of either sign where bilateral [m, rad]."""


class Pushing(NamedTuple):
    """Constraints that bodies are moved by, and how far they have moved them."""

    sides: IntArray
    """As `Wanted` has it [-], shape (m, 2)."""
    rows: Array
    """[-, m], shape (m, 2, 6)."""
    bilateral: BoolArray
    """[-], shape (m,)."""
    need: Array
    """[m, rad], shape (m,)."""
    inverse: Array
    """M⁻¹ N, 0 on sides that do not move [1/kg, 1/(kg m)], shape (m, 2, 6)."""
    diagonal: Array
    """Of N' M⁻¹ N [1/kg], shape (m,)."""
    pi: Array
    """Multipliers [kg m], shape (m,)."""
    moved: Array
    """N' Δq [m, rad], shape (m,)."""


@jit
def sweep_back(bodies, wanted, tolerance, sweeps):
    """(shift, moved): Δq (n, 6) of all bodies, and how far it moves each constraint (m,)."""
    pushing, shift = pushing_of(bodies, wanted), np.zeros((bodies.row.shape[0], 6))
    for sweep in range(sweeps):
        push_once(bodies.row, pushing, shift, sweep % 2 == 1)
        if missing(pushing, shift) <= tolerance:
            break
    return shift, pushing.moved


@jit_without_lock
def pushing_of(bodies, wanted):
    """The `Pushing` before anything has moved."""
    sides, rows, row, m = wanted.sides, wanted.rows, bodies.row, wanted.need.shape[0]
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
    return Pushing(sides, rows, wanted.bilateral, wanted.need, inverse, diagonal, np.zeros(m), np.empty(m))


@jit_without_lock
def push_once(row, pushing, shift, backwards):
    """One sweep over the constraints, first to last or backwards; shift <- Δq."""
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
    """How far constraints still have to move, at most; `moved` <- how far they have."""
    left = 0.0
    for c in range(pushing.need.shape[0]):
        pushing.moved[c] = rate(pushing.sides[c], pushing.rows[c], shift)
        ahead = pushing.need[c] - pushing.moved[c]
        left = max(left, abs(ahead) if pushing.bilateral[c] else ahead)
    return left


@jit
def shifted(bodies, q, shift, share, out):
    """out <- q moved by share Δq; returns what gravity's potential gained [J]."""
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
    """(energy given [J], deepest overlap left [m], largest displacement [m]); q (n, 7) <- corrected.

    forces: `ForceArrays` or None; springs: their potential at q [J]; blocks: of contacts alone; overlaps:
    `Overlaps`; budget: `Budget`.
    """
    if is_idle(overlaps, budget):
        return 0.0, overlaps.deepest, 0.0
    m = overlaps.need.shape[0]
    normals = np.empty((m, 2, 6))
    take_normals(blocks, normals)
    wanted = Wanted(blocks.sides, normals, np.zeros(m, np.bool_), overlaps.need, overlaps.largest)
    return push_back(bodies, forces, springs, wanted, overlaps, budget, q)


@jit
def is_idle(overlaps, budget):
    """Whether overlaps of contacts need no correction, or the reserve cannot pay for any."""
    largest = overlaps.largest
    idle = largest <= NEGLIGIBLE * budget.size or budget.reserve < WORTH * largest * budget.least_weight
    return budget.sweeps == 0 or idle


@jit
def correct_jointed(bodies, forces, linkage, springs, blocks, overlaps, budget, v, q):
    """(joint that cannot be, or -1; what `correct` tells), of contacts and joints, which open as they turn.

    linkage: `Linkage`; blocks: contacts first; v (n, 6): at the end of the step.
    """
    c, nj = overlaps.need.shape[0], linkage.length.shape[0]
    bad, found = joint_blocks(linkage.joints, q, v, v, v, Span(0.0, 0.0), np.zeros((nj, 2)), False)
    if bad >= 0:
        return bad, 0.0, 0.0, 0.0
    # 1. One row per contact, and all rows of joints that hold or have reached a stop.
    m, largest, at = c + found.bias.shape[0], overlaps.largest, c
    wanted = Wanted(
        np.empty((m, 2), np.int64), np.empty((m, 2, 6)), np.zeros(m, np.bool_), np.empty(m), largest
    )  # fmt: skip
    wanted.sides[:c], wanted.need[:c] = blocks.sides[:c], overlaps.need
    take_normals(blocks, wanted.rows[:c])
    wanted.rows[c:] = found.rows
    for i in range(found.size.shape[0]):
        for _ in range(found.size[i]):
            wanted.sides[at, 0], wanted.sides[at, 1] = found.bodies[i, 0], found.bodies[i, 1]
            wanted.bilateral[at], wanted.need[at] = found.kind[i] == FREE, -found.error[at - c]
            largest = max(largest, abs(wanted.need[at]) if wanted.bilateral[at] else wanted.need[at])
            at += 1
    # 2. What is open by more than rounding is closed.
    if budget.sweeps == 0 or largest <= NEGLIGIBLE_OPENING * budget.size:
        return -1, 0.0, overlaps.deepest, 0.0
    wanted = Wanted(wanted.sides, wanted.rows, wanted.bilateral, wanted.need, largest)
    lifted, left, moved = push_back(bodies, forces, springs, wanted, overlaps, budget, q)
    return -1, lifted, left, moved


@jit
def take_normals(blocks, out):
    """out (m, 2, 6) <- the first rows of the first m blocks."""
    for i in range(out.shape[0]):
        for side in range(2):
            for k in range(6):
                out[i, side, k] = blocks.rows[blocks.offset[i], side, k]


@jit
def push_back(bodies, forces, springs, wanted, overlaps, budget, q):
    """`correct` where something is to be moved: as much of it as the reserve pays for.   wanted: `Wanted`,
    contacts first."""
    shift, moved = sweep_back(bodies, wanted, PRECISION * wanted.largest, budget.sweeps)
    return pay(bodies, forces, springs, shift, moved, overlaps, budget, q)


@jit
def pay(bodies, forces, springs, shift, moved, overlaps, budget, q):
    """`correct` by this Δq (n, 6), which moves constraints so far (m,): as much as the reserve pays for."""
    share, reserve, out = 1.0, budget.reserve, np.empty(q.shape)
    for _ in range(TRIALS):
        lifted = shifted(bodies, q, shift, share, out)
        if forces is not None:
            lifted += spring_potential(forces.springs, out.reshape(-1)) - springs
        if lifted <= reserve:
            depth = most = 0.0
            for i in range(moved.shape[0]):
                if i < overlaps.depth.shape[0]:
                    depth = max(depth, overlaps.depth[i] - share * moved[i])
                most = max(most, abs(moved[i]))
            for i in range(q.shape[0]):
                for k in range(7):
                    q[i, k] = out[i, k]
            return lifted, depth, share * most
        share *= min(reserve / lifted, 0.5) if share < 1.0 else reserve / lifted
    return 0.0, overlaps.deepest, 0.0
