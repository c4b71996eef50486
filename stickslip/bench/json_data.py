"""Convert dataclasses to JSON and back; parsed data are checked field by field.

Enumerations are names of members, tuples of pairs are objects, arrays are lists of rows of three numbers.
Non-finite numbers are the texts 'nan', 'inf' and '-inf', as JSON has none.
"""

import json
import math
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Any, NoReturn, Self, get_args, get_origin

import numpy as np

from stickslip.files.errors import shown

DEEPEST, LONGEST = 6, 100_000
"""Largest nesting of an option, and largest number of characters of a text."""
LARGEST = 2**63 - 1
"""Largest integer of columns."""

Fail = Callable[[str, str, str], NoReturn]
"""Function that refuses data; arguments: position, what was expected, what was found."""


def refuse(place: str, expected: str, found: str) -> NoReturn:
    """Raise a ValueError for data."""
    raise ValueError(f"{place}: expected {expected}, found {found}")


class Stored:
    """Base class of dataclasses that are stored in files and sent to other processes."""

    def as_json(self) -> dict[str, Any]:
        """Convert to JSON data."""
        data: dict[str, Any] = plain(self)
        return data

    @classmethod
    def from_json(cls, data: Any, place: str = "JSON", fail: Fail = refuse) -> Self:
        """Make an object from JSON data, the inverse of `as_json`; `fail` refuses invalid data."""
        record: Self = checked(cls, data, place, fail)
        return record


def written(value: Any) -> str:
    """Convert `value` to one line of JSON; equal values give equal texts."""
    return json.dumps(plain(value), allow_nan=False, sort_keys=True, separators=(",", ":"))


def parsed(text: str | bytes, place: str, fail: Fail) -> Any:
    """Parse JSON."""
    try:
        return json.loads(text, parse_constant=lambda name: refuse(place, "JSON", name))
    except (ValueError, RecursionError):
        fail(place, "JSON", shown(text[:200]))


def plain(value: Any) -> Any:
    """Convert `value` to JSON data: also NumPy's numbers and tuples; other objects become text."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, bool | int | str | None):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, Enum):
        return value.name
    if is_dataclass(value):
        items_ = ((spec, getattr(value, spec.name)) for spec in fields(value))
        return {spec.name: plain(dict(x) if _is_pairs(spec.type) else x) for spec, x in items_}
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else str(value)


def checked(kind: Any, data: Any, place: str, fail: Fail) -> Any:
    """Convert JSON data to a value of the type `kind`, of a field or a dataclass; refuse invalid data."""
    if isinstance(kind, UnionType):
        if data is None and NoneType in get_args(kind):
            return None
        kinds = [one for one in get_args(kind) if one is not NoneType]
        return checked(next((one for one in kinds if type(data) is one), kinds[-1]), data, place, fail)
    within, inside = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        return _table(kind, data, place, fail)
    if _is_pairs(kind):
        values = _as(dict, data, place, fail).items()
        return tuple(sorted((key, checked(get_args(inside[0])[1], x, place, fail)) for key, x in values))
    if within is dict and inside[1] is not Any:
        return {key: checked(inside[1], x, place, fail) for key, x in _as(dict, data, place, fail).items()}
    if within is dict:
        if _depth(_as(dict, data, place, fail)) > DEEPEST:
            fail(place, f"at most {DEEPEST} levels", "more")
        return data
    if within is tuple:
        return tuple(checked(inside[0], item, place, fail) for item in _as(list, data, place, fail))
    if within is np.ndarray:
        if isinstance(data, np.ndarray):
            return data
        if not all(isinstance(row, list) and len(row) == 3 for row in _as(list, data, place, fail)):
            fail(place, "rows of three numbers", shown(str(data)[:200]))
        return np.array([[checked(float, x, place, fail) for x in row] for row in data]).reshape(-1, 3)
    if issubclass(kind, Enum):
        if not isinstance(data, str) or data not in kind.__members__:
            fail(place, "one of " + ", ".join(kind.__members__), shown(str(data)[:200]))
        return kind[data]
    return _simple(kind, data, place, fail)


def _simple(kind: type, data: Any, place: str, fail: Fail) -> Any:
    """Check a text, a number or a boolean."""
    number = isinstance(data, int | float) and not isinstance(data, bool)
    if kind is float and (number or data in ("nan", "inf", "-inf")):
        try:
            return float(data)
        except OverflowError:
            fail(place, "a number", shown(str(data)[:200]))
    short = len(data) <= LONGEST if isinstance(data, str) else number is False or abs(data) <= LARGEST
    if not isinstance(data, kind) or (kind is int and not number) or not short:
        expectation = "a number" if kind is float else f"a value of type {kind.__name__}"
        fail(place, expectation, shown(str(data)[:200]))
    return data


def _table(kind: Any, data: Any, place: str, fail: Fail) -> Any:
    """Make a dataclass from an object with its fields; fields with defaults may be absent."""
    if isinstance(data, kind):
        return data
    specs = {spec.name: spec for spec in fields(kind)}
    for name in _as(dict, data, place, fail):
        if name not in specs:
            fail(place, "one of " + ", ".join(specs), shown(name))
    values = {}
    for name, spec in specs.items():
        if name in data:
            values[name] = checked(spec.type, data[name], f"{place}, {name}".removeprefix(", "), fail)
        elif spec.default is MISSING and spec.default_factory is MISSING:
            fail(f"{place}, {name}".removeprefix(", "), "a value", "nothing")
    return kind(**values)


def _is_pairs(kind: Any) -> bool:
    """Whether a type is a tuple of pairs of names and values."""
    return get_origin(kind) is tuple and get_origin(get_args(kind)[0]) is tuple


def _as(kind: type, data: Any, place: str, fail: Fail) -> Any:
    """Check that data are an object or a list."""
    if not isinstance(data, kind):
        fail(place, "an object" if kind is dict else "a list", shown(str(data)[:200]))
    return data


def _depth(value: Any) -> int:
    """Levels of nesting, counted up to one more than allowed."""
    level, depth = [value], 0
    while level and depth <= DEEPEST:
        inside = [
            one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)
        ]
        level, depth = [item for items in inside for item in items], depth + 1
    return depth
