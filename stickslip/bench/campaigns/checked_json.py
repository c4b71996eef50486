"""Conditions, problems and runs as JSON and back; what comes back is checked field by field.

Numbers that are not finite are the texts 'nan', 'inf' and '-inf', for JSON has no others.
"""

import json
import math
from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from types import NoneType, UnionType
from typing import Any, NoReturn, get_args

import numpy as np

from stickslip.bench.collections.features import Features
from stickslip.bench.environment import Environment
from stickslip.bench.records import Outcome, RunRecord
from stickslip.bench.results import Conditions, Entry
from stickslip.files.errors import shown

DEEPEST, LONGEST = 6, 100_000
"""Levels of nesting of an option, and characters of a text, that are believed."""
LARGEST = 2**63 - 1
"""Largest integer that columns hold."""

Fail = Callable[[str, str, str], NoReturn]
"""Refuses a file: the place in it, what was expected there, and what was found."""


def written(value: Any) -> str:
    """`value` as one line of JSON; equal values give equal texts."""
    return json.dumps(plain(value), allow_nan=False, sort_keys=True, separators=(",", ":"))


def parsed(text: str | bytes, place: str, fail: Fail) -> Any:
    """What a text says in JSON."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        fail(place, "JSON", shown(text[:200]))


def plain(value: Any) -> Any:
    """`value` as JSON holds it, however solvers wrote it: NumPy's numbers, tuples, anything else by name."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | int | str | None):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return plain(value.tolist()) if isinstance(value, np.ndarray) else str(value)


def conditions_from(data: Any, place: str, fail: Fail) -> Conditions:
    """Conditions as `Conditions.as_json` gives them."""
    made = _table(Conditions, data, place, fail, tolerances=_numbers, environment=_environment)
    return Conditions.from_json(made)


def environment_from(data: Any, place: str, fail: Fail) -> Environment:
    """An environment as `Environment.as_json` gives it."""
    return Environment.from_json(_environment(data, place, fail))


def entry_from(data: Any, place: str, fail: Fail) -> Entry:
    """A problem as `Entry.as_json` gives it."""
    return Entry.from_json(_table(Entry, data, place, fail, features=_features))


def run_from(data: Any, place: str, fail: Fail) -> RunRecord:
    """A run as `RunRecord.as_json` gives it."""
    special = {
        "options": options_from,
        "outcome": _outcome,
        "history": _history,
        "environment": _maybe_environment,
    }
    return RunRecord.from_json(_table(RunRecord, data, place, fail, **special))


def options_from(data: Any, place: str, fail: Fail) -> dict[str, Any]:
    """Options of a solver: what JSON holds, not nested too deep."""
    if not isinstance(data, dict):
        fail(place, "an object", shown(str(data)[:200]))
    if _depth(data) > DEEPEST:
        fail(place, f"at most {DEEPEST} levels", "more")
    return data


def _table(cls: Any, data: Any, place: str, fail: Fail, **special: Any) -> dict[str, Any]:
    """An object with the fields of a dataclass, each of its type; `special` fields are read by functions."""
    if not isinstance(data, dict):
        fail(place, "an object", shown(str(data)[:200]))
    specs = {spec.name: spec for spec in fields(cls)}
    for name in data:
        if name not in specs:
            fail(place, "one of " + ", ".join(specs), shown(name))
    made = {}
    for name, spec in specs.items():
        where = f"{place}, {name}"
        if name not in data:
            if _needed(spec):
                fail(where, "a value", "nothing")
            continue
        read = special.get(name)
        made[name] = read(data[name], where, fail) if read else _value(spec.type, data[name], where, fail)
    return made


def _needed(spec: Field[Any]) -> bool:
    return spec.default is MISSING and spec.default_factory is MISSING


def _value(kind: Any, value: Any, place: str, fail: Fail) -> Any:
    kinds = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    if value is None and NoneType in kinds:
        return None
    if bool in kinds and isinstance(value, bool):
        return value
    if str in kinds and isinstance(value, str) and len(value) <= LONGEST:
        return value
    if int in kinds and isinstance(value, int) and not isinstance(value, bool) and abs(value) <= LARGEST:
        return value
    if float in kinds:
        return _number(value, place, fail)
    names = " or ".join("null" if k is NoneType else k.__name__ for k in kinds)
    fail(place, f"a value of type {names}", shown(str(value)[:200]))


def _number(value: Any, place: str, fail: Fail) -> float:
    if value in ("nan", "inf", "-inf") or (isinstance(value, int | float) and not isinstance(value, bool)):
        try:
            return float(value)
        except OverflowError:
            pass
    fail(place, "a number", shown(str(value)[:200]))


def _numbers(data: Any, place: str, fail: Fail) -> list[float]:
    if not isinstance(data, list):
        fail(place, "a list of numbers", shown(str(data)[:200]))
    return [_number(value, place, fail) for value in data]


def _environment(data: Any, place: str, fail: Fail) -> dict[str, Any]:
    return _table(Environment, data, place, fail, packages=_packages)


def _maybe_environment(data: Any, place: str, fail: Fail) -> dict[str, Any] | None:
    return None if data is None else _environment(data, place, fail)


def _packages(data: Any, place: str, fail: Fail) -> dict[str, str]:
    if not isinstance(data, dict) or not all(isinstance(version, str) for version in data.values()):
        fail(place, "names and versions", shown(str(data)[:200]))
    return data


def _features(data: Any, place: str, fail: Fail) -> dict[str, Any]:
    return _table(Features, data, place, fail)


def _outcome(data: Any, place: str, fail: Fail) -> str:
    if data not in Outcome.__members__:
        fail(place, "one of " + ", ".join(Outcome.__members__), shown(str(data)[:200]))
    return str(data)


def _history(data: Any, place: str, fail: Fail) -> list[list[float]]:
    if not isinstance(data, list) or not all(isinstance(row, list) and len(row) == 3 for row in data):
        fail(place, "rows of three numbers", shown(str(data)[:200]))
    return [_numbers(row, place, fail) for row in data]


def _depth(value: Any) -> int:
    """Levels of nesting, counted to one more than are allowed."""
    level, depth = [value], 0
    while level and depth <= DEEPEST:
        inside = [
            item.values() if isinstance(item, dict) else item
            for item in level
            if isinstance(item, dict | list)
        ]
        level, depth = [item for items in inside for item in items], depth + 1
    return depth


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
