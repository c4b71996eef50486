"""Rows of one contact and of one joint as functions of complex poses, so that they have derivatives.

A function that is evaluated at x + i ε d has its derivative along d in its imaginary part, over ε, to
rounding (Squire & Trapp 1998). So these kernels hold no absolute values and decide by real parts alone.
R (2, 3, 3) and x (2, 3) place the two bodies of a contact or joint; R need not stay orthogonal beyond first
order in ε.
"""

import numpy as np

from stickslip.kernels.jit import jit

FIXED, BALL, HINGE, SLIDER, CYLINDRICAL, DISTANCE = 0, 1, 2, 3, 4, 5
"""Kinds of joints, as `JointKind` has them."""
POINT_PLANE, SPHERES, LINEARISED = 0, 1, 2
"""Kinds of contacts, as `StepContacts` has them."""
SLIDE, ANGLE, AXIS, JOINT_ROWS = 6, 7, 8, 9
"""Rows of a joint after the six that it may hold: of its two coordinates, and of the turn about its axis."""


@jit
def dot(a, b):
    """a · b, without conjugation."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@jit
def cross(a, b, out):
    """out = a × b."""
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]


@jit
def place(q, i, R, x):
    """R (3, 3) and x (3,) of body i; the inertial frame for -1.   q (n, 7)."""
    if i < 0:
        for k in range(3):
            x[k] = 0.0
            for m in range(3):
                R[k, m] = 1.0 if k == m else 0.0
        return
    for k in range(3):
        x[k] = q[i, k]
    a, b, c, d = q[i, 3], q[i, 4], q[i, 5], q[i, 6]
    R[0, 0], R[0, 1], R[0, 2] = 1.0 - 2.0 * (c * c + d * d), 2.0 * (b * c - d * a), 2.0 * (b * d + c * a)
    R[1, 0], R[1, 1], R[1, 2] = 2.0 * (b * c + d * a), 1.0 - 2.0 * (b * b + d * d), 2.0 * (c * d - b * a)
    R[2, 0], R[2, 1], R[2, 2] = 2.0 * (b * d - c * a), 2.0 * (c * d + b * a), 1.0 - 2.0 * (b * b + c * c)


@jit
def displace(R, x, d, by):
    """Displace a body along direction d of (δx, δθ): x + by e_d, or R (1 + by [e_d]×)."""
    if d < 3:
        x[d] += by
        return
    i, j = (d - 2) % 3, (d - 1) % 3
    for k in range(3):
        a, b = R[k, i], R[k, j]
        R[k, i] = a + by * b
        R[k, j] = b - by * a


@jit
def point_row(d, R, x, at, sign, row):
    """row (6,) of sign d · (velocity of the place `at` of a body)."""
    a0, a1, a2 = at[0] - x[0], at[1] - x[1], at[2] - x[2]
    w0, w1, w2 = a1 * d[2] - a2 * d[1], a2 * d[0] - a0 * d[2], a0 * d[1] - a1 * d[0]
    for k in range(3):
        row[k] = sign * d[k]
        row[3 + k] = sign * (R[0, k] * w0 + R[1, k] * w1 + R[2, k] * w2)


@jit
def turn_row(w, R, sign, row):
    """row (6,) of sign w · ω of a body."""
    for k in range(3):
        row[k] = 0.0
        row[3 + k] = sign * (R[0, k] * w[0] + R[1, k] * w[1] + R[2, k] * w[2])


@jit
def tangents(frame):
    """frame[1:] <- two tangents to frame[0], as `kernels/bodies/frames.py: basis` has them."""
    n0, n1, n2 = frame[0, 0], frame[0, 1], frame[0, 2]
    sign = np.copysign(1.0, n2.real)
    a = -1.0 / (sign + n2)
    b = n0 * n1 * a
    frame[1, 0], frame[1, 1], frame[1, 2] = 1.0 + sign * n0 * n0 * a, sign * b, -sign * n0
    frame[2, 0], frame[2, 1], frame[2, 2] = b, sign + n1 * n1 * a, -n1


@jit
def contact_rows(kind, point, normal, radius, given, R, x, frame, P, rows):
    """Gap of a contact, and its rows (6, 2, 6): n, t1, t2, rolling about t1, t2, torsion about n.

    point (2, 3), radius (2,), R, x complex; normal (3,), given (3, 3) real; frame (3, 3), P (2, 3) complex
    room for its axes and where it touches.
    """
    for side in range(2):
        for k in range(3):
            P[side, k] = x[side, k] + dot(R[side, k], point[side])
    if kind == LINEARISED:
        for k in range(3):
            for m in range(3):
                frame[k, m] = given[k, m]
        gap = 0.0 * P[0, 0]
        for k in range(3):
            gap += frame[0, k] * (P[0, k] - P[1, k])
    elif kind == SPHERES:
        distance = np.sqrt((P[0, 0] - P[1, 0]) ** 2 + (P[0, 1] - P[1, 1]) ** 2 + (P[0, 2] - P[1, 2]) ** 2)
        gap = distance - radius[0] - radius[1]
        for k in range(3):
            frame[0, k] = (P[0, k] - P[1, k]) / distance
        tangents(frame)
        for k in range(3):
            P[0, k] -= radius[0] * frame[0, k]
            P[1, k] = P[0, k]
    else:
        gap = -radius[0]
        for k in range(3):
            frame[0, k] = R[1, k, 0] * normal[0] + R[1, k, 1] * normal[1] + R[1, k, 2] * normal[2]
            gap += frame[0, k] * (P[0, k] - P[1, k])
        tangents(frame)
        for k in range(3):
            P[0, k] -= radius[0] * frame[0, k]
            P[1, k] = P[0, k]
    for side in range(2):
        sign = 1.0 if side == 0 else -1.0
        for k in range(3):
            point_row(frame[k], R[side], x[side], P[side], sign, rows[k, side])
        for k in range(3):
            turn_row(frame[(k + 1) % 3], R[side], sign, rows[3 + k, side])
    return gap


@jit
def relative_turn(axes, p):
    """p (4,): unit quaternion with p0 >= 0 of the turn from the frame of the second side to that of the
    first, by the largest of the four squares (Shepperd 1978)."""
    S = np.empty((3, 3), np.complex128)
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
def joint_rows(kind, point, frame, length, count, R, x, P, axes, rows, values):
    """Rows (9, 2, 6) of what a joint holds, count = (place, turn) of them, and of s, its angle and the turn
    about its axis where it has them; errors and coordinates into values (8,).

    The same errors and coordinates as `kernels/bodies/joint_geometry.py` has. P (2, 3), axes (2, 3, 3): room.
    """
    held, turned = count
    between, d, w = np.empty(3, np.complex128), np.empty(3, np.complex128), np.empty(3, np.complex128)
    for side in range(2):
        for k in range(3):
            P[side, k] = x[side, k] + dot(R[side, k], point[side])
            for row in range(3):
                axes[side, row, k] = dot(R[side, k], frame[side, row])
    for k in range(3):
        between[k] = P[0, k] - P[1, k]
    if kind == DISTANCE:
        distance = np.sqrt(dot(between, between))
        for k in range(3):
            d[k] = between[k] / distance
        point_row(d, R[0], x[0], P[0], 1.0, rows[SLIDE, 0])
        point_row(d, R[1], x[1], P[1], -1.0, rows[SLIDE, 1])
        values[SLIDE] = distance
        if held == 1:
            values[0] = distance - length
            for side in range(2):
                for k in range(6):
                    rows[0, side, k] = rows[SLIDE, side, k]
        return
    for k in range(held):
        for m in range(3):
            if held == 3:
                d[m] = 1.0 if m == k else 0.0
            else:
                d[m] = axes[1, 1 + k, m]
        values[k] = dot(d, between)
        point_row(d, R[0], x[0], P[0], 1.0, rows[k, 0])
        point_row(d, R[1], x[1], P[0] if held == 2 else P[1], -1.0, rows[k, 1])
    if turned == 2:
        for k in range(2):
            sign = -1.0 if k == 0 else 1.0
            for m in range(3):
                d[m] = sign * axes[1, 2 - k, m]
            cross(axes[0, 0], d, w)
            values[held + k] = dot(d, axes[0, 0])
            turn_row(w, R[0], 1.0, rows[held + k, 0])
            turn_row(w, R[1], -1.0, rows[held + k, 1])
    elif turned == 3:
        hold_turn(frame, axes, rows[held:], values[held:])
    if kind in (SLIDER, CYLINDRICAL):
        for k in range(3):
            d[k] = axes[1, 0, k]
        values[SLIDE] = dot(d, between)
        point_row(d, R[0], x[0], P[0], 1.0, rows[SLIDE, 0])
        point_row(d, R[1], x[1], P[0], -1.0, rows[SLIDE, 1])
    if kind in (HINGE, CYLINDRICAL):
        turn_row(axes[1, 0], R[0], 1.0, rows[AXIS, 0])
        turn_row(axes[1, 0], R[1], -1.0, rows[AXIS, 1])
        cosine, sine = dot(axes[1, 1], axes[0, 1]), dot(axes[1, 2], axes[0, 1])
        square = cosine * cosine + sine * sine
        for k in range(3):
            d[k] = (cosine * axes[1, 2, k] - sine * axes[1, 1, k]) / square
        cross(axes[0, 1], d, w)
        turn_row(w, R[0], 1.0, rows[ANGLE, 0])
        turn_row(w, R[1], -1.0, rows[ANGLE, 1])
        values[ANGLE] = np.arctan2(sine.real, cosine.real)


@jit
def hold_turn(frame, axes, rows, values):
    """Rows and errors 2 vec(p) of a joint that holds all turning: 2 ṗ = p ∘ (0, Ω₁) - (0, Ω₂) ∘ p in its
    frames."""
    p = np.empty(4, np.complex128)
    relative_turn(axes, p)
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        values[k] = 2.0 * p[1 + k]
        for m in range(3):
            rows[k, 0, m], rows[k, 1, m] = 0.0, 0.0
            rows[k, 0, 3 + m] = p[0] * frame[0, k, m] + p[1 + i] * frame[0, j, m] - p[1 + j] * frame[0, i, m]
            rows[k, 1, 3 + m] = -p[0] * frame[1, k, m] + p[1 + i] * frame[1, j, m] - p[1 + j] * frame[1, i, m]
