"""Anderson acceleration of sweeps, type II: each sweep starts from a mix of the last sweeps.

A sweep maps x to g(x), with residual f = g - x. With the last m differences of f and g as columns of dF and
dG, gamma minimises |f - dF gamma| and the next sweep starts from P_K(g - dG gamma) (Anderson 1965; Walker
& Ni 2011, (2.2) with beta = 1). Norms are those of sqrt(W_ii) r, which are independent of units. The
least-squares problem is solved by normal equations with unit diagonal and a small ridge.

Safeguard: if |f| after a mixed start exceeds `GROWTH` times the previous |f|, the iterate returns to the end
of the previous sweep and the memory is emptied.

The whole state is a `Memory`, so that a run can be paused and continued.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from stickslip.kernels import schedule
from stickslip.kernels.jit import jit

HELD, NEWEST, LENGTH, RESTARTS, SEEN = range(5)
SLOTS = 5
"""Size of `Memory.mix`: number of columns, index of the newest, |f| of the last sweep (negative before the
first), number of restarts, and |f| at the last check of the residuals (0 before the first)."""
GROWTH = 2.0
"""Growth of |f| in one mixed start at which the memory is emptied [-]; heuristic."""
RIDGE = 1e-7
"""Added to the unit diagonal of the normal equations, so that nearly equal columns are averaged [-]."""


class Memory(NamedTuple):
    """Data of the last m sweeps over n components; m = 0 for sweeps without acceleration."""

    weight: Any
    """Weights of the norm: mean diagonal of W_ii, 1 where it is zero [1/kg], shape (n,)."""
    mix: Any
    """State of the mixing, indexed by HELD to SEEN, shape (SLOTS,)."""
    gram: Any
    """dF' dF, shape (m, m)."""
    vectors: Any
    """Rows: m columns of dF, m of dG, then x, g and f of the last sweep [N s], shape (2 m + 3, n)."""
    work: Any
    """Right-hand side, weights gamma and factor of the least squares, shape (m + 2, m)."""


@jit
def memory_of(problem, m):
    """Return an empty `Memory` of m sweeps for a prepared problem (`sweeps.Swept`)."""
    n, offset, local = problem.u_free.shape[0], problem.K.offset, problem.local
    weight, mix = np.empty(n), np.zeros(SLOTS)
    for i in range(offset.shape[0] - 1):
        d, at, mean = offset[i + 1] - offset[i], problem.local_start[i], 0.0
        for k in range(d):
            mean += abs(local[at + k * d + k]) / d
        for k in range(offset[i], offset[i + 1]):
            weight[k] = mean if mean > 0.0 else 1.0
    begin(mix)
    return Memory(weight, mix, np.zeros((m, m)), np.zeros((2 * m + 3, n)), np.zeros((m + 2, m)))


@jit
def no_memory():
    """Return the `Memory` of sweeps without acceleration."""
    nothing = np.empty((0, 0))
    return Memory(np.empty(0), np.zeros(SLOTS), nothing, nothing, nothing)


@jit
def forget(mix):
    """Empty the memory, so that the next sweep starts from r."""
    mix[HELD], mix[NEWEST], mix[LENGTH] = 0.0, -1.0, -1.0


@jit
def dot(weight, a, b):
    """Return sum_k weight_k a_k b_k, in four independent chains.   each (n,)."""
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
    """gamma <- least-squares solution over the stored columns, by Cholesky; 0 for a zero column.

    gram (m, m): dF' dF in storage order; rhs, gamma (m,) by age, newest first; factor (m, m) work.
    """
    # 1. Cholesky factor of the normal matrix, scaled to unit diagonal, plus RIDGE.
    for a in range(held):
        i = (newest - a) % m
        square = gram[i, i]
        gamma[a] = 0.0
        for b in range(a):
            j = (newest - b) % m
            s = gram[i, j] / math.sqrt(square * gram[j, j]) if square > 0.0 and factor[b, b] > 0.0 else 0.0
            for c in range(b):
                s -= factor[a, c] * factor[b, c]
            factor[a, b] = s / factor[b, b] if factor[b, b] > 0.0 else 0.0
        pivot = 1.0 + RIDGE
        for c in range(a):
            pivot -= factor[a, c] * factor[a, c]
        factor[a, a] = math.sqrt(pivot) if square > 0.0 and pivot > 0.0 else 0.0
    # 2. Forward and backward substitution.
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
    # 3. Scaling back.
    for a in range(held):
        i = (newest - a) % m
        if factor[a, a] > 0.0:
            gamma[a] /= math.sqrt(gram[i, i])


@jit
def start(project, K, memory, r):
    """r, x <- start of the next sweep; r is the end of the last one on entry.

    project: `cones.project`, or `cones.project_contacts` if all blocks are Coulomb contacts.
    """
    correlate(memory, memory.work[0])
    find_mix(memory)
    move_to_mix(project, K, memory, r)


@jit
def correlate(memory, out):
    """out[a] <- dF' f over the stored columns, by age, summed over the components of `memory`."""
    weight, mix, gram, vectors, _ = memory
    m, newest = gram.shape[0], int(mix[NEWEST])
    for a in range(int(mix[HELD])):
        out[a] = dot(weight, vectors[(newest - a) % m], vectors[2 * m + 2])


@jit
def find_mix(memory):
    """work[1] <- weights gamma of the columns, from the products dF' f in work[0]."""
    mix, gram, work = memory.mix, memory.gram, memory.work
    least_squares(gram, gram.shape[0], int(mix[HELD]), int(mix[NEWEST]), work[0], work[2:], work[1])


@jit
def move_to_mix(project, K, memory, r):
    """r, x <- P_K(r - dG gamma) with the weights of `find_mix`."""
    _, mix, gram, vectors, work = memory
    m, held, newest, gamma = gram.shape[0], int(mix[HELD]), int(mix[NEWEST]), work[1]
    for a in range(held):
        if gamma[a] != 0.0:
            dg = vectors[m + (newest - a) % m]
            for k in range(r.shape[0]):
                r[k] -= gamma[a] * dg[k]
    if held > 0:
        project(K, r, r)
    x = vectors[2 * m]
    for k in range(r.shape[0]):
        x[k] = r[k]


@jit
def learn(memory, moved, r):
    """Store the sweep from x to r as a new column; or, if |f| has grown too much, go back and restart.

    moved: squared change of r in the sweep. Return the larger of it and the squared change of g.
    """
    length = math.sqrt(square_of_step(memory, r))
    if grows(memory.mix, length):
        go_back(memory, r)
        note_restart(memory.mix)
        return moved
    adds = memory.mix[LENGTH] >= 0.0
    if adds:
        next_column(memory)
    moved = max(moved, remember(memory, adds, r, memory.work[0]))
    note_column(memory, adds, length)
    return moved


@jit
def square_of_step(memory, r):
    """Return the weighted |r - x|² of the sweep from x to r, over the components of `memory`."""
    weight, x, square = memory.weight, memory.vectors[2 * memory.gram.shape[0]], 0.0
    for k in range(r.shape[0]):
        step = r[k] - x[k]
        square += weight[k] * step * step
    return square


@jit
def grows(mix, length):
    """Return whether a mixed start has made |f| = length grow by more than GROWTH."""
    return mix[HELD] > 0.0 and not length <= GROWTH * mix[LENGTH]


@jit
def go_back(memory, r):
    """r <- end of the previous sweep, g."""
    g = memory.vectors[2 * memory.gram.shape[0] + 1]
    for k in range(r.shape[0]):
        r[k] = g[k]


@jit
def note_restart(mix):
    """Empty the memory and count a restart."""
    mix[RESTARTS] += 1.0
    forget(mix)


@jit
def next_column(memory):
    """Advance to the next column: an unused one, or the oldest."""
    mix, m = memory.mix, memory.gram.shape[0]
    mix[HELD], mix[NEWEST] = min(mix[HELD] + 1.0, float(m)), float((int(mix[NEWEST]) + 1) % m)


@jit
def remember(memory, adds, r, out):
    """Write the newest column (if `adds`), g and f of the sweep from x to r; return the squared change of g.

    out[a] <- dF_newest' dF by age, summed over the components of `memory`.
    """
    weight, mix, gram, vectors, _ = memory
    m, n, newest, change = gram.shape[0], r.shape[0], int(mix[NEWEST]), 0.0
    x, g, f = vectors[2 * m], vectors[2 * m + 1], vectors[2 * m + 2]
    if adds:
        df, dg = vectors[newest], vectors[m + newest]
        for k in range(n):
            df[k] = r[k] - x[k] - f[k]
            dg[k] = r[k] - g[k]
            change += dg[k] * dg[k]
        for a in range(int(mix[HELD])):
            out[a] = dot(weight, df, vectors[(newest - a) % m])
    for k in range(n):
        g[k], f[k] = r[k], r[k] - x[k]
    return change


@jit
def note_column(memory, adds, length):
    """Copy the products of the newest column from work[0] to `gram` (if `adds`), and store |f| = length."""
    mix, gram, m, newest = memory.mix, memory.gram, memory.gram.shape[0], int(memory.mix[NEWEST])
    if adds:
        for a in range(int(mix[HELD])):
            j = (newest - a) % m
            gram[newest, j] = memory.work[0, a]
            gram[j, newest] = gram[newest, j]
    mix[LENGTH] = length


@jit
def begin(mix):
    """Initialise the state of a new solve."""
    forget(mix)
    mix[RESTARTS], mix[SEEN] = 0.0, 0.0


@jit
def take_over(control, error, allowed, trial):
    """Change the schedule from plain to accelerated sweeps, at an iterate of this error.

    allowed: sweeps of the whole solve; trial: accelerated sweeps before the solve may end as SLOW.
    """
    sweeps_done = control[schedule.SWEEPS]
    control[schedule.STATE], control[schedule.ALLOWED] = schedule.RUNNING, allowed
    control[schedule.WORTH], control[schedule.TRIAL] = 0.0, sweeps_done + trial
    control[schedule.GAP], control[schedule.NEXT] = 2.0, sweeps_done + 4.0
    control[schedule.SINCE], control[schedule.ERROR_THEN] = sweeps_done, error


@jit
def hurry(mix, tolerance, control):
    """Schedule a check of the residuals once |f| has dropped by the factor that the error needs.

    The forecast of `schedule` from the past rate is too pessimistic for accelerated sweeps.
    """
    if mix[SEEN] > 0.0 and control[schedule.ERROR] * mix[LENGTH] <= tolerance * mix[SEEN]:
        control[schedule.NEXT] = control[schedule.SWEEPS]
