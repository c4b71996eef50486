"""Free motion of bodies in complex numbers: the kernels of `kernels/bodies/rotation.py` along directions.

Nothing here takes an absolute value or compares but by real parts, so that imaginary parts are derivatives.
"""

import numpy as np

from stickslip.gradients.moreau_jean_inputs import Complex
from stickslip.state import IntArray

NEWTON = 40
"""Most Newton iterations of a free rotation, as its kernel."""
NEXT, LAST = [1, 2, 0], [2, 0, 1]
"""Axes in turn."""
HAT = np.zeros((3, 3, 3))
"""a × = HAT a."""
HAT[0, 2, 1] = HAT[1, 0, 2] = HAT[2, 1, 0] = 1.0
HAT[0, 1, 2] = HAT[1, 2, 0] = HAT[2, 0, 1] = -1.0


def cross(a: Complex, b: Complex) -> Complex:
    """a × b over the last axis."""
    product: Complex = a[..., NEXT] * b[..., LAST] - a[..., LAST] * b[..., NEXT]
    return product


def dot(a: Complex, b: Complex) -> Complex:
    """a · b over the last axis, not conjugated."""
    product: Complex = (a * b).sum(axis=-1)
    return product


def times(A: Complex, x: Complex) -> Complex:
    """A x, shape (..., 3)."""
    product: Complex = (A * x[..., None, :]).sum(axis=-1)
    return product


def times_back(A: Complex, x: Complex) -> Complex:
    """A' x, shape (..., 3)."""
    product: Complex = (A * x[..., :, None]).sum(axis=-2)
    return product


def rotations(p: Complex) -> Complex:
    """R of unit quaternions, shape (..., 3, 3)."""
    a, b, c, d = p[..., 0], p[..., 1], p[..., 2], p[..., 3]
    R = np.empty((*p.shape[:-1], 3, 3), p.dtype)
    R[..., 0, 0], R[..., 0, 1], R[..., 0, 2] = (
        1.0 - 2.0 * (c * c + d * d), 2.0 * (b * c - d * a), 2.0 * (b * d + c * a)
    )  # fmt: skip
    R[..., 1, 0], R[..., 1, 1], R[..., 1, 2] = (
        2.0 * (b * c + d * a), 1.0 - 2.0 * (b * b + d * d), 2.0 * (c * d - b * a)
    )  # fmt: skip
    R[..., 2, 0], R[..., 2, 1], R[..., 2, 2] = (
        2.0 * (b * d - c * a), 2.0 * (c * d + b * a), 1.0 - 2.0 * (b * b + c * c)
    )  # fmt: skip
    return R


def moved(q: Complex, v: Complex, h: Complex) -> Complex:
    """q moved by h v, shape (k, n, 7); h of shape (k,)."""
    w = 0.5 * h[:, None, None] * v[..., 3:]
    a, b, c = w[..., 0], w[..., 1], w[..., 2]
    p0, p1, p2, p3 = q[..., 3], q[..., 4], q[..., 5], q[..., 6]
    p = np.stack(
        [p0 - p1 * a - p2 * b - p3 * c, p1 + p0 * a + p2 * c - p3 * b, p2 + p0 * b + p3 * a - p1 * c,
         p3 + p0 * c + p1 * b - p2 * a],
        axis=-1,
    )  # fmt: skip
    x = q[..., :3] + h[:, None, None] * v[..., :3]
    return np.concatenate([x, p / np.sqrt(dot(p, p))[..., None]], axis=-1)


def spun(J: Complex, J_inverse: Complex, spin: Complex, h: Complex) -> Complex:
    """Ω after a time h of free rotation, shape (k, n, 3); h of shape (k,)."""
    half = 0.5 * h[:, None, None]
    P = times(J, spin)
    mean = _mean_momentum(J_inverse[:1].real, P[:1].real, half[:1].real)
    mean = mean - _newton_step(J_inverse, P, half, mean)  # from a root: one step has all imaginary parts
    xi = half * times(J_inverse, mean)
    turned = cross(P, xi)
    gain = 2.0 / (1.0 + dot(xi, xi))[..., None]
    return spin + times(J_inverse, gain * (turned + cross(turned, xi)))


def freely(
    q: Complex, v: Complex, h: Complex, J: Complex, J_inverse: Complex, dynamic: IntArray
) -> tuple[Complex, Complex]:
    """q and v of all bodies after a time h; J and J_inverse of the dynamic ones, which turn freely."""
    mean, after = v, v
    if dynamic.size:
        spin = spun(J, J_inverse, v[:, dynamic, 3:], h)
        after = with_spin(v, dynamic, spin)
        mean = with_spin(v, dynamic, 0.5 * (v[:, dynamic, 3:] + spin))
    return moved(q, mean, h), after


def with_spin(v: Complex, dynamic: IntArray, spin: Complex) -> Complex:
    """v with other spins of the dynamic bodies."""
    out = np.empty((max(v.shape[0], spin.shape[0]), *v.shape[1:]), complex)
    out[:] = v
    out[:, dynamic, 3:] = spin
    return out


def inverses(J: Complex) -> Complex:
    """J⁻¹, symmetric, shape (k, n, 3, 3)."""
    inverse = np.linalg.inv(J)
    return 0.5 * (inverse + np.swapaxes(inverse, -1, -2))


def _mean_momentum(J_inverse: Complex, P: Complex, half: Complex) -> Complex:
    """Π̄ with Π̄ - Π = (h/2) Π̄ × J⁻¹ Π̄, in real numbers."""
    mean, last = P, np.inf
    for _ in range(NEWTON):
        step = _newton_step(J_inverse, P, half, mean)
        mean = mean - step
        size = float(np.abs(step).max(initial=0.0))
        if size <= 1e-17 * float(np.abs(P).max(initial=0.0)) or size >= last:
            break
        last = size
    return mean


def _newton_step(J_inverse: Complex, P: Complex, half: Complex, mean: Complex) -> Complex:
    w = times(J_inverse, mean)
    left = mean - P - half * cross(mean, w)
    # d(Π̄ × J⁻¹ Π̄) = -(ω ×) dΠ̄ + (Π̄ ×) J⁻¹ dΠ̄
    turning = (HAT * w[..., None, None, :]).sum(axis=-1) - (HAT * mean[..., None, None, :]).sum(
        axis=-1
    ) @ J_inverse
    tangent = np.eye(3) + half[..., None] * turning
    step: Complex = np.linalg.solve(tangent, left[..., None])[..., 0]
    return step
