"""Projection methods for the exact law: De Saxcé's fixed point and extragradient methods.

F(r) = u_hat(W r + u_free). `state` (SLOTS,), r and F are the whole state of the iteration, so that a solve
can pause for a check of the residuals and continue. K and W are those of `kernels/products.py`.
"""

import math
from typing import Any, NamedTuple

from stickslip.kernels import cones, products
from stickslip.kernels.jit import jit

RHO, STARTED, STUCK = 0, 1, 2
"""Indices of `state`: step size, whether F is evaluated, whether r no longer changes."""
SLOTS = 3
"""Size of `state`."""
FIXED_POINT, KHOBOTOV, HE_LIAO = 0, 1, 2
"""Methods."""
TRIALS = 60
"""Largest number of reductions of the step size in one iteration."""
LONGEST = 1e4
"""Largest step size, in units with W_ii about 1 [-]; heuristic."""


class Rule(NamedTuple):
    """Method and step-size rule of an iteration."""

    method: Any
    """FIXED_POINT, KHOBOTOV or HE_LIAO."""
    largest: Any
    """Largest ratio rho |change of F| / |change of r| of an accepted step [-]."""
    smallest: Any
    """Ratio below which the next step size is increased [-]."""
    shrink: Any
    """Reduction factor of the step size [-]."""
    relaxation: Any
    """Relaxation factor of the step length of He and Liao [-]."""


@jit
def shifted_velocity(K, W, u_free, r, out):
    """out <- F(r) = u_hat(W r + u_free).   r, u_free, out (n,)."""
    products.velocity(K.offset, W, r, u_free, out)
    cones.shift(K, out, out)


@jit
def iterate(K, W, u_free, rule, r, work, state, count):
    """Make up to `count` iterations by a `Rule` on r with adaptive step size; return the number made.

    Khobotov's test is rho |F(r) - F(r_bar)| <= largest |r - r_bar|, r_bar = P_K(r - rho F(r)). A step size
    that fails it is reduced; after one that satisfies it with `smallest`, the next step size is increased. r
    (n,), work (4, n).
    """
    method, largest, smallest, shrink, relaxation = rule
    F, r_bar, F_bar, step = work[0], work[1], work[2], work[3]
    if state[STARTED] == 0.0:
        shifted_velocity(K, W, u_free, r, F)
        state[STARTED] = 1.0
    rho = state[RHO]
    iterations_done = 0
    for _ in range(count):
        # 1. Prediction r_bar, with a step size that passes Khobotov's test.
        ratio, moved = 0.0, 0.0
        for _trial in range(TRIALS):
            products.project_step(K, r, rho, F, r_bar)
            shifted_velocity(K, W, u_free, r_bar, F_bar)
            moved, changed = products.difference(r, r_bar), products.difference(F, F_bar)
            ratio = rho * math.sqrt(changed / moved) if moved > 0.0 else 0.0
            if not ratio > largest:
                break
            rho *= shrink * min(1.0, 1.0 / ratio)
        iterations_done += 1
        if moved == 0.0 and rho >= 1.0:
            state[STUCK] = 1.0
            break
        # 2. New iterate: r_bar, or P_K(r - length F(r_bar)).
        if method == FIXED_POINT:
            for k in range(r.shape[0]):
                r[k], F[k] = r_bar[k], F_bar[k]
        else:
            length = rho
            if method == HE_LIAO:
                length *= relaxation * step_of_he_liao(r, r_bar, F, F_bar, rho, moved)
            products.project_step(K, r, length, F_bar, step)
            for k in range(r.shape[0]):
                r[k] = step[k]
            shifted_velocity(K, W, u_free, r, F)
        if ratio < smallest:
            rho = min(rho / shrink, LONGEST)
    state[RHO] = rho
    return iterations_done


@jit
def step_of_he_liao(r, r_bar, F, F_bar, rho, moved):
    """Return (r - r_bar)·d / d·d with d = r - r_bar - rho (F - F_bar) (He & Liao 2002)."""
    top, bottom = 0.0, 0.0
    for k in range(r.shape[0]):
        e = r[k] - r_bar[k]
        d = e - rho * (F[k] - F_bar[k])
        top += e * d
        bottom += d * d
    return top / bottom if bottom > 0.0 and moved > 0.0 else 1.0
