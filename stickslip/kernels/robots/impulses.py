"""Impulses of a step of a robot: W, the last ones as a guess, Newton's method part by part, the judge's word,
and impulses that correct positions."""

import math

import numpy as np

from stickslip.kernels import blocks, prox_newton, residuals, small_contacts, warm_newton
from stickslip.kernels.cones import FREE, INTERVAL, Cones
from stickslip.kernels.jit import jit
from stickslip.kernels.robots.layout import LastImpulses

WARM, NEWTONS = 10, 60
"""Most Newton steps from the last impulses, and around a centre."""
ENOUGH = 0.5
"""Share of the tolerance to which Newton's method solves."""
ALPHA = 1e-3
"""Weight of the proximal term at first, as `auto` begins."""
DEEPEST = 0.01
"""Most of an overlap that one step corrects [m, rad]."""
NEGLIGIBLE = 1e-9
"""Overlaps and openings up to this are left as they are [m, rad]."""
SWEEPS = 50
"""Most of a correction."""


@jit
def multiply_columns(Y, lowest, highest, which, W):
    """W[which, which] <- Y' Y, column s of Y (m, >= n) within rows lowest[s] to highest[s].

    Eight sums at a time, which the compiler makes of vectors; Y has zeros up to a multiple of eight columns.
    """
    n = which.shape[0]
    for i in range(n):
        row = which[i]
        for j in range(0, i + 1, 8):
            s0, s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for c in range(lowest[i], highest[i]):
                f = Y[c, i]
                s0 += f * Y[c, j]
                s1 += f * Y[c, j + 1]
                s2 += f * Y[c, j + 2]
                s3 += f * Y[c, j + 3]
                s4 += f * Y[c, j + 4]
                s5 += f * Y[c, j + 5]
                s6 += f * Y[c, j + 6]
                s7 += f * Y[c, j + 7]
            k = j
            for total in (s0, s1, s2, s3, s4, s5, s6, s7):
                if k <= i:
                    W[row, which[k]] = W[which[k], row] = total
                k += 1


@jit
def delassus(motion, traits, rows):
    """W = J (M + h D + h² K)⁻¹ J' = Y' Y, Y = D^-1/2 L'^-1 J' by MuJoCo's factor L' D L, part by part."""
    n, nv = rows.J.shape
    root, W, y = np.sqrt(motion.inverse), np.zeros((n, n)), np.empty(nv)
    numbers, offset = np.empty((3, n), np.int64), rows.K[1]
    which, lowest, highest = numbers[0], numbers[1], numbers[2]
    for part in range(rows.islands):
        # 1. Rows of this part, and the range of their columns.
        m, low, high = 0, nv, np.int64(0)
        for i in range(rows.what.shape[0]):
            if rows.island[i] == part:
                for k in range(offset[i], offset[i + 1]):
                    which[m] = k
                    m, low, high = m + 1, min(low, rows.first[k]), max(high, rows.last[k])
        if low >= high:
            continue
        # 2. Y of them: what a dof carries goes on to the dofs that carry it.
        Y = np.zeros((high - low, (m + 7) // 8 * 8))
        for s in range(m):
            k = which[s]
            first, last = rows.first[k], rows.last[k]
            lowest[s], highest[s] = max(first - low, 0), max(last - low, 0)
            for c in range(first, last):
                y[c] = rows.J[k, c]
            for c in range(last - 1, first - 1, -1):
                f = y[c]
                if f != 0.0:
                    start = traits.row_start[c]
                    for entry in range(start, start + traits.row_count[c] - 1):
                        y[traits.column[entry]] -= motion.factor[entry] * f
                    Y[c - low, s] = root[c] * f
        # 3. Their products.
        multiply_columns(Y, lowest, highest, which[:m], W)
    return W


@jit
def guess(rows, last):
    """The impulses that blocks of the same name had a step ago."""
    offset, r = rows.K[1], np.zeros(rows.u_free.shape[0])
    count, j = last.key.shape[0], 0
    for i in range(rows.key.shape[0]):
        size, name = offset[i + 1] - offset[i], 4 * rows.key[i] + rows.what[i]
        for t in range(count):
            s = (j + t) % count
            if last.key[s] == name and last.offset[s + 1] - last.offset[s] == size:
                for k in range(size):
                    r[offset[i] + k] = last.r[last.offset[s] + k]
                j = s + 1
                break
    return r


@jit
def in_blocks(W, offset):
    """A dense W as a `BlockW` with all blocks."""
    nb = offset.shape[0] - 1
    row_start, column = np.arange(nb + 1) * nb, np.empty(nb * nb, np.int64)
    data_start, data, at_ = np.zeros(nb * nb + 1, np.int64), np.empty(W.size), 0
    for i in range(nb):
        for j in range(nb):
            column[i * nb + j] = j
            for k in range(offset[i], offset[i + 1]):
                for c in range(offset[j], offset[j + 1]):
                    data[at_] = W[k, c]
                    at_ += 1
            data_start[i * nb + j + 1] = at_
    return blocks.BlockW(offset, row_start, column, data_start, data)


@jit
def part_of(K, W, u_free, r, chosen):
    """((cones, W, u_free, r, room for u), components) of the blocks that are `chosen` (m,)."""
    kind, offset, lower, upper, group_offset, group_size, coefficient = K
    m, n, g = chosen.shape[0], 0, 0
    for i in chosen:
        n, g = n + offset[i + 1] - offset[i], g + group_offset[i + 1] - group_offset[i]
    starts, groups = np.zeros(m + 1, np.int64), np.zeros(m + 1, np.int64)
    sizes, mu, which = np.empty(g, np.int64), np.empty(g), np.empty(n, np.int64)
    n = g = 0
    for k in range(m):
        i = chosen[k]
        for c in range(offset[i], offset[i + 1]):
            which[n] = c
            n += 1
        for c in range(group_offset[i], group_offset[i + 1]):
            sizes[g], mu[g] = group_size[c], coefficient[c]
            g += 1
        starts[k + 1], groups[k + 1] = n, g
    small, free, x = np.empty((n, n)), np.empty(n), np.empty(n)
    for k in range(n):
        free[k], x[k] = u_free[which[k]], r[which[k]]
        for c in range(n):
            small[k, c] = W[which[k], which[c]]
    cones = (kind[chosen], starts, lower[chosen], upper[chosen], groups, sizes, mu)
    return (cones, small, free, x, np.empty(n)), which


@jit
def solve(K, W, u_free, tolerance, r, u):
    """`solve_parts` of a problem that is one."""
    return solve_parts(K, W, u_free, tolerance, np.zeros(K[0].shape[0], np.int64), 1, r, u)


@jit
def solve_parts(K, W, u_free, tolerance, island, islands, r, u):
    """(measures, iterations, solved): r, u <- the answer, from the guess r.

    Newton's method on each part by itself; the judge's kernel measures the whole, and what it refuses is left
    to sweeps. island (nb,): the part of each block, which W does not tie to others.
    """
    n, steps, share = r.shape[0], 0, ENOUGH * tolerance / math.sqrt(islands)
    part, which = (K, W, u_free, r, u), np.empty(0, np.int64)
    for one in range(islands):
        if islands > 1:
            part, which = part_of(K, W, u_free, r, np.flatnonzero(island == one))
        cones, small, free, x, y = part
        steps = max(steps, find(cones, small, free, share, x, y))
        for k in range(which.shape[0]):
            r[which[k]], u[which[k]] = x[k], y[k]
    diagonal = np.empty(n)
    for k in range(n):
        diagonal[k] = W[k, k]
    measures = residuals.measure(Cones(*K), residuals.EXACT, diagonal, r, u, u_free)
    if residuals.is_solved(measures, tolerance):
        return measures, steps, True
    measures, sweeps, solved = small_contacts.solve(K, W.reshape(-1), u_free, tolerance, r, u)
    return measures, steps + sweeps, solved


@jit
def find(K, W, u_free, tolerance, r, u):
    """Newton steps made: r, u <- near the answer, from the guess r; around a centre where that is too far."""
    steps, error = warm_newton.solve(K, W, u_free, tolerance, WARM, r, u)
    if error > tolerance:
        cones = Cones(*K)
        best, control, _ = prox_newton.solve_small(
            cones, in_blocks(W, cones.offset), u_free, r, ALPHA, tolerance, float(NEWTONS), 25.0
        )
        steps += int(control[prox_newton.NEWTON])
        for k in range(r.shape[0]):
            r[k] = best[k]
    small_contacts.velocities(K[1], W.reshape(-1), r, u_free, u)
    return steps


@jit
def remember(rows, r):
    """`LastImpulses` of a step."""
    key = np.empty(rows.key.shape[0], np.int64)
    for i in range(key.shape[0]):
        key[i] = 4 * rows.key[i] + rows.what[i]
    return LastImpulses(key, rows.K[1].copy(), r.copy())


@jit
def remember_in(room, k, rows, r):
    """Whether there is room for the impulses of step k, which are written there."""
    b, nb, n = room.block_offset[k + 1], rows.key.shape[0], r.shape[0]
    start = room.first[b + k]
    if b + nb > room.key.shape[0] or start + n > room.impulse.shape[0]:
        return False
    for i in range(nb):
        room.key[b + i] = 4 * rows.key[i] + rows.what[i]
    for i in range(nb + 1):
        room.first[b + k + 1 + i] = start + rows.K[1][i]
    for i in range(n):
        room.impulse[start + i] = r[i]
    room.block_offset[k + 2] = b + nb
    return True


@jit
def last_in(room, k):
    """`LastImpulses` at the start of step k."""
    b, end = room.block_offset[k], room.block_offset[k + 1]
    return LastImpulses(room.key[b:end], room.first[b + k : end + k + 1], room.impulse)


@jit
def correct(rows, W, u, h):
    """(impulses that move apart what would overlap after the step and close equalities, largest shift)."""
    kind, offset = rows.K[0], rows.K[1]
    n, nb, need, m = u.shape[0], kind.shape[0], 0.0, 0
    p, want, which, both = np.zeros(n), np.empty(n), np.empty(n, np.int64), np.empty(n, np.bool_)
    # 1. Who takes part: equalities, and what may only push, at the distances that it would have.
    for i in range(nb):
        if kind[i] == INTERVAL:
            continue
        for k in range(offset[i], offset[i + 1] if kind[i] == FREE else offset[i] + 1):
            if kind[i] == FREE:
                want[m] = max(-DEEPEST, min(DEEPEST, rows.gap[k])) / h
                need = max(need, abs(want[m]) * h)
            else:
                want[m] = max(rows.gap[k], -DEEPEST) / h + (u[k] - rows.bias[k])
                need = max(need, -want[m] * h)
            if W[k, k] > 0.0:
                which[m], both[m] = k, kind[i] == FREE
                m += 1
    if need < NEGLIGIBLE:
        return p, 0.0
    # 2. Gauss-Seidel sweeps; `want` follows the impulses.
    for _ in range(SWEEPS):
        moved = 0.0
        for s in range(m):
            k = which[s]
            new = p[k] - want[s] / W[k, k]
            if not both[s]:
                new = max(new, 0.0)
            change = new - p[k]
            if change != 0.0:
                moved, p[k] = max(moved, abs(change) * W[k, k] * h), new
                for t in range(m):
                    want[t] += W[k, which[t]] * change
        if moved < 1e-3 * need:
            break
    return p, need
