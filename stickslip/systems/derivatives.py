"""Jacobians of quantities: given by users, or by central differences; check of one against the other."""

from collections.abc import Callable
from typing import Any

import numpy as np

from stickslip.problem.checks import Array, IntArray
from stickslip.state import ModelError
from stickslip.systems.quantities import Given, Quantity, quantity

STEP = float(np.finfo(float).eps) ** (1.0 / 3.0)
"""Relative step of central differences: the cube root of machine precision, which balances rounding and
truncation."""
AGREEMENT = 1e-6
"""Largest relative difference between a given Jacobian and central differences that passes a check."""


def differences(
    function: Callable[[float, Array, Array, Array], Array], which: int, rows: int
) -> Callable[[Any, Any, Any, Any], Array]:
    """Return the derivative of a function by argument `which` (0 for time), computed by central differences.

    It has shape (rows, size of the argument); a derivative by time has shape (rows,).
    """

    def derivative(*arguments: Any) -> Array:
        point = [arguments[0], *(np.array(a, float) for a in arguments[1:])]
        if which == 0:
            return _slope(function, point, 0, None, float(arguments[0]))
        size = point[which].shape[0]
        J = np.empty((rows, size))
        for j in range(size):
            J[:, j] = _slope(function, point, which, j, float(point[which][j]))
        return J

    return derivative


def _slope(function: Callable[..., Array], point: list[Any], which: int, j: int | None, x: float) -> Array:
    step = STEP * max(1.0, abs(x))
    ends = []
    for end in (x + step, x - step):
        moved = list(point)
        if j is None:
            moved[which] = end
        else:
            moved[which] = point[which].copy()
            moved[which][j] = end
        ends.append(np.array(function(*moved), float))
    return (ends[0] - ends[1]) / ((x + step) - (x - step))


def jacobian(
    owner: str, name: str, given: Given | None, of: Quantity | None, which: int, size: int,
    arguments: tuple[str, str, str, str],
) -> Quantity | None:  # fmt: skip
    """Return the Jacobian `name` of the quantity `of` by its argument `which`, of that size.

    It is the given one, or None (zero) if `of` does not depend on the argument, otherwise by central
    differences.
    """
    if of is None:
        if given is not None:
            raise ModelError(f"{owner}: {name} is given without the quantity that it is the derivative of")
        return None
    rows = of.shape[0]
    shape = (rows,) if which == 0 else (rows, size)
    if given is not None:
        return quantity(owner, name, given, shape, arguments)
    if of.constant is not None or arguments[which] not in of.wanted:
        return None
    return Quantity(
        owner, name, shape, differences(of, which, rows), wanted=of.wanted, difference_of=(of, which)
    )


def check(
    derivative: Quantity, of: Quantity, which: int, t: float, a: Array, b: Array, z: Array,
    rows: IntArray | None = None,
) -> float:  # fmt: skip
    """Return the largest difference between a Jacobian and central differences, relative to the largest entry
    [-].

    rows   rows of the Jacobian for which `of` has values, by default all

    Raise a ModelError that names the worst entry if the difference exceeds `AGREEMENT`.
    """
    ours = derivative(t, a, b, z)
    ours = ours if rows is None else ours[rows]
    other = differences(of, which, of.shape[0])(t, a, b, z)
    scale = max(float(np.abs(other).max(initial=0.0)), float(np.abs(ours).max(initial=0.0)), 1e-300)
    error = np.abs(ours - other) / scale
    worst = float(error.max(initial=0.0))
    if not worst <= AGREEMENT:
        at = tuple(int(i) for i in np.unravel_index(int(np.argmax(error)), error.shape))
        raise ModelError(
            f"{derivative.owner}: at t = {t:.9g} s, {derivative.name}{list(at)} is {ours[at]:.9g},"
            f" but differences of {of.name} give {other[at]:.9g}"
        )
    return worst
