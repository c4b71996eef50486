"""Interior point on contacts split into second-order cones: what is done cone by cone.

Entry q of the cones belongs to component place[q] of r: z = sign r[place] + constant in the cones, and
u = J y with J' r = sign r[place], so J y sums sign y over the entries of a component. Cones start at
start, size entries each; those of contact i are cone_start[i] to cone_start[i + 1].
Nguyen 2021, (1.18) for the unscaled matrices, (1.31) for those scaled after Nesterov and Todd.
"""

import math

import numpy as np

from stickslip.kernels import jordan
from stickslip.kernels.jit import jit

PLAIN, BY_POINT, BY_F = 0, 1, 2
"""Scaling: none, by Q_p, by F."""


@jit
def slack(place, sign, constant, r, z):
    """z <- J' r + constant."""
    for q in range(place.shape[0]):
        z[q] = sign[q] * r[place[q]] + constant[q]


@jit
def gather(place, sign, y, out):
    """out <- J y."""
    out[:] = 0.0
    for q in range(place.shape[0]):
        out[place[q]] += sign[q] * y[q]


@jit
def slip(cone_start, start, size, shifted, y, shift, slope):
    """shift (contacts,) <- sum of |y_rest| over the cones of each contact, its mu |u_T| + mu_roll |u_R|.

    slope <- its derivative by y; both 0 for contacts that are not shifted.
    """
    for i in range(cone_start.shape[0] - 1):
        shift[i] = 0.0
        for c in range(cone_start[i], cone_start[i + 1]):
            o, square = start[c], 0.0
            for k in range(1, size[c]):
                square += y[o + k] * y[o + k]
            rest = shifted[i] * math.sqrt(square)
            shift[i] += rest
            slope[o] = 0.0
            for k in range(1, size[c]):
                slope[o + k] = y[o + k] / rest if rest > 0.0 else 0.0


@jit
def add_slope(offset, cone_start, start, size, place, sign, slope, G, D):
    """D += -e_N slope' G J': what the derivative of the shift adds to J G J'."""
    at = 0
    for i in range(offset.shape[0] - 1):
        first, d = offset[i], offset[i + 1] - offset[i]
        for c in range(cone_start[i], cone_start[i + 1]):
            o = start[c]
            for b in range(size[c]):
                s = 0.0
                for a in range(1, size[c]):
                    s += slope[o + a] * G[c, a, b]
                D[at + place[o + b] - first] -= sign[o + b] * s
        at += d * d


@jit
def gather_slope(offset, cone_start, start, size, slope, y, out):
    """out -= e_N slope' y."""
    for i in range(offset.shape[0] - 1):
        for c in range(cone_start[i], cone_start[i + 1]):
            for q in range(start[c] + 1, start[c] + size[c]):
                out[offset[i]] -= slope[q] * y[q]


@jit
def scale(scaling, start, size, y, z, G, F, F_inverse, lam, work):
    """G with dy = t - G dz: Q_p^-2, or arw(z)^-1 arw(y) without scaling; and the scaling.   work (3, n)."""
    if scaling == BY_F:
        jordan.scale(start, size, y, z, G, F, F_inverse, lam)
    elif scaling == BY_POINT:
        jordan.scale_by_point(start, size, y, z, G, F, F_inverse, lam, work)
    else:
        for c in range(size.shape[0]):
            _ratio(start[c], size[c], y, z, G[c])


@jit
def _ratio(o, m, y, z, G):
    """G <- arw(z)^-1 arw(y) of one cone."""
    rest, along = 0.0, 0.0
    for k in range(1, m):
        rest += z[o + k] * z[o + k]
        along += z[o + k] * y[o + k]
    rest = math.sqrt(rest)
    det = (z[o] - rest) * (z[o] + rest)
    for b in range(m):  # column b of arw(y) is y_b e_0 + y_0 e_b, or y itself
        head, inner = y[o + b], along if b == 0 else z[o + b] * y[o]
        first = (z[o] * head - inner) / det
        G[0, b] = first
        for k in range(1, m):
            column = y[o + k] if b == 0 else (y[o] if k == b else 0.0)
            G[k, b] = (column - first * z[o + k]) / z[o]


@jit
def contact_blocks(offset, cone_start, start, size, place, sign, G, D):
    """D <- J G J', one block per contact after the other, flat, row-major."""
    at = 0
    for i in range(offset.shape[0] - 1):
        first, d = offset[i], offset[i + 1] - offset[i]
        D[at : at + d * d] = 0.0
        for c in range(cone_start[i], cone_start[i + 1]):
            o = start[c]
            for a in range(size[c]):
                row = at + (place[o + a] - first) * d - first
                for b in range(size[c]):
                    D[row + place[o + b]] += sign[o + a] * sign[o + b] * G[c, a, b]
        at += d * d


@jit
def target(scaling, start, size, y, z, F, F_inverse, lam, dy, dz, barrier, second, t, work):
    """t <- -y + barrier z^-1 - second-order term, with dy = t - G dz.

    The second-order term of the affine step dy, dz is arw(z)^-1 (dy o dz) without scaling, and
    F^-1 arw(lam)^-1 [(F dy) o (F^-1 dz)] with it. barrier: 2 sigma kappa; work (3, n).
    """
    jordan.inverse(start, size, z, t)
    for q in range(t.shape[0]):
        t[q] = barrier * t[q] - y[q]
    if not second:
        return
    a, b, c = work[0], work[1], work[2]
    if scaling == PLAIN:
        jordan.product(start, size, dy, dz, a)
        jordan.divide(start, size, z, a, b)
    else:
        jordan.apply(start, size, F, dy, a)
        jordan.apply(start, size, F_inverse, dz, b)
        jordan.product(start, size, a, b, c)
        jordan.divide(start, size, lam, c, a)
        jordan.apply(start, size, F_inverse, a, b)
    for q in range(t.shape[0]):
        t[q] -= b[q]


@jit
def steps(scaling, start, size, place, sign, G, t, dr, y, z, dy, dz, length, work):
    """dz <- J' dr, dy <- t - G dz; length <- longest steps of y and of z, and the gap after at most 1.

    With scaling G is given as F^-1, of which it is the square.   work (entries,).
    """
    for q in range(place.shape[0]):
        dz[q] = sign[q] * dr[place[q]]
    if scaling == PLAIN:
        jordan.apply(start, size, G, dz, dy)
    else:  # G dz would hold the square of what these hold, and lose twice the digits
        jordan.apply(start, size, G, dz, work)
        jordan.apply(start, size, G, work, dy)
    for q in range(place.shape[0]):
        dy[q] = t[q] - dy[q]
    length[0] = jordan.longest_step(start, size, y, dy)
    length[1] = jordan.longest_step(start, size, z, dz)
    p, d = min(1.0, length[0]), min(1.0, length[1])
    gap = 0.0
    for q in range(place.shape[0]):
        gap += (y[q] + p * dy[q]) * (z[q] + d * dz[q])
    length[2] = gap


@jit
def recentre(start, size, F, F_inverse, lam, y, z, dy, dz, alpha, low, t, work):
    """t <- F^-1 arw(lam)^-1 of what raises the eigenvalues of (F y) o (F^-1 z) to low, where they are below.

    At y + alpha dy, z + alpha dz: Gondzio 1996, section 3, with eigenvalues for products of components,
    and without the large ones, which do not shorten steps. work (3, entries).
    """
    a, b, c = work[0], work[1], work[2]
    for q in range(y.shape[0]):
        t[q], c[q] = y[q] + alpha * dy[q], z[q] + alpha * dz[q]
    jordan.apply(start, size, F, t, a)
    jordan.apply(start, size, F_inverse, c, b)
    jordan.product(start, size, a, b, c)
    for i in range(size.shape[0]):
        o, m = start[i], size[i]
        square = 0.0
        for k in range(1, m):
            square += c[o + k] * c[o + k]
        rest = math.sqrt(square)
        above, below = max(low - c[o] - rest, 0.0), max(low - c[o] + rest, 0.0)
        c[o] = 0.5 * (above + below)
        for k in range(1, m):
            c[o + k] *= 0.5 * (above - below) / rest if rest > 0.0 else 0.0
    jordan.divide(start, size, lam, c, a)
    jordan.apply(start, size, F_inverse, a, t)


@jit
def inside(start, size, x):
    """Whether x is strictly inside every cone."""
    for c in range(size.shape[0]):
        square = 0.0
        for k in range(1, size[c]):
            square += x[start[c] + k] * x[start[c] + k]
        if not x[start[c]] > math.sqrt(square):
            return False
    return True


@jit
def complementarity(start, size, group, y, z, out):
    """out <- gap y'z, and the largest |y o z| over the first cones of contacts and over the others."""
    out[:] = 0.0
    for c in range(size.shape[0]):
        o, m = start[c], size[c]
        s, square = 0.0, 0.0
        for k in range(m):
            s += y[o + k] * z[o + k]
        for k in range(1, m):
            square += (y[o] * z[o + k] + z[o] * y[o + k]) ** 2
        out[0] += s
        which = 1 if group[c] == 0 else 2
        out[which] += s * s + square
    out[1], out[2] = np.sqrt(out[1]), np.sqrt(out[2])


@jit
def roots(offset, cone_start, start, size, place, sign, F_inverse, R, A):
    """R <- upper triangles with R' R = J F^-2 J', flat as the blocks D, by Householder's Q R of F^-1 J'.

    R has the root of the condition of D, and is had without D: half the digits of D are lost near the end.
    A: work, (entries of a contact, components of a contact) at least.
    """
    at = 0
    for i in range(offset.shape[0] - 1):
        first, d, high = offset[i], offset[i + 1] - offset[i], 0
        for c in range(cone_start[i], cone_start[i + 1]):
            o = start[c]
            for a in range(size[c]):
                A[high + a, :d] = 0.0
                for b in range(size[c]):
                    A[high + a, place[o + b] - first] += sign[o + b] * F_inverse[c, a, b]
            high += size[c]
        for k in range(d):
            square = 0.0
            for a in range(k, high):
                square += A[a, k] * A[a, k]
            length = -math.sqrt(square) if A[k, k] > 0.0 else math.sqrt(square)
            R[at + k * d + k] = length
            A[k, k] -= length
            scale = -length * A[k, k]  # half of |reflector|²
            for b in range(k + 1, d):
                s = 0.0
                for a in range(k, high):
                    s += A[a, k] * A[a, b]
                s = s / scale if scale > 0.0 else 0.0
                for a in range(k, high):
                    A[a, b] -= s * A[a, k]
                R[at + k * d + b] = A[k, b]
                R[at + b * d + k] = 0.0
        at += d * d


@jit
def divide_rows(offset, R, rows, out):
    """out <- R^-T rows, the rows of every contact.   rows, out (n, 2, k)."""
    at = 0
    for i in range(offset.shape[0] - 1):
        o, d = offset[i], offset[i + 1] - offset[i]
        for a in range(d):
            for side in range(2):
                for j in range(rows.shape[2]):
                    s = rows[o + a, side, j]
                    for b in range(a):
                        s -= R[at + b * d + a] * out[o + b, side, j]
                    out[o + a, side, j] = s / R[at + a * d + a]
        at += d * d


@jit
def divide_roots(offset, R, x, turned, out):
    """out <- R^-T x where turned, otherwise R^-1 x; out may be x."""
    at = 0
    for i in range(offset.shape[0] - 1):
        o, d = offset[i], offset[i + 1] - offset[i]
        for step in range(d):
            a = step if turned else d - 1 - step
            s = x[o + a]
            if turned:
                for b in range(a):
                    s -= R[at + b * d + a] * out[o + b]
            else:
                for b in range(a + 1, d):
                    s -= R[at + a * d + b] * out[o + b]
            out[o + a] = s / R[at + a * d + a]
        at += d * d
