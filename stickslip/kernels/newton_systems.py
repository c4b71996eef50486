"""Linear systems of Newton's method for the contact law as equations F(r, u) = 0, u = W r + u_free.

A, B (nb, dmax, dmax) hold the blocks dF_i/dr_i and dF_i/du_i of the maps in `maps.py`. The step dx solves

    (A + B (W + alpha D)) dx = -F.

Open blocks have F = r, so dx = -x. `assemble_dense` eliminates them and writes one dense matrix;
`assemble_blocks` writes the system in the block pattern of W, for `linalg.front_lu`.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from stickslip.kernels import cone_maps, cones, dense_lu, gauss_seidel, maps, residuals
from stickslip.kernels.blocks import BlockW
from stickslip.kernels.jit import jit


class System(NamedTuple):
    """A contact problem of n components in nb blocks, its map F at a point, and the Newton system."""

    K: Any
    """The set, a `Cones`."""
    W: Any
    """W in blocks, a `BlockW` [1/kg]; or over bodies, a `BodyGraph`."""
    u_free: Any
    """Free velocities [m/s], shape (n,)."""
    scales: Any
    """The judge's scales, a `Metric`."""
    rho: Any
    """Augmentation parameters of the maps [kg], shape (n,)."""
    weight: Any
    """D, the scale of the regularisation: alpha has no unit [1/kg], shape (n,)."""
    F: Any
    """Value of the map [N s], shape (n,)."""
    A: Any
    """dF/dr of each block [-], shape (nb, dmax, dmax)."""
    B: Any
    """dF/du of each block [kg], shape (nb, dmax, dmax)."""
    state: Any
    """State of each block as defined in `maps.py`, 0 if open, shape (nb,)."""
    place: Any
    """First row of each block in the system, -1 if it is open, shape (nb,)."""
    matrix: Any
    """Matrix of the system: dense (n, n), leading rows and columns used; or flat, in the pattern of W."""
    rhs: Any
    """Right-hand side, overwritten by the solution [N s], shape (n,)."""


@jit
def system_of(arrays):
    """Return the `System` of nested plain tuples, as passed from Python (see `cones.Cones`)."""
    return System(
        cones.Cones(*arrays[0]), BlockW(*arrays[1]), arrays[2], residuals.Metric(*arrays[3]), *arrays[4:]
    )


@jit
def prepare(K, W, u_free, matrix):
    """Return the `System` of a problem with W in blocks, for dense or block matrices; F is not evaluated."""
    return prepare_with(gauss_seidel.diagonal_blocks, K, W, u_free, matrix)


@jit
def prepare_with(diagonal_blocks, K, W, u_free, matrix):
    """Return the `System` of a problem with any form of W.

    diagonal_blocks(W, offset, local, local_start, diagonal) writes the blocks W_ii and the diagonal of W.
    """
    offset, n, nb, d, size = K.offset, u_free.shape[0], K.kind.shape[0], 1, 0
    start = np.empty(nb, np.int64)
    for i in range(nb):
        start[i], block_size = size, offset[i + 1] - offset[i]
        size += block_size * block_size
        d = max(d, block_size)
    local, rho, weight = np.zeros(size), np.empty(n), np.empty(n)
    diagonal_blocks(W, offset, local, start, weight)
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

    local holds W_ii row by row at local_start. A group with W_gg = 0 takes the rho of the judge.   out (n,).
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
    """Return the largest eigenvalue of sym W_gg for a group of size 1 or 2, else its trace."""
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
    """F, A, B, state <- those of a map at (r, u); return sum_k F_k²/rho_k [J].   r, u (n,).

    The returned sum is a squared norm of F that is independent of units.
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
    """Call `evaluate` with the map of Alart and Curnier."""
    return evaluate(maps.alart_curnier, system_of(arrays), r, u)


@jit
def evaluate_jean_moreau(arrays, r, u):
    """Call `evaluate` with the map of Jean and Moreau."""
    return evaluate(maps.jean_moreau, system_of(arrays), r, u)


@jit
def evaluate_natural(arrays, r, u):
    """Call `evaluate` with the natural map."""
    return evaluate(cone_maps.natural_newton, system_of(arrays), r, u)


@jit
def evaluate_fischer_burmeister(arrays, r, u):
    """Call `evaluate` with the Fischer–Burmeister map."""
    return evaluate(cone_maps.fischer_burmeister, system_of(arrays), r, u)


@jit
def assemble_dense(system, alpha, x):
    """matrix, rhs <- Newton system at x (n,) of the blocks that are not open; return its size."""
    F, A, B, J, rhs, place, weight = (
        system.F, system.A, system.B, system.matrix, system.rhs, system.place, system.weight,
    )  # fmt: skip
    offset, row_start, column, data_start, data = system.W
    # 1. Rows of the blocks that are not open.
    m = 0
    for i in range(place.shape[0]):
        place[i] = -1
        if system.state[i] != 0:
            place[i] = m
            m += offset[i + 1] - offset[i]
    for i in range(place.shape[0]):
        if place[i] < 0:
            continue
        # 2. B W, with the columns of open blocks moved to the right-hand side.
        a, d, row = offset[i], offset[i + 1] - offset[i], place[i]
        for k in range(d):
            rhs[row + k] = -F[a + k]
            for c in range(m):
                J[row + k, c] = 0.0
        for b in range(row_start[i], row_start[i + 1]):
            j, start = column[b], data_start[b]
            c, e, first_column = offset[j], offset[j + 1] - offset[j], place[j]
            for k in range(d):
                for t in range(d):
                    f, at = B[i, k, t], start + t * e
                    if f == 0.0:
                        continue
                    for q in range(e):
                        if first_column < 0:  # open: dx = -x
                            rhs[row + k] += f * data[at + q] * x[c + q]
                        else:
                            J[row + k, first_column + q] += f * data[at + q]
        # 3. A + alpha B D.
        for k in range(d):
            for q in range(d):
                J[row + k, row + q] += A[i, k, q] + B[i, k, q] * alpha * weight[a + q]
    return m


@jit
def step_dense(arrays, alpha, x, dx):
    """dx <- Newton step at x; return the size m of the system, or -1 - m if it is singular.   x, dx (n,)."""
    system = system_of(arrays)
    m = assemble_dense(system, alpha, x)
    regular = dense_lu.lu_solve(system.matrix, system.rhs, m)
    for i in range(system.place.shape[0]):
        first, row = system.K.offset[i], system.place[i]
        for k in range(first, system.K.offset[i + 1]):
            dx[k] = -x[k] if row < 0 else system.rhs[row + k - first]
    return m if regular else -1 - m


@jit
def assemble_blocks(system, alpha, x):
    """matrix, rhs <- Newton system of all blocks in the pattern of W; return its size.   x (n,).

    The rows of an open block are those of the identity, with right-hand side -x.
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
                row = start + k * e
                for q in range(e):
                    values[row + q] = 0.0
                for t in range(d):
                    f, at = B[i, k, t], start + t * e
                    if f != 0.0:
                        for q in range(e):
                            values[row + q] += f * data[at + q]
                if i == j:
                    for q in range(d):
                        values[row + q] += A[i, k, q] + B[i, k, q] * alpha * system.weight[a + q]
    return offset[system.state.shape[0]]


@jit
def step_blocks(arrays, alpha, x):
    """Call `assemble_blocks` with the `System` as plain tuples."""
    assemble_blocks(system_of(arrays), alpha, x)
