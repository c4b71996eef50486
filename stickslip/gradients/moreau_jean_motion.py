"""Free motion of bodies along directions: the kernels of `kernels/bodies/` in complex numbers."""

from collections.abc import Iterator

import numpy as np

from stickslip.gradients.moreau_jean_inputs import Complex
from stickslip.kernels.bodies.motion import move_along, move_half
from stickslip.state import IntArray


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


def inverses(J: Complex) -> Complex:
    """J⁻¹, symmetric, shape (k, n, 3, 3)."""
    inverse = np.linalg.inv(J)
    return 0.5 * (inverse + np.swapaxes(inverse, -1, -2))


def each(*arrays: Complex) -> Iterator[tuple[Complex, ...]]:
    """The arrays at one direction after the other; those with a first axis of 1 are the same in all."""
    for d in range(max(len(x) for x in arrays)):
        yield tuple(x[d if len(x) > 1 else 0] for x in arrays)


def moved(q: Complex, v: Complex, h: Complex) -> Complex:
    """q moved by h v, shape (k, n, 7); h of shape (k,)."""
    out = np.empty((max(len(q), len(v), len(h)), *q.shape[1:]), complex)
    for end, *given in each(out, q, v, h):
        move_along(*given, end)
    return out


def freely(
    q: Complex, v: Complex, h: Complex, J: Complex, J_inverse: Complex, dynamic: IntArray
) -> tuple[Complex, Complex]:
    """q and v of all bodies after a time h; J and J_inverse of the dynamic ones, which move freely."""
    k, n = max(len(x) for x in (q, v, h, J)), q.shape[1]
    row, (inertia, inverse) = np.full(n, -1), np.zeros((2, len(J), n, 3, 3), complex)
    row[dynamic], inertia[:, dynamic], inverse[:, dynamic] = np.arange(dynamic.size), J, J_inverse
    q_end, v_end = np.empty((k, n, 7), complex), np.empty((k, n, 6), complex)
    for to_q, to_v, *given in each(q_end, v_end, inertia, inverse, q, v, h):
        move_half(row, *given, to_q, to_v)
    return q_end, v_end
