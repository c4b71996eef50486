"""Step of the alternating direction method of multipliers (ADMM) for u_hat = W r + q + s.

`solvers/admm.py` has the equations, `kernels/products.py` the form of C.
"""

import math

from stickslip.kernels import cones
from stickslip.kernels.jit import jit

PRIMAL, DUAL = 0, 1
"""Indices of `state`: primal and dual residual."""
SLOTS = 2
"""Size of `state`."""


@jit
def shift_from(C, exact, y, s):
    """s <- shift sum_k mu_k |y_k| of each friction cone, or 0 for the convex problem.   y (n,), s (nb,)."""
    kind = C.kind
    for i in range(kind.shape[0]):
        s[i] = 0.0
        if exact and kind[i] == cones.FRICTION:
            s[i] = cones.shift_of_block(i, C, y)


@jit
def right_side(C, rho, q, vectors):
    """b <- r - rho (q + s - y), right-hand side of (I + rho W) t = b.

    vectors: r, y (n,), s (nb,), b (n,), work (n,).
    """
    offset, (r, y, s, b, _) = C.offset, vectors
    for i in range(s.shape[0]):
        for k in range(offset[i], offset[i + 1]):
            b[k] = r[k] - rho * (q[k] - y[k])
        b[offset[i]] -= rho * s[i]


@jit
def step(C, exact, rho, alpha, q, vectors, Wt, state):
    """r, y, s, b <- next iterate, from W t; state <- its residuals.

    With h = W t + q + s, over-relaxed to alpha h + (1 - alpha) y, and x = r - rho h: r <- P_C(x) and
    y <- (P_C(x) - x) / rho, which is in the negative of the normal cone of C at r.
    state[PRIMAL]: |W t + q + s - y|, state[DUAL]: rho |change of y|, over max(|W t|, |y|, |q + s|, |r|).
    vectors as in `right_side`; q, Wt (n,).
    """
    kind, offset, (r, y, s, _, x) = C.kind, C.offset, vectors
    p, d, size_W, size_y, size_q, size_r = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(kind.shape[0]):
        # 1. Projection.
        first = offset[i]
        for k in range(first, offset[i + 1]):
            h = Wt[k] + q[k] + (s[i] if k == first else 0.0)
            x[k] = r[k] - rho * (alpha * h + (1.0 - alpha) * y[k])
            r[k] = x[k]
        cones.project_block(i, C, r, r)
        # 2. Multiplier y and residuals.
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
    # 3. Shift and right-hand side of the next step.
    shift_from(C, exact, y, s)
    right_side(C, rho, q, vectors)


@jit
def _relative(square, scale):
    """Return sqrt(square / scale), with 0/0 = 0."""
    return math.sqrt(square / scale) if scale > 0.0 else math.sqrt(square)
