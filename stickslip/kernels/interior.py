"""Second-order cones for the interior point: Nesterov-Todd scaling, Jordan product, longest step.

Contact i has the cone L = {x_0 >= |x_rest|} on its first size[i] components (1: x >= 0, 0: none). Its
other components are free or fixed at zero; here they are left alone. Blocks of scalings (nb, d, d);
vectors (n,) with offset (nb + 1,).

Nesterov & Todd 1997; formulas as in Vandenberghe 2010, "The CVXOPT linear and quadratic cone program
solvers", section 4.
"""

import math

from stickslip.kernels.jit import jit

TINY = 1e-300


@jit
def nt_scaling(offset, size, x, y, G, S, S_inverse, lam):
    """G = S^-2 with S y = S^-1 x = lam, block by block; x, y strictly inside."""
    for i in range(size.shape[0]):
        o, m = offset[i], size[i]
        if m == 0:
            continue
        xx, yy, xy = x[o] * x[o], y[o] * y[o], x[o] * y[o]
        for k in range(1, m):
            xx -= x[o + k] * x[o + k]
            yy -= y[o + k] * y[o + k]
            xy += x[o + k] * y[o + k]
        sx, sy = math.sqrt(max(xx, TINY)), math.sqrt(max(yy, TINY))
        g = math.sqrt(max(0.5 * (1.0 + xy / (sx * sy)), 0.5))
        eta2 = sx / sy
        eta = math.sqrt(eta2)
        # w, the scaling point, kept in lam: w_0, and its other components with a plus sign
        for k in range(m):
            sign = 1.0 if k == 0 else -1.0
            lam[o + k] = (x[o + k] / sx + sign * y[o + k] / sy) / (2.0 * g)
        t = 1.0 / math.sqrt(2.0 * (lam[o] + 1.0))
        for a in range(m):
            for b in range(m):
                ja, jb = 1.0 if a == 0 else -1.0, 1.0 if b == 0 else -1.0
                diagonal = ja if a == b else 0.0
                wa, wb = lam[o + a], lam[o + b]
                va = (wa + (1.0 if a == 0 else 0.0)) * t
                vb = (wb + (1.0 if b == 0 else 0.0)) * t
                G[i, a, b] = (2.0 * ja * wa * jb * wb - diagonal) / eta2
                S[i, a, b] = eta * (2.0 * va * vb - diagonal)
                S_inverse[i, a, b] = (2.0 * ja * va * jb * vb - diagonal) / eta
        for a in range(m):
            s = 0.0
            for b in range(m):
                s += S[i, a, b] * y[o + b]
            lam[o + a] = s


@jit
def apply_blocks(offset, size, blocks, x, out):
    """out <- blocks x on the cones, 0 elsewhere.   blocks (nb, d, d)."""
    for i in range(size.shape[0]):
        o, m = offset[i], size[i]
        for a in range(offset[i + 1] - o):
            s = 0.0
            if a < m:
                for b in range(m):
                    s += blocks[i, a, b] * x[o + b]
            out[o + a] = s


@jit
def jordan_product(offset, size, a, b, out):
    """out <- a o b = (a·b, a_0 b_rest + b_0 a_rest) on the cones."""
    for i in range(size.shape[0]):
        o, m = offset[i], size[i]
        if m == 0:
            continue
        s = 0.0
        for k in range(m):
            s += a[o + k] * b[o + k]
        for k in range(1, m):
            out[o + k] = a[o] * b[o + k] + b[o] * a[o + k]
        out[o] = s


@jit
def jordan_divide(offset, size, lam, b, out):
    """out <- x with lam o x = b on the cones, 0 elsewhere."""
    for i in range(size.shape[0]):
        o, m = offset[i], size[i]
        for k in range(m, offset[i + 1] - o):
            out[o + k] = 0.0
        if m == 0:
            continue
        det, product = lam[o] * lam[o], 0.0
        for k in range(1, m):
            det -= lam[o + k] * lam[o + k]
            product += lam[o + k] * b[o + k]
        first = (lam[o] * b[o] - product) / det
        for k in range(1, m):
            out[o + k] = (b[o + k] - first * lam[o + k]) / lam[o]
        out[o] = first


@jit
def longest_step(offset, size, x, dx):
    """Largest t with x + t dx in the cones: the root of det(x + t dx) = 0."""
    t = math.inf
    for i in range(size.shape[0]):
        o, m = offset[i], size[i]
        if m == 0:
            continue
        a, b, c = dx[o] * dx[o], x[o] * dx[o], x[o] * x[o]
        for k in range(1, m):
            a -= dx[o + k] * dx[o + k]
            b -= x[o + k] * dx[o + k]
            c -= x[o + k] * x[o + k]
        if dx[o] < 0.0:
            t = min(t, -x[o] / dx[o])
        if m == 1:
            continue
        under = max(b * b - a * c, 0.0)
        if a < 0.0 or (b < 0.0 and b * b >= a * c):
            below = -b + math.sqrt(under)
            if below > 0.0:
                t = min(t, max(c, 0.0) / below)
    return t


@jit
def move_inside(offset, size, x, least):
    """Raise x_0 of every cone until x_0 - |x_rest| >= least, in place."""
    for i in range(size.shape[0]):
        o, square = offset[i], 0.0
        for k in range(1, size[i]):
            square += x[o + k] * x[o + k]
        if size[i] > 0:
            x[o] = max(x[o], least + math.sqrt(square))


@jit
def shifted(offset, size, u, smoothing, out, B):
    """out <- u + s e on friction cones, s = sqrt(|u_T|² + smoothing²) - smoothing, and B = d(out)/du.

    Scaled to mu = 1, so the shift is |u_T| itself. Blocks with one cone component or none have no shift;
    a fixed component has B = 0 rows, set by the caller.
    """
    for i in range(size.shape[0]):
        o, m = offset[i], size[i]
        square = smoothing * smoothing
        for k in range(o, offset[i + 1]):
            out[k] = u[k]
        for k in range(1, m):
            square += u[o + k] * u[o + k]
        if m > 1:
            slide = math.sqrt(square)
            out[o] += slide - smoothing
            for k in range(1, m):
                B[i, 0, k] = u[o + k] / slide if slide > 0.0 else 0.0
