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
from typing import NamedTuple

import numpy as np

from stickslip.kernels.bodies.rotation import cross, matrix
from stickslip.kernels.jit import jit
from stickslip.state import Array

FIXED, BALL, HINGE, SLIDER, CYLINDRICAL, DISTANCE = 0, 1, 2, 3, 4, 5
"""Kinds of joints, as `JointKind` has them."""
HOLD, LOWER, UPPER, DRY = 0, 1, 2, 3
"""What a block does in its joint: hold, stops and dry friction of sliding; 3 more for turning."""
PARTS = 7
"""How many of them there are: rows of joint j have the ids PARTS j + part."""


class Scene(NamedTuple):
    """Where a joint is, both sides."""

    R: Array
    """Rotations of the bodies [-], shape (2, 3, 3)."""
    x: Array
    """Their centres of mass [m], shape (2, 3)."""
    P: Array
    """Points of the joint [m], shape (2, 3)."""
    axes: Array
    """Rows n, t1, t2 [-], shape (2, 3, 3)."""
    between: Array
    """P₁ - P₂ [m], shape (3,)."""


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
def leaves(c, kind, lower, upper):
    """Whether a joint leaves s (c = 0) or the angle (c = 1) free.   lower, upper: stops of s."""
    if c == 1:
        return kind in (HINGE, CYLINDRICAL)
    return kind in (SLIDER, CYLINDRICAL) or (kind == DISTANCE and held(kind, lower, upper)[0] == 0)


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
    """Room for where a joint is at q."""
    R, axes = np.empty((2, 3, 3), q.dtype), np.empty((2, 3, 3), q.dtype)
    return Scene(R, np.empty((2, 3), q.dtype), np.empty((2, 3), q.dtype), axes, np.empty(3, q.dtype))


@jit
def place_joint(joints, j, body, q, at):
    """Where joint j of `JointArrays` is at q (7 n,), between these bodies (2,), into a `Scene`."""
    point, frame = joints.point[j], joints.frame[j]
    for side in range(2):
        R, x = at.R[side], at.x[side]
        place_body(q, body[side], R, x)
        for k in range(3):
            at.P[side, k] = x[k] + dot(R[k], point[side])
            for row in range(3):
                at.axes[side, row, k] = dot(R[k], frame[side, row])
    for k in range(3):
        at.between[k] = at.P[0, k] - at.P[1, k]


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
def hold_rows(joints, j, at, place, turn, rows, error):
    """Rows (place + turn, 2, 6) and errors of what joint j of `JointArrays` holds, placed by a `Scene`.

    Place: P₁ - P₂ in inertial axes; across the axis of the second body for a slider and a cylindrical joint;
    |P₁ - P₂| - length for a distance joint. Turn: 2 vec(p) of the relative quaternion, or for an axis that
    both share -t2₂ · n₁ and t1₂ · n₁: the turn about t1 and about t2 while small.
    """
    kind, frame = joints.kind[j], joints.frame[j]
    R, x, P, axes, between = at.R, at.x, at.P, at.axes, at.between
    d, w = np.zeros(3, between.dtype), np.empty(3, between.dtype)
    for k in range(place):
        if kind == DISTANCE:
            distance = np.sqrt(dot(between, between))
            for m in range(3):
                d[m] = between[m] / distance
            error[k] = distance - joints.length[j]
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
            n = axes[0, 0]
            w[0], w[1], w[2] = cross(n[0], n[1], n[2], d[0], d[1], d[2])
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
    R, x, P, axes, between = at.R, at.x, at.P, at.axes, at.between
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
    R, axes = at.R, at.axes
    b, w = np.empty(3, axes.dtype), np.empty(3, axes.dtype)
    cosine, sine = dot(axes[1, 1], axes[0, 1]), dot(axes[1, 2], axes[0, 1])
    square = cosine * cosine + sine * sine
    for k in range(3):
        b[k] = (cosine * axes[1, 2, k] - sine * axes[1, 1, k]) / square
    t1 = axes[0, 1]
    w[0], w[1], w[2] = cross(t1[0], t1[1], t1[2], b[0], b[1], b[2])
    turn_row(w, R[0], 1.0, row[0])
    turn_row(w, R[1], -1.0, row[1])
    # the angle, and to first order what imaginary parts add to it
    more = cosine.real * (sine - sine.real) - sine.real * (cosine - cosine.real)
    return math.atan2(sine.real, cosine.real) + more / (cosine.real * cosine.real + sine.real * sine.real)


@jit
def coordinate_row(c, joints, j, at, row):
    """s (c = 0) or the angle (c = 1) of a joint and its row (2, 6); the angle in the turn about the middle of
    its stops, so that no stop is met by way of ±π."""
    if c == 0:
        return slide_row(joints.kind[j], at, row)
    angle, lower, upper = angle_row(at, row), joints.lower[j, 1], joints.upper[j, 1]
    if not (math.isfinite(lower) and math.isfinite(upper)):
        return angle
    turn = 2.0 * math.pi
    return angle + turn * np.floor((0.5 * (lower + upper) - angle.real) / turn + 0.5)


@jit
def line_row(c, kind, at, row):
    """row (2, 6) of what an effort acts along: s (c = 0), or the turn about the axis of the second body."""
    if c == 0:
        slide_row(kind, at, row)
    else:
        turn_row(at.axes[1, 0], at.R[0], 1.0, row[0])
        turn_row(at.axes[1, 0], at.R[1], -1.0, row[1])


@jit
def block_rows(part, joints, j, at, rows, value):
    """rows (n, 2, 6), value (n,) <- rows and errors of what joint j holds, rows and gaps of its stops, rows
    of its friction with value 0; returns n.   joints: `JointArrays`; at: `Scene`."""
    lower, upper = joints.lower[j], joints.upper[j]
    if part == HOLD:
        place, turn = held(joints.kind[j], lower[0], upper[0])
        hold_rows(joints, j, at, place, turn, rows, value)
        return place + turn
    c, what = (part - LOWER) // 3, LOWER + (part - LOWER) % 3
    y = coordinate_row(c, joints, j, at, rows[0])
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
