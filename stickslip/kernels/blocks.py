"""Block matrices: W in block rows, and the rows of contacts over bodies.

Block rows: offset (nb + 1,) first components of the blocks, row_start (nb + 1,), column (nnzb,), data_start
(nnzb + 1,), data flat, each block row by row.
Rows over bodies: bodies (nb, 2), -1 for a fixed side; rows (n, 2, k), k velocities per body.
"""

from typing import Any, NamedTuple

import numpy as np

from stickslip.kernels.jit import jit, jit_inlined
from stickslip.kernels.lines import add_lines


class BlockW(NamedTuple):
    """W in block rows, nb blocks wide, with nnzb stored blocks including all diagonal ones."""

    offset: Any
    """First component of each block, then the number of components, shape (nb + 1,)."""
    row_start: Any
    """First stored block of each block row, then their number, shape (nb + 1,)."""
    column: Any
    """Block column of each stored block, shape (nnzb,)."""
    data_start: Any
    """Position of each stored block in `data`, then the size of `data`, shape (nnzb + 1,)."""
    data: Any
    """Entries of the blocks, each row by row [1/kg], shape (data_start[-1],)."""


@jit
def multiply(W, r, bias, u):
    """u <- W r + bias.   r, bias, u (n,); u and r are different arrays."""
    offset, row_start, column, data_start, data = W.offset, W.row_start, W.column, W.data_start, W.data
    for i in range(row_start.shape[0] - 1):
        a, d = offset[i], offset[i + 1] - offset[i]
        for k in range(d):
            u[a + k] = bias[a + k]
        for b in range(row_start[i], row_start[i + 1]):
            j = column[b]
            c, e, at = offset[j], offset[j + 1] - offset[j], data_start[b]
            if d == 3 and e == 3:
                r0, r1, r2 = r[c], r[c + 1], r[c + 2]
                u[a] += data[at] * r0 + data[at + 1] * r1 + data[at + 2] * r2
                u[a + 1] += data[at + 3] * r0 + data[at + 4] * r1 + data[at + 5] * r2
                u[a + 2] += data[at + 6] * r0 + data[at + 7] * r1 + data[at + 8] * r2
                continue
            for k in range(d):
                s = 0.0
                for m in range(e):
                    s += data[at + m] * r[c + m]
                u[a + k] += s
                at += e


@jit
def diagonal(W, out):
    """out <- diagonal of W.   out (n,)."""
    offset, row_start, column, data_start, data = W.offset, W.row_start, W.column, W.data_start, W.data
    for i in range(row_start.shape[0] - 1):
        a, d = offset[i], offset[i + 1] - offset[i]
        for k in range(d):
            out[a + k] = 0.0
        for b in range(row_start[i], row_start[i + 1]):
            if column[b] == i:
                for k in range(d):
                    out[a + k] = data[data_start[b] + k * d + k]


@jit
def fill(W, out):
    """out (n n,) <- W row by row; out must be 0 on entry."""
    offset, row_start, column, data_start, data = W.offset, W.row_start, W.column, W.data_start, W.data
    n = offset[-1]
    for i in range(row_start.shape[0] - 1):
        for b in range(row_start[i], row_start[i + 1]):
            at, j = data_start[b], column[b]
            for k in range(offset[i], offset[i + 1]):
                for m in range(offset[j], offset[j + 1]):
                    out[k * n + m] = data[at]
                    at += 1


@jit
def csr_blocks(offset, indptr, indices, values):
    """Return (row_start, column, data_start, data) of a CSR matrix, with all diagonal blocks.

    Duplicate entries are summed.
    """
    nb = offset.shape[0] - 1
    row_start, block_of = np.zeros(nb + 1, np.int64), np.empty(offset[nb], np.int64)
    for i in range(nb):
        block_of[offset[i] : offset[i + 1]] = i
    # 1. Block columns of each block row, ascending.
    column, mark, at = np.empty(indices.shape[0] + nb, np.int64), np.full(nb, -1), 0
    for i in range(nb):
        column[at], mark[i], at = i, i, at + 1
        for k in range(indptr[offset[i]], indptr[offset[i + 1]]):
            j = block_of[indices[k]]
            if mark[j] != i:
                column[at], mark[j], at = j, i, at + 1
        column[row_start[i] : at].sort()
        row_start[i + 1] = at
    column, data_start = column[:at].copy(), np.zeros(at + 1, np.int64)
    for i in range(nb):
        for b in range(row_start[i], row_start[i + 1]):
            e = offset[column[b] + 1] - offset[column[b]]
            data_start[b + 1] = data_start[b] + (offset[i + 1] - offset[i]) * e
    # 2. Entries; mark[j]: position of block j of the present block row.
    data = np.zeros(data_start[at])
    for i in range(nb):
        for b in range(row_start[i], row_start[i + 1]):
            mark[column[b]] = data_start[b]
        for row in range(offset[i], offset[i + 1]):
            for k in range(indptr[row], indptr[row + 1]):
                c = indices[k]
                j = block_of[c]
                e = offset[j + 1] - offset[j]
                data[mark[j] + (row - offset[i]) * e + c - offset[j]] += values[k]
    return row_start, column, data_start, data


@jit
def dense_blocks(offset, matrix):
    """Return (row_start, column, data_start, data) of a dense matrix, without zero off-diagonal blocks."""
    nb = offset.shape[0] - 1
    row_start, stored = np.zeros(nb + 1, np.int64), np.zeros((nb, nb), np.bool_)
    count = 0
    for i in range(nb):
        for j in range(nb):
            is_stored = i == j
            for k in range(offset[i], offset[i + 1]):
                for m in range(offset[j], offset[j + 1]):
                    is_stored = is_stored or matrix[k, m] != 0.0
            if is_stored:
                stored[i, j] = True
                row_start[i + 1] += 1
                count += (offset[i + 1] - offset[i]) * (offset[j + 1] - offset[j])
        row_start[i + 1] += row_start[i]
    column, data_start = np.empty(row_start[nb], np.int64), np.zeros(row_start[nb] + 1, np.int64)
    data = np.empty(count)
    b, at = 0, 0
    for i in range(nb):
        for j in range(nb):
            if stored[i, j]:
                column[b] = j
                for k in range(offset[i], offset[i + 1]):
                    for m in range(offset[j], offset[j + 1]):
                        data[at] = matrix[k, m]
                        at += 1
                b += 1
                data_start[b] = at
    return row_start, column, data_start, data


@jit
def block_entries(W, row, col, val):
    """row, col, val <- triplets of W, block by block.   each (len(data),)."""
    offset, row_start, column, data_start, data = W.offset, W.row_start, W.column, W.data_start, W.data
    at = 0
    for i in range(row_start.shape[0] - 1):
        for b in range(row_start[i], row_start[i + 1]):
            j = column[b]
            start = data_start[b]
            for k in range(offset[i], offset[i + 1]):
                for m in range(offset[j], offset[j + 1]):
                    row[at], col[at], val[at] = k, m, data[start]
                    start += 1
                    at += 1


RIGID = 6
"""Number of velocities of a rigid body. As a compile-time constant it halves the time of loops."""


@jit
def blocks_to_bodies(bodies, offset, rows, r, w):
    """w <- impulses on bodies: sum over contacts of their rows times r.   w (bodies, k)."""
    if w.shape[1] == RIGID:
        add_impulses(bodies, offset, rows, r, w, RIGID)
    else:
        add_impulses(bodies, offset, rows, r, w, w.shape[1])


@jit_inlined
def add_impulses(bodies, offset, rows, r, w, size):
    """Do the work of `blocks_to_bodies` for bodies of `size` velocities."""
    for b in range(w.shape[0]):
        for k in range(size):
            w[b, k] = 0.0
    for i in range(bodies.shape[0]):
        for side in range(2):
            b = bodies[i, side]
            if b >= 0:
                for j in range(offset[i], offset[i + 1]):
                    for k in range(size):
                        w[b, k] += rows[j, side, k] * r[j]


@jit
def bodies_to_blocks(bodies, offset, rows, w, bias, u):
    """u <- rows of the contacts times the velocities w of their bodies, plus bias.   u, bias (n,)."""
    if w.shape[1] == RIGID:
        add_velocities(bodies, offset, rows, w, bias, u, RIGID)
    else:
        add_velocities(bodies, offset, rows, w, bias, u, w.shape[1])


@jit_inlined
def add_velocities(bodies, offset, rows, w, bias, u, size):
    """Do the work of `bodies_to_blocks` for bodies of `size` velocities."""
    for i in range(bodies.shape[0]):
        for j in range(offset[i], offset[i + 1]):
            s = bias[j]
            for side in range(2):
                b = bodies[i, side]
                if b >= 0:
                    for k in range(size):
                        s += rows[j, side, k] * w[b, k]
            u[j] = s


@jit
def add_velocity(root, p, scaled, v):
    """v (k,) += F F' p of one body.   root (k, k), p (k,); scaled (k,) is overwritten."""
    for i in range(v.shape[0]):
        scaled[i] = 0.0
        for j in range(v.shape[0]):
            scaled[i] += root[j, i] * p[j]
    for i in range(v.shape[0]):
        for j in range(v.shape[0]):
            v[i] += root[i, j] * scaled[j]


@jit
def scale_rows(bodies, offset, rows, factor, out):
    """out <- rows times the factor F of each body, M^-1 = F F'.   factor (bodies, k, k)."""
    if rows.shape[2] == RIGID:
        multiply_rows(bodies, offset, rows, factor, out, RIGID)
    else:
        multiply_rows(bodies, offset, rows, factor, out, rows.shape[2])


@jit_inlined
def multiply_rows(bodies, offset, rows, factor, out, size):
    """Do the work of `scale_rows` for bodies of `size` velocities."""
    for i in range(bodies.shape[0]):
        for j in range(offset[i], offset[i + 1]):
            for side in range(2):
                b = bodies[i, side]
                for k in range(size):
                    s = 0.0
                    if b >= 0:
                        for m in range(size):
                            s += rows[j, side, m] * factor[b, m, k]
                    out[j, side, k] = s


@jit
def body_blocks(bodies, offset, rows):
    """Return the `BlockW` of W = rows rows', with blocks for contacts that share a body; for few contacts."""
    nb, n = offset.shape[0] - 1, rows.shape[0]
    row_start, column = np.zeros(nb + 1, np.int64), np.empty(nb * nb, np.int64)
    data_start, data, count, at = np.zeros(nb * nb + 1, np.int64), np.empty(n * n), 0, 0
    for i in range(nb):
        for j in range(nb):
            shared = i == j
            for side in range(2):
                b = bodies[i, side]
                shared = shared or (b >= 0 and (b == bodies[j, 0] or b == bodies[j, 1]))
            if not shared:
                continue
            for k in range(offset[i], offset[i + 1]):
                for m in range(offset[j], offset[j + 1]):
                    s = 0.0
                    for side in range(2):
                        for other in range(2):
                            if bodies[i, side] >= 0 and bodies[i, side] == bodies[j, other]:
                                for c in range(rows.shape[2]):
                                    s += rows[k, side, c] * rows[m, other, c]
                    data[at] = s
                    at += 1
            column[count] = j
            count += 1
            data_start[count] = at
        row_start[i + 1] = count
    return BlockW(offset, row_start, column[:count], data_start[: count + 1], data[:at])


@jit
def fill_from_bodies(bodies, offset, count, rows, out):
    """out (n n,) <- W = rows rows', row by row.   rows (n, 2, k), over `count` bodies."""
    n, k = rows.shape[0], rows.shape[2]
    # 1. Numbers of the bodies that take part.
    number, used = np.full(count, -1), 0
    for i in range(bodies.shape[0]):
        for side in range(2):
            b = bodies[i, side]
            if b >= 0 and number[b] < 0:
                number[b] = used
                used += 1
    # 2. Columns of `rows` over these bodies, each contiguous.
    columns, zeros, which = np.zeros((used * k, n)), np.zeros(n), np.empty(2 * k, np.int64)
    for i in range(bodies.shape[0]):
        for side in range(2):
            if bodies[i, side] >= 0:
                first = number[bodies[i, side]] * k
                for j in range(offset[i], offset[i + 1]):
                    for c in range(k):
                        columns[first + c, j] += rows[j, side, c]
    # 3. Each row of W is a sum of columns.
    for i in range(bodies.shape[0]):
        start, end = (0 if bodies[i, 0] >= 0 else k), (2 * k if bodies[i, 1] >= 0 else k)
        for side in range(2):
            for c in range(k):
                which[side * k + c] = number[max(bodies[i, side], 0)] * k + c
        for j in range(offset[i], offset[i + 1]):
            factors = rows[j].reshape(2 * k)
            add_lines(
                zeros, columns, which[start:end], factors[start:end], end - start, 0, out[j * n : j * n + n]
            )
