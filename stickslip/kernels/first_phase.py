"""The first phase of `auto` on small problems: prepare, sweep and look at the judge in one call.

Everything is made inside, because a call with few arrays is what a small problem costs most of all.
"""

import numpy as np

from stickslip.kernels import gauss_seidel, schedule
from stickslip.kernels.jit import jit
from stickslip.kernels.local import EXTRAS_3
from stickslip.kernels.residuals import MEASURES

LINES = 64


@jit
def sweep_coulomb3(
    kind, offset, lower, upper, group_offset, group_size, coefficient,
    row_start, column, data_start, data, u_free, r, first, tolerance, allowed,
):  # fmt: skip
    """(best, control, history) after at most `allowed` sweeps over 3D Coulomb contacts from r (changed)."""
    n, nb = u_free.shape[0], kind.shape[0]
    control, history, best = np.zeros(schedule.SLOTS), np.empty((LINES, 3)), r.copy()
    control[schedule.STATE], control[schedule.NEXT], control[schedule.ALLOWED] = schedule.NEW, first, allowed
    stride = 9 + EXTRAS_3
    gauss_seidel.run_coulomb3(
        kind, offset, lower, upper, group_offset, group_size, coefficient,
        row_start, column, data_start, data, np.empty(stride * nb), np.arange(nb) * stride,
        np.empty(nb), np.empty(n), np.empty(nb), u_free, 1.0, tolerance, allowed,
        r, best, np.zeros(nb), np.empty((5, n)), np.empty((1, MEASURES)), control, history,
    )  # fmt: skip
    return best, control, history[: int(control[schedule.CHECKS])]


@jit
def sweep_coulomb2(
    kind, offset, lower, upper, group_offset, group_size, coefficient,
    row_start, column, data_start, data, u_free, r, first, tolerance, allowed,
):  # fmt: skip
    """`sweep_coulomb3` in 2D."""
    n, nb = u_free.shape[0], kind.shape[0]
    control, history, best = np.zeros(schedule.SLOTS), np.empty((LINES, 3)), r.copy()
    control[schedule.STATE], control[schedule.NEXT], control[schedule.ALLOWED] = schedule.NEW, first, allowed
    gauss_seidel.run_coulomb2(
        kind, offset, lower, upper, group_offset, group_size, coefficient,
        row_start, column, data_start, data, np.zeros(4 * nb), np.arange(nb) * 4,
        np.empty(nb), np.empty(n), np.empty(nb), u_free, 1.0, tolerance, allowed,
        r, best, np.zeros(nb), np.empty((5, n)), np.empty((1, MEASURES)), control, history,
    )  # fmt: skip
    return best, control, history[: int(control[schedule.CHECKS])]
