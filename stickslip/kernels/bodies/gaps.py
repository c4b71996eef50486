"""Smooth gaps between features of two bodies, and the rows of their contacts.

A feature is a point, a line or a plane of a body, with a round part about it: a ball, or a linear image of a
ball (an ellipsoid, or a disc: the end of a cylinder). With a unit vector n from the second body to the first,
points s of the features and matrices Q of their round parts, the gap is

    gap = max over n of  n·(s₁ - s₂) - radius₁ - radius₂ - |Q₁' n| - |Q₂' n|,

where n is normal to the lines and planes among the features. The maximiser n has a closed form for a plane,
for two lines, and without Q; otherwise it is computed by Newton's method. A smooth gap does not depend on n
to first order, so that its rows are those of a point that is fixed to the bodies.

Contacts are `Forms`. Normals point from the second body to the first. Poses of bodies, points and radii may
be complex (`rotation.py`).
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
"""Kinds of contacts: a point or ball of the first body and a plane of the second; two balls; a contact whose
gap is known at the start of a step and is extrapolated by its rows; a ball and a line; two lines; a round
part, such as an ellipsoid or a rim, with a plane, with a line, and with a ball or another round part."""
MOST_NEWTON = 50
"""Largest number of Newton iterations for a normal (heuristic)."""
LONGEST = 0.5
"""Largest step of a Newton iteration [rad] (heuristic)."""


class Poses(NamedTuple):
    """Poses of bodies; the last one is the inertial frame, body -1."""

    x: Array
    """Positions [m], shape (n + 1, 3)."""
    R: Array
    """Rotation matrices [-], shape (n + 1, 3, 3)."""


class Forms(NamedTuple):
    """Contacts with smooth gaps."""

    kind: IntArray
    """POINT_PLANE, SPHERES, LINEARISED, ... [-], shape (k,)."""
    body: IntArray
    """Bodies: with the point first, with the plane last; -1 for the inertial frame [-], shape (k, 2)."""
    point: Array
    """Points in body frames: centre of a ball or a round part, point of a line or a plane; contact points of
    LINEARISED contacts [m], shape (k, 2, 3)."""
    normal: Array
    """Normal of a plane, or direction of the second line, in the frame of the second body; inertial frame for
    LINEARISED; unused for SPHERES and ROUNDS [-], shape (k, 3)."""
    axis: Array
    """Direction of the line of the first body, in its frame, for LINES; initial normal of Newton's method, in
    the frame of the second body, for ROUND_LINE and ROUNDS; else unused [-], shape (k, 3)."""
    radius: Array
    """Radii of balls and about lines; 0 for points, planes and round parts [m], shape (k, 2)."""
    round: Array
    """Q in body frames: a round part is the image of the unit ball (1 m) under Q [-], shape (k, 2, 3, 3)."""


@jit
def poses_of(q):
    """Return the `Poses` at q (n, 7)."""
    flat, n = q.reshape(-1), q.shape[0]
    poses = Poses(np.empty((n + 1, 3), q.dtype), np.empty((n + 1, 3, 3), q.dtype))
    for i in range(n):
        place_body(flat, i, poses.R[i], poses.x[i])
    place_body(flat, -1, poses.R[n], poses.x[n])
    return poses


@jit
def world_point(poses, b, local, out):
    """out (3,) <- point `local` (3,) of body b in the inertial frame."""
    for k in range(3):
        out[k] = poses.x[b, k] + dot(poses.R[b, k], local)


@jit
def gap_and_normal(forms, i, poses, n, c):
    """Return the gap of contact i of `Forms`; n (3,) <- its normal, c (2, 3) <- points of both bodies.

    The first body touches at c[0] - radius₁ n.
    """
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
    else:  # coincident points: any direction separates them
        n[0], n[1], n[2] = 0.0, 0.0, 1.0
    return distance + gap


@jit
def lines_normal(forms, i, poses, d, n, c):
    """n (3,) <- normal of the lines of contact i, c[0] <- point of the first line nearest to the second.

    Return False if the lines are parallel. d: direction of the second line; n is c₁ - c₂ on entry.
    """
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
    """c (3,) <- point of the round part about c that is farthest along -n.   R, Q (3, 3), n (3,)."""
    u0, u1, u2 = times_back(R, n[0], n[1], n[2])
    u0, u1, u2 = times_back(Q, u0, u1, u2)
    size = np.sqrt(u0 * u0 + u1 * u1 + u2 * u2)
    if size.real > 0.0:
        u0, u1, u2 = times(Q, u0 / size, u1 / size, u2 / size)
        u0, u1, u2 = times(R, u0, u1, u2)
        c[0], c[1], c[2] = c[0] - u0, c[1] - u1, c[2] - u2


@jit
def add_round(R, Q, n, w, H):
    """w (3,), H (3, 3) <- those minus gradient and second derivative of |Q' R' n| with respect to n."""
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
    """n (3,) <- maximiser of n·(s₁ - s₂) - |Q₁' n| - |Q₂' n| for contact i; return the maximum.

    c[0] <- point on the surface of the first body. Newton's method runs on the unit sphere, or on the circle
    about a line. The gradient is the tangential part of w = s₁ - s₂ - Σ Q Q'n/|Q'n|; the second derivative on
    the sphere is that of the gap minus the gap itself.
    """
    first, second, lined = forms.body[i, 0], forms.body[i, 1], forms.kind[i] == ROUND_LINE
    w, H, t = np.empty(3, n.dtype), np.empty((3, 3), n.dtype), np.empty((3, 3), n.dtype)
    d0, d1, d2 = times(poses.R[second], forms.normal[i, 0], forms.normal[i, 1], forms.normal[i, 2])
    n[0], n[1], n[2] = times(poses.R[second], forms.axis[i, 0], forms.axis[i, 1], forms.axis[i, 2])
    last, refined, gap = np.inf, False, n[0]
    for _ in range(MOST_NEWTON):
        # 1. Unit n, normal to the line; w, and the second derivative H.
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
        # 2. Gradient (x, y) and second derivatives a, b, e in two tangents.
        fill_tangents(t)
        if lined:
            t[1, 0], t[1, 1], t[1, 2] = cross(d0, d1, d2, n[0], n[1], n[2])
        x, y = dot(t[1], w), dot(t[2], w)
        a, b, e = bent(H, t[1], t[1]) - gap, bent(H, t[1], t[2]), bent(H, t[2], t[2]) - gap
        if lined:
            y, b, e = 0.0 * y, 0.0 * b, 0.0 * e - 1.0
        # 3. Stopping.
        error = math.hypot(x.real, y.real)
        if not error > 1e-15 * reach or (error < 1e-10 * reach and error >= last):
            # Imaginary parts, which are derivatives, converge one step later than real parts.
            if refined or (x.imag == 0.0 and y.imag == 0.0):
                break
            refined = True
        last = error
        # 4. Newton step of bounded length; the second derivative is shifted unless it is negative definite.
        if not refined and (not a.real < 0.0 or not (a * e - b * b).real > 0.0):
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
    """Return a' H b.   H (3, 3), a, b (3,)."""
    return a[0] * dot(H[0], b) + a[1] * dot(H[1], b) + a[2] * dot(H[2], b)


@jit
def rows_at(kind, pair, radius, frame, poses, c, rows):
    """rows (6, 2, 6) <- rows of a contact along n, t1, t2, of rolling about t1, t2, and of torsion about n.

    Rows of smooth contacts are taken at the point c₁ - radius₁ n of the first body, which is written to c (2,
    3); those of LINEARISED contacts at the point of each body.
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
    """Return the gaps (k,) of `Forms` at q (n, 7); inf for LINEARISED contacts."""
    poses, n, c, out = poses_of(q), np.empty(3), np.empty((2, 3)), np.empty(forms.kind.shape[0])
    for k in range(out.shape[0]):
        out[k] = np.inf if forms.kind[k] == LINEARISED else gap_and_normal(forms, k, poses, n, c)
    return out


@jit
def has_flipped(forms, before, after):
    """Return whether any round part has turned its contact side away from the other body between two poses.

    before, after (n, 7).
    """
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
    """Return (numbers (m,), gaps (m,), frames (m, 3, 3), points (m, 3)) of `Forms` that may close within h.

    speed (n,): bounds on the speeds of bodies; touch: contacts with smaller gaps are always included; must
    (k,): contacts that are always included.
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
    """gap (k,), rows (k, 2, 6) <- gaps of the only contact of `Forms` at q (k, n, 7), and their
    derivatives."""
    n, c = np.empty(3, q.dtype), np.empty((2, 3), q.dtype)
    for d in range(gap.shape[0]):
        poses = poses_of(q[d])
        gap[d] = gap_and_normal(forms, 0, poses, n, c)
        for side in range(2):
            b, sign = forms.body[0, side], 1.0 if side == 0 else -1.0
            point_row(n, poses.R[b], poses.x[b], c[0], sign, rows[d, side])
