"""Contacts in closed form at the start of a step: their gaps, and those that may close in it.

q (n, 7) of all bodies, quaternions of unit length, scalar first; contacts as in `kernels/bodies/gaps.py`.
"""

import math

import numpy as np

from stickslip.kernels.bodies.gaps import LINEARISED, fill_tangents, gap_and_normal, rotations
from stickslip.kernels.jit import jit


@jit
def gaps(kind, body, point, normal, radius, q, out):
    """out (k,) <- gaps at q of contacts in closed form; inf for others."""
    x, R = np.empty((q.shape[0] + 1, 3)), np.empty((q.shape[0] + 1, 3, 3))
    n, c = np.empty(3), np.empty((2, 3))
    rotations(q, x, R)
    for k in range(kind.shape[0]):
        out[k] = math.inf
        if kind[k] != LINEARISED:
            out[k] = gap_and_normal(
                kind[k], body[k, 0], body[k, 1], point[k], normal[k], radius[k], x, R, n, c
            )


@jit
def look(kind, body, point, normal, radius, q, speed, h, touch, must, chosen, gap, frame, place):
    """Number m of contacts that may close within h, their numbers into chosen and where they are.

    speed (n,): no point of a body is faster; touch: contacts closer than this are always taken; must (k,)
    those that are taken in any case.   chosen, gap (k,), frame (k, 3, 3), place (k, 3).
    """
    x, R = np.empty((q.shape[0] + 1, 3)), np.empty((q.shape[0] + 1, 3, 3))
    c, m = np.empty((2, 3)), 0
    rotations(q, x, R)
    for k in range(kind.shape[0]):
        i, j = body[k, 0], body[k, 1]
        s = gap_and_normal(kind[k], i, j, point[k], normal[k], radius[k], x, R, frame[m, 0], c)
        if s > h * (speed[i] + speed[j]) + touch and not must[k]:
            continue
        chosen[m], gap[m] = k, s
        for d in range(3):
            place[m, d] = c[0, d] - (radius[k, 0] + 0.5 * s) * frame[m, 0, d]
        fill_tangents(frame[m])
        m += 1
    return m
