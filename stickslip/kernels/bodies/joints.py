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
"""Opening that is an error of a scheme whatever the speed, over the arms of a joint [-], and in rad."""


@jit
def joint_rows(joints, q, v, v_free, v_ahead, span, slack, out):
    """Blocks of all joints into `out`, `JointRowArrays`; returns (blocks, rows, joint that cannot be, or -1).

    Rows stand at q and bind velocities of the end of the step, θ h later. What changes until then is a bias,
    H(q ⊕ θ h v)' v_ahead - H(q)' v, with v_ahead the velocities after free rotation until then: without it a
    joint on a curved path loses energy to first order in h, with it to second. A stop is active if its
    forecast gap + θ h u is at most 0, or both that and the gap are at most slack (nj, 2), of sliding and
    turning, with the least u of either side, be it free or held from the forces of the step (v); where it was
    approached, its bias has e u(v) too. Velocities are (n, 6); span: `Span`.
    """
    rows, size, kind, bias, bounce, error = out.rows, out.size, out.kind, out.bias, out.bounce, out.error
    lower, upper, reach, flat = joints.lower, joints.upper, span.reach, q.reshape(-1)
    at, end_at, moved, pair = scene(q), scene(q), np.empty(14), np.empty(2, np.int64)
    row, end_row, end_rows, end_error = np.empty((2, 6)), np.empty((2, 6)), np.empty((6, 2, 6)), np.empty(6)
    m, n = 0, 0
    for j in range(joints.kind.shape[0]):
        first, first_block, body = n, m, joints.body[j]
        place_joint(joints, j, body, flat, at)
        for side in range(2):  # where its bodies will be
            i, to = body[side], 7 * side
            pair[side] = side if i >= 0 else -1
            if i >= 0:
                move(q[i], v[i], reach, moved[to : to + 7])
        place_joint(joints, j, pair, moved, end_at)
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
    """out = sign row, of shape (2, 6)."""
    for side in range(2):
        for k in range(6):
            out[side, k] = sign * row[side, k]


@jit
def finite_rows(body, rows, error, bias):
    """Whether rows are finite and none is 0; those of the inertial frame are set to 0."""
    for i in range(rows.shape[0]):
        finite, some = math.isfinite(error[i]) and math.isfinite(bias[i]), False
        for side in range(2):
            for k in range(6):
                finite = finite and math.isfinite(rows[i, side, k])
                some = some or rows[i, side, k] != 0.0
                if body[side] < 0:
                    rows[i, side, k] = 0.0
        if not (finite and some):
            return False
    return True


@jit
def joint_openings(joints, q, opening):
    """How far each joint is open or beyond a stop [m, rad], into opening (nj, 2)."""
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
            # errors of turn are sines: of the whole angle between axes, twice of half the angle otherwise
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
    """Whether joints are open by no more than what any step may leave.   opening (nj, 2), reach (nj,)."""
    closed = True
    for j in range(opening.shape[0]):
        closed = closed and opening[j, 0] <= SHARE * reach[j] and opening[j, 1] <= SHARE
    return closed


@jit
def joint_coordinates(joints, q, v, place, speed):
    """s and angle of each joint [m, rad] into place (nj, 2), their rates [m/s, rad/s] into speed (nj, 2);
    0 where the joint holds it, but for the length of a distance joint."""
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
    """rows (place + turn, 2, 6), error <- of so many components of place and turn that joint j holds at q."""
    at = scene(q)
    place_joint(joints, j, joints.body[j], q, at)
    hold_rows(joints, j, at, place, turn, rows, error)


@jit
def add_efforts(joints, joint, column, effort, q, F):
    """F (n, 6) += wrenches of all actuators, moments in the frames of the bodies: + on the first body and -
    on the second, at one place, so that momentum is kept.

    Actuators: joint (k,), column (k,) 0 along the joint and 1 about its axis, effort (k,).
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
    """s (c = 0) or the angle (c = 1) of joint j, and its rate along or about what an effort acts along."""
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
    """What a joint does to its first body, means over steps."""

    force: Any
    """Inertial [N], shape (n, 3)."""
    moment: Any
    """About its point on the body, inertial [N m], shape (n, 3)."""
    effort: Any
    """Of these, what stops and dry friction do along s [N] and about the angle [N m], shape (n, 2)."""


@jit
def joint_reaction(joints, j, h, q, v, impulses, reaction):
    """reaction <- what joint j does to its first body in each of n steps, a `Reaction`.

    impulses: a `JointTable` of the steps, whose ids are `PARTS` j + part. Their lines are those of the middle
    of the step, back from its end at q (n, nb, 7), v (n, nb, 6) by half of h (n,).
    """
    offset, ids, r = impulses
    force, moment, effort = reaction
    at, rows, value, total = scene(q), np.empty((6, 2, 6)), np.empty(6), np.empty(6)
    moved, pair, body = np.empty(14), np.empty(2, np.int64), joints.body[j]
    for k in range(q.shape[0]):
        force[k], moment[k], effort[k], total[:] = 0.0, 0.0, 0.0, 0.0
        if not h[k] > 0.0:
            continue
        for side in range(2):
            i, to = body[side], 7 * side
            pair[side] = side if i >= 0 else -1
            if i >= 0:
                move(q[k, i], v[k, i], -0.5 * h[k], moved[to : to + 7])
        place_joint(joints, j, pair, moved, at)
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
                c, what = (part - LOWER) // 3, LOWER + (part - LOWER) % 3
                effort[k, c] += -r[row] / h[k] if what == UPPER else r[row] / h[k]
            row += count
        R, arm = at.R[0], at.P[0] - at.x[0]
        a0, a1, a2 = cross(arm[0], arm[1], arm[2], total[0], total[1], total[2])
        about = (a0, a1, a2)
        for m in range(3):
            force[k, m] = total[m]
            moment[k, m] = dot(R[m], total[3:]) - about[m]
