"""Joints of rigid bodies: rows of H', errors, stops, dry friction and efforts, all joints in one call.

joints: `JointArrays`; q (7 n,), v (6 n,), real or, for efforts, complex (`rotation.py`).
"""

import math
from typing import Any, NamedTuple

import numpy as np

from stickslip.kernels.bodies.joint_geometry import (
    DISTANCE,
    DRY,
    HOLD,
    LOWER,
    PARTS,
    UPPER,
    angle_row,
    block_rows,
    coordinate_row,
    dot,
    held,
    hold_rows,
    leaves,
    line_row,
    place_joint,
    scene,
    slide_row,
)
from stickslip.kernels.bodies.motion import least_rate, rate
from stickslip.kernels.bodies.rotation import cross
from stickslip.kernels.bodies.rotation import turn as move
from stickslip.kernels.cones import FREE, INTERVAL, NONNEGATIVE
from stickslip.kernels.jit import jit

SHARE = 5e-2
"""Openings of joints above this are errors of the scheme at any speed, over the arms of a joint [-], and in
rad (heuristic)."""


@jit
def joint_rows(joints, q, v, v_free, v_ahead, span, slack, out):
    """out, `JointRowArrays` <- blocks of all joints. Return (blocks, rows, joint with invalid rows or -1).

    Rows are taken at q and act on velocities at the end of the step, θ h later. Their change until then is a
    bias, H(q ⊕ θ h v)' v_ahead - H(q)' v, where v_ahead are the velocities after free rotation until then.
    Without it a joint on a curved path loses energy to first order in h, with it to second order.

    A stop is active if its predicted gap + θ h u is at most 0, or if both that and its gap are at most slack
    (nj, 2), of sliding and turning; u is the `least_rate` of v and v_free. If the stop is approached, its
    bias contains e u(v). Velocities are (n, 6); span: `Span`.
    """
    rows, size, kind, bias, bounce, error = out.rows, out.size, out.kind, out.bias, out.bounce, out.error
    lower, upper, reach, flat = joints.lower, joints.upper, span.reach, q.reshape(-1)
    at, end_at, moved, pair = scene(q), scene(q), np.empty(14), np.empty(2, np.int64)
    row, end_row, end_rows, end_error = np.empty((2, 6)), np.empty((2, 6)), np.empty((6, 2, 6)), np.empty(6)
    m, n = 0, 0
    for j in range(joints.kind.shape[0]):
        first, first_block, body = n, m, joints.body[j]
        place_joint(joints, j, body, flat, at)
        # 1. The joint at q, and at the end of the step.
        for side in range(2):
            i, to = body[side], 7 * side
            pair[side] = side if i >= 0 else -1
            if i >= 0:
                move(q[i], v[i], reach, moved[to : to + 7])
        place_joint(joints, j, pair, moved, end_at)
        # 2. Bilateral constraints.
        place, turn = held(joints.kind[j], lower[j, 0], upper[j, 0])
        if place + turn > 0:
            hold_rows(joints, j, at, place, turn, rows[n:], error[n:])
            hold_rows(joints, j, end_at, place, turn, end_rows, end_error)
            for k in range(place + turn):
                bias[n + k] = rate(body, end_rows[k], v_ahead) - rate(body, rows[n + k], v)
                bounce[n + k], out.forecast[n + k] = 0.0, -np.inf
            size[m], kind[m], out.part[m] = place + turn, FREE, HOLD
            out.low[m], out.high[m] = -np.inf, np.inf
            m, n = m + 1, n + place + turn
        # 3. Stops and dry friction of sliding and turning.
        for c in range(2):
            if not leaves(c, joints.kind[j], lower[j, 0], upper[j, 0]):
                continue
            y = coordinate_row(c, joints, j, at, row)
            coordinate_row(c, joints, j, end_at, end_row)
            before = rate(body, row, v)
            gain = rate(body, end_row, v_ahead) - before
            for end in range(2):
                sign = 1.0 if end == 0 else -1.0
                gap = sign * (y - lower[j, c]) if end == 0 else sign * (y - upper[j, c])
                ahead = gap + reach * least_rate(sign, body, row, v, v_free)
                if not ahead > 0.0 or max(gap, ahead) <= slack[j, c]:  # as `kernels/activation.py`
                    write_row(sign, row, rows[n])
                    bounce[n] = joints.bounce[j] * min(sign * before, 0.0)
                    error[n], out.forecast[n], bias[n] = gap, ahead, sign * gain + bounce[n]
                    size[m], kind[m], out.part[m] = 1, NONNEGATIVE, LOWER + 3 * c + end
                    out.low[m], out.high[m] = 0.0, np.inf
                    m, n = m + 1, n + 1
            most = span.h * joints.friction[j, c]
            if most > 0.0:
                write_row(1.0, row, rows[n])
                error[n], out.forecast[n], bounce[n], bias[n] = 0.0, -np.inf, 0.0, gain
                size[m], kind[m], out.part[m] = 1, INTERVAL, DRY + 3 * c
                out.low[m], out.high[m] = -most, most
                m, n = m + 1, n + 1
        for i in range(first_block, m):
            out.joint[i] = j
            out.bodies[i, 0], out.bodies[i, 1] = body[0], body[1]
        if not finite_rows(body, rows[first:n], error[first:n], bias[first:n]):
            return m, n, j
    return m, n, -1


@jit
def write_row(sign, row, out):
    """out (2, 6) <- sign times row."""
    for side in range(2):
        for k in range(6):
            out[side, k] = sign * row[side, k]


@jit
def finite_rows(body, rows, error, bias):
    """Return whether all rows are finite and none is 0; rows <- 0 on sides that are the inertial frame."""
    for i in range(rows.shape[0]):
        finite, nonzero = math.isfinite(error[i]) and math.isfinite(bias[i]), False
        for side in range(2):
            for k in range(6):
                finite = finite and math.isfinite(rows[i, side, k])
                nonzero = nonzero or rows[i, side, k] != 0.0
                if body[side] < 0:
                    rows[i, side, k] = 0.0
        if not (finite and nonzero):
            return False
    return True


@jit
def joint_openings(joints, q, opening):
    """opening (nj, 2) <- error of each joint or distance beyond a stop, of sliding and turning [m, rad]."""
    at, row, rows, error = scene(q), np.empty((2, 6)), np.empty((6, 2, 6)), np.empty(6)
    lower, upper = joints.lower, joints.upper
    for j in range(joints.kind.shape[0]):
        place_joint(joints, j, joints.body[j], q, at)
        place, turn = held(joints.kind[j], lower[j, 0], upper[j, 0])
        hold_rows(joints, j, at, place, turn, rows, error)
        for c in range(2):
            square = 0.0
            for k in range(place * c, place + turn * c):
                square += error[k] * error[k]
            size = math.sqrt(square)
            # Errors of rotation are sines of the angle between axes, or twice the sines of half the angle.
            if c == 1 and turn == 2:
                size = math.atan2(size, dot(at.axes[0, 0], at.axes[1, 0]))
            elif c == 1:
                size = 2.0 * math.asin(min(0.5 * size, 1.0))
            if leaves(c, joints.kind[j], lower[j, 0], upper[j, 0]):
                y = coordinate_row(c, joints, j, at, row)
                beyond = max(lower[j, c] - y, y - upper[j, c])
                if not beyond <= size:
                    size = beyond
            opening[j, c] = size


@jit
def nearly_closed(opening, reach):
    """Return whether all openings (nj, 2) are within SHARE of the arms reach (nj,) [m], and of 1 rad."""
    closed = True
    for j in range(opening.shape[0]):
        closed = closed and opening[j, 0] <= SHARE * reach[j] and opening[j, 1] <= SHARE
    return closed


@jit
def joint_coordinates(joints, q, v, place, speed):
    """place, speed (nj, 2) <- s and angle of each joint [m, rad], and their rates [m/s, rad/s].

    Coordinates that the joint constrains are 0, except for the length of a distance joint.
    """
    at, row, twist = scene(q), np.empty((2, 6)), v.reshape(-1, 6)
    for j in range(joints.kind.shape[0]):
        place_joint(joints, j, joints.body[j], q, at)
        for c in range(2):
            kind, place[j, c], speed[j, c] = joints.kind[j], 0.0, 0.0
            if leaves(c, kind, joints.lower[j, 0], joints.upper[j, 0]) or (c == 0 and kind == DISTANCE):
                place[j, c] = slide_row(kind, at, row) if c == 0 else angle_row(at, row)
                speed[j, c] = rate(joints.body[j], row, twist)


@jit
def held_rows(joints, j, place, turn, q, rows, error):
    """rows (place + turn, 2, 6), error <- those of the constraints of joint j at q.

    place, turn: numbers of constraints of translation and of rotation.
    """
    at = scene(q)
    place_joint(joints, j, joints.body[j], q, at)
    hold_rows(joints, j, at, place, turn, rows, error)


@jit
def add_efforts(joints, joint, column, effort, q, F):
    """F (n, 6) <- F + wrenches of all actuators, moments in body frames.

    The wrenches on both bodies are opposite and act at the same point, which conserves momentum. joint (k,);
    column (k,): 0 for a force along the joint, 1 for a moment about its axis; effort (k,).
    """
    at, row = scene(q), np.empty((2, 6), q.dtype)
    for k in range(joint.shape[0]):
        j = joint[k]
        place_joint(joints, j, joints.body[j], q, at)
        line_row(column[k], joints.kind[j], at, row)
        for side in range(2):
            b = joints.body[j, side]
            if b >= 0:
                for m in range(6):
                    F[b, m] += effort[k] * row[side, m]


@jit
def effort_coordinate(joints, j, c, q, v):
    """Return s (c = 0) or the angle (c = 1) of joint j, and the rate along the line of an effort."""
    at, row = scene(q), np.empty((2, 6), q.dtype)
    place_joint(joints, j, joints.body[j], q, at)
    y = coordinate_row(c, joints, j, at, row)
    line_row(c, joints.kind[j], at, row)
    return y, rate(joints.body[j], row, v.reshape(-1, 6))


@jit
def joint_coordinate(joints, j, c, q, v, y, speed):
    """y, speed (n,) <- s (c = 0) or the angle (c = 1) of joint j and its rate at each of n instants.

    q (n, 7 nb), v (n, 6 nb).
    """
    for k in range(q.shape[0]):
        y[k], speed[k] = effort_coordinate(joints, j, c, q[k], v[k])


class Reaction(NamedTuple):
    """Reaction of a joint on its first body, means over steps."""

    force: Any
    """Force in the inertial frame [N], shape (n, 3)."""
    moment: Any
    """Moment about the point of the joint on the body, inertial frame [N m], shape (n, 3)."""
    effort: Any
    """Part of stops and dry friction: force along s [N], moment about the axis [N m], shape (n, 2)."""


@jit
def joint_reaction(joints, j, h, q, v, impulses, reaction):
    """reaction, `Reaction` <- forces and moments of joint j on its first body in each of n steps.

    impulses: `JointTable` of the steps, with ids `PARTS` j + part. Their rows are those at the middle of the
    step, half of h (n,) before its end at q (n, nb, 7), v (n, nb, 6).
    """
    offset, ids, r = impulses
    force, moment, effort = reaction
    at, rows, value, total = scene(q), np.empty((6, 2, 6)), np.empty(6), np.empty(6)
    moved, pair, body = np.empty(14), np.empty(2, np.int64), joints.body[j]
    for k in range(q.shape[0]):
        force[k], moment[k], effort[k], total[:] = 0.0, 0.0, 0.0, 0.0
        if not h[k] > 0.0:
            continue
        # 1. The joint at the middle of the step.
        for side in range(2):
            i, to = body[side], 7 * side
            pair[side] = side if i >= 0 else -1
            if i >= 0:
                move(q[k, i], v[k, i], -0.5 * h[k], moved[to : to + 7])
        place_joint(joints, j, pair, moved, at)
        # 2. Sum of its impulses over h.
        row, end = offset[k], offset[k + 1]
        while row < end:
            if ids[row] // PARTS != j:
                row += 1
                continue
            part = ids[row] % PARTS
            count = block_rows(part, joints, j, at, rows, value)
            for i in range(min(count, end - row)):
                for m in range(6):
                    total[m] += r[row + i] / h[k] * rows[i, 0, m]
            if part != HOLD:
                c, kind = (part - LOWER) // 3, LOWER + (part - LOWER) % 3
                effort[k, c] += -r[row] / h[k] if kind == UPPER else r[row] / h[k]
            row += count
        # 3. Moment about the point of the joint, in the inertial frame.
        R, arm = at.R[0], at.P[0] - at.x[0]
        a0, a1, a2 = cross(arm[0], arm[1], arm[2], total[0], total[1], total[2])
        moment_of_force = (a0, a1, a2)
        for m in range(3):
            force[k, m] = total[m]
            moment[k, m] = dot(R[m], total[3:]) - moment_of_force[m]
