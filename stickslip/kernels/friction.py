"""One contact of any friction family by itself: rolling, torsion, any groups under one normal.

Each group k slides with u_k = -kappa_k r_k, kappa_k >= 0. With u_N = 0 eliminated,
(S + diag(kappa)) t = -b, r_N = n0 - w·t, and the kappas solve the complementarity problem
0 <= kappa_k ⟂ phi_k = mu_k r_N / |t_k| - 1 >= 0, by Newton's method on the groups that slide. Where
that does not settle, r_N is found by bisection under Tresca's friction, and Newton polishes.

A contact whose W_ii is singular is solved with W_ii + D and q - D r instead, D a small diagonal and
r its present impulse: a proximal step, which has the same solutions and never lacks one.
"""

import math

from stickslip.kernels import cones
from stickslip.kernels.jit import jit

CLOSE = 4e-15
"""Relative rounding at which a root is a root."""
SINGULAR_BELOW = 1e-11
"""Smallest pivot of the scaled S that counts as regular."""
PROX = 1e-3
"""Weight of the proximal term of a contact with a singular W_ii, relative to its diagonal."""
EXTRAS = 2
"""Numbers after W_ii: 1/W_NN, and 1 if W_ii was singular and carries the proximal term."""


def work_rows(d):
    """Rows and columns of the work array for contacts of at most d components."""
    return 2 * d + 2, 3 * d + 3


@jit
def prepare_friction(local, at, d, work):
    """Fill the extras of a friction contact after its W_ii.   local flat, W_ii at `at`.

    A singular W_ii gets its proximal term here.
    """
    extra = at + d * d
    local[extra], local[extra + 1] = 0.0, 0.0
    w00 = local[at]
    if not w00 > 0.0:
        return
    local[extra] = 1.0 / w00
    m = d - 1
    _scales(local, at, d, work)
    for i in range(m):
        for j in range(m):
            s = local[at + (i + 1) * d + j + 1] - local[at + (i + 1) * d] * local[at + j + 1] / w00
            work[i, j] = s * work[m, i] * work[m, j]
    pivot = _eliminate(work, m, 0)
    if not pivot > SINGULAR_BELOW:
        local[extra + 1] = 1.0
        for k in range(d):
            w = local[at + k * d + k]
            local[at + k * d + k] += PROX * (w if w > 0.0 else w00)
        local[extra] = 1.0 / local[at]


@jit
def _scales(local, at, d, work):
    """work[m, :m] <- 1/sqrt of the tangential diagonal of W_ii, so that units do not matter."""
    for i in range(d - 1):
        w = local[at + (i + 1) * d + i + 1]
        work[d - 1, i] = 1.0 / math.sqrt(w) if w > 0.0 else 1.0


@jit
def _eliminate(A, m, columns):
    """Solve A[:m, :m] x = each of the next columns, in place, with row pivoting; smallest pivot."""
    smallest = math.inf
    for c in range(m):
        p = c
        for i in range(c + 1, m):
            if abs(A[i, c]) > abs(A[p, c]):
                p = i
        if p != c:
            for j in range(c, m + columns):
                A[c, j], A[p, j] = A[p, j], A[c, j]
        smallest = min(smallest, abs(A[c, c]))
        if A[c, c] == 0.0:
            A[c, c] = 1e-300
        for i in range(c + 1, m):
            f = A[i, c] / A[c, c]
            if f != 0.0:
                for j in range(c, m + columns):
                    A[i, j] -= f * A[c, j]
    for k in range(m, m + columns):
        for i in range(m - 1, -1, -1):
            s = A[i, k]
            for j in range(i + 1, m):
                s -= A[i, j] * A[j, k]
            A[i, k] = s / A[i, i]
    return smallest


@jit
def _tangents(local, at, d, q, coefficient, group_size, g0, g1, kappa, derivatives, work, t):
    """t[1:d] <- -(S + diag kappa)^-1 b and t[0] <- r_N; groups with mu = 0 stay at zero.

    With `derivatives`, columns m+1.. of work become d t / d kappa_g, in the order of the groups.
    """
    m, iw = d - 1, local[at + d * d]
    n0, p = -q[0] * iw, g1 - g0
    _scales(local, at, d, work)
    i = 0
    for g in range(g0, g1):
        for _ in range(group_size[g]):
            for j in range(m):
                s = local[at + (i + 1) * d + j + 1] - local[at + (i + 1) * d] * local[at + j + 1] * iw
                work[i, j] = s * work[m, i] * work[m, j]
            work[i, i] += kappa[g] * work[m, i] * work[m, i]
            work[i, m] = -(q[i + 1] + local[at + (i + 1) * d] * n0) * work[m, i]
            if coefficient[g] == 0.0:
                for j in range(m):
                    work[i, j] = 0.0
                work[i, i], work[i, m] = 1.0, 0.0
            i += 1
    if derivatives:
        # First t itself, from a copy of the matrix, since the derivatives have t on their right.
        for i in range(m):
            for j in range(m):
                work[i, m + 1 + p + j] = work[i, j]
    _eliminate(work, m, 1)
    n = n0
    for i in range(m):
        t[i + 1] = work[i, m] * work[m, i]
        n -= local[at + i + 1] * iw * t[i + 1]
    t[0] = n
    if derivatives:
        for i in range(m):
            for j in range(m):
                work[i, j] = work[i, m + 1 + p + j]
        i = 0
        for g in range(g0, g1):
            for _ in range(group_size[g]):
                for h in range(p):
                    work[i, m + h] = 0.0
                if coefficient[g] > 0.0:
                    work[i, m + g - g0] = -t[i + 1] * work[m, i]
                i += 1
        _eliminate(work, m, p)
        for i in range(m):
            for h in range(p):
                work[i, m + h] *= work[m, i]


@jit
def _slack(t, a, size, mu):
    """phi = mu r_N / |t_k| - 1 of one group; infinite when it carries nothing."""
    carried = cones.norm(t, a, a + size)
    return math.inf if carried == 0.0 else mu * t[0] / carried - 1.0


@jit
def _worst_slack(local, at, d, coefficient, group_size, g0, g1, kappa, t):
    """How far the kappas are from 0 <= kappa ⟂ phi >= 0: the largest violation over the groups."""
    worst, a = 0.0, 1
    for g in range(g0, g1):
        if coefficient[g] > 0.0:
            phi = _slack(t, a, group_size[g], coefficient[g])
            typical = local[at + a * d + a]
            worst = max(worst, -phi, min(phi, kappa[g] / typical if typical > 0.0 else kappa[g]))
        a += group_size[g]
    return worst


@jit
def _newton(local, at, d, q, coefficient, group_size, g0, g1, kappa, work, t):
    """Newton's method on the kappas of the groups that slide; the violation that is left."""
    m, p, iw = d - 1, g1 - g0, local[at + d * d]
    worst = math.inf
    for iteration in range(40):
        _tangents(local, at, d, q, coefficient, group_size, g0, g1, kappa, True, work, t)
        worst = _worst_slack(local, at, d, coefficient, group_size, g0, g1, kappa, t)
        if worst <= CLOSE:
            return worst
        # Rows m+1.. of work: the small system on the kappas, J step = -phi, identity where at rest.
        a = 1
        for g in range(g0, g1):
            row, size = m + 1 + g - g0, group_size[g]
            for h in range(p + 1):
                work[row, h] = 0.0
            work[row, g - g0] = 1.0
            phi = math.inf if coefficient[g] == 0.0 else _slack(t, a, size, coefficient[g])
            if phi < math.inf and (kappa[g] > 0.0 or phi < 0.0):
                carried = cones.norm(t, a, a + size)
                for h in range(p):
                    dn, along = 0.0, 0.0
                    for i in range(m):
                        dn -= local[at + i + 1] * iw * work[i, m + h]
                    for i in range(a - 1, a - 1 + size):
                        along += t[i + 1] * work[i, m + h]
                    work[row, h] = coefficient[g] * (
                        dn / carried - t[0] * along / (carried * carried * carried)
                    )
                work[row, p] = -phi
            a += size
        for i in range(p):
            for j in range(p + 1):
                work[i, j] = work[m + 1 + i, j]
        _eliminate(work, p, 1)
        for g in range(g0, g1):
            step = work[g - g0, p]
            if not abs(step) < math.inf:
                return math.inf
            least = 0.0 if iteration < 10 else 0.1 * kappa[g]
            kappa[g] = max(kappa[g] + step, least)
    return worst


@jit
def _shorten(local, at, d, a, size, limit, c, kappa, work, t):
    """t[a:a+size] <- argmin of ½ t'W_kk t + c't over |t| <= limit, by its multiplier, the value.

    c (size,). The norm falls monotonically with the multiplier.
    """
    low, high = 0.0, math.inf
    typical = max(local[at + a * d + a], 1e-300)
    for _ in range(200):
        for i in range(size):
            for j in range(size):
                work[i, j] = local[at + (a + i) * d + a + j]
            work[i, i] += kappa
            work[i, size] = -c[i]
        _eliminate(work, size, 1)
        for i in range(size):
            t[a + i] = work[i, size]
        carried = cones.norm(t, a, a + size)
        if carried <= limit:
            if kappa == 0.0 or limit - carried <= CLOSE * limit:
                break
            high = kappa
        else:
            low = kappa
        kappa_next = 0.5 * (low + high) if high < math.inf else max(4.0 * low, typical)
        if kappa_next in (low, high):
            break
        kappa = kappa_next
    return kappa


@jit
def _tresca(local, at, d, q, coefficient, group_size, g0, g1, n, kappa, work, t):
    """t <- friction under a given normal impulse n, group after group; the normal velocity u_N.

    A convex problem over a product of balls, for which block descent converges.
    """
    t[0] = n
    c = work[d]
    for _ in range(200):
        change, a = 0.0, 1
        for g in range(g0, g1):
            size = group_size[g]
            for i in range(size):
                c[i] = q[a + i]
                for j in range(d):
                    if j < a or j >= a + size:
                        c[i] += local[at + (a + i) * d + j] * t[j]
            before = t[a]
            kappa[g] = _shorten(local, at, d, a, size, coefficient[g] * n, c, 0.0, work, t)
            change = max(change, abs(t[a] - before))
            a += size
        if change <= 1e-15 * cones.norm(t, 1, d):
            break
    u = q[0]
    for j in range(d):
        u += local[at + j] * t[j]
    return u


@jit
def _bisect(local, at, d, q, coefficient, group_size, g0, g1, kappa, work, t):
    """kappa <- kappas near a solution, found as a root of u_N(r_N) under Tresca's friction.

    u_N is continuous in r_N and negative at 0, so a bracket always closes on a root.
    """
    low, high = 0.0, -q[0] * local[at + d * d]
    for _ in range(60):
        if _tresca(local, at, d, q, coefficient, group_size, g0, g1, high, kappa, work, t) >= 0.0:
            break
        low, high = high, 2.0 * high
    for _ in range(50):
        middle = 0.5 * (low + high)
        if _tresca(local, at, d, q, coefficient, group_size, g0, g1, middle, kappa, work, t) >= 0.0:
            high = middle
        else:
            low = middle
        if high - low <= 1e-10 * high:
            break


@jit
def solve_friction(local, at, d, q, coefficient, group_size, g0, g1, kappa, work, out):
    """out <- r of one contact of any family.   q, out (d,); kappa (ng,) guess in, kappas out.

    work has `work_rows(d)` rows and columns.
    """
    if q[0] >= 0.0 or local[at + d * d] == 0.0:
        for i in range(d):
            out[i] = 0.0
        return
    worst = _newton(local, at, d, q, coefficient, group_size, g0, g1, kappa, work, out)
    if not worst <= 1e-12:
        _bisect(local, at, d, q, coefficient, group_size, g0, g1, kappa, work, out)
        _newton(local, at, d, q, coefficient, group_size, g0, g1, kappa, work, out)
    out[0] = max(out[0], 0.0)
    cones.project_groups(out, 0, group_size, coefficient, g0, g1)
