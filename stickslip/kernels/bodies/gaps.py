"""Smooth gaps between features of two bodies, and the rows of their contacts.

A feature is a point, a line or a plane of a body, and something round about it: a ball, or a linear image of
one (of an ellipsoid, or a flat one: the disc of a cylinder's end). With n a unit vector from the second body
to the first, s the features' points and Q their round parts, all features have one gap,

    gap = max over n of  n·(s₁ - s₂) - radius₁ - radius₂ - |Q₁' n| - |Q₂' n|,

where n is normal to lines and planes among the features. With a plane, with two lines, and without Q, the
best n has a closed form; otherwise it is found by Newton's method. Where the gap is smooth it changes with n
not at all to first order: rows are those of a point that is fixed to the bodies.

Contacts are `Forms`. Normals point from the second body to the first. Places of bodies may be complex
(`rotation.py`), as points and radii may.
"""

import math
from typing import NamedTuple

import numpy as np

from stickslip.kernels.bodies.frames import fill_tangents
from stickslip.kernels.bodies.joint_geometry import dot, place_body, point_row, turn_row
from stickslip.kernels.bodies.rotation import cross, times, times_back
from stickslip.kernels.jit import jit
from stickslip.state import Array, IntArray

POINT_PLANE, SPHERES, LINEARISED, POINT_LINE, LINES, ROUND_PLANE, ROUND_LINE, ROUNDS = range(8)
"""Kinds of contacts: a point or ball of the first body above a plane of the second; two balls; one whose gap
is given at the start and is forecast by its rows; a ball and a line; two lines; and something round, such as
an ellipsoid or a rim, above a plane, beside a line, and beside a ball or something round."""
MOST_NEWTON = 50
"""Most Newton iterations for a normal."""
LONGEST = 0.5
"""Largest step of one of them [rad]."""


class Poses(NamedTuple):
    """Where bodies are; the last is the inertial frame, body -1."""

    x: Array
    """[m], shape (n + 1, 3)."""
    R: Array
    """Rotations [-], shape (n + 1, 3, 3)."""


class Forms(NamedTuple):
    """Contacts with smooth gaps."""

    kind: IntArray
    """POINT_PLANE, SPHERES, LINEARISED, ... [-], shape (k,)."""
    body: IntArray
    """The one with the point first, with the plane last; -1 is the inertial frame [-], shape (k, 2)."""
    point: Array
    """In the frame of either body: centre of the ball (or the point, or what is round), a point of a line or
    plane; of LINEARISED ones where they touch [m], shape (k, 2, 3)."""
    normal: Array
    """Of a plane, or along the second line, in the frame of the second body; inertial for LINEARISED;
    unused for SPHERES and ROUNDS [-], shape (k, 3)."""
    axis: Array
    """Of LINES along the line of the first body, in its frame; where Newton's method begins, in the frame of
    the second, for ROUND_LINE and ROUNDS; otherwise unused [-], shape (k, 3)."""
    radius: Array
    """Of balls and about lines, 0 for points, planes and what is round [m], shape (k, 2)."""
    round: Array
    """Q in the frames of the bodies: what is round is a ball of radius 1 m times this [-], shape
    (k, 2, 3, 3)."""


@jit
def poses_of(q):
    """`Poses` at q (n, 7)."""
    flat, n = q.reshape(-1), q.shape[0]
    poses = Poses(np.empty((n + 1, 3), q.dtype), np.empty((n + 1, 3, 3), q.dtype))
    for i in range(n):
        place_body(flat, i, poses.R[i], poses.x[i])
    place_body(flat, -1, poses.R[n], poses.x[n])
    return poses


@jit
def world_point(poses, b, local, out):
    """out <- a point of body b in the inertial frame.   local, out (3,)."""
    for k in range(3):
        out[k] = poses.x[b, k] + dot(poses.R[b, k], local)


@jit
def gap_and_normal(forms, i, poses, n, c):
    """Gap of contact i of `Forms`; n (3,) <- its normal, c (2, 3) <- points of both bodies, the first with
    its surface at radius₁ n below it where they touch."""
    kind, radius, second = forms.kind[i], forms.radius[i], forms.body[i, 1]
    for side in range(2):
        world_point(poses, forms.body[i, side], forms.point[i, side], c[side])
    gap = -radius[0] - radius[1]
    if kind in (POINT_PLANE, ROUND_PLANE):
        for k in range(3):
            n[k] = dot(poses.R[second, k], forms.normal[i])
        if kind == ROUND_PLANE:
            to_surface(poses.R[forms.body[i, 0]], forms.round[i, 0], n, c[0])
        for k in range(3):
            gap += n[k] * (c[0, k] - c[1, k])
        return gap
    if kind in (ROUND_LINE, ROUNDS):
        return gap + round_normal(forms, i, poses, n, c)
    for k in range(3):
        n[k] = c[0, k] - c[1, k]
    if kind != SPHERES:
        R = poses.R[second]
        d0, d1, d2 = times(R, forms.normal[i, 0], forms.normal[i, 1], forms.normal[i, 2])
        if kind == LINES and lines_normal(forms, i, poses, (d0, d1, d2), n, c):
            return gap + (c[0, 0] - c[1, 0]) * n[0] + (c[0, 1] - c[1, 1]) * n[1] + (c[0, 2] - c[1, 2]) * n[2]
        along = n[0] * d0 + n[1] * d1 + n[2] * d2
        n[0], n[1], n[2] = n[0] - along * d0, n[1] - along * d1, n[2] - along * d2
    distance = np.sqrt(dot(n, n))
    if distance.real > 0.0:
        for k in range(3):
            n[k] /= distance
    else:  # one in the other: any direction leads out
        n[0], n[1], n[2] = 0.0, 0.0, 1.0
    return distance + gap


@jit
def lines_normal(forms, i, poses, d, n, c):
    """Whether the lines of contact i are not parallel; then n <- their normal, c[0] <- where the first is
    next to the second.   d: along the second, three numbers; n has c₁ - c₂."""
    R, a, (d0, d1, d2) = poses.R[forms.body[i, 0]], forms.axis[i], d
    a0, a1, a2 = times(R, a[0], a[1], a[2])
    m0, m1, m2 = cross(a0, a1, a2, d0, d1, d2)
    square = m0 * m0 + m1 * m1 + m2 * m2
    if not square.real > 1e-24:
        return False
    e0, e1, e2 = cross(d0, d1, d2, n[0], n[1], n[2])  # (c₂ - c₁) × d
    along, size = (e0 * m0 + e1 * m1 + e2 * m2) / square, np.sqrt(square)
    c[0, 0], c[0, 1], c[0, 2] = c[0, 0] + along * a0, c[0, 1] + along * a1, c[0, 2] + along * a2
    n[0], n[1], n[2] = m0 / size, m1 / size, m2 / size
    return True


@jit
def to_surface(R, Q, n, c):
    """c (3,) <- the point of the round part about it that is farthest along -n.   R, Q (3, 3), n (3,)."""
    u0, u1, u2 = times_back(R, n[0], n[1], n[2])
    u0, u1, u2 = times_back(Q, u0, u1, u2)
    size = np.sqrt(u0 * u0 + u1 * u1 + u2 * u2)
    if size.real > 0.0:
        u0, u1, u2 = times(Q, u0 / size, u1 / size, u2 / size)
        u0, u1, u2 = times(R, u0, u1, u2)
        c[0], c[1], c[2] = c[0] - u0, c[1] - u1, c[2] - u2


@jit
def add_round(R, Q, n, w, H):
    """w (3,), H (3, 3) -= gradient and second derivative by n of |Q' R' n|."""
    u, f = np.empty(3, n.dtype), np.empty((3, 3), n.dtype)  # f = R Q
    for k in range(3):
        for m in range(3):
            f[k, m] = R[k, 0] * Q[0, m] + R[k, 1] * Q[1, m] + R[k, 2] * Q[2, m]
    u[0], u[1], u[2] = times_back(f, n[0], n[1], n[2])
    size = np.sqrt(dot(u, u))
    if not size.real > 0.0:
        return
    s0, s1, s2 = times(f, u[0] / size, u[1] / size, u[2] / size)
    s = (s0, s1, s2)
    for k in range(3):
        w[k] -= s[k]
        for m in range(3):
            H[k, m] -= (dot(f[k], f[m]) - s[k] * s[m]) / size


@jit
def round_normal(forms, i, poses, n, c):
    """n·(s₁ - s₂) - |Q₁' n| - |Q₂' n| of contact i at the best n, which n becomes; c[0] <- on
    the surface of the first.

    Newton's method on the sphere, or on the circle about a line: what is left of w = s₁ - s₂ - Σ Q Q'n/|Q'n|,
    from one surface to the other, along the sphere; the second derivative there is that of the gap less the
    gap itself.
    """
    first, second, lined = forms.body[i, 0], forms.body[i, 1], forms.kind[i] == ROUND_LINE
    w, H, t = np.empty(3, n.dtype), np.empty((3, 3), n.dtype), np.empty((3, 3), n.dtype)
    d0, d1, d2 = times(poses.R[second], forms.normal[i, 0], forms.normal[i, 1], forms.normal[i, 2])
    n[0], n[1], n[2] = times(poses.R[second], forms.axis[i, 0], forms.axis[i, 1], forms.axis[i, 2])
    last, refined, gap = np.inf, False, n[0]
    for _ in range(MOST_NEWTON):
        if lined:
            along = n[0] * d0 + n[1] * d1 + n[2] * d2
            n[0], n[1], n[2] = n[0] - along * d0, n[1] - along * d1, n[2] - along * d2
        size = np.sqrt(dot(n, n))
        for k in range(3):
            n[k] /= size
            w[k] = c[0, k] - c[1, k]
            t[0, k] = n[k]
        H[:] = 0.0
        add_round(poses.R[first], forms.round[i, 0], n, w, H)
        add_round(poses.R[second], forms.round[i, 1], n, w, H)
        gap, reach = dot(n, w), abs(c[0, 0] - c[1, 0]) + abs(c[0, 1] - c[1, 1]) + abs(c[0, 2] - c[1, 2])
        fill_tangents(t)
        if lined:
            t[1, 0], t[1, 1], t[1, 2] = cross(d0, d1, d2, n[0], n[1], n[2])
        x, y = dot(t[1], w), dot(t[2], w)
        a, b, e = bent(H, t[1], t[1]) - gap, bent(H, t[1], t[2]), bent(H, t[2], t[2]) - gap
        if lined:
            y, b, e = 0.0 * y, 0.0 * b, 0.0 * e - 1.0
        error = math.hypot(x.real, y.real)
        if not error > 1e-15 * reach or (error < 1e-10 * reach and error >= last):
            # imaginary parts, which are derivatives, follow the real ones by a step
            if refined or (x.imag == 0.0 and y.imag == 0.0):
                break
            refined = True
        last = error
        if not refined and (not a.real < 0.0 or not (a * e - b * b).real > 0.0):  # not at a maximum
            lift = abs(gap.real) + abs(a.real) + abs(b.real) + abs(e.real)
            a, e = a - lift, e - lift
        det = a * e - b * b
        p, r = (b * y - e * x) / det, (b * x - a * y) / det
        far = math.hypot(p.real, r.real)
        if far > LONGEST:
            p, r = p * (LONGEST / far), r * (LONGEST / far)
        for k in range(3):
            n[k] += p * t[1, k] + r * t[2, k]
    to_surface(poses.R[first], forms.round[i, 0], n, c[0])
    return gap


@jit
def bent(H, a, b):
    """a' H b.   H (3, 3), a, b (3,)."""
    return a[0] * dot(H[0], b) + a[1] * dot(H[1], b) + a[2] * dot(H[2], b)


@jit
def rows_at(kind, pair, radius, frame, poses, c, rows):
    """rows (6, 2, 6) <- along n, t1, t2, rolling about t1, t2, torsion about n, of a contact with points c.

    Smooth ones are taken at c₁ - radius₁ n, the point of the first body, which c (2, 3) becomes;
    LINEARISED ones at the point of either body.
    """
    if kind != LINEARISED:
        for k in range(3):
            c[0, k] -= radius[0] * frame[0, k]
            c[1, k] = c[0, k]
    for side in range(2):
        b, sign = pair[side], 1.0 if side == 0 else -1.0
        for k in range(3):
            point_row(frame[k], poses.R[b], poses.x[b], c[side], sign, rows[k, side])
            turn_row(frame[(k + 1) % 3], poses.R[b], sign, rows[3 + k, side])


@jit
def gaps(forms, q):
    """Gaps (k,) at q (n, 7) of `Forms`; inf for contacts that have none."""
    poses, n, c, out = poses_of(q), np.empty(3), np.empty((2, 3)), np.empty(forms.kind.shape[0])
    for k in range(out.shape[0]):
        out[k] = np.inf if forms.kind[k] == LINEARISED else gap_and_normal(forms, k, poses, n, c)
    return out


@jit
def has_flipped(forms, before, after):
    """Whether of something round the side that faces the other body at one q (n, 7) looks away at another."""
    poses, others, n, c = poses_of(before), poses_of(after), np.empty(3), np.empty((2, 3))
    for i in range(forms.kind.shape[0]):
        if forms.kind[i] not in (ROUND_PLANE, ROUND_LINE, ROUNDS):
            continue
        b, Q = forms.body[i, 0], forms.round[i, 0]
        gap_and_normal(forms, i, poses, n, c)
        u0, u1, u2 = times_back(poses.R[b], n[0], n[1], n[2])
        u0, u1, u2 = times_back(Q, u0, u1, u2)
        gap_and_normal(forms, i, others, n, c)
        v0, v1, v2 = times_back(others.R[b], n[0], n[1], n[2])
        v0, v1, v2 = times_back(Q, v0, v1, v2)
        if u0 * v0 + u1 * v1 + u2 * v2 < 0.0:
            return True
    return False


@jit
def look(forms, q, speed, h, touch, must):
    """(numbers (m,), gaps (m,), frames (m, 3, 3), points (m, 3)) of `Forms` that may close within h.

    speed (n,): no point of a body is faster; touch: contacts closer than this are always taken; must (k,)
    those that are taken in any case.
    """
    most, m, c, poses = forms.kind.shape[0], 0, np.empty((2, 3)), poses_of(q)
    chosen, gap, frame, place = (
        np.empty(most, np.int64), np.empty(most), np.empty((most, 3, 3)), np.empty((most, 3)),
    )  # fmt: skip
    for k in range(most):
        s = gap_and_normal(forms, k, poses, frame[m, 0], c)
        if s > h * (speed[forms.body[k, 0]] + speed[forms.body[k, 1]]) + touch and not must[k]:
            continue
        chosen[m], gap[m] = k, s
        for d in range(3):
            place[m, d] = c[0, d] - (forms.radius[k, 0] + 0.5 * s) * frame[m, 0, d]
        fill_tangents(frame[m])
        m += 1
    return chosen[:m], gap[:m], frame[:m], place[:m]


@jit
def gap_rows(forms, q, rows, gap):
    """gap (k,), rows (k, 2, 6) <- of the one contact of `Forms` at q (k, n, 7), its gap and the row along its
    normal, which is the derivative of the gap."""
    n, c = np.empty(3, q.dtype), np.empty((2, 3), q.dtype)
    for d in range(gap.shape[0]):
        poses = poses_of(q[d])
        gap[d] = gap_and_normal(forms, 0, poses, n, c)
        for side in range(2):
            b, sign = forms.body[0, side], 1.0 if side == 0 else -1.0
            point_row(n, poses.R[b], poses.x[b], c[0], sign, rows[d, side])
