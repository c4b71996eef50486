"""Unit quaternions p = (p0, p1, p2, p3), scalar first: products, rotations, rates.

Siconos Developer's Notes 2017, (11.10) to (11.34), with R = Φ(p) taking body axes to inertial ones,
ṗ = Ψ(p) Ω and Ω the angular velocity in the body frame. There Ψ'Ψ and ΨΨ' are misprinted: of a unit
quaternion Ψ'Ψ = I/4 and ΨΨ' = (I - p p')/4, so Ω = 4 Ψ' ṗ.
"""

import numpy as np

from stickslip.problem.checks import Array


def product(p: Array, q: Array) -> Array:
    """p ∘ q [-], shape (4,)."""
    a, b = p[1:], q[1:]
    return np.array([p[0] * q[0] - a @ b, *(p[0] * b + q[0] * a + cross(a, b))])


def conjugate(p: Array) -> Array:
    """(p0, -p1, -p2, -p3), the inverse of a unit quaternion [-], shape (4,)."""
    return np.array([p[0], -p[1], -p[2], -p[3]])


def rotation(p: Array) -> Array:
    """R = Φ(p) [-], shape (3, 3), of a unit quaternion (11.19)."""
    p0, p1, p2, p3 = p
    return np.array(
        [
            [1.0 - 2.0 * (p2 * p2 + p3 * p3), 2.0 * (p1 * p2 - p3 * p0), 2.0 * (p1 * p3 + p2 * p0)],
            [2.0 * (p1 * p2 + p3 * p0), 1.0 - 2.0 * (p1 * p1 + p3 * p3), 2.0 * (p2 * p3 - p1 * p0)],
            [2.0 * (p1 * p3 - p2 * p0), 2.0 * (p2 * p3 + p1 * p0), 1.0 - 2.0 * (p1 * p1 + p2 * p2)],
        ]
    )


def rate_map(p: Array) -> Array:
    """Ψ(p) with ṗ = Ψ(p) Ω [-], shape (4, 3) (11.32)."""
    p0, p1, p2, p3 = p
    return 0.5 * np.array([[-p1, -p2, -p3], [p0, -p3, p2], [p3, p0, -p1], [-p2, p1, p0]])


def rotated_dp(p: Array, a: Array) -> Array:
    """∂(Φ(p) a)/∂p [unit of a], shape (3, 4)."""
    return _derivative(float(p[0]), p[1:], a)


def turned_back_dp(p: Array, a: Array) -> Array:
    """∂(Φ(p)' a)/∂p [unit of a], shape (3, 4).

    What a moment in the inertial frame needs, R'm; (11.73) to (11.76) differentiate R m, with misprints.
    Φ(p)' is Φ of the conjugate, so this is the other derivative with the vector part's sign turned.
    """
    turned = _derivative(float(p[0]), -p[1:], a)
    turned[:, 1:] *= -1.0
    return turned


def _derivative(scalar: float, part: Array, a: Array) -> Array:
    """Of Φ a = a + 2 p0 v × a + 2 (v v'a - a v'v) by p0 and the vector part v."""
    out = np.empty((3, 4))
    out[:, 0] = 2.0 * cross(part, a)
    by_part = (part @ a) * np.eye(3) + np.outer(part, a) - 2.0 * np.outer(a, part)
    out[:, 1:] = 2.0 * (by_part - scalar * skew(a))
    return out


def skew(a: Array) -> Array:
    """The matrix of a × [unit of a], shape (3, 3) (11.41)."""
    x, y, z = a
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def cross(a: Array, b: Array) -> Array:
    """a × b [-], shape (3,); written out, because NumPy's is slow on single vectors."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def about(axis: Array, angle: float) -> Array:
    """The unit quaternion of a turn by `angle` [rad] about `axis` [-], shape (4,)."""
    unit = np.asarray(axis, float) / np.linalg.norm(axis)
    return np.array([np.cos(0.5 * angle), *(np.sin(0.5 * angle) * unit)])


def frame(normal: Array) -> Array:
    """Rows n, t1, t2 of a right-handed orthonormal frame on a unit normal [-], shape (3, 3)."""
    smallest = np.zeros(3)
    smallest[int(np.argmin(np.abs(normal)))] = 1.0
    first = cross(normal, smallest)
    first /= np.sqrt(first @ first)
    return np.array([normal, first, cross(normal, first)])
