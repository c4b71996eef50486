"""One joint of rigid bodies: where it is, its errors and coordinates, and their rows of H'.

R takes the axes of a body to inertial ones, P = x + R c is its point of the joint, and n, t1, t2 are the rows
of its frame of the joint in the inertial frame. u is first minus second. The coordinates of a joint are

    s = n₂ · (P₁ - P₂)  (of a distance joint |P₁ - P₂|),    angle = atan2(t2₂ · t1₁, t1₂ · t1₁),

the turn of the first body about the axis of the second. Rows are exact derivatives of errors and coordinates
along the motion, ẋ and Ω (body frame): d·Ṗ = d·ẋ + (c × R'd)·Ω, and (b·a)˙ = (a × b)·(ω₁ - ω₂) for a on the
first body and b on the second (Siconos Developer's Notes 2017, (11.42) and (11.44)). q, and with it all
that follows from it, may be complex (`rotation.py`).
"""

import math

import numpy as np

from stickslip.kernels.bodies.rotation import matrix, turn
from stickslip.kernels.jit import jit

FIXED, BALL, HINGE, SLIDER, CYLINDRICAL, DISTANCE = 0, 1, 2, 3, 4, 5
"""Kinds of joints, as `JointKind` has them."""
HOLD, LOWER, UPPER, DRY = 0, 1, 2, 3
"""What a block does in its joint: hold, stops and dry friction of sliding; 3 more for turning."""


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
        for k in range(3):
            x[k] = 0.0
            for m in range(3):
                R[k, m] = 1.0 if k == m else 0.0
        return
    for k in range(3):
        x[k] = q[7 * i + k]
    matrix(q[7 * i + 3], q[7 * i + 4], q[7 * i + 5], q[7 * i + 6], R)


@jit
def scene(q):
    """Room for where a joint is at q, both sides: R (2, 3, 3), x (2, 3), P (2, 3), axes (2, 3, 3) with rows
    n, t1, t2, and between = P₁ - P₂ (3,)."""
    R, axes = np.empty((2, 3, 3), q.dtype), np.empty((2, 3, 3), q.dtype)
    return R, np.empty((2, 3), q.dtype), np.empty((2, 3), q.dtype), axes, np.empty(3, q.dtype)


@jit
def place_joint(body, point, frame, q, at):
    """Where a joint is at q, into a `scene`."""
    for side in range(2):
        place_body(q, body[side], at[0][side], at[1][side])
    locate(point, frame, at)


@jit
def locate(point, frame, at):
    """Where a joint of placed bodies is: P, axes and between of a `scene` from its R and x."""
    R, x, P, axes, between = at
    for side in range(2):
        for k in range(3):
            P[side, k] = x[side, k] + dot(R[side, k], point[side])
            for row in range(3):
                axes[side, row, k] = dot(R[side, k], frame[side, row])
    for k in range(3):
        between[k] = P[0, k] - P[1, k]


@jit
def move_pair(body, q, v, h, pair, moved):
    """Coordinates of the two bodies of a joint after moving on for h, into moved (14,), and their numbers
    there into pair (2,)."""
    for side in range(2):
        i, to = body[side], 7 * side
        pair[side] = side if i >= 0 else -1
        if i >= 0:
            turn(q[7 * i : 7 * i + 7], v[6 * i : 6 * i + 6], h, moved[to : to + 7])


@jit
def point_row(d, R, x, at, sign, row):
    """row (6,) of sign d · (velocity of the point `at` of a body), all but `row` in the inertial frame."""
    a0, a1, a2 = at[0] - x[0], at[1] - x[1], at[2] - x[2]
    w0, w1, w2 = a1 * d[2] - a2 * d[1], a2 * d[0] - a0 * d[2], a0 * d[1] - a1 * d[0]
    for k in range(3):
        row[k] = sign * d[k]
        row[3 + k] = sign * (R[0, k] * w0 + R[1, k] * w1 + R[2, k] * w2)


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
    S = np.empty((3, 3), axes.dtype)
    for k in range(3):
        for m in range(3):
            S[k, m] = dot(axes[1, k], axes[0, m])
    trace = S[0, 0] + S[1, 1] + S[2, 2]
    i = 0
    for k in range(1, 3):
        if S[k, k].real > S[i, i].real:
            i = k
    if trace.real > S[i, i].real:
        p[0] = 1.0 + trace
        p[1], p[2], p[3] = S[2, 1] - S[1, 2], S[0, 2] - S[2, 0], S[1, 0] - S[0, 1]
    else:
        j, k = (i + 1) % 3, (i + 2) % 3
        p[0] = S[k, j] - S[j, k]
        p[1 + i] = 1.0 + S[i, i] - S[j, j] - S[k, k]
        p[1 + j] = S[j, i] + S[i, j]
        p[1 + k] = S[k, i] + S[i, k]
    size = np.sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3])
    if p[0].real < 0.0:
        size = -size
    for k in range(4):
        p[k] /= size


@jit
def hold_rows(kind, length, frame, at, place, turn, rows, error):
    """Rows (place + turn, 2, 6) and errors of what a joint holds.

    Place: P₁ - P₂ in inertial axes; across the axis of the second body for a slider and a cylindrical joint;
    |P₁ - P₂| - length for a distance joint. Turn: 2 vec(p) of the relative quaternion, or for an axis that
    both share -t2₂ · n₁ and t1₂ · n₁: the turn about t1 and about t2 while small.
    """
    R, x, P, axes, between = at
    d, w = np.zeros(3, between.dtype), np.empty(3, between.dtype)
    for k in range(place):
        if kind == DISTANCE:
            distance = np.sqrt(dot(between, between))
            for m in range(3):
                d[m] = between[m] / distance
            error[k] = distance - length
        elif place == 3:
            for m in range(3):
                d[m] = 1.0 if m == k else 0.0
            error[k] = between[k]
        else:
            for m in range(3):
                d[m] = axes[1, 1 + k, m]
            error[k] = dot(d, between)
        # directions that turn with the second body count its velocity at the first body's point
        other = P[0] if place == 2 else P[1]
        point_row(d, R[0], x[0], P[0], 1.0, rows[k, 0])
        point_row(d, R[1], x[1], other, -1.0, rows[k, 1])
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
        p = np.empty(4, axes.dtype)
        relative_turn(axes, p)
        # 2 ṗ = p ∘ (0, Ω₁) - (0, Ω₂) ∘ p in the frames of the joint, by (11.30)
        for k in range(3):
            i, j = (k + 1) % 3, (k + 2) % 3
            error[place + k] = 2.0 * p[1 + k]
            for m in range(3):
                rows[place + k, 0, m], rows[place + k, 1, m] = 0.0, 0.0
                rows[place + k, 0, 3 + m] = (
                    p[0] * frame[0, k, m] + p[1 + i] * frame[0, j, m] - p[1 + j] * frame[0, i, m]
                )
                rows[place + k, 1, 3 + m] = (
                    -p[0] * frame[1, k, m] + p[1 + i] * frame[1, j, m] - p[1 + j] * frame[1, i, m]
                )


@jit
def slide_row(kind, at, row):
    """s of a joint [m] and its row (2, 6); a row of 0 for a distance joint whose points coincide."""
    R, x, P, axes, between = at
    d = np.zeros(3, between.dtype)
    if kind == DISTANCE:
        s = np.sqrt(dot(between, between))
        for k in range(3):
            if s.real != 0.0:
                d[k] = between[k] / s
        point_row(d, R[1], x[1], P[1], -1.0, row[1])
    else:
        for k in range(3):
            d[k] = axes[1, 0, k]
        s = dot(d, between)
        point_row(d, R[1], x[1], P[0], -1.0, row[1])
    point_row(d, R[0], x[0], P[0], 1.0, row[0])
    return s


@jit
def angle_row(at, row):
    """The angle of a joint in (-π, π] [rad] and its row (2, 6)."""
    R, _, _, axes, _ = at
    b, w = np.empty(3, axes.dtype), np.empty(3, axes.dtype)
    cosine, sine = dot(axes[1, 1], axes[0, 1]), dot(axes[1, 2], axes[0, 1])
    square = cosine * cosine + sine * sine
    for k in range(3):
        b[k] = (cosine * axes[1, 2, k] - sine * axes[1, 1, k]) / square
    cross(axes[0, 1], b, w)
    turn_row(w, R[0], 1.0, row[0])
    turn_row(w, R[1], -1.0, row[1])
    # the angle, and to first order what imaginary parts add to it
    more = cosine.real * (sine - sine.real) - sine.real * (cosine - cosine.real)
    return math.atan2(sine.real, cosine.real) + more / (cosine.real * cosine.real + sine.real * sine.real)


@jit
def within_turn(angle, lower, upper):
    """The angle in the turn about the middle of its stops, so that no stop is met by way of ±π."""
    if not (math.isfinite(lower) and math.isfinite(upper)):
        return angle
    turn = 2.0 * math.pi
    return angle + turn * np.floor((0.5 * (lower + upper) - angle.real) / turn + 0.5)


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
def coordinate_row(c, kind, at, row):
    """s (c = 0) or the angle (c = 1) of a joint and its row (2, 6)."""
    return slide_row(kind, at, row) if c == 0 else angle_row(at, row)


@jit
def leaves(c, kind, lower, upper):
    """Whether a joint leaves s (c = 0) or the angle (c = 1) free."""
    return slides(kind, lower, upper) if c == 0 else turns(kind)


@jit
def line_row(c, kind, at, row):
    """row (2, 6) of what an effort acts along: s (c = 0), or the turn about the axis of the second body."""
    if c == 0:
        slide_row(kind, at, row)
    else:
        turn_row(at[3][1, 0], at[0][0], 1.0, row[0])
        turn_row(at[3][1, 0], at[0][1], -1.0, row[1])


@jit
def block_rows(part, kind, length, frame, lower, upper, at, rows, value):
    """rows (n, 2, 6), value (n,) <- rows and errors of what a joint holds, rows and gaps of its stops, rows
    of its friction with value 0; returns n.   lower, upper (2,): stops of s and of the angle."""
    if part == HOLD:
        place, turn = held(kind, lower[0], upper[0])
        hold_rows(kind, length, frame, at, place, turn, rows, value)
        return place + turn
    c, what = (part - LOWER) // 3, LOWER + (part - LOWER) % 3
    y = coordinate_row(c, kind, at, rows[0])
    if c == 1:
        y = within_turn(y, lower[1], upper[1])
    if what == LOWER:
        value[0] = y - lower[c]
    elif what == DRY:
        value[0] = 0.0
    else:
        value[0] = upper[c] - y
        for side in range(2):
            for k in range(6):
                rows[0, side, k] = -rows[0, side, k]
    return 1
