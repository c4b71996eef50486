"""The first phase of `auto` on Coulomb contacts: prepare, sweep and look at the judge in one call.

Small problems are mostly calls, and a call costs by the array: so this one takes what Coulomb
contacts of one dimension need and no more, and makes its work arrays itself.
"""

import numpy as np

from stickslip.kernels import gauss_seidel, residuals, schedule
from stickslip.kernels import local as one
from stickslip.kernels.jit import jit

LINES = 64
"""Most lines of the history."""


@jit
def sweep_coulomb(d, mu, row_start, column, data, u_free, r, first, tolerance, allowed):
    """(best, control, history) after at most `allowed` sweeps over contacts of d = 2 or 3 components.

    mu (nc,); W in blocks; r (d nc,) the start, overwritten; `first` sweeps before the first look.
    """
    n, nc = u_free.shape[0], mu.shape[0]
    control, history, best = np.zeros(schedule.SLOTS), np.empty((LINES, 3)), r.copy()
    stride = 4 if d == 2 else 9 + one.EXTRAS_3
    local, rho, kappa, u, mark = np.zeros(stride * nc), np.empty(nc), np.zeros(nc), np.empty(n), np.empty(n)
    prepare(d, stride, row_start, column, data, local, rho)
    control[schedule.STATE], control[schedule.NEXT], control[schedule.ALLOWED] = schedule.NEW, first, allowed
    schedule.begin(control)
    while schedule.goes_on(control, allowed):
        if schedule.is_due(control, allowed):
            velocities(d, row_start, column, data, r, u_free, u)
            natural, scaled = residuals.coulomb_measures(d, mu, rho, r, u, u_free)
            if schedule.look(control, history, natural, scaled, tolerance, r, mark):
                for k in range(n):
                    best[k] = r[k]
        elif d == 3:
            moved = gauss_seidel.sweep_coulomb3(row_start, column, data, mu, local, u_free, r, kappa)
            schedule.swept(control, moved)
        else:
            schedule.swept(
                control, gauss_seidel.sweep_coulomb2(row_start, column, data, mu, local, u_free, r)
            )
    return best, control, history[: int(control[schedule.CHECKS])]


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
