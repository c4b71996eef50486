"""Impulses of a step of a robot: Delassus matrix, initial guess, Newton's method part by part, check by the
judge, and impulses that correct positions."""

import math

import numpy as np

from stickslip.kernels import blocks, prox_newton, residuals, small_contacts, warm_newton
from stickslip.kernels.cones import FREE, INTERVAL, Cones
from stickslip.kernels.jit import jit_forward as jit
from stickslip.kernels.lines import FOUR, LINE, add_lines, four_products
from stickslip.kernels.robots.layout import LastImpulses
from stickslip.kernels.robots.rows import find_parts, width_of
from stickslip.kernels.scratch import floats, give_back, ints, taken, zeros

NEWTONS = 60
"""Largest number of Newton steps per proximal centre (heuristic)."""
ENOUGH = 0.5
"""Tolerance of Newton's method as a share of that of the judge [-] (heuristic)."""
ALPHA = 1e-3
"""Initial weight of the proximal term, the same as in the solver `auto`."""
DEEPEST = 0.01
"""Largest part of an overlap or an opening that one step corrects [m, rad] (heuristic)."""
NEGLIGIBLE = 1e-9
"""Largest overlap or opening that is not corrected [m, rad] (heuristic)."""
SWEEPS = 50
"""Largest number of Gauss-Seidel sweeps of a correction of positions (heuristic)."""


@jit
def delassus(motion, traits, scratch, rows):
    """Return a held `Parts` of the problem with W = J (M + h D + h² K)⁻¹ J' = Y' D⁻¹ Y.

    Y = L'⁻¹ J' with MuJoCo's factor L' D L. It has a column for each row of J. All columns are solved for
    together, so that the inner loops run along the rows of Y.
    """
    nv = traits.row_start.shape[0]
    parts = find_parts(scratch, rows, nv)
    mark, J, first, last, begin, root = taken(scratch), rows.J, rows.first, rows.last, rows.begin, rows.root
    component = parts.component
    which, f = ints(scratch, nv), floats(scratch, nv)
    for part in range(parts.W_start.shape[0]):
        # 1. Range of columns of the rows of this part, and Y <- J'.
        own, start = taken(scratch), parts.start[part]
        m, low, high = parts.start[part + 1] - start, np.int64(nv), np.int64(0)
        for s in range(m):
            k = component[start + s]
            if first[k] < last[k]:
                low, high = min(low, root[k]), max(high, last[k])
        width, W, W_start, rise = width_of(m), matrix_of(parts, part), parts.W_start[part], max(high - low, 0)
        Y = zeros(scratch, rise * width).reshape(rise, width)
        for s in range(m):
            k = component[start + s]
            at = begin[k] - first[k]
            for c in range(first[k], last[k]):
                Y[c - low, s] = J[at + c]
        # 2. Y <- L'⁻¹ Y, from the last dof to the first: row c takes the rows of the dofs that c carries.
        for c in range(high - 1, low - 1, -1):
            count = 0
            for t in range(traits.carried_start[c], traits.carried_start[c + 1]):
                if traits.carried[t] < high:
                    which[count], f[count] = traits.carried[t] - low, -motion.factor[traits.carried_entry[t]]
                    count += 1
            row = Y[c - low]
            add_lines(row, Y, which, f, count, 0, row)
        # 3. W = Y' D⁻¹ Y: the lower triangle four rows at a time, then its transpose.
        for s in range(0, m, FOUR):
            lowest, highest = high, low
            for t in range(s, min(s + FOUR, m)):
                k = component[start + t]
                if first[k] < last[k]:
                    lowest, highest = min(lowest, root[k]), max(highest, last[k])
            lines, n = parts.W[W_start + s * width : W_start + (s + FOUR) * width], (s // LINE + 1) * LINE
            four_products(motion.inverse[low:high], Y, s, lowest - low, highest - low, n, lines)
        for s in range(m):
            for t in range(s):
                W[t, s] = W[s, t]
        give_back(scratch, own)
    give_back(scratch, mark)
    return parts


@jit
def matrix_of(parts, part):
    """Return W of a part, with padded rows."""
    m, first = parts.start[part + 1] - parts.start[part], parts.W_start[part]
    width = width_of(m)
    return parts.W[first : first + m * width].reshape(m, width)


@jit
def whole(parts):
    """Return the dense W (n, n) of all parts."""
    n = parts.component.shape[0]
    W = np.zeros((n, n))
    for part in range(parts.W_start.shape[0]):
        own, start = matrix_of(parts, part), parts.start[part]
        for s in range(own.shape[0]):
            for t in range(own.shape[0]):
                W[parts.component[start + s], parts.component[start + t]] = own[s, t]
    return W


@jit
def guess(scratch, rows, last):
    """Return a guess of r (n,): impulses of the previous step for blocks with the same identifier, else 0."""
    offset, key, what, r = rows.K[1], rows.key, rows.what, zeros(scratch, rows.u_free.shape[0])
    count, j = last.key.shape[0], 0
    for i in range(key.shape[0]):
        size, name = offset[i + 1] - offset[i], 4 * key[i] + what[i]
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
    """Return a dense W as a `BlockW` that stores all blocks."""
    nb, n = offset.shape[0] - 1, offset[offset.shape[0] - 1]
    row_start, column = np.arange(nb + 1) * nb, np.empty(nb * nb, np.int64)
    data_start, data, at_ = np.zeros(nb * nb + 1, np.int64), np.empty(n * n), 0
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
def cones_of(scratch, K, chosen):
    """Return the fields of `Cones` for the blocks `chosen` (m,)."""
    kind, offset, lower, upper, group_offset, group_size, coefficient = K
    m, g = chosen.shape[0], 0
    for i in chosen:
        g += group_offset[i + 1] - group_offset[i]
    starts, groups, kinds = ints(scratch, m + 1), ints(scratch, m + 1), ints(scratch, m)
    sizes, mu, low, high = ints(scratch, g), floats(scratch, g), floats(scratch, m), floats(scratch, m)
    g = starts[0] = groups[0] = 0
    for k in range(m):
        i = chosen[k]
        kinds[k], low[k], high[k] = kind[i], lower[i], upper[i]
        for c in range(group_offset[i], group_offset[i + 1]):
            sizes[g], mu[g] = group_size[c], coefficient[c]
            g += 1
        starts[k + 1], groups[k + 1] = starts[k] + offset[i + 1] - offset[i], g
    return kinds, starts, low, high, groups, sizes, mu


@jit
def solve_parts(scratch, rows, parts, tolerance, r, u):
    """r, u <- the solution, from the guess r.

    Return (natural residual, unit-free natural residual, iterations, solved).
    Newton's method solves each part. The judge measures the whole problem; if it is not solved,
    `small_contacts` solves it with sweeps and Newton's method.
    """
    K, u_free, count, steps = rows.K, rows.u_free, parts.W_start.shape[0], 0
    starts, component = parts.start, parts.component
    n, nb, share = r.shape[0], K[0].shape[0], ENOUGH * tolerance / math.sqrt(count)
    mark = taken(scratch)
    diagonal = floats(scratch, n)
    for part in range(count):
        own, W = taken(scratch), matrix_of(parts, part)
        which = component[starts[part] : starts[part + 1]]
        for s in range(which.shape[0]):
            diagonal[which[s]] = W[s, s]
        if count == 1:
            steps = find(scratch, K, W, u_free, share, r, u)
        else:
            m = which.shape[0]
            free, x, y = floats(scratch, m), floats(scratch, m), floats(scratch, m)
            for s in range(m):
                free[s], x[s] = u_free[which[s]], r[which[s]]
            cones = cones_of(scratch, K, parts.block[parts.block_start[part] : parts.block_start[part + 1]])
            steps = max(steps, find(scratch, cones, W, free, share, x, y))
            for s in range(m):
                r[which[s]], u[which[s]] = x[s], y[s]
        give_back(scratch, own)
    scales = residuals.Metric(floats(scratch, nb), floats(scratch, n), floats(scratch, K[6].shape[0]))
    work, out = (floats(scratch, n), floats(scratch, n)), floats(scratch, residuals.MEASURES)
    residuals.measure_solved(Cones(*K), diagonal, residuals.Point(r, u, u_free), scales, work, out)
    natural, scaled = out[residuals.NATURAL], out[residuals.SCALED]
    solved = residuals.is_solved(out, tolerance)
    give_back(scratch, mark)
    if solved:
        return natural, scaled, steps, True
    told = np.empty(small_contacts.REPORT)
    small_contacts.solve(K, whole(parts).reshape(-1), u_free, tolerance, r, u, told)
    steps += int(told[small_contacts.SWEEPS] + told[small_contacts.NEWTONS])
    return told[residuals.NATURAL], told[residuals.SCALED], steps, told[small_contacts.SOLVED] == 1.0


@jit
def find(scratch, K, W, u_free, tolerance, r, u):
    """r, u <- a solution to `tolerance`, if there is convergence, from the guess r. Return the Newton steps.

    If plain Newton steps do not converge, the proximal point method takes over.
    """
    steps, error = warm_newton.solve_in_rounds(scratch, K, W, u_free, tolerance, r, u)
    if error > tolerance:
        cones = Cones(*K)
        best, control, _ = prox_newton.solve_small(
            cones, in_blocks(W, cones.offset), u_free, r, ALPHA, tolerance, float(NEWTONS), 25.0
        )
        steps += int(control[prox_newton.NEWTON])
        for k in range(r.shape[0]):
            r[k] = best[k]
            total = u_free[k]
            for c in range(r.shape[0]):
                total += W[k, c] * best[c]
            u[k] = total
    return steps


@jit
def remember(rows, r):
    """Return the `LastImpulses` of a step."""
    key, what = rows.key.copy(), rows.what
    for i in range(key.shape[0]):
        key[i] = 4 * key[i] + what[i]
    return LastImpulses(key, rows.K[1].copy(), r.copy())


@jit
def remember_in(room, k, rows, r):
    """Write the impulses of step k to the room; return False if it is full."""
    key, what, offset = rows.key, rows.what, rows.K[1]
    b, nb, n = room.block_offset[k + 1], key.shape[0], r.shape[0]
    start = room.first[b + k]
    if b + nb > room.key.shape[0] or start + n > room.impulse.shape[0]:
        return False
    for i in range(nb):
        room.key[b + i] = 4 * key[i] + what[i]
    for i in range(nb + 1):
        room.first[b + k + 1 + i] = start + offset[i]
    for i in range(n):
        room.impulse[start + i] = r[i]
    room.block_offset[k + 2] = b + nb
    return True


@jit
def last_in(room, k):
    """Return the `LastImpulses` at the start of step k."""
    b, end = room.block_offset[k], room.block_offset[k + 1]
    return LastImpulses(room.key[b:end], room.first[b + k : end + k + 1], room.impulse)


@jit
def correct(scratch, rows, parts, u, h):
    """Return (p, need): impulses p (n,) that correct positions, and the largest error corrected [m, rad].

    Their velocities w = M⁻¹ J' p open overlaps at the end of the step and close equalities.
    """
    kind, offset, gap, bias, along = rows.K[0], rows.K[1], rows.gap, rows.bias, rows.along
    n, nb, need, component = u.shape[0], kind.shape[0], 0.0, parts.component
    p, want, takes = zeros(scratch, n), floats(scratch, n), ints(scratch, n)
    # 1. Active rows: equalities, and contacts and limits, with their gaps at the end of the step over h.
    for k in range(n):
        takes[k] = 0
    for i in range(nb):
        if kind[i] == INTERVAL:
            continue
        for k in range(offset[i], offset[i + 1] if kind[i] == FREE else offset[i] + 1):
            if kind[i] == FREE:
                want[k], takes[k] = max(-DEEPEST, min(DEEPEST, gap[k])) / h, 2
                need = max(need, abs(want[k]) * h)
            else:
                want[k], takes[k] = max(gap[k], -DEEPEST) / h + (u[k] - bias[k]) + along[i], 1
                need = max(need, -want[k] * h)
    if need < NEGLIGIBLE:
        return p, 0.0
    # 2. Projected Gauss-Seidel sweeps, part by part; `want` is updated with the impulses.
    which = ints(scratch, n)
    for part in range(parts.W_start.shape[0]):
        W, start, m = matrix_of(parts, part), parts.start[part], 0
        for s in range(W.shape[0]):
            if takes[component[start + s]] and W[s, s] > 0.0:
                which[m] = s
                m += 1
        for _ in range(SWEEPS):
            moved = 0.0
            for j in range(m):
                s = which[j]
                k = component[start + s]
                new = p[k] - want[k] / W[s, s]
                if takes[k] == 1:
                    new = max(new, 0.0)
                change = new - p[k]
                if change != 0.0:
                    moved, p[k] = max(moved, abs(change) * W[s, s] * h), new
                    for t in range(m):
                        want[component[start + which[t]]] += W[s, which[t]] * change
            if moved < 1e-3 * need:
                break
    return p, need
