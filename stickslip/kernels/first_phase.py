"""The first phase of `auto` on Coulomb contacts: prepare, sweep and look at the judge in one call.

Small problems are mostly calls, and a call costs by the array: so this one takes what Coulomb
contacts of one dimension need and no more, and makes its work arrays itself.
"""

import math

import numpy as np

from stickslip.kernels import anderson, gauss_seidel, residuals, schedule
from stickslip.kernels import local as one
from stickslip.kernels.jit import jit
from stickslip.kernels.one_projection import project

LINES = 64
"""Most lines of the history."""
PLAIN = 6.0
"""Sweeps before acceleration: the first ones settle who touches, and often the whole problem."""
WORTH = 12.0
"""Plain sweeps ahead, times what mixing adds to their cost, from which acceleration pays."""
MEMORY = 8
"""Sweeps that are mixed."""
MIXED_TRIAL = 16.0
"""Accelerated sweeps before the solve may be called too slow."""


@jit
def sweep_coulomb(d, mu, row_start, column, data, u_free, r, first, tolerance, allowed):
    """(best, control, history) after at most `allowed` sweeps over contacts of d = 2 or 3 components.

    mu (nc,); W in blocks; r (d nc,) the start, overwritten; `first` sweeps before the first look.
    Where many are still ahead, each one starts from a mix of the last (`anderson.py`).
    """
    n, nc = u_free.shape[0], mu.shape[0]
    control, history, best = np.zeros(schedule.SLOTS), np.empty((LINES, 3)), r.copy()
    stride = 4 if d == 2 else 9 + one.EXTRAS_3
    local, rho, kappa, u, mark = np.zeros(stride * nc), np.empty(nc), np.zeros(nc), np.empty(n), np.empty(n)
    prepare(d, stride, row_start, column, data, local, rho)
    control[schedule.STATE], control[schedule.NEXT], control[schedule.ALLOWED] = schedule.NEW, first, allowed
    schedule.begin(control)
    control[schedule.TRIAL] = math.inf
    worth = WORTH * (1.0 + 3.0 * MEMORY * n / (data.shape[0] + 20.0 * n))
    accelerated = False
    weight, memory, mix = np.empty(0), np.empty((0, 0)), np.zeros(anderson.SLOTS)
    gram, work = np.empty((0, 0)), np.empty((0, 0))
    while schedule.goes_on(control, allowed):
        if schedule.is_due(control, allowed):
            velocities(d, row_start, column, data, r, u_free, u)
            natural, scaled = residuals.coulomb_measures(d, mu, rho, r, u, u_free)
            if schedule.look(control, history, natural, scaled, tolerance, r, mark):
                for k in range(n):
                    best[k] = r[k]
            mix[anderson.SEEN] = mix[anderson.LENGTH]
            if not accelerated and control[schedule.SWEEPS] >= PLAIN and control[schedule.AHEAD] > worth:
                accelerated = True
                control[schedule.TRIAL] = control[schedule.SWEEPS] + MIXED_TRIAL
                control[schedule.GAP], control[schedule.NEXT] = 2.0, control[schedule.SWEEPS] + 4.0
                control[schedule.SINCE], control[schedule.ERROR_THEN] = (
                    control[schedule.SWEEPS],
                    max(natural, scaled),
                )
                weight, memory, gram = np.empty(n), np.zeros((2 * MEMORY + 3, n)), np.zeros((MEMORY, MEMORY))
                work = np.zeros((MEMORY + 2, MEMORY))
                for k in range(n):
                    weight[k] = 1.0 / rho[k // d]
                anderson.forget(mix)
                mix[anderson.SEEN] = 0.0
            continue
        if accelerated:
            start(d, mu, weight, mix, gram, memory, work, r)
        if d == 3:
            moved = gauss_seidel.sweep_coulomb3(row_start, column, data, mu, local, u_free, r, kappa)
        else:
            moved = gauss_seidel.sweep_coulomb2(row_start, column, data, mu, local, u_free, r)
        if accelerated:
            moved = anderson.learn(weight, mix, gram, memory, moved, r)
        schedule.swept(control, moved)
        if accelerated:
            anderson.hurry(mix, tolerance, control)
    return best, control, history[: int(control[schedule.CHECKS])]


@jit
def start(d, mu, weight, mix, gram, memory, work, r):
    """r, x <- where the next accelerated sweep starts: `anderson.mixed_start` on Coulomb contacts."""
    if mix[anderson.HELD] > 0.0:
        anderson.mixed(weight, mix, gram, memory, work, r)
        for i in range(mu.shape[0]):
            a = d * i
            r2 = r[a + 2] if d == 3 else 0.0
            r[a], r[a + 1], r2 = project(mu[i], r[a], r[a + 1], r2)
            if d == 3:
                r[a + 2] = r2
    x = memory[2 * gram.shape[0]]
    for k in range(r.shape[0]):
        x[k] = r[k]


@jit
def prepare(d, stride, row_start, column, data, local, rho):
    """local <- W_ii of each contact and its extras; rho <- 1 / mean diagonal, as the judge has it."""
    total, count, nc = 0.0, 0, rho.shape[0]
    for i in range(nc):
        at, mean = stride * i, 0.0
        for b in range(row_start[i], row_start[i + 1]):
            if column[b] == i:
                for k in range(d * d):
                    local[at + k] = data[d * d * b + k]
        for k in range(d):
            mean += abs(local[at + k * d + k])
        mean = mean / d
        rho[i] = 0.0
        if mean > 0.0:
            rho[i] = 1.0 / mean
            total += mean
            count += 1
        if d == 3:
            one.prepare_coulomb3(local, at)
    for i in range(nc):
        if rho[i] == 0.0:
            rho[i] = count / total if count > 0 else 1.0


@jit
def velocities(d, row_start, column, data, r, u_free, u):
    """u <- W r + u_free.   r, u_free, u (d nc,)."""
    for i in range(row_start.shape[0] - 1):
        a = d * i
        u0, u1, u2 = u_free[a], u_free[a + 1], 0.0
        if d == 3:
            u2 = u_free[a + 2]
        for b in range(row_start[i], row_start[i + 1]):
            c, k = d * column[b], d * d * b
            if d == 3:
                r0, r1, r2 = r[c], r[c + 1], r[c + 2]
                u0 += data[k] * r0 + data[k + 1] * r1 + data[k + 2] * r2
                u1 += data[k + 3] * r0 + data[k + 4] * r1 + data[k + 5] * r2
                u2 += data[k + 6] * r0 + data[k + 7] * r1 + data[k + 8] * r2
            else:
                u0 += data[k] * r[c] + data[k + 1] * r[c + 1]
                u1 += data[k + 2] * r[c] + data[k + 3] * r[c + 1]
        u[a], u[a + 1] = u0, u1
        if d == 3:
            u[a + 2] = u2
