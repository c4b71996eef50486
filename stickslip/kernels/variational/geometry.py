"""Where bodies are at the end of a step, and rows and values of its blocks.

bodies: (row, q, v, mass, J, p) as `StepProblem` has them; blocks: what `layout.lay_out` gives. Values are in
units of velocity: of what is held and of gaps (φ(z₊) - bounce) / h, of everything else rows times velocities.
Rows of the end are derivatives of values by v: rows of the geometry at z₊ times the derivative of Cayley's
map, δθ₊ = h (δΩ - a × δΩ) / (1 + a·a) with a = h Ω / 2 in the frame of the body at z₊.
"""

import numpy as np

from stickslip.kernels.bodies.gaps import LINEARISED, gap_and_normal, rotations, rows_at, world_point
from stickslip.kernels.bodies.joint_geometry import (
    DRY,
    HOLD,
    LOWER,
    block_rows,
    place_joint,
    point_row,
    scene,
)
from stickslip.kernels.bodies.motion import move_along, row_velocity
from stickslip.kernels.jit import jit
from stickslip.kernels.variational.law import COLUMNS, Y
from stickslip.kernels.variational.layout import NONNEGATIVE


@jit
def gap_row(contacts, i, x, R, n, c, row):
    """Gap of a contact [m] and its row (2, 6) at bodies in x, R; n (3,) <- its normal, c (2, 3) its
    points."""
    kind, body, point, normal, radius = contacts[0], contacts[1], contacts[2], contacts[3], contacts[4]
    first, second = body[i, 0], body[i, 1]
    gap = gap_and_normal(kind[i], first, second, point[i], normal[i], radius[i], x, R, n, c)
    # a plane turns with the second body, and the centres of balls are both on the line of n: one arm for all
    point_row(n, R[first], x[first], c[0], 1.0, row[0])
    point_row(n, R[second], x[second], c[0], -1.0, row[1])
    return gap


@jit
def contact_rows(contacts, blocks, q, rows):
    """rows <- H' of all contacts at q (n, 7): normal, tangents, rolling about t1, t2, torsion about n."""
    kind, body, point, radius, frame, law = (
        contacts[0], contacts[1], contacts[2], contacts[4], contacts[6], contacts[7],
    )  # fmt: skip
    offset, n = blocks[1], q.shape[0]
    x, R, c, all_rows = (
        np.empty((n + 1, 3)), np.empty((n + 1, 3, 3)), np.empty((2, 3)), np.empty((6, 2, 6)),
    )  # fmt: skip
    rotations(q, x, R)
    for i in range(kind.shape[0]):
        first, second = body[i, 0], body[i, 1]
        world_point(x, R, first, point[i, 0], c[0])
        world_point(x, R, second, point[i, 1], c[1])
        rows_at(kind[i], first, second, radius[i], frame[i], x, R, c, all_rows)
        at = offset[i]
        for k in range(6):
            if k < 3 or (k < 5 and law[i, 1] > 0.0) or (k == 5 and law[i, 2] > 0.0):
                for side in range(2):
                    for m in range(6):
                        rows[at, side, m] = all_rows[k, side, m]
                at += 1
    clear_fixed(0, kind.shape[0], blocks, rows)


@jit
def clear_fixed(first, last, blocks, rows):
    """Rows of the inertial frame are 0."""
    offset, sides = blocks[1], blocks[8]
    for i in range(first, last):
        for side in range(2):
            if sides[i, side] < 0:
                for k in range(offset[i], offset[i + 1]):
                    for m in range(6):
                        rows[k, side, m] = 0.0


@jit
def joint_blocks(joints, blocks, q, first, friction, X, rows):
    """Column Y of X (n, 9), rows <- errors and gaps [m, rad] and rows of all blocks of joints at q (n, 7).

    first: number of contacts. Rows of dry friction, which stand at the start, only where `friction` is true;
    values of it never.
    """
    kinds, body, point, frame, length, lower, upper, bounce = (
        joints[0], joints[1], joints[2], joints[3], joints[4], joints[5], joints[6], joints[8],
    )  # fmt: skip
    offset, joint, part = blocks[1], blocks[9], blocks[10]
    flat, at, value, last = q.reshape(-1), scene(q), np.empty(6), -1
    for i in range(first, joint.shape[0]):
        j, k = joint[i], offset[i]
        if j != last:
            place_joint(body[j], point[j], frame[j], flat, at)
            last = j
        c, what = (part[i] - LOWER) // 3, (part[i] - LOWER) % 3
        dry = part[i] != HOLD and what == DRY - LOWER
        if dry and not friction:
            continue
        size = block_rows(part[i], kinds[j], length[j], frame[j], lower[j], upper[j], at, rows[k:], value)
        if not dry:
            for m in range(size):
                X[k + m, Y] = value[m]
            if part[i] != HOLD:
                X[k, Y] -= bounce[j, c, what]
    clear_fixed(first, joint.shape[0], blocks, rows)


@jit
def start_rows(contacts, joints, blocks, q, rows):
    """rows (n, 2, 6) <- H' of all blocks at q (n, 7)."""
    contact_rows(contacts, blocks, q, rows)
    joint_blocks(joints, blocks, q, contacts[0].shape[0], True, np.empty((rows.shape[0], COLUMNS)), rows)


@jit
def through_cayley(h, v, b, row):
    """row (6,) at the end <- row times the derivative of Cayley's map at h Ω of body b."""
    a0, a1, a2 = 0.5 * h * v[b, 3], 0.5 * h * v[b, 4], 0.5 * h * v[b, 5]
    scale = 1.0 / (1.0 + a0 * a0 + a1 * a1 + a2 * a2)
    r0, r1, r2 = row[3], row[4], row[5]
    row[3] = scale * (r0 - (r1 * a2 - r2 * a1))
    row[4] = scale * (r1 - (r2 * a0 - r0 * a2))
    row[5] = scale * (r2 - (r0 * a1 - r1 * a0))


@jit
def end_values(h, bodies, contacts, joints, blocks, rows, v, q_end, X, end_rows):
    """q_end, column Y of X (n, 9), end_rows <- where bodies are after v (n, 6), values of all blocks and
    their derivatives.

    rows: those of the start; end_rows must hold a copy of them at the first call: only what the end changes
    is written.
    """
    kinds, gap, bounce = contacts[0], contacts[5], contacts[8]
    kind, offset, sides = blocks[0], blocks[1], blocks[8]
    n, nc = q_end.shape[0], kinds.shape[0]
    move_along(bodies[1], v, h, q_end)
    x, R = np.empty((n + 1, 3)), np.empty((n + 1, 3, 3))
    rotations(q_end, x, R)
    normal, c = np.empty(3), np.empty((2, 3))
    joint_blocks(joints, blocks, q_end, nc, False, X, end_rows)
    for i in range(kind.shape[0]):
        at, end = offset[i], offset[i + 1]
        moves = at  # components whose rows are those of the end
        if i >= nc:
            moves = end if blocks[10][i] == HOLD or kind[i] == NONNEGATIVE else at
        elif kinds[i] == LINEARISED:
            X[at, Y] = (gap[i] - bounce[i]) / h + row_velocity(sides, rows, i, at, v)
        else:
            X[at, Y] = gap_row(contacts, i, x, R, normal, c, end_rows[at]) - bounce[i]
            moves = at + 1
        for k in range(at, moves):
            X[k, Y] /= h
            for side in range(2):
                if sides[i, side] >= 0:
                    through_cayley(h, v, sides[i, side], end_rows[k, side])
                else:
                    for m in range(6):
                        end_rows[k, side, m] = 0.0
        for k in range(moves, end):
            if k > at or i >= nc:
                X[k, Y] = row_velocity(sides, rows, i, k, v)
