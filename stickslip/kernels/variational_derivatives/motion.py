"""Bodies over a step to first order: momenta by velocities, displacements at the end by Cayley's map."""

import math

from stickslip.kernels.jit import jit
from stickslip.kernels.variational.momentum import momentum, momentum_slope


@jit
def momenta(mass, J, v, h, out):
    """out (n, 6) <- P(v) of all bodies.   J (n, 3, 3), v (n, 6)."""
    for n in range(v.shape[0]):
        momentum(mass[n], J[n], h, v[n], out[n])


@jit
def momentum_slopes(mass, J, v, h, out):
    """out (n, 6, 6) <- ∂P/∂v of all bodies.   J (n, 3, 3), v (n, 6)."""
    for n in range(v.shape[0]):
        momentum_slope(mass[n], J[n], h, v[n], out[n])


@jit
def end_slopes(v, h, by_turn, by_spin, by_h):
    """Of displacements at the end: by_turn ∂δθ₊/∂δθ, by_spin ∂δθ₊/∂Ω (n, 3, 3), by_h (n, 6) <- those of v
    (n, 6) over a step h: with a = h Ω / 2, δθ₊ = Q'δθ and h (δΩ - a × δΩ) / (1 + a·a)."""
    for n in range(v.shape[0]):
        a = 0.5 * h * v[n, 3:]
        square = a[0] * a[0] + a[1] * a[1] + a[2] * a[2]
        scale = 1.0 / (1.0 + square)
        for i in range(3):
            for j in range(3):
                own = 1.0 if i == j else 0.0
                turned = 0.0  # [a]×
                if j == (i + 1) % 3:
                    turned = -a[(i + 2) % 3]
                elif j == (i + 2) % 3:
                    turned = a[(i + 1) % 3]
                by_turn[n, i, j] = own + 2.0 * scale * (a[i] * a[j] - square * own - turned)
                by_spin[n, i, j] = h * scale * (own - turned)
            by_h[n, i], by_h[n, 3 + i] = v[n, i], scale * v[n, 3 + i]


@jit
def slope_inverses(A, out):
    """out <- A⁻¹ of the blocks that `momentum_slopes` gives: a mass, and what turns.   A, out (n, 6, 6)."""
    for n in range(A.shape[0]):
        for i in range(6):
            for j in range(6):
                out[n, i, j] = 0.0
        for i in range(3):
            out[n, i, i] = 1.0 / A[n, i, i]
        K, X = A[n, 3:, 3:], out[n, 3:, 3:]
        for i in range(3):
            a, b = (i + 1) % 3, (i + 2) % 3
            for j in range(3):
                c, d = (j + 1) % 3, (j + 2) % 3
                X[j, i] = K[a, c] * K[b, d] - K[a, d] * K[b, c]
        det = K[0, 0] * X[0, 0] + K[0, 1] * X[1, 0] + K[0, 2] * X[2, 0]
        for i in range(3):
            for j in range(3):
                X[i, j] /= det


@jit
def rows_from_end(rows, body, by_turn, by_spin, by_h, h, on_v, on_q, on_h):
    """on_v, on_q (m, 2, 6), on_h (m,) <- rows of displacements at the end as rows of velocities and of
    displacements at the start, and their sums by h; body (m, 2), -1 for none.   rows (m, 2, 6)."""
    for k in range(rows.shape[0]):
        on_h[k] = 0.0
        for side in range(2):
            b = body[k, side]
            for i in range(6):
                on_v[k, side, i] = on_q[k, side, i] = 0.0
            if b < 0:
                continue
            row = rows[k, side]
            for i in range(3):
                on_v[k, side, i], on_q[k, side, i] = h * row[i], row[i]
                for j in range(3):
                    on_v[k, side, 3 + j] += row[3 + i] * by_spin[b, i, j]
                    on_q[k, side, 3 + j] += row[3 + i] * by_turn[b, i, j]
            for i in range(6):
                on_h[k] += row[i] * by_h[b, i]


@jit
def row_weights(rows, body, light, fast, least, w, scale):
    """w, scale (m,) <- velocity of a unit impulse along rows (m, 2, 6), and velocities that move them; light
    (n, 6, 6) answers of bodies, fast (n, 6) their velocities, least: speed of an arm that is negligible."""
    for k in range(rows.shape[0]):
        answer, speed, arm = 0.0, 0.0, 0.0
        for side in range(2):
            b = body[k, side]
            row = rows[k, side]
            for i in range(6):
                if i >= 3:
                    arm += row[i] * row[i]
                if b < 0:
                    continue
                speed += abs(row[i]) * fast[b, i]
                for j in range(6):
                    answer += row[i] * light[b, i, j] * row[j]
        w[k] = max(answer, 1e-300)
        scale[k] = speed + least * math.sqrt(arm)
