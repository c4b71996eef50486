"""Numeric multifrontal P A = L U factorisation of an unsymmetric matrix of blocks with a symmetric pattern.

Front s has `columns` = n pivots and `rows` = m rows below, and columns right of, them. Its L panel (n + m, n)
and its U panel (n, m), both column-major, are parts of the factor. Its update matrix (m, m), column-major, is
on a stack until it is added to its parent. Rows are exchanged only among the pivots of a front, since other
rows are not fully summed.
"""

from typing import NamedTuple

import numpy as np

from stickslip.kernels.jit import jit, jit_without_lock
from stickslip.linalg.kernels.blas import (
    LEFT,
    LOWER,
    NO,
    RIGHT,
    UNIT,
    UPPER,
    dgemm,
    dgemv,
    dgetrf,
    dtrsm,
    dtrsv,
)
from stickslip.linalg.kernels.triangular import gather_reach, subtract_reach
from stickslip.state import Array, BoolArray, IntArray

NARROW = 12
"""Fronts up to this number of pivots are factored by compiled loops, wider ones by BLAS."""
FLOOR = 1e-6
"""Share of the largest row that is added to the size of each row in backward errors [-] (heuristic)."""


class BlockRows(NamedTuple):
    """Matrix in block rows."""

    offset: IntArray
    """First scalar row of each block row, and their number [-], shape (n + 1,)."""
    row_start: IntArray
    """Index of the first block of each block row, and the number of blocks [-], shape (n + 1,)."""
    column: IntArray
    """Block column of each block [-], shape (blocks,)."""
    data_start: IntArray
    """Index of the first value of each block, and the number of values [-], shape (blocks + 1,)."""
    data: Array
    """Values of the blocks, each row-major [any], shape (data_start[-1],)."""
    active: BoolArray
    """Whether each block row is active; inactive rows are those of the identity [-], shape (n,)."""


@jit_without_lock
def fill(plan, values, x):
    """x <- panels of L and U before the elimination: the values of the blocks."""
    x[:] = 0.0
    for q in range(values.shape[0]):
        x[plan.to[q]] += values[q]


@jit_without_lock
def factorise(plan, x, u, exchange, info, first, end):
    """x <- L and U of the fronts from `first` to `end` - 1; return the first column with an invalid pivot, or
    -1.

    On entry x is the result of `fill`, and the fronts below these in the tree are factored. u: stack;
    exchange (size,) int32 <- the row that each pivot row was exchanged with, counted from 1 in its front.
    Zero, NaN and infinity are invalid pivots.
    """
    x_address, u_address = x.ctypes.data, u.ctypes.data
    exchange_address, info_address = exchange.ctypes.data, info.ctypes.data
    fronts = plan.fronts
    for s in range(first, end):
        n, m, at, up, into = (
            fronts.columns[s],
            fronts.rows[s],
            fronts.panel[s],
            plan.upper[s],
            fronts.update[s],
        )
        # 1. Update matrices of the children.
        step, head = n + m, fronts.head[s]
        add_children(fronts, s, x, up, u, 0, step)
        if n == 0:
            continue
        # 2. P A = L U of the pivots.
        top, low, right = x_address + 8 * at, x_address + 8 * (at + n), x_address + 8 * up
        if n <= NARROW:
            _narrow_lu(x, at, step, n, exchange[head : head + n])
        else:
            dgetrf((n, n, top, step, exchange_address + 4 * head, info_address))
        for j in range(n):
            pivot = abs(x[at + j * step + j])
            if not 0.0 < pivot < np.inf:
                return head + j
        if m == 0:
            continue
        # 3. Columns right of the pivots, rows below them, and the update matrix.
        exchange_rows(x, up, n, m, exchange[head : head + n])
        if n <= NARROW:
            _narrow_right(x, at, step, n, up, m)
            _narrow_below(x, at, step, n, m)
            _narrow_update(x, at + n, step, n, m, up, u, into)
        else:
            dtrsm((LEFT, LOWER, NO, UNIT, n, m, 1.0, top, step, right, n))
            dtrsm((RIGHT, UPPER, NO, NO, m, n, 1.0, top, step, low, step))
            dgemm((NO, NO, m, m, n, -1.0, low, step, right, n, 1.0, u_address + 8 * into, m))
    return -1


@jit
def sign(plan, x, exchange):
    """Return the sign of the determinant of the factored matrix, from pivots and exchanges of rows."""
    fronts, out = plan.fronts, 1.0
    for s in range(fronts.columns.shape[0]):
        n, m, at, head = fronts.columns[s], fronts.rows[s], fronts.panel[s], fronts.head[s]
        for j in range(n):
            if (x[at + j * (n + m) + j] < 0.0) != (exchange[head + j] != j + 1):
                out = -out
    return out


@jit_without_lock
def add_children(fronts, s, x, up, u, first, end):
    """Add the update matrices of the children of front s to its panels, U at `up`, and to its update matrix.

    Only the columns from `first` to `end` - 1 of the front are changed; columns of pivots come first. The
    update matrix of s is set to 0 before.
    """
    run_from, run_to, run_length = fronts.run_from, fronts.run_to, fronts.run_length
    n, m, at, into = fronts.columns[s], fronts.rows[s], fronts.panel[s], fronts.update[s]
    u[into + max(first - n, 0) * m : into + max(end - n, 0) * m] = 0.0
    for k in range(fronts.child_start[s], fronts.child_start[s + 1]):
        c = fronts.child[k]
        low, high, height = fronts.run_start[c], fronts.run_start[c + 1], fronts.rows[c]
        for a in range(low, high):
            for t in range(max(0, first - run_to[a]), min(run_length[a], end - run_to[a])):
                column, along = fronts.update[c] + (run_from[a] + t) * height, run_to[a] + t
                if along < n:
                    left = at + along * (n + m)
                    for b in range(low, high):
                        _add_multiple(1.0, u, column + run_from[b], x, left + run_to[b], run_length[b])
                    continue
                right, below = up + (along - n) * n, into + (along - n) * m - n
                for b in range(low, high):
                    if run_to[b] < n:
                        _add_multiple(1.0, u, column + run_from[b], x, right + run_to[b], run_length[b])
                    else:
                        _add_multiple(1.0, u, column + run_from[b], u, below + run_to[b], run_length[b])


@jit
def _narrow_lu(x, at, step, n, exchange):
    """Factor the n x n block in place, P A = L U, with partial pivoting."""
    for j in range(n):
        here, best = at + j * step, j
        for i in range(j + 1, n):
            if abs(x[here + i]) > abs(x[here + best]):
                best = i
        exchange[j] = best + 1
        if best != j:
            for k in range(n):
                x[at + k * step + j], x[at + k * step + best] = x[at + k * step + best], x[at + k * step + j]
        inverse = 1.0 / x[here + j]
        for i in range(j + 1, n):
            x[here + i] *= inverse
        for k in range(j + 1, n):
            column = at + k * step
            f = x[column + j]
            for i in range(j + 1, n):
                x[column + i] -= f * x[here + i]


@jit
def exchange_rows(x, up, n, m, exchange):
    """Apply the row exchanges of the pivots to the U panel."""
    for i in range(n):
        k = exchange[i] - 1
        if k != i:
            for j in range(m):
                a, b = up + j * n + i, up + j * n + k
                x[a], x[b] = x[b], x[a]


@jit
def _narrow_right(x, at, step, n, up, m):
    """The m columns right of the pivots <- L^-1 columns."""
    for j in range(m):
        column = x[up + j * n : up + j * n + n]
        for k in range(n):
            f, lower = column[k], x[at + k * step : at + k * step + n]
            for i in range(k + 1, n):
                column[i] -= f * lower[i]


@jit
def _narrow_below(x, at, step, n, m):
    """The m rows below the pivots <- rows U^-1."""
    for j in range(n):
        here = at + j * step
        column = x[here + n : here + n + m]
        k = 0
        while k + 2 <= j:
            one = x[at + k * step + n : at + k * step + n + m]
            two = x[at + (k + 1) * step + n : at + (k + 1) * step + n + m]
            f, g = x[here + k], x[here + k + 1]
            for i in range(m):
                column[i] -= f * one[i] + g * two[i]
            k += 2
        if k < j:
            one, f = x[at + k * step + n : at + k * step + n + m], x[here + k]
            for i in range(m):
                column[i] -= f * one[i]
        inverse = 1.0 / x[here + j]
        for i in range(m):
            column[i] *= inverse


@jit
def _narrow_update(x, at, step, n, m, up, u, into):
    """u (m, m) -= rows below times columns right."""
    for j in range(m):
        c, k, right = u[into + j * m : into + j * m + m], 0, up + j * n
        while k + 3 <= n:
            p, q, r = at + k * step, at + (k + 1) * step, at + (k + 2) * step
            one, two, three = x[p : p + m], x[q : q + m], x[r : r + m]
            f, g, h = x[right + k], x[right + k + 1], x[right + k + 2]
            for i in range(m):
                c[i] -= f * one[i] + g * two[i] + h * three[i]
            k += 3
        while k < n:
            one, f = x[at + k * step : at + k * step + m], x[right + k]
            for i in range(m):
                c[i] -= f * one[i]
            k += 1


@jit
def solve(plan, x, exchange, b, y, below, out):
    """out <- A^-1 b for the block rows in the factor.

    y (size,), below (largest number of rows of a front,): work arrays.
    """
    # 1. Forward substitution with P and L.
    x_address, y_address, below_address = x.ctypes.data, y.ctypes.data, below.ctypes.data
    fronts = plan.fronts
    count = fronts.columns.shape[0]
    for i in range(fronts.scalar.shape[0]):
        y[i] = b[fronts.scalar[i]]
    for s in range(count):
        n, m, at, head = fronts.columns[s], fronts.rows[s], fronts.panel[s], fronts.head[s]
        step = n + m
        for i in range(n):
            k = exchange[head + i] - 1
            if k != i:
                y[head + i], y[head + k] = y[head + k], y[head + i]
        if n <= NARROW:
            for j in range(n):
                _add_multiple(-y[head + j], x, at + j * step + j + 1, y, head + j + 1, n - j - 1)
        else:
            dtrsv((LOWER, NO, UNIT, n, x_address + 8 * at, step, y_address + 8 * head, 1))
        if m == 0 or n == 0:
            continue
        if n <= NARROW:
            below[:m] = 0.0
            for j in range(n):
                _add_multiple(y[head + j], x, at + j * step + n, below, 0, m)
        else:
            low = x_address + 8 * (at + n)
            dgemv((NO, m, n, 1.0, low, step, y_address + 8 * head, 1, 0.0, below_address, 1))
        subtract_reach(fronts, s, below, y)
    # 2. Backward substitution with U.
    for s in range(count - 1, -1, -1):
        n, m, at, up, head = fronts.columns[s], fronts.rows[s], fronts.panel[s], plan.upper[s], fronts.head[s]
        step = n + m
        if m > 0 and n > 0:
            gather_reach(fronts, s, y, below)
            if n <= NARROW:
                for j in range(m):
                    _add_multiple(-below[j], x, up + j * n, y, head, n)
            else:
                right = x_address + 8 * up
                dgemv((NO, n, m, -1.0, right, n, below_address, 1, 1.0, y_address + 8 * head, 1))
        if n <= NARROW:
            for j in range(n - 1, -1, -1):
                y[head + j] /= x[at + j * step + j]
                _add_multiple(-y[head + j], x, at + j * step, y, head, j)
        else:
            dtrsv((UPPER, NO, NO, n, x_address + 8 * at, step, y_address + 8 * head, 1))
    for i in range(fronts.scalar.shape[0]):
        out[fronts.scalar[i]] = y[i]


@jit
def _add_multiple(f, a, i, b, j, length):
    """b[j : j + length] += f a[i : i + length]."""
    part, into = a[i : i + length], b[j : j + length]
    for k in range(length):
        into[k] += f * part[k]


@jit
def without_open(matrix, b, out):
    """out <- b minus the contributions of inactive rows, those of the identity, to active rows.

    matrix: `BlockRows`.
    """
    offset, row_start, column, data_start, data, active = matrix
    for i in range(active.shape[0]):
        for a in range(offset[i], offset[i + 1]):
            out[a] = b[a]
        if not active[i]:
            continue
        for q in range(row_start[i], row_start[i + 1]):
            j = column[q]
            if active[j]:
                continue
            at = data_start[q]
            for a in range(offset[i], offset[i + 1]):
                for t in range(offset[j], offset[j + 1]):
                    out[a] -= data[at] * b[t]
                    at += 1


@jit
def residual(matrix, b, x, rest):
    """rest[0] <- b - A x; return the backward error, max over rows of |b - A x| / (|A| |x| + |b|).

    This is the error of Oettli & Prager (1964), with FLOOR times the largest row added to the size of each
    row, since the size of a small row may be a result of cancellation. Inactive rows are those of the
    identity. rest (2, size).
    """
    offset, row_start, column, data_start, data, active = matrix
    largest = 0.0
    for i in range(active.shape[0]):
        low, high = offset[i], offset[i + 1]
        for a in range(low, high):
            rest[0, a], rest[1, a] = b[a], abs(b[a])
            if not active[i]:
                rest[0, a] -= x[a]
        if active[i]:
            for q in range(row_start[i], row_start[i + 1]):
                j, at = column[q], data_start[q]
                for a in range(low, high):
                    s = size = 0.0
                    for t in range(offset[j], offset[j + 1]):
                        p = data[at] * x[t]
                        s += p
                        size += abs(p)
                        at += 1
                    rest[0, a] -= s
                    rest[1, a] += size
        for a in range(low, high):
            if not rest[1, a] < np.inf:
                return np.inf
            largest = max(largest, rest[1, a])
    worst = 0.0
    for a in range(rest.shape[1]):
        size = rest[1, a] + FLOOR * largest
        if abs(rest[0, a]) > worst * size:
            worst = abs(rest[0, a]) / size
    return worst
