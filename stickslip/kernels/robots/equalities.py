"""Projection of positions onto the equality constraints at the end of a step.

A step enforces J v⁺ = 0 with J at its start. Since J changes during the step, the error of an equality grows
by O(h²). Newton's method on gap(q) = 0 removes it along M⁻¹ J' (a projection in the metric of the kinetic
energy, Hairer, Lubich & Wanner 2006, IV.4).
"""

import numpy as np

from stickslip.kernels.dense_lu import ldl_solve
from stickslip.kernels.jit import jit_forward as jit
from stickslip.kernels.robots.impulses import DEEPEST
from stickslip.kernels.robots.motion import place
from stickslip.kernels.robots.rows import take_row
from stickslip.kernels.scratch import floats, give_back, matrix, taken, zeros
from stickslip.kernels.steps.addresses import call_solve, call_with_step, read_address, read_double, read_int

CLOSED = 1e-12
"""Largest error of an equality that is not corrected [m, rad] (heuristic)."""
NEWTONS = 3
"""Largest number of Newton steps (heuristic)."""
REDUNDANT = 1e-9
"""Regularisation: this share of the largest diagonal entry of W is added to its diagonal, since rows may be
redundant or zero [-] (heuristic)."""


@jit
def opening(engine):
    """Return the largest error of the equalities at the state of the data [m, rad]."""
    pos, most = read_address(engine.at.efc_pos), 0.0
    for i in range(read_int(engine.at.ne)):
        most = max(most, abs(read_double(pos + 8 * i)))
    return most


@jit
def close_equalities(engine, motion, traits, scratch):
    """The positions of the data <- positions at which its equalities hold; its stages are computed there.

    Errors beyond DEEPEST are left to the corrections of the next steps.
    """
    nv, f, mark = motion.qvel.shape[0], engine.call, taken(scratch)
    for _ in range(NEWTONS):
        give_back(scratch, mark)
        open_, ne = opening(engine), read_int(engine.at.ne)
        if open_ <= CLOSED or open_ > DEEPEST:
            return
        # 1. J, M⁻¹ J' and W = J M⁻¹ J'.
        J, X, W, p = (
            matrix(scratch, ne, nv), matrix(scratch, ne, nv), matrix(scratch, ne, ne), floats(scratch, ne)
        )  # fmt: skip
        pos, line = read_address(engine.at.efc_pos), floats(scratch, nv)
        for i in range(ne):
            J[i] = 0.0
            first, last = take_row(engine, i, nv, 1.0, line, 0)
            for c in range(first, last):
                J[i, c] = line[c - first]
            p[i] = -read_double(pos + 8 * i)
        call_solve(f.solve_m, engine.model, engine.data, X.ctypes.data, J.ctypes.data, np.int32(ne))
        most = 0.0
        for i in range(ne):
            for j in range(i, ne):
                total = 0.0
                for c in range(nv):
                    total += J[i, c] * X[j, c]
                W[i, j] = total
            most = max(most, W[i, i])
        for i in range(ne):
            W[i, i] += REDUNDANT * most
        # 2. The shift M⁻¹ J' p with W p = -gap.
        if not ldl_solve(W, p, ne):
            return
        shift, before = zeros(scratch, nv), floats(scratch, motion.qpos.shape[0])
        before[:] = motion.qpos
        for i in range(ne):
            for c in range(nv):
                shift[c] += X[i, c] * p[i]
        call_with_step(f.integrate_pos, engine.model, motion.qpos.ctypes.data, shift.ctypes.data, 1.0)
        # 3. Undo the shift if it does not reduce the error: the equalities contradict each other.
        if not (place(engine, motion, traits) and opening(engine) < open_):
            motion.qpos[:] = before
            place(engine, motion, traits)
            return
