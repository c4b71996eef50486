"""Projection methods on the exact law: De Saxcé's fixed point and the extragradient method.

F(r) = u_hat(W r + u_free). `state` (SLOTS,) is the whole memory beside r and F, so that a solve can
pause for the judge and go on. See `kernels/products.py` for K and W.
"""

import math
from typing import Any, NamedTuple

from stickslip.kernels import cones, products
from stickslip.kernels.jit import jit

RHO, STARTED, STUCK = 0, 1, 2
SLOTS = 3
FIXED_POINT, KHOBOTOV, HE_LIAO = 0, 1, 2
TRIALS = 60
"""Most reductions of the step in one iteration."""
LONGEST = 1e4
"""Longest step, in units where W_ii is about 1: what does not move at that step never will."""


class Rule(NamedTuple):
    """What an iteration is, and how its step is found."""

    method: Any
    """FIXED_POINT, KHOBOTOV or HE_LIAO."""
    largest: Any
    """Largest rho |change of F| over |change of r| of a step that passes [-]."""
    smallest: Any
    """The same below which the next step is longer [-]."""
    shrink: Any
    """Factor of a shortened step [-]."""
    relaxation: Any
    """Share of He and Liao's step that is taken [-]."""


@jit
def shifted_velocity(K, W, u_free, r, out):
    """out <- F(r) = u_hat(W r + u_free).   r, u_free, out (n,)."""
    products.velocity(K.offset, W, r, u_free, out)
    cones.shift(K, out, out)


@jit
def iterate(K, W, u_free, rule, r, work, state, count):
    """`count` iterations by a `Rule` on r, in place, with a step that adapts itself; how many were made.

    Khobotov's test rho |F(r) - F(r_bar)| <= largest |r - r_bar|, r_bar = P_K(r - rho F(r)): a step
    that fails is shortened, one that passes with `smallest` is lengthened for the next iteration.
    r (n,), work (4, n).
    """
    method, largest, smallest, shrink, relaxation = rule
    F, r_bar, F_bar, step = work[0], work[1], work[2], work[3]
    if state[STARTED] == 0.0:
        shifted_velocity(K, W, u_free, r, F)
        state[STARTED] = 1.0
    rho = state[RHO]
    made = 0
    for _ in range(count):
        ratio, moved = 0.0, 0.0
        for _trial in range(TRIALS):
            products.project_step(K, r, rho, F, r_bar)
            shifted_velocity(K, W, u_free, r_bar, F_bar)
            moved, changed = products.difference(r, r_bar), products.difference(F, F_bar)
            ratio = rho * math.sqrt(changed / moved) if moved > 0.0 else 0.0
            if not ratio > largest:
                break
            rho *= shrink * min(1.0, 1.0 / ratio)
        made += 1
        if moved == 0.0 and rho >= 1.0:
            state[STUCK] = 1.0
            break
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
    return made


@jit
def step_of_he_liao(r, r_bar, F, F_bar, rho, moved):
    """(r - r_bar)·d / d·d with d = r - r_bar - rho (F - F_bar): He & Liao 2002."""
    top, bottom = 0.0, 0.0
    for k in range(r.shape[0]):
        e = r[k] - r_bar[k]
        d = e - rho * (F[k] - F_bar[k])
        top += e * d
        bottom += d * d
    return top / bottom if bottom > 0.0 and moved > 0.0 else 1.0
