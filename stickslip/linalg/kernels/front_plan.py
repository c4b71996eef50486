"""The shape of a multifrontal P A = L U: where each number of the matrix and of its factor goes."""

from typing import NamedTuple

import numpy as np

from stickslip.kernels.jit import jit
from stickslip.linalg.kernels.fronts import Fronts, found, lay_out
from stickslip.state import IntArray


class Plan(NamedTuple):
    """Where numbers go, for given widths of the blocks (0: the block is left out)."""

    fronts: Fronts
    upper: IntArray
    """Where the U panel of each front starts in the factor, and its length [-], shape (fronts + 1,)."""
    to: IntArray
    """Where each value of the matrix goes in the factor; past its end if left out [-], shape (values,)."""


@jit
def plan(tree, widths, offset, row_start, column, data_start, shared):
    """(`Plan`, numbers on the stack, job of each front) for a matrix in block rows.

    widths (n,), 0 where a block row is left out, and offset (n+1,) in the caller's order; row_start,
    column, data_start: its blocks; shared: as `lay_out` has it.
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
            down = final[p] - head[s] if p < end else found(tree, row_offset, s, p)
            if r < end:
                step = columns[s] + rows[s]
                corner = panel[s] + (final[r] - head[s]) * step + down
            else:
                step, along = columns[s], found(tree, row_offset, s, r)
                corner = upper[s] + (along - step) * step + down
            at = data_start[b]
            for k in range(widths[i]):
                for q in range(widths[j]):
                    to[at] = corner + q * step + k
                    at += 1
    return Plan(shape, upper, to), stack, job
