"""Interior-point method for contacts split into second-order cones: operations cone by cone.

Entry q of the cones belongs to component place[q] of r: z = sign r[place] + constant is in the cones, and
u = J y with J' r = sign r[place], so J y sums sign y over the entries of a component (`Split`). Kernels take
a `Split` and a `Scaling` as plain tuples, which Numba recognises faster.
Nguyen 2021: (1.18) for the unscaled matrices, (1.31) for Nesterov-Todd scaling.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from stickslip.kernels import jordan
from stickslip.kernels.jit import jit

PLAIN, BY_POINT, BY_F = 0, 1, 2
"""Scaling of Newton's equation: none, Nesterov-Todd by Q_p, Nesterov-Todd by F."""
NO_SHIFT, OF_Y, OF_U = 0, 1, 2
"""Variable on which the shift depends in Newton's equation: none, y, or u."""


class Split(NamedTuple):
    """The cones of a product set (`solvers/cone_split.py`); n components of r are unknown."""

    kept: Any
    """Unknown components of r; the others are fixed [-], shape (n,)."""
    fixed: Any
    """Fixed components of r, 0 elsewhere [N s], shape (size of K,)."""
    unit: Any
    """D of the unknown components: divides r, multiplies u [-, m], shape (n,)."""
    offset: Any
    """First unknown of each contact with unknowns, then their number [-], shape (contacts + 1,)."""
    block: Any
    """Block of K of each of these contacts [-], shape (contacts,)."""
    cone_start: Any
    """First cone of each contact, then the number of cones [-], shape (contacts + 1,)."""
    start: Any
    """First entry of each cone [-], shape (cones,)."""
    size: Any
    """Number of entries of each cone [-], shape (cones,)."""
    group: Any
    """Index of the group of each cone in its contact, from 0 [-], shape (cones,)."""
    place: Any
    """Unknown of each entry [-], shape (entries,)."""
    sign: Any
    """Sign in z = sign r + constant [-], shape (entries,)."""
    constant: Any
    """Constant in z, from a bound [N s], shape (entries,)."""
    shifted: Any
    """1 for contacts with De Saxcé's shift, 0 for the others [-], shape (contacts,)."""


class Scaling(NamedTuple):
    """Matrices of dy = t - G dz at an iterate, and of the scaling."""

    kind: Any
    """PLAIN, BY_POINT or BY_F."""
    G: Any
    """Q_p^-2, or arw(z)^-1 arw(y) without scaling, shape (cones, d, d) as all matrices here."""
    F: Any
    """F, or Q_p; not read without scaling, shape (cones, d, d)."""
    F_inverse: Any
    """Inverse of F, shape (cones, d, d)."""
    lam: Any
    """F y = F^-1 z, shape (entries,)."""
    work: Any
    """Work array, shape (3, entries)."""


@jit
def slip(cone_arrays, y, smoothing, shift, slope):
    """shift (contacts,) <- sum over the cones of each contact of sqrt(|y_rest|² + smoothing²) - smoothing.

    Without smoothing this is mu |u_T| + mu_roll |u_R|. slope <- its derivative by y. Both are 0 for contacts
    without shift.
    """
    cones = Split(*cone_arrays)
    cone_start, start, size, shifted = cones.cone_start, cones.start, cones.size, cones.shifted
    for i in range(cone_start.shape[0] - 1):
        shift[i] = 0.0
        for c in range(cone_start[i], cone_start[i + 1]):
            o, square = start[c], smoothing * smoothing
            for k in range(1, size[c]):
                square += y[o + k] * y[o + k]
            rest = shifted[i] * math.sqrt(square)
            shift[i] += rest - shifted[i] * smoothing
            slope[o] = 0.0
            for k in range(1, size[c]):
                slope[o + k] = y[o + k] / rest if rest > 0.0 else 0.0


@jit
def smooth_slip(cone_arrays, y, shift, slope):
    """shift, slope <- those of `slip` with |y_rest|² / y_0 instead of |y_rest|.

    The two are equal for sliding contacts; the former is smaller for sticking ones, smooth inside the cones
    and homogeneous of degree one.
    """
    cones = Split(*cone_arrays)
    cone_start, start, size, shifted = cones.cone_start, cones.start, cones.size, cones.shifted
    for i in range(cone_start.shape[0] - 1):
        shift[i] = 0.0
        for c in range(cone_start[i], cone_start[i + 1]):
            o, square = start[c], 0.0
            for k in range(1, size[c]):
                square += y[o + k] * y[o + k]
                slope[o + k] = 2.0 * shifted[i] * y[o + k] / y[o]
            slope[o] = -shifted[i] * square / (y[o] * y[o])
            shift[i] += shifted[i] * square / y[o]


@jit
def scale(scaling_arrays, cone_arrays, y, z):
    """Write the scaling at y, z, both strictly inside the cones."""
    scaling, cones = Scaling(*scaling_arrays), Split(*cone_arrays)
    kind, G, F, F_inverse, lam, work = scaling
    if kind == BY_F:
        jordan.scale(cones.start, cones.size, y, z, (G, F, F_inverse, lam))
    elif kind == BY_POINT:
        jordan.scale_by_point(cones.start, cones.size, y, z, (G, F, F_inverse, lam), work)
    else:
        for c in range(cones.size.shape[0]):
            _ratio(cones.start[c], cones.size[c], y, z, G[c])


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
def contact_blocks(cone_arrays, G, slope, has_slope, D):
    """D <- J G J', one block per contact after the other, flat, row by row.

    has_slope: subtract e_N slope' G J', the contribution of the derivative of the shift.
    """
    cones = Split(*cone_arrays)
    offset, cone_start, start, size = cones.offset, cones.cone_start, cones.start, cones.size
    place, sign, at = cones.place, cones.sign, 0
    for i in range(offset.shape[0] - 1):
        first, d = offset[i], offset[i + 1] - offset[i]
        D[at : at + d * d] = 0.0
        for c in range(cone_start[i], cone_start[i + 1]):
            o = start[c]
            for a in range(size[c]):
                row = at + (place[o + a] - first) * d - first
                for b in range(size[c]):
                    D[row + place[o + b]] += sign[o + a] * sign[o + b] * G[c, a, b]
            for b in range(size[c] if has_slope else 0):
                s = 0.0
                for a in range(size[c]):
                    s += slope[o + a] * G[c, a, b]
                D[at + place[o + b] - first] -= sign[o + b] * s
        at += d * d


@jit
def right_side(scaling_arrays, cone_arrays, point, affine, aim, t, b):
    """t <- -y + barrier z^-1 - second-order term, in dy = t - G dz; b <- J t + share (J y - u).

    point: y, z, u including the shift, and the slope of the shift, whose contribution is subtracted from b;
    affine: dy, dz. aim: barrier = 2 sigma kappa; whether to include the second-order term of the affine step;
    share of the residuals that the step removes; NO_SHIFT, OF_Y or OF_U.
    """
    scaling, cones = Scaling(*scaling_arrays), Split(*cone_arrays)
    (y, z, u, slope), (dy, dz), (barrier, has_second, share, shift) = point, affine, aim
    start, size, F_inverse = cones.start, cones.size, scaling.F_inverse
    # 1. Target of y o z.
    jordan.inverse(start, size, z, t)
    for q in range(t.shape[0]):
        t[q] = barrier * t[q] - y[q]
    # 2. Second-order term: arw(z)^-1 (dy o dz), or with scaling F^-1 arw(lam)^-1 [(F dy) o (F^-1 dz)].
    if has_second:
        first, second, third = scaling.work[0], scaling.work[1], scaling.work[2]
        if scaling.kind == PLAIN:
            jordan.product(start, size, dy, dz, first)
            jordan.divide(start, size, z, first, second)
        else:
            jordan.apply(start, size, scaling.F, dy, first)
            jordan.apply(start, size, F_inverse, dz, second)
            jordan.product(start, size, first, second, third)
            jordan.divide(start, size, scaling.lam, third, first)
            jordan.apply(start, size, F_inverse, first, second)
        for q in range(t.shape[0]):
            t[q] -= second[q]
    # 3. Equations of the contacts.
    for k in range(b.shape[0]):
        b[k] = -share * u[k]
    for q in range(y.shape[0]):  # J y - u + J t without cancellation
        b[cones.place[q]] += cones.sign[q] * (t[q] + share * y[q])
    if shift == NO_SHIFT:
        return
    for i in range(cones.offset.shape[0] - 1):
        for c in range(cones.cone_start[i], cones.cone_start[i + 1]):
            for q in range(start[c], start[c] + size[c]):
                rest = share * (y[q] - u[cones.place[q]]) if shift == OF_U else 0.0
                b[cones.offset[i]] -= slope[q] * (t[q] + rest)


@jit
def steps(scaling_arrays, cone_arrays, t, dr, y, z, dy, dz):
    """dz <- J' dr, dy <- t - G dz; return longest steps of y and z, and the gap after steps of at most 1."""
    scaling, cones = Scaling(*scaling_arrays), Split(*cone_arrays)
    start, size, work, n = cones.start, cones.size, scaling.work[0], y.shape[0]
    for q in range(n):
        dz[q] = cones.sign[q] * dr[cones.place[q]]
    if scaling.kind == PLAIN:
        jordan.apply(start, size, scaling.G, dz, dy)
    else:  # two products with F^-1: G has the square of its condition and loses twice the digits
        jordan.apply(start, size, scaling.F_inverse, dz, work)
        jordan.apply(start, size, scaling.F_inverse, work, dy)
    for q in range(n):
        dy[q] = t[q] - dy[q]
    longest = jordan.longest_step(start, size, y, dy), jordan.longest_step(start, size, z, dz)
    p, d = min(1.0, longest[0]), min(1.0, longest[1])
    gap = 0.0
    for q in range(n):
        gap += (y[q] + p * dy[q]) * (z[q] + d * dz[q])
    return longest[0], longest[1], gap


@jit
def recentre(scaling_arrays, cone_arrays, point, direction, alpha, low, t):
    """t <- F^-1 arw(lam)^-1 c, where c raises the eigenvalues of (F y) o (F^-1 z) to at least low.

    The eigenvalues are those at y + alpha dy, z + alpha dz; point: y, z, direction: dy, dz. Gondzio 1996,
    section 3, with eigenvalues instead of products of components, and without correction of large ones, which
    do not shorten steps.
    """
    scaling, cones = Scaling(*scaling_arrays), Split(*cone_arrays)
    start, size, F_inverse = cones.start, cones.size, scaling.F_inverse
    a, b, c, (y, z), (dy, dz) = scaling.work[0], scaling.work[1], scaling.work[2], point, direction
    # 1. Product (F y) o (F^-1 z).
    for q in range(y.shape[0]):
        t[q], c[q] = y[q] + alpha * dy[q], z[q] + alpha * dz[q]
    jordan.apply(start, size, scaling.F, t, a)
    jordan.apply(start, size, F_inverse, c, b)
    jordan.product(start, size, a, b, c)
    # 2. Change of its eigenvalues c_0 +- |c_rest|.
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
    # 3. Back to y.
    jordan.divide(start, size, scaling.lam, c, a)
    jordan.apply(start, size, F_inverse, a, t)


@jit
def arrived(cone_arrays, y, r, z):
    """z <- J' r + constant; return whether y and whether z are strictly inside all cones."""
    cones = Split(*cone_arrays)
    for q in range(z.shape[0]):
        z[q] = cones.sign[q] * r[cones.place[q]] + cones.constant[q]
    return inside(cone_arrays, y), inside(cone_arrays, z)


@jit
def inside(cone_arrays, x):
    """Return whether x is strictly inside all cones."""
    cones = Split(*cone_arrays)
    start, size = cones.start, cones.size
    for c in range(size.shape[0]):
        square = 0.0
        for k in range(1, size[c]):
            square += x[start[c] + k] * x[start[c] + k]
        if not x[start[c]] > math.sqrt(square):
            return False
    return True


@jit
def complementarity(cone_arrays, y, z, out):
    """out (3,) <- gap y'z, and the norms of y o z over the first cones of contacts and over the others."""
    cones = Split(*cone_arrays)
    start, size = cones.start, cones.size
    out[:] = 0.0
    for c in range(size.shape[0]):
        o, m = start[c], size[c]
        s, square = 0.0, 0.0
        for k in range(m):
            s += y[o + k] * z[o + k]
        for k in range(1, m):
            square += (y[o] * z[o + k] + z[o] * y[o + k]) ** 2
        out[0] += s
        slot = 1 if cones.group[c] == 0 else 2
        out[slot] += s * s + square
    out[1], out[2] = np.sqrt(out[1]), np.sqrt(out[2])


@jit
def roots(cone_arrays, F_inverse, R, A):
    """R <- upper triangles with R' R = J F^-2 J', flat as the blocks D, by Householder QR of F^-1 J'.

    The condition of R is the root of that of D, which loses half of its digits in the last iterations.
    A: work, at least (entries of a contact, components of a contact).
    """
    cones = Split(*cone_arrays)
    offset, cone_start, start, size = cones.offset, cones.cone_start, cones.start, cones.size
    place, sign, at = cones.place, cones.sign, 0
    for i in range(offset.shape[0] - 1):
        # 1. A = F^-1 J' of the contact.
        first, d, high = offset[i], offset[i + 1] - offset[i], 0
        for c in range(cone_start[i], cone_start[i + 1]):
            o = start[c]
            for a in range(size[c]):
                A[high + a, :d] = 0.0
                for b in range(size[c]):
                    A[high + a, place[o + b] - first] += sign[o + b] * F_inverse[c, a, b]
            high += size[c]
        # 2. Householder reflections.
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
def divide_roots(offset, R, x, transposed, out):
    """out <- R^-T x if transposed, else R^-1 x, for every column of x (n, m); out may be x."""
    at = 0
    for i in range(offset.shape[0] - 1):
        o, d = offset[i], offset[i + 1] - offset[i]
        for step in range(d):
            a = step if transposed else d - 1 - step
            for j in range(x.shape[1]):
                s = x[o + a, j]
                if transposed:
                    for b in range(a):
                        s -= R[at + b * d + a] * out[o + b, j]
                else:
                    for b in range(a + 1, d):
                        s -= R[at + a * d + b] * out[o + b, j]
                out[o + a, j] = s / R[at + a * d + a]
        at += d * d
