"""One Newton system of a step: values and residuals at an iterate, blocks of the matrix, and a direction.

Unknowns are v of the moving bodies and λ of what joints hold, one node of the graph each; what contacts, stops
and dry friction add is put onto the nodes of their bodies. wiring: (node, places) of every block (nb,), (nb, 4):
node of a `free` block, else -1; blocks of the matrix (first, node), (node, first), (second, node), (node, second)
of a `free` block and (first, second), (second, first) of the others, -1 where there is none.
"""

import numpy as np

from stickslip.kernels.variational.compiled import jit
from stickslip.kernels.variational.law import aim, respond
from stickslip.kernels.variational.layout import FREE
from stickslip.kernels.variational.momentum import momentum, momentum_slope

SOFT = 1e-11
"""Compliance of joints, over that of their bodies, that keeps redundant ones from being singular."""


@jit
def imbalance(h, bodies, blocks, rows, v, r, out):
    """out (nd, 6) <- P(v) - p - H r."""
    row, mass, J, p = bodies[0], bodies[3], bodies[4], bodies[5]
    kind, offset, pairs = blocks[0], blocks[1], blocks[7]
    for b in range(row.shape[0]):
        i = row[b]
        if i >= 0:
            momentum(mass[b], J[b], h, v[b], out[i])
            for k in range(6):
                out[i, k] -= p[b, k]
    for i in range(kind.shape[0]):
        for side in range(2):
            b = pairs[i, side]
            if b >= 0:
                for k in range(offset[i], offset[i + 1]):
                    for m in range(6):
                        out[b, m] -= rows[k, side, m] * r[k]


@jit
def assemble(h, model, bodies, blocks, wiring, rows, end_rows, v, r, w, facets, y, soft, matrix, room, C):
    """matrix <- blocks of the Newton matrix; C (n, 6) <- dr/dy of every block that is not free."""
    row, mass, J = bodies[0], bodies[3], bodies[4]
    kind, offset, pairs = blocks[0], blocks[1], blocks[7]
    node, places = wiring
    dr, dw, d_facets, dy, rhs, rhs_w, rhs_facets = room
    matrix[:] = 0.0
    for b in range(row.shape[0]):
        if row[b] >= 0:
            momentum_slope(mass[b], J[b], h, v[b], matrix[row[b]])
    part = np.empty((6, 6))
    for i in range(kind.shape[0]):
        at, size = offset[i], offset[i + 1] - offset[i]
        if kind[i] == FREE:
            if node[i] < 0:
                continue
            D = matrix[node[i]]
            for k in range(6):
                D[k, k] = -soft[at + k] if k < size else 1.0
            for side in range(2):
                if pairs[i, side] >= 0:
                    U, L = matrix[places[i, 2 * side]], matrix[places[i, 2 * side + 1]]
                    for k in range(size):
                        for m in range(6):
                            U[m, k] = -rows[at + k, side, m]
                            L[k, m] = end_rows[at + k, side, m]
            continue
        if pairs[i, 0] < 0 and pairs[i, 1] < 0:
            continue
        for k in range(at, at + size):
            dy[k], rhs[k], rhs_w[k] = 0.0, 0.0, 0.0
            if rhs_facets.shape[0] > 0:
                rhs_facets[k] = 0.0
        for k in range(size):
            dy[at + k] = 1.0
            respond(i, model, blocks, r, w, facets, y, dy, rhs, rhs_w, rhs_facets, dr, dw, d_facets)
            dy[at + k] = 0.0
            for m in range(size):
                C[at + m, k] = dr[at + m]
        for right in range(2):
            if pairs[i, right] < 0:
                continue
            for k in range(size):
                for m in range(6):
                    s = 0.0
                    for o in range(size):
                        s += C[at + k, o] * end_rows[at + o, right, m]
                    part[k, m] = s
            for left in range(2):
                if pairs[i, left] < 0:
                    continue
                T = matrix[pairs[i, left] if left == right else places[i, left]]
                for k in range(size):
                    for a in range(6):
                        weight = rows[at + k, left, a]
                        if weight != 0.0:
                            for m in range(6):
                                T[a, m] -= weight * part[k, m]


@jit
def load(model, blocks, wiring, rows, uneven, tau, tau_slip, second, r, w, facets, y, room, step, x):
    """x (N, 6) <- right-hand side of the Newton system that aims at τ; `room` holds the step before, for
    second-order terms, and is filled with the right-hand sides of the blocks."""
    kind, offset, pairs = blocks[0], blocks[1], blocks[7]
    dr, dw, d_facets, dy, rhs, rhs_w, rhs_facets = room
    constant, slack, slack_facets = step
    x[:] = 0.0
    for b in range(uneven.shape[0]):
        for m in range(6):
            x[b, m] = -uneven[b, m]
    for i in range(kind.shape[0]):
        if kind[i] == FREE:
            if wiring[0][i] >= 0:
                for k in range(offset[i], offset[i + 1]):
                    x[wiring[0][i], k - offset[i]] = -y[k]
            continue
        aim(
            i,
            model,
            blocks,
            tau,
            tau_slip,
            r,
            w,
            facets,
            y,
            dr,
            dw,
            d_facets,
            dy,
            second,
            rhs,
            rhs_w,
            rhs_facets,
        )
        for k in range(offset[i], offset[i + 1]):
            dy[k] = 0.0
        respond(i, model, blocks, r, w, facets, y, dy, rhs, rhs_w, rhs_facets, constant, slack, slack_facets)
        for side in range(2):
            b = pairs[i, side]
            if b >= 0:
                for k in range(offset[i], offset[i + 1]):
                    for m in range(6):
                        x[b, m] += rows[k, side, m] * constant[k]


@jit
def spread(model, blocks, wiring, end_rows, r, w, facets, y, x, room):
    """Direction of all unknowns into `room`, from the solution x (N, 6) of the Newton system."""
    kind, offset, pairs = blocks[0], blocks[1], blocks[7]
    dr, dw, d_facets, dy, rhs, rhs_w, rhs_facets = room
    for i in range(kind.shape[0]):
        if kind[i] == FREE:
            for k in range(offset[i], offset[i + 1]):
                dr[k] = x[wiring[0][i], k - offset[i]] if wiring[0][i] >= 0 else 0.0
            continue
        for k in range(offset[i], offset[i + 1]):
            s = 0.0
            for side in range(2):
                b = pairs[i, side]
                if b >= 0:
                    for m in range(6):
                        s += end_rows[k, side, m] * x[b, m]
            dy[k] = s
        respond(i, model, blocks, r, w, facets, y, dy, rhs, rhs_w, rhs_facets, dr, dw, d_facets)
