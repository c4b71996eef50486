"""Dense kernels of a front. Narrow panels use compiled loops, since a call of BLAS would take longer.

A panel is column-major with leading dimension `step`, at index `at` of a flat array. Sums are computed in the
order of the code on every machine, so that equal input gives equal bits.
"""

import numpy as np

from stickslip.kernels.jit import jit, jit_without_lock
from stickslip.linalg.kernels.blas import LOWER, NO, RIGHT, TRANSPOSED, dtrsm

NARROW = 12
"""Panels up to this number of columns use compiled loops, wider ones BLAS; BLAS alone is a fifth slower."""


@jit
def cholesky(x, at, step, n, scale, rule):
    """Factor the n x n block in place, lower triangle; return (number of replaced pivots, first non-finite
    one or -1).

    scale (n,), or empty; rule (least, replacement): a pivot at or below least times its scale is replaced by
    replacement times its scale. If `scale` is empty, pivots that are not positive yield NaN.
    """
    replaced, (least, replacement) = 0, rule
    for j in range(n):
        column = x[at + j * step : at + j * step + n]
        for k in range(j):
            before = x[at + k * step : at + k * step + n]
            f = before[j]
            for i in range(j, n):
                column[i] -= f * before[i]
        if scale.shape[0] > 0:
            if not abs(column[j]) < 1e300:
                return replaced, j
            if column[j] <= least * scale[j]:
                column[j] = replacement * scale[j]
                replaced += 1
        inverse = 1.0 / np.sqrt(column[j])
        for i in range(j, n):
            column[i] *= inverse
    return replaced, -1


@jit
def divide(x, x_address, at, step, n, m):
    """The m rows below the n x n factor L <- rows L^-T."""
    if n > NARROW:
        top, low = x_address + 8 * at, x_address + 8 * (at + n)
        dtrsm((RIGHT, LOWER, TRANSPOSED, NO, m, n, 1.0, top, step, low, step))
        return
    for j in range(n):
        column = x[at + j * step + n : at + j * step + n + m]
        k = 0
        while k + 2 <= j:
            one = x[at + k * step + n : at + k * step + n + m]
            two = x[at + (k + 1) * step + n : at + (k + 1) * step + n + m]
            f, g = x[at + k * step + j], x[at + (k + 1) * step + j]
            for i in range(m):
                column[i] -= f * one[i] + g * two[i]
            k += 2
        if k < j:
            one = x[at + k * step + n : at + k * step + n + m]
            f = x[at + k * step + j]
            for i in range(m):
                column[i] -= f * one[i]
        inverse = 1.0 / x[at + j * step + j]
        for i in range(m):
            column[i] *= inverse


@jit
def square6(x, at, step, m, u, into, fresh):
    """Lower triangle of u (m, m) <- -P P' (fresh), or u - P P', for six columns P (m, 6) of x."""
    a0, a1, a2 = x[at : at + m], x[at + step : at + step + m], x[at + 2 * step : at + 2 * step + m]
    a3, a4 = x[at + 3 * step : at + 3 * step + m], x[at + 4 * step : at + 4 * step + m]
    a5 = x[at + 5 * step : at + 5 * step + m]
    for j in range(0, m - 1, 2):
        p0, p1, p2, p3, p4, p5 = a0[j], a1[j], a2[j], a3[j], a4[j], a5[j]
        q0, q1, q2, q3, q4, q5 = a0[j + 1], a1[j + 1], a2[j + 1], a3[j + 1], a4[j + 1], a5[j + 1]
        c, d = u[into + j * m : into + j * m + m], u[into + (j + 1) * m : into + (j + 1) * m + m]
        if fresh:
            for i in range(j, m):
                b0, b1, b2, b3, b4, b5 = a0[i], a1[i], a2[i], a3[i], a4[i], a5[i]
                c[i] = -(p0 * b0 + p1 * b1 + p2 * b2 + p3 * b3 + p4 * b4 + p5 * b5)
                d[i] = -(q0 * b0 + q1 * b1 + q2 * b2 + q3 * b3 + q4 * b4 + q5 * b5)
        else:
            for i in range(j, m):
                b0, b1, b2, b3, b4, b5 = a0[i], a1[i], a2[i], a3[i], a4[i], a5[i]
                c[i] -= p0 * b0 + p1 * b1 + p2 * b2 + p3 * b3 + p4 * b4 + p5 * b5
                d[i] -= q0 * b0 + q1 * b1 + q2 * b2 + q3 * b3 + q4 * b4 + q5 * b5
    if m % 2:
        i = m - 1
        norm = a0[i] * a0[i] + a1[i] * a1[i] + a2[i] * a2[i] + a3[i] * a3[i] + a4[i] * a4[i] + a5[i] * a5[i]
        last = into + i * m + i
        u[last] = -norm if fresh else u[last] - norm


@jit_without_lock
def add_children(fronts, s, u, x, at, step, inside, first, end):
    """Add the update matrices of the children of s to its panel (inside), or to its update matrix.

    Only columns `first` to `end` - 1 of the target are changed. The target is at index `at` of x, with
    columns of length `step`.
    """
    run_from, run_to, run_length = fronts.run_from, fronts.run_to, fronts.run_length
    columns = fronts.columns[s]
    shift = 0 if inside else columns  # first column of the target in the front
    for k in range(fronts.child_start[s], fronts.child_start[s + 1]):
        c = fronts.child[k]
        low, high = fronts.run_start[c], fronts.run_start[c + 1]
        child_at, child_rows = fronts.update[c], fronts.rows[c]
        for a in range(low, high):
            to = run_to[a]
            if (to < columns) != inside:
                continue
            source, length = run_from[a], run_length[a]
            for t in range(max(0, first + shift - to), min(length, end + shift - to)):
                column = child_at + (source + t) * child_rows
                target = at + (to - shift + t) * step - shift
                part = u[column + source + t : column + source + length]
                into = x[target + to + t : target + to + length]
                for i in range(part.shape[0]):
                    into[i] += part[i]
                for b in range(a + 1, high):
                    part = u[column + run_from[b] : column + run_from[b] + run_length[b]]
                    into = x[target + run_to[b] : target + run_to[b] + run_length[b]]
                    for i in range(part.shape[0]):
                        into[i] += part[i]


@jit_without_lock
def scatter(blocks, s, values, x, step):
    """Add the blocks of the matrix (row-major) that belong to front s to its panel (column-major)."""
    for q in range(blocks.start[s], blocks.start[s + 1]):
        at, to, h, w = blocks.source[q], blocks.to[q], blocks.height[q], blocks.width[q]
        if blocks.flip[q]:
            for i in range(h):
                for j in range(w):
                    x[to + i * step + j] += values[at + i * w + j]
        else:
            for j in range(w):
                for i in range(h):
                    x[to + j * step + i] += values[at + i * w + j]
