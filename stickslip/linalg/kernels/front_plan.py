"""The shape of a multifrontal P A = L U: where each number of the matrix and of its factor goes."""

from collections import namedtuple

import numpy as np

from stickslip.kernels.jit import jit
from stickslip.linalg.kernels import fronts

Tree = namedtuple("Tree", "permutation place first above child_start child row_start row front_of")
"""What the graph alone decides, in blocks: final order and its inverse (n,), first block, parent and
children of each front, the blocks below its pivots, and the front of each block."""

Plan = namedtuple(
    "Plan",
    "scalar head columns rows panel upper update child_start child"
    " run_start run_from run_to run_length reach_start reach_to reach_length to",
)
"""Where numbers go, for given widths of the blocks (0: the block is left out).

scalar (size,)         the caller's place of each scalar column, in the final order
head, columns, rows    first scalar column, pivots, and rows below of each front (fronts,)
panel, upper           where its L panel and its U panel start in the factor (fronts+1,)
update (fronts,)       where its update matrix starts on the stack
child_start .. reach   as in `fronts.Fronts`
to (values,)           where each value of the matrix goes in the factor; past its end if left out
"""


@jit
def plan(tree, widths, offset, row_start, column, data_start):
    """(fields of a Plan, numbers on the stack) for a matrix in block rows.

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
    many = tree.row.shape[0]
    row_offset, columns, rows = np.empty(many, np.int64), np.empty(count, np.int64), np.empty(count, np.int64)
    panel, update, negative = (
        np.empty(count + 1, np.int64),
        np.empty(count, np.int64),
        np.empty(count, np.int64),
    )
    stack = fronts.sizes(
        tree.permutation, np.zeros(n, np.bool_), final, tree.first, tree.row_start, tree.row, tree.above,
        tree.child_start, tree.child, (row_offset, columns, rows, panel, update, negative),
    )  # fmt: skip
    upper, head = np.empty(count + 1, np.int64), np.empty(count, np.int64)
    upper[0] = panel[count]
    for s in range(count):
        upper[s + 1] = upper[s] + columns[s] * rows[s]
        head[s] = final[tree.first[s]]
    family = (
        np.empty(count + 1, np.int64),
        np.empty(many, np.int64),
        np.empty(many, np.int64),
        np.empty(many, np.int64),
    )
    reach = (np.empty(count + 1, np.int64), np.empty(many, np.int64), np.empty(many, np.int64))
    fronts.runs(final, tree.first, columns, tree.row_start, tree.row, row_offset, tree.above, family, reach)
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
            down = final[p] - head[s] if p < end else fronts.found(tree.row, tree.row_start, row_offset, s, p)
            if r < end:
                step = columns[s] + rows[s]
                corner = panel[s] + (final[r] - head[s]) * step + down
            else:
                step, along = columns[s], fronts.found(tree.row, tree.row_start, row_offset, s, r)
                corner = upper[s] + (along - step) * step + down
            at = data_start[b]
            for k in range(widths[i]):
                for q in range(widths[j]):
                    to[at] = corner + q * step + k
                    at += 1
    return (
        scalar, head, columns, rows, panel, upper, update, tree.child_start, tree.child,
        family[0], family[1], family[2], family[3], reach[0], reach[1], reach[2], to,
    ), stack  # fmt: skip
