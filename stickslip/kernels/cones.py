"""Projections on the set of one contact and on the product set, on their duals, and De Saxcé's shift.

K is a `Cones` of seven arrays; `problem/sets.py` defines the sets.
"""

import math
from typing import Any, NamedTuple

from stickslip.kernels.jit import jit_forward as jit

FREE, NONNEGATIVE, INTERVAL, FRICTION = 0, 1, 2, 3
"""Kinds of blocks."""
DISKS = 4
"""Kind of Tresca's set {r_N >= 0, |r_k| <= radius_k}: a friction cone with fixed thresholds, which occurs in
subproblems only. `Cones.coefficient` holds the radii."""


class Cones(NamedTuple):
    """A product set of nb blocks with ng groups.

    Numba takes 2 µs to recognise a named tuple passed from Python, and much less for a plain tuple. Kernels
    that solve or judge small problems therefore take `tuple(K)`, and begin with `Cones(*K)`.
    """

    kind: Any
    """Kind of each block, shape (nb,)."""
    offset: Any
    """First component of each block, then the number of components, shape (nb + 1,)."""
    lower: Any
    """Lower bound of each block [N s], shape (nb,)."""
    upper: Any
    """Upper bound of each block [N s], shape (nb,)."""
    group_offset: Any
    """First group of each block, then the number of groups, shape (nb + 1,)."""
    group_size: Any
    """Components of each group, shape (ng,)."""
    coefficient: Any
    """Friction coefficient of each group [- or m], shape (ng,)."""


@jit
def with_coefficients(K, coefficient):
    """Return K with other friction coefficients, shape (ng,)."""
    return Cones(K.kind, K.offset, K.lower, K.upper, K.group_offset, K.group_size, coefficient)


@jit
def is_coulomb(i, K):
    """Return whether block i is a Coulomb contact in 2D or 3D."""
    a, g = K.offset[i], K.group_offset[i]
    return K.kind[i] == FRICTION and K.offset[i + 1] - a <= 3 and K.group_offset[i + 1] - g == 1


@jit
def norm(x, a, b):
    """Return |x[a:b]| without overflow or underflow.   x (n,)."""
    s = 0.0
    for i in range(a, b):
        s += x[i] * x[i]
    if 1e-280 < s < 1e300:
        return math.sqrt(s)
    big = 0.0
    for i in range(a, b):
        big = max(big, abs(x[i]))
    if big == 0.0 or not big < math.inf:
        return big if b > a else 0.0
    s = 0.0
    for i in range(a, b):
        y = x[i] / big
        s += y * y
    return big * math.sqrt(s)


@jit
def height(n, x, o, groups, rho, has_length):
    """Return the normal component s of the projection of (n, x_k) on a friction cone; 0 in its polar cone.

    s is the root of s - n - sum_k mu_k max(|x_k| - mu_k s, 0) over the p groups k. This function is
    increasing, concave and piecewise linear, so Newton's method from s = n rises to the root in at most
    p + 1 steps.
    x (n,), the contact at x[o]; groups: sizes and coefficients of all groups, first group of the contact, and
    the first one after it; rho (n,): with has_length, coefficients are divided by sqrt(rho_k / rho_N).
    """
    group_size, coefficient, g0, g1 = groups
    # 1. The polar cone: sum_k mu_k |x_k| <= -n.
    reach, a = 0.0, o + 1
    for g in range(g0, g1):
        mu = coefficient[g] / math.sqrt(rho[a] / rho[o]) if has_length else coefficient[g]
        reach += mu * norm(x, a, a + group_size[g])
        a += group_size[g]
    if reach != reach:
        return math.nan
    if reach <= -n:  # includes n <= 0 with mu = 0
        return 0.0
    # 2. Newton's method from below.
    s = n
    for _ in range(g1 - g0 + 1):
        top, bottom, a = n, 1.0, o + 1
        for g in range(g0, g1):
            mu = coefficient[g] / math.sqrt(rho[a] / rho[o]) if has_length else coefficient[g]
            t = norm(x, a, a + group_size[g])
            if t > mu * s:
                top += mu * t
                bottom += mu * mu
            a += group_size[g]
        new_s = top / bottom
        if not new_s > s:
            break
        s = new_s
    return s


@jit
def shorten(x, o, s, groups):
    """Scale every group of the contact at x[o] to |x_k| <= mu_k s, in place; groups as in `height`."""
    group_size, coefficient, g0, g1 = groups
    a = o + 1
    for g in range(g0, g1):
        b, limit = a + group_size[g], coefficient[g] * s
        t = norm(x, a, b)
        if t > limit:
            scale = limit / t
            for k in range(a, b):
                x[k] *= scale
        a = b


@jit
def project_coulomb(mu, x0, x1, x2):
    """Return the projection of (x0, x1, x2) on a Coulomb cone; x2 = 0 in 2D."""
    t = math.sqrt(x1 * x1 + x2 * x2)
    if mu * t <= -x0:
        return 0.0, 0.0, 0.0
    if t <= mu * x0:
        return x0, x1, x2
    n = (x0 + mu * t) / (1.0 + mu * mu)
    scale = mu * n / t
    return n, scale * x1, scale * x2


@jit
def project_block(i, K, x, out):
    """out <- P_K_i(x) on the components of block i.   x, out (n,), may be the same array."""
    o, end = K.offset[i], K.offset[i + 1]
    if K.kind[i] != FRICTION and K.kind[i] != DISKS:
        for k in range(o, end):
            out[k] = min(max(x[k], K.lower[i]), K.upper[i])
        return
    groups = K.group_size, K.coefficient, K.group_offset[i], K.group_offset[i + 1]
    n = max(x[o], 0.0) if K.kind[i] == DISKS else height(x[o], x, o, groups, x, False)
    if n == 0.0 and K.kind[i] == FRICTION:
        for k in range(o, end):
            out[k] = 0.0
        return
    for k in range(o, end):
        out[k] = x[k]
    out[o] = n
    shorten(out, o, 1.0 if K.kind[i] == DISKS else n, groups)


@jit
def project(K, x, out):
    """out <- P_K(x).   x, out (n,), may be the same array."""
    for i in range(K.kind.shape[0]):
        project_block(i, K, x, out)


@jit
def project_contacts(K, x, out):
    """out <- P_K(x), as `project`, for sets of Coulomb contacts in 2D or 3D only."""
    offset, group_offset, coefficient = K.offset, K.group_offset, K.coefficient
    for i in range(offset.shape[0] - 1):
        a, is_3d, mu = offset[i], offset[i + 1] - offset[i] == 3, coefficient[group_offset[i]]
        n, t1, t2 = project_coulomb(mu, x[a], x[a + 1], x[a + 2] if is_3d else 0.0)
        out[a], out[a + 1] = n, t1
        if is_3d:
            out[a + 2] = t2


@jit
def project_dual_block(i, K, y, out):
    """out <- P_K_i*(y) on block i, by Moreau's decomposition P_K*(y) = y + P_K(-y).

    y, out (n,), different arrays. For an interval K_i* is the dual of its recession cone.
    """
    a, b = K.offset[i], K.offset[i + 1]
    for k in range(a, b):
        out[k] = -y[k]
    if K.kind[i] == FRICTION:
        project_block(i, K, out, out)
    else:
        low = -math.inf if K.lower[i] == -math.inf else 0.0
        high = math.inf if K.upper[i] == math.inf else 0.0
        for k in range(a, b):
            out[k] = min(max(out[k], low), high)
    for k in range(a, b):
        out[k] += y[k]


@jit
def project_dual(K, y, out):
    """out <- P_K*(y).   y, out (n,), different arrays."""
    for i in range(K.kind.shape[0]):
        project_dual_block(i, K, y, out)


@jit
def shift_of_block(i, K, u):
    """Return De Saxcé's shift sum_k mu_k |u_k| of block i (Acary & Bourrier 2021).   u (n,)."""
    offset, group_offset, group_size, coefficient = K.offset, K.group_offset, K.group_size, K.coefficient
    s = 0.0
    a = offset[i] + 1
    for g in range(group_offset[i], group_offset[i + 1]):
        s += coefficient[g] * norm(u, a, a + group_size[g])
        a += group_size[g]
    return s


@jit
def shift(K, u, out):
    """out <- u_hat = u + (sum_k mu_k |u_k|) e_N.   u, out (n,), may be the same array."""
    kind, offset = K.kind, K.offset
    for i in range(kind.shape[0]):
        s = shift_of_block(i, K, u)
        for k in range(offset[i], offset[i + 1]):
            out[k] = u[k]
        if kind[i] == FRICTION:
            out[offset[i]] += s
