"""The judge's measures for each form of small problem: W dense or in blocks, global problems, and boxes.

Every kernel computes them from the arrays of the problem and from r alone. Velocities, scales and factors of
a solver are not used.
"""

import math

import numpy as np

from stickslip.kernels import blocks, cones, dense_lu
from stickslip.kernels.jit import jit
from stickslip.kernels.residuals import (
    APPROACH,
    EXACT,
    IMPULSE,
    MEASURES,
    MOST_ROUNDING,
    NATURAL,
    ROUNDING,
    SCALED,
    VELOCITY,
    WORK,
    WORST,
    measure,
)

NOTHING = 1e-280
"""Sums of squares below this count as 0: squares of such numbers underflow."""


@jit
def measure_blocks(K, W, r, u_free):
    """Return (measures, u) of r for W in blocks.   K, W: a `Cones` and a `BlockW`, each as a plain tuple."""
    u, diagonal, matrix = np.empty(r.shape[0]), np.empty(r.shape[0]), blocks.BlockW(*W)
    blocks.multiply(matrix, r, u_free, u)
    blocks.diagonal(matrix, diagonal)
    return measure(cones.Cones(*K), EXACT, diagonal, r, u, u_free), u


@jit
def judge_dense(K, W, r, u_free):
    """Return (measures, u) of r for W (n n,) dense, row by row."""
    n = r.shape[0]
    u, diagonal = np.empty(n), np.empty(n)
    velocities(K[1], W, r, u_free, u)
    for k in range(n):
        diagonal[k] = W[k * n + k]
    return measure(cones.Cones(*K), EXACT, diagonal, r, u, u_free), u


@jit
def measure_global(K, M, H, f, u_bias, r, v):
    """Return (measures, equilibrium, u) of r (n,) and v (nv,) for a global problem without joints.

    K: a `Cones` as a plain tuple; M (nv, nv), H (nv, n), f (nv,), u_bias (n,). equilibrium is the relative
    error of M v = f + H r, the larger one of momenta and of velocities: beside the momentum of a heavy body
    that of a light one is rounding.
    """
    nv, n = H.shape
    pushed, diagonal, u, u_free = np.zeros(nv), np.zeros(n), u_bias.copy(), u_bias.copy()
    for j in range(nv):
        for k in range(n):
            pushed[j] += H[j, k] * r[k]
    solved = solved_by_mass(M, H, f, f + pushed)
    error = error_v = own = 0.0
    sums = np.zeros(5)  # squares of M v, f, pushed; v, v_free
    for j in range(nv):
        momentum, v_free, moved = 0.0, solved[j, 0], solved[j, 1]
        for k in range(nv):
            momentum += M[j, k] * v[k]
        error += (momentum - f[j] - pushed[j]) ** 2
        error_v += (v[j] - moved) ** 2
        sums[0], sums[1], sums[2] = sums[0] + momentum**2, sums[1] + f[j] ** 2, sums[2] + pushed[j] ** 2
        sums[3], sums[4] = sums[3] + v[j] ** 2, sums[4] + v_free**2
        for k in range(n):
            h = H[j, k]
            u[k] += h * v[j]
            u_free[k] += h * v_free
            diagonal[k] += h * solved[j, 2 + k]
    for k in range(n):
        own += (diagonal[k] * r[k]) ** 2
    out = measure(cones.Cones(*K), EXACT, diagonal, r, u, u_free)
    by_momentum = relative(error, max(sums[0], sums[1], sums[2]))
    return out, max(by_momentum, relative(error_v, max(sums[3], sums[4], own))), u


@jit
def solved_by_mass(M, H, f, p):
    """Return M^-1 (f, p, H), columns in this order, shape (nv, 2 + n); NaN if M is singular."""
    nv, n = H.shape
    A, X = M.copy(), np.empty((nv, 2 + n))
    for j in range(nv):
        X[j, 0], X[j, 1] = f[j], p[j]
        for k in range(n):
            X[j, 2 + k] = H[j, k]
    if not dense_lu.solve_columns(A, X, nv, 2 + n):
        X[:] = math.nan
    return X


@jit
def relative(error, scale):
    """Return sqrt(error / scale) of two sums of squares: 0 if error is at most NOTHING, inf if scale is 0,
    NaN if either is NaN."""
    if error != error or scale != scale:
        return math.nan
    if error <= NOTHING:
        return 0.0
    if scale == 0.0:
        return math.inf
    return math.sqrt(error) / math.sqrt(scale)


@jit
def velocities(offset, W, r, u_free, u):
    """u <- W r + u_free, summed block by block, with the same bits as the product of W in blocks."""
    n = r.shape[0]
    for k in range(n):
        u[k] = u_free[k]
    for j in range(offset.shape[0] - 1):
        c, d = offset[j], offset[j + 1] - offset[j]
        if is_zero(r, c, d):
            continue
        if d == 3:
            r0, r1, r2 = r[c], r[c + 1], r[c + 2]
            for k in range(n):
                at = k * n + c
                u[k] += W[at] * r0 + W[at + 1] * r1 + W[at + 2] * r2
            continue
        for k in range(n):
            s = 0.0
            for m in range(c, c + d):
                s += W[k * n + m] * r[m]
            u[k] += s


@jit
def is_zero(x, a, d):
    """Whether x[a : a + d] is 0."""
    zero = True
    for k in range(a, a + d):
        zero = zero and x[k] == 0.0
    return zero


@jit
def measure_box(A, b, lower, upper, z):
    """Return (measures, w) of z for a dense box problem, w = A z + b.   A (n n,) row by row."""
    n = b.shape[0]
    w, diagonal, out = np.empty(n), np.empty(n), np.empty(MEASURES)
    values(A, b, z, w)
    for i in range(n):
        diagonal[i] = A[i * n + i]
    box_norms(diagonal, b, lower, upper, z, w, out)
    if out[VELOCITY] > 0.0:
        scale, speeds, sizes = 0.0, np.empty(n), np.empty(n)
        for i in range(n):
            bound, terms = 0.0, 0.0
            for j in range(n):
                a = abs(A[i * n + j])
                bound += a * largest_bound(lower[j], upper[j])
                terms += a * abs(z[j])
            scale, sizes[i] = max(scale, abs(b[i]), bound), terms
            speeds[i] = unanswered(lower[i], upper[i], w[i])
        out[APPROACH] = box_approach(speeds, sizes, scale)
    return out, w


@jit
def values(A, b, z, w):
    """w <- A z + b.   A (n n,) row by row."""
    n = b.shape[0]
    for i in range(n):
        s = 0.0
        for j in range(n):
            s += A[i * n + j] * z[j]
        w[i] = s + b[i]


@jit
def box_scales(diagonal, rho):
    """rho (n,) <- 1 / |A_ii|; where A_ii is 0 the inverse of the mean of the others, 1 if all are 0."""
    total, count = 0.0, 0
    for i in range(diagonal.shape[0]):
        size = abs(diagonal[i])
        total, count = total + size, count + (1 if size > 0.0 else 0)
    for i in range(diagonal.shape[0]):
        size = abs(diagonal[i])
        rho[i] = 1.0 / size if size > 0.0 else (count / total if count > 0 else 1.0)


@jit
def box_norms(diagonal, b, lower, upper, z, w, out):
    """out (MEASURES,) <- all measures of z with w = A z + b between bounds except APPROACH, which is 0.

    NATURAL is |z - P(z - w)|_inf / max(1, |b|_inf), SCALED the same with rho = 1 / |A_ii| and without the 1,
    both written so that a large z does not absorb w. NaN if z or w has one.
    """
    n, rho = b.shape[0], np.empty(b.shape[0])
    box_scales(diagonal, rho)
    scale, size, gap, gap_scaled = 1.0, 0.0, 0.0, -1.0
    out[:] = 0.0
    out[WORST] = -1.0
    for i in range(n):
        low, high = z[i] - upper[i], z[i] - lower[i]
        if w[i] != w[i] or z[i] != z[i]:
            for k in range(MEASURES):
                out[k] = math.nan
            out[WORST] = i
            return
        gap = max(gap, abs(min(max(w[i], low), high)))
        scaled = abs(min(max(rho[i] * w[i], low), high))
        if scaled > gap_scaled:
            gap_scaled, out[WORST] = scaled, i
        scale = max(scale, abs(b[i]))
        size = max(size, abs(z[i]), abs(rho[i] * b[i]), abs(rho[i] * w[i]))
        out[IMPULSE] = max(out[IMPULSE], abs(z[i] - min(max(z[i], lower[i]), upper[i])))
        out[VELOCITY] = max(out[VELOCITY], unanswered(lower[i], upper[i], w[i]))
        inside = z[i] - lower[i] if w[i] > 0.0 else upper[i] - z[i]
        if abs(inside) < math.inf and w[i] != 0.0:
            out[WORK] = max(out[WORK], abs(inside * w[i]))
    out[NATURAL] = gap / scale
    out[SCALED] = gap_scaled / size if size > 0.0 else 0.0


@jit
def box_approach(speeds, sizes, scale):
    """Return the largest violation of w_i at an infinite bound over the scale of the data; 0 if it is
    rounding of A z.

    speeds (n,): the violations; sizes (n,): |A| |z|; scale: the largest of |b| and of |A| |finite bounds|.
    """
    closing = 0.0
    for i in range(speeds.shape[0]):
        if speeds[i] > min(ROUNDING * sizes[i], MOST_ROUNDING * scale):
            closing = max(closing, speeds[i])
    if closing == 0.0:
        return 0.0
    return closing / scale if scale > 0.0 else math.inf


@jit
def unanswered(low, high, w):
    """Return |w| if its sign calls for an infinite bound, else 0."""
    speed = 0.0
    if high == math.inf:
        speed += max(-w, 0.0)
    if low == -math.inf:
        speed += max(w, 0.0)
    return speed


@jit
def largest_bound(low, high):
    """Return the larger absolute value of the finite bounds; 0 if there is none."""
    bound = abs(low) if abs(low) < math.inf else 0.0
    return max(bound, abs(high)) if abs(high) < math.inf else bound
