"""The start of a step: momenta with the forces of the node, and how fast bodies may be.

Bodies: row (n,) among the dynamic ones, -1 for the others; mass (n,), J and J_inverse (n, 3, 3);
q (n, 7) and v (n, 6) as `State` has them.
"""

import math

import numpy as np

from stickslip.kernels.bodies.motion import fastest_point
from stickslip.kernels.bodies.rotation import solve3, times
from stickslip.kernels.jit import jit
from stickslip.kernels.variational.momentum import momentum, momentum_slope

BAD, FASTEST, SECOND = range(3)
"""What `leave` tells: first body whose momentum is not finite (-1 for none), and the two largest speeds of
points of bodies [m/s]."""
TOLD = 3
MOST_NEWTON = 40
"""Most Newton iterations of a body that nothing touches."""


@jit
def leave(row, mass, J, J_inverse, gravity, radius, q, v, F, before, h, p, speed, told):
    """p, speed, told <- momenta at the node with its forces, and the largest speeds of points of bodies.

    v: over the step before, of length `before`, and of bodies that are not dynamic over this one, of length
    h. F (3, n, 6) or (3, 0, 6) for none; radius (n,) of balls that hold the bodies; p (n, 6), speed (n,) of
    either velocities before or after the forces, told (TOLD,).
    """
    told[BAD], told[FASTEST], told[SECOND] = -1.0, 0.0, 0.0
    share = 0.5 * (before + h)
    w = np.empty(6)
    for i in range(row.shape[0]):
        s = fastest_point(row, radius, q, v[i], i)
        for k in range(6):
            p[i, k] = 0.0
        if row[i] >= 0:
            for k in range(3):
                w[k], w[3 + k] = mass[i] * gravity[k], 0.0
            if F.shape[1] > 0:
                for k in range(6):
                    w[k] += F[0, i, k] + F[1, i, k] + F[2, i, k]
            momentum(mass[i], J[i], -before, v[i], p[i])  # what arrives at the end of the step before
            for k in range(6):
                p[i, k] += share * w[k]
            t0, t1, t2 = times(J_inverse[i], w[3], w[4], w[5])
            for k in range(3):
                w[k] = p[i, k] / mass[i]
            w[3], w[4], w[5] = v[i, 3] + share * t0, v[i, 4] + share * t1, v[i, 5] + share * t2
            after = fastest_point(row, radius, q, w, i)
            s = after if not after < s else s  # also where it is no number
        if not s < math.inf and told[BAD] < 0.0:
            told[BAD] = float(i)
        speed[i] = s
        if s > told[FASTEST]:
            told[SECOND], told[FASTEST] = told[FASTEST], s
        elif s > told[SECOND]:
            told[SECOND] = s


@jit
def two_fastest(row, radius, q, v):
    """The two largest speeds of points of bodies [m/s].   q (n, 7), v (n, 6)."""
    first = second = 0.0
    for i in range(row.shape[0]):
        s = fastest_point(row, radius, q, v[i], i)
        if s > first:
            first, second = s, first
        elif s > second:
            second = s
    return first, second


@jit
def fly(row, mass, J, J_inverse, p, h, v):
    """v <- velocities of dynamic bodies that nothing touches: P(v) = p, to rounding; v has a guess.

    Returns the first body whose spin was not found, or -1.
    """
    P, A = np.empty(6), np.empty((6, 6))
    for i in range(row.shape[0]):
        if row[i] < 0:
            continue
        for k in range(3):
            v[i, k] = p[i, k] / mass[i]
        size = abs(p[i, 3]) + abs(p[i, 4]) + abs(p[i, 5])
        last, found = math.inf, False
        for _ in range(MOST_NEWTON):
            momentum(mass[i], J[i], h, v[i], P)
            f0, f1, f2 = P[3] - p[i, 3], P[4] - p[i, 4], P[5] - p[i, 5]
            error = abs(f0) + abs(f1) + abs(f2)
            if error <= 2.0**-53 * size or (error <= 1e-13 * size and error >= last):
                found = True
                break
            last = error
            momentum_slope(mass[i], J[i], h, v[i], A)
            d0, d1, d2 = solve3(
                A[3, 3], A[3, 4], A[3, 5], A[4, 3], A[4, 4], A[4, 5], A[5, 3], A[5, 4], A[5, 5], f0, f1, f2
            )
            v[i, 3], v[i, 4], v[i, 5] = v[i, 3] - d0, v[i, 4] - d1, v[i, 5] - d2
        if not found:
            return i
    return -1
