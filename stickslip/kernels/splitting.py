"""One step of the alternating direction method of multipliers (ADMM) on u_hat = W r + q + s.

See `solvers/admm.py` for the equations, `kernels/products.py` for C.
"""

import math

from stickslip.kernels import cones
from stickslip.kernels.jit import jit

PRIMAL, DUAL = 0, 1
SLOTS = 2


@jit
def shift_from(C, exact, y, s):
    """s <- sum_k mu_k |y_k| of each friction cone, or 0 for the convex problem.   y (n,), s (nb,)."""
    kind = C.kind
    for i in range(kind.shape[0]):
        s[i] = 0.0
        if exact and kind[i] == cones.FRICTION:
            s[i] = cones.shift_of_block(i, C, y)


@jit
def right_side(C, rho, q, at):
    """b <- r - rho (q + s - y), of which (I + rho W) t = b.   at: r, y (n,), s (nb,), b (n,), work (n,)."""
    offset, (r, y, s, b, _) = C.offset, at
    for i in range(s.shape[0]):
        for k in range(offset[i], offset[i + 1]):
            b[k] = r[k] - rho * (q[k] - y[k])
        b[offset[i]] -= rho * s[i]


@jit
def step(C, exact, rho, alpha, q, at, Wt, state):
    """r, y, s, b <- the next iterate from W t, and its residuals in state.

    h = W t + q + s, over-relaxed to alpha h + (1 - alpha) y; r <- P_C(r - rho h); y, which is in the
    polar of the normal cone there, <- what the projection has cut off, over rho.
    state[PRIMAL]: |W t + q + s - y|, state[DUAL]: rho |change of y|, over max(|W t|, |y|, |q + s|, |r|).
    at as in `right_side`; q, Wt (n,).
    """
    kind, offset, (r, y, s, _, x) = C.kind, C.offset, at
    p, d, size_W, size_y, size_q, size_r = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(kind.shape[0]):
        first = offset[i]
        for k in range(first, offset[i + 1]):
            h = Wt[k] + q[k] + (s[i] if k == first else 0.0)
            x[k] = r[k] - rho * (alpha * h + (1.0 - alpha) * y[k])
            r[k] = x[k]
        cones.project_block(i, C, r, r)
        for k in range(first, offset[i + 1]):
            before, y[k] = y[k], (r[k] - x[k]) / rho
            shifted = q[k] + (s[i] if k == first else 0.0)
            e = Wt[k] + shifted - y[k]
            p += e * e
            d += (y[k] - before) * (y[k] - before)
            size_W += Wt[k] * Wt[k]
            size_y += y[k] * y[k]
            size_q += shifted * shifted
            size_r += r[k] * r[k]
    size = max(size_W, size_y, size_q, size_r)
    state[PRIMAL], state[DUAL] = _relative(p, size), rho * _relative(d, size)
    shift_from(C, exact, y, s)
    right_side(C, rho, q, at)


@jit
def _relative(square, scale):
    """sqrt(square / scale), 0 where both vanish."""
    return math.sqrt(square / scale) if scale > 0.0 else math.sqrt(square)
