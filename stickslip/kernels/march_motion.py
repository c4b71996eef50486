"""Systems on their way through a compiled step: what `schemes/moreau_jean_motion.py` does, on flat arrays.

    q(v) = q + h ((1-θ) v_k + θ v)                                   Siconos Developer's Notes 2017, (11.57)
    R_free(v) = M (v - v_k) - h θ F(t + h, q(v), v) - h (1-θ) F(t, q_k, v_k)                     (11.64)
    A = M - h θ D3F - h² θ² D2F,   v_free = v - A⁻¹ R_free(v)                               (11.62), (11.66)

with M at the θ-point; the semi-explicit variant has M(q_k), F(t, q_k, v_k) and A = M (11.53).
"""

import math

import numpy as np

from stickslip.kernels import march_layout as at
from stickslip.kernels.callables import call
from stickslip.kernels.jit import jit

ROUNDING = 4.0 * float(np.finfo(float).eps)
"""Relative size of what is rounding."""


@jit
def evaluate(address, where, constants, stop, t, a, b, z, out):
    """out <- a user's function at (t, a, b, z), or the constant at `where`."""
    if address != 0:
        call(address, t, a, b, z, stop, out)
    else:
        for k in range(out.shape[0]):
            out[k] = constants[where + k]


@jit
def mass(s, systems, constants, stop, t, q, z, buffer, M):
    """M <- mass matrix of system s at (t, q), row by row.   q (n,), M (n n,), buffer (n,) work."""
    n = q.shape[0]
    for k in range(n):
        buffer[k] = q[k]
    evaluate(systems[s, at.MASS], systems[s, at.MASS_AT], constants, stop, t, buffer[:n], buffer[:0], z, M)


@jit
def force(s, systems, terms, constants, stop, t, q, v, z, vectors, F):
    """F <- total force of system s at (t, q, v).   q, v, F (n,)."""
    n = q.shape[0]
    a, b, value = vectors[at.BUFFER_Q][:n], vectors[at.BUFFER_V][:n], vectors[at.VALUE][:n]
    for k in range(n):
        F[k] = 0.0
    for i in range(systems[s, at.TERM0], systems[s, at.TERM1]):
        sign, kind, where = terms[i, at.TERM_SIGN], terms[i, at.TERM_KIND], terms[i, at.TERM_AT]
        if kind == at.GIVEN:
            for k in range(n):
                a[k], b[k] = q[k], v[k]
            evaluate(terms[i, at.TERM], where, constants, stop, t, a, b, z, value)
            for k in range(n):
                F[k] += sign * value[k]
        else:
            x = q if kind == at.TIMES_Q else v
            for k in range(n):
                s_k = 0.0
                for j in range(n):
                    s_k += constants[where + k * n + j] * x[j]
                F[k] += sign * s_k


@jit
def subtract_slopes(s, systems, slopes, constants, stop, t, q, v, z, weight, vectors, A, work):
    """A <- A - weight dF/dv - weight² dF/dq of system s.   A, work (n n,)."""
    n = q.shape[0]
    a, b = vectors[at.BUFFER_Q][:n], vectors[at.BUFFER_V][:n]
    for i in range(systems[s, at.SLOPE0], systems[s, at.SLOPE1]):
        for k in range(n):
            a[k], b[k] = q[k], v[k]
        evaluate(slopes[i, at.SLOPE], slopes[i, at.SLOPE_AT], constants, stop, t, a, b, z, work)
        factor = weight if slopes[i, at.SLOPE_BY] == at.BY_V else weight * weight
        factor *= slopes[i, at.SLOPE_SIGN]
        for k in range(n * n):
            A[k] -= factor * work[k]


@jit
def move(s, systems, terms, constants, stop, theta, explicit, t, h, z, vectors, matrices):
    """q_end, M, F and the free residual of system s from its v_end.   z (nz,) its parameters."""
    a, b = systems[s, at.V0], systems[s, at.V1]
    n, room = b - a, systems[s, at.MATRIX]
    q, v, q_end, v_end = vectors[at.Q], vectors[at.V], vectors[at.Q_END], vectors[at.V_END]
    F, start, residual = vectors[at.FORCE], vectors[at.F_START], vectors[at.RESIDUAL]
    M = matrices[at.M_NOW][room : room + n * n]
    for k in range(a, b):
        q_end[k] = q[k] + h * (v[k] + theta * (v_end[k] - v[k]))
    if explicit or theta == 0.0:
        for k in range(a, b):
            F[k] = start[k]
    else:
        force(s, systems, terms, constants, stop, t + h, q_end[a:b], v_end[a:b], z, vectors, F[a:b])
        if theta != 1.0:
            for k in range(a, b):
                F[k] = theta * F[k] + (1.0 - theta) * start[k]
    if systems[s, at.MASS] != 0:
        middle = residual[a:b]
        for k in range(n):
            middle[k] = q[a + k] if explicit else q[a + k] + theta * (q_end[a + k] - q[a + k])
        mass(
            s, systems, constants, stop, t if explicit else t + theta * h, middle, z, vectors[at.BUFFER_Q], M
        )
    for i in range(n):
        total = 0.0
        for j in range(n):
            total += M[i * n + j] * (v_end[a + j] - v[a + j])
        residual[a + i] = total - h * F[a + i]


@jit
def missing(s, systems, h, vectors, matrices):
    """Momentum missing at the iterate of system s, over the largest term of the balance [-]."""
    a, n, room = systems[s, at.V0], systems[s, at.V1] - systems[s, at.V0], systems[s, at.MATRIX]
    M, v, v_end = matrices[at.M_NOW], vectors[at.V], vectors[at.V_END]
    off, start, end, push, reaction = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        before, after = 0.0, 0.0
        for j in range(n):
            before += M[room + i * n + j] * v[a + j]
            after += M[room + i * n + j] * v_end[a + j]
        off += (vectors[at.RESIDUAL, a + i] - vectors[at.PUSHED, a + i]) ** 2
        start, end = start + before * before, end + after * after
        push += (h * vectors[at.FORCE, a + i]) ** 2
        reaction += vectors[at.PUSHED, a + i] ** 2
    if off == 0.0:
        return 0.0
    size = max(end, push, reaction)
    return math.sqrt(off / (size if size > 0.0 else start))


@jit
def is_rounding(s, systems, slopes, constants, stop, theta, t, h, z, vectors, matrices, work):
    """Whether no more momentum of system s is missing than the rounding of q and v makes of the forces."""
    a, b, room = systems[s, at.V0], systems[s, at.V1], systems[s, at.MATRIX]
    n, M, grain = b - a, matrices[at.M_NOW], vectors[at.VALUE]
    q, v, q_end, v_end = vectors[at.Q], vectors[at.V], vectors[at.Q_END], vectors[at.V_END]
    for k in range(n):
        grain[k] = 0.0
        for j in range(n):
            grain[k] += abs(M[room + k * n + j]) * (abs(v[a + j]) + abs(v_end[a + j]))
    if theta > 0.0:
        for i in range(systems[s, at.SLOPE0], systems[s, at.SLOPE1]):
            q_now, v_now = vectors[at.BUFFER_Q][:n], vectors[at.BUFFER_V][:n]
            for k in range(n):
                q_now[k], v_now[k] = q_end[a + k], v_end[a + k]
            where = slopes[i, at.SLOPE_AT]
            evaluate(slopes[i, at.SLOPE], where, constants, stop, t + h, q_now, v_now, z, work[: n * n])
            by_v = slopes[i, at.SLOPE_BY] == at.BY_V
            for k in range(n):
                for j in range(n):
                    x = abs(v[a + j]) + abs(v_end[a + j]) if by_v else abs(q[a + j]) + abs(q_end[a + j])
                    grain[k] += h * abs(work[k * n + j]) * x
    for k in range(n):
        if not abs(vectors[at.RESIDUAL, a + k] - vectors[at.PUSHED, a + k]) <= ROUNDING * grain[k]:
            return False
    return True


@jit
def linearise(
    s, systems, slopes, constants, stop, theta, explicit, t, h, z, vectors, matrices, pivots, known, work
):  # fmt: skip
    """A factored and v_free of system s; false where M is not positive or A singular.   known (ns,)."""
    a, b, room = systems[s, at.V0], systems[s, at.V1], systems[s, at.MATRIX]
    n = b - a
    M, A = matrices[at.M_NOW][room : room + n * n], matrices[at.A_NOW][room : room + n * n]
    if not known[s]:
        for k in range(n * n):
            A[k] = M[k]
        if systems[s, at.MASS] != 0 and not is_positive(A, n, work):
            return False
        if not explicit and theta > 0.0:
            subtract_slopes(
                s, systems, slopes, constants, stop, t + h, vectors[at.Q_END, a:b], vectors[at.V_END, a:b], z,
                h * theta, vectors, A, work[: n * n],
            )  # fmt: skip
        if not factor(A, pivots[a:b], n):
            return False
        lasts = explicit or theta == 0.0 or systems[s, at.SLOPE0] == systems[s, at.SLOPE1]
        known[s] = lasts and systems[s, at.MASS] == 0
    x = vectors[at.VALUE][:n]
    for k in range(n):
        x[k] = vectors[at.RESIDUAL, a + k]
    substitute(A, pivots[a:b], x, n)
    for k in range(n):
        vectors[at.V_FREE, a + k] = vectors[at.V_END, a + k] - x[k]
    return True


@jit
def is_positive(M, n, work):
    """Whether M is positive definite, by Cholesky's factorisation.   M, work (n n,)."""
    for i in range(n):
        for j in range(i + 1):
            s = M[i * n + j]
            for k in range(j):
                s -= work[i * n + k] * work[j * n + k]
            if i == j:
                if not s > 0.0:
                    return False
                work[i * n + i] = np.sqrt(s)
            else:
                work[i * n + j] = s / work[j * n + j]
    return True


@jit
def factor(A, pivots, n):
    """A <- its triangular factors, rows exchanged as `pivots` says; false if singular.   A (n n,)."""
    for c in range(n):
        p, largest = c, abs(A[c * n + c])
        for i in range(c + 1, n):
            if abs(A[i * n + c]) > largest:
                p, largest = i, abs(A[i * n + c])
        if not (0.0 < largest < np.inf):
            return False
        pivots[c] = p
        if p != c:
            for j in range(n):
                A[c * n + j], A[p * n + j] = A[p * n + j], A[c * n + j]
        for i in range(c + 1, n):
            A[i * n + c] /= A[c * n + c]
            for j in range(c + 1, n):
                A[i * n + j] -= A[i * n + c] * A[c * n + j]
    return True


@jit
def substitute(A, pivots, x, n):
    """x <- A⁻¹ x with the factors of `factor`.   x (n,)."""
    for c in range(n):
        p = pivots[c]
        x[c], x[p] = x[p], x[c]
    for i in range(n):
        for j in range(i):
            x[i] -= A[i * n + j] * x[j]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            x[i] -= A[i * n + j] * x[j]
        x[i] /= A[i * n + i]
