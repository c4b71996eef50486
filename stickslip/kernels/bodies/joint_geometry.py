"""Geometry of a joint of rigid bodies: its pose, errors and coordinates, and their rows of H'.

R maps body axes to inertial axes, P = x + R c is the point of the joint on a body, and n, t1, t2 are the rows
of the frame of the joint on a body, in the inertial frame. u is the velocity of the first body minus that of
the second. The coordinates of a joint are

    s = n₂ · (P₁ - P₂)  (|P₁ - P₂| for a distance joint),    angle = atan2(t2₂ · t1₁, t1₂ · t1₁),

the rotation of the first body about the axis of the second. Rows are exact derivatives of errors and
coordinates with respect to ẋ and Ω (body frame): d·Ṗ = d·ẋ + (c × R'd)·Ω, and (b·a)˙ = (a × b)·(ω₁ - ω₂) for
a on the first body and b on the second (Siconos Developer's Notes 2017, (11.42) and (11.44)). q, and all that
depends on it, may be complex (`rotation.py`).
"""

import math
from typing import NamedTuple

import numpy as np

from stickslip.kernels.bodies.rotation import cross, matrix
from stickslip.kernels.jit import jit
from stickslip.state import Array

FIXED, BALL, HINGE, SLIDER, CYLINDRICAL, DISTANCE = 0, 1, 2, 3, 4, 5
"""Types of joints, as in `JointKind`."""
HOLD, LOWER, UPPER, DRY = 0, 1, 2, 3
"""Parts of a joint: bilateral constraints; lower stop, upper stop and dry friction of sliding; 3 more for
those of turning."""
PARTS = 7
"""Number of parts: blocks of joint j have the identifiers PARTS j + part."""


class Scene(NamedTuple):
    """Pose of a joint on both bodies, in the inertial frame."""

    R: Array
    """Rotation matrices of the bodies [-], shape (2, 3, 3)."""
    x: Array
    """Centres of mass of the bodies [m], shape (2, 3)."""
    P: Array
    """Points of the joint on the bodies [m], shape (2, 3)."""
    axes: Array
    """Frames of the joint on the bodies: rows n, t1, t2 [-], shape (2, 3, 3)."""
    between: Array
    """Vector P₁ - P₂ [m], shape (3,)."""


@jit
def held(kind, lower, upper):
    """Return the numbers of constraints of translation and rotation; 0 for a distance joint with stops."""
    if kind == DISTANCE:
        return (0 if math.isfinite(lower) or math.isfinite(upper) else 1), 0
    place = 3 if kind in (FIXED, BALL, HINGE) else 2
    if kind == BALL:
        return place, 0
    return place, (2 if kind in (HINGE, CYLINDRICAL) else 3)


@jit
def leaves(c, kind, lower, upper):
    """Return whether s (c = 0) or the angle (c = 1) of a joint is free.   lower, upper: stops of s."""
    if c == 1:
        return kind in (HINGE, CYLINDRICAL)
    return kind in (SLIDER, CYLINDRICAL) or (kind == DISTANCE and held(kind, lower, upper)[0] == 0)


@jit
def dot(a, b):
    """Return a · b of vectors (3,)."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@jit
def place_body(q, i, R, x):
    """R (3, 3), x (3,) <- pose of body i at q (7 n,); of the inertial frame for -1."""
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
    """Return a `Scene` with the number type of q, not initialised."""
    R, axes = np.empty((2, 3, 3), q.dtype), np.empty((2, 3, 3), q.dtype)
    return Scene(R, np.empty((2, 3), q.dtype), np.empty((2, 3), q.dtype), axes, np.empty(3, q.dtype))


@jit
def place_joint(joints, j, body, q, at):
    """at, `Scene` <- pose of joint j of `JointArrays` at q (7 n,), between the bodies `body` (2,)."""
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
    """row (6,) <- row of sign d · (velocity of the point `at` of a body); d, x, at in the inertial frame."""
    a0, a1, a2 = at[0] - x[0], at[1] - x[1], at[2] - x[2]
    w0, w1, w2 = a1 * d[2] - a2 * d[1], a2 * d[0] - a0 * d[2], a0 * d[1] - a1 * d[0]
    for k in range(3):
        row[k] = sign * d[k]
        row[3 + k] = sign * (R[0, k] * w0 + R[1, k] * w1 + R[2, k] * w2)


@jit
def turn_row(w, R, sign, row):
    """row (6,) <- row of sign w · ω of a body, w in the inertial frame."""
    for k in range(3):
        row[k] = 0.0
        row[3 + k] = sign * (R[0, k] * w[0] + R[1, k] * w[1] + R[2, k] * w[2])


@jit
def relative_turn(axes, p):
    """p (4,) <- unit quaternion, p0 >= 0, of the rotation from the frame of the second side to the first.

    It is computed from the largest of the four squares, which is at least 1/4 (Shepperd 1978).
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
    """rows (place + turn, 2, 6), error <- those of the constraints of joint j of `JointArrays`.

    at: `Scene` of the joint; place, turn: numbers of constraints of translation and of rotation. Errors of
    translation are P₁ - P₂ in inertial axes; its components across the axis of the second body for sliders
    and cylindrical joints; |P₁ - P₂| - length for distance joints. Errors of rotation are 2 vec(p) of the
    relative quaternion, or for a common axis -t2₂ · n₁ and t1₂ · n₁, to first order the rotations about t1
    and t2.
    """
    # 1. Translation.
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
        # For directions that rotate with the second body, its velocity is that at the point of the first
        # body.
        other = P[0] if place == 2 else P[1]
        point_row(d, R[0], x[0], P[0], 1.0, rows[k, 0])
        point_row(d, R[1], x[1], other, -1.0, rows[k, 1])
    # 2. Rotation.
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
        # 2 ṗ = p ∘ (0, Ω₁) - (0, Ω₂) ∘ p in the frames of the joint, (11.30).
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
    """Return s of a joint [m]; row (2, 6) <- its row, 0 for a distance joint whose points coincide."""
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
    """Return the angle of a joint in (-π, π] [rad]; row (2, 6) <- its row."""
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
    # The angle of the real parts, and to first order the contribution of imaginary parts.
    part = cosine.real * (sine - sine.real) - sine.real * (cosine - cosine.real)
    return math.atan2(sine.real, cosine.real) + part / (cosine.real * cosine.real + sine.real * sine.real)


@jit
def coordinate_row(c, joints, j, at, row):
    """Return s (c = 0) or the angle (c = 1) of a joint; row (2, 6) <- its row.

    The angle is the one nearest to the middle of its stops, so that it is continuous between them.
    """
    if c == 0:
        return slide_row(joints.kind[j], at, row)
    angle, lower, upper = angle_row(at, row), joints.lower[j, 1], joints.upper[j, 1]
    if not (math.isfinite(lower) and math.isfinite(upper)):
        return angle
    turn = 2.0 * math.pi
    return angle + turn * np.floor((0.5 * (lower + upper) - angle.real) / turn + 0.5)


@jit
def line_row(c, kind, at, row):
    """row (2, 6) <- line of action of an effort: along s (c = 0), or about the axis of the second body."""
    if c == 0:
        slide_row(kind, at, row)
    else:
        turn_row(at.axes[1, 0], at.R[0], 1.0, row[0])
        turn_row(at.axes[1, 0], at.R[1], -1.0, row[1])


@jit
def block_rows(part, joints, j, at, rows, value):
    """rows (n, 2, 6), value (n,) <- those of a part of joint j; return n.

    Values are errors of constraints, gaps of stops, and 0 for dry friction. joints: `JointArrays`; at:
    `Scene`.
    """
    lower, upper = joints.lower[j], joints.upper[j]
    if part == HOLD:
        place, turn = held(joints.kind[j], lower[0], upper[0])
        hold_rows(joints, j, at, place, turn, rows, value)
        return place + turn
    c, kind = (part - LOWER) // 3, LOWER + (part - LOWER) % 3
    y = coordinate_row(c, joints, j, at, rows[0])
    if kind == LOWER:
        value[0] = y - lower[c]
    elif kind == DRY:
        value[0] = 0.0
    else:
        value[0] = upper[c] - y
        for side in range(2):
            for k in range(6):
                rows[0, side, k] = -rows[0, side, k]
    return 1
