"""Numeric multifrontal factorisation K = L S L' of a quasi-definite matrix with known S = diag(±1).

K = [M H; H' -D] with positive definite M and D has such a factor for any order (Vanderbei 1995). The negative
pivots of each front come first, so that a front consists of two definite panels, which Cholesky
factorisations and BLAS handle. Pivots below a small multiple of their scale are replaced (dynamic
regularisation).
"""

from stickslip.kernels.jit import jit, jit_without_lock
from stickslip.linalg.kernels import panels
from stickslip.linalg.kernels.blas import LOWER, NO, RIGHT, TRANSPOSED, dgemm, dsyrk, dtrsm

WIDTH = 24
"""Number of columns that are factored at once with checks of each pivot (heuristic)."""


@jit_without_lock
def factorise(fronts, blocks, values, x, u, shift, scale, rule, first, end):
    """x <- L of K plus shifts of its pivots, for the fronts from `first` to `end` - 1.

    Return (number of replaced pivots, first column with a non-finite pivot or -1). The fronts below these in
    the tree must be factored. shift (size,): added to the magnitudes of pivots; scale (size,): scales of
    pivots; rule: (least, replacement): a pivot at or below least times its scale is replaced by replacement
    times its scale.
    """
    x_address, u_address = x.ctypes.data, u.ctypes.data
    replaced = 0
    for s in range(first, end):
        n, m, at = fronts.columns[s], fronts.rows[s], fronts.panel[s]
        step, head, into = n + m, fronts.head[s], fronts.update[s]
        # 1. Entries of the matrix and of the children; the negative panel with changed sign; shifts.
        x[at : at + n * step] = 0.0
        panels.scatter(blocks, s, values, x, step)
        panels.add_children(fronts, s, u, x, at, step, True, 0, n)
        minus = fronts.negative[s]
        plus, corner = n - minus, at + minus * step + minus
        for j in range(minus):
            for i in range(at + j * step + j, at + (j + 1) * step):
                x[i] = -x[i]
        for j in range(n):
            x[at + j * step + j] += shift[head + j]
        # 2. Negative pivots, and their contribution to the positive panel.
        if minus > 0:
            changed, bad = _definite(x, x_address, at, step, minus, scale[head : head + minus], rule)
            if bad >= 0:
                return replaced, head + bad
            replaced += changed
            panels.divide(x, x_address, at, step, minus, step - minus)
            if plus > 0:
                left = x_address + 8 * (at + minus)
                dsyrk((LOWER, NO, plus, minus, 1.0, left, step, 1.0, x_address + 8 * corner, step))
                if m > 0:
                    low, here = x_address + 8 * (at + n), x_address + 8 * (corner + plus)
                    dgemm((NO, TRANSPOSED, m, plus, minus, 1.0, low, step, left, step, 1.0, here, step))
        # 3. Positive pivots.
        if plus > 0:
            changed, bad = _definite(x, x_address, corner, step, plus, scale[head + minus : head + n], rule)
            if bad >= 0:
                return replaced, head + minus + bad
            replaced += changed
            panels.divide(x, x_address, corner, step, plus, m)
        if m == 0:
            continue
        # 4. Update matrix, from both panels and the children.
        low, added = x_address + 8 * (at + n), 0.0
        if minus > 0:
            dsyrk((LOWER, NO, m, minus, 1.0, low, step, 0.0, u_address + 8 * into, m))
            added = 1.0
        if plus > 0:
            low += 8 * minus * step
            dsyrk((LOWER, NO, m, plus, -1.0, low, step, added, u_address + 8 * into, m))
        panels.add_children(fronts, s, u, u, into, m, False, 0, m)
    return replaced, -1


@jit
def _definite(x, x_address, at, step, n, scale, rule):
    """Factor the n x n block in place; return (number of replaced pivots, first non-finite pivot or -1)."""
    replaced = 0
    for j in range(0, n, WIDTH):
        w, here = min(WIDTH, n - j), at + j * step + j
        rest = n - j - w
        changed, bad = panels.cholesky(x, here, step, w, scale[j : j + w], rule)
        if bad >= 0:
            return replaced, j + bad
        replaced += changed
        if rest > 0:
            top, low = x_address + 8 * here, x_address + 8 * (here + w)
            dtrsm((RIGHT, LOWER, TRANSPOSED, NO, rest, w, 1.0, top, step, low, step))
            corner = x_address + 8 * (here + w * step + w)
            dsyrk((LOWER, NO, rest, w, -1.0, low, step, 1.0, corner, step))
    return replaced, -1
