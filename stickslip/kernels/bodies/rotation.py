"""Rotations of rigid bodies: unit quaternions (scalar first), the Cayley map, and free rotation.

Free rotation is the implicit midpoint rule in body momentum Π = J Ω,

    Π⁺ - Π = h Π̄ × ω̄,   Π̄ = (Π + Π⁺) / 2,   ω̄ = J⁻¹ Π̄,

which is equivalent to Π⁺ = Q' Π with Q = cay(h ω̄) (Austin, Krishnaprasad & Wang 1993). It conserves |Π| and
the energy, both quadratic, and the spatial momentum R Π if the body rotates by R⁺ = R Q.

Numbers may be complex: the imaginary part of a function at x + i ε d, over ε, is its derivative along d to
rounding (Squire & Trapp 1998). Therefore kernels of geometry branch on magnitudes and real parts only.
`entries`, `product`, `cross` and `turned` accept arrays as well when called from Python
(`stickslip/rotations.py`).
"""

import numpy as np

from stickslip.kernels.jit import jit

MOST_NEWTON = 40
"""Largest number of Newton iterations of a free rotation; up to h |Ω| of about 1 four or five are enough."""
ROUNDING = 2.0**-52
"""Machine precision [-]."""


@jit
def entries(p0, p1, p2, p3):
    """Return the nine entries of the rotation matrix of a unit quaternion, row by row."""
    return (
        1.0 - 2.0 * (p2 * p2 + p3 * p3),
        2.0 * (p1 * p2 - p0 * p3),
        2.0 * (p1 * p3 + p0 * p2),
        2.0 * (p1 * p2 + p0 * p3),
        1.0 - 2.0 * (p1 * p1 + p3 * p3),
        2.0 * (p2 * p3 - p0 * p1),
        2.0 * (p1 * p3 - p0 * p2),
        2.0 * (p2 * p3 + p0 * p1),
        1.0 - 2.0 * (p1 * p1 + p2 * p2),
    )


@jit
def matrix(p0, p1, p2, p3, R):
    """R (3, 3) <- rotation matrix of a unit quaternion."""
    (
        R[0, 0], R[0, 1], R[0, 2], R[1, 0], R[1, 1], R[1, 2], R[2, 0], R[2, 1], R[2, 2],
    ) = entries(p0, p1, p2, p3)  # fmt: skip


@jit
def product(p0, p1, p2, p3, q0, q1, q2, q3):
    """Return the product p ∘ q of quaternions."""
    return (
        p0 * q0 - p1 * q1 - p2 * q2 - p3 * q3,
        p0 * q1 + p1 * q0 + p2 * q3 - p3 * q2,
        p0 * q2 + p2 * q0 + p3 * q1 - p1 * q3,
        p0 * q3 + p3 * q0 + p1 * q2 - p2 * q1,
    )


@jit
def cross(a0, a1, a2, b0, b1, b2):
    """Return a × b."""
    return a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0


@jit
def turned(p0, p1, p2, p3, x, y, z):
    """Return R a for a unit quaternion and a = (x, y, z): a + 2 w × (w × a + p0 a) with w = (p1, p2, p3).

    The conjugate (p0, -p1, -p2, -p3) gives R' a.
    """
    a, b, c = p2 * z - p3 * y + p0 * x, p3 * x - p1 * z + p0 * y, p1 * y - p2 * x + p0 * z
    return (x + 2.0 * (p2 * c - p3 * b), y + 2.0 * (p3 * a - p1 * c), z + 2.0 * (p1 * b - p2 * a))


@jit
def turn_slope(p0, p1, p2, p3, a, out):
    """out <- ∂(R(p) a)/∂p, of a + 2 p0 w × a + 2 (w w'a - a w'w) with w = (p1, p2, p3).

    a (3,), out (12,).
    """
    x, y, z = a[0], a[1], a[2]
    c0, c1, c2 = cross(p1, p2, p3, x, y, z)
    s = p1 * x + p2 * y + p3 * z
    out[0], out[4], out[8] = 2.0 * c0, 2.0 * c1, 2.0 * c2
    out[1], out[2], out[3] = (
        2.0 * (s - p1 * x),
        2.0 * (p1 * y - 2.0 * x * p2 + p0 * z),
        2.0 * (p1 * z - 2.0 * x * p3 - p0 * y),
    )
    out[5], out[6], out[7] = (
        2.0 * (p2 * x - 2.0 * y * p1 - p0 * z),
        2.0 * (s - p2 * y),
        2.0 * (p2 * z - 2.0 * y * p3 + p0 * x),
    )
    out[9], out[10], out[11] = (
        2.0 * (p3 * x - 2.0 * z * p1 + p0 * y),
        2.0 * (p3 * y - 2.0 * z * p2 - p0 * x),
        2.0 * (s - p3 * z),
    )


@jit
def turn(q, v, h, out):
    """out (7,) <- pose q (7,) moved by h v (6,): x + h ẋ, and p ∘ (1, h Ω / 2) normalised.

    The rotation is the Cayley map of h Ω.
    """
    for k in range(3):
        out[k] = q[k] + h * v[k]
    half = 0.5 * h
    s0, s1, s2, s3 = product(q[3], q[4], q[5], q[6], 1.0, half * v[3], half * v[4], half * v[5])
    length = np.sqrt(s0 * s0 + s1 * s1 + s2 * s2 + s3 * s3)
    out[3], out[4], out[5], out[6] = s0 / length, s1 / length, s2 / length, s3 / length


@jit
def times(A, x, y, z):
    """Return A times a vector.   A (3, 3)."""
    return (
        A[0, 0] * x + A[0, 1] * y + A[0, 2] * z,
        A[1, 0] * x + A[1, 1] * y + A[1, 2] * z,
        A[2, 0] * x + A[2, 1] * y + A[2, 2] * z,
    )


@jit
def times_back(A, x, y, z):
    """Return A' times a vector.   A (3, 3)."""
    return (
        A[0, 0] * x + A[1, 0] * y + A[2, 0] * z,
        A[0, 1] * x + A[1, 1] * y + A[2, 1] * z,
        A[0, 2] * x + A[1, 2] * y + A[2, 2] * z,
    )


@jit
def solve3(row0, row1, row2, right):
    """Solve three linear equations by Cramer's rule; rows and right-hand side are three numbers each."""
    a, b, c = row0
    d, e, f = row1
    g, h, i = row2
    x, y, z = right
    A, B, C = e * i - f * h, f * g - d * i, d * h - e * g
    det = a * A + b * B + c * C
    return (
        (A * x + (c * h - b * i) * y + (b * f - c * e) * z) / det,
        (B * x + (a * i - c * g) * y + (c * d - a * f) * z) / det,
        (C * x + (b * g - a * h) * y + (a * e - b * d) * z) / det,
    )


@jit
def spin_freely(J, J_inverse, O0, O1, O2, h):
    """Return Ω after free rotation for a time h.   J, J_inverse (3, 3); O0, O1, O2: Ω at the start."""
    P0, P1, P2 = times(J, O0, O1, O2)
    size = abs(P0) + abs(P1) + abs(P2)
    m0, m1, m2 = P0, P1, P2  # Π̄
    w0, w1, w2 = O0, O1, O2
    # 1. Newton's method on Π̄ - Π - (h/2) Π̄ × J⁻¹ Π̄ = 0, until the residual is rounding or stops
    # decreasing.
    half, last, refined, K = 0.5 * h, np.inf, False, J_inverse
    for _ in range(MOST_NEWTON):
        f0 = m0 - P0 - half * (m1 * w2 - m2 * w1)
        f1 = m1 - P1 - half * (m2 * w0 - m0 * w2)
        f2 = m2 - P2 - half * (m0 * w1 - m1 * w0)
        error = abs(f0) + abs(f1) + abs(f2)
        if not error > ROUNDING * size or (error < 1e-13 * size and error >= last):
            # Imaginary parts, which are derivatives, converge one step later than real parts.
            if refined or (f0.imag == 0.0 and f1.imag == 0.0 and f2.imag == 0.0):
                break
            refined = True
        last = error
        d0, d1, d2 = solve3(
            (
                1.0 - half * (m1 * K[2, 0] - m2 * K[1, 0]),
                -half * (w2 + m1 * K[2, 1] - m2 * K[1, 1]),
                half * w1 - half * (m1 * K[2, 2] - m2 * K[1, 2]),
            ),
            (
                half * w2 - half * (m2 * K[0, 0] - m0 * K[2, 0]),
                1.0 - half * (m2 * K[0, 1] - m0 * K[2, 1]),
                -half * (w0 + m2 * K[0, 2] - m0 * K[2, 2]),
            ),
            (
                -half * (w1 + m0 * K[1, 0] - m1 * K[0, 0]),
                half * w0 - half * (m0 * K[1, 1] - m1 * K[0, 1]),
                1.0 - half * (m0 * K[1, 2] - m1 * K[0, 2]),
            ),
            (f0, f1, f2),
        )
        m0, m1, m2 = m0 - d0, m1 - d1, m2 - d2
        w0, w1, w2 = times(J_inverse, m0, m1, m2)
    # 2. Π⁺ = Q' Π: the rotation of Π by the quaternion (1, -ξ), ξ = h ω̄ / 2, which conserves |Π|.
    a, b, c = half * w0, half * w1, half * w2
    c0, c1, c2 = P1 * c - P2 * b, P2 * a - P0 * c, P0 * b - P1 * a  # Π × ξ
    g = 2.0 / (1.0 + (a * a + b * b + c * c))
    # 3. Ω⁺ = Ω + J⁻¹ (Π⁺ - Π): J⁻¹ Π⁺ would have the rounding error of J⁻¹ (J Ω), the same in every step.
    d0, d1, d2 = times(
        J_inverse, g * (c0 + (c1 * c - c2 * b)), g * (c1 + (c2 * a - c0 * c)), g * (c2 + (c0 * b - c1 * a))
    )
    return O0 + d0, O1 + d1, O2 + d2
