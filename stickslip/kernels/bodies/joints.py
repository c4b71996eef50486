"""Joints of rigid bodies: rows of H', errors, stops and dry friction, all joints in one call."""

import math

import numpy as np

from stickslip.kernels.bodies.joint_geometry import (
    DISTANCE,
    DRY,
    HOLD,
    LOWER,
    coordinate_row,
    dot,
    held,
    hold_rows,
    leaves,
    move_pair,
    place_joint,
    rate,
    scene,
    within_turn,
)
from stickslip.kernels.jit import jit

FREE, NONNEGATIVE, INTERVAL = 0, 1, 2
"""Kinds of blocks, as `ProductSet` has them."""


@jit
def joint_rows(table, q, v, v_free, v_ahead, h, theta, slack, out):
    """Blocks of all joints into `out`; returns (blocks, rows, joint that cannot be, or -1).

    Rows stand at q and bind velocities of the end of the step, θ h later. What changes until then is a bias,
    H(q ⊕ θ h v)' v_ahead - H(q)' v, with v_ahead the velocities after free rotation until then: without it a
    joint on a curved path loses energy to first order in h, with it to second. A stop is active if its
    forecast gap + θ h u is at most 0, or both that and the gap are at most slack (nj, 2), of sliding and
    turning, with the least u of either side, be it free or held from the forces of the step (v); where it was
    approached, its bias has e u(v) too.
    """
    kinds, body, point, frame, length, lower, upper, friction, e = table
    bodies, rows, size, kind, low, high, bias, bounce, error, forecast, joint, part = out
    at, end_at, moved, pair = scene(q), scene(q), np.empty(14), np.empty(2, np.int64)
    row, end_row, end_rows, end_error = np.empty((2, 6)), np.empty((2, 6)), np.empty((6, 2, 6)), np.empty(6)
    m, n = 0, 0
    for j in range(kinds.shape[0]):
        first, first_block = n, m
        place_joint(body[j], point[j], frame[j], q, at)
        move_pair(body[j], q, v, theta * h, pair, moved)
        place_joint(pair, point[j], frame[j], moved, end_at)
        place, turn = held(kinds[j], lower[j, 0], upper[j, 0])
        if place + turn > 0:
            hold_rows(kinds[j], length[j], frame[j], at, place, turn, rows[n:], error[n:])
            hold_rows(kinds[j], length[j], frame[j], end_at, place, turn, end_rows, end_error)
            for k in range(place + turn):
                bias[n + k] = rate(body[j], end_rows[k], v_ahead) - rate(body[j], rows[n + k], v)
                bounce[n + k], forecast[n + k] = 0.0, -np.inf
            size[m], kind[m], part[m] = place + turn, FREE, HOLD
            low[m], high[m] = -np.inf, np.inf
            m, n = m + 1, n + place + turn
        for c in range(2):
            if not leaves(c, kinds[j], lower[j, 0], upper[j, 0]):
                continue
            y = coordinate_row(c, kinds[j], at, row)
            coordinate_row(c, kinds[j], end_at, end_row)
            if c == 1:
                y = within_turn(y, lower[j, 1], upper[j, 1])
            before = rate(body[j], row, v)
            gain = rate(body[j], end_row, v_ahead) - before
            for end in range(2):
                sign = 1.0 if end == 0 else -1.0
                gap = sign * (y - lower[j, c]) if end == 0 else sign * (y - upper[j, c])
                ahead = gap + theta * h * closing_rate(sign, body[j], row, v, v_free)
                if not ahead > 0.0 or max(gap, ahead) <= slack[j, c]:  # as `kernels/activation.py`
                    write_row(sign, row, rows[n])
                    error[n], forecast[n], bounce[n] = gap, ahead, e[j] * min(sign * before, 0.0)
                    bias[n] = sign * gain + bounce[n]
                    size[m], kind[m], part[m] = 1, NONNEGATIVE, LOWER + 3 * c + end
                    low[m], high[m] = 0.0, np.inf
                    m, n = m + 1, n + 1
            if h * friction[j, c] > 0.0:
                write_row(1.0, row, rows[n])
                error[n], forecast[n], bounce[n], bias[n] = 0.0, -np.inf, 0.0, gain
                size[m], kind[m], part[m] = 1, INTERVAL, DRY + 3 * c
                low[m], high[m] = -h * friction[j, c], h * friction[j, c]
                m, n = m + 1, n + 1
        for i in range(first_block, m):
            joint[i] = j
            bodies[i, 0], bodies[i, 1] = body[j, 0], body[j, 1]
        if not finite_rows(body[j], rows[first:n], error[first:n], bias[first:n]):
            return m, n, j
    return m, n, -1


@jit
def closing_rate(sign, body, row, v, v_free):
    """Least rate of sign row (2, 6) if either side moves freely or is held from that."""
    u = 0.0
    for side in range(2):
        if body[side] >= 0:
            held = moves = 0.0
            for k in range(6):
                held += sign * row[side, k] * v[6 * body[side] + k]
                moves += sign * row[side, k] * v_free[6 * body[side] + k]
            u += min(held, moves)
    return u


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
def joint_openings(table, q, opening):
    """How far each joint is open or beyond a stop [m, rad], into opening (nj, 2)."""
    kinds, body, point, frame, length, lower, upper, _, _ = table
    at, row, rows, error = scene(q), np.empty((2, 6)), np.empty((6, 2, 6)), np.empty(6)
    for j in range(kinds.shape[0]):
        place_joint(body[j], point[j], frame[j], q, at)
        place, turn = held(kinds[j], lower[j, 0], upper[j, 0])
        hold_rows(kinds[j], length[j], frame[j], at, place, turn, rows, error)
        for c in range(2):
            square = 0.0
            for k in range(place * c, place + turn * c):
                square += error[k] * error[k]
            size = math.sqrt(square)
            # errors of turn are sines: of the whole angle between axes, twice of half the angle otherwise
            if c == 1 and turn == 2:
                size = math.atan2(size, dot(at[3][0, 0], at[3][1, 0]))
            elif c == 1:
                size = 2.0 * math.asin(min(0.5 * size, 1.0))
            if leaves(c, kinds[j], lower[j, 0], upper[j, 0]):
                y = coordinate_row(c, kinds[j], at, row)
                if c == 1:
                    y = within_turn(y, lower[j, 1], upper[j, 1])
                beyond = max(lower[j, c] - y, y - upper[j, c])
                if not beyond <= size:
                    size = beyond
            opening[j, c] = size


@jit
def joint_coordinates(table, q, v, place, speed):
    """s and angle of each joint [m, rad] into place (nj, 2), their rates [m/s, rad/s] into speed (nj, 2);
    0 where the joint holds it, but for the length of a distance joint."""
    kinds, body, point, frame, _, lower, upper, _, _ = table
    at, row = scene(q), np.empty((2, 6))
    for j in range(kinds.shape[0]):
        place_joint(body[j], point[j], frame[j], q, at)
        for c in range(2):
            place[j, c], speed[j, c] = 0.0, 0.0
            if leaves(c, kinds[j], lower[j, 0], upper[j, 0]) or (c == 0 and kinds[j] == DISTANCE):
                place[j, c] = coordinate_row(c, kinds[j], at, row)
                speed[j, c] = rate(body[j], row, v)


@jit
def held_rows(kind, length, point, frame, place, turn, body, q, rows, error):
    """rows (place + turn, 2, 6), error <- of what one joint holds at q.   point (2, 3), frame (2, 3, 3)."""
    at = scene(q)
    place_joint(body, point, frame, q, at)
    hold_rows(kind, length, frame, at, place, turn, rows, error)
