"""Springs and dampers between bodies, all in one call.

A body moves by (x, p), (ẋ, Ω): R takes its axes to inertial ones, P = x + a with a = R c is its point, and
Ṗ = ẋ + ω × a with ω = R Ω. A force f at P gives the force f and the body-frame moment R'(a × f). q, v and
forces may be complex (`rotation.py`).
"""

import math

import numpy as np

from stickslip.kernels.bodies.rotation import turned
from stickslip.kernels.jit import jit

ARM, PLACE, SPEED, SPIN = 0, 1, 2, 3
"""Rows of a side: a, P, Ṗ, ω, all inertial, each of shape (3,)."""


@jit
def turn(p, a, back, out):
    """out = R a, or R' a with back = -1."""
    out[0], out[1], out[2] = turned(p[0], back * p[1], back * p[2], back * p[3], a[0], a[1], a[2])


@jit
def add_cross(a, b, out):
    """out += a × b."""
    out[0] += a[1] * b[2] - a[2] * b[1]
    out[1] += a[2] * b[0] - a[0] * b[2]
    out[2] += a[0] * b[1] - a[1] * b[0]


@jit
def follow(body, point, q, v, side):
    """Where the point of a body is and how it moves; body -1 is the inertial frame."""
    if body < 0:
        for k in range(3):
            side[PLACE, k] = point[k]
            side[ARM, k] = side[SPEED, k] = side[SPIN, k] = 0.0
        return
    p = q[7 * body + 3 : 7 * body + 7]
    turn(p, point, 1.0, side[ARM])
    turn(p, v[6 * body + 3 : 6 * body + 6], 1.0, side[SPIN])
    for k in range(3):
        side[PLACE, k] = q[7 * body + k] + side[ARM, k]
        side[SPEED, k] = v[6 * body + k]
    add_cross(side[SPIN], side[ARM], side[SPEED])


@jit
def add_wrench(body, arm, f, moment, sign, q, F):
    """F[body] += ±(f at `arm` from the centre of mass, and a moment, both inertial)."""
    if body < 0:
        return
    total, local = np.empty(3, q.dtype), np.empty(3, q.dtype)
    for k in range(3):
        total[k] = moment[k]
    add_cross(arm, f, total)
    turn(q[7 * body + 3 : 7 * body + 7], total, -1.0, local)
    for k in range(3):
        F[body, k] += sign * f[k]
        F[body, 3 + k] += sign * local[k]


@jit
def add_springs(body, point, stiffness, length, damping, q, v, F_spring, F_damping):
    """f = -(k (l - l0) + c l̇) along the line from the second point to the first; none at l = 0 if l0 > 0.

    Returns the first spring whose force is not finite, -1 if there is none.
    """
    first, second = np.empty((4, 3), q.dtype), np.empty((4, 3), q.dtype)
    f, none = np.empty(3, q.dtype), np.zeros(3)
    for s in range(body.shape[0]):
        i, j = body[s, 0], body[s, 1]
        follow(i, point[s, 0], q, v, first)
        follow(j, point[s, 1], q, v, second)
        square = 0.0
        product = 0.0
        for k in range(3):
            gap = first[PLACE, k] - second[PLACE, k]
            square += gap * gap
            product += gap * (first[SPEED, k] - second[SPEED, k])
        stretched = np.sqrt(square)
        scale = -stiffness[s]
        if length[s] > 0.0:  # without a length of its own the spring is linear, also at l = 0
            scale *= 1.0 - length[s] / stretched if stretched.real > 0.0 else 0.0
        drag = -damping[s] * product / square if square.real > 0.0 else 0.0
        if not math.isfinite(abs(scale * stretched) + abs(drag * stretched)):
            return s
        for part, F in ((scale, F_spring), (drag, F_damping)):
            if part != 0.0:
                for k in range(3):
                    f[k] = part * (first[PLACE, k] - second[PLACE, k])
                add_wrench(i, first[ARM], f, none, 1.0, q, F)
                add_wrench(j, second[ARM], f, none, -1.0, q, F)
    return -1


@jit
def add_dampers(body, point, linear, angular, q, v, F):
    """f = -linear (Ṗ₁ - Ṗ₂) at P, the point of the first body, where Ṗ₂ is that of the second body at the
    same place: so that momentum is kept; moment = -angular (ω₁ - ω₂).

    Returns the first damper whose force is not finite, -1 if there is none.
    """
    first, second = np.empty((4, 3), q.dtype), np.empty((4, 3), q.dtype)
    f, moment, arm, centre = np.empty(3, q.dtype), np.empty(3, q.dtype), np.empty(3, q.dtype), np.zeros(3)
    for d in range(body.shape[0]):
        i, j = body[d, 0], body[d, 1]
        follow(i, point[d], q, v, first)
        follow(j, centre, q, v, second)
        for k in range(3):
            arm[k] = first[PLACE, k] - second[PLACE, k]
        add_cross(second[SPIN], arm, second[SPEED])
        total = 0.0
        for k in range(3):
            f[k] = -linear[d] * (first[SPEED, k] - second[SPEED, k])
            moment[k] = -angular[d] * (first[SPIN, k] - second[SPIN, k])
            total += abs(f[k]) + abs(moment[k])
        if not math.isfinite(total):
            return d
        add_wrench(i, first[ARM], f, moment, 1.0, q, F)
        add_wrench(j, arm, f, moment, -1.0, q, F)
    return -1
