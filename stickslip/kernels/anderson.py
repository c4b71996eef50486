"""Anderson acceleration of sweeps, type II: the next start is a mix of the last sweeps.

A sweep takes x to g(x), with residual f = g - x. With the last m differences dF, dG of f and g as
columns, gamma minimises |f - dF gamma| and the next start is P_K(g - dG gamma) (Anderson 1965; Walker
& Ni 2011, (2.2) with beta = 1). Lengths are taken in r sqrt(W_ii), so that units do not matter.
The least squares go through normal equations with unit diagonal and a small ridge.

Safeguard: where a mixed start makes |f|, the sweep's own residual, grow beyond `GROWTH` times the one
before, the sweep goes back to where it was and the memory is emptied.

The whole state is in three arrays, so that a run can pause, be continued, or be taken over:
mix (SLOTS,), gram (m, m) and memory (2 m + 3, n): rows dF, dG, then x, g and f of the last sweep.
"""

import math

from stickslip.kernels import blocks, body_sweeps, cones, gauss_seidel, schedule
from stickslip.kernels.jit import jit
from stickslip.kernels.one_projection import project as project_coulomb3

HELD, NEWEST, LENGTH, RESTARTS, SEEN = range(5)
SLOTS = 5
"""Columns held, place of the newest, |f| of the last sweep (negative: none yet), restarts made, and |f|
when the judge was last asked (0: not yet)."""
GROWTH = 2.0
"""Growth of |f| by one mixed start at which the memory is emptied."""
RIDGE = 1e-7
"""Added to the unit diagonal of the normal equations: columns that hardly differ are averaged."""


@jit
def forget(mix):
    """Empty the memory: the next sweep starts from where r is."""
    mix[HELD], mix[NEWEST], mix[LENGTH] = 0.0, -1.0, -1.0


@jit
def weigh(offset, local, local_start, weight):
    """weight <- mean diagonal of each W_ii, on all of its components; 1 where it is zero.   weight (n,)."""
    for i in range(offset.shape[0] - 1):
        d, mean = offset[i + 1] - offset[i], 0.0
        for k in range(d):
            mean += abs(local[local_start[i] + k * d + k]) / d
        for k in range(offset[i], offset[i + 1]):
            weight[k] = mean if mean > 0.0 else 1.0


@jit
def dot(weight, a, b):
    """Sum of weight a b, in four independent chains.   each (n,)."""
    n = a.shape[0]
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    for k in range(0, n - 3, 4):
        s0 += weight[k] * a[k] * b[k]
        s1 += weight[k + 1] * a[k + 1] * b[k + 1]
        s2 += weight[k + 2] * a[k + 2] * b[k + 2]
        s3 += weight[k + 3] * a[k + 3] * b[k + 3]
    for k in range(n - n % 4, n):
        s0 += weight[k] * a[k] * b[k]
    return s0 + s1 + (s2 + s3)


@jit
def least_squares(gram, m, held, newest, rhs, factor, gamma):
    """gamma <- least squares over the columns held, by Cholesky; a column of zeros gets 0.

    gram (m, m) of the columns by place, rhs, gamma (m,) by age, factor (m, m) work.
    """
    for a in range(held):
        i = (newest - a) % m
        own = gram[i, i]
        gamma[a] = 0.0
        for b in range(a):
            j = (newest - b) % m
            s = gram[i, j] / math.sqrt(own * gram[j, j]) if own > 0.0 and factor[b, b] > 0.0 else 0.0
            for c in range(b):
                s -= factor[a, c] * factor[b, c]
            factor[a, b] = s / factor[b, b] if factor[b, b] > 0.0 else 0.0
        pivot = 1.0 + RIDGE
        for c in range(a):
            pivot -= factor[a, c] * factor[a, c]
        factor[a, a] = math.sqrt(pivot) if own > 0.0 and pivot > 0.0 else 0.0
    for a in range(held):
        i = (newest - a) % m
        if factor[a, a] > 0.0:
            s = rhs[a] / math.sqrt(gram[i, i])
            for c in range(a):
                s -= factor[a, c] * gamma[c]
            gamma[a] = s / factor[a, a]
    for a in range(held - 1, -1, -1):
        if factor[a, a] > 0.0:
            s = gamma[a]
            for c in range(a + 1, held):
                s -= factor[c, a] * gamma[c]
            gamma[a] = s / factor[a, a]
    for a in range(held):
        i = (newest - a) % m
        if factor[a, a] > 0.0:
            gamma[a] /= math.sqrt(gram[i, i])


@jit
def mixed(weight, mix, gram, memory, work, r):
    """r <- mix of the last sweeps, not yet projected; r holds the end of the last one.   work (m + 2, m)."""
    m, n, held, newest = gram.shape[0], r.shape[0], int(mix[HELD]), int(mix[NEWEST])
    rhs, gamma, factor = work[0], work[1], work[2:]
    for a in range(held):
        rhs[a] = dot(weight, memory[(newest - a) % m], memory[2 * m + 2])
    least_squares(gram, m, held, newest, rhs, factor, gamma)
    for a in range(held):
        if gamma[a] != 0.0:
            dg = memory[m + (newest - a) % m]
            for k in range(n):
                r[k] -= gamma[a] * dg[k]


@jit
def mixed_start(
    kind, offset, lower, upper, group_offset, group_size, coefficient, weight, mix, gram, memory, work, r
):
    """r, x <- where the next sweep starts, r holding the end of the last one.   work (m + 2, m)."""
    if mix[HELD] > 0.0:
        mixed(weight, mix, gram, memory, work, r)
        for i in range(kind.shape[0]):
            k, g = offset[i], group_offset[i]
            if kind[i] == cones.FRICTION and offset[i + 1] - k == 3 and group_offset[i + 1] - g == 1:
                r[k], r[k + 1], r[k + 2] = project_coulomb3(coefficient[g], r[k], r[k + 1], r[k + 2])
            else:
                cones.project_block(
                    i, kind, offset, lower, upper, group_offset, group_size, coefficient, r, r
                )
    x = memory[2 * gram.shape[0]]
    for k in range(r.shape[0]):
        x[k] = r[k]


@jit
def learn(weight, mix, gram, memory, moved, r):
    """Take note of the sweep from x to r: a new column, or back to the last g and an empty memory.

    Returns the squared way of r since the last sweep, at least `moved`, that of the sweep itself.
    """
    m, n, held = gram.shape[0], r.shape[0], int(mix[HELD])
    x, g, f = memory[2 * m], memory[2 * m + 1], memory[2 * m + 2]
    length = 0.0
    for k in range(n):
        step = r[k] - x[k]
        length += weight[k] * step * step
    length = math.sqrt(length)
    before = mix[LENGTH]
    if held > 0 and not length <= GROWTH * before:
        for k in range(n):
            r[k] = g[k]
        mix[RESTARTS] += 1.0
        forget(mix)
        return moved
    if before >= 0.0:
        way = 0.0
        at = (int(mix[NEWEST]) + 1) % m
        df, dg = memory[at], memory[m + at]
        for k in range(n):
            df[k] = r[k] - x[k] - f[k]
            dg[k] = r[k] - g[k]
            way += dg[k] * dg[k]
        moved = max(moved, way)
        held = min(held + 1, m)
        mix[HELD], mix[NEWEST] = float(held), float(at)
        for a in range(held):
            j = (at - a) % m
            gram[at, j] = dot(weight, df, memory[j])
            gram[j, at] = gram[at, j]
    for k in range(n):
        g[k], f[k] = r[k], r[k] - x[k]
    mix[LENGTH] = length
    return moved


@jit
def begin(offset, local, local_start, weight, mix, control):
    """Set up a NEW solve, whose W_ii are in `local`; one that goes on is left as it is."""
    if control[schedule.STATE] == schedule.NEW:
        weigh(offset, local, local_start, weight)
        forget(mix)
        mix[RESTARTS], mix[SEEN] = 0.0, 0.0
    schedule.begin(control)


@jit
def hurry(mix, tolerance, control):
    """Ask the judge next if |f| has fallen by what the error has to: acceleration outruns its forecast."""
    if mix[SEEN] > 0.0 and control[schedule.ERROR] * mix[LENGTH] <= tolerance * mix[SEEN]:
        control[schedule.NEXT] = control[schedule.SWEEPS]


@jit
def run_coulomb3(
    weight, mix, gram, memory, work,
    kind, offset, lower, upper, group_offset, group_size, coefficient,
    row_start, column, data_start, data, local, local_start,
    rho, length, coefficient_scaled, u_free, omega, tolerance, budget,
    r, best, kappa, vectors, bench, control, history,
):  # fmt: skip
    """3D Coulomb contacts on W in blocks; prepares itself, as its original does."""
    if control[schedule.STATE] == schedule.NEW:
        gauss_seidel.prepare_coulomb3(
            kind, offset, group_offset, group_size, coefficient, row_start, column, data_start, data,
            local, local_start, rho, length, coefficient_scaled, vectors[0],
        )  # fmt: skip
    begin(offset, local, local_start, weight, mix, control)
    while schedule.goes_on(control, budget):
        if schedule.is_due(control, budget):
            blocks.multiply(offset, row_start, column, data_start, data, r, u_free, vectors[0])
            gauss_seidel.look(
                kind, offset, lower, upper, group_offset, group_size, coefficient, rho, length,
                coefficient_scaled, u_free, tolerance, r, best, vectors, bench[0], control, history,
            )  # fmt: skip
            mix[SEEN] = mix[LENGTH]
        else:
            mixed_start(
                kind, offset, lower, upper, group_offset, group_size, coefficient,
                weight, mix, gram, memory, work, r,
            )  # fmt: skip
            moved = gauss_seidel.sweep_coulomb3(row_start, column, data, coefficient, local, u_free, r, kappa)
            schedule.swept(control, learn(weight, mix, gram, memory, moved, r))
            hurry(mix, tolerance, control)


@jit
def run(
    weight, mix, gram, memory, work,
    kind, offset, lower, upper, group_offset, group_size, coefficient,
    row_start, column, data_start, data, local, local_start,
    rho, length, coefficient_scaled, u_free, omega, tolerance, budget,
    r, best, kappa, vectors, bench, control, history,
):  # fmt: skip
    """Blocks of any kind on W in blocks; `gauss_seidel.prepare` comes before."""
    begin(offset, local, local_start, weight, mix, control)
    while schedule.goes_on(control, budget):
        if schedule.is_due(control, budget):
            blocks.multiply(offset, row_start, column, data_start, data, r, u_free, vectors[0])
            gauss_seidel.look(
                kind, offset, lower, upper, group_offset, group_size, coefficient, rho, length,
                coefficient_scaled, u_free, tolerance, r, best, vectors, bench[0], control, history,
            )  # fmt: skip
            mix[SEEN] = mix[LENGTH]
        else:
            mixed_start(
                kind, offset, lower, upper, group_offset, group_size, coefficient,
                weight, mix, gram, memory, work, r,
            )  # fmt: skip
            moved = gauss_seidel.sweep(
                kind, offset, lower, upper, group_offset, group_size, coefficient,
                row_start, column, data_start, data, local, local_start, u_free, omega,
                r, kappa, bench[1], bench[2], bench[3], bench[4:], vectors[1],
            )  # fmt: skip
            schedule.swept(control, learn(weight, mix, gram, memory, moved, r))
            hurry(mix, tolerance, control)


@jit
def run_bodies_coulomb3(
    weight, mix, gram, memory, work,
    kind, offset, lower, upper, group_offset, group_size, coefficient,
    bodies, rows, w, isotropic, local, local_start,
    rho, length, coefficient_scaled, u_free, omega, tolerance, budget,
    r, best, kappa, vectors, bench, control, history,
):  # fmt: skip
    """3D Coulomb contacts of bodies of six velocities; prepares itself, as its original does."""
    if control[schedule.STATE] == schedule.NEW:
        body_sweeps.prepare_coulomb3(
            kind, offset, group_offset, group_size, coefficient, rows, isotropic,
            local, local_start, rho, length, coefficient_scaled, vectors[0],
        )  # fmt: skip
    begin(offset, local, local_start, weight, mix, control)
    while schedule.goes_on(control, budget):
        if schedule.is_due(control, budget):
            body_sweeps.refresh(bodies, offset, rows, u_free, r, w, vectors[0])
            gauss_seidel.look(
                kind, offset, lower, upper, group_offset, group_size, coefficient, rho, length,
                coefficient_scaled, u_free, tolerance, r, best, vectors, bench[0], control, history,
            )  # fmt: skip
            mix[SEEN] = mix[LENGTH]
        else:
            mixed_start(
                kind, offset, lower, upper, group_offset, group_size, coefficient,
                weight, mix, gram, memory, work, r,
            )  # fmt: skip
            blocks.blocks_to_bodies(bodies, offset, rows, r, w)
            moved = body_sweeps.sweep_coulomb3(
                bodies, rows, coefficient, local, isotropic, u_free, r, kappa, w
            )
            schedule.swept(control, learn(weight, mix, gram, memory, moved, r))
            hurry(mix, tolerance, control)


@jit
def run_bodies(
    weight, mix, gram, memory, work,
    kind, offset, lower, upper, group_offset, group_size, coefficient,
    bodies, rows, w, isotropic, local, local_start,
    rho, length, coefficient_scaled, u_free, omega, tolerance, budget,
    r, best, kappa, vectors, bench, control, history,
):  # fmt: skip
    """Blocks of any kind without W; `body_sweeps.prepare` comes before."""
    begin(offset, local, local_start, weight, mix, control)
    while schedule.goes_on(control, budget):
        if schedule.is_due(control, budget):
            body_sweeps.refresh(bodies, offset, rows, u_free, r, w, vectors[0])
            gauss_seidel.look(
                kind, offset, lower, upper, group_offset, group_size, coefficient, rho, length,
                coefficient_scaled, u_free, tolerance, r, best, vectors, bench[0], control, history,
            )  # fmt: skip
            mix[SEEN] = mix[LENGTH]
        else:
            mixed_start(
                kind, offset, lower, upper, group_offset, group_size, coefficient,
                weight, mix, gram, memory, work, r,
            )  # fmt: skip
            blocks.blocks_to_bodies(bodies, offset, rows, r, w)
            moved = body_sweeps.sweep(
                kind, offset, lower, upper, group_offset, group_size, coefficient,
                bodies, rows, local, local_start, u_free, omega, r, kappa, w,
                bench[1], bench[2], bench[3], bench[4:], vectors[1],
            )  # fmt: skip
            schedule.swept(control, learn(weight, mix, gram, memory, moved, r))
            hurry(mix, tolerance, control)
