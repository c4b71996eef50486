"""One Newton system of a step: residuals at an iterate, blocks of the matrix, right-hand sides and
directions.

Unknowns are v of the moving bodies and λ of what joints hold, one node of the graph each; what contacts,
stops and dry friction add is put onto the nodes of their bodies. B, L, X, F: as in `law.py`; system:
`NewtonSystem`; at: `Iterate`.
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
"""Compliance of joints, over that of their bodies, that keeps redundant ones from being singular."""


class NewtonSystem(NamedTuple):
    """A step, and what all of its iterates share."""

    step: StepArrays
    wires: IntArray
    """Of each block its two moving bodies, -1 for none; the node of a `free` block, else -1; and blocks of
    the matrix, (first, node), (node, first), (second, node), (node, second) of a `free` block, (first,
    second), (second, first) of the others [-], shape (nb, 7)."""
    rows: Array
    """Of impulses, at the start [-, m], shape (n, 2, 6)."""
    root: Array
    """F with M⁻¹ = F F' of the moving bodies [1/√kg, 1/(√kg m)], shape (nd, 6, 6)."""
    soft: Array
    """Compliance of joints [1/kg, 1/(kg m²)], shape (n,)."""
    B: IntArray
    """Shape (nb, 3)."""
    L: Array
    """Shape (nb, 8)."""


class Iterate(NamedTuple):
    """Unknowns of a step, and what follows from them."""

    v: Array
    """Of all bodies [m/s, rad/s], shape (n, 6)."""
    X: Array
    """Shape (n, 9)."""
    F: Array
    """Shape (n, 30), or (0, 30) without facets."""
    q_end: Array
    """[m, -], shape (n, 7)."""
    end_rows: Array
    """Of values, at the end [-, m], shape (n, 2, 6)."""
    uneven: Array
    """P(v) - p - H r of the moving bodies [N s, N m s], shape (nd, 6)."""


@jit
def imbalance(system, at):
    """P(v) - p - H r of an iterate, into it."""
    h, bodies, B, out = system.step.h, system.step.bodies, system.B, at.uneven
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
    """matrix <- blocks of the Newton matrix."""
    bodies, B, L, X, F = system.step.bodies, system.B, system.L, at.X, at.F
    wires, rows, end_rows, row = system.wires, system.rows, at.end_rows, bodies.row
    matrix[:] = 0.0
    for b in range(row.shape[0]):
        if row[b] >= 0:
            momentum_slope(bodies.mass[b], bodies.J[b], system.step.h, at.v[b], matrix[row[b]])
    part, slope = np.empty((6, 6)), np.empty((6, 6))
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
    """No right-hand sides and no changes of values, of one block."""
    for k in range(first, first + size):
        X[k, DY], X[k, C], X[k, CW] = 0.0, 0.0, 0.0
        if F.shape[0] > 0:
            for m in range(20, 30):
                F[k, m] = 0.0


@jit
def load(system, model, at, target, x):
    """x (N, 6) <- right-hand side of the Newton system that aims at a target of `law.aim`, and those of the
    blocks into the iterate."""
    B, L, wires, X, F = system.B, system.L, system.wires, at.X, at.F
    x[:] = 0.0
    for b in range(at.uneven.shape[0]):
        for m in range(6):
            x[b, m] = -at.uneven[b, m]
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
    """x (N, 6) += what changes of the impulses of block i do to its bodies."""
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
    """Row k (2, 6) of the end, of block i, times the changes x (N, 6) of its bodies."""
    s = 0.0
    for side in range(2):
        b = system.wires[i, side]
        if b >= 0:
            for m in range(6):
                s += end_rows[k, side, m] * x[b, m]
    return s


@jit
def spread(system, model, at, x):
    """Changes of all unknowns into the iterate, from the solution x (N, 6) of the Newton system."""
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
def leftover(system, at, x, out):
    """out (N, 6) <- what a direction leaves of the linear equations, of momenta with the impulses in X as
    they are, not as the matrix has them."""
    bodies, B, X = system.step.bodies, system.B, at.X
    out[:] = 0.0
    slope = np.empty((6, 6))
    for b in range(bodies.row.shape[0]):
        i = bodies.row[b]
        if i >= 0:
            momentum_slope(bodies.mass[b], bodies.J[b], system.step.h, at.v[b], slope)
            for k in range(6):
                s = -at.uneven[i, k]
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
def add_correction(system, model, at, more, x):
    """x and the iterate <- the direction with a correction `more` (N, 6) of it, changes added as small as
    they are."""
    B, L, wires, X, F = system.B, system.L, system.wires, at.X, at.F
    kept, kept_facets = np.empty((6, COLUMNS)), np.empty((6, 30))
    for i in range(B.shape[0]):
        to, size = B[i, 1], B[i, 2]
        if B[i, 0] == FREE:
            for k in range(size):
                X[to + k, DR] += more[wires[i, 2], k] if wires[i, 2] >= 0 else 0.0
            continue
        for k in range(size):
            for m in range(COLUMNS):
                kept[k, m] = X[to + k, m]
            if F.shape[0] > 0:
                for m in range(10, 30):
                    kept_facets[k, m] = F[to + k, m]
        clear(to, size, X, F)
        for k in range(to, to + size):
            X[k, DY] = end_rate(system, i, at.end_rows, k, more)
        respond(i, model, B, L, X, F)
        for k in range(size):
            for m in (DR, DW, DY):
                X[to + k, m] += kept[k, m]
            for m in (C, CW):
                X[to + k, m] = kept[k, m]
            if F.shape[0] > 0:
                for m in range(10, 20):
                    F[to + k, m] += kept_facets[k, m]
                for m in range(20, 30):
                    F[to + k, m] = kept_facets[k, m]
    for i in range(x.shape[0]):
        for k in range(6):
            x[i, k] += more[i, k]
