"""Layout of a multifrontal P A = L U: positions of the values of the matrix and of its factor."""

from typing import NamedTuple

import numpy as np

from stickslip.kernels.jit import jit
from stickslip.linalg.kernels.fronts import Fronts, lay_out, offset_in_front
from stickslip.state import IntArray


class Plan(NamedTuple):
    """Layout of a factor, for given widths of the blocks; blocks of width 0 are removed."""

    fronts: Fronts
    upper: IntArray
    """Index of the U panel of each front, and the size of the factor [-], shape (fronts + 1,)."""
    to: IntArray
    """Index of each value of the matrix in the factor; its size for removed values [-], shape (values,)."""


@jit
def plan(tree, widths, offset, row_start, column, data_start, shared):
    """Return (`Plan`, size of the stack, job of each front) for a matrix in block rows.

    widths (n,), 0 for removed block rows, and offset (n + 1,) are in the order of the caller; row_start,
    column, data_start: blocks of the matrix, see `BlockRows`; shared: see `lay_out`.
    """
    n, count = widths.shape[0], tree.above.shape[0]
    shape, row_offset, final, stack, job = lay_out(tree, np.zeros(n, np.bool_), widths, offset, shared)
    columns, rows, panel, head = shape.columns, shape.rows, shape.panel, shape.head
    upper = np.empty(count + 1, np.int64)
    upper[0] = panel[count]
    for s in range(count):
        upper[s + 1] = upper[s] + columns[s] * rows[s]
    to = np.empty(data_start[-1], np.int64)
    for i in range(n):
        for b in range(row_start[i], row_start[i + 1]):
            j = column[b]
            if widths[i] == 0 or widths[j] == 0:
                to[data_start[b] : data_start[b + 1]] = upper[count]
                continue
            p, r = tree.place[i], tree.place[j]
            s = tree.front_of[min(p, r)]
            end = tree.first[s + 1]
            down = final[p] - head[s] if p < end else offset_in_front(tree, row_offset, s, p)
            if r < end:
                step = columns[s] + rows[s]
                corner = panel[s] + (final[r] - head[s]) * step + down
            else:
                step, along = columns[s], offset_in_front(tree, row_offset, s, r)
                corner = upper[s] + (along - step) * step + down
            at = data_start[b]
            for k in range(widths[i]):
                for q in range(widths[j]):
                    to[at] = corner + q * step + k
                    at += 1
    return Plan(shape, upper, to), stack, job
