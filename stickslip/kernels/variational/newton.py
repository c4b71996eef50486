"""Newton system of a step: residuals at an iterate, blocks of the matrix, right-hand sides and directions.

Unknowns are v of each moving body and the impulses λ of the constraints of each joint; each of these is a
node of the graph. Contacts, stops and dry friction are eliminated: they add to the blocks of their bodies. B,
L, X, F: see `law.py`; system: `NewtonSystem`; at: `Iterate`.
"""

from typing import NamedTuple

import numpy as np

from stickslip.kernels.cones import FREE
from stickslip.kernels.jit import jit
from stickslip.kernels.variational.law import COLUMNS, CW, DR, DW, DY, C, R, Y, aim, respond
from stickslip.kernels.variational.layout import StepArrays
from stickslip.kernels.variational.momentum import momentum, momentum_slope
from stickslip.state import Array, IntArray

SOFT = 1e-12
"""Compliance of joints over that of their bodies; it regularises redundant constraints [-] (heuristic)."""


class NewtonSystem(NamedTuple):
    """Data of a step that all iterates share."""

    step: StepArrays
    wires: IntArray
    """For each block: its two moving bodies, -1 for none; the node of a `free` block, else -1; indices of its
    off-diagonal blocks of the matrix, (first, node), (node, first), (second, node), (node, second) for a
    `free` block, (first, second), (second, first) for others [-], shape (nb, 7)."""
    rows: Array
    """Rows of H' at the start of the step, where impulses act [-, m], shape (n, 2, 6)."""
    root: Array
    """F with M⁻¹ = F F' of the moving bodies [1/√kg, 1/(√kg m)], shape (nd, 6, 6)."""
    soft: Array
    """Compliance of each row of a joint [1/kg, 1/(kg m²)], shape (n,)."""
    B: IntArray
    """Kinds and sizes of the blocks, see `law.py` [-], shape (nb, 3)."""
    L: Array
    """Parameters of the blocks, see `law.py` [-, m, N s, ...], shape (nb, 8)."""


class Iterate(NamedTuple):
    """Unknowns of a step, and quantities that follow from them."""

    v: Array
    """Velocities of all bodies [m/s, rad/s], shape (n, 6)."""
    X: Array
    """Components, see `law.py` [N s, m/s, ...], shape (n, 9)."""
    F: Array
    """Facets, see `law.py`; (0, 30) without any [N s, m/s, ...], shape (n, 30)."""
    q_end: Array
    """Poses at the end of the step [m, -], shape (n, 7)."""
    end_rows: Array
    """Rows at the end of the step: derivatives of values by v [-, m], shape (n, 2, 6)."""
    residual: Array
    """Residual P(v) - p - H r of the moving bodies [N s, N m s], shape (nd, 6)."""


@jit
def momentum_residual(system, at):
    """at.residual <- P(v) - p - H r of the iterate."""
    h, bodies, B, out = system.step.h, system.step.bodies, system.B, at.residual
    for b in range(bodies.row.shape[0]):
        i = bodies.row[b]
        if i >= 0:
            momentum(bodies.mass[b], bodies.J[b], h, at.v[b], out[i])
            for k in range(6):
                out[i, k] -= bodies.p[b, k]
    for i in range(B.shape[0]):
        for side in range(2):
            b = system.wires[i, side]
            if b >= 0:
                for k in range(B[i, 1], B[i, 1] + B[i, 2]):
                    impulse = at.X[k, R]
                    for m in range(6):
                        out[b, m] -= system.rows[k, side, m] * impulse


@jit
def assemble(system, model, at, matrix):
    """matrix (blocks, 6, 6) <- blocks of the Newton matrix."""
    # 1. Momenta: dP/dv on the diagonal.
    bodies, B, L, X, F = system.step.bodies, system.B, system.L, at.X, at.F
    wires, rows, end_rows, row = system.wires, system.rows, at.end_rows, bodies.row
    matrix[:] = 0.0
    for b in range(row.shape[0]):
        if row[b] >= 0:
            momentum_slope(bodies.mass[b], bodies.J[b], system.step.h, at.v[b], matrix[row[b]])
    part, slope = np.empty((6, 6)), np.empty((6, 6))
    # 2. Constraints of joints: a node each, with -H and the rows of the end.
    for i in range(B.shape[0]):
        to, size, node = B[i, 1], B[i, 2], wires[i, 2]
        if B[i, 0] == FREE:
            if node < 0:
                continue
            for k in range(6):
                matrix[node, k, k] = -system.soft[to + k] if k < size else 1.0
            for side in range(2):
                if wires[i, side] >= 0:
                    upper, lower = wires[i, 3 + 2 * side], wires[i, 4 + 2 * side]
                    for k in range(size):
                        for m in range(6):
                            matrix[upper, m, k] = -rows[to + k, side, m]
                            matrix[lower, k, m] = end_rows[to + k, side, m]
            continue
        if wires[i, 0] < 0 and wires[i, 1] < 0:
            continue
        # 3. Other blocks: -H (dr/dy) times the rows of the end, column by column of dr/dy.
        clear(to, size, X, F)
        for k in range(size):
            X[to + k, DY] = 1.0
            respond(i, model, B, L, X, F)
            X[to + k, DY] = 0.0
            for m in range(size):
                slope[m, k] = X[to + m, DR]
        for right in range(2):
            if wires[i, right] < 0:
                continue
            for k in range(size):
                for m in range(6):
                    s = 0.0
                    for o in range(size):
                        s += slope[k, o] * end_rows[to + o, right, m]
                    part[k, m] = s
            for left in range(2):
                if wires[i, left] < 0:
                    continue
                place = wires[i, left] if left == right else wires[i, 3 + left]
                for k in range(size):
                    for a in range(6):
                        weight = rows[to + k, left, a]
                        for m in range(6):
                            matrix[place, a, m] -= weight * part[k, m]


@jit
def clear(first, size, X, F):
    """X, F <- 0 for right-hand sides and changes of values, in `size` rows from `first` on."""
    for k in range(first, first + size):
        X[k, DY], X[k, C], X[k, CW] = 0.0, 0.0, 0.0
        if F.shape[0] > 0:
            for m in range(20, 30):
                F[k, m] = 0.0


@jit
def right_hand_side(system, model, at, target, x):
    """x (N, 6), C and CW in `at` <- right-hand sides of the system and of blocks, for a target of `aim`."""
    B, L, wires, X, F = system.B, system.L, system.wires, at.X, at.F
    x[:] = 0.0
    for b in range(at.residual.shape[0]):
        for m in range(6):
            x[b, m] = -at.residual[b, m]
    for i in range(B.shape[0]):
        to, size = B[i, 1], B[i, 2]
        if B[i, 0] == FREE:
            if wires[i, 2] >= 0:
                for k in range(size):
                    x[wires[i, 2], k] = -X[to + k, Y]
            continue
        aim(i, model, B, L, target, X, F)
        for k in range(to, to + size):
            X[k, DY] = 0.0
        respond(i, model, B, L, X, F)
        add_impulses(system, i, X, x)


@jit
def add_impulses(system, i, X, x):
    """x (N, 6) <- x + H Δr of block i, with the changes Δr of its impulses in X."""
    B = system.B
    for side in range(2):
        b = system.wires[i, side]
        if b >= 0:
            for k in range(B[i, 1], B[i, 1] + B[i, 2]):
                impulse = X[k, DR]
                for m in range(6):
                    x[b, m] += system.rows[k, side, m] * impulse


@jit
def end_rate(system, i, end_rows, k, x):
    """Return row k of block i at the end of the step times the changes x (N, 6) of its bodies."""
    s = 0.0
    for side in range(2):
        b = system.wires[i, side]
        if b >= 0:
            for m in range(6):
                s += end_rows[k, side, m] * x[b, m]
    return s


@jit
def back_substitute(system, model, at, x):
    """Changes in X, F of `at` <- those that follow from the solution x (N, 6) of the Newton system."""
    B, L, wires, X = system.B, system.L, system.wires, at.X
    for i in range(B.shape[0]):
        to, size = B[i, 1], B[i, 2]
        if B[i, 0] == FREE:
            for k in range(size):
                X[to + k, DR] = x[wires[i, 2], k] if wires[i, 2] >= 0 else 0.0
            continue
        for k in range(to, to + size):
            X[k, DY] = end_rate(system, i, at.end_rows, k, x)
        respond(i, model, B, L, X, at.F)


@jit
def linear_residual(system, at, x, out):
    """out (N, 6) <- residual of the linear equations at a direction x, with the changes of impulses in X.

    It differs from the residual with the matrix by the rounding errors of these changes.
    """
    bodies, B, X = system.step.bodies, system.B, at.X
    out[:] = 0.0
    slope = np.empty((6, 6))
    for b in range(bodies.row.shape[0]):
        i = bodies.row[b]
        if i >= 0:
            momentum_slope(bodies.mass[b], bodies.J[b], system.step.h, at.v[b], slope)
            for k in range(6):
                s = -at.residual[i, k]
                for m in range(6):
                    s -= slope[k, m] * x[i, m]
                out[i, k] = s
    for i in range(B.shape[0]):
        to, size, node = B[i, 1], B[i, 2], system.wires[i, 2]
        add_impulses(system, i, X, out)
        if node >= 0:
            for k in range(size):
                s = system.soft[to + k] * x[node, k] - X[to + k, Y]
                out[node, k] = s - end_rate(system, i, at.end_rows, to + k, x)


@jit
def add_correction(system, model, at, correction, x):
    """x, changes in `at` <- the direction plus a `correction` (N, 6).

    The changes of the correction are computed separately and then added, which avoids cancellation.
    """
    B, L, wires, X, F = system.B, system.L, system.wires, at.X, at.F
    saved, saved_facets = np.empty((6, COLUMNS)), np.empty((6, 30))
    for i in range(B.shape[0]):
        to, size = B[i, 1], B[i, 2]
        if B[i, 0] == FREE:
            for k in range(size):
                X[to + k, DR] += correction[wires[i, 2], k] if wires[i, 2] >= 0 else 0.0
            continue
        for k in range(size):
            for m in range(COLUMNS):
                saved[k, m] = X[to + k, m]
            if F.shape[0] > 0:
                for m in range(10, 30):
                    saved_facets[k, m] = F[to + k, m]
        clear(to, size, X, F)
        for k in range(to, to + size):
            X[k, DY] = end_rate(system, i, at.end_rows, k, correction)
        respond(i, model, B, L, X, F)
        for k in range(size):
            for m in (DR, DW, DY):
                X[to + k, m] += saved[k, m]
            for m in (C, CW):
                X[to + k, m] = saved[k, m]
            if F.shape[0] > 0:
                for m in range(10, 20):
                    F[to + k, m] += saved_facets[k, m]
                for m in range(20, 30):
                    F[to + k, m] = saved_facets[k, m]
    for i in range(x.shape[0]):
        for k in range(6):
            x[i, k] += correction[i, k]
