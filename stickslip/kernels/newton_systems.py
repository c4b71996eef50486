"""Newton's method on the law as equations F(r, u) = 0, u = W r + u_free: the maps and their linear systems.

A, B (nb, dmax, dmax) hold dF_i/dr_i and dF_i/du_i block by block (see `maps.py`). The system of a step dx is

    (A + B (W + alpha D)) dx = -F,

with the blocks that are open (F = r there, so dx = -x) eliminated: as one dense matrix (`assemble_dense`), or
in the blocks of W (`assemble_blocks`), for `linalg.front_lu`.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from stickslip.kernels import cone_maps, cones, dense_lu, gauss_seidel, maps, residuals
from stickslip.kernels.blocks import BlockW
from stickslip.kernels.jit import jit


class System(NamedTuple):
    """A contact problem of n components in nb blocks, F at a point, and its Newton system."""

    K: Any
    """The set, a `Cones`."""
    W: Any
    """W in blocks, a `BlockW` [1/kg]; or over bodies, a `BodyGraph`."""
    u_free: Any
    """Free velocities [m/s], shape (n,)."""
    scales: Any
    """The judge's scales, a `Metric`."""
    rho: Any
    """Augmentation of the maps [kg], shape (n,)."""
    weight: Any
    """D, in which alpha has no unit [1/kg], shape (n,)."""
    F: Any
    """The map [N s], shape (n,)."""
    A: Any
    """dF/dr of each block [-], shape (nb, dmax, dmax)."""
    B: Any
    """dF/du of each block [kg], shape (nb, dmax, dmax)."""
    state: Any
    """State of each block as `maps.py` tells it, shape (nb,)."""
    place: Any
    """First row of each block in the system, -1 where it is open, shape (nb,)."""
    matrix: Any
    """The matrix: shape (n, n), of which the first rows and columns are used; or flat, as the blocks of W."""
    rhs: Any
    """Right-hand side, then the solution [N s], shape (n,)."""


@jit
def system_of(arrays):
    """The `System` of its arrays as plain tuples, K, W and scales too: what Python hands over (`Cones`)."""
    return System(
        cones.Cones(*arrays[0]), BlockW(*arrays[1]), arrays[2], residuals.Metric(*arrays[3]), *arrays[4:]
    )


@jit
def prepare(K, W, u_free, matrix):
    """The `System` of a problem with W in blocks, for dense or block matrices; F is not there yet."""
    return prepare_with(gauss_seidel.own_blocks, K, W, u_free, matrix)


@jit
def prepare_with(own_blocks, K, W, u_free, matrix):
    """`prepare` for any form of W; own_blocks(W, offset, local, local_start, diagonal) gives its blocks."""
    offset, n, nb, d, size = K.offset, u_free.shape[0], K.kind.shape[0], 1, 0
    start = np.empty(nb, np.int64)
    for i in range(nb):
        start[i], own = size, offset[i + 1] - offset[i]
        size += own * own
        d = max(d, own)
    local, rho, weight = np.zeros(size), np.empty(n), np.empty(n)
    own_blocks(W, offset, local, start, weight)
    scales = residuals.metric(K, weight)
    augmentation(K, local, start, scales, rho)
    for i in range(nb):
        for k in range(offset[i], offset[i + 1]):
            weight[k] = 1.0 / (scales.rho[i] * scales.length[k] * scales.length[k])
    blocks = np.zeros((2, nb, d, d))
    state = np.zeros((2, nb), np.int64)
    return System(
        K, W, u_free, scales, rho, weight, np.zeros(n), blocks[0], blocks[1], state[0], state[1],
        matrix, np.zeros(n),
    )  # fmt: skip


@jit
def augmentation(K, local, local_start, scales, out):
    """out <- rho of the maps: 1 / W_NN, and 1 / |sym W_gg| for each group g.

    local holds W_ii row by row at local_start. A group without W takes the rho of the judge.   out (n,).
    """
    kind, offset, group_offset, group_size = K.kind, K.offset, K.group_offset, K.group_size
    rho, length = scales.rho, scales.length
    for i in range(kind.shape[0]):
        a, d, at = offset[i], offset[i + 1] - offset[i], local_start[i]
        for k in range(d):
            w = local[at + k * d + k]
            out[a + k] = 1.0 / w if w > 0.0 else rho[i]
        if kind[i] != cones.FRICTION:
            continue
        k = 1
        for g in range(group_offset[i], group_offset[i + 1]):
            w = largest_eigenvalue(local, at, d, k, group_size[g])
            for _ in range(group_size[g]):
                out[a + k] = 1.0 / w if w > 0.0 else rho[i] * length[a + k] * length[a + k]
                k += 1


@jit
def largest_eigenvalue(local, at, d, k, size):
    """Largest eigenvalue of the symmetric part of a 1x1 or 2x2 group, a bound of it for larger ones."""
    if size == 2:
        p, s = local[at + k * d + k], local[at + (k + 1) * d + k + 1]
        o = 0.5 * (local[at + k * d + k + 1] + local[at + (k + 1) * d + k])
        return 0.5 * (p + s) + math.sqrt(0.25 * (p - s) * (p - s) + o * o)
    total = 0.0
    for m in range(k, k + size):
        total += local[at + m * d + m]
    return total


@jit
def evaluate(map_of_block, system, r, u):
    """F, A, B and the states at (r, u) by one of the maps; returns sum_k F_k²/rho_k [J].   r, u (n,).

    That is the square of F in a norm without units to choose.
    """
    for i in range(system.state.shape[0]):
        out = maps.Mapped(system.F, system.A[i], system.B[i])
        system.state[i] = map_of_block(i, system.K, system.rho, r, u, out)
    square = 0.0
    for k in range(r.shape[0]):
        square += system.F[k] * system.F[k] / system.rho[k]
    return square


@jit
def evaluate_alart_curnier(arrays, r, u):
    """`evaluate` by Alart and Curnier's map."""
    return evaluate(maps.alart_curnier, system_of(arrays), r, u)


@jit
def evaluate_jean_moreau(arrays, r, u):
    """`evaluate` by Jean and Moreau's map."""
    return evaluate(maps.jean_moreau, system_of(arrays), r, u)


@jit
def evaluate_natural(arrays, r, u):
    """`evaluate` by the natural map."""
    return evaluate(cone_maps.natural_newton, system_of(arrays), r, u)


@jit
def evaluate_fischer_burmeister(arrays, r, u):
    """`evaluate` by the Fischer–Burmeister map."""
    return evaluate(cone_maps.fischer_burmeister, system_of(arrays), r, u)


@jit
def assemble_dense(system, alpha, x):
    """The Newton system at x (n,) of the blocks that are not open, in matrix and rhs; returns its size."""
    F, A, B, J, rhs, place, weight = (
        system.F, system.A, system.B, system.matrix, system.rhs, system.place, system.weight,
    )  # fmt: skip
    offset, row_start, column, data_start, data = system.W
    m = 0
    for i in range(place.shape[0]):
        place[i] = -1
        if system.state[i] != 0:
            place[i] = m
            m += offset[i + 1] - offset[i]
    for i in range(place.shape[0]):
        if place[i] < 0:
            continue
        a, d, row = offset[i], offset[i + 1] - offset[i], place[i]
        for k in range(d):
            rhs[row + k] = -F[a + k]
            for c in range(m):
                J[row + k, c] = 0.0
        for b in range(row_start[i], row_start[i + 1]):
            j, start = column[b], data_start[b]
            c, e, to = offset[j], offset[j + 1] - offset[j], place[j]
            for k in range(d):
                for t in range(d):
                    f, at = B[i, k, t], start + t * e
                    if f == 0.0:
                        continue
                    for q in range(e):
                        if to < 0:  # open, dx = -x
                            rhs[row + k] += f * data[at + q] * x[c + q]
                        else:
                            J[row + k, to + q] += f * data[at + q]
        for k in range(d):
            for q in range(d):
                J[row + k, row + q] += A[i, k, q] + B[i, k, q] * alpha * weight[a + q]
    return m


@jit
def step_dense(arrays, alpha, x, dx):
    """dx <- Newton's step at x; returns the size of the system, negative if it is singular.   x, dx (n,)."""
    system = system_of(arrays)
    m = assemble_dense(system, alpha, x)
    done = dense_lu.lu_solve(system.matrix, system.rhs, m)
    for i in range(system.place.shape[0]):
        first, row = system.K.offset[i], system.place[i]
        for k in range(first, system.K.offset[i + 1]):
            dx[k] = -x[k] if row < 0 else system.rhs[row + k - first]
    return m if done else -1 - m


@jit
def assemble_blocks(system, alpha, x):
    """The Newton system of all blocks in those of W; returns its size.   x (n,).

    Open blocks have the identity, dx = -x, and zeros beside it.
    """
    F, A, B, values, rhs = system.F, system.A, system.B, system.matrix, system.rhs
    offset, row_start, column, data_start, data = system.W
    for i in range(system.state.shape[0]):
        a, d = offset[i], offset[i + 1] - offset[i]
        is_open = system.state[i] == 0
        system.place[i] = -1 if is_open else a
        for k in range(d):
            rhs[a + k] = -x[a + k] if is_open else -F[a + k]
        for b in range(row_start[i], row_start[i + 1]):
            j = column[b]
            e, start = offset[j + 1] - offset[j], data_start[b]
            if is_open:
                for k in range(d * e):
                    values[start + k] = 0.0
                if i == j:
                    for k in range(d):
                        values[start + k * d + k] = 1.0
                continue
            for k in range(d):
                to = start + k * e
                for q in range(e):
                    values[to + q] = 0.0
                for t in range(d):
                    f, at = B[i, k, t], start + t * e
                    if f != 0.0:
                        for q in range(e):
                            values[to + q] += f * data[at + q]
                if i == j:
                    for q in range(d):
                        values[to + q] += A[i, k, q] + B[i, k, q] * alpha * system.weight[a + q]
    return offset[system.state.shape[0]]


@jit
def step_blocks(arrays, alpha, x):
    """`assemble_blocks` for Python."""
    assemble_blocks(system_of(arrays), alpha, x)
