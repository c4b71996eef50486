"""Joints of rigid bodies: rows of H', errors, stops and dry friction, all joints in one call.

R takes the axes of a body to inertial ones, P = x + R c is its point of the joint, and n, t1, t2 are the rows
of its frame of the joint in the inertial frame. u is first minus second. The coordinates of a joint are

    s = n₂ · (P₁ - P₂)  (of a distance joint |P₁ - P₂|),    angle = atan2(t2₂ · t1₁, t1₂ · t1₁),

the turn of the first body about the axis of the second. Rows are exact derivatives of errors and coordinates
along the motion, ẋ and Ω (body frame): d·Ṗ = d·ẋ + (c × R'd)·Ω, and (b·a)˙ = (a × b)·(ω₁ - ω₂) for a on the
first body and b on the second (Siconos Developer's Notes 2017, (11.42) and (11.44)).
"""

import math

import numpy as np

from stickslip.kernels.jit import jit

FIXED, BALL, HINGE, SLIDER, CYLINDRICAL, DISTANCE = 0, 1, 2, 3, 4, 5
"""Kinds of joints, as `JointKind` has them."""
FREE, NONNEGATIVE, INTERVAL = 0, 1, 2
"""Kinds of blocks, as `ProductSet` has them."""
HOLD, STOP, FRICTION = 0, 1, 3
"""What a block does in its joint: stop of sliding (upper: 1 more), its friction; 3 more for turning."""


@jit
def held(kind, lower, upper):
    """How many components of place and of turn a joint holds; a distance joint with stops none."""
    if kind == DISTANCE:
        return (0 if math.isfinite(lower) or math.isfinite(upper) else 1), 0
    place = 3 if kind in (FIXED, BALL, HINGE) else 2
    if kind == BALL:
        return place, 0
    return place, (2 if kind in (HINGE, CYLINDRICAL) else 3)


@jit
def slides(kind, lower, upper):
    """Whether a joint leaves s free."""
    return kind in (SLIDER, CYLINDRICAL) or (kind == DISTANCE and held(kind, lower, upper)[0] == 0)


@jit
def turns(kind):
    """Whether a joint leaves the angle free."""
    return kind in (HINGE, CYLINDRICAL)


@jit
def cross(a, b, out):
    """out = a × b, all of shape (3,)."""
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]


@jit
def dot(a, b):
    """a · b of vectors of shape (3,)."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@jit
def place_body(q, i, R, x):
    """R (3, 3) and x (3,) of body i; the inertial frame for -1."""
    if i < 0:
        R[:] = 0.0
        x[:] = 0.0
        for k in range(3):
            R[k, k] = 1.0
        return
    for k in range(3):
        x[k] = q[7 * i + k]
    a, b, c, d = q[7 * i + 3], q[7 * i + 4], q[7 * i + 5], q[7 * i + 6]
    R[0, 0], R[0, 1], R[0, 2] = 1.0 - 2.0 * (c * c + d * d), 2.0 * (b * c - d * a), 2.0 * (b * d + c * a)
    R[1, 0], R[1, 1], R[1, 2] = 2.0 * (b * c + d * a), 1.0 - 2.0 * (b * b + d * d), 2.0 * (c * d - b * a)
    R[2, 0], R[2, 1], R[2, 2] = 2.0 * (b * d - c * a), 2.0 * (c * d + b * a), 1.0 - 2.0 * (b * b + c * c)


@jit
def place_joint(body, point, frame, q, R, x, P, axes, between):
    """Where a joint is, both sides: R (2, 3, 3), x (2, 3), P (2, 3), axes (2, 3, 3) with rows n, t1, t2, and
    between = P₁ - P₂ (3,)."""
    for side in range(2):
        place_body(q, body[side], R[side], x[side])
        for k in range(3):
            P[side, k] = x[side, k] + dot(R[side, k], point[side])
            for row in range(3):
                axes[side, row, k] = dot(R[side, k], frame[side, row])
    for k in range(3):
        between[k] = P[0, k] - P[1, k]


@jit
def point_row(d, R, x, at, sign, row):
    """row (6,) of sign d · (velocity of the point `at` of a body), all but `row` in the inertial frame."""
    arm, turn = np.empty(3), np.empty(3)
    for k in range(3):
        arm[k] = at[k] - x[k]
    cross(arm, d, turn)
    for k in range(3):
        row[k] = sign * d[k]
        row[3 + k] = sign * (R[0, k] * turn[0] + R[1, k] * turn[1] + R[2, k] * turn[2])


@jit
def turn_row(w, R, sign, row):
    """row (6,) of sign w · ω of a body, w in the inertial frame."""
    for k in range(3):
        row[k] = 0.0
        row[3 + k] = sign * (R[0, k] * w[0] + R[1, k] * w[1] + R[2, k] * w[2])


@jit
def relative_turn(axes, p):
    """p (4,): unit quaternion, p0 >= 0, of the turn from the frame of the second side to that of the first.

    By the largest of the four squares, which is at least 1/4 (Shepperd 1978).
    """
    S = np.empty((3, 3))
    for k in range(3):
        for m in range(3):
            S[k, m] = dot(axes[1, k], axes[0, m])
    trace = S[0, 0] + S[1, 1] + S[2, 2]
    i = 0
    for k in range(1, 3):
        if S[k, k] > S[i, i]:
            i = k
    if trace > S[i, i]:
        p[0] = 1.0 + trace
        p[1], p[2], p[3] = S[2, 1] - S[1, 2], S[0, 2] - S[2, 0], S[1, 0] - S[0, 1]
    else:
        j, k = (i + 1) % 3, (i + 2) % 3
        p[0] = S[k, j] - S[j, k]
        p[1 + i] = 1.0 + S[i, i] - S[j, j] - S[k, k]
        p[1 + j] = S[j, i] + S[i, j]
        p[1 + k] = S[k, i] + S[i, k]
    size = math.sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3])
    if p[0] < 0.0:
        size = -size
    for k in range(4):
        p[k] /= size


@jit
def hold_rows(kind, length, frame, R, x, P, axes, between, place, turn, rows, error):
    """Rows (place + turn, 2, 6) and errors of what a joint holds.

    Place: P₁ - P₂ in inertial axes; across the axis of the second body for a slider and a cylindrical joint;
    |P₁ - P₂| - length for a distance joint. Turn: 2 vec(p) of the relative quaternion, or for an axis that
    both share -t2₂ · n₁ and t1₂ · n₁: the turn about t1 and about t2 while small.
    """
    d, w = np.zeros(3), np.empty(3)
    for k in range(place):
        if kind == DISTANCE:
            distance = math.sqrt(dot(between, between))
            for m in range(3):
                d[m] = between[m] / distance
            error[k] = distance - length
        elif place == 3:
            d[:] = 0.0
            d[k] = 1.0
            error[k] = between[k]
        else:
            d[:] = axes[1, 1 + k]
            error[k] = dot(d, between)
        # directions that turn with the second body count its velocity at the first body's point
        at = P[0] if place == 2 else P[1]
        point_row(d, R[0], x[0], P[0], 1.0, rows[k, 0])
        point_row(d, R[1], x[1], at, -1.0, rows[k, 1])
    if turn == 2:
        for k in range(2):
            sign = -1.0 if k == 0 else 1.0
            for m in range(3):
                d[m] = sign * axes[1, 2 - k, m]
            cross(axes[0, 0], d, w)
            error[place + k] = dot(d, axes[0, 0])
            turn_row(w, R[0], 1.0, rows[place + k, 0])
            turn_row(w, R[1], -1.0, rows[place + k, 1])
    elif turn == 3:
        p = np.empty(4)
        relative_turn(axes, p)
        # 2 ṗ = p ∘ (0, Ω₁) - (0, Ω₂) ∘ p in the frames of the joint, by (11.30)
        for k in range(3):
            i, j = (k + 1) % 3, (k + 2) % 3
            error[place + k] = 2.0 * p[1 + k]
            for m in range(3):
                rows[place + k, :, m] = 0.0
                rows[place + k, 0, 3 + m] = (
                    p[0] * frame[0, k, m] + p[1 + i] * frame[0, j, m] - p[1 + j] * frame[0, i, m]
                )
                rows[place + k, 1, 3 + m] = (
                    -p[0] * frame[1, k, m] + p[1 + i] * frame[1, j, m] - p[1 + j] * frame[1, i, m]
                )


@jit
def slide_row(kind, R, x, P, axes, between, row):
    """s of a joint [m] and its row (2, 6); 0 for a distance joint whose points coincide, without direction."""
    d = np.zeros(3)
    if kind == DISTANCE:
        s = math.sqrt(dot(between, between))
        for k in range(3):
            if s != 0.0:
                d[k] = between[k] / s
        point_row(d, R[1], x[1], P[1], -1.0, row[1])
    else:
        d[:] = axes[1, 0]
        s = dot(d, between)
        point_row(d, R[1], x[1], P[0], -1.0, row[1])
    point_row(d, R[0], x[0], P[0], 1.0, row[0])
    return s


@jit
def angle_row(R, axes, row):
    """The angle of a joint in (-π, π] [rad] and its row (2, 6)."""
    b, w = np.empty(3), np.empty(3)
    cosine, sine = dot(axes[1, 1], axes[0, 1]), dot(axes[1, 2], axes[0, 1])
    square = cosine * cosine + sine * sine
    for k in range(3):
        b[k] = (cosine * axes[1, 2, k] - sine * axes[1, 1, k]) / square
    cross(axes[0, 1], b, w)
    turn_row(w, R[0], 1.0, row[0])
    turn_row(w, R[1], -1.0, row[1])
    return math.atan2(sine, cosine)


@jit
def within_turn(angle, lower, upper):
    """The angle in the turn about the middle of its stops, so that no stop is met by way of ±π."""
    if not (math.isfinite(lower) and math.isfinite(upper)):
        return angle
    turn = 2.0 * math.pi
    return angle + turn * np.floor((0.5 * (lower + upper) - angle) / turn + 0.5)


@jit
def rate(body, row, v):
    """row (2, 6) times the velocities of its two bodies; the inertial frame rests."""
    u = 0.0
    for side in range(2):
        if body[side] >= 0:
            for k in range(6):
                u += row[side, k] * v[6 * body[side] + k]
    return u


@jit
def joint_rows(table, q, v, v_free, h, theta, out):
    """Blocks of all joints into `out`; returns (blocks, rows, joint that cannot be, or -1).

    A stop is active if its forecast gap + θ h u(v_free) <= 0. Its bias is e u(v) where that approaches.
    """
    kinds, body, point, frame, length, lower, upper, friction, e = table
    bodies, rows, size, kind, low, high, bias, error, joint, part = out
    R, x, P, axes = np.empty((2, 3, 3)), np.empty((2, 3)), np.empty((2, 3)), np.empty((2, 3, 3))
    between, row = np.empty(3), np.empty((2, 6))
    m, n = 0, 0
    for j in range(kinds.shape[0]):
        first, first_block = n, m
        place_joint(body[j], point[j], frame[j], q, R, x, P, axes, between)
        place, turn = held(kinds[j], lower[j, 0], upper[j, 0])
        if place + turn > 0:
            hold_rows(kinds[j], length[j], frame[j], R, x, P, axes, between, place, turn, rows[n:], error[n:])
            bias[n : n + place + turn] = 0.0
            size[m], kind[m], part[m] = place + turn, FREE, HOLD
            low[m], high[m] = -np.inf, np.inf
            m, n = m + 1, n + place + turn
        for c in range(2):
            leaves = slides(kinds[j], lower[j, 0], upper[j, 0]) if c == 0 else turns(kinds[j])
            if not leaves:
                continue
            if c == 0:
                y = slide_row(kinds[j], R, x, P, axes, between, row)
            else:
                y = within_turn(angle_row(R, axes, row), lower[j, 1], upper[j, 1])
            before, free = rate(body[j], row, v), rate(body[j], row, v_free)
            for end in range(2):
                sign = 1.0 if end == 0 else -1.0
                stop = lower[j, c] if end == 0 else upper[j, c]
                gap = sign * (y - stop)
                if not gap + theta * h * sign * free > 0.0:
                    rows[n] = sign * row
                    error[n], bias[n] = gap, e[j] * min(sign * before, 0.0)
                    size[m], kind[m], part[m] = 1, NONNEGATIVE, STOP + 3 * c + end
                    low[m], high[m] = 0.0, np.inf
                    m, n = m + 1, n + 1
            if h * friction[j, c] > 0.0:
                rows[n] = row
                error[n], bias[n] = 0.0, 0.0
                size[m], kind[m], part[m] = 1, INTERVAL, FRICTION + 3 * c
                low[m], high[m] = -h * friction[j, c], h * friction[j, c]
                m, n = m + 1, n + 1
        for i in range(first, n):
            finite, some = math.isfinite(error[i]) and math.isfinite(bias[i]), False
            for side in range(2):
                for k in range(6):
                    finite = finite and math.isfinite(rows[i, side, k])
                    some = some or rows[i, side, k] != 0.0
                    if body[j, side] < 0:
                        rows[i, side, k] = 0.0
            if not (finite and some):
                return m, n, j
        for i in range(first_block, m):
            joint[i] = j
            bodies[i] = body[j]
    return m, n, -1


@jit
def joint_openings(table, q, opening):
    """How far each joint is open or beyond a stop [m, rad], into opening (nj, 2)."""
    kinds, body, point, frame, length, lower, upper, _, _ = table
    R, x, P, axes = np.empty((2, 3, 3)), np.empty((2, 3)), np.empty((2, 3)), np.empty((2, 3, 3))
    between, row = np.empty(3), np.empty((2, 6))
    rows, error = np.empty((6, 2, 6)), np.empty(6)
    for j in range(kinds.shape[0]):
        place_joint(body[j], point[j], frame[j], q, R, x, P, axes, between)
        place, turn = held(kinds[j], lower[j, 0], upper[j, 0])
        error[:] = 0.0
        hold_rows(kinds[j], length[j], frame[j], R, x, P, axes, between, place, turn, rows, error)
        square = 0.0
        for k in range(place):
            square += error[k] * error[k]
        opening[j, 0] = math.sqrt(square)
        square = 0.0
        for k in range(place, place + turn):
            square += error[k] * error[k]
        # the errors of turn are sines: of the whole angle between axes, twice of half the angle otherwise
        if turn == 2:
            opening[j, 1] = math.atan2(math.sqrt(square), dot(axes[0, 0], axes[1, 0]))
        else:
            opening[j, 1] = 2.0 * math.asin(min(0.5 * math.sqrt(square), 1.0))
        if slides(kinds[j], lower[j, 0], upper[j, 0]):
            y = slide_row(kinds[j], R, x, P, axes, between, row)
            beyond = max(lower[j, 0] - y, y - upper[j, 0])
            if not beyond <= opening[j, 0]:
                opening[j, 0] = beyond
        if turns(kinds[j]):
            y = within_turn(angle_row(R, axes, row), lower[j, 1], upper[j, 1])
            beyond = max(lower[j, 1] - y, y - upper[j, 1])
            if not beyond <= opening[j, 1]:
                opening[j, 1] = beyond


@jit
def joint_coordinates(table, q, v, place, speed):
    """s and angle of each joint [m, rad] into place (nj, 2), their rates [m/s, rad/s] into speed (nj, 2);
    0 where the joint holds it."""
    kinds, body, point, frame, _, lower, upper, _, _ = table
    R, x, P, axes = np.empty((2, 3, 3)), np.empty((2, 3)), np.empty((2, 3)), np.empty((2, 3, 3))
    between, row = np.empty(3), np.empty((2, 6))
    for j in range(kinds.shape[0]):
        place_joint(body[j], point[j], frame[j], q, R, x, P, axes, between)
        place[j] = 0.0
        speed[j] = 0.0
        if kinds[j] == DISTANCE or slides(kinds[j], lower[j, 0], upper[j, 0]):
            place[j, 0] = slide_row(kinds[j], R, x, P, axes, between, row)
            speed[j, 0] = rate(body[j], row, v)
        if turns(kinds[j]):
            place[j, 1] = angle_row(R, axes, row)
            speed[j, 1] = rate(body[j], row, v)
