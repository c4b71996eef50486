"""Inertia tensors: computation from second moments, and checks of given ones."""

import numpy as np
from numpy.typing import ArrayLike

from stickslip.mechanics.given import numbers
from stickslip.state import Array, ModelError

SLACK = 1e-6
"""Relative tolerance of symmetry and of the triangle inequality [-]; accepts numbers with seven printed
digits."""
THINNEST = 1e-14
"""Smallest ratio of principal moments [-]; below it, rounding decides whether a matrix is positive
definite."""


def check_inertia(owner: str, inertia: ArrayLike) -> Array:
    """Return `inertia` [kg m²], shape (3, 3), exactly symmetric; raise a ModelError if no body can have it.

    Three numbers are moments about the axes. For masses dm at (x, y, z), J_xx + J_yy - J_zz = 2 ∫ z² dm, so
    that
    no principal moment exceeds the sum of the other two; thin plates have equality.
    """
    if np.shape(np.asarray(inertia, dtype=object)) == (3,):
        J = np.diag(numbers(owner, "inertia", inertia, (3,)))
    else:
        J = np.array(numbers(owner, "inertia", inertia, (3, 3)))
    largest = float(np.abs(J).max())
    if largest == 0.0:
        raise ModelError(f"{owner}: inertia is zero; give an inertia, or a shape and a density")
    unsymmetric = np.abs(J / largest - J.T / largest)
    if unsymmetric.max() > SLACK:
        i, j = (int(k) for k in np.unravel_index(int(np.argmax(unsymmetric)), (3, 3)))
        raise ModelError(
            f"{owner}: inertia is not symmetric: [{i}, {j}] is {J[i, j]:.6g}, [{j}, {i}] is {J[j, i]:.6g}"
        )
    J = 0.5 * J + 0.5 * J.T
    low, mid, high = (float(x) * largest for x in np.linalg.eigvalsh(J / largest))
    if not low > THINNEST * max(abs(low), abs(high)):
        raise ModelError(
            f"{owner}: inertia is not positive definite: its principal moments are {_shown(low, mid, high)}"
        )
    if low + mid < high * (1.0 - SLACK):
        raise ModelError(
            f"{owner}: inertia is impossible for a rigid body: its principal moments are"
            f" {_shown(low, mid, high)}, "
            "and the largest exceeds the sum of the others"
        )
    J.flags.writeable = False
    return J


def from_second_moments(C: Array) -> Array:
    """Return J = tr(C) I - C [kg m²], shape (3, 3), for the second moments C = ∫ x x' dm."""
    return np.trace(C) * np.eye(3) - C


def about_point(inertia: Array, mass: float, offset: Array) -> Array:
    """Parallel-axis theorem: return `inertia` about a point at `offset` from the centre of mass [kg m²],
    shape
    (3, 3)."""
    return inertia + mass * ((offset @ offset) * np.eye(3) - np.outer(offset, offset))


def _shown(*moments: float) -> str:
    return ", ".join(f"{moment:.6g}" for moment in moments)
