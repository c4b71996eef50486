"""Primal-dual interior-point method with predictor and corrector (Mehrotra 1992) for a step of bodies.

Unknowns are v, the impulses λ of joints, γ and s of each gap, and b and η of each friction group; mu γ and
slip velocities complete the pairs of the cones (`law.py`). Each iteration factors one matrix over the graph
of bodies and joints (`newton.py`) and solves with it twice, for the predictor and for the corrector. Near a
solution, Newton steps on Coulomb's law without smoothing replace the iteration.
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
    back_substitute,
    linear_residual,
    momentum_residual,
    right_hand_side,
)
from stickslip.kernels.variational.tangent import free_velocities, mass_blocks, tangent_parts

SOLVED, LIMIT, STALLED, NOT_FINITE = 0, 1, 2, 3
"""Exit codes of `solve_step`."""
STATE, ITERATIONS, ERROR, EXCESS, NORM, CONTROLS = 0, 1, 2, 3, 4, 5
"""Indices into `control`, and its size: exit code, iterations, smallest error (of natural maps and residual;
for kappa > 0 of residual and distance to the central path), and of the last iterate the mean excess of the
products and the residual of the equations."""
NEAR = 0.995
"""Smallest share of the distance to the boundary of the cones that a step takes [-] (heuristic)."""
HALVINGS, GROWTH, SLIGHT = 5, 2.0, 0.3
"""A step is halved, at most HALVINGS times, while the residual of the equations exceeds GROWTH times the
previous one plus SLIGHT (heuristic)."""
PATIENCE = 15
"""Number of iterations without progress after which the method stops as stalled (heuristic)."""
ON_PATH, ROUNDING = 1e-9, 1e-15
"""For kappa > 0: tolerance of the distance to the central path over kappa, and rounding error of the products
over the energy of a step [-]."""
LEAST_EPSILON, EPSILON_SHARE = 1e-13, 0.1
"""Compliance ε of gaps over the smallest compliance of any block: LEAST_EPSILON at least, else EPSILON_SHARE
of the mean product over the energy, at most EPSILON_SHARE [-] (heuristic)."""
POOR, CENTRED = 0.1, 0.3
"""If the step length is below POOR, the direction is computed again with centring parameter CENTRED and
without second-order terms [-] (heuristic)."""
REFINEMENTS = 2
"""Largest number of iterative refinements of a direction (heuristic)."""
FIRST_NEWTON, GATE, NEWTON_STEPS = 1e-4, 0.03, 4
"""Newton steps on Coulomb's law are tried below the error FIRST_NEWTON, again below GATE times the error of
the previous try, and at most NEWTON_STEPS at a time (heuristic)."""
CAREFUL, AWAY = 0.9, 10.0
"""For `careful` > 0: share of the distance to the boundary that a step takes, and factor of the initial
velocity scale per level of care [-] (heuristic)."""
TINY = 1e-300
"""Smallest energy scale, which avoids division by zero [J]."""


@jit
def compliances(B, wires, rows, root, X):
    """Column OWN of X <- diagonal of H' M^-1 H [1/kg, 1/(kg m²)]; 1 for rows without dynamic bodies."""
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
    """Return the velocity scale: the largest velocity of any row after forces only, and of any closing gap.

    It is at least 1e-6 of the largest velocity of the bodies; without blocks, it is this velocity.
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
def initialise(model, B, L, speed, kappa, h, X, F):
    """X, F <- initial impulses and slacks. Return the largest mass times speed² of any block [J].

    Gaps have the impulse mass times speed, smaller for wide gaps; friction groups are on the central path.
    The result is TINY if no block can slip or open.
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
def residual_norm(B, L, residual, root, X, speed):
    """Return the largest residual over the speed: of momenta as velocities, of joints, and of gaps."""
    worst = 0.0
    for b in range(residual.shape[0]):
        for k in range(6):
            s = 0.0
            for m in range(6):
                s += root[b, m, k] * residual[b, m]
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
def copy_of(at):
    """Return an iterate with copies of v, X and F; the other arrays are shared."""
    return Iterate(at.v.copy(), at.X.copy(), at.F.copy(), at.q_end, at.end_rows, at.residual)


@jit
def assign(at, other):
    """v, X and F of an iterate <- those of another one."""
    at.v[:], at.X[:], at.F[:] = other.v, other.X, other.F


@jit
def step_from(row, alpha, x, old, at):
    """v, X, F of `at` <- those of `old` plus alpha times the direction: x (N, 6), and changes in X and F."""
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
    """at <- values and rows of the blocks at v, and residual of momenta. Return the norm of the residuals."""
    end_values(system.step, system.rows, at.v, at.q_end, at.X, at.end_rows)
    momentum_residual(system, at)
    return residual_norm(system.B, system.L, at.residual, system.root, at.X, speed)


@jit
def find_direction(system, model, lu, target, at, x):
    """x (N, 6), changes in `at` <- Newton direction towards a target of `law.aim`, with the factors `lu`."""
    right_hand_side(system, model, at, target, x)
    solve(lu, x)
    back_substitute(system, model, at, x)


@jit
def refine_direction(system, model, lu, accuracy, speed, at, x, defect):
    """x, changes in `at` <- the direction after iterative refinement to 0.01 `accuracy`.

    Only the momentum equations are checked. defect (N, 6): work array.
    """
    for _ in range(REFINEMENTS):
        linear_residual(system, at, x, defect)
        momenta = defect[: at.residual.shape[0]]
        if residual_norm(system.B[:0], system.L, momenta, system.root, at.X, speed) <= 0.01 * accuracy:
            break
        solve(lu, defect)
        add_correction(system, model, at, defect, x)


@jit
def newton_steps(system, lu, tolerance, speed, error, at, x, defect):
    """at <- the iterate after Newton steps on Coulomb's law without smoothing.

    Return (error, steps, residual). error: that of the iterate on entry; x, defect (N, 6): work arrays.
    """
    B, L, X, norm, steps = system.B, system.L, at.X, 0.0, 0
    while steps < NEWTON_STEPS:
        steps += 1
        assemble(system, EXACT, at, lu.blocks)
        factor(lu)
        find_direction(system, EXACT, lu, (0.0, 0.0, 0.0), at, x)
        refine_direction(system, EXACT, lu, tolerance, speed, at, x, defect)
        step_from(system.step.bodies.row, 1.0, x, at, at)
        evaluate(system, speed, at)
        for i in range(B.shape[0]):  # slacks of gaps <- their values: they have no residual
            to = B[i, 1]
            if B[i, 0] == FRICTION or B[i, 0] == NONNEGATIVE:
                X[to, W] = X[to, Y] + L[i, 0] * X[to, R]
        norm = residual_norm(B, L, at.residual, system.root, X, speed)
        natural, scaled = natural_errors(CONE, B, L, X, speed)
        better = max(natural, scaled, 10.0 * norm)
        if not better < 0.5 * error:
            break
        error = better
        if error <= tolerance:
            break
    return error, steps, norm


@jit
def final_slacks(B, L, X):
    """Column W of X <- slacks at the end of the central path: s = max(y, 0) of gaps, η = |y_T| of groups."""
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
def restore_momentum(system, at):
    """v of the iterate <- velocities that satisfy the momentum equations with its impulses, to rounding."""
    bodies, slope, pivot = system.step.bodies, np.empty((6, 6)), np.empty(6, np.int64)
    for _ in range(2):
        for b in range(bodies.row.shape[0]):
            i = bodies.row[b]
            if i >= 0:
                momentum_slope(bodies.mass[b], bodies.J[b], system.step.h, at.v[b], slope)
                factor_block(slope, pivot)
                divide_block(slope, pivot, at.residual[i].reshape(6, 1))
                for k in range(6):
                    at.v[b, k] -= at.residual[i, k]
        evaluate(system, 1.0, at)


@jit
def solve_step(step, graph, kappa, tolerance, limit, careful):
    """Solve a step. Return (v, X, F, rows, q_end, M, root, f, u_bias, control, history).

    v (n, 6): velocities of all bodies; X, F: see `law.py`, gaps in units of velocity; q_end (n, 7); M ...
    u_bias: see `tangent.py`; control (CONTROLS,); history (checks, 3): iterations, natural and scaled natural
    residual.

    step: `StepArrays`; graph: `StepWires`; kappa: parameter of the central path where the method stops, 0 for
    Coulomb's law; limit: largest number of iterations; careful: 0, or 1, 2, ... for smaller steps from a
    point further inside the cones, after larger steps have stalled.
    """
    # 1. Start: rows and compliances, scales of velocity and energy, initial point.
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
    energy = initialise(model, B, L, speed * AWAY**careful, kappa, h, X, F) / AWAY ** (2 * careful)
    norm = evaluate(system, speed, at)
    lu = LU(graph.plan, np.empty((graph.blocks, 6, 6)), np.empty((N, 6), np.int64))
    x, defect = np.empty((N, 6)), np.empty((N, 6))
    control, history = np.zeros(CONTROLS), np.zeros((limit + 1, 3))
    old, chosen, best = copy_of(at), copy_of(at), math.inf
    state, iterations, checks, since, least, gate, mean = LIMIT, 0, 0, 0, math.inf, FIRST_NEWTON, 0.0
    while True:
        # 2. Residuals of the iterate; the compliance ε of gaps follows the mean product.
        mean, pairs = excess(model, B, L, kappa / h, kappa, 0.0, X, F)
        if not (norm < math.inf and mean < math.inf):
            state = NOT_FINITE
            break
        epsilon = (
            max(LEAST_EPSILON, min(EPSILON_SHARE * mean / energy, EPSILON_SHARE)) * speed * speed / energy
        )
        for i in range(B.shape[0]):
            if B[i, 0] == FRICTION or B[i, 0] == NONNEGATIVE:
                L[i, 0] = epsilon
        natural, scaled = natural_errors(model, B, L, X, speed)
        if kappa > 0.0:
            near = ON_PATH + ROUNDING * energy / kappa
            natural = scaled = tolerance / near * off_path(model, B, L, kappa, h, X, F)
        history[checks, 0], history[checks, 1], history[checks, 2] = iterations, natural, scaled
        checks += 1
        error = max(natural, scaled, 10.0 * norm)
        if error < best:
            best = error
            assign(chosen, at)
        # 3. Newton steps on Coulomb's law near a solution.
        plain = pairs > 0 and kappa == 0.0 and model != PYRAMID
        if tolerance < error <= gate and plain and iterations < limit:
            assign(old, at)
            gate = GATE * error
            error, steps, norm = newton_steps(system, lu, tolerance, speed, error, at, x, defect)
            iterations += steps
            if error < best and error <= tolerance:
                best = error
            else:
                assign(at, old)
                norm, error = evaluate(system, speed, at), math.inf
        # 4. Stopping.
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
        # 5. Predictor, towards the end of the path.
        iterations += 1
        assemble(system, model, at, lu.blocks)
        factor(lu)
        find_direction(system, model, lu, (kappa / h, kappa, 0.0), at, x)
        # 6. Corrector, with centring σ = (mean after the predictor / mean)³ and second-order terms.
        alpha, share = 1.0, NEAR
        if pairs > 0:
            ahead = excess(model, B, L, kappa / h, kappa, longest(model, B, L, X, F, 1.0), X, F)[0]
            sigma = min((ahead / mean) ** 3, 1.0) if mean > 0.0 else 0.0
            share, second = max(NEAR, 1.0 - mean / energy), 1.0
            if careful > 0:
                sigma, share, second = max(sigma, 0.1), CAREFUL, 0.0
            for _ in range(2):
                centring = sigma * mean
                find_direction(system, model, lu, (kappa / h + centring, kappa + centring, second), at, x)
                refine_direction(system, model, lu, max(tolerance, norm), speed, at, x, defect)
                alpha = min(1.0, share * longest(model, B, L, X, F, math.inf))
                if alpha >= POOR:
                    break
                sigma, share, second = CENTRED, NEAR, 0.0
        # 7. Line search on the residual of the equations.
        assign(old, at)
        before = norm
        for halving in range(HALVINGS + 1):
            step_from(bodies.row, alpha, x, old, at)
            norm = evaluate(system, speed, at)
            if norm <= GROWTH * before + SLIGHT or halving == HALVINGS:
                break
            alpha *= 0.5
    # 8. Best iterate; momentum to rounding, slacks, and the tangent problem.
    if state != SOLVED:
        assign(at, chosen)
        evaluate(system, speed, at)
    elif kappa == 0.0:
        restore_momentum(system, at)
    if kappa == 0.0:
        final_slacks(B, L, X)
    f, u_bias = tangent_parts(step, rows, X, at.v, M, root)
    control[STATE], control[ITERATIONS], control[ERROR], control[EXCESS], control[NORM] = (
        state, iterations, best, mean, norm,
    )  # fmt: skip
    return at.v, X, F, rows, at.q_end, M, root, f, u_bias, control, history[:checks].copy()
