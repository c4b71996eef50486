"""Jordan algebra of second-order cones, for many cones at once.

Cone i is L = {x_0 >= |x_rest|} over the components x[start[i]], ..., x[start[i] + size[i] - 1] of a vector,
the first of which is x_0. A cone of size 1 is x >= 0, with both eigenvalues x_0; size 0 is no cone. Other
components are not changed. Matrices are (cones, d, d), of which the first size[i] rows and columns are used.

Nguyen 2021, annex, after Alizadeh & Goldfarb 2003, section 4. Determinants are computed as
(x_0 - |x_rest|)(x_0 + |x_rest|), which preserves their sign near the boundary.
"""

import math

from stickslip.kernels.jit import jit

TINY = 1e-300
"""Smallest positive number in roots and divisions, against underflow."""


@jit
def _length(x, o, m):
    """Return |x_rest| of the cone at o."""
    square = 0.0
    for k in range(1, m):
        square += x[o + k] * x[o + k]
    return math.sqrt(square)


@jit
def _det(x, o, m):
    rest = _length(x, o, m)
    return (x[o] - rest) * (x[o] + rest)


@jit
def product(start, size, x, y, out):
    """out <- x o y = (x·y, x_0 y_rest + y_0 x_rest)."""
    for i in range(size.shape[0]):
        o, m = start[i], size[i]
        if m == 0:
            continue
        s = 0.0
        for k in range(m):
            s += x[o + k] * y[o + k]
        for k in range(1, m):
            out[o + k] = x[o] * y[o + k] + y[o] * x[o + k]
        out[o] = s


@jit
def divide(start, size, x, b, out):
    """out <- arw(x)^-1 b, the solution y of x o y = b."""
    for i in range(size.shape[0]):
        o, m = start[i], size[i]
        if m == 0:
            continue
        along = 0.0
        for k in range(1, m):
            along += x[o + k] * b[o + k]
        first = (x[o] * b[o] - along) / _det(x, o, m)
        for k in range(1, m):
            out[o + k] = (b[o + k] - first * x[o + k]) / x[o]
        out[o] = first


@jit
def power(start, size, x, exponent, out):
    """out <- x^exponent, by the eigenvalues; -1 for the inverse, 0.5 for the square root."""
    for i in range(size.shape[0]):
        o, m = start[i], size[i]
        if m == 0:
            continue
        rest = _length(x, o, m)
        high, low = (x[o] + rest) ** exponent, (x[o] - rest) ** exponent
        for k in range(1, m):
            out[o + k] = 0.5 * (high - low) * x[o + k] / rest if rest > 0.0 else 0.0
        out[o] = 0.5 * (high + low) if m > 1 else x[o] ** exponent


@jit
def inverse(start, size, x, out):
    """out <- x^-1 = R x / det(x)."""
    for i in range(size.shape[0]):
        o, m = start[i], size[i]
        if m == 0:
            continue
        det = _det(x, o, m)
        for k in range(1, m):
            out[o + k] = -x[o + k] / det
        out[o] = x[o] / det if m > 1 else 1.0 / x[o]


@jit
def quadratic(start, size, x, out):
    """out (cones, d, d) <- Q_x = 2 x x' - det(x) R, with R = diag(1, -1, ..., -1)."""
    for i in range(size.shape[0]):
        o, m = start[i], size[i]
        if m == 0:
            continue
        det = _det(x, o, m)
        for a in range(m):
            for b in range(m):
                out[i, a, b] = 2.0 * x[o + a] * x[o + b]
            out[i, a, a] -= det if a == 0 else -det


@jit
def quadratic_product(start, size, x, y, out):
    """out <- Q_x y = 2 (x·y) x - det(x) R y."""
    for i in range(size.shape[0]):
        o, m = start[i], size[i]
        if m == 0:
            continue
        det, along = _det(x, o, m), 0.0
        for k in range(m):
            along += x[o + k] * y[o + k]
        for k in range(m):
            out[o + k] = 2.0 * along * x[o + k] - (det if k == 0 else -det) * y[o + k]


@jit
def apply(start, size, blocks, x, out):
    """out <- blocks x.   blocks (cones, d, d)."""
    for i in range(size.shape[0]):
        o, m = start[i], size[i]
        for a in range(m):
            s = 0.0
            for b in range(m):
                s += blocks[i, a, b] * x[o + b]
            out[o + a] = s


@jit
def longest_step(start, size, x, dx):
    """Return the largest t with x + t dx in the cones: the first root of det(x + t dx), or infinity."""
    t = math.inf
    for i in range(size.shape[0]):
        o, m = start[i], size[i]
        if m == 0:
            continue
        if dx[o] < 0.0:
            t = min(t, -x[o] / dx[o])
        if m == 1:
            continue
        a, c = _det(dx, o, m), _det(x, o, m)
        b = x[o] * dx[o]
        for k in range(1, m):
            b -= x[o + k] * dx[o + k]
        if a < 0.0 or (b < 0.0 and b * b >= a * c):
            below = -b + math.sqrt(max(b * b - a * c, 0.0))
            if below > 0.0:
                t = min(t, max(c, 0.0) / below)
    return t


@jit
def move_inside(start, size, x, least):
    """Raise x_0 of every cone until x_0 - |x_rest| >= least, in place."""
    for i in range(size.shape[0]):
        if size[i] > 0:
            x[start[i]] = max(x[start[i]], least + _length(x, start[i], size[i]))


@jit
def scale_by_point(start, size, x, z, out, work):
    """Write the Nesterov-Todd scaling F = Q_p, F^-1 = Q_{p^-1}, G = F^-2 = Q_{p^-2}, lam = F x.

    p = {Q_{x^1/2} [Q_{x^1/2} z]^-1/2}^-1/2, so that Q_p x = Q_p^-1 z (Nguyen 2021, (1.22)).
    x, z strictly inside; out: G, F, F^-1, lam; work (3, n).
    """
    (G, F, F_inverse, lam), q, y, p = out, work[0], work[1], work[2]
    power(start, size, x, 0.5, q)
    quadratic_product(start, size, q, z, y)
    power(start, size, y, -0.5, p)
    quadratic_product(start, size, q, p, y)
    power(start, size, y, -0.5, p)
    quadratic(start, size, p, F)
    quadratic_product(start, size, p, x, lam)
    inverse(start, size, p, q)
    quadratic(start, size, q, F_inverse)
    product(start, size, q, q, p)
    quadratic(start, size, p, G)


@jit
def scale(start, size, x, z, out):
    """Write the Nesterov-Todd scaling F x = F^-1 z = lam, F^-1 and G = F^-2 (Nguyen 2021, (1.33), (1.34)).

    F = omega Q_{f^1/2} with det f = 1, so G = Q_{f^-1} / omega² follows without squaring; x, z strictly
    inside.
    out: G, F, F^-1, lam.
    """
    G, F, F_inverse, lam = out
    for i in range(size.shape[0]):
        o, m = start[i], size[i]
        if m == 0:
            continue
        # 1. omega and f.
        rx, rz = math.sqrt(max(_det(x, o, m), TINY)), math.sqrt(max(_det(z, o, m), TINY))
        xz = 0.0
        for k in range(m):
            xz += x[o + k] * z[o + k]
        omega = math.sqrt(rz / rx)
        below = math.sqrt(max(2.0 * (rx * rz + xz), TINY))
        for k in range(m):  # f, stored in lam
            sign = 1.0 if k == 0 else -1.0
            lam[o + k] = (z[o + k] / omega + sign * omega * x[o + k]) / below
        # 2. G, F and F^-1.
        square = omega * omega
        for a in range(m):
            for b in range(m):
                ja, jb = 1.0 if a == 0 else -1.0, 1.0 if b == 0 else -1.0
                fa, fb = lam[o + a], lam[o + b]
                G[i, a, b] = (2.0 * ja * fa * jb * fb - (ja if a == b else 0.0)) / square
                if a == 0 or b == 0:
                    entry, mirrored = lam[o + a + b], ja * jb * lam[o + a + b]
                else:
                    entry = fa * fb / (1.0 + lam[o]) + (1.0 if a == b else 0.0)
                    mirrored = entry
                F[i, a, b], F_inverse[i, a, b] = omega * entry, mirrored / omega
        # 3. lam = F x.
        for a in range(m):
            s = 0.0
            for b in range(m):
                s += F[i, a, b] * x[o + b]
            lam[o + a] = s
