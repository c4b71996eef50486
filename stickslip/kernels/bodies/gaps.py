"""Gaps in closed form, a ball or point above a plane and two balls, and the rows of their contacts.

A contact has a kind, two bodies, a point in the frame of each, the normal of a plane in the frame of the
second body, and two radii, as `StepContacts` has them. Normals point from the second body to the first.
Places of bodies may be complex (`rotation.py`), as points and radii may.
"""

from typing import NamedTuple

import numpy as np

from stickslip.kernels.bodies.frames import fill_tangents
from stickslip.kernels.bodies.joint_geometry import dot, place_body, point_row, turn_row
from stickslip.kernels.jit import jit
from stickslip.state import Array, IntArray

POINT_PLANE, SPHERES, LINEARISED = 0, 1, 2
"""Kinds of contacts, as `StepContacts` has them."""


class Poses(NamedTuple):
    """Where bodies are; the last is the inertial frame, body -1."""

    x: Array
    """[m], shape (n + 1, 3)."""
    R: Array
    """Rotations [-], shape (n + 1, 3, 3)."""


class ClosedForms(NamedTuple):
    """Contacts whose gaps have closed forms, as `StepContacts` has them."""

    kind: IntArray
    """[-], shape (k,)."""
    body: IntArray
    """The one with the ball or point first [-], shape (k, 2)."""
    point: Array
    """In the frames of the bodies [m], shape (k, 2, 3)."""
    normal: Array
    """Of a plane, in the frame of the second body [-], shape (k, 3)."""
    radius: Array
    """[m], shape (k, 2)."""


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
    """Gap of contact i of `ClosedForms`; n (3,) <- its normal, c (2, 3) <- the points of both bodies."""
    radius, second = forms.radius[i], forms.body[i, 1]
    for side in range(2):
        world_point(poses, forms.body[i, side], forms.point[i, side], c[side])
    if forms.kind[i] == POINT_PLANE:
        for k in range(3):
            n[k] = dot(poses.R[second, k], forms.normal[i])
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
def rows_at(kind, pair, radius, frame, poses, c, rows):
    """rows (6, 2, 6) <- along n, t1, t2, rolling about t1, t2, torsion about n, of a contact with points c.

    Those in closed form are taken at c₁ - radius₁ n, the point of the first body, which c (2, 3) becomes;
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
    """Gaps (k,) at q (n, 7) of `ClosedForms`; inf for contacts that have none."""
    poses, n, c, out = poses_of(q), np.empty(3), np.empty((2, 3)), np.empty(forms.kind.shape[0])
    for k in range(out.shape[0]):
        out[k] = np.inf if forms.kind[k] == LINEARISED else gap_and_normal(forms, k, poses, n, c)
    return out


@jit
def look(forms, q, speed, h, touch, must):
    """(numbers (m,), gaps (m,), frames (m, 3, 3), points (m, 3)) of `ClosedForms` that may close within h.

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
