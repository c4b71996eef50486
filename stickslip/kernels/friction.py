"""Local problem of a contact with several friction groups (sliding, rolling, torsion) under one normal.

Each group k slides with u_k = -kappa_k r_k, kappa_k >= 0. After elimination of r_N by u_N = 0,
(S + diag(kappa)) t = -b and r_N = n0 - w·t. The kappas solve the complementarity problem
0 <= kappa_k ⟂ phi_k = mu_k r_N / |t_k| - 1 >= 0, by Newton's method on the groups that slide. If it does not
converge, r_N follows from bisection with Tresca friction, and Newton's method refines the result.

A contact with singular W_ii is solved with W_ii + D and q - D r instead, D a small diagonal and r its present
impulse. This proximal step has the same fixed points and always has a solution.
"""

import math
from typing import Any, NamedTuple

from stickslip.kernels import cones
from stickslip.kernels.dense_lu import lu_solve
from stickslip.kernels.jit import jit
from stickslip.kernels.slip import Sliding, slip3

CLOSE = 4e-15
"""Relative tolerance of roots [-]: a few times machine precision."""
GOOD = 1e-12
"""Violation accepted once Newton's method no longer converges [-]: rounding with an ill-conditioned S."""
SINGULAR_BELOW = 1e-11
"""Largest pivot of the scaled S that counts as zero [-]."""
PROX = 1e-3
"""Proximal term of a contact with singular W_ii, over the diagonal of W_ii [-]; heuristic."""
EXTRAS = 2
"""Numbers after W_ii, before S and its scales: 1/W_NN, and 1 if W_ii includes the proximal term, else 0."""


class FrictionBlock(NamedTuple):
    """One contact with friction in the groups g0 to g1."""

    local: Any
    """W_ii, followed by the numbers from `prepare_friction`, flat."""
    at: Any
    """Position of W_ii in `local`."""
    d: Any
    """Number of components of the contact."""
    coefficient: Any
    """Friction coefficients of all groups of the problem, shape (ng,)."""
    group_size: Any
    """Number of components of all groups of the problem, shape (ng,)."""
    g0: Any
    """First group of the contact."""
    g1: Any
    """First group after those of the contact."""


@jit
def prepare_friction(local, at, d, work):
    """Write the numbers that follow W_ii of a friction contact.   local flat, W_ii at `at`.

    After 1/W_NN and the flag come S = W_TT - W_TN W_NT / W_NN and the scales 1/sqrt(diag W_TT) by which its
    rows and columns are multiplied, so that results are independent of units. A singular W_ii gets its
    proximal term.
    """
    flag = at + d * d + 1
    local[flag - 1], local[flag] = 0.0, 0.0
    if not local[at] > 0.0:
        return
    _eliminate_normal(local, at, d)
    m = d - 1
    for i in range(m):
        for j in range(m):
            work[i, j] = local[flag + 1 + i * m + j]
    if not _invert(work, m) > SINGULAR_BELOW:
        local[flag] = 1.0
        w00 = local[at]
        for k in range(d):
            w = local[at + k * d + k]
            local[at + k * d + k] += PROX * (w if w > 0.0 else w00)
        _eliminate_normal(local, at, d)


@jit
def _eliminate_normal(local, at, d):
    """Write 1/W_NN, S and the scales, from W_ii."""
    m, extra = d - 1, at + d * d
    iw = 1.0 / local[at]
    local[extra] = iw
    scale = extra + EXTRAS + m * m
    for i in range(m):
        w = local[at + (i + 1) * d + i + 1]
        local[scale + i] = 1.0 / math.sqrt(w) if w > 0.0 else 1.0
    for i in range(m):
        for j in range(m):
            s = local[at + (i + 1) * d + j + 1] - local[at + (i + 1) * d] * local[at + j + 1] * iw
            local[extra + EXTRAS + i * m + j] = s * local[scale + i] * local[scale + j]


@jit
def _invert(A, m):
    """A[:m, :m] <- its inverse, by Gauss-Jordan with row pivoting; return the smallest |pivot|.

    Entries A[m, m:2 m] store the row exchanges.
    """
    smallest = math.inf
    for c in range(m):
        p = c
        for i in range(c + 1, m):
            if abs(A[i, c]) > abs(A[p, c]):
                p = i
        A[m, m + c] = p
        if p != c:
            for j in range(m):
                A[c, j], A[p, j] = A[p, j], A[c, j]
        pivot = A[c, c]
        smallest = min(smallest, abs(pivot))
        if pivot == 0.0:
            pivot = 1e-300
        inverse = 1.0 / pivot
        A[c, c] = 1.0
        for j in range(m):
            A[c, j] *= inverse
        for i in range(m):
            if i != c:
                f = A[i, c]
                A[i, c] = 0.0
                for j in range(m):
                    A[i, j] -= f * A[c, j]
    for c in range(m - 1, -1, -1):
        p = int(A[m, m + c])
        if p != c:
            for i in range(m):
                A[i, c], A[i, p] = A[i, p], A[i, c]
    return smallest


@jit
def _tangents(block, q, kappa, work, t):
    """t[1:d] <- -(S + diag kappa)^-1 b and t[0] <- r_N; groups with mu = 0 get zero.

    work[:m, :m] <- (S + diag kappa)^-1.
    """
    local, at, d, coefficient, group_size, g0, g1 = block
    m, extra = d - 1, at + d * d
    iw, matrix, scale = local[extra], extra + EXTRAS, extra + EXTRAS + m * m
    n0, i = -q[0] * iw, 0
    for g in range(g0, g1):
        for _ in range(group_size[g]):
            scale_i = local[scale + i]
            for j in range(m):
                work[i, j] = local[matrix + i * m + j] if coefficient[g] > 0.0 else 0.0
            work[i, i] += kappa[g] * scale_i * scale_i if coefficient[g] > 0.0 else 1.0
            b = (q[i + 1] + local[at + (i + 1) * d] * n0) * scale_i
            work[m + 1, i] = -b if coefficient[g] > 0.0 else 0.0
            i += 1
    _invert(work, m)
    t[0] = n0
    for i in range(m):
        s = 0.0
        for j in range(m):
            s += work[i, j] * work[m + 1, j]
            work[i, j] *= local[scale + i] * local[scale + j]
        t[i + 1] = s * local[scale + i]
        t[0] -= local[at + i + 1] * iw * t[i + 1]


@jit
def _slack(t, a, size, mu):
    """Return phi = mu r_N / |t_k| - 1 of the group t[a:a+size], infinite for t_k = 0."""
    carried = cones.norm(t, a, a + size)
    return math.inf if carried == 0.0 else mu * t[0] / carried - 1.0


@jit
def _worst_slack(block, kappa, t):
    """Return the largest violation of 0 <= kappa ⟂ phi >= 0 over the groups."""
    local, at, d, coefficient, group_size, g0, g1 = block
    worst, a = 0.0, 1
    for g in range(g0, g1):
        if coefficient[g] > 0.0:
            phi = _slack(t, a, group_size[g], coefficient[g])
            typical = local[at + a * d + a]
            worst = max(worst, -phi, min(phi, kappa[g] / typical if typical > 0.0 else kappa[g]))
        a += group_size[g]
    return worst


@jit
def _newton(block, q, kappa, work, t):
    """Apply Newton's method to the kappas of the groups that slide; return the remaining violation."""
    local, at, d, coefficient, group_size, g0, g1 = block
    m, p, iw = d - 1, g1 - g0, local[at + d * d]
    worst = math.inf
    for iteration in range(40):
        # 1. Impulses and violation at the present kappas.
        _tangents(block, q, kappa, work, t)
        before, worst = worst, _worst_slack(block, kappa, t)
        if worst <= CLOSE or (worst <= GOOD and worst > 0.25 * before):
            return worst
        # 2. Newton system J step = -phi in rows m+1.. of work, with rows of the identity for groups that
        # stick. dt / dkappa_h = -(S + diag kappa)^-1 (t on group h).
        for g in range(g0, g1):
            for h in range(p + 1):
                work[m + 1 + g - g0, h] = 0.0
        first = 0
        for h in range(p):
            end = first + group_size[g0 + h]
            dn = 0.0
            for i in range(m):
                s = 0.0
                if coefficient[g0 + h] > 0.0:
                    for j in range(first, end):
                        s -= work[i, j] * t[j + 1]
                work[m, i] = s
                dn -= local[at + i + 1] * iw * s
            a = 0
            for g in range(g0, g1):
                carried, along = cones.norm(t, a + 1, a + 1 + group_size[g]), 0.0
                for i in range(a, a + group_size[g]):
                    along += t[i + 1] * work[m, i]
                if carried > 0.0:
                    share = dn / carried - t[0] * along / (carried * carried * carried)
                    work[m + 1 + g - g0, h] = coefficient[g] * share
                a += group_size[g]
            first = end
        a = 1
        for g in range(g0, g1):
            row = m + 1 + g - g0
            phi = math.inf if coefficient[g] == 0.0 else _slack(t, a, group_size[g], coefficient[g])
            work[row, p] = -phi
            if not (phi < math.inf and (kappa[g] > 0.0 or phi < 0.0)):
                for h in range(p + 1):
                    work[row, h] = 0.0
                work[row, g - g0] = 1.0
            a += group_size[g]
        # 3. Step, with kappa >= 0, and later reduced at most tenfold.
        J, steps = work[m + 1 :], work[m]
        for i in range(p):
            steps[i] = J[i, p]
        if not lu_solve(J, steps, p):
            return math.inf
        for g in range(g0, g1):
            least = 0.0 if iteration < 10 else 0.1 * kappa[g]
            kappa[g] = max(kappa[g] + steps[g - g0], least)
    return worst


@jit
def _shorten(block, a, size, limit, c, kappa, work, t):
    """t[a:a+size] <- argmin of ½ t'W_kk t + c't over |t| <= limit; return its multiplier.   c (size,).

    |t| is a decreasing function of the multiplier.
    """
    # 1. One component: closed form.
    local, at, d = block.local, block.at, block.d
    o = at + a * d + a
    if size == 1 and local[o] > 0.0:
        t[a] = min(max(-c[0] / local[o], -limit), limit)
        return max(abs(c[0]) / limit - local[o], 0.0) if limit > 0.0 else 0.0
    # 2. Two components: sticking, or the root of `slip3`.
    if size == 2 and limit > 0.0:
        s11, s12, s21, s22 = local[o], local[o + 1], local[o + d], local[o + d + 1]
        det = s11 * s22 - s12 * s21
        if det > SINGULAR_BELOW * s11 * s22:
            t[a], t[a + 1] = -(s22 * c[0] - s12 * c[1]) / det, -(s11 * c[1] - s21 * c[0]) / det
            if t[a] * t[a] + t[a + 1] * t[a + 1] <= limit * limit:
                return 0.0
        _, t[a], t[a + 1], kappa = slip3(Sliding(limit, c[0], c[1], 0.0, 0.0, s11, s12, s21, s22, 1.0), kappa)
        return kappa
    # 3. More components: bisection for the multiplier.
    low, high = 0.0, math.inf
    typical, kappa = max(local[o], 1e-300), 0.0
    for _ in range(200):
        for i in range(size):
            for j in range(size):
                work[i, j] = local[o + i * d + j]
            work[i, i] += kappa
            t[a + i] = -c[i]
        solved = lu_solve(work, t[a:], size)
        carried = cones.norm(t, a, a + size) if solved else math.inf
        if carried <= limit:
            if kappa == 0.0 or limit - carried <= CLOSE * limit:
                break
            high = kappa
        else:
            low = kappa
        middle = 0.5 * (low + high) if high < math.inf else max(4.0 * low, typical)
        if middle in (low, high):
            break
        kappa = middle
    return kappa


@jit
def _tresca(block, q, n, kappa, work, t):
    """t <- impulses with Tresca friction for the normal impulse n, by block descent; return u_N.

    The problem is convex over a product of balls, so block descent over the groups converges.
    """
    local, at, d, coefficient, group_size, g0, g1 = block
    t[0] = n
    c = work[d]
    for _ in range(50):
        change, a = 0.0, 1
        for g in range(g0, g1):
            size = group_size[g]
            for i in range(size):
                c[i] = q[a + i]
                for j in range(d):
                    if j < a or j >= a + size:
                        c[i] += local[at + (a + i) * d + j] * t[j]
            before = t[a]
            kappa[g] = _shorten(block, a, size, coefficient[g] * n, c, kappa[g], work, t)
            change = max(change, abs(t[a] - before))
            a += size
        if change <= 1e-15 * cones.norm(t, 1, d):
            break
    u = q[0]
    for j in range(d):
        u += local[at + j] * t[j]
    return u


@jit
def _bisect(block, q, kappa, work, t):
    """Find a root of u_N(r_N) with Tresca friction by bisection, and refine it by Newton's method.

    u_N is continuous in r_N and negative at 0, so any r_N with u_N >= 0 closes a bracket.
    """
    # 1. Bracket.
    low, high = 0.0, -q[0] * block.local[block.at + block.d * block.d]
    closed = False
    for _ in range(10):
        closed = _tresca(block, q, high, kappa, work, t) >= 0.0
        if closed:
            break
        low, high = high, 4.0 * high
    if not closed:  # u_N < 0 even at a million times the impulse: jammed, possibly no solution
        return
    # 2. Bisection, with Newton's method each time the bracket is small enough.
    near = 1e-2
    for _ in range(50):
        middle = 0.5 * (low + high)
        if _tresca(block, q, middle, kappa, work, t) >= 0.0:
            high = middle
        else:
            low = middle
        if high - low <= near * high:
            if _newton(block, q, kappa, work, t) <= GOOD:
                break
            near *= 1e-3


@jit
def solve_friction(block, q, kappa, work, out):
    """out <- solution of the local problem of a `FrictionBlock`.   q, out (d,); kappa (ng,) in and out.

    work (2 d + 2, 2 d + 2).
    """
    local, at, d, coefficient, group_size, g0, g1 = block
    if q[0] >= 0.0 or local[at + d * d] == 0.0:
        for k in range(d):
            out[k] = 0.0
        return
    # 1. Newton's method from the last kappas.
    worst = _newton(block, q, kappa, work, out)
    # 2. From kappa = 0, all groups sticking.
    if not worst <= GOOD:
        for g in range(g0, g1):
            kappa[g] = 0.0
        worst = _newton(block, q, kappa, work, out)
    # 3. From kappa = |q_k| / (mu_k n0), the value for S = 0.
    if not worst <= GOOD:
        n0, a = -q[0] * local[at + d * d], 1
        for g in range(g0, g1):
            limit = coefficient[g] * n0
            kappa[g] = cones.norm(q, a, a + group_size[g]) / limit if limit > 0.0 else 0.0
            a += group_size[g]
        worst = _newton(block, q, kappa, work, out)
    # 4. Bisection.
    if not worst <= GOOD:
        _bisect(block, q, kappa, work, out)
    out[0] = max(out[0], 0.0)
    cones.shorten(out, 0, out[0], (group_size, coefficient, g0, g1))
