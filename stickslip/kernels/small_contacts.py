"""Small dense contact problems in one call: sweeps, and the judge's word.

Steps of small systems are mostly calls. So this takes W as one flat array and makes its own work arrays;
what is not solved here is left to the solvers.
"""

import numpy as np

from stickslip.kernels import cones, residuals, sweeps
from stickslip.kernels import local as one
from stickslip.kernels.jit import jit

SWEEPS = 200
"""Most sweeps: problems of a few contacts that need more are for Newton's method."""
SMALL = 30
"""Most unknowns of a problem that is solved in one call."""


@jit
def solve(cone_arrays, W, u_free, tolerance, r, u):
    """(measures, sweeps, solved) of r, u <- the answer of u = W r + u_free with its law.

    cone_arrays: a `Cones` as a plain tuple; W (n n,) row by row; u_free, u (n,); r (n,) the guess on entry.
    measures (MEASURES,) are the judge's.
    """
    n, K = u_free.shape[0], cones.Cones(*cone_arrays)
    if n == 1:  # the case met most, in full: the answer of one component does not depend on the guess
        r[0] = one.one_component(W[0], u_free[0], K.lower[0], K.upper[0], r[0])
        velocities(K.offset, W, r, u_free, u)
        measures = residuals.measure(K, residuals.EXACT, W, r, u, u_free)
        return measures, 1, residuals.is_solved(measures, tolerance)
    cones.project(K, r, r)
    problem, work = sweeps.prepare(own_blocks, K, W, u_free, 1.0)
    diagonal, out = work.vectors[0], np.empty(residuals.MEASURES)
    at, spare = residuals.Point(r, u, u_free), (work.vectors[1], work.vectors[2])
    done, look = 0, 1 if K.kind.shape[0] == 1 else 0
    while True:
        if done >= look:
            # 1. the norms, and where they end the solve all that the judge measures
            velocities(K.offset, W, r, u_free, u)
            out[residuals.NATURAL], out[residuals.SCALED], out[residuals.WORST] = residuals.stop_measures(
                residuals.natural_map, K, problem.scales, residuals.EXACT, at, spare
            )
            error = max(out[residuals.NATURAL], out[residuals.SCALED])
            ends = done >= SWEEPS or not error < np.inf
            if ends or error <= tolerance:
                residuals.complete(K, problem.scales, residuals.EXACT, diagonal, at, spare, out)
                solved = residuals.is_solved(out, tolerance)
                if ends or solved:
                    return out, done, solved
            look = min(done + 1 + done // 3, SWEEPS)
        # 2. one sweep
        sweep(problem, work, r)
        done += 1


def solve_into(
    kind, offset, lower, upper, group_offset, group_size, coefficient, W, u_free, tolerance, r, u, out
):  # fmt: skip
    """`solve` as a function that other kernels are handed: out <- measures, sweeps, 1 where solved."""
    K = kind, offset, lower, upper, group_offset, group_size, coefficient
    measures, done, solved = solve(K, W, u_free, tolerance, r, u)
    for k in range(residuals.MEASURES):
        out[k] = measures[k]
    out[residuals.MEASURES], out[residuals.MEASURES + 1] = done, 1.0 if solved else 0.0


@jit
def velocities(offset, W, r, u_free, u):
    """u <- W r + u_free, summed block by block as the judge sums, so that it finds the same numbers."""
    n, nb = r.shape[0], offset.shape[0] - 1
    for i in range(nb):
        for k in range(offset[i], offset[i + 1]):
            total = u_free[k]
            for j in range(nb):
                s = 0.0
                for m in range(offset[j], offset[j + 1]):
                    s += W[k * n + m] * r[m]
                total += s
            u[k] = total


@jit
def own_blocks(W, offset, local, local_start, diagonal):
    """local, diagonal <- W_ii of each block at its place, and the diagonal of W (n,)."""
    n = diagonal.shape[0]
    for i in range(offset.shape[0] - 1):
        a, d, at = offset[i], offset[i + 1] - offset[i], local_start[i]
        for k in range(d):
            diagonal[a + k] = W[(a + k) * n + a + k]
            for m in range(d):
                local[at + k * d + m] = W[(a + k) * n + a + m]


@jit
def sweep(problem, work, r):
    """One sweep over the blocks, each solved exactly."""
    K, W, local, local_start, n = problem.K, problem.W, problem.local, problem.local_start, r.shape[0]
    q, old, out, offset, u_free = work.bench[0], work.bench[1], work.bench[2], K.offset, problem.u_free
    for i in range(offset.shape[0] - 1):
        a, d, at = offset[i], offset[i + 1] - offset[i], local_start[i]
        for k in range(d):
            old[k] = r[a + k]
        for k in range(d):
            s = u_free[a + k]
            for m in range(n):
                s += W[(a + k) * n + m] * r[m]
            for m in range(d):  # what `local` holds of W_ii may carry a proximal term
                s -= local[at + k * d + m] * old[m]
            q[k] = s
        one.solve_block(i, K, local, local_start, q, old, work.kappa, work.spare, out)
        for k in range(d):
            r[a + k] = out[k]
