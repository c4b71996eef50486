"""Free motion of bodies in complex numbers: the kernels of `kernels/bodies/rotation.py` along directions.

Nothing here takes an absolute value or compares but by real parts, so that imaginary parts are derivatives.
"""

import numpy as np

from stickslip.gradients.moreau_jean_inputs import Complex
from stickslip.state import IntArray

NEWTON = 40
"""Most Newton iterations of a free rotation, as its kernel."""


def cross(a: Complex, b: Complex) -> Complex:
    """a × b over the last axis."""
    a0, a1, a2 = a[..., 0], a[..., 1], a[..., 2]
    b0, b1, b2 = b[..., 0], b[..., 1], b[..., 2]
    return np.stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], axis=-1)


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
    rows = [
        [1.0 - 2.0 * (c * c + d * d), 2.0 * (b * c - d * a), 2.0 * (b * d + c * a)],
        [2.0 * (b * c + d * a), 1.0 - 2.0 * (b * b + d * d), 2.0 * (c * d - b * a)],
        [2.0 * (b * d - c * a), 2.0 * (c * d + b * a), 1.0 - 2.0 * (b * b + c * c)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


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
    mean = _mean_momentum(J[:1].real, J_inverse[:1].real, P[:1].real, half[:1].real).astype(complex)
    for _ in range(2):  # the first gives all imaginary parts, the second their rounding
        mean = mean - _newton_step(J_inverse, P, half, mean)
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


def _mean_momentum(J: Complex, J_inverse: Complex, P: Complex, half: Complex) -> Complex:
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
    tangent = np.eye(3) + half[..., None] * (_hat(w) - _hat(mean) @ J_inverse)
    step: Complex = np.linalg.solve(tangent, left[..., None])[..., 0]
    return step


def _hat(a: Complex) -> Complex:
    """The matrix of a ×, shape (..., 3, 3)."""
    zero = np.zeros_like(a[..., 0])
    x, y, z = a[..., 0], a[..., 1], a[..., 2]
    rows = [[zero, -z, y], [z, zero, -x], [-y, x, zero]]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
