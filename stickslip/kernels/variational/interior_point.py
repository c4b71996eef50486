"""A step of bodies by a primal-dual interior point with predictor and corrector (Mehrotra 1992), in one call.

Unknowns: v, λ of joints, and of contacts γ, s, b and η per group, with mu γ and slip velocities in their
places in the cones (`law.py`). Every iteration factors one matrix over the graph of bodies and joints
(`newton.py`) and solves with it twice.
"""

import math

import numpy as np

from stickslip.kernels.bodies.motion import rate
from stickslip.kernels.cones import FREE, FRICTION, INTERVAL, NONNEGATIVE
from stickslip.kernels.jit import jit
from stickslip.kernels.variational.block_lu import LU, divide_block, factor, factor_block, solve
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
from stickslip.kernels.variational.layout import CONE, PYRAMID
from stickslip.kernels.variational.momentum import momentum_slope
from stickslip.kernels.variational.natural import natural_errors
from stickslip.kernels.variational.newton import (
    SOFT,
    Iterate,
    NewtonSystem,
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
def speed_scale(system, X):
    """The largest velocity of any block before the step, with its forces, and of gaps that are closing.

    Not less than a little of that of the bodies, which alone counts where there are no blocks.
    """
    bodies, sides, B, root = system.step.bodies, system.step.blocks.sides, system.B, system.root
    row, p = bodies.row, bodies.p
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
            largest = max(largest, abs(rate(sides[i], system.rows[k], free)))
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
            begin(i, model, B, L, max(L[i, 3] * speed, kappa), X, F)
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
def copied(at):
    """The same iterate with v, X and F of its own."""
    return Iterate(at.v.copy(), at.X.copy(), at.F.copy(), at.q_end, at.end_rows, at.uneven)


@jit
def take(at, other):
    """v, X and F of an iterate <- those of another."""
    at.v[:], at.X[:], at.F[:] = other.v, other.X, other.F


@jit
def go(row, alpha, x, old, at):
    """v, X, F <- the iterate a step of alpha from the old one."""
    X, F = at.X, at.F
    for b in range(row.shape[0]):
        if row[b] >= 0:
            for k in range(6):
                at.v[b, k] = old.v[b, k] + alpha * x[row[b], k]
    for k in range(X.shape[0]):
        X[k, R] = old.X[k, R] + alpha * X[k, DR]
        X[k, W] = old.X[k, W] + alpha * X[k, DW]
    for k in range(F.shape[0]):
        for m in range(10):
            F[k, m] = old.F[k, m] + alpha * F[k, CHANGE + m]


@jit
def evaluate(system, speed, at):
    """Values and rows at v, imbalance of momenta, and the norm of both."""
    end_values(system.step, system.rows, at.v, at.q_end, at.X, at.end_rows)
    imbalance(system, at)
    return residual_norm(system.B, system.L, at.uneven, system.root, at.X, speed)


@jit
def direct(system, model, lu, target, at, x):
    """Direction from an iterate towards a target of `law.aim` into it and x (N, 6), by the factors there
    are."""
    load(system, model, at, target, x)
    solve(lu, x)
    spread(system, model, at, x)


@jit
def balance(system, model, lu, enough, speed, at, x, left):
    """Corrects a direction whose impulses do not balance its momenta, by rounding, to a share of `enough`."""
    for _ in range(REFINED):
        leftover(system, at, x, left)
        uneven = left[: at.uneven.shape[0]]
        if residual_norm(system.B[:0], system.L, uneven, system.root, at.X, speed) <= 0.01 * enough:
            break
        solve(lu, left)
        add_correction(system, model, at, left, x)


@jit
def newton_steps(system, lu, tolerance, speed, error, at, x, left):
    """(error, steps, residual): Newton on Coulomb's law as it is, from an iterate with this error."""
    B, L, X, norm, steps = system.B, system.L, at.X, 0.0, 0
    while steps < NEWTON_STEPS:
        steps += 1
        assemble(system, EXACT, at, lu.blocks)
        factor(lu)
        direct(system, EXACT, lu, (0.0, 0.0, 0.0), at, x)
        balance(system, EXACT, lu, tolerance, speed, at, x, left)
        go(system.step.bodies.row, 1.0, x, at, at)
        evaluate(system, speed, at)
        for i in range(B.shape[0]):  # gaps are what they are: no residual of theirs
            to = B[i, 1]
            if B[i, 0] == FRICTION or B[i, 0] == NONNEGATIVE:
                X[to, W] = X[to, Y] + L[i, 0] * X[to, R]
        norm = residual_norm(B, L, at.uneven, system.root, X, speed)
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
        k = B[i, 1]
        if B[i, 0] == FRICTION or B[i, 0] == NONNEGATIVE:
            X[k, W] = max(X[k, Y], 0.0)
            k += 1
        for g in range(int(L[i, 1])):
            size = int(L[i, 2 + 2 * g])
            X[k, W] = math.hypot(X[k, Y], X[k + 1, Y]) if size == 2 else abs(X[k, Y])
            k += size


@jit
def restore(system, at):
    """v <- what the impulses make of it, to rounding: momentum is kept whatever the tolerance."""
    bodies, slope, pivot = system.step.bodies, np.empty((6, 6)), np.empty(6, np.int64)
    for _ in range(2):
        for b in range(bodies.row.shape[0]):
            i = bodies.row[b]
            if i >= 0:
                momentum_slope(bodies.mass[b], bodies.J[b], system.step.h, at.v[b], slope)
                factor_block(slope, pivot)
                divide_block(slope, pivot, at.uneven[i].reshape(6, 1))
                for k in range(6):
                    at.v[b, k] -= at.uneven[i, k]
        evaluate(system, 1.0, at)


@jit
def solve_step(step, graph, kappa, tolerance, limit, careful):
    """(v, X, F, rows, q_end, M, root, f, u_bias, control, history): answer and tangent problem of a step.

    step: `StepArrays`; graph: `StepWires`. v (n, 6) of all bodies; X and F as in `law.py`, gaps in units of
    velocity. careful: 0, or 1, 2, .. for smaller steps from further inside, where larger ones have come to a
    halt.
    """
    h, model, bodies, blocks = step.h, step.model, step.bodies, step.blocks
    n, N = blocks.K.offset[-1], graph.plan.order.shape[0]
    B, L = tables(blocks.K)
    M, root = mass_blocks(bodies)
    rows, X = np.zeros((n, 2, 6)), np.zeros((n, COLUMNS))
    start_rows(step, rows)
    compliances(B, graph.wires, rows, root, X)
    system = NewtonSystem(step, graph.wires, rows, root, SOFT * X[:, OWN], B, L)
    F = np.zeros((n if model == PYRAMID else 0, 30))
    at = Iterate(bodies.v.copy(), X, F, np.empty(bodies.q.shape), rows.copy(), np.empty((root.shape[0], 6)))
    evaluate(system, 1.0, at)
    speed = speed_scale(system, X)
    energy = set_out(model, B, L, speed * AWAY**careful, kappa, h, X, F) / AWAY ** (2 * careful)
    norm = evaluate(system, speed, at)
    lu = LU(graph.plan, np.empty((graph.blocks, 6, 6)), np.empty((N, 6), np.int64))
    x, left = np.empty((N, 6)), np.empty((N, 6))
    control, history = np.zeros(CONTROLS), np.zeros((limit + 1, 3))
    old, chosen, best = copied(at), copied(at), math.inf
    state, iterations, checks, since, least, gate, mean = LIMIT, 0, 0, 0, math.inf, FIRST_NEWTON, 0.0
    while True:
        mean, pairs = excess(model, B, L, kappa / h, kappa, 0.0, X, F)
        if not (norm < math.inf and mean < math.inf):
            state = NOT_FINITE
            break
        give = max(GIVE, min(SHARE * mean / energy, SHARE)) * speed * speed / energy
        for i in range(B.shape[0]):  # the same ε of all gaps
            if B[i, 0] == FRICTION or B[i, 0] == NONNEGATIVE:
                L[i, 0] = give
        natural, scaled = natural_errors(model, B, L, X, speed)
        if kappa > 0.0:
            near = ON_PATH + ROUNDING * energy / kappa
            natural = scaled = tolerance / near * off_path(model, B, L, kappa, h, X, F)
        history[checks, 0], history[checks, 1], history[checks, 2] = iterations, natural, scaled
        checks += 1
        error = max(natural, scaled, 10.0 * norm)
        if error < best:
            best = error
            take(chosen, at)
        plain = pairs > 0 and kappa == 0.0 and model != PYRAMID
        if tolerance < error <= gate and plain and iterations < limit:
            take(old, at)
            gate = GATE * error
            error, steps, norm = newton_steps(system, lu, tolerance, speed, error, at, x, left)
            iterations += steps
            if error < best and error <= tolerance:
                best = error
            else:
                take(at, old)
                norm, error = evaluate(system, speed, at), math.inf
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
        assemble(system, model, at, lu.blocks)
        factor(lu)
        direct(system, model, lu, (kappa / h, kappa, 0.0), at, x)
        alpha, share = 1.0, NEAR
        if pairs > 0:
            ahead = excess(model, B, L, kappa / h, kappa, longest(model, B, L, X, F, 1.0), X, F)[0]
            sigma = min((ahead / mean) ** 3, 1.0) if mean > 0.0 else 0.0
            share, second = max(NEAR, 1.0 - mean / energy), 1.0
            if careful > 0:
                sigma, share, second = max(sigma, 0.1), CAREFUL, 0.0
            for _ in range(2):
                more = sigma * mean
                direct(system, model, lu, (kappa / h + more, kappa + more, second), at, x)
                balance(system, model, lu, max(tolerance, norm), speed, at, x, left)
                alpha = min(1.0, share * longest(model, B, L, X, F, math.inf))
                if alpha >= POOR:
                    break
                sigma, share, second = CENTRED, NEAR, 0.0
        take(old, at)
        before = norm
        for halving in range(HALVINGS + 1):
            go(bodies.row, alpha, x, old, at)
            norm = evaluate(system, speed, at)
            if norm <= GROWTH * before + SLIGHT or halving == HALVINGS:
                break
            alpha *= 0.5
    if state != SOLVED:
        take(at, chosen)
        evaluate(system, speed, at)
    elif kappa == 0.0:
        restore(system, at)
    if kappa == 0.0:
        close_slacks(B, L, X)
    f, u_bias = tangent_parts(step, rows, X, at.v, M, root)
    control[STATE], control[ITERATIONS], control[ERROR], control[EXCESS], control[NORM] = (
        state, iterations, best, mean, norm,
    )  # fmt: skip
    return at.v, X, F, rows, at.q_end, M, root, f, u_bias, control, history[:checks].copy()
