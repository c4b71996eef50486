"""The shape of a multifrontal P A = L U: where each number of the matrix and of its factor goes."""

from typing import NamedTuple

import numpy as np

from stickslip.kernels.jit import jit
from stickslip.linalg.kernels import fronts
from stickslip.state import IntArray


class Plan(NamedTuple):
    """Where numbers go, for given widths of the blocks (0: the block is left out); beside fields of
    `fronts.Tree`, `Sizes` and `Runs`:"""

    scalar: IntArray
    """The caller's place of each scalar column, in the final order [-], shape (size,)."""
    head: IntArray
    """First scalar column of each front [-], shape (fronts,)."""
    columns: IntArray
    rows: IntArray
    panel: IntArray
    upper: IntArray
    """Where the U panel of each front starts in the factor, and its length [-], shape (fronts + 1,)."""
    update: IntArray
    child_start: IntArray
    child: IntArray
    run_start: IntArray
    run_from: IntArray
    run_to: IntArray
    run_length: IntArray
    reach_start: IntArray
    reach_to: IntArray
    reach_length: IntArray
    to: IntArray
    """Where each value of the matrix goes in the factor; past its end if left out [-], shape (values,)."""


@jit
def plan(tree, widths, offset, row_start, column, data_start):
    """(`Plan`, numbers on the stack) for a matrix in block rows.

    widths (n,), 0 where a block row is left out, and offset (n+1,) in the caller's order; row_start,
    column, data_start: its blocks.
    """
    n, count = widths.shape[0], tree.above.shape[0]
    final = np.empty(n + 1, np.int64)
    final[0] = 0
    for p in range(n):
        final[p + 1] = final[p] + widths[tree.permutation[p]]
    scalar = np.empty(final[n], np.int64)
    for p in range(n):
        for k in range(final[p + 1] - final[p]):
            scalar[final[p] + k] = offset[tree.permutation[p]] + k
    size, stack = fronts.sizes(tree, np.zeros(n, np.bool_), final)
    columns, rows, panel = size.columns, size.rows, size.panel
    upper, head = np.empty(count + 1, np.int64), np.empty(count, np.int64)
    upper[0] = panel[count]
    for s in range(count):
        upper[s + 1] = upper[s] + columns[s] * rows[s]
        head[s] = final[tree.first[s]]
    run = fronts.runs(tree, size, final)
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
            down = final[p] - head[s] if p < end else fronts.found(tree, size, s, p)
            if r < end:
                step = columns[s] + rows[s]
                corner = panel[s] + (final[r] - head[s]) * step + down
            else:
                step, along = columns[s], fronts.found(tree, size, s, r)
                corner = upper[s] + (along - step) * step + down
            at = data_start[b]
            for k in range(widths[i]):
                for q in range(widths[j]):
                    to[at] = corner + q * step + k
                    at += 1
    return Plan(
        scalar, head, columns, rows, panel, upper, size.update, tree.child_start, tree.child,
        run.run_start, run.run_from, run.run_to, run.run_length, run.reach_start, run.reach_to,
        run.reach_length, to,
    ), stack  # fmt: skip
