"""One step of the alternating direction method of multipliers (ADMM) on u_hat = W r + q + s.

See `solvers/admm.py` for the equations, `kernels/products.py` for C.
"""

import math

from stickslip.kernels import cones, products
from stickslip.kernels.jit import jit

PRIMAL, DUAL, ERROR = 0, 1, 2
SLOTS = 3


@jit
def shift_from(C, exact, y, s):
    """s <- sum_k mu_k |y_k| of each friction cone, or 0 for the convex problem.   y (n,), s (nb,)."""
    kind, offset, _, _, group_offset, group_size, coefficient = C
    for i in range(kind.shape[0]):
        s[i] = 0.0
        if exact and kind[i] == cones.FRICTION:
            s[i] = cones.shift_of_block(i, kind, offset, group_offset, group_size, coefficient, y)


@jit
def right_side(C, rho, q, r, y, s, b):
    """b <- r - rho (q + s - y), of which (I + rho W) t = b.   q, r, y, b (n,), s (nb,)."""
    offset = C[1]
    for i in range(s.shape[0]):
        for k in range(offset[i], offset[i + 1]):
            b[k] = r[k] - rho * (q[k] - y[k])
        b[offset[i]] -= rho * s[i]


@jit
def step(C, exact, rho, alpha, q, r, y, s, b, Wt, x, state):
    """r, y, s, b <- the next iterate from W t, and its residuals in state.

    h = W t + q + s, over-relaxed to alpha h + (1 - alpha) y; r <- P_C(r - rho h); y, which is in the
    polar of the normal cone there, <- what the projection has cut off, over rho.
    state[PRIMAL]: |h - y| / max(|W t|, |y|, |q + s|); state[DUAL]: |t - r| / max(|t|, |r|).
    Vectors (n,), s (nb,), x (n,) work.
    """
    kind, offset, lower, upper, group_offset, group_size, coefficient = C
    p, d, size_W, size_y, size_q, size_t, size_r = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(kind.shape[0]):
        first = offset[i]
        for k in range(first, offset[i + 1]):
            h = Wt[k] + q[k] + (s[i] if k == first else 0.0)
            x[k] = r[k] - rho * (alpha * h + (1.0 - alpha) * y[k])
            r[k] = x[k]
        cones.project_block(i, kind, offset, lower, upper, group_offset, group_size, coefficient, r, r)
        for k in range(first, offset[i + 1]):
            y[k] = (r[k] - x[k]) / rho
            shifted = q[k] + (s[i] if k == first else 0.0)
            t = b[k] - rho * Wt[k]
            e = Wt[k] + shifted - y[k]
            p += e * e
            d += (t - r[k]) * (t - r[k])
            size_W += Wt[k] * Wt[k]
            size_y += y[k] * y[k]
            size_q += shifted * shifted
            size_t += t * t
            size_r += r[k] * r[k]
    state[PRIMAL] = _relative(p, max(size_W, size_y, size_q))
    state[DUAL] = _relative(d, max(size_t, size_r))
    shift_from(C, exact, y, s)
    right_side(C, rho, q, r, y, s, b)


@jit
def _relative(square, scale):
    """sqrt(square / scale), 0 where both vanish."""
    return math.sqrt(square / scale) if scale > 0.0 else math.sqrt(square)


@jit
def error(C, q, r, Wr, x):
    """Natural residual of the convex problem at r, with W r given: a measure for inner loops.

    q, r, Wr, x (n,), Wr becomes W r + q.
    """
    for k in range(r.shape[0]):
        Wr[k] += q[k]
    return products.natural(C, r, Wr, q, x)
