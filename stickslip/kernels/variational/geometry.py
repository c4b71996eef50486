"""Poses of bodies at the end of a step, and rows and values of its blocks.

step: `StepArrays`. Values are in units of velocity: (φ(z₊) - bounce) / h for constraints of joints and for
gaps, rows times velocities for friction. Rows at the end are derivatives of the values with respect to v:
rows of the geometry at z₊ times the derivative of the Cayley map, δθ₊ = h (δΩ - a × δΩ) / (1 + a·a) with a =
h Ω / 2 in the frame of the body at z₊.
"""

import numpy as np

from stickslip.kernels.bodies.gaps import LINEARISED, gap_and_normal, poses_of, rows_at, world_point
from stickslip.kernels.bodies.joint_geometry import (
    DRY,
    HOLD,
    LOWER,
    block_rows,
    place_joint,
    point_row,
    scene,
)
from stickslip.kernels.bodies.motion import move_along, rate
from stickslip.kernels.cones import NONNEGATIVE
from stickslip.kernels.jit import jit
from stickslip.kernels.variational.law import COLUMNS, Y


@jit
def clear_fixed(first, blocks, rows):
    """rows <- 0 for sides that are the inertial frame, in blocks from `first` on."""
    offset = blocks.K.offset
    for i in range(first, blocks.sides.shape[0]):
        for side in range(2):
            if blocks.sides[i, side] < 0:
                for k in range(offset[i], offset[i + 1]):
                    for m in range(6):
                        rows[k, side, m] = 0.0


@jit
def joint_blocks(step, q, friction, X, rows):
    """Column Y of X (n, 9), rows <- errors and gaps [m, rad], and rows, of all blocks of joints at q (n, 7).

    Rows of dry friction are written only if `friction` is True, since they are those at the start; its values
    are never written.
    """
    joints, blocks, nc = step.joints, step.blocks, step.contacts.gap.shape[0]
    flat, at, value, last = q.reshape(-1), scene(q), np.empty(6), -1
    for i in range(nc, blocks.joint.shape[0]):
        j, part, k = blocks.joint[i], blocks.part[i], blocks.K.offset[i]
        if j != last:
            place_joint(joints, j, joints.body[j], flat, at)
            last = j
        c, direction = (part - LOWER) // 3, (part - LOWER) % 3
        dry = part != HOLD and direction == DRY - LOWER
        if dry and not friction:
            continue
        size = block_rows(part, joints, j, at, rows[k:], value)
        if not dry:
            for m in range(size):
                X[k + m, Y] = value[m]
            if part != HOLD:
                X[k, Y] -= joints.bounce[j, c, direction]
    clear_fixed(nc, blocks, rows)


@jit
def start_rows(step, rows):
    """rows (n, 2, 6) <- H' of all blocks at the start.

    Rows of a contact are normal, tangents, rolling about t1, t2, torsion about n.
    """
    forms, law, q, all_rows = step.contacts.forms, step.contacts.law, step.bodies.q, np.empty((6, 2, 6))
    poses, normal, c = poses_of(q), np.empty(3), np.empty((2, 3))
    for i in range(forms.kind.shape[0]):
        pair = forms.body[i, 0], forms.body[i, 1]
        if forms.kind[i] == LINEARISED:
            for side in range(2):
                world_point(poses, pair[side], forms.point[i, side], c[side])
        else:
            gap_and_normal(forms, i, poses, normal, c)
        rows_at(forms.kind[i], pair, forms.radius[i], step.contacts.frame[i], poses, c, all_rows)
        at = step.blocks.K.offset[i]
        for k in range(6):
            if k < 3 or (k < 5 and law[i, 1] > 0.0) or (k == 5 and law[i, 2] > 0.0):
                for side in range(2):
                    for m in range(6):
                        rows[at, side, m] = all_rows[k, side, m]
                at += 1
    joint_blocks(step, q, True, np.empty((rows.shape[0], COLUMNS)), rows)
    clear_fixed(0, step.blocks, rows)


@jit
def through_cayley(h, v, b, row):
    """row (6,) <- row at the end times the derivative of the Cayley map at h Ω of body b."""
    a0, a1, a2 = 0.5 * h * v[b, 3], 0.5 * h * v[b, 4], 0.5 * h * v[b, 5]
    scale = 1.0 / (1.0 + a0 * a0 + a1 * a1 + a2 * a2)
    r0, r1, r2 = row[3], row[4], row[5]
    row[3] = scale * (r0 - (r1 * a2 - r2 * a1))
    row[4] = scale * (r1 - (r2 * a0 - r0 * a2))
    row[5] = scale * (r2 - (r0 * a1 - r1 * a0))


@jit
def end_values(step, rows, v, q_end, X, end_rows):
    """q_end, column Y of X (n, 9), end_rows <- poses, values and rows after velocities v (n, 6).

    rows: those at the start. On the first call end_rows must be a copy of them, since rows that do not depend
    on the end are not written.
    """
    # 1. Poses at the end, and blocks of joints.
    h, contacts, forms, sides = step.h, step.contacts, step.contacts.forms, step.blocks.sides
    kind, offset, nc = step.blocks.K.kind, step.blocks.K.offset, forms.kind.shape[0]
    move_along(step.bodies.q, v, h, q_end)
    poses, normal, c = poses_of(q_end), np.empty(3), np.empty((2, 3))
    joint_blocks(step, q_end, False, X, end_rows)
    for i in range(kind.shape[0]):
        # 2. Gaps of contacts; rows from `at` to `end_moving` - 1 are those at the end.
        at, end = offset[i], offset[i + 1]
        end_moving = at
        if i >= nc:
            end_moving = end if step.blocks.part[i] == HOLD or kind[i] == NONNEGATIVE else at
        elif forms.kind[i] == LINEARISED:
            X[at, Y] = (contacts.gap[i] - contacts.bounce[i]) / h + rate(sides[i], rows[at], v)
        else:
            X[at, Y] = gap_and_normal(forms, i, poses, normal, c) - contacts.bounce[i]
            # One point for both sides: a plane rotates with the second body, and the points of other shapes
            # lie on the same line along n.
            for side in range(2):
                b, sign = forms.body[i, side], 1.0 if side == 0 else -1.0
                point_row(normal, poses.R[b], poses.x[b], c[0], sign, end_rows[at, side])
            end_moving = at + 1
        # 3. Units of velocity, and the derivative of the Cayley map; other values are rates.
        for k in range(at, end_moving):
            X[k, Y] /= h
            for side in range(2):
                if sides[i, side] >= 0:
                    through_cayley(h, v, sides[i, side], end_rows[k, side])
                else:
                    for m in range(6):
                        end_rows[k, side, m] = 0.0
        for k in range(end_moving, end):
            if k > at or i >= nc:
                X[k, Y] = rate(sides[i], rows[k], v)
