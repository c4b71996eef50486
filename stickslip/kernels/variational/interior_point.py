"""A step of bodies by a primal-dual interior point with predictor and corrector (Mehrotra 1992), in one call.

Unknowns: v, λ of joints, and of contacts γ, s, b and η per group, with mu γ and slip velocities in their
places in the cones (`law.py`). Every iteration factors one matrix over the graph of bodies and joints
(`newton.py`) and solves with it twice.
"""

import math

import numpy as np

from stickslip.kernels.bodies.motion import row_velocity
from stickslip.kernels.jit import jit
from stickslip.kernels.variational.block_lu import divide_vector, factor, factor_block, solve
from stickslip.kernels.variational.geometry import end_values, start_rows
from stickslip.kernels.variational.law import (
    CHANGE,
    COLUMNS,
    DR,
    DW,
    EXACT,
    OWN,
    R,
    W,
    Y,
    begin,
    excess,
    longest,
    off_path,
    tables,
)
from stickslip.kernels.variational.layout import CONE, FREE, FRICTION, INTERVAL, NONNEGATIVE, PYRAMID
from stickslip.kernels.variational.momentum import momentum_slope
from stickslip.kernels.variational.natural import natural_errors
from stickslip.kernels.variational.newton import (
    SOFT,
    add_correction,
    assemble,
    imbalance,
    leftover,
    load,
    spread,
)
from stickslip.kernels.variational.tangent import free_velocities, mass_blocks, tangent_parts

SOLVED, LIMIT, STALLED, NOT_FINITE = 0, 1, 2, 3
"""How an iteration ended."""
STATE, ITERATIONS, ERROR, EXCESS, NORM, CONTROLS = 0, 1, 2, 3, 4, 5
"""What `control` tells: how it ended, iterations, the least error (natural maps and residual; for kappa > 0
residual and distance to the central path), and of the last iterate the mean product and the residual of the
equations."""
NEAR = 0.995
"""Least share of the way to the boundary that a step goes."""
HALVINGS, GROWTH, SLIGHT = 5, 2.0, 0.3
"""Most halvings of a step after which the residual of the equations has grown by more than GROWTH, and is not
SLIGHT."""
PATIENCE = 15
"""Iterations without progress after which it ends."""
ON_PATH, ROUNDING = 1e-9, 1e-15
"""How near to the central path products are to be where it is asked for, over kappa, and what their rounding
is over the energy of a step."""
GIVE, SHARE = 1e-13, 0.1
"""Least compliance of gaps, over the least of any block; on the way it is a share of that of the mean
product."""
POOR, CENTRED = 0.1, 0.3
"""Share of a step below which it is tried again towards the central path alone, and where on it."""
REFINED = 2
"""Most corrections of a direction."""
FIRST_NEWTON, GATE, NEWTON_STEPS = 1e-4, 0.03, 4
"""Error from which Newton steps on Coulomb's law as it is are tried, how much smaller it must be to try
again, and most of them at a time."""
CAREFUL, AWAY = 0.9, 10.0
"""Share of the way to the boundary of careful steps, and how much further in such an iteration begins."""
TINY = 1e-300


@jit
def compliances(B, wires, rows, root, X):
    """Column OWN of X <- diagonal of H' M^-1 H [1/kg, 1/(kg m²)]; 1 where nothing answers."""
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
            X[k, OWN] = total if total > 0.0 else 1.0


@jit
def soften(give, B, L):
    """The same ε of all gaps."""
    for i in range(B.shape[0]):
        if B[i, 0] == FRICTION or B[i, 0] == NONNEGATIVE:
            L[i, 0] = give


@jit
def speed_scale(bodies, B, sides, rows, root, X):
    """The largest velocity of any block before the step, with its forces, and of gaps that are closing.

    Not less than a little of that of the bodies, which alone counts where there are no blocks.
    """
    row, p = bodies[0], bodies[5]
    free, momenta, largest = np.empty(p.shape), np.empty((root.shape[0], 6)), 1e-12
    for b in range(row.shape[0]):
        if row[b] >= 0:
            for k in range(6):
                momenta[row[b], k] = p[b, k]
    free_velocities(bodies, momenta, root, free)
    little = 1e-6 if B.shape[0] > 0 else 1.0
    for b in range(row.shape[0]):
        for k in range(6):
            largest = max(largest, little * abs(free[b, k]))
    for i in range(B.shape[0]):
        at = B[i, 1]
        for k in range(at, at + B[i, 2]):
            largest = max(largest, abs(row_velocity(sides, rows, i, k, free)))
        if B[i, 0] == FRICTION or B[i, 0] == NONNEGATIVE:
            largest = max(largest, -X[at, Y])
    return largest


@jit
def set_out(model, B, L, speed, kappa, h, X, F):
    """Impulses and slacks to begin with: of gaps mass times speed, less for far ones, groups on their path.

    Gives the largest mass times speed² of any block, TINY where there is none that can slip or open.
    """
    energy = TINY
    for i in range(B.shape[0]):
        at = B[i, 1]
        if B[i, 0] == FREE:
            continue
        energy = max(energy, speed * speed / X[at, OWN])
        if B[i, 0] == INTERVAL:
            begin(i, model, B, L, max(L[i, 0] * speed, kappa), X, F)
            continue
        X[at, W] = max(X[at, Y], speed)
        X[at, R] = max(speed * speed / X[at, OWN], kappa / h) / X[at, W]
        begin(i, model, B, L, max(X[at, R] * X[at, W], kappa), X, F)
    return energy


@jit
def residual_norm(B, L, uneven, root, X, speed):
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
            worst = max(worst, abs(X[at, Y] + L[i, 0] * X[at, R] - X[at, W]))
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
def evaluate(step, speed, v, X, q_end, end_rows, uneven):
    """Values and rows at v, imbalance of momenta, and the norm of both."""
    h, bodies, contacts, joints, blocks, wires, rows, root, _, B, L = step
    end_values(h, bodies, contacts, joints, blocks, rows, v, q_end, X, end_rows)
    imbalance(h, bodies[0], bodies[3], bodies[4], bodies[5], v, B, wires, rows, X, uneven)
    return residual_norm(B, L, uneven, root, X, speed)


@jit
def balance(step, model, plan, matrix, pivots, enough, speed, v, end_rows, uneven, left, x, X, F):
    """Corrects a direction whose impulses do not balance its momenta, by rounding, to a share of `enough`."""
    h, bodies, _, _, _, wires, rows, root, soft, B, L = step
    for _ in range(REFINED):
        leftover(h, bodies[0], bodies[3], bodies[4], v, B, wires, rows, end_rows, soft, uneven, X, x, left)
        if residual_norm(B[:0], L, left[: uneven.shape[0]], root, X, speed) <= 0.01 * enough:
            break
        solve(plan, matrix, pivots, left)
        add_correction(model, B, L, wires, end_rows, left, x, X, F)


@jit
def newton_steps(
    step, plan, matrix, pivots, tolerance, speed, error, v, q_end, end_rows, uneven, left, x, X, F
):
    """(error, steps, residual): Newton on Coulomb's law as it is, from an iterate with this error."""
    h, bodies, _, _, _, wires, rows, _, soft, B, L = step
    row, mass, J = bodies[0], bodies[3], bodies[4]
    norm, steps = 0.0, 0
    while steps < NEWTON_STEPS:
        steps += 1
        assemble(h, EXACT, row, mass, J, v, B, L, wires, rows, end_rows, soft, X, F, matrix)
        factor(plan, matrix, pivots)
        load(EXACT, B, L, wires, rows, uneven, 0.0, 0.0, 0.0, X, F, x)
        solve(plan, matrix, pivots, x)
        spread(EXACT, B, L, wires, end_rows, x, X, F)
        balance(step, EXACT, plan, matrix, pivots, tolerance, speed, v, end_rows, uneven, left, x, X, F)
        go(row, 1.0, x, v, X, F, v, X, F)
        norm = evaluate(step, speed, v, X, q_end, end_rows, uneven)
        for i in range(B.shape[0]):  # gaps are what they are: no residual of theirs
            at = B[i, 1]
            if B[i, 0] == FRICTION or B[i, 0] == NONNEGATIVE:
                X[at, W] = X[at, Y] + L[i, 0] * X[at, R]
        norm = residual_norm(B, L, uneven, step[7], X, speed)
        natural, scaled = natural_errors(CONE, B, L, X, speed)
        better = max(natural, scaled, 10.0 * norm)
        if not better < 0.5 * error:
            break
        error = better
        if error <= tolerance:
            break
    return error, steps, norm


@jit
def close_slacks(B, L, X):
    """Slacks at the end of the central path: gaps, and η the size of slip velocities."""
    for i in range(B.shape[0]):
        at = B[i, 1]
        if B[i, 0] == INTERVAL:
            X[at, W] = abs(X[at, Y])
        elif B[i, 0] != FREE:
            X[at, W] = max(X[at, Y], 0.0)
            k = at + 1
            for g in range(int(L[i, 1])):
                size = int(L[i, 2 + 2 * g])
                X[k, W] = math.hypot(X[k, Y], X[k + 1, Y]) if size == 2 else abs(X[k, Y])
                k += size


@jit
def restore(step, v, X, q_end, end_rows, uneven):
    """v <- what the impulses make of it, to rounding: momentum is kept whatever the tolerance."""
    h, bodies, _, _, _, _, _, _, _, _, _ = step
    row, mass, J = bodies[0], bodies[3], bodies[4]
    slope, pivot = np.empty((6, 6)), np.empty(6, np.int64)
    for _ in range(2):
        for b in range(row.shape[0]):
            if row[b] >= 0:
                momentum_slope(mass[b], J[b], h, v[b], slope)
                factor_block(slope, pivot)
                divide_vector(slope, pivot, uneven[row[b]])
                for k in range(6):
                    v[b, k] -= uneven[row[b], k]
        evaluate(step, 1.0, v, X, q_end, end_rows, uneven)


@jit
def solve_step(
    h, model, bodies, contacts, joints, blocks, plan, count, wires, kappa, tolerance, limit, careful
):
    """(v, X, F, rows, q_end, M, root, f, u_bias, control, history): answer and tangent problem of a step.

    v (n, 6) of all bodies; X and F as in `law.py`, gaps in units of velocity. careful: 0, or 1, 2, .. for
    smaller steps from further inside, where larger ones have come to a halt.
    """
    row, q, given, mass, J = bodies[0], bodies[1], bodies[2], bodies[3], bodies[4]
    n, nd, N = blocks[1][-1], 0, plan[0].shape[0]
    for b in range(row.shape[0]):
        nd = max(nd, row[b] + 1)
    B, L = tables(blocks)
    rows, M, root = np.zeros((n, 2, 6)), np.empty((nd, 6, 6)), np.empty((nd, 6, 6))
    mass_blocks(row, mass, J, M, root)
    start_rows(contacts, joints, blocks, q, rows)
    v, X, F = given.copy(), np.zeros((n, COLUMNS)), np.zeros((n if model == PYRAMID else 0, 30))
    compliances(B, wires, rows, root, X)
    soft = SOFT * X[:, OWN]
    step = h, bodies, contacts, joints, blocks, wires, rows, root, soft, B, L
    end_rows, q_end, uneven = rows.copy(), np.empty(q.shape), np.empty((nd, 6))
    evaluate(step, 1.0, v, X, q_end, end_rows, uneven)
    speed = speed_scale(bodies, B, blocks[8], rows, root, X)
    energy = set_out(model, B, L, speed * AWAY**careful, kappa, h, X, F) / AWAY ** (2 * careful)
    norm = evaluate(step, speed, v, X, q_end, end_rows, uneven)
    matrix, pivots = np.empty((count, 6, 6)), np.empty((N, 6), np.int64)
    x, left = np.empty((N, 6)), np.empty((N, 6))
    control, history = np.zeros(CONTROLS), np.zeros((limit + 1, 3))
    v_old, X_old, F_old = v.copy(), X.copy(), F.copy()
    v_best, X_best, F_best, best = v.copy(), X.copy(), F.copy(), math.inf
    state, iterations, checks, since, least, gate, mean = LIMIT, 0, 0, 0, math.inf, FIRST_NEWTON, 0.0
    while True:
        mean, pairs = excess(model, B, L, kappa / h, kappa, 0.0, X, F)
        if not (norm < math.inf and mean < math.inf):
            state = NOT_FINITE
            break
        soften(max(GIVE, min(SHARE * mean / energy, SHARE)) * speed * speed / energy, B, L)
        natural, scaled = natural_errors(model, B, L, X, speed)
        if kappa > 0.0:
            near = ON_PATH + ROUNDING * energy / kappa
            natural = scaled = tolerance / near * off_path(model, B, L, kappa, h, X, F)
        history[checks, 0], history[checks, 1], history[checks, 2] = iterations, natural, scaled
        checks += 1
        error = max(natural, scaled, 10.0 * norm)
        if error < best:
            best = error
            v_best[:], X_best[:], F_best[:] = v, X, F
        if (
            tolerance < error <= gate
            and pairs > 0
            and kappa == 0.0
            and model != PYRAMID
            and iterations < limit
        ):
            v_old[:], X_old[:], gate = v, X, GATE * error
            error, steps, norm = newton_steps(
                step, plan, matrix, pivots, tolerance, speed, error, v, q_end, end_rows, uneven, left, x, X, F
            )
            iterations += steps
            if error < best and error <= tolerance:
                best = error
            else:
                v[:], X[:] = v_old, X_old
                norm, error = evaluate(step, speed, v, X, q_end, end_rows, uneven), math.inf
        if error <= tolerance:
            state = SOLVED
            break
        since += 1
        if norm + mean / energy < 0.9 * least:
            least, since = norm + mean / energy, 0
        if since > PATIENCE:
            state = STALLED
            break
        if iterations >= limit:
            break
        iterations += 1
        assemble(h, model, row, mass, J, v, B, L, wires, rows, end_rows, soft, X, F, matrix)
        factor(plan, matrix, pivots)
        load(model, B, L, wires, rows, uneven, kappa / h, kappa, 0.0, X, F, x)
        solve(plan, matrix, pivots, x)
        spread(model, B, L, wires, end_rows, x, X, F)
        alpha, share = 1.0, NEAR
        if pairs > 0:
            ahead = excess(model, B, L, kappa / h, kappa, longest(model, B, L, X, F, 1.0), X, F)[0]
            sigma = min((ahead / mean) ** 3, 1.0) if mean > 0.0 else 0.0
            share, second = max(NEAR, 1.0 - mean / energy), 1.0
            if careful > 0:
                sigma, share, second = max(sigma, 0.1), CAREFUL, 0.0
            for _ in range(2):
                more = sigma * mean
                load(model, B, L, wires, rows, uneven, kappa / h + more, kappa + more, second, X, F, x)
                solve(plan, matrix, pivots, x)
                spread(model, B, L, wires, end_rows, x, X, F)
                enough = max(tolerance, norm)
                balance(step, model, plan, matrix, pivots, enough, speed, v, end_rows, uneven, left, x, X, F)
                alpha = min(1.0, share * longest(model, B, L, X, F, math.inf))
                if alpha >= POOR:
                    break
                sigma, share, second = CENTRED, NEAR, 0.0
        v_old[:], X_old[:], F_old[:] = v, X, F
        before = norm
        for halving in range(HALVINGS + 1):
            go(row, alpha, x, v_old, X_old, F_old, v, X, F)
            norm = evaluate(step, speed, v, X, q_end, end_rows, uneven)
            if norm <= GROWTH * before + SLIGHT or halving == HALVINGS:
                break
            alpha *= 0.5
    if state != SOLVED:
        v[:], X[:], F[:] = v_best, X_best, F_best
        evaluate(step, speed, v, X, q_end, end_rows, uneven)
    elif kappa == 0.0:
        restore(step, v, X, q_end, end_rows, uneven)
    if kappa == 0.0:
        close_slacks(B, L, X)
    f, u_bias = tangent_parts(h, bodies, blocks, rows, X, v, M, root)
    control[STATE], control[ITERATIONS], control[ERROR], control[EXCESS], control[NORM] = (
        state, iterations, best, mean, norm,
    )  # fmt: skip
    return v, X, F, rows, q_end, M, root, f, u_bias, control, history[:checks].copy()
