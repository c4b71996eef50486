"""A step of bodies by a primal-dual interior point with predictor and corrector (Mehrotra 1992), in one call.

Unknowns: v, λ of joints, and of contacts γ, s, b and η per group, with mu γ and slip velocities in their places in
the cones (`law.py`). Every iteration factors one matrix over the graph of bodies and joints (`newton.py`) and
solves with it twice.
"""

import math

import numpy as np

from stickslip.kernels.variational.block_lu import factor, solve
from stickslip.kernels.variational.compiled import jit
from stickslip.kernels.variational.geometry import end_values, start_rows, velocity_of
from stickslip.kernels.variational.law import (
    CHANGE,
    DR,
    DW,
    R,
    W,
    Y,
    begin,
    excess,
    longest,
    off_path,
    tables,
)
from stickslip.kernels.variational.layout import FREE, FRICTION, INTERVAL, NONNEGATIVE, PYRAMID
from stickslip.kernels.variational.natural import natural_errors
from stickslip.kernels.variational.newton import SOFT, assemble, imbalance, load, spread
from stickslip.kernels.variational.tangent import free_velocities, mass_blocks, tangent_parts

SOLVED, LIMIT, STALLED, NOT_FINITE = 0, 1, 2, 3
"""How an iteration ended."""
STATE, ITERATIONS, ERROR, EXCESS, NORM, CONTROLS = 0, 1, 2, 3, 4, 5
"""What `control` tells: how it ended, iterations, the least error (natural maps and residual; for kappa > 0 residual
and distance to the central path), and of the last iterate the mean product and the residual of the equations."""
NEAR = 0.995
"""Least share of the way to the boundary that a step goes."""
HALVINGS, GROWTH = 5, 2.0
"""Most halvings of a step after which the residual of the equations has grown by more than GROWTH."""
PATIENCE = 15
"""Iterations without progress after which it ends."""
EXACT = 1e-9
"""How near to the central path products are to be where it is asked for, over kappa."""
TINY = 1e-300


@jit
def compliances(B, wires, rows, root, out):
    """out (n,) <- diagonal of H' M^-1 H [1/kg, 1/(kg m²)]."""
    for i in range(B.shape[0]):
        for k in range(B[i, 1], B[i, 1] + B[i, 2]):
            total = 0.0
            for side in range(2):
                b = wires[i, side]
                if b >= 0:
                    for m in range(6):
                        s = 0.0
                        for o in range(6):
                            s += rows[k, side, o] * root[b, o, m]
                        total += s * s
            out[k] = total


@jit
def speed_scale(bodies, B, sides, rows, root, X):
    """The largest velocity of any block before the step, with its forces, and of gaps that are closing."""
    row, p = bodies[0], bodies[5]
    free, momenta, largest = np.empty(p.shape), np.empty((root.shape[0], 6)), 1e-12
    for b in range(row.shape[0]):
        if row[b] >= 0:
            for k in range(6):
                momenta[row[b], k] = p[b, k]
    free_velocities(bodies, momenta, root, free)
    for i in range(B.shape[0]):
        at = B[i, 1]
        for k in range(at, at + B[i, 2]):
            largest = max(largest, abs(velocity_of(rows, k, sides, i, free)))
        if B[i, 0] == FRICTION or B[i, 0] == NONNEGATIVE:
            largest = max(largest, -X[at, Y])
    return largest


@jit
def set_out(model, B, L, compliance, speed, kappa, h, X, F):
    """Impulses and slacks to begin with: of gaps mass times speed, less for far ones, groups on their path."""
    for i in range(B.shape[0]):
        at = B[i, 1]
        if B[i, 0] == INTERVAL:
            begin(i, model, B, L, max(L[i, 0] * speed, kappa), X, F)
        elif B[i, 0] != FREE:
            m = 1.0 / compliance[at] if compliance[at] > 0.0 else 1.0
            X[at, W] = max(X[at, Y], speed)
            X[at, R] = max(m * speed * speed, kappa / h) / X[at, W]
            begin(i, model, B, L, max(X[at, R] * X[at, W], kappa), X, F)


@jit
def residual_norm(B, uneven, root, X, speed):
    """Largest imbalance as a velocity, opening of joints and y - s of gaps, all over the speed."""
    worst = 0.0
    for b in range(uneven.shape[0]):
        for k in range(6):
            s = 0.0
            for m in range(6):
                s += root[b, m, k] * uneven[b, m]
            worst = max(worst, abs(s) * root[b, k, k])
    for i in range(B.shape[0]):
        at = B[i, 1]
        if B[i, 0] == FREE:
            for k in range(at, at + B[i, 2]):
                worst = max(worst, abs(X[k, Y]))
        elif B[i, 0] != INTERVAL:
            worst = max(worst, abs(X[at, Y] - X[at, W]))
    return worst / speed


@jit
def go(row, alpha, x, v_old, X_old, F_old, v, X, F):
    """v, X, F <- the iterate a step of alpha from the old one."""
    for b in range(row.shape[0]):
        if row[b] >= 0:
            for k in range(6):
                v[b, k] = v_old[b, k] + alpha * x[row[b], k]
    for k in range(X.shape[0]):
        X[k, R] = X_old[k, R] + alpha * X[k, DR]
        X[k, W] = X_old[k, W] + alpha * X[k, DW]
    for k in range(F.shape[0]):
        for m in range(10):
            F[k, m] = F_old[k, m] + alpha * F[k, CHANGE + m]


@jit
def solve_step(
    h, model, bodies, contacts, joints, blocks, plan, count, wires, kappa, tolerance, limit, start, warm
):
    """(v, X, F, rows, q_end, M, root, f, u_bias, control, history): answer and tangent problem of a step.

    start: v, X, F to begin with where `warm`. v (n, 6); X and F as in `law.py`.
    """
    row, q, given, mass, J, p = bodies
    n, nd = blocks[1][-1], 0
    for b in range(row.shape[0]):
        nd = max(nd, row[b] + 1)
    N = plan[0].shape[0]
    B, L = tables(blocks)
    rows, M, root = np.zeros((n, 2, 6)), np.empty((nd, 6, 6)), np.empty((nd, 6, 6))
    mass_blocks(row, mass, J, M, root)
    start_rows(contacts, joints, blocks, q, rows)
    compliance = np.empty(n)
    compliances(B, wires, rows, root, compliance)
    soft = SOFT * compliance
    v, X, F = given.copy(), np.zeros((n, 8)), np.zeros((n if model == PYRAMID else 0, 30))
    if warm:
        v[:], X[:], F[:] = start
    end_rows, q_end = rows.copy(), np.empty(q.shape)
    end_values(h, bodies, contacts, joints, blocks, rows, v, q_end, X, end_rows)
    speed = speed_scale(bodies, B, blocks[8], rows, root, X)
    if not warm:
        set_out(model, B, L, compliance, speed, kappa, h, X, F)
    energy = TINY
    for i in range(B.shape[0]):
        if B[i, 0] != FREE and compliance[B[i, 1]] > 0.0:
            energy = max(energy, speed * speed / compliance[B[i, 1]])
    matrix, pivots, x = np.empty((count, 6, 6)), np.empty((N, 6), np.int64), np.empty((N, 6))
    uneven, control, history = np.empty((nd, 6)), np.zeros(CONTROLS), np.zeros((limit + 1, 3))
    v_old, X_old, F_old = v.copy(), X.copy(), F.copy()
    v_best, X_best, F_best, best = v.copy(), X.copy(), F.copy(), math.inf
    imbalance(h, row, mass, J, p, v, B, wires, rows, X, uneven)
    norm = residual_norm(B, uneven, root, X, speed)
    state, iterations, since, least = LIMIT, 0, 0, math.inf
    mean = 0.0
    for it in range(limit + 1):
        mean, pairs = excess(model, B, L, kappa / h, kappa, 0.0, X, F)
        if not (norm < math.inf and mean < math.inf):
            state = NOT_FINITE
            break
        natural, scaled = natural_errors(model, B, L, compliance, X, speed)
        if kappa > 0.0:
            natural = scaled = tolerance / EXACT * off_path(model, B, L, kappa, h, X, F)
        history[it, 0], history[it, 1], history[it, 2] = it, natural, scaled
        error = max(natural, scaled, 10.0 * norm)
        if error < best:
            best = error
            v_best[:], X_best[:], F_best[:] = v, X, F
        if error <= tolerance:
            state = SOLVED
            break
        since += 1
        if norm + mean / energy < 0.9 * least:
            least, since = norm + mean / energy, 0
        if since > PATIENCE:
            state = STALLED
            break
        if it == limit:
            break
        iterations += 1
        assemble(h, model, row, mass, J, v, B, L, wires, rows, end_rows, soft, X, F, matrix)
        factor(plan, matrix, pivots)
        load(model, B, L, wires, rows, uneven, kappa / h, kappa, 0.0, X, F, x)
        solve(plan, matrix, pivots, x)
        spread(model, B, L, wires, end_rows, x, X, F)
        alpha = 1.0
        if pairs > 0:
            ahead = excess(model, B, L, kappa / h, kappa, longest(model, B, L, X, F, 1.0), X, F)[0]
            sigma = (ahead / mean) ** 3 if mean > 0.0 else 0.0
            more = min(sigma, 1.0) * mean
            load(model, B, L, wires, rows, uneven, kappa / h + more, kappa + more, 1.0, X, F, x)
            solve(plan, matrix, pivots, x)
            spread(model, B, L, wires, end_rows, x, X, F)
            share = max(NEAR, 1.0 - mean / energy)
            alpha = min(1.0, share * longest(model, B, L, X, F, math.inf))
        v_old[:], X_old[:], F_old[:] = v, X, F
        before = norm
        for halving in range(HALVINGS + 1):
            go(row, alpha, x, v_old, X_old, F_old, v, X, F)
            end_values(h, bodies, contacts, joints, blocks, rows, v, q_end, X, end_rows)
            imbalance(h, row, mass, J, p, v, B, wires, rows, X, uneven)
            norm = residual_norm(B, uneven, root, X, speed)
            if norm <= GROWTH * before + 1e-3 or halving == HALVINGS:
                break
            alpha *= 0.5
    if state != SOLVED:
        v[:], X[:], F[:] = v_best, X_best, F_best
    end_values(h, bodies, contacts, joints, blocks, rows, v, q_end, X, end_rows)
    f, u_bias = tangent_parts(h, bodies, blocks, rows, X, v, M, root)
    control[STATE], control[ITERATIONS], control[ERROR], control[EXCESS], control[NORM] = (
        state, iterations, best, mean, norm,
    )  # fmt: skip
    return v, X, F, rows, q_end, M, root, f, u_bias, control, history[: iterations + 1].copy()
