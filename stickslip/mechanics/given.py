"""What users give, looked at once; errors name owner and field.

Numbers are real, finite and of the right shape; names are new; functions take arguments that are known; axes,
quaternions and directions have a length.
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
"""A verb of a builder as it was called: its name, arguments by position and by name."""
P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, eq=False)
class Given:
    """What a world was made of."""

    calls: tuple[Call, ...]
    """Of the verbs of its builder, in their order."""
    built: dict[str, Any]
    """The fields of the world as it was built, by name; they are others where it was changed since."""


def recorded(verb: Callable[P, R]) -> Callable[P, R]:
    """A verb of a builder whose calls, once they were good, are kept in its list `calls`."""
    name = verb.__name__

    @wraps(verb)
    def called_and_kept(*given: P.args, **named: P.kwargs) -> R:
        found = verb(*given, **named)
        builder: Any = given[0]
        by_name = {key: kept(value) for key, value in named.items()}
        builder.calls.append((name, tuple(kept(value) for value in given[1:]), by_name))
        return found

    return called_and_kept


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


def not_negative(owner: str, field: str, value: ArrayLike) -> float:
    """`value` as one number from zero."""
    number = float(numbers(owner, field, value, ()))
    if number < 0.0:
        raise ModelError(f"{owner}: {field} is {number:g}; it cannot be negative")
    return number


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


def columns(rows: list[tuple[Any, ...]], *shapes: tuple[int, ...], whole: int = 1) -> list[Any]:
    """Names, then an array of each column of `rows`, frozen: the first `whole` of them of whole numbers."""
    found: list[Any] = [tuple(row[0] for row in rows)]
    for k, shape in enumerate(shapes, start=1):
        column: Any = np.array([row[k] for row in rows], np.int64 if k <= whole else np.float64)
        column = column.reshape(len(rows), *shape)
        column.flags.writeable = False
        found.append(column)
    return found


def new_name(what: str, name: Any, taken: Container[str]) -> str:
    """A name that is not taken."""
    if not isinstance(name, str) or not name:
        raise ModelError(f"the name of a {what} is {name!r}; it must be non-empty text")
    if name in taken:
        raise ModelError(f"the name of {what} {name!r} is used twice; names must be unique")
    return name


def of_all(owner: str, field: str, given: Function, arguments: tuple[str, ...]) -> Function:
    """`given`, which names some of `arguments`, as a function of all of them by position."""
    try:
        parameters = list(signature(getattr(given, "py_func", given)).parameters.values())
    except (TypeError, ValueError):
        raise ModelError(
            f"{owner}: the signature of {field} cannot be inspected; wrap it in a lambda"
        ) from None
    wanted = [
        p.replace(name=current(f"argument of {field}", p.name, ARGUMENTS))
        if ARGUMENTS.get(p.name) in arguments
        else p
        for p in parameters
        if p.default is Parameter.empty and p.kind is not p.VAR_KEYWORD
    ]
    if any(p.name not in arguments or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL) for p in wanted):
        raise ModelError(
            f"{owner}: {field} takes ({', '.join(str(p) for p in wanted)});"
            f" it may take any of ({', '.join(arguments)}), by position"
        )
    places = tuple(arguments.index(p.name) for p in wanted)
    if places == tuple(range(len(arguments))):
        return given
    return lambda *every: given(*(every[place] for place in places))


def value_of(
    owner: str, field: str, f: Function, arguments: tuple[Any, ...], t: float, shape: tuple[int, ...]
) -> Array:
    """f at those arguments, finite and of that shape; its own exceptions are told whose they are."""
    return numbers(f"{owner} at t = {t:.9g} s", field, called(owner, field, f, arguments, t), shape)


def called(owner: str, field: str, f: Function, arguments: tuple[Any, ...], t: float) -> Any:
    """What f returns, unlooked at; its own exceptions are told whose they are."""
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
    """The unit vector along three numbers that are not all zero [-], shape (3,)."""
    found = numbers(owner, field, value, (3,))
    largest = float(np.abs(found).max())
    if largest == 0.0:
        raise ModelError(f"{owner}: {field} is zero, which has no direction")
    scaled = found / largest
    return scaled / np.sqrt(scaled @ scaled)


def unit_quaternion(owner: str, value: ArrayLike) -> Array:
    """`value` scaled to length 1 [-], shape (4,); zero and what is not finite belong to no orientation."""
    given = numbers(owner, "quaternion", value, (4,))
    if not given.any():
        raise ModelError(f"{owner}: quaternion is zero; (1, 0, 0, 0) is the identity")
    if abs(math.hypot(*given) - 1.0) <= 4e-16:
        return given  # rounding is not scaled away, so that scaling twice changes nothing
    unit = given / np.abs(given).max()
    unit /= math.hypot(*unit)
    unit.flags.writeable = False
    return unit
