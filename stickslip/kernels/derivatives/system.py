"""Rows on pairs of bodies as matrices that are never made: products, and the complement C A⁻¹ B.

Rows are (m, 2, 6), their bodies (m, 2) with -1 for one that does not answer; the columns of a matrix on
bodies come six for each.
"""

from stickslip.kernels.jit import jit


@jit
def rows_times(rows, body, x, out):
    """out (m, k) <- rows times x (6 n, k)."""
    for r in range(rows.shape[0]):
        for c in range(x.shape[1]):
            out[r, c] = 0.0
        for side in range(2):
            b = body[r, side]
            if b < 0:
                continue
            for i in range(6):
                weight = rows[r, side, i]
                if weight == 0.0:
                    continue
                for c in range(x.shape[1]):
                    out[r, c] += weight * x[6 * b + i, c]


@jit
def add_transposed(rows, body, x, out):
    """out (6 n, k) += the transpose of rows times x (m, k)."""
    for r in range(rows.shape[0]):
        for side in range(2):
            b = body[r, side]
            if b < 0:
                continue
            for i in range(6):
                weight = rows[r, side, i]
                if weight == 0.0:
                    continue
                for c in range(x.shape[1]):
                    out[6 * b + i, c] += weight * x[r, c]


@jit
def complement(moves, acts, body, inverse, answer, S):
    """S (m, m) <- moves A⁻¹ acts'; answer (m, 2, 6) is overwritten with A⁻¹ acts.   inverse (n, 6, 6)."""
    m = body.shape[0]
    for r in range(m):
        for side in range(2):
            b = body[r, side]
            for i in range(6):
                answer[r, side, i] = 0.0
                if b >= 0:
                    for j in range(6):
                        answer[r, side, i] += inverse[b, i, j] * acts[r, side, j]
    for r in range(m):
        for c in range(m):
            total = 0.0
            for side in range(2):
                b = body[r, side]
                if b < 0:
                    continue
                for other in range(2):
                    if body[c, other] == b:
                        for i in range(6):
                            total += moves[r, side, i] * answer[c, other, i]
            S[r, c] = total
