"""Checks of input data: user data are validated once, on construction of a problem.

Every message names the field, the entry, its value and the expected one.
"""

import math
from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from stickslip.state import Array as Array
from stickslip.state import IntArray as IntArray


class ProblemError(ValueError):
    """Invalid data of a problem: a wrong shape, NaN, a negative friction coefficient, and the like.

    Example:

        try:
            ss.ContactProblem(np.eye(3), [-1.0, 0.0, 0.0], ss.coulomb([-0.5]))
        except ss.ProblemError as error:
            print(error)
    """


def floats(name: str, value: ArrayLike, shape: tuple[int | None, ...] | None = None) -> Array:
    """Return `value` as a read-only C-contiguous float64 array of the given shape (None: any length)."""
    try:
        raw = np.asarray(value)
        if raw.dtype.kind not in "biufOU" or np.ma.isMaskedArray(value):
            kind = "a masked array" if np.ma.isMaskedArray(value) else f"of type {raw.dtype}"
            raise ProblemError(f"{name} is not an array of real numbers: it is {kind}")
        array = np.array(raw, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        if isinstance(error, ProblemError):
            raise
        raise ProblemError(f"{name} is not an array of real numbers: {error}") from None
    if shape is not None and not _fits(array.shape, shape):
        expected = tuple("any" if s is None else s for s in shape)
        raise ProblemError(f"{name} has shape {array.shape}, expected {_shown(expected)}")
    frozen(array)
    return array


def sparse(name: str, value: Any, place: Callable[[int, int], str] | None = None) -> sp.csr_array:
    """Return a SciPy matrix as a float64 CSR copy: duplicates summed, finite and read-only."""
    if len(value.shape) != 2:
        raise ProblemError(f"{name} has shape {tuple(value.shape)}, expected a matrix")
    if value.dtype.kind not in "biuf":
        raise ProblemError(f"{name} is not a matrix of real numbers: it is of type {value.dtype}")
    matrix = sp.csr_array(value, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    where = place or "entry ({}, {})".format
    finite(name, matrix.data, lambda k: where(*sparse_place(matrix, k[0])))
    for array in (matrix.data, matrix.indices, matrix.indptr):
        frozen(array)
    return matrix


def sparse_place(matrix: sp.csr_array, k: int) -> tuple[int, int]:
    """Return row and column of the k-th stored number of a CSR matrix."""
    return int(np.searchsorted(matrix.indptr, k, side="right") - 1), int(matrix.indices[k])


def count(name: str, value: Any, least: int) -> int:
    """Return `value` as an integer of at least `least`; raise a ProblemError otherwise."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ProblemError(f"{name} is {value!r}; it must be an integer, {least} or more")
    return int(value)


def flat(name: str, value: ArrayLike, size: int, what: str = "") -> Array:
    """Return `value` as a read-only flat float64 array of `size` numbers; any shape of that size is valid."""
    array = floats(name, value)
    if array.size != size:
        expected = f"{size} numbers" + (f" ({what})" if what else "")
        raise ProblemError(f"{name} has shape {array.shape}, expected {expected}")
    return np.asarray(frozen(array.reshape(-1)))


def frozen(array: Any) -> Any:
    """Make `array` read-only and return it: problems are immutable, and kernels see one array type."""
    array.flags.writeable = False
    return array


def finite(name: str, array: Array, place: Callable[[tuple[int, ...]], str] | None = None) -> None:
    """Raise a ProblemError for NaN or inf, naming the first such entry."""
    if np.isfinite(array).all():
        return
    index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
    where = place(index) if place else f"entry {_shown(index)}"
    raise ProblemError(f"{name} is not finite: {where} is {array[index]}")


def not_negative(name: str, array: Array, thing: str = "contact") -> None:
    """Raise a ProblemError for negative, NaN or infinite coefficients, naming the first one."""
    bad = ~((array >= 0.0) & np.isfinite(array))
    if bad.any():
        i = int(np.flatnonzero(bad)[0])
        raise ProblemError(f"{name} of {thing} {i} is {array.flat[i]}; it must be finite and not negative")


def _fits(shape: tuple[int, ...], expected: tuple[int | None, ...]) -> bool:
    return len(shape) == len(expected) and all(
        w is None or s == w for s, w in zip(shape, expected, strict=True)
    )


def _shown(shape: tuple[Any, ...]) -> str:
    return "(" + ", ".join(str(s) for s in shape) + ("," if len(shape) == 1 else "") + ")"


MOST_ADDED = 8192
"""Size up to which BLAS computes a dot product on one thread; it divides those of more than 10,000."""


def all_finite(x: Array) -> bool:
    """Whether all numbers are finite, by the sum of their squares in one call, unless it overflows.

    Large arrays are checked directly: BLAS would use several threads, whose synchronisation takes longer.
    """
    return (x.size <= MOST_ADDED and math.isfinite(x.dot(x))) or bool(np.isfinite(x).all())
