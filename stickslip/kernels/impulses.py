"""Faces of a product set at known velocities, and the nearest impulses with the same velocities.

All impulses of a problem with the same velocities form the convex set {r in F : A r = p}, with F the product
of the faces of the laws at these velocities (`problem/impulses.py`). Each face is the image w -> E w, E
orthonormal, of a block of one of the four kinds, so that the set is {w in C : B w = b} with a product set C.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from stickslip.kernels import cone_maps, cones
from stickslip.kernels.dense_lu import ldl_solve
from stickslip.kernels.jit import jit
from stickslip.kernels.maps import Mapped

DECREASE = 1e-4
"""Armijo parameter of the line search [-] (Nocedal & Wright 2006, 3.1)."""
HALVINGS = 40
"""Largest number of halvings of a step, and of increases of the regularisation; heuristic."""
SHIFT = 1e-2
"""Regularisation over the relative residual [-] (Li, Fukushima, Qi & Yamashita 2004, with exponent 1)."""
LEAST_SHIFT = 1e-13
"""Smallest regularisation, for rows of norm 1 [-]: rounding of the assembled matrix."""
SMALL_ERROR = 1e-8
"""Relative residual below which steps without progress end the iteration [-]; heuristic."""
PATIENCE = 3
"""Number of successive steps that do not halve the residual after which the iteration ends; heuristic."""


class Rows(NamedTuple):
    """B of m rows, by columns: block i of C has entries in the rows row[row_start[i]:row_start[i + 1]]."""

    offset: Any
    """First component of each block of C, then the number of components, shape (nb + 1,)."""
    row_start: Any
    """First entry of each block in `row`, then their number, shape (nb + 1,)."""
    row: Any
    """Row indices of the blocks, one block after the other."""
    data: Any
    """Entries of each component in the rows of its block, one component after the other, flat."""


@jit
def faces(K, z, y, cut, basis, out):
    """Write the faces of all blocks at impulses z and velocities y, both in the same unit.

    Return the number of groups of the faces, and the smallest velocity of a sliding group.

    A block is open or at a bound, or a group slides, if its velocity exceeds `cut` and is at least the
    distance of the impulse from that face; by the law one of these two numbers is zero. z, y (n,); basis (nb,
    d, d) <- E; out <- product set of the faces, a `Cones` as a plain tuple, of arrays as long as those of K.
    """
    kind, offset, lower, upper, _, _, _ = K
    face_kind, face_offset, face_lower, face_upper, face_group_offset, _, _ = out
    face_offset[0], face_group_offset[0] = 0, 0
    groups, slowest = 0, math.inf
    for i in range(kind.shape[0]):
        a, d = offset[i], offset[i + 1] - offset[i]
        width = d
        face_kind[i], face_lower[i], face_upper[i] = kind[i], lower[i], upper[i]
        for p in range(d):
            for q in range(d):
                basis[i, p, q] = 1.0 if p == q else 0.0
        if kind[i] == cones.FRICTION:
            if y[a] > cut and cones.norm(z, a, a + d) <= y[a]:
                width, face_kind[i] = 0, cones.NONNEGATIVE
            else:
                first = groups
                width, groups, slow = friction_face(i, K, z, y, cut, basis[i], groups, out)
                slowest = min(slowest, slow)
                if groups == first:
                    face_kind[i] = cones.NONNEGATIVE
        elif kind[i] != cones.FREE:
            if y[a] > cut and z[a] - lower[i] <= y[a]:
                face_upper[i] = lower[i]
            elif -y[a] > cut and upper[i] - z[a] <= -y[a]:
                face_lower[i] = upper[i]
            if face_lower[i] == 0.0 and face_upper[i] == 0.0:
                width = 0
        face_offset[i + 1] = face_offset[i] + width
        face_group_offset[i + 1] = groups
    return groups, slowest


@jit
def friction_face(i, K, z, y, cut, basis, groups, out):
    """Write E of a closed friction cone; return (columns of E, groups so far, smallest sliding velocity).

    With S the groups that slide and t = y/|y|, r_g = -mu_g r_N t_g on S. The unit vector (1, -mu_g t_g) / s
    with s² = 1 + sum_S mu_g² replaces the normal, and mu_g / s the coefficients of the groups that stick.
    basis (d, d); out as in `faces`; groups: number of groups of the faces of the blocks before.
    """
    o, d, group_size, coefficient = K.offset[i], K.offset[i + 1] - K.offset[i], out[5], out[6]
    for p in range(d):
        for q in range(d):
            basis[p, q] = 0.0
    basis[0, 0] = 1.0
    # 1. Column 0 from the groups that slide, a unit column for each component of those that stick.
    a, width, first, square, slowest = 1, 1, groups, 1.0, math.inf
    for g in range(K.group_offset[i], K.group_offset[i + 1]):
        m, mu = K.group_size[g], K.coefficient[g]
        speed, away = cones.norm(y, o + a, o + a + m), 0.0
        if speed > 0.0:
            for k in range(a, a + m):
                x = z[o + k] + mu * z[o] * y[o + k] / speed
                away += x * x
        if mu == 0.0 or (speed > cut and math.sqrt(away) <= speed):
            for k in range(a, a + m):
                basis[k, 0] = -mu * y[o + k] / speed if speed > 0.0 else 0.0
            square += mu * mu
            if mu > 0.0:
                slowest = min(slowest, speed)
        else:
            for k in range(a, a + m):
                basis[k, width] = 1.0
                width += 1
            group_size[groups], coefficient[groups] = m, mu
            groups += 1
        a += m
    # 2. Normalisation.
    s = math.sqrt(square)
    for k in range(d):
        basis[k, 0] /= s
    for g in range(first, groups):
        coefficient[g] /= s
    return width, groups, slowest


@jit
def out_of_faces(offset, face_offset, basis, w, out):
    """out <- E w.   w (f,), out (n,)."""
    for i in range(offset.shape[0] - 1):
        a, b = offset[i], face_offset[i]
        for p in range(offset[i + 1] - a):
            s = 0.0
            for q in range(face_offset[i + 1] - b):
                s += basis[i, p, q] * w[b + q]
            out[a + p] = s


@jit
def face_rows(offset, face_offset, basis, rows, length, out):
    """out <- E' diag(length) rows, that is B' from A'.   rows (n, m), out (f, m)."""
    for i in range(offset.shape[0] - 1):
        a, b = offset[i], face_offset[i]
        for q in range(face_offset[i + 1] - b):
            for j in range(rows.shape[1]):
                s = 0.0
                for p in range(offset[i + 1] - a):
                    s += basis[i, p, q] * length[a + p] * rows[a + p, j]
                out[b + q, j] = s


@jit
def pull(B, y, out):
    """out <- out + B' y.   y (m,), out (f,)."""
    at = 0
    for i in range(B.offset.shape[0] - 1):
        for k in range(B.offset[i], B.offset[i + 1]):
            for t in range(B.row_start[i], B.row_start[i + 1]):
                out[k] += B.data[at] * y[B.row[t]]
                at += 1


@jit
def push(B, w, out):
    """out <- out + B w.   w (f,), out (m,)."""
    at = 0
    for i in range(B.offset.shape[0] - 1):
        for k in range(B.offset[i], B.offset[i + 1]):
            for t in range(B.row_start[i], B.row_start[i + 1]):
                out[B.row[t]] += B.data[at] * w[k]
                at += 1


@jit
def normal_matrix(B, D, shift, work, out):
    """Upper triangle of out <- B D B' + shift I.   D (nb, d, d), work (m,), out (m, m)."""
    offset, row_start, row, data = B
    m = out.shape[0]
    for p in range(m):
        for q in range(p, m):
            out[p, q] = 0.0
        out[p, p] = shift
    at = 0
    for i in range(offset.shape[0] - 1):
        d, touched = offset[i + 1] - offset[i], row_start[i + 1] - row_start[i]
        for k in range(d):
            for t in range(touched):
                s = 0.0
                for c in range(d):
                    s += D[i, k, c] * data[at + c * touched + t]
                work[t] = s
            for t in range(touched):
                value, p = data[at + k * touched + t], row[row_start[i] + t]
                if value == 0.0:
                    continue
                for c in range(touched):
                    q = row[row_start[i] + c]
                    if q >= p:
                        out[p, q] += value * work[c]
        at += d * touched


@jit
def dual(K, B, centre, b, y, x, w, g):
    """Return the dual function y·(B w - b) - |w - centre|²/2; x, w, g <- centre + B'y, P_C(x), B w - b."""
    for k in range(x.shape[0]):
        x[k] = centre[k]
    pull(B, y, x)
    cones.project(K, x, w)
    for j in range(g.shape[0]):
        g[j] = -b[j]
    push(B, w, g)
    value = 0.0
    for j in range(g.shape[0]):
        value += y[j] * g[j]
    for k in range(x.shape[0]):
        value -= 0.5 * (w[k] - centre[k]) * (w[k] - centre[k])
    return value


@jit
def slopes(K, x, D):
    """D <- an element of the generalised derivative of P_C at x.   x (f,), D (nb, d, d).

    The natural map at velocity 0 with rho = 1 is x - P_C(x), so D = I - A.
    """
    offset, f, d = K.offset, x.shape[0], D.shape[1]
    rho, still, F, B = np.ones(f), np.zeros(f), np.empty(f), np.empty((d, d))
    for i in range(offset.shape[0] - 1):
        if offset[i] == offset[i + 1]:
            continue
        cone_maps.natural_newton(i, K, rho, x, still, Mapped(F, D[i], B))
        for p in range(offset[i + 1] - offset[i]):
            for q in range(offset[i + 1] - offset[i]):
                D[i, p, q] = (1.0 if p == q else 0.0) - D[i, p, q]


@jit
def nearest(K, B, centre, b, tolerance, count, w):
    """w <- element of {w in C : B w = b} nearest to `centre`; return (|B w - b| / (|b| + |B centre|), steps).

    Regularised semismooth Newton method for the minimum of `dual`, whose gradient is B w - b:
    (B D B' + shift I) dy = -(B w - b), with a line search. The first step has D = I, which is exact without
    active bounds. Rows of B have norm 1 or 0.   centre, w (f,), b (m,).
    """
    kind, offset = K.kind, K.offset
    m, f, nb = b.shape[0], centre.shape[0], kind.shape[0]
    d = 1
    for i in range(nb):
        d = max(d, offset[i + 1] - offset[i])
    y, x, g, best = np.zeros(m), np.empty(f), np.empty(m), np.empty(f)
    y_new, x_new, w_new, g_new, dy = np.empty(m), np.empty(f), np.empty(f), np.empty(m), np.empty(m)
    D, matrix, work = np.zeros((nb, d, d)), np.empty((m, m)), np.empty(m)
    for j in range(m):
        g[j] = 0.0
    push(B, centre, g)
    size = cones.norm(b, 0, m) + cones.norm(g, 0, m)
    if size == 0.0:
        size = 1.0
    value = dual(K, B, centre, b, y, x, w, g)
    error = cones.norm(g, 0, m) / size
    least, since = error, 0
    best[:] = w
    steps = 0
    for step in range(count):
        if error <= tolerance or (since >= PATIENCE and least < SMALL_ERROR):
            break
        # 1. Generalised derivative D and regularisation.
        steps = step + 1
        if step == 0:
            for i in range(nb):
                for p in range(d):
                    D[i, p, p] = 1.0
        else:
            slopes(K, x, D)
        shift = max(LEAST_SHIFT, SHIFT * min(error, 1.0)) if step else LEAST_SHIFT
        # 2. Newton step; the regularisation grows until the matrix is positive definite.
        solved = False
        for _ in range(HALVINGS):
            normal_matrix(B, D, shift, work, matrix)
            for j in range(m):
                dy[j] = -g[j]
            solved = ldl_solve(matrix, dy, m)
            if solved:
                break
            shift *= 10.0
        if not solved:
            break
        # 3. Line search.
        slope, length = 0.0, 1.0
        for j in range(m):
            slope += g[j] * dy[j]
        for _ in range(HALVINGS):
            for j in range(m):
                y_new[j] = y[j] + length * dy[j]
            value_new = dual(K, B, centre, b, y_new, x_new, w_new, g_new)
            if (
                value_new <= value + DECREASE * length * slope
                or cones.norm(g_new, 0, m) <= 0.5 * error * size
            ):
                break
            length *= 0.5
        # 4. Update, and the best iterate.
        for j in range(m):
            y[j], g[j] = y_new[j], g_new[j]
        for k in range(f):
            x[k], w[k] = x_new[k], w_new[k]
        value, error = value_new, cones.norm(g, 0, m) / size
        since += 1
        if error < least:
            if error < 0.5 * least:
                since = 0
            least = error
            best[:] = w
    w[:] = best
    return least, steps


@jit
def inward(K, w, cut, tight, out):
    """out <- sum of the inward normals of the bounds that w attains to within `cut`; return their number.

    The inward normal of a cone at its apex is e_N, of a group at its limit (mu, -w_g/|w_g|), of an interval
    that of its bound. Its product with elements of C is 0 on the bound and positive elsewhere. w, out (f,);
    tight (nb,) <- whether the block attains a bound.
    """
    kind, offset, lower, upper, group_offset, group_size, coefficient = K
    count = 0
    for i in range(kind.shape[0]):
        a, b, before = offset[i], offset[i + 1], count
        for k in range(a, b):
            out[k] = 0.0
        if a < b and kind[i] == cones.FRICTION:
            if w[a] <= cut:
                out[a] = 1.0
                count += 1
            else:
                o = a + 1
                for g in range(group_offset[i], group_offset[i + 1]):
                    end, mu = o + group_size[g], coefficient[g]
                    size = cones.norm(w, o, end)
                    if size >= mu * w[a] - cut and size > 0.0:
                        s = math.sqrt(1.0 + mu * mu)
                        out[a] += mu / s
                        for k in range(o, end):
                            out[k] -= w[k] / size / s
                        count += 1
                    o = end
        elif a < b and kind[i] != cones.FREE and lower[i] < upper[i]:
            if w[a] <= lower[i] + cut:
                out[a] += 1.0
                count += 1
            if w[a] >= upper[i] - cut:
                out[a] -= 1.0
                count += 1
        tight[i] = count > before
    return count
