"""Anderson acceleration of sweeps, type II: the next start is a mix of the last sweeps.

A sweep takes x to g(x), with residual f = g - x. With the last m differences dF, dG of f and g as
columns, gamma minimises |f - dF gamma| and the next start is P_K(g - dG gamma) (Anderson 1965; Walker
& Ni 2011, (2.2) with beta = 1). Lengths are taken in r sqrt(W_ii), so that units do not matter.
The least squares go through normal equations with unit diagonal and a small ridge.

Safeguard: where a mixed start makes |f|, the sweep's own residual, grow beyond `GROWTH` times the one
before, the sweep goes back to where it was and the memory is emptied.

The whole state is a `Memory`, so that a run can pause, be continued, or be taken over.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from stickslip.kernels import schedule
from stickslip.kernels.jit import jit

HELD, NEWEST, LENGTH, RESTARTS, SEEN = range(5)
SLOTS = 5
"""Columns held, place of the newest, |f| of the last sweep (negative: none yet), restarts made, and |f|
when the judge was last asked (0: not yet)."""
GROWTH = 2.0
"""Growth of |f| by one mixed start at which the memory is emptied."""
RIDGE = 1e-7
"""Added to the unit diagonal of the normal equations: columns that hardly differ are averaged."""


class Memory(NamedTuple):
    """The last m sweeps over n components; m = 0 for sweeps that are not mixed."""

    weight: Any
    """Mean diagonal of W_ii, 1 where it is zero, in which lengths are taken [1/kg], shape (n,)."""
    mix: Any
    """The numbers named above, shape (SLOTS,)."""
    gram: Any
    """dF' dF, shape (m, m)."""
    vectors: Any
    """Rows dF, dG, then x, g and f of the last sweep [N s], shape (2 m + 3, n)."""
    work: Any
    """Work of the least squares, shape (m + 2, m)."""


@jit
def memory_of(problem, m):
    """An empty `Memory` of m sweeps over a problem prepared for them (`sweeps.Swept`)."""
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
    """The `Memory` of sweeps that are not mixed."""
    nothing = np.empty((0, 0))
    return Memory(np.empty(0), np.zeros(SLOTS), nothing, nothing, nothing)


@jit
def forget(mix):
    """Empty the memory: the next sweep starts from where r is."""
    mix[HELD], mix[NEWEST], mix[LENGTH] = 0.0, -1.0, -1.0


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
def start(project, K, memory, r):
    """r, x <- where the next sweep starts, r holding the end of the last one.

    project: `cones.project`, or `cones.project_contacts` where all blocks are Coulomb contacts.
    """
    correlate(memory, memory.work[0])
    find_mix(memory)
    move_to_mix(project, K, memory, r)


@jit
def correlate(memory, out):
    """out[a] <- dF' f over the columns held, by age; of these components, if `memory` has a part of them."""
    weight, mix, gram, vectors, _ = memory
    m, newest = gram.shape[0], int(mix[NEWEST])
    for a in range(int(mix[HELD])):
        out[a] = dot(weight, vectors[(newest - a) % m], vectors[2 * m + 2])


@jit
def find_mix(memory):
    """The second row of work <- weights of the columns, from the products in the first."""
    mix, gram, work = memory.mix, memory.gram, memory.work
    least_squares(gram, gram.shape[0], int(mix[HELD]), int(mix[NEWEST]), work[0], work[2:], work[1])


@jit
def move_to_mix(project, K, memory, r):
    """r, x <- the mix by the weights found, in K."""
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
    """Take note of the sweep from x to r: a new column, or back to the last g and an empty memory.

    Returns the squared way of r since the last sweep, at least `moved`, that of the sweep itself.
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
    """|r - x|² of the sweep from x to r; of these components, if `memory` has a part of them."""
    weight, x, square = memory.weight, memory.vectors[2 * memory.gram.shape[0]], 0.0
    for k in range(r.shape[0]):
        step = r[k] - x[k]
        square += weight[k] * step * step
    return square


@jit
def grows(mix, length):
    """Whether a mixed start has made |f| grow too much."""
    return mix[HELD] > 0.0 and not length <= GROWTH * mix[LENGTH]


@jit
def go_back(memory, r):
    """r <- the end of the sweep before."""
    g = memory.vectors[2 * memory.gram.shape[0] + 1]
    for k in range(r.shape[0]):
        r[k] = g[k]


@jit
def note_restart(mix):
    """Empty the memory, and count that."""
    mix[RESTARTS] += 1.0
    forget(mix)


@jit
def next_column(memory):
    """Make the oldest column the newest, or take one more."""
    mix, m = memory.mix, memory.gram.shape[0]
    mix[HELD], mix[NEWEST] = min(mix[HELD] + 1.0, float(m)), float((int(mix[NEWEST]) + 1) % m)


@jit
def remember(memory, adds, r, out):
    """The newest column, if one `adds`, then g and f <- those of the sweep from x to r; squared way of r
    since the last sweep. out[a] <- dF_newest' dF, by age; of these components, where they are a part."""
    weight, mix, gram, vectors, _ = memory
    m, n, at, way = gram.shape[0], r.shape[0], int(mix[NEWEST]), 0.0
    x, g, f = vectors[2 * m], vectors[2 * m + 1], vectors[2 * m + 2]
    if adds:
        df, dg = vectors[at], vectors[m + at]
        for k in range(n):
            df[k] = r[k] - x[k] - f[k]
            dg[k] = r[k] - g[k]
            way += dg[k] * dg[k]
        for a in range(int(mix[HELD])):
            out[a] = dot(weight, df, vectors[(at - a) % m])
    for k in range(n):
        g[k], f[k] = r[k], r[k] - x[k]
    return way


@jit
def note_column(memory, adds, length):
    """Take over the products of the newest column in the first row of work, if one `adds`, and |f|."""
    mix, gram, m, at = memory.mix, memory.gram, memory.gram.shape[0], int(memory.mix[NEWEST])
    if adds:
        for a in range(int(mix[HELD])):
            j = (at - a) % m
            gram[at, j] = memory.work[0, a]
            gram[j, at] = gram[at, j]
    mix[LENGTH] = length


@jit
def begin(mix):
    """Set up a new solve."""
    forget(mix)
    mix[RESTARTS], mix[SEEN] = 0.0, 0.0


@jit
def take_over(control, error, allowed, trial):
    """Let accelerated sweeps follow plain ones, from an iterate of this error.

    allowed: sweeps of the whole solve; trial: accelerated ones before it may be called too slow.
    """
    done = control[schedule.SWEEPS]
    control[schedule.STATE], control[schedule.ALLOWED] = schedule.RUNNING, allowed
    control[schedule.WORTH], control[schedule.TRIAL] = 0.0, done + trial
    control[schedule.GAP], control[schedule.NEXT] = 2.0, done + 4.0
    control[schedule.SINCE], control[schedule.ERROR_THEN] = done, error


@jit
def hurry(mix, tolerance, control):
    """Ask the judge next if |f| has fallen by what the error has to: acceleration outruns its forecast."""
    if mix[SEEN] > 0.0 and control[schedule.ERROR] * mix[LENGTH] <= tolerance * mix[SEEN]:
        control[schedule.NEXT] = control[schedule.SWEEPS]
