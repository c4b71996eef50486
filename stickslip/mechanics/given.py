"""Numbers that users give, looked at once: real, finite, of the right shape; errors name owner and field."""

import numpy as np
from numpy.typing import ArrayLike

from stickslip.state import Array, ModelError


def numbers(owner: str, field: str, value: ArrayLike, shape: tuple[int | None, ...]) -> Array:
    """`value` as a read-only float64 array of its own, finite and of `shape` (None: any length)."""
    try:
        given = np.asarray(value)
        if given.dtype.kind not in "iuf" or np.ma.isMaskedArray(value):
            raise ModelError(f"{owner}: {field} is {_shown(value)}; give real numbers")
        array = np.array(given, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"{owner}: {field} is {_shown(value)}; give real numbers") from None
    fits = len(array.shape) == len(shape) and all(
        wanted in (None, size) for size, wanted in zip(array.shape, shape, strict=True)
    )
    if not fits:
        wanted_shape = str(tuple("any" if s is None else s for s in shape)).replace("'", "")
        what = "one number" if shape == () else f"shape {wanted_shape}"
        raise ModelError(f"{owner}: {field} has shape {array.shape}, expected {what}")
    if not np.isfinite(array).all():
        at = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
        place = f"[{', '.join(map(str, at))}]" if at else ""
        raise ModelError(f"{owner}: {field}{place} is {array[at]}; it must be finite")
    array.flags.writeable = False
    return array


def positive(owner: str, field: str, value: ArrayLike) -> float:
    """`value` as one number above zero."""
    number = float(numbers(owner, field, value, ()))
    if number <= 0.0:
        raise ModelError(f"{owner}: {field} is {number}; it must be positive")
    return number


def positives(owner: str, field: str, value: ArrayLike, count: int) -> tuple[float, ...]:
    """`value` as `count` numbers above zero."""
    array = numbers(owner, field, value, (count,))
    if (array <= 0.0).any():
        at = int(np.argmax(array <= 0.0))
        raise ModelError(f"{owner}: {field}[{at}] is {array[at]}; it must be positive")
    return tuple(float(x) for x in array)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"
