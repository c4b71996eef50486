"""Motion of systems in a compiled step: `schemes/moreau_jean_motion.py` on flat arrays.

    q(v) = q + h T(q) ((1-θ) v_k + θ v)                              Siconos Developer's Notes 2017, (11.57)
    R_free(v) = M (v - v_k) - h θ F(t + h, q(v), v) - h (1-θ) F(t, q_k, v_k)                     (11.64)
    A = M - h θ D3F - h² θ² D2F T(q),   v_free = v - A⁻¹ R_free(v)                          (11.62), (11.66)

with M at the θ-point; the semi-explicit variant has M(q_k), F(t, q_k, v_k) and A = M (11.53).
"""

import math

import numpy as np

from stickslip.kernels import march_bodies as bodies
from stickslip.kernels import march_layout as at
from stickslip.kernels.bodies.rotation import turn_slope, turned
from stickslip.kernels.callables import call
from stickslip.kernels.jit import jit, jit_inlined

ROUNDING = 4.0 * float(np.finfo(float).eps)
"""Relative rounding error of one term of the momentum balance [-]."""


@jit_inlined
def evaluate(values, address, where, t, a, b, z, out):
    """out <- value of the user's function at (t, a, b, z), or constants from `where` on if address is 0."""
    if address != 0:
        call(address, t, a, b, z, values.stop, out)
    else:
        for k in range(out.shape[0]):
            out[k] = values.constants[where + k]


@jit
def mass(s, dynamics, t, q, z, buffer, M):
    """M <- mass matrix of system s at (t, q), row by row.   q (nq,), M (n n,), buffer (>= nq,) work."""
    n, where = q.shape[0], dynamics.systems[s, at.MASS_AT]
    for k in range(n):
        buffer[k] = q[k]
    evaluate(dynamics.values, dynamics.systems[s, at.MASS], where, t, buffer[:n], buffer[:0], z, M)


@jit
def turn(kind, q, x):
    """x <- R x for FORCE_TURNED, R' x for MOMENT_TURNED, with R the rotation of the body.   x (3,)."""
    if kind == at.FORCE_TURNED:
        x[0], x[1], x[2] = turned(q[3], q[4], q[5], q[6], x[0], x[1], x[2])
    elif kind == at.MOMENT_TURNED:
        x[0], x[1], x[2] = turned(q[3], -q[4], -q[5], -q[6], x[0], x[1], x[2])


@jit_inlined
def force(s, dynamics, t, q, v, z, vectors, F):
    """F <- total force of system s at (t, q, v).   q (nq,), v, F (n,)."""
    n, constants = v.shape[0], dynamics.values.constants
    a, b, value = vectors[at.BUFFER_Q][: q.shape[0]], vectors[at.BUFFER_V][:n], vectors[at.VALUE][:n]
    for k in range(n):
        F[k] = 0.0
    for i in range(dynamics.systems[s, at.TERM0], dynamics.systems[s, at.TERM1]):
        sign, kind = dynamics.terms[i, at.TERM_SIGN], dynamics.terms[i, at.TERM_KIND]
        address, where = dynamics.terms[i, at.TERM], dynamics.terms[i, at.TERM_AT]
        if kind == at.TIMES_Q or kind == at.TIMES_V:
            x = q if kind == at.TIMES_Q else v
            width = x.shape[0]
            for k in range(n):
                s_k = 0.0
                for j in range(width):
                    s_k += constants[where + k * width + j] * x[j]
                F[k] += sign * s_k
        elif kind == at.GYRATION:
            bodies.gyration(constants[where : where + 9], v, value)
            for k in range(3):
                F[3 + k] += sign * value[k]
        else:
            for k in range(q.shape[0]):
                a[k] = q[k]
            for k in range(n):
                b[k] = v[k]
            if kind == at.GIVEN:
                evaluate(dynamics.values, address, where, t, a, b, z, value)
                for k in range(n):
                    F[k] += sign * value[k]
            else:
                first = 0 if kind == at.FORCE or kind == at.FORCE_TURNED else 3
                evaluate(dynamics.values, address, where, t, a, b, z, value[:3])
                turn(kind, q, value)
                for k in range(3):
                    F[first + k] += sign * value[k]


@jit
def slope(i, dynamics, t, q, v, z, moving):
    """Write slope i at (t, q, v) to `moving.spare`, row by row; return its width.   q (nq,), v (n,)."""
    n, D, vectors, kind = v.shape[0], moving.spare, moving.vectors, dynamics.slopes[i, at.SLOPE_KIND]
    address, where = dynamics.slopes[i, at.SLOPE], dynamics.slopes[i, at.SLOPE_AT]
    width = n if dynamics.slopes[i, at.SLOPE_BY] == at.BY_V else q.shape[0]
    a, b, x = vectors[at.BUFFER_Q][: q.shape[0]], vectors[at.BUFFER_V][:n], vectors[at.VALUE][:3]
    for k in range(q.shape[0]):
        a[k] = q[k]
    for k in range(n):
        b[k] = v[k]
    if kind == at.GIVEN:
        evaluate(dynamics.values, address, where, t, a, b, z, D[: n * width])
        return width
    part, first = moving.part, 0
    for k in range(n * width):
        D[k] = 0.0
    if kind == at.GYRATION:
        bodies.gyration_slope(dynamics.values.constants[where : where + 9], v, part)
        for k in range(9):
            D[(3 + k // 3) * width + 3 + k % 3] = part[k]
    elif kind == at.TURN_OF_FORCE or kind == at.TURN_OF_MOMENT:
        evaluate(dynamics.values, address, where, t, a, b, z, x)
        back = 1.0 if kind == at.TURN_OF_FORCE else -1.0  # R' is R of the conjugate
        turn_slope(q[3], back * q[4], back * q[5], back * q[6], x, part)
        first = 0 if kind == at.TURN_OF_FORCE else 3
        for k in range(3):
            for j in range(4):
                D[(first + k) * width + 3 + j] = part[4 * k + j] * (1.0 if j == 0 else back)
    else:
        evaluate(dynamics.values, address, where, t, a, b, z, part[: 3 * width])
        first = 0 if kind == at.FORCE or kind == at.FORCE_TURNED else 3
        for j in range(width):
            for k in range(3):
                x[k] = part[k * width + j]
            turn(kind, q, x)
            for k in range(3):
                D[(first + k) * width + j] = x[k]
    return width


@jit_inlined
def subtract_slopes(s, dynamics, weight, t, z, moving, A):
    """A <- A - weight dF/dv - weight² dF/dq T(q_k) of system s, derivatives at the iterate.   A (n n,)."""
    systems, slopes, vectors = dynamics.systems, dynamics.slopes, moving.vectors
    a, b, c, d = systems[s, at.X0], systems[s, at.X1], systems[s, at.V0], systems[s, at.V1]
    n, D, row = d - c, moving.spare, vectors[at.VALUE][: d - c]
    for i in range(systems[s, at.SLOPE0], systems[s, at.SLOPE1]):
        width = slope(i, dynamics, t, vectors[at.Q_END, a:b], vectors[at.V_END, c:d], z, moving)
        by_q = slopes[i, at.SLOPE_BY] == at.BY_Q
        factor = (weight * weight if by_q else weight) * slopes[i, at.SLOPE_SIGN]
        if by_q and systems[s, at.MOVES_BY] == at.POSE:
            for k in range(n):
                bodies.by_velocity(vectors[at.Q, a:b], D[k * width : (k + 1) * width], row)
                for j in range(n):
                    A[k * n + j] -= factor * row[j]
        else:
            for k in range(n * n):
                A[k] -= factor * D[k]


@jit_inlined
def move(s, dynamics, method, t, z, moving):
    """Write q(v), M, F and R_free(v) of system s at the iterate v = v_end.   z (nz,) parameters."""
    systems, vectors, theta, h = dynamics.systems, moving.vectors, method.thetas[s], method.h
    a, b, c, d = systems[s, at.V0], systems[s, at.V1], systems[s, at.X0], systems[s, at.X1]
    n, room = b - a, systems[s, at.MATRIX]
    q, v, q_end, v_end = vectors[at.Q], vectors[at.V], vectors[at.Q_END], vectors[at.V_END]
    F, start, residual = vectors[at.TOTAL], vectors[at.F_START], vectors[at.RESIDUAL]
    M = moving.matrices[at.M_NOW][room : room + n * n]
    # 1. q(v), (11.57).
    if systems[s, at.MOVES_BY] == at.POSE:
        mean, rate = vectors[at.BUFFER_V][:n], vectors[at.VALUE]
        for k in range(n):
            mean[k] = v[a + k] + theta * (v_end[a + k] - v[a + k])
        bodies.pose_rate(q[c:d], mean, rate)
        for k in range(d - c):
            q_end[c + k] = q[c + k] + h * rate[k]
        bodies.normalize(q_end[c:d])
    else:
        for k in range(n):
            q_end[c + k] = q[c + k] + h * (v[a + k] + theta * (v_end[a + k] - v[a + k]))
    # 2. Force θ F(t + h, q(v), v) + (1-θ) F(t, q_k, v_k), and mass matrix at the θ-point.
    if method.explicit or theta == 0.0:
        for k in range(a, b):
            F[k] = start[k]
    else:
        force(s, dynamics, t + h, q_end[c:d], v_end[a:b], z, vectors, F[a:b])
        if theta != 1.0:
            for k in range(a, b):
                F[k] = theta * F[k] + (1.0 - theta) * start[k]
    if systems[s, at.MASS] != 0:
        middle, ahead = vectors[at.VALUE][: d - c], 0.0 if method.explicit else theta
        for k in range(d - c):
            middle[k] = q[c + k] + ahead * (q_end[c + k] - q[c + k])
        mass(s, dynamics, t + ahead * h, middle, z, vectors[at.BUFFER_Q], M)
    # 3. R_free(v), (11.64).
    for i in range(n):
        total = 0.0
        for j in range(n):
            total += M[i * n + j] * (v_end[a + j] - v[a + j])
        residual[a + i] = total - h * F[a + i]


@jit_inlined
def missing(s, systems, h, vectors, matrices):
    """Return the error of the momentum balance of system s at its iterate, over its largest term [-]."""
    M = matrices[at.M_NOW]
    a, n, room = systems[s, at.V0], systems[s, at.V1] - systems[s, at.V0], systems[s, at.MATRIX]
    v, v_end = vectors[at.V], vectors[at.V_END]
    error, start, end, push, reaction = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        before, after = 0.0, 0.0
        for j in range(n):
            before += M[room + i * n + j] * v[a + j]
            after += M[room + i * n + j] * v_end[a + j]
        error += (vectors[at.RESIDUAL, a + i] - vectors[at.PUSHED, a + i]) ** 2
        start, end = start + before * before, end + after * after
        push += (h * vectors[at.TOTAL, a + i]) ** 2
        reaction += vectors[at.PUSHED, a + i] ** 2
    if error == 0.0:
        return 0.0
    size = max(end, push, reaction)
    return math.sqrt(error / (size if size > 0.0 else start))


@jit_inlined
def is_rounding(s, dynamics, method, t, z, moving):
    """Return whether the momentum error of system s is at most the rounding of M v and of the forces."""
    systems, slopes, vectors, M = dynamics.systems, dynamics.slopes, moving.vectors, moving.matrices[at.M_NOW]
    a, b, c, d = systems[s, at.V0], systems[s, at.V1], systems[s, at.X0], systems[s, at.X1]
    n, room, h, grain, D = b - a, systems[s, at.MATRIX], method.h, vectors[at.BEFORE][a:b], moving.spare
    q, v, q_end, v_end = vectors[at.Q], vectors[at.V], vectors[at.Q_END], vectors[at.V_END]
    for k in range(n):
        grain[k] = 0.0
        for j in range(n):
            grain[k] += abs(M[room + k * n + j]) * (abs(v[a + j]) + abs(v_end[a + j]))
    if method.thetas[s] > 0.0:
        for i in range(systems[s, at.SLOPE0], systems[s, at.SLOPE1]):
            width = slope(i, dynamics, t + h, q_end[c:d], v_end[a:b], z, moving)
            by_v = slopes[i, at.SLOPE_BY] == at.BY_V
            for k in range(n):
                for j in range(width):
                    x = abs(v[a + j]) + abs(v_end[a + j]) if by_v else abs(q[c + j]) + abs(q_end[c + j])
                    grain[k] += h * abs(D[k * width + j]) * x
    for k in range(n):
        if not abs(vectors[at.RESIDUAL, a + k] - vectors[at.PUSHED, a + k]) <= ROUNDING * grain[k]:
            return False
    return True


@jit_inlined
def linearise(s, dynamics, method, t, z, moving):
    """Factor A and write v_free of system s; return False if M is not positive definite or A is singular."""
    systems, vectors, theta = dynamics.systems, moving.vectors, method.thetas[s]
    a, b, room = systems[s, at.V0], systems[s, at.V1], systems[s, at.MATRIX]
    n = b - a
    M, A = moving.matrices[at.M_NOW][room : room + n * n], moving.matrices[at.A_NOW][room : room + n * n]
    if not moving.known[s]:
        for k in range(n * n):
            A[k] = M[k]
        if systems[s, at.MASS] != 0 and not is_positive(A, n, moving.spare):
            return False
        implicit = not method.explicit and theta > 0.0
        if implicit:
            subtract_slopes(s, dynamics, method.h * theta, t + method.h, z, moving, A)
        if not factor(A, moving.pivots[a:b], n):
            return False
        is_constant = not implicit or systems[s, at.SLOPE0] == systems[s, at.SLOPE1]
        moving.known[s] = is_constant and systems[s, at.MASS] == 0
    x = vectors[at.VALUE][:n]
    for k in range(n):
        x[k] = vectors[at.RESIDUAL, a + k]
    substitute(A, moving.pivots[a:b], x, n)
    for k in range(n):
        vectors[at.V_FREE, a + k] = vectors[at.V_END, a + k] - x[k]
    return True


@jit
def is_positive(M, n, work):
    """Return whether M is positive definite, by Cholesky factorisation.   M, work (n n,)."""
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
    """A <- its LU factors with row exchanges `pivots`; return False if A is singular.   A (n n,)."""
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
    """x <- A⁻¹ x, with the factors from `factor`.   x (n,)."""
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
