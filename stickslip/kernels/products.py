"""Products with W in either of its forms, and maps of whole vectors: what first-order methods are made of.

K is the tuple of the seven arrays of a set (`kernels/cones.py`). W is a tuple: row_start, column,
data_start, data (block rows, see `kernels/blocks.py`), bodies, rows, work (rows over bodies; work
(bodies, k)); the arrays of the form that is not used are empty.
"""

import math

from stickslip.kernels import blocks, cones
from stickslip.kernels.jit import jit


@jit
def velocity(offset, W, r, bias, u):
    """u <- W r + bias.   r, bias, u (n,), u another array than r."""
    row_start, column, data_start, data, bodies, rows, work = W
    if bodies.shape[0] > 0:
        blocks.blocks_to_bodies(bodies, offset, rows, r, work)
        blocks.bodies_to_blocks(bodies, offset, rows, work, bias, u)
    else:
        blocks.multiply(offset, row_start, column, data_start, data, r, bias, u)


@jit
def project_3(kind, offset, group_offset, coefficient, i, r, step, f, out):
    """Whether block i is a 3D Coulomb contact; then out <- P(r - step f) on it, the case met most."""
    a, g = offset[i], group_offset[i]
    if kind[i] != cones.FRICTION or offset[i + 1] - a != 3 or group_offset[i + 1] - g != 1:
        return False
    mu = coefficient[g]
    x0, x1, x2 = r[a] - step * f[a], r[a + 1] - step * f[a + 1], r[a + 2] - step * f[a + 2]
    t = math.sqrt(x1 * x1 + x2 * x2)
    if mu * t <= -x0:
        x0, x1, x2 = 0.0, 0.0, 0.0
    elif t > mu * x0:
        x0 = (x0 + mu * t) / (1.0 + mu * mu)
        x1, x2 = mu * x0 / t * x1, mu * x0 / t * x2
    out[a], out[a + 1], out[a + 2] = x0, x1, x2
    return True


@jit
def project_step(K, r, step, f, out):
    """out <- P_K(r - step f).   r, f, out (n,), out another array than f."""
    kind, offset, lower, upper, group_offset, group_size, coefficient = K
    for i in range(kind.shape[0]):
        if project_3(kind, offset, group_offset, coefficient, i, r, step, f, out):
            continue
        for k in range(offset[i], offset[i + 1]):
            out[k] = r[k] - step * f[k]
        cones.project_block(i, kind, offset, lower, upper, group_offset, group_size, coefficient, out, out)


@jit
def add_shift(K, u):
    """u <- u_hat = u + (sum_k mu_k |u_k|) e_N, in place.   u (n,)."""
    kind, offset, _, _, group_offset, group_size, coefficient = K
    for i in range(kind.shape[0]):
        if kind[i] == cones.FRICTION:
            u[offset[i]] += cones.shift_of_block(i, kind, offset, group_offset, group_size, coefficient, u)


@jit
def dot(x, y):
    """x·y.   x, y (n,)."""
    s = 0.0
    for k in range(x.shape[0]):
        s += x[k] * y[k]
    return s


@jit
def difference(x, y):
    """|x - y|².   x, y (n,)."""
    s = 0.0
    for k in range(x.shape[0]):
        s += (x[k] - y[k]) * (x[k] - y[k])
    return s


@jit
def natural(K, r, u, q, x):
    """|r - P_K(r - u)| / max(|r|, |u|, |q|), 0/0 = 0: the residual of a problem without shift.

    r, u, q (n,) in units of the problem's own; x (n,) work.
    """
    project_step(K, r, 1.0, u, x)
    top, bottom = difference(r, x), max(dot(r, r), dot(u, u), dot(q, q))
    return math.sqrt(top / bottom) if bottom > 0.0 else math.sqrt(top)
