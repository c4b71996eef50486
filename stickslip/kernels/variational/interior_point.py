"""A step of bodies by a primal-dual interior point with predictor and corrector (Mehrotra 1992), in one call.

Unknowns: v, λ of joints, and of contacts γ, s, b and η per group, with mu γ and slip velocities in their places in
the cones (`law.py`). Every iteration factors one matrix over the graph of bodies and joints (`newton.py`) and
solves with it twice. The best iterate by the judge's own measures is kept.
"""

import math

import numpy as np

from stickslip.kernels.body_problems import measure
from stickslip.kernels.residuals import APPROACH, NATURAL, SCALED
from stickslip.kernels.variational.block_lu import factor, solve
from stickslip.kernels.variational.compiled import jit
from stickslip.kernels.variational.geometry import end_values, start_rows, velocity_of
from stickslip.kernels.variational.law import BETA, PSI, ZETA, begin, is_pyramid, longest, products
from stickslip.kernels.variational.layout import FREE, FRICTION, INTERVAL, NONNEGATIVE, PYRAMID
from stickslip.kernels.variational.newton import SOFT, assemble, imbalance, load, spread
from stickslip.kernels.variational.pyramid_law import pyramid_errors
from stickslip.kernels.variational.tangent import free_velocities, mass_blocks, tangent_parts

SOLVED, LIMIT, STALLED, NOT_FINITE = 0, 1, 2, 3
"""How an iteration ended."""
NEAR = 0.995
"""Least share of the way to the boundary that a step goes."""
HALVINGS = 5
"""Most halvings of a step whose residual grows."""
GROWTH = 2.0
"""How much the residual of the equations may grow in a step."""
PATIENCE = 15
"""Iterations without progress after which it ends."""
EXACT = 1e-9
"""How well products are on the central path where it is asked for, over kappa."""


@jit
def compliances(blocks, rows, root, out):
    """out (n,) <- diagonal of H' M^-1 H [1/kg, 1/(kg m²)]."""
    offset, pairs = blocks[1], blocks[7]
    for i in range(pairs.shape[0]):
        for k in range(offset[i], offset[i + 1]):
            total = 0.0
            for side in range(2):
                b = pairs[i, side]
                if b >= 0:
                    for m in range(6):
                        s = 0.0
                        for o in range(6):
                            s += rows[k, side, o] * root[b, o, m]
                        total += s * s
            out[k] = total


@jit
def speed_scale(bodies, blocks, rows, root, y):
    """The largest velocity of any block before the step, with its forces, and of gaps that are closing."""
    row, p = bodies[0], bodies[5]
    offset, sides = blocks[1], blocks[8]
    free, momenta, largest = np.empty(p.shape), np.empty((root.shape[0], 6)), 0.0
    for b in range(row.shape[0]):
        if row[b] >= 0:
            momenta[row[b]] = p[b]
    free_velocities(bodies, momenta, root, free)
    for i in range(sides.shape[0]):
        for k in range(offset[i], offset[i + 1]):
            largest = max(largest, abs(velocity_of(rows, k, sides, i, free)))
    for i in range(sides.shape[0]):
        if blocks[0][i] == FRICTION or blocks[0][i] == NONNEGATIVE:
            largest = max(largest, -y[offset[i]])
    return largest


@jit
def set_out(model, blocks, y, compliance, V, kappa, h, r, w, facets):
    """Impulses and slacks to begin with: of gaps mass times speed, less for far ones, groups on their path."""
    kind, offset = blocks[0], blocks[1]
    for i in range(kind.shape[0]):
        at = offset[i]
        if kind[i] == FREE or kind[i] == INTERVAL:
            if kind[i] == INTERVAL:
                begin(i, model, blocks, max(blocks[3][i] * V, kappa), y, r, w, facets)
            continue
        m = 1.0 / compliance[at] if compliance[at] > 0.0 else 1.0
        w[at] = max(y[at], V)
        r[at] = max(m * V * V, kappa / h) / w[at]
        begin(i, model, blocks, max(r[at] * w[at], kappa), y, r, w, facets)


@jit
def residual_norms(blocks, uneven, root, y, w, V):
    """Largest imbalance as a velocity, opening of joints and y - s of gaps, all over V."""
    kind, offset = blocks[0], blocks[1]
    worst = 0.0
    for b in range(uneven.shape[0]):
        for k in range(6):
            s = 0.0
            for m in range(6):
                s += root[b, m, k] * uneven[b, m]
            worst = max(worst, abs(s) * root[b, k, k])
    gaps = 0.0
    for i in range(kind.shape[0]):
        if kind[i] == FREE:
            for k in range(offset[i], offset[i + 1]):
                gaps = max(gaps, abs(y[k]))
        elif kind[i] != INTERVAL:
            gaps = max(gaps, abs(y[offset[i]] - w[offset[i]]))
    return max(worst, gaps) / V


@jit
def told(h, model, bodies, blocks, rows, y, v, r, M, root, compliance):
    """The judge's error of (v, r) and its natural, natural_scaled: infinite where gaps close fast."""
    f, u_bias = tangent_parts(h, bodies, blocks, rows, y, v, M, root)
    moving = np.empty((M.shape[0], 6))
    for b in range(bodies[0].shape[0]):
        if bodies[0][b] >= 0:
            moving[bodies[0][b]] = v[b]
    out, equilibrium, u = measure(
        blocks[0], blocks[1], blocks[2], blocks[3], blocks[4], blocks[5], blocks[6],
        blocks[7], rows, M, root, f, u_bias, r, moving,
    )  # fmt: skip
    natural, scaled = out[NATURAL], out[SCALED]
    if model == PYRAMID:
        free, u_free = np.empty(v.shape), np.empty(r.shape[0])
        free_velocities(bodies, f, root, free)
        for i in range(blocks[0].shape[0]):
            for k in range(blocks[1][i], blocks[1][i + 1]):
                change = velocity_of(rows, k, blocks[8], i, free) - velocity_of(rows, k, blocks[8], i, v)
                u_free[k] = u[k] + change
        natural, scaled = pyramid_errors(blocks, compliance, r, u, u_free)
    error = max(natural, scaled, equilibrium)
    if not error < math.inf or out[APPROACH] > 0.1:
        return math.inf, natural, scaled
    return error, natural, scaled


@jit
def off_path(model, blocks, h, kappa, r, w, facets, y):
    """How far products are from kappa, over kappa (over kappa / h for gaps), and slip from its direction."""
    kind, offset, upper, group_offset, group_size, coefficient = (
        blocks[0], blocks[1], blocks[3], blocks[4], blocks[5], blocks[6],
    )  # fmt: skip
    worst = 0.0
    for i in range(kind.shape[0]):
        at = offset[i]
        if kind[i] == FREE:
            continue
        if kind[i] == INTERVAL:
            worst = max(worst, off_group(at, 1, upper[i], kappa, r, w, y))
            continue
        worst = max(worst, abs(r[at] * w[at] * h / kappa - 1.0), abs(r[at] * (y[at] - w[at])) * h / kappa)
        k = at + 1
        for g in range(group_offset[i], group_offset[i + 1]):
            mu, size = coefficient[g], group_size[g]
            if mu > 0.0 and is_pyramid(model, size):
                F, total = facets[k], 0.0
                for m in range(4):
                    slip = y[k + m // 2] if m % 2 == 0 else -y[k + m // 2]
                    worst = max(worst, abs(F[m] * F[4 + m] / kappa - 1.0))
                    worst = max(worst, abs(F[PSI] + slip - F[4 + m]) * F[m] / kappa)
                    total += F[BETA + m]
                worst = max(worst, abs(F[PSI] * F[ZETA] / kappa - 1.0))
                worst = max(worst, abs(mu * r[at] - total - F[ZETA]) * F[PSI] / kappa)
            elif mu > 0.0:
                worst = max(worst, off_group(k, size, mu * r[at], kappa, r, w, y))
            k += size
    return worst


@jit
def off_group(at, size, radius, kappa, r, w, y):
    """|β ∘ η - kappa e| over kappa of a group."""
    first, worst = radius * w[at], 0.0
    for k in range(at, at + size):
        first += r[k] * y[k]
        worst = max(worst, abs(radius * y[k] + w[at] * r[k]))
    return max(worst, abs(first - kappa)) / kappa


@jit
def solve_step(h, model, bodies, contacts, joints, blocks, plan, count, wiring, kappa, tolerance, limit):
    """(v, r, w, facets, rows, q_end, M, root, f, u_bias, control, history): answer and tangent problem of a step.

    w: gaps in units of velocity, and η. control: state, iterations, the judge's error (for kappa > 0 how far
    equations and central path are met; inf where nothing was asked), mean product and residual at the end.
    """
    row, q, given = bodies[0], bodies[1], bodies[2]
    kind, offset = blocks[0], blocks[1]
    n, nb, nd = offset[-1], kind.shape[0], 0
    for b in range(row.shape[0]):
        nd = max(nd, row[b] + 1)
    N = plan[0].shape[0]
    rows, M, root = np.zeros((n, 2, 6)), np.empty((nd, 6, 6)), np.empty((nd, 6, 6))
    mass_blocks(row, bodies[3], bodies[4], M, root)
    start_rows(contacts, joints, blocks, q, rows)
    v, q_end = given.copy(), np.empty(q.shape)
    end_rows, y = rows.copy(), np.empty(n)
    end_values(h, bodies, contacts, joints, blocks, rows, v, q_end, y, end_rows)
    compliance = np.empty(n)
    compliances(blocks, rows, root, compliance)
    V = max(speed_scale(bodies, blocks, rows, root, y), 1e-12)
    n_facets = n if model == PYRAMID else 0
    r, w, facets = np.zeros(n), np.zeros(n), np.zeros((n_facets, 10))
    set_out(model, blocks, y, compliance, V, kappa, h, r, w, facets)
    soft = SOFT * compliance
    matrix, pivots, x, C = (
        np.empty((count, 6, 6)),
        np.empty((N, 6), np.int64),
        np.empty((N, 6)),
        np.empty((n, 6)),
    )
    dr, dw, d_facets, dy = np.zeros(n), np.zeros(n), np.zeros((n_facets, 10)), np.zeros(n)
    rhs, rhs_w, rhs_facets = np.zeros(n), np.zeros(n), np.zeros((n_facets, 10))
    room = dr, dw, d_facets, dy, rhs, rhs_w, rhs_facets
    step = np.zeros(n), np.zeros(n), np.zeros((n_facets, 10))
    uneven, sums = np.empty((nd, 6)), np.empty(4)
    v_old, r_old, w_old, facets_old = v.copy(), r.copy(), w.copy(), facets.copy()
    best_v, best_r, best_w, best_facets, best = v.copy(), r.copy(), w.copy(), facets.copy(), math.inf
    history, checks = np.zeros((limit + 1, 3)), 0
    imbalance(h, bodies, blocks, rows, v, r, uneven)
    norm = residual_norms(blocks, uneven, root, y, w, V)
    energy = 0.0
    for i in range(nb):
        if kind[i] != FREE:
            energy = max(energy, V * V / max(compliance[offset[i]], 1e-300))
    state, iterations, since, smallest = LIMIT, 0, 0, math.inf
    for it in range(limit + 1):
        sums[0], sums[1], sums[2], sums[3] = 0.0, 0.0, 0.0, math.inf
        for i in range(nb):
            if kind[i] != FREE:
                products(i, model, blocks, r, w, facets, y, dr, dw, d_facets, dy, 0.0, sums)
        mean = sums[0] / sums[1] if sums[1] > 0.0 else 0.0
        history[checks, 0] = it
        if not (norm < math.inf and mean < math.inf):
            state = NOT_FINITE
            break
        if kappa > 0.0:
            off = off_path(model, blocks, h, kappa, r, w, facets, y)
            error = max(norm, off)
            if error < best:
                best, since = error, 0
                best_v[:], best_r[:], best_w[:], best_facets[:] = v, r, w, facets
            if norm <= 1e-3 * tolerance and off <= EXACT:
                state = SOLVED
                break
        elif norm <= 10.0 * tolerance and (mean <= 10.0 * tolerance * energy or it == limit):
            error, history[checks, 1], history[checks, 2] = told(
                h, model, bodies, blocks, rows, y, v, r, M, root, compliance
            )
            checks += 1
            if error < best:
                best, since = error, 0
                best_v[:], best_r[:], best_w[:], best_facets[:] = v, r, w, facets
            if error <= tolerance:
                state = SOLVED
                break
        since += 1
        if norm + mean / max(energy, 1e-300) < 0.9 * smallest:
            smallest, since = norm + mean / max(energy, 1e-300), 0
        if since > PATIENCE:
            state = STALLED
            break
        if it == limit:
            break
        iterations += 1
        assemble(h, model, bodies, blocks, wiring, rows, end_rows, v, r, w, facets, y, soft, matrix, room, C)
        factor(plan, matrix, pivots)
        aims, aims_slip = kappa / h, kappa
        alpha = 1.0
        if sums[1] > 0.0:
            load(model, blocks, wiring, rows, uneven, aims, aims_slip, 0.0, r, w, facets, y, room, step, x)
            solve(plan, matrix, pivots, x)
            spread(model, blocks, wiring, end_rows, r, w, facets, y, x, room)
            alpha = 1.0
            for i in range(nb):
                if kind[i] != FREE:
                    alpha = longest(i, model, blocks, r, w, facets, y, dr, dw, d_facets, dy, alpha)
            sums[0], sums[1] = 0.0, 0.0
            for i in range(nb):
                if kind[i] != FREE:
                    products(i, model, blocks, r, w, facets, y, dr, dw, d_facets, dy, alpha, sums)
            ratio = max(sums[0], 0.0) / sums[1] / mean
            sigma = ratio * ratio * ratio
            aims, aims_slip = max(sigma * mean, kappa / h), max(sigma * mean, kappa)
            load(model, blocks, wiring, rows, uneven, aims, aims_slip, 1.0, r, w, facets, y, room, step, x)
        else:
            load(model, blocks, wiring, rows, uneven, 0.0, 0.0, 0.0, r, w, facets, y, room, step, x)
        solve(plan, matrix, pivots, x)
        spread(model, blocks, wiring, end_rows, r, w, facets, y, x, room)
        alpha = math.inf
        for i in range(nb):
            if kind[i] != FREE:
                alpha = longest(i, model, blocks, r, w, facets, y, dr, dw, d_facets, dy, alpha)
        alpha = min(1.0, max(NEAR, 1.0 - mean / max(energy, 1e-300)) * alpha)
        v_old[:], r_old[:], w_old[:], facets_old[:] = v, r, w, facets
        before = norm
        for halving in range(HALVINGS + 1):
            for b in range(row.shape[0]):
                if row[b] >= 0:
                    for k in range(6):
                        v[b, k] = v_old[b, k] + alpha * x[row[b], k]
            for k in range(n):
                r[k] = r_old[k] + alpha * dr[k]
                w[k] = w_old[k] + alpha * dw[k]
            for k in range(n_facets):
                for m in range(10):
                    facets[k, m] = facets_old[k, m] + alpha * d_facets[k, m]
            end_values(h, bodies, contacts, joints, blocks, rows, v, q_end, y, end_rows)
            imbalance(h, bodies, blocks, rows, v, r, uneven)
            norm = residual_norms(blocks, uneven, root, y, w, V)
            if norm <= GROWTH * before + 1e-3 or halving == HALVINGS:
                break
            alpha *= 0.5
    control = np.empty(5)
    if best < math.inf:
        v, r, w, facets = best_v, best_r, best_w, best_facets
        end_values(h, bodies, contacts, joints, blocks, rows, v, q_end, y, end_rows)
    control[0], control[1], control[2], control[3], control[4] = state, iterations, best, mean, norm
    f, u_bias = tangent_parts(h, bodies, blocks, rows, y, v, M, root)
    return v, r, w, facets, rows, q_end, M, root, f, u_bias, control, history[:checks].copy()
