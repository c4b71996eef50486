"""The first phase of `auto` on Coulomb contacts of one dimension: prepare, sweep and accelerate in one call.

The cost of a call grows with its number of arrays, so this kernel allocates its work arrays.
"""

import numpy as np

from stickslip.kernels import anderson, gauss_seidel, schedule
from stickslip.kernels.blocks import BlockW
from stickslip.kernels.cones import Cones
from stickslip.kernels.jit import jit

LINES = 64
"""Largest number of rows of the history."""
PLAIN = 6.0
"""Sweeps before acceleration: they find the touching contacts, and often the solution. Heuristic."""
WORTH = 12.0
"""Predicted number of plain sweeps, over the relative cost of a mixed one, above which acceleration pays;
heuristic."""
MEMORY = 8
"""Number of sweeps that are mixed; heuristic."""
MIXED_TRIAL = 16.0
"""Accelerated sweeps before the solve may be judged too slow; heuristic."""


@jit
def sweep_coulomb(K, W, u_free, r, first, tolerance, allowed):
    """Return (best, control, history) after at most `allowed` sweeps over Coulomb contacts.

    K, W: a `Cones` and a `BlockW`, each as a plain tuple; r (n,) the start, overwritten; `first` sweeps
    before the first residuals. If many sweeps are predicted, they are accelerated (`anderson.py`).
    """
    n = u_free.shape[0]
    control, history, best = np.zeros(schedule.SLOTS), np.empty((LINES, 3)), r.copy()
    problem, work = gauss_seidel.prepare_coulomb(Cones(*K), BlockW(*W), u_free)
    # 1. Plain sweeps, until they converge or acceleration pays.
    control[schedule.STATE], control[schedule.NEXT] = schedule.NEW, first
    schedule.begin(control)
    control[schedule.TRIAL] = PLAIN
    control[schedule.WORTH] = WORTH * (1.0 + 3.0 * MEMORY * n / (problem.W.data.shape[0] + 20.0 * n))
    course = r, best, control, history
    gauss_seidel.run_coulomb(problem, work, anderson.no_memory(), tolerance, allowed, course)
    # 2. Accelerated sweeps, while they converge fast enough.
    if control[schedule.STATE] == schedule.SLOW:
        anderson.take_over(control, control[schedule.ERROR], allowed, MIXED_TRIAL)
        memory = anderson.memory_of(problem, MEMORY)
        gauss_seidel.run_coulomb(problem, work, memory, tolerance, allowed, course)
    return best, control, history[: int(control[schedule.CHECKS])]
