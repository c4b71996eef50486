"""Rotations and quaternions in NumPy, single or vectorised; the formulas are those of the kernels.

Unit quaternions p have their scalar part first. R(p) maps coordinates in the body frame to the inertial
frame, and ṗ = Ψ(p) Ω with the angular velocity Ω in the body frame (Siconos Developer's Notes 2017, (11.10)
to (11.34)). There Ψ'Ψ and ΨΨ' are misprinted: for a unit quaternion Ψ'Ψ = I/4 and ΨΨ' = (I - p p')/4, so Ω =
4 Ψ' ṗ. Arrays may be complex, for derivatives by complex steps.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stickslip.kernels.bodies import frames
from stickslip.kernels.bodies import rotation as kernels
from stickslip.kernels.jit import formula
from stickslip.state import Array, BoolArray

__all__ = [
    "about", "between", "conjugate", "cross", "exponential", "exponential_slope", "frame", "logarithm",
    "matrices", "product", "rates", "skew", "turned", "turned_back_dp", "turned_dp", "units",
]  # fmt: skip

Numbers = NDArray[Any]
"""Real or complex numbers."""
_ENTRIES, _PRODUCT, _TURNED = (formula(f) for f in (kernels.entries, kernels.product, kernels.turned))
_CROSS = formula(kernels.cross)
_TURN_SLOPE, _FRAME = formula(kernels.turn_slope), formula(frames.fill_frame)


def matrices(p: Numbers) -> Numbers:
    """Return the rotation matrices R(p) of unit quaternions, shape (..., 4), from body to inertial axes
    [-], (..., 3, 3).
    """
    return _stacked(_ENTRIES(*_parts(p))).reshape(*np.shape(p)[:-1], 3, 3)


def product(p: Numbers, q: Numbers) -> Numbers:
    """Return p ∘ q [-], shape (..., 4): the rotation q followed by p."""
    return _stacked(_PRODUCT(*_parts(p), *_parts(q)))


def conjugate(p: Numbers) -> Numbers:
    """Return (p0, -p1, -p2, -p3), the inverses of unit quaternions [-], shape (..., 4)."""
    return p * np.array([1.0, -1.0, -1.0, -1.0])


def turned(p: Numbers, a: Numbers) -> Numbers:
    """Return R(p) a [unit of a], shape (..., 3): vectors of rotated frames in the outer frame."""
    return _stacked(_TURNED(*_parts(p), *_parts(a)))


def cross(a: Numbers, b: Numbers) -> Numbers:
    """Return a × b, shape (..., 3), faster than NumPy on single vectors."""
    return _stacked(_CROSS(*_parts(a), *_parts(b)))


def skew(a: Numbers) -> Numbers:
    """Return the matrices of a × [unit of a], shape (..., 3, 3) (11.41)."""
    return (a @ _SKEW).reshape(*np.shape(a), 3)


def rates(p: Numbers) -> Numbers:
    """Return Ψ(p) with ṗ = Ψ(p) Ω [-], shape (..., 4, 3) (11.32)."""
    return (p @ _RATES).reshape(*np.shape(p), 3)


def turned_dp(p: Array, a: Array) -> Array:
    """Return ∂(R(p) a)/∂p [unit of a], shape (3, 4): of a + 2 p0 w × a + 2 (w w'a - a w'w), p = (p0, w)."""
    out = np.empty(12)
    _TURN_SLOPE(*p, a, out)
    return out.reshape(3, 4)


def turned_back_dp(p: Array, a: Array) -> Array:
    """Return ∂(R(p)' a)/∂p of one quaternion [unit of a], shape (3, 4): R' is R of the conjugate.

    Used for a moment given in the inertial frame, R'm; (11.73) to (11.76) differentiate R m, with misprints.
    """
    return conjugate(turned_dp(conjugate(p), a))


def about(axis: Array, angle: float) -> Array:
    """Return the unit quaternion of a rotation by `angle` [rad] about `axis` [-], shape (4,)."""
    unit = np.asarray(axis, float) / np.linalg.norm(axis)
    return np.array([np.cos(0.5 * angle), *(np.sin(0.5 * angle) * unit)])


def exponential(r: Array) -> Array:
    """Return the quaternions [-], shape (..., 4), of rotation vectors r [rad], shape (..., 3)."""
    angle = np.linalg.norm(r, axis=-1, keepdims=True)
    return np.concatenate([np.cos(angle / 2.0), np.sinc(angle / (2.0 * np.pi)) * r / 2.0], axis=-1)


def logarithm(p: Array) -> Array:
    """Return the rotation vectors of unit quaternions, by the shorter rotation [rad], shape (..., 3)."""
    p = np.where(p[..., :1] < 0.0, -p, p)
    s = np.linalg.norm(p[..., 1:], axis=-1, keepdims=True)
    return p[..., 1:] * np.where(s > 1e-12, 2.0 * np.arctan2(s, p[..., :1]) / np.maximum(s, 1e-12), 2.0)


def between(p: Array, q: Array) -> Array:
    """Return the rotation vectors from p to q in the frame of p [rad], shape (..., 3)."""
    return logarithm(product(conjugate(p), q))


def exponential_slope(r: Array) -> Array:
    """Return dΩ/dr of `exponential(r)`, in its own frame: I - b [r]× + c [r]×² [-], shape (3, 3)."""
    x, angle = skew(r), float(np.linalg.norm(r))
    half = np.sinc(0.5 * angle / np.pi)
    b = 0.5 * half**2  # (1 - cos) / angle²
    c = (1.0 - np.sinc(angle / np.pi)) / angle**2 if angle > 1e-3 else 1.0 / 6.0
    return np.asarray(np.eye(3) - b * x + c * x @ x)


def frame(axis: Array) -> Array:
    """Return a matrix whose rows are a unit axis and two others, right-handed and orthonormal [-], shape
    (3, 3).
    """
    out = np.empty(9)
    _FRAME(axis, out)
    return out.reshape(3, 3)


def units(p: Array) -> tuple[Array, BoolArray]:
    """Normalise quaternions, shape (n, 4); also return which could be, shape (n,); others become identity."""
    with np.errstate(all="ignore"):
        length = np.linalg.norm(p, axis=1)
        good = (length > 0.0) & np.isfinite(length)
    return np.where(good[:, None], p / np.where(good, length, 1.0)[:, None], [1.0, 0.0, 0.0, 0.0]), good


def _parts(a: Numbers) -> Any:
    """Return the components of vectors, along the last axis."""
    a = np.asarray(a)
    return a.tolist() if a.ndim == 1 else np.moveaxis(a, -1, 0)


def _stacked(parts: tuple[Any, ...]) -> Numbers:
    """Return the vectors with these components."""
    first = parts[0]
    if not isinstance(first, np.ndarray):
        return np.array(parts)
    out = np.empty((*first.shape, len(parts)), first.dtype)
    for k, part in enumerate(parts):
        out[..., k] = part
    return out


# skew and rates are linear: their values at unit vectors, one row each
_SKEW = np.swapaxes(cross(np.eye(3)[:, None], np.eye(3)), 1, 2).reshape(3, 9)
_RATES = 0.5 * np.swapaxes(product(np.eye(4)[:, None], np.eye(4)[1:]), 1, 2).reshape(4, 12)
