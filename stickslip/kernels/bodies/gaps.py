"""Gaps in closed form, a ball or point above a plane and two balls, and the rows of their contacts.

A contact has a kind, two bodies, a point in the frame of each, the normal of a plane in the frame of the
second body, and two radii, as `StepContacts` has them. Normals point from the second body to the first.
Bodies are placed by x (n, 3) and R (n, 3, 3), which may be complex (`rotation.py`), as points and radii may.
"""

import numpy as np

from stickslip.kernels.bodies.frames import basis
from stickslip.kernels.bodies.joint_geometry import dot, place_body, point_row, turn_row
from stickslip.kernels.jit import jit

POINT_PLANE, SPHERES, LINEARISED = 0, 1, 2
"""Kinds of contacts, as `StepContacts` has them."""


@jit
def rotations(q, x, R):
    """x (n + 1, 3), R (n + 1, 3, 3) <- places and rotations; the last is the inertial frame, body -1."""
    flat, n = q.reshape(-1), q.shape[0]
    for i in range(n):
        place_body(flat, i, R[i], x[i])
    place_body(flat, -1, R[n], x[n])


@jit
def world_point(x, R, b, local, out):
    """out <- a point of body b in the inertial frame.   local, out (3,)."""
    for k in range(3):
        out[k] = x[b, k] + dot(R[b, k], local)


@jit
def gap_and_normal(kind, first, second, point, normal, radius, x, R, n, c):
    """Gap of a contact in closed form; n (3,) <- its normal, c (2, 3) <- the points of both bodies.

    point (2, 3), normal (3,), radius (2,).
    """
    world_point(x, R, first, point[0], c[0])
    world_point(x, R, second, point[1], c[1])
    if kind == POINT_PLANE:
        for k in range(3):
            n[k] = dot(R[second, k], normal)
        gap = -radius[0]
        for k in range(3):
            gap += n[k] * (c[0, k] - c[1, k])
        return gap
    for k in range(3):
        n[k] = c[0, k] - c[1, k]
    distance = np.sqrt(dot(n, n))
    if distance.real > 0.0:
        for k in range(3):
            n[k] /= distance
    else:  # one in the other: any direction leads out
        n[0], n[1], n[2] = 0.0, 0.0, 1.0
    return distance - radius[0] - radius[1]


@jit
def fill_tangents(frame):
    """frame[1:] <- two tangents to frame[0].   frame (3, 3)."""
    (
        frame[1, 0], frame[1, 1], frame[1, 2], frame[2, 0], frame[2, 1], frame[2, 2],
    ) = basis(frame[0, 0], frame[0, 1], frame[0, 2])  # fmt: skip


@jit
def rows_at(kind, first, second, radius, frame, x, R, c, rows):
    """rows (6, 2, 6) <- along n, t1, t2, rolling about t1, t2, torsion about n, of a contact with points c.

    Those in closed form are taken at c₁ - radius₁ n, the point of the first body, which c (2, 3) becomes;
    LINEARISED ones at the point of either body.
    """
    if kind != LINEARISED:
        for k in range(3):
            c[0, k] -= radius[0] * frame[0, k]
            c[1, k] = c[0, k]
    for side in range(2):
        b, sign = (first, 1.0) if side == 0 else (second, -1.0)
        for k in range(3):
            point_row(frame[k], R[b], x[b], c[side], sign, rows[k, side])
            turn_row(frame[(k + 1) % 3], R[b], sign, rows[3 + k, side])
