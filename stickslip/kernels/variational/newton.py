"""One Newton system of a step: residuals at an iterate, blocks of the matrix, right-hand sides and
directions.

Unknowns are v of the moving bodies and λ of what joints hold, one node of the graph each; what contacts,
stops and dry friction add is put onto the nodes of their bodies. wires (nb, 7): the two moving bodies of
every block, -1 for none; the node of a `free` block, else -1; and blocks of the matrix, (first, node),
(node, first), (second, node), (node, second) of a `free` block, (first, second), (second, first) of the
others. B, L, X, F: as in `law.py`; rows, end_rows (n, 2, 6): of impulses at the start, of values at the end.
"""

import numpy as np

from stickslip.kernels.jit import jit
from stickslip.kernels.variational.law import COLUMNS, CW, DR, DW, DY, C, R, Y, aim, respond
from stickslip.kernels.variational.layout import FREE
from stickslip.kernels.variational.momentum import momentum, momentum_slope

SOFT = 1e-12
"""Compliance of joints, over that of their bodies, that keeps redundant ones from being singular."""


@jit
def imbalance(h, row, mass, J, p, v, B, wires, rows, X, out):
    """out (nd, 6) <- P(v) - p - H r."""
    for b in range(row.shape[0]):
        i = row[b]
        if i >= 0:
            momentum(mass[b], J[b], h, v[b], out[i])
            for k in range(6):
                out[i, k] -= p[b, k]
    for i in range(B.shape[0]):
        for side in range(2):
            b = wires[i, side]
            if b >= 0:
                for k in range(B[i, 1], B[i, 1] + B[i, 2]):
                    impulse = X[k, R]
                    for m in range(6):
                        out[b, m] -= rows[k, side, m] * impulse


@jit
def assemble(h, model, row, mass, J, v, B, L, wires, rows, end_rows, soft, X, F, matrix):
    """matrix <- blocks of the Newton matrix."""
    matrix[:] = 0.0
    for b in range(row.shape[0]):
        if row[b] >= 0:
            momentum_slope(mass[b], J[b], h, v[b], matrix[row[b]])
    part, slope = np.empty((6, 6)), np.empty((6, 6))
    for i in range(B.shape[0]):
        at, size, node = B[i, 1], B[i, 2], wires[i, 2]
        if B[i, 0] == FREE:
            if node < 0:
                continue
            for k in range(6):
                matrix[node, k, k] = -soft[at + k] if k < size else 1.0
            for side in range(2):
                if wires[i, side] >= 0:
                    upper, lower = wires[i, 3 + 2 * side], wires[i, 4 + 2 * side]
                    for k in range(size):
                        for m in range(6):
                            matrix[upper, m, k] = -rows[at + k, side, m]
                            matrix[lower, k, m] = end_rows[at + k, side, m]
            continue
        if wires[i, 0] < 0 and wires[i, 1] < 0:
            continue
        clear(at, size, X, F)
        for k in range(size):
            X[at + k, DY] = 1.0
            respond(i, model, B, L, X, F)
            X[at + k, DY] = 0.0
            for m in range(size):
                slope[m, k] = X[at + m, DR]
        for right in range(2):
            if wires[i, right] < 0:
                continue
            for k in range(size):
                for m in range(6):
                    s = 0.0
                    for o in range(size):
                        s += slope[k, o] * end_rows[at + o, right, m]
                    part[k, m] = s
            for left in range(2):
                if wires[i, left] < 0:
                    continue
                place = wires[i, left] if left == right else wires[i, 3 + left]
                for k in range(size):
                    for a in range(6):
                        weight = rows[at + k, left, a]
                        for m in range(6):
                            matrix[place, a, m] -= weight * part[k, m]


@jit
def clear(at, size, X, F):
    """No right-hand sides and no changes of values, of one block."""
    for k in range(at, at + size):
        X[k, DY], X[k, C], X[k, CW] = 0.0, 0.0, 0.0
        if F.shape[0] > 0:
            for m in range(20, 30):
                F[k, m] = 0.0


@jit
def load(model, B, L, wires, rows, uneven, tau, tau_slip, second, X, F, x):
    """x (N, 6) <- right-hand side of the Newton system that aims at τ, and those of the blocks into X, F."""
    x[:] = 0.0
    for b in range(uneven.shape[0]):
        for m in range(6):
            x[b, m] = -uneven[b, m]
    for i in range(B.shape[0]):
        at, size = B[i, 1], B[i, 2]
        if B[i, 0] == FREE:
            if wires[i, 2] >= 0:
                for k in range(size):
                    x[wires[i, 2], k] = -X[at + k, Y]
            continue
        aim(i, model, B, L, tau, tau_slip, second, X, F)
        for k in range(at, at + size):
            X[k, DY] = 0.0
        respond(i, model, B, L, X, F)
        for side in range(2):
            b = wires[i, side]
            if b >= 0:
                for k in range(at, at + size):
                    impulse = X[k, DR]
                    for m in range(6):
                        x[b, m] += rows[k, side, m] * impulse


@jit
def spread(model, B, L, wires, end_rows, x, X, F):
    """Changes of all unknowns into X and F, from the solution x (N, 6) of the Newton system."""
    for i in range(B.shape[0]):
        at, size = B[i, 1], B[i, 2]
        if B[i, 0] == FREE:
            for k in range(size):
                X[at + k, DR] = x[wires[i, 2], k] if wires[i, 2] >= 0 else 0.0
            continue
        for k in range(at, at + size):
            s = 0.0
            for side in range(2):
                b = wires[i, side]
                if b >= 0:
                    for m in range(6):
                        s += end_rows[k, side, m] * x[b, m]
            X[k, DY] = s
        respond(i, model, B, L, X, F)


@jit
def leftover(h, row, mass, J, v, B, wires, rows, end_rows, soft, uneven, X, x, out):
    """out (N, 6) <- what a direction leaves of the linear equations, of momenta with the impulses in X as
    they are, not as the matrix has them."""
    out[:] = 0.0
    slope = np.empty((6, 6))
    for b in range(row.shape[0]):
        i = row[b]
        if i >= 0:
            momentum_slope(mass[b], J[b], h, v[b], slope)
            for k in range(6):
                s = -uneven[i, k]
                for m in range(6):
                    s -= slope[k, m] * x[i, m]
                out[i, k] = s
    for i in range(B.shape[0]):
        at, size, node = B[i, 1], B[i, 2], wires[i, 2]
        for side in range(2):
            b = wires[i, side]
            if b >= 0:
                for k in range(at, at + size):
                    impulse = X[k, DR]
                    for m in range(6):
                        out[b, m] += rows[k, side, m] * impulse
        if node >= 0:
            for k in range(size):
                s = soft[at + k] * x[node, k] - X[at + k, Y]
                for side in range(2):
                    b = wires[i, side]
                    if b >= 0:
                        for m in range(6):
                            s -= end_rows[at + k, side, m] * x[b, m]
                out[node, k] = s


@jit
def add_correction(model, B, L, wires, end_rows, more, x, X, F):
    """x, X, F <- the direction with a correction `more` (N, 6) of it, changes added as small as they are."""
    kept, kept_facets = np.empty((6, COLUMNS)), np.empty((6, 30))
    for i in range(B.shape[0]):
        at, size = B[i, 1], B[i, 2]
        if B[i, 0] == FREE:
            for k in range(size):
                X[at + k, DR] += more[wires[i, 2], k] if wires[i, 2] >= 0 else 0.0
            continue
        for k in range(size):
            for m in range(COLUMNS):
                kept[k, m] = X[at + k, m]
            if F.shape[0] > 0:
                for m in range(10, 30):
                    kept_facets[k, m] = F[at + k, m]
        clear(at, size, X, F)
        for k in range(at, at + size):
            s = 0.0
            for side in range(2):
                b = wires[i, side]
                if b >= 0:
                    for m in range(6):
                        s += end_rows[k, side, m] * more[b, m]
            X[k, DY] = s
        respond(i, model, B, L, X, F)
        for k in range(size):
            for m in (DR, DW, DY):
                X[at + k, m] += kept[k, m]
            for m in (C, CW):
                X[at + k, m] = kept[k, m]
            if F.shape[0] > 0:
                for m in range(10, 20):
                    F[at + k, m] += kept_facets[k, m]
                for m in range(20, 30):
                    F[at + k, m] = kept_facets[k, m]
    for i in range(x.shape[0]):
        for k in range(6):
            x[i, k] += more[i, k]
