"""Newton systems over the graph of bodies, without W = J J'.

The step of `newton_systems.py` with block-diagonal E = A + alpha B D and w = J' dx:

    dx = E^-1 (-F - B J w),        (1 + J' E^-1 B J) w = J' E^-1 (-F).

The system has k unknowns for each body instead of d for each contact, far fewer where contacts are many
(hyperstatic piles and walls). Open blocks have dx = -x and E^-1 B = 0.
"""

from typing import Any, NamedTuple

import numpy as np

from stickslip.kernels import blocks, body_sweeps, cones, dense_lu, newton_systems, prox_newton, residuals
from stickslip.kernels.jit import jit, jit_inlined


class BodyGraph(NamedTuple):
    """W = J J' over bodies of k velocities, and the positions of blocks in the values of the system."""

    offset: Any
    """First component of each block, then the number of components, shape (nb + 1,)."""
    bodies: Any
    """Bodies of each block, two different ones, -1 for a fixed side, shape (nb, 2)."""
    rows: Any
    """J [kg^-1/2], shape (n, 2, k)."""
    diagonal: Any
    """Position of the diagonal block of each body in the values of the system, shape (bodies,)."""
    place: Any
    """Positions of the blocks to which each contact contributes, by its sides in row and column, -1 for none;
    shape (nb, 2, 2)."""
    w: Any
    """J' r, and the right-hand side of the system after assembly [kg^1/2 m/s], shape (bodies, k)."""


@jit
def system_of(arrays):
    """Return the `System` of nested plain tuples, with a `BodyGraph` as W."""
    return newton_systems.System(
        cones.Cones(*arrays[0]), BodyGraph(*arrays[1]), arrays[2], residuals.Metric(*arrays[3]), *arrays[4:]
    )


@jit
def prepare(K, W, u_free, values):
    """Return the `System` of a problem over the `BodyGraph` W; values: blocks of the system matrix, flat."""
    return newton_systems.prepare_with(body_sweeps.diagonal_blocks, K, W, u_free, values)


@jit
def multiply(W, r, bias, u):
    """u <- W r + bias.   r, bias, u (n,); u and r are different arrays."""
    blocks.blocks_to_bodies(W.bodies, W.offset, W.rows, r, W.w)
    blocks.bodies_to_blocks(W.bodies, W.offset, W.rows, W.w, bias, u)


@jit
def assemble(system, alpha, x):
    """matrix, W.w <- system at x (n,); A <- E^-1 B, rhs <- E^-1 (-F), block by block. Return its size.

    The right-hand side is NaN where E is singular.
    """
    if system.W.rows.shape[2] == blocks.RIGID:
        return assemble_over(system, alpha, x, blocks.RIGID)
    return assemble_over(system, alpha, x, system.W.rows.shape[2])


@jit_inlined
def assemble_over(system, alpha, x, k):
    """Do the work of `assemble` for bodies of k velocities; k is a compile-time constant for rigid bodies."""
    F, A, B, values, y, weight, W = (
        system.F, system.A, system.B, system.matrix, system.rhs, system.weight, system.W,
    )  # fmt: skip
    offset, most = W.offset, A.shape[1]
    E, both, pushed = np.empty((most, most)), np.empty((most, most + 1)), np.empty((most, k))
    # 1. E^-1 B and E^-1 (-F) of each contact.
    for i in range(system.state.shape[0]):
        a, d = offset[i], offset[i + 1] - offset[i]
        if system.state[i] == 0:
            system.place[i] = -1
            for p in range(d):
                y[a + p] = -x[a + p]
            continue
        system.place[i] = a
        for p in range(d):
            for q in range(d):
                E[p, q] = A[i, p, q] + B[i, p, q] * alpha * weight[a + q]
                both[p, q] = B[i, p, q]
            both[p, d] = -F[a + p]
        regular = dense_lu.solve_columns(E, both, d, d + 1)
        for p in range(d):
            y[a + p] = both[p, d] if regular else np.nan
            for q in range(d):
                A[i, p, q] = both[p, q]
    # 2. Matrix 1 + J' E^-1 B J.
    for j in range(values.shape[0]):
        values[j] = 0.0
    for b in range(W.diagonal.shape[0]):
        for p in range(k):
            values[W.diagonal[b] + p * k + p] = 1.0
    for i in range(system.state.shape[0]):
        if system.state[i] == 0:
            continue
        a, d = offset[i], offset[i + 1] - offset[i]
        for side in range(2):
            if W.bodies[i, side] < 0:
                continue
            for p in range(d):
                for q in range(k):
                    pushed[p, q] = 0.0
                for m in range(d):
                    factor = A[i, p, m]
                    if factor != 0.0:
                        for q in range(k):
                            pushed[p, q] += factor * W.rows[a + m, side, q]
            for other in range(2):
                start = W.place[i, other, side]
                if start < 0:
                    continue
                for m in range(d):
                    for p in range(k):
                        factor = W.rows[a + m, other, p]
                        for q in range(k):
                            values[start + p * k + q] += factor * pushed[m, q]
    # 3. Right-hand side J' E^-1 (-F).
    blocks.blocks_to_bodies(W.bodies, offset, W.rows, y, W.w)
    return W.w.size


@jit
def advance(arrays, vectors, control, history):
    """Call `prox_newton.advance` for systems over bodies."""
    return prox_newton.advance(multiply, assemble, system_of(arrays), vectors, control, history)


@jit
def finish(arrays, w):
    """rhs <- dx = E^-1 (-F) - E^-1 B J w, after `assemble`.   w (bodies, k) solves the system."""
    system = system_of(arrays)
    W, A, y = system.W, system.A, system.rhs
    Jw, nothing = np.empty(y.shape[0]), np.zeros(y.shape[0])
    blocks.bodies_to_blocks(W.bodies, W.offset, W.rows, w, nothing, Jw)
    for i in range(system.state.shape[0]):
        if system.state[i] == 0:
            continue
        a, d = W.offset[i], W.offset[i + 1] - W.offset[i]
        for p in range(d):
            for q in range(d):
                y[a + p] -= A[i, p, q] * Jw[a + q]
