"""Discrete momentum at the start of a step: P(v) = (m ẋ, J Ω + (h/2) Ω × J Ω + (h²/4)(Ω·J Ω) Ω).

It is the discrete Legendre transform of a rigid body with the Cayley map (Bou-Rabee & Marsden 2009).
"""

from stickslip.kernels.bodies.rotation import times
from stickslip.kernels.jit import jit


@jit
def momentum(m, J, h, v, out):
    """out (6,) <- P(v) of a body: momentum at the start of a step of length h, or at its end with -h for h.

    Each is in the frame of the body at that time. J (3, 3), v (6,).
    """
    w0, w1, w2 = v[3], v[4], v[5]
    l0, l1, l2 = times(J, w0, w1, w2)
    energy = 0.25 * h * h * (w0 * l0 + w1 * l1 + w2 * l2)
    half = 0.5 * h
    out[0], out[1], out[2] = m * v[0], m * v[1], m * v[2]
    out[3] = l0 + half * (w1 * l2 - w2 * l1) + energy * w0
    out[4] = l1 + half * (w2 * l0 - w0 * l2) + energy * w1
    out[5] = l2 + half * (w0 * l1 - w1 * l0) + energy * w2


@jit
def momentum_slope(m, J, h, v, out):
    """out (6, 6) <- dP/dv = diag(m, J + (h/2)(Ω× J - (J Ω)×) + (h²/4)(2 Ω (J Ω)' + Ω·J Ω))."""
    w0, w1, w2 = v[3], v[4], v[5]
    l0, l1, l2 = times(J, w0, w1, w2)
    half, quarter = 0.5 * h, 0.25 * h * h
    energy = quarter * (w0 * l0 + w1 * l1 + w2 * l2)
    for i in range(6):
        for k in range(6):
            out[i, k] = 0.0
    for i in range(3):
        out[i, i] = m
        out[3, 3 + i] = J[0, i] + half * (w1 * J[2, i] - w2 * J[1, i])
        out[4, 3 + i] = J[1, i] + half * (w2 * J[0, i] - w0 * J[2, i])
        out[5, 3 + i] = J[2, i] + half * (w0 * J[1, i] - w1 * J[0, i])
    out[3, 4] += half * l2
    out[3, 5] -= half * l1
    out[4, 3] -= half * l2
    out[4, 5] += half * l0
    out[5, 3] += half * l1
    out[5, 4] -= half * l0
    for i in range(3):
        w = v[3 + i]
        out[3 + i, 3] += 2.0 * quarter * w * l0
        out[3 + i, 4] += 2.0 * quarter * w * l1
        out[3 + i, 5] += 2.0 * quarter * w * l2
        out[3 + i, 3 + i] += energy
