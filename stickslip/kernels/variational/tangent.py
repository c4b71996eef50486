"""Tangent problem of a step: a global contact problem, its linearisation at given velocities."""

import math

import numpy as np

from stickslip.kernels.blocks import add_velocity
from stickslip.kernels.bodies.motion import rate
from stickslip.kernels.cones import FRICTION, NONNEGATIVE
from stickslip.kernels.jit import jit
from stickslip.kernels.variational.geometry import end_values, start_rows
from stickslip.kernels.variational.law import COLUMNS, Y
from stickslip.kernels.variational.momentum import momentum

FAR = 10.0
"""Gaps, in units of velocity, are limited to this multiple of the largest velocity of any block. Residuals
are relative to velocities, and wide gaps would make every error small [-] (heuristic)."""


@jit
def mass_blocks(bodies):
    """Return (M, root), each (nd, 6, 6): diag(m, J) and F with M^-1 = F F' of the dynamic `StepBodies`."""
    row, mass, J, nd = bodies.row, bodies.mass, bodies.J, 0
    for b in range(row.shape[0]):
        nd = max(nd, row[b] + 1)
    M, root = np.empty((nd, 6, 6)), np.empty((nd, 6, 6))
    for b in range(row.shape[0]):
        i = row[b]
        if i < 0:
            continue
        M[i], root[i] = 0.0, 0.0
        for k in range(3):
            M[i, k, k], root[i, k, k] = mass[b], 1.0 / math.sqrt(mass[b])
            for m in range(3):
                M[i, 3 + k, 3 + m] = J[b, k, m]
        # J = L L', F = L^-T
        l00 = math.sqrt(J[b, 0, 0])
        l10, l20 = J[b, 1, 0] / l00, J[b, 2, 0] / l00
        l11 = math.sqrt(J[b, 1, 1] - l10 * l10)
        l21 = (J[b, 2, 1] - l20 * l10) / l11
        l22 = math.sqrt(J[b, 2, 2] - l20 * l20 - l21 * l21)
        root[i, 3, 3], root[i, 4, 4], root[i, 5, 5] = 1.0 / l00, 1.0 / l11, 1.0 / l22
        root[i, 3, 4] = -l10 / (l00 * l11)
        root[i, 4, 5] = -l21 / (l11 * l22)
        root[i, 3, 5] = (l10 * l21 - l20 * l11) / (l00 * l11 * l22)
    return M, root


@jit
def free_velocities(bodies, momenta, root, v):
    """v (n, 6) <- root root' momenta of dynamic bodies, prescribed velocities of other bodies."""
    row, scaled = bodies.row, np.empty(6)
    for b in range(row.shape[0]):
        for k in range(6):
            v[b, k] = bodies.v[b, k] if row[b] < 0 else 0.0
        if row[b] >= 0:
            add_velocity(root[row[b]], momenta[row[b]], scaled, v[b])


@jit
def tangent_parts(step, rows, X, v, M, root):
    """Return (f, u_bias) of the tangent problem at velocities v (n, 6), with values in column Y of X (n, 9).

    M v - f = P(v) - p, and H' v + u_bias equals the values; those of gaps are limited to FAR times the
    largest velocity.
    """
    # 1. f = p - P(v) + M v.
    bodies, kind, offset = step.bodies, step.blocks.K.kind, step.blocks.K.offset
    row, pairs, sides = bodies.row, step.blocks.pairs, step.blocks.sides
    nd, n = M.shape[0], X.shape[0]
    f, u_bias, leaving = np.empty((nd, 6)), np.empty(n), np.empty(6)
    for b in range(row.shape[0]):
        i = row[b]
        if i >= 0:
            momentum(bodies.mass[b], bodies.J[b], step.h, v[b], leaving)
            for k in range(6):
                f[i, k] = bodies.p[b, k] - leaving[k]
                for m in range(6):
                    f[i, k] += M[i, k, m] * v[b, m]
    # 2. The largest velocity of any row, at v or without impulses.
    free, largest = np.empty(v.shape), 0.0
    free_velocities(bodies, f, root, free)
    for i in range(kind.shape[0]):
        for k in range(offset[i], offset[i + 1]):
            u, w = rate(sides[i], rows[k], v), rate(sides[i], rows[k], free)
            largest = max(largest, abs(u), abs(w))
    # 3. u_bias = values - H' v.
    for i in range(kind.shape[0]):
        for k in range(offset[i], offset[i + 1]):
            moved = 0.0
            for side in range(2):
                if pairs[i, side] >= 0:
                    for m in range(6):
                        moved += rows[k, side, m] * v[sides[i, side], m]
            wide = k == offset[i] and (kind[i] == FRICTION or kind[i] == NONNEGATIVE)
            at = min(X[k, Y], FAR * largest) if wide and largest > 0.0 else X[k, Y]
            u_bias[k] = at - moved
    return f, u_bias


@jit
def tangent(step, v):
    """Return (rows, M, root, f, u_bias) of the tangent problem of `StepArrays` at velocities v (n, 6)."""
    n = step.blocks.K.offset[-1]
    rows = np.zeros((n, 2, 6))
    start_rows(step, rows)
    end_rows, X, q_end = rows.copy(), np.empty((n, COLUMNS)), np.empty(step.bodies.q.shape)
    end_values(step, rows, v, q_end, X, end_rows)
    M, root = mass_blocks(step.bodies)
    f, u_bias = tangent_parts(step, rows, X, v, M, root)
    return rows, M, root, f, u_bias
