"""The first phase of `auto` on Coulomb contacts of one dimension: prepare, sweep and accelerate in one call.

Small problems are mostly calls, and a call costs by the array: this one makes its work arrays itself.
"""

import numpy as np

from stickslip.kernels import anderson, gauss_seidel, schedule
from stickslip.kernels.blocks import BlockW
from stickslip.kernels.cones import Cones
from stickslip.kernels.jit import jit

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
def sweep_coulomb(K, W, u_free, r, first, tolerance, allowed):
    """(best, control, history) after at most `allowed` sweeps over Coulomb contacts.

    K, W: a `Cones` and a `BlockW`, each as a plain tuple; r (n,) the start, overwritten; `first` sweeps
    before the first look. Where many are still ahead, each starts from a mix of the last (`anderson.py`).
    """
    n = u_free.shape[0]
    control, history, best = np.zeros(schedule.SLOTS), np.empty((LINES, 3)), r.copy()
    problem, work = gauss_seidel.prepare_coulomb(Cones(*K), BlockW(*W), u_free)
    # 1. plain sweeps, until they solve it or acceleration pays
    control[schedule.STATE], control[schedule.NEXT] = schedule.NEW, first
    schedule.begin(control)
    control[schedule.TRIAL] = PLAIN
    control[schedule.WORTH] = WORTH * (1.0 + 3.0 * MEMORY * n / (problem.W.data.shape[0] + 20.0 * n))
    course = r, best, control, history
    gauss_seidel.run_coulomb(problem, work, anderson.no_memory(), tolerance, allowed, course)
    # 2. accelerated ones, while they promise an end
    if control[schedule.STATE] == schedule.SLOW:
        anderson.take_over(control, control[schedule.ERROR], allowed, MIXED_TRIAL)
        memory = anderson.memory_of(problem, MEMORY)
        gauss_seidel.run_coulomb(problem, work, memory, tolerance, allowed, course)
    return best, control, history[: int(control[schedule.CHECKS])]
