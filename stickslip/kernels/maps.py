"""Nonsmooth maps of one block whose roots satisfy its law, with their generalised Jacobians.

Every map writes F_i(r_i, u_i), A = dF_i/dr_i and B = dF_i/du_i of block i, so that with
u = W r + u_free the Newton matrix has the blocks A δ_ij + B W_ij. It returns a state: 0 for an open
block (F = r, A = I, B = 0, so that it can be eliminated), else 1, plus the bit 2 << g if group g of
its friction cone slips.

rho (n,) augmentation [kg], one per component and the same within a group; r, u (n,).

Alart & Curnier 1991, Jean & Moreau 1987, as in the Siconos Developer's Notes 2017, chapter 16; the
projection on the cone and Fischer–Burmeister with De Saxcé's shifted velocity are in `cone_maps.py`.
"""

from typing import Any, NamedTuple

from stickslip.kernels import cones
from stickslip.kernels.jit import jit


class Mapped(NamedTuple):
    """Outputs of a map for block i."""

    F: Any
    """F_i on the components of block i [N s], shape (n,)."""
    A: Any
    """dF_i/dr_i in its leading d rows and columns [-], shape (dmax, dmax)."""
    B: Any
    """dF_i/du_i in its leading d rows and columns [kg], shape (dmax, dmax)."""


@jit
def clear(d, out):
    """A, B <- 0 in their leading d rows and columns."""
    for a in range(d):
        for b in range(d):
            out.A[a, b] = 0.0
            out.B[a, b] = 0.0


@jit
def one_by_one(i, K, rho, r, u, out):
    """Write F = r - P_[low, high](r - rho u) for each component (F = rho u if free); return the state."""
    o, d, low, high, state = K.offset[i], K.offset[i + 1] - K.offset[i], K.lower[i], K.upper[i], 0
    F, A, B = out
    clear(d, out)
    for a in range(d):
        k = o + a
        y = r[k] - rho[k] * u[k]
        if low < y < high:
            F[k], B[a, a], state = rho[k] * u[k], rho[k], 1
        else:
            bound = low if y <= low else high
            F[k], A[a, a] = r[k] - bound, 1.0
            if bound != 0.0:  # elimination requires F = r
                state = 1
    return state


@jit
def disks(i, K, rho, height, r, u, out):
    """Write F_k = r_k - P_{|x| <= mu_k normal}(r_k - rho_k u_k) of all groups (16.1); return bits of slip.

    height: normal >= 0 in the radius of the disks, and its derivatives with respect to r_N and u_N.
    """
    o, g0, (normal, dr, du), (F, A, B) = K.offset[i], K.group_offset[i], height, out
    slips, a = 0, 1
    for g in range(g0, K.group_offset[i + 1]):
        m, mu, radius = K.group_size[g], K.coefficient[g], K.coefficient[g] * normal
        # 1. Trial impulse; sticking: F = rho u.
        for k in range(o + a, o + a + m):
            F[k] = r[k] - rho[k] * u[k]
        size = cones.norm(F, o + a, o + a + m)
        if mu > 0.0 and size <= radius:
            for j in range(a, a + m):
                F[o + j], B[j, j] = rho[o + j] * u[o + j], rho[o + j]
            a += m
            continue
        slips |= 2 << g - g0
        # 2. Sliding: with y the trial impulse and e = y/|y|, d(radius e) = mu e d(normal) + radius Gamma(y)
        # dy, Gamma(y) = (I - e e')/|y|; for radius 0 the result does not depend on y.
        for j in range(a, a + m):
            A[j, j] = 1.0
            F[o + j] = F[o + j] / size if size > 0.0 else 0.0
        if mu > 0.0:
            share = radius / size if size > 0.0 else 0.0
            for j in range(a, a + m):
                for k in range(a, a + m if m > 1 else a):  # in 2D e is constant
                    turn = -share * F[o + j] * F[o + k]
                    if j == k:
                        turn += share
                    A[j, k] -= turn
                    B[j, k] = rho[o + k] * turn
                A[j, 0] = -mu * dr * F[o + j]
                B[j, 0] = -mu * du * F[o + j]
        for j in range(a, a + m):
            F[o + j] = r[o + j] - radius * F[o + j]
        a += m
    return slips


@jit
def alart_curnier(i, K, rho, r, u, out):
    """Write the map of Alart and Curnier: F_N = r_N - max(y, 0), disks of radius mu y; return the state.

    y = r_N - rho_N u_N, (16.1)-(16.16); the block is open if y <= 0.
    """
    o, d, (F, A, B) = K.offset[i], K.offset[i + 1] - K.offset[i], out
    if K.kind[i] != cones.FRICTION:
        return one_by_one(i, K, rho, r, u, out)
    clear(d, out)
    y = r[o] - rho[o] * u[o]
    if y <= 0.0:
        for a in range(d):
            F[o + a], A[a, a] = r[o + a], 1.0
        return 0
    F[o], B[0, 0] = rho[o] * u[o], rho[o]
    return 1 | disks(i, K, rho, (y, 1.0, -rho[o]), r, u, out)


@jit
def jean_moreau(i, K, rho, r, u, out):
    """Write the map of Jean and Moreau: `alart_curnier` with radius mu max(r_N, 0); return the state.

    The block is open if y <= 0 and r_N <= 0.
    """
    o, d, (F, A, B) = K.offset[i], K.offset[i + 1] - K.offset[i], out
    if K.kind[i] != cones.FRICTION:
        return one_by_one(i, K, rho, r, u, out)
    clear(d, out)
    y, normal, dr = r[o] - rho[o] * u[o], 0.0, 0.0
    if r[o] > 0.0:
        normal, dr = r[o], 1.0
    if y <= 0.0:
        F[o], A[0, 0] = r[o], 1.0
        if r[o] <= 0.0:
            for a in range(1, d):
                F[o + a], A[a, a] = r[o + a], 1.0
            return 0
    else:
        F[o], B[0, 0] = rho[o] * u[o], rho[o]
    return 1 | disks(i, K, rho, (normal, dr, 0.0), r, u, out)
