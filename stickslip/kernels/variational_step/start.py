"""The start of a step: momenta with the forces of the node, and how fast bodies may be.

Bodies: row (n,) among the dynamic ones, -1 for the others; mass (n,), J and J_inverse (n, 3, 3);
q (n, 7) and v (n, 6) as `State` has them.
"""

import math

import numpy as np

from stickslip.kernels.jit import jit

BAD, FASTEST, SECOND = range(3)
"""What `leave` tells: first body whose momentum is not finite (-1 for none), and the two largest speeds of
points of bodies [m/s]."""
TOLD = 3
MOST_NEWTON = 40
"""Most Newton iterations of a body that nothing touches."""


@jit
def times(A, x, y, z):
    """A times a vector.   A (3, 3)."""
    return (
        A[0, 0] * x + A[0, 1] * y + A[0, 2] * z,
        A[1, 0] * x + A[1, 1] * y + A[1, 2] * z,
        A[2, 0] * x + A[2, 1] * y + A[2, 2] * z,
    )


@jit
def momentum(J, x, y, z, h):
    """J Ω + (h/2) Ω × J Ω + (h²/4)(Ω·J Ω) Ω: what leaves the start of a step of length h, and with -h what
    arrives at its end, both in the frame of the body there.   J (3, 3)."""
    a, b, c = times(J, x, y, z)
    g, k = 0.5 * h, 0.25 * h * h * (x * a + y * b + z * c)
    return (
        a + g * (y * c - z * b) + k * x,
        b + g * (z * a - x * c) + k * y,
        c + g * (x * b - y * a) + k * z,
    )


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
            m0, m1, m2 = momentum(J[i], v[i, 3], v[i, 4], v[i, 5], -before)
            p[i, 3], p[i, 4], p[i, 5] = m0 + share * w[3], m1 + share * w[4], m2 + share * w[5]
            for k in range(3):
                p[i, k] = mass[i] * v[i, k] + share * w[k]
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
def fastest_point(row, radius, q, v, i):
    """No point of body i that a dynamic body can reach is faster than this [m/s].   v (6,)."""
    linear = math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    spin = math.sqrt(v[3] * v[3] + v[4] * v[4] + v[5] * v[5])
    reach = radius[i]
    if spin > 0.0 and not reach < math.inf:  # a plane that turns: as far as there are bodies
        reach = 0.0
        for j in range(row.shape[0]):
            if row[j] >= 0:
                x, y, z = q[j, 0] - q[i, 0], q[j, 1] - q[i, 1], q[j, 2] - q[i, 2]
                reach = max(reach, math.sqrt(x * x + y * y + z * z) + radius[j])
    return linear + spin * reach if spin > 0.0 else linear + spin


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
def solve3(A, x, y, z):
    """Solution of A s = (x, y, z) by Cramer's rule.   A (3, 3)."""
    a, b, c, d, e, f, g, h, i = (
        A[0, 0], A[0, 1], A[0, 2], A[1, 0], A[1, 1], A[1, 2], A[2, 0], A[2, 1], A[2, 2],
    )  # fmt: skip
    u, v, w = e * i - f * h, f * g - d * i, d * h - e * g
    det = a * u + b * v + c * w
    return (
        (u * x + (c * h - b * i) * y + (b * f - c * e) * z) / det,
        (v * x + (a * i - c * g) * y + (c * d - a * f) * z) / det,
        (w * x + (b * g - a * h) * y + (a * e - b * d) * z) / det,
    )


@jit
def fly(row, mass, J, J_inverse, p, h, v):
    """v <- velocities of dynamic bodies that nothing touches: P(v) = p, to rounding; v has a guess.

    Returns the first body whose spin was not found, or -1.
    """
    A = np.empty((3, 3))
    for i in range(row.shape[0]):
        if row[i] < 0:
            continue
        for k in range(3):
            v[i, k] = p[i, k] / mass[i]
        Ji = J[i]
        x, y, z = v[i, 3], v[i, 4], v[i, 5]
        size = abs(p[i, 3]) + abs(p[i, 4]) + abs(p[i, 5])
        g, last, found = 0.5 * h, math.inf, False
        for _ in range(MOST_NEWTON):
            m0, m1, m2 = momentum(Ji, x, y, z, h)
            f0, f1, f2 = m0 - p[i, 3], m1 - p[i, 4], m2 - p[i, 5]
            error = abs(f0) + abs(f1) + abs(f2)
            if error <= 2.0**-53 * size or (error <= 1e-13 * size and error >= last):
                found = True
                break
            last = error
            a, b, c = times(Ji, x, y, z)
            o = (x, y, z)
            JO = (a, b, c)
            e = x * a + y * b + z * c
            for r in range(3):
                for s in range(3):
                    A[r, s] = Ji[r, s] + 0.5 * h * h * o[r] * JO[s]
                A[r, r] += 0.25 * h * h * e
                r1, r2 = (r + 1) % 3, (r + 2) % 3
                for s in range(3):  # d(Ω × J Ω) = Ω × J dΩ - J Ω × dΩ
                    A[r, s] += g * (o[r1] * Ji[r2, s] - o[r2] * Ji[r1, s])
                A[r, r2] -= g * JO[r1]
                A[r, r1] += g * JO[r2]
            d0, d1, d2 = solve3(A, f0, f1, f2)
            x, y, z = x - d0, y - d1, z - d2
        v[i, 3], v[i, 4], v[i, 5] = x, y, z
        if not found:
            return i
    return -1
