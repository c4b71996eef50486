"""Checks of the arguments of users; error messages name owner and field.

Numbers must be real, finite and of the right shape; names new; arguments of functions known; axes,
quaternions
and directions nonzero.
"""

import math
from collections.abc import Callable, Container
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, signature
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from stickslip.renames import ARGUMENTS, current
from stickslip.rotations import about
from stickslip.state import Array, ModelError, kept

Function = Callable[..., Any]
Call = tuple[str, tuple[Any, ...], dict[str, Any]]
"""Call of a method of a builder: its name, positional and keyword arguments."""
P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, eq=False)
class Given:
    """Record of how a world was built."""

    calls: tuple[Call, ...]
    """Calls of the methods of its builder, in order."""
    built: dict[str, Any]
    """Fields of the world as built, by name; the world was modified since if its fields differ."""


def recorded(verb: Callable[P, R]) -> Callable[P, R]:
    """Decorator for methods of builders: append each successful call to the builder's list `calls`."""
    name = verb.__name__

    @wraps(verb)
    def called_and_kept(*args: P.args, **kwargs: P.kwargs) -> R:
        result = verb(*args, **kwargs)
        builder: Any = args[0]
        by_name = {key: kept(value) for key, value in kwargs.items()}
        builder.calls.append((name, tuple(kept(value) for value in args[1:]), by_name))
        return result

    return called_and_kept


def numbers(owner: str, field: str, value: ArrayLike, shape: tuple[int | None, ...]) -> Array:
    """Return `value` as a new read-only float64 array, finite and of `shape` (None: any length)."""
    try:
        raw = np.asarray(value)
        if raw.dtype.kind not in "iuf" or np.ma.isMaskedArray(value):
            raise ModelError(f"{owner}: {field} is {_shown(value)}; give real numbers")
        array = np.array(raw, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"{owner}: {field} is {_shown(value)}; give real numbers") from None
    fits = len(array.shape) == len(shape) and all(
        expectation in (None, size) for size, expectation in zip(array.shape, shape, strict=True)
    )
    if not fits:
        wanted_shape = str(tuple("any" if s is None else s for s in shape)).replace("'", "")
        expectation = "one number" if shape == () else f"shape {wanted_shape}"
        raise ModelError(f"{owner}: {field} has shape {array.shape}, expected {expectation}")
    if not np.isfinite(array).all():
        at = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
        place = f"[{', '.join(map(str, at))}]" if at else ""
        raise ModelError(f"{owner}: {field}{place} is {array[at]}; it must be finite")
    array.flags.writeable = False
    return array


def positive(owner: str, field: str, value: ArrayLike) -> float:
    """Return `value` as one number > 0."""
    number = float(numbers(owner, field, value, ()))
    if number <= 0.0:
        raise ModelError(f"{owner}: {field} is {number}; it must be positive")
    return number


def positives(owner: str, field: str, value: ArrayLike, count: int) -> tuple[float, ...]:
    """Return `value` as `count` numbers > 0."""
    array = numbers(owner, field, value, (count,))
    if (array <= 0.0).any():
        at = int(np.argmax(array <= 0.0))
        raise ModelError(f"{owner}: {field}[{at}] is {array[at]}; it must be positive")
    return tuple(float(x) for x in array)


def not_negative(owner: str, field: str, value: ArrayLike) -> float:
    """Return `value` as one number >= 0."""
    number = float(numbers(owner, field, value, ()))
    if number < 0.0:
        raise ModelError(f"{owner}: {field} is {number:g}; it cannot be negative")
    return number


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


def columns(rows: list[tuple[Any, ...]], *shapes: tuple[int, ...], whole: int = 1) -> list[Any]:
    """Transpose a list of rows: return the names, then one read-only array per further column.

    The first `whole` arrays have integers.
    """
    arrays: list[Any] = [tuple(row[0] for row in rows)]
    for k, shape in enumerate(shapes, start=1):
        column: Any = np.array([row[k] for row in rows], np.int64 if k <= whole else np.float64)
        column = column.reshape(len(rows), *shape)
        column.flags.writeable = False
        arrays.append(column)
    return arrays


def new_name(kind: str, name: Any, taken: Container[str]) -> str:
    """Return `name`; raise a ModelError if it is not a non-empty text or is in `taken`."""
    if not isinstance(name, str) or not name:
        raise ModelError(f"the name of a {kind} is {name!r}; it must be non-empty text")
    if name in taken:
        raise ModelError(f"the name of {kind} {name!r} is used twice; names must be unique")
    return name


def of_all(owner: str, field: str, given: Function, arguments: tuple[str, ...]) -> Function:
    """Return `given`, whose parameters are some of `arguments`, as a function of all of them by position."""
    try:
        parameters = list(signature(getattr(given, "py_func", given)).parameters.values())
    except (TypeError, ValueError):
        raise ModelError(
            f"{owner}: the signature of {field} cannot be inspected; wrap it in a lambda"
        ) from None
    required = [
        p.replace(name=current(f"argument of {field}", p.name, ARGUMENTS))
        if ARGUMENTS.get(p.name) in arguments
        else p
        for p in parameters
        if p.default is Parameter.empty and p.kind is not p.VAR_KEYWORD
    ]
    if any(p.name not in arguments or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL) for p in required):
        raise ModelError(
            f"{owner}: {field} takes ({', '.join(str(p) for p in required)});"
            f" it may take any of ({', '.join(arguments)}), by position"
        )
    places = tuple(arguments.index(p.name) for p in required)
    if places == tuple(range(len(arguments))):
        return given
    return lambda *every: given(*(every[place] for place in places))


def value_of(
    owner: str, field: str, f: Function, arguments: tuple[Any, ...], t: float, shape: tuple[int, ...]
) -> Array:
    """Return f(*arguments), checked to be finite and of that shape; errors of f get a note with owner and
    t."""
    return numbers(f"{owner} at t = {t:.9g} s", field, called(owner, field, f, arguments, t), shape)


def called(owner: str, field: str, f: Function, arguments: tuple[Any, ...], t: float) -> Any:
    """Return f(*arguments), unchecked; errors of f get a note with owner, field and t."""
    try:
        return f(*arguments)
    except ModelError:
        raise
    except BaseException as error:
        error.add_note(f"in {field} of {owner}, at t = {t:.9g} s")
        raise


def rotation(axis: ArrayLike, angle: float) -> Array:
    """Return the unit quaternion of a rotation by `angle` [rad] about `axis` [-], scalar first, shape (4,).

    Example:

        b = ss.WorldBuilder()
        b.body("ramp", ss.Plane(), quaternion=ss.rotation((0, 1, 0), 0.4), fixed=True)
    """
    return about(direction("rotation", "axis", axis), float(numbers("rotation", "angle", angle, ())))


def direction(owner: str, field: str, value: ArrayLike) -> Array:
    """Return the unit vector along a nonzero vector [-], shape (3,)."""
    vector = numbers(owner, field, value, (3,))
    largest = float(np.abs(vector).max())
    if largest == 0.0:
        raise ModelError(f"{owner}: {field} is zero, which has no direction")
    scaled = vector / largest
    return scaled / np.sqrt(scaled @ scaled)


def unit_quaternion(owner: str, value: ArrayLike) -> Array:
    """Return `value` scaled to length 1 [-], shape (4,); raise a ModelError if it is zero or not finite."""
    values = numbers(owner, "quaternion", value, (4,))
    if not values.any():
        raise ModelError(f"{owner}: quaternion is zero; (1, 0, 0, 0) is the identity")
    if abs(math.hypot(*values) - 1.0) <= 4e-16:
        return values  # unit up to rounding: unchanged, so that the function is idempotent
    unit = values / np.abs(values).max()
    unit /= math.hypot(*unit)
    unit.flags.writeable = False
    return unit
