"""Common parts of files of runs of all models and versions: the text `about`, and descriptions of arrays
(`Field`), by which they are written and read."""

import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from stickslip.files.errors import shown
from stickslip.files.hdf5 import Source
from stickslip.problem.solution import Verdict
from stickslip.schemes import registry
from stickslip.schemes.adaptive import Adaptive
from stickslip.schemes.step import Event
from stickslip.simulation.clock import FORCES, Clock, checked_grid

LARGEST = 2**31
"""Largest count in a file."""
LATEST = 1e300
"""Largest time, so that differences are finite [s]."""


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LATEST


def _list_of(good: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(good, value))


KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "text": ("a text", lambda value: isinstance(value, str)),
    "texts": ("a list of texts", _list_of(lambda value: isinstance(value, str))),
    "flag": ("true or false", lambda value: isinstance(value, bool)),
    "number": ("a finite number", _is_number),
    "numbers": ("a list of finite numbers", _list_of(_is_number)),
    "count": (f"a count up to {LARGEST}", _is_count),
    "counts": (
        f"at most 8 counts up to {LARGEST}",
        lambda value: _list_of(_is_count)(value) and len(value) <= 8,
    ),
    "object": ("an object", lambda value: isinstance(value, dict)),
    "objects": ("a list of objects", _list_of(lambda value: isinstance(value, dict))),
}
"""Kinds of JSON values: description, and function that checks a value."""


class About:
    """The text `about` of a file, JSON; values of a wrong kind raise a FormatError."""

    def __init__(self, source: Source, group: Any, known_version: int):
        self.source, self.place = source, f"{group.name}/about"
        version = source.integer(group, "version")
        if version != known_version:
            expected = f"{known_version}, the version that this program knows"
            source.fail(f"{group.name}/version", expected, f"{version}")
        try:
            facts = json.loads(source.text(group, "about"))
        except (ValueError, RecursionError):
            source.fail(self.place, "JSON", "other text")
        self.top: dict[str, Any] = self.get("the text", "object", {"the text": facts})

    def get(self, name: str, kind: str, of: dict[str, Any] | None = None) -> Any:
        """Return a value of the text, or of an object `of` in it; it must be of this kind."""
        value = (self.top if of is None else of).get(name)
        expected, good = KINDS[kind]
        if not good(value):
            self.source.fail(self.place, f"{expected} as {name}", shown(str(value)[:200]))
        return tuple(value) if isinstance(value, list) else value

    def one_of(self, name: str, known: Iterable[str], of: dict[str, Any] | None = None) -> str:
        """Return a text, which must be one of `known`."""
        value: str = self.get(name, "text", of)
        if value not in known:
            self.source.fail(self.place, f"one of {', '.join(known)} as {name}", shown(value))
        return value

    def shapes(self, kind: str) -> list[tuple[str, tuple[int, ...]]]:
        """Names and shapes of arrays."""
        return [
            (self.get("name", "text", x), self.get("shape", "counts", x)) for x in self.get(kind, "objects")
        ]

    def names(self, what: str, given: Iterable[str]) -> None:
        """Refuse repeated names."""
        if len(set(given)) < len(list(given)):
            self.source.fail(self.place, f"{what} with names of their own", "two of the same name")

    def run(self, renamed: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Fields of all kinds of trajectories; fields that older files do not have get their defaults.

        renamed: current names of schemes by old names.
        """
        scheme, options = self.get("scheme", "text"), self.get("scheme_options", "object")
        scheme = (renamed or {}).get(scheme, scheme)
        stored = "relaxation" in self.top
        return {
            "scheme": scheme, "scheme_options": options,
            "relaxation": self.get("relaxation", "text") if stored else registry.relaxation(scheme, options),
            "forces": self.one_of("forces", FORCES) if "forces" in self.top else "solver",
            "solver": self.get("solver", "text"), "tolerance": float(self.get("tolerance", "number")),
            "steps": self.get("steps", "count"), "missed": self.get("missed", "count"),
            "until": float(self.get("until", "number")) if "until" in self.top else None,
        }  # fmt: skip

    def clock(self) -> Clock:
        """The clock: origin and step [s], a grid, or options of adaptive steps."""
        origin, h = float(self.get("origin", "number")), float(self.get("h", "number"))
        if h <= 0.0:
            self.source.fail(self.place, "a positive h", f"{h}")
        times = self.get("grid", "numbers") if "grid" in self.top else None
        options = self.get("adaptive", "object") if "adaptive" in self.top else None
        try:
            grid = () if times is None else checked_grid(times)
            adaptive = None if options is None else Adaptive(**options)
        except (TypeError, ValueError) as error:
            self.source.fail(self.place, "a grid, or options of adaptive steps", f"this: {error}")
        if grid and (len(grid) < 2 or grid[0] != origin):
            self.source.fail(self.place, f"a grid from {origin:g} s on", f"one of {len(grid)} times")
        return Clock(origin, h, 0, grid, adaptive)


class Field(NamedTuple):
    """Description of an array of a group.

    name: name in the file and in the trajectory or model. rows: number of rows, None for any. width: shape of
    a row, stored flat; None for scalars. bounds: smallest and largest value of integers. optional: older
    files do not have the array, which is then zero.
    """

    name: str
    rows: int | None = None
    width: tuple[int, ...] | None = None
    kind: type = np.float64
    bounds: tuple[int, int] | None = None
    optional: bool = False

    def put(self, group: Any, value: Any, put: Any) -> None:
        """Write an array to a group with the function `put`."""
        if self.width is not None:
            value = value.reshape(len(value) if self.rows is None else self.rows, math.prod(self.width))
        put(group, self.name, value, np.int8 if self.kind is bool else self.kind)

    def read(self, source: Source, place: Any, rows: slice | None = None) -> Any:
        """Read the array, or some of its rows, checked and read-only."""
        tail = () if self.width is None else (math.prod(self.width),)
        if self.optional and not source.has(place, self.name):
            count = (self.rows or 0) if rows is None else rows.stop - rows.start
            return self.checked(np.zeros((count, *tail)), source, f"{place.name}/{self.name}")
        if rows is not None:
            value: Any = source.rows(place, self.name, rows.start, rows.stop)
        else:
            read = source.reals if self.kind is np.float64 else source.integers
            value = read(place, self.name, 1 + len(tail))
            count = len(value) if self.rows is None else self.rows
            source.shaped(place, self.name, value, (count, *tail))
        return self.checked(value, source, f"{place.name}/{self.name}")

    def checked(self, value: Any, source: Any, place: str) -> Any:
        """Return an array of a file as read-only rows of this field; refuse the file outside its bounds."""
        low, high = self.bounds or (-np.inf, np.inf)
        if self.kind is not np.float64 and value.size and not low <= value.min() <= value.max() <= high:
            source.fail(place, f"numbers from {low} to {high}", "others")
        value = value.reshape(len(value), *(self.width or ())).astype(self.kind, copy=False)
        value.flags.writeable = False
        return value


def put_fields(group: Any, fields: Iterable[Field], of: Any, put: Any) -> None:
    """Write attributes of an object to a group, by name."""
    for one in fields:
        one.put(group, getattr(of, one.name), put)


def read_fields(source: Source, place: Any, fields: Iterable[Field]) -> dict[str, Any]:
    """Read the arrays of a group by name."""
    return {one.name: one.read(source, place) for one in fields}


def put_named(group: Any, kind: str, rows: int, values: Mapping[str, Any], put: Any) -> None:
    """Write arrays with users' names, with `rows` rows each, as datasets 0, 1, ... of a group."""
    place = group.create_group(kind)
    for k, value in enumerate(values.values()):
        put(place, f"{k}", value.reshape(rows, -1 if value.size else 0), np.float64)


def read_named(
    source: Source, group: Any, kind: str, rows: int, shapes: Iterable[tuple[str, tuple[int, ...]]]
) -> dict[str, Any]:
    """Read the arrays written by `put_named`: names and shapes of their rows."""
    place = source.group(group, kind)
    return {name: Field(f"{k}", rows, x).read(source, place) for k, (name, x) in enumerate(shapes)}


def read_times(source: Source, columns: Any) -> Any:
    """Read the times of the records."""
    t = source.reals(columns, "t")
    if not t.size or not (np.abs(t) <= LATEST).all():
        content = "others" if t.size else "none"
        source.fail(f"{columns.name}/t", "at least one time, all finite", content)
    if (np.diff(t) < 0.0).any():
        k = int(np.argmax(np.diff(t) < 0.0))
        source.fail(f"{columns.name}/t", "times that do not go back", f"{t[k + 1]:g} s after {t[k]:g} s")
    return t


def read_offset(source: Source, place: Any, n: int, count: int) -> Any:
    """Read the offsets of n records in a table of `count` rows."""
    offset = Field("offset", n + 1, None, np.int64).read(source, place)
    if offset[0] != 0 or offset[-1] != count or (np.diff(offset) < 0).any():
        source.fail(f"{place.name}/offset", f"numbers that grow from 0 to {count}", "others")
    return offset


def read_events(source: Source, group: Any, about: About) -> tuple[Event, ...]:
    """Read the events within steps."""
    place = source.group(group, "events")
    t = source.reals(place, "t")
    columns = [t.tolist()]
    for name, list_ in (("kind", "kinds"), ("interaction", "owners")):
        known = about.get(list_, "texts")
        numbers = Field(name, t.size, None, np.int64, (0, len(known) - 1)).read(source, place)
        columns.append([known[k] for k in numbers.tolist()])
    return tuple(Event(*row) for row in zip(*columns, strict=True))


def put_events(group: Any, events: tuple[Event, ...], put: Any) -> dict[str, Any]:
    """Write the events within steps; return their part of `about`."""
    kinds = sorted({event.kind for event in events})
    owners = sorted({event.interaction for event in events})
    place = group.create_group("events")
    put(place, "t", [event.t for event in events], np.float64)
    put(place, "kind", [kinds.index(event.kind) for event in events], np.int64)
    put(place, "interaction", [owners.index(event.interaction) for event in events], np.int64)
    return {"kinds": kinds, "owners": owners}


def read_verdicts(source: Source, columns: Any, n: int, relaxation: str) -> Any:
    """Read the codes of the verdicts of the records; older files have flags `ok` instead."""
    if source.has(columns, "verdict"):
        return Field("verdict", n, None, np.int8, (0, len(Verdict) - 1)).read(source, columns)
    solved = np.full(n, Verdict.RELAXED.code if relaxation else Verdict.CERTIFIED.code)
    solved[0] = Verdict.CERTIFIED.code  # the start is not the result of a step
    ok = Field("ok", n, None, bool, (0, 1)).read(source, columns)
    codes = np.where(ok, solved, Verdict.MISSED.code).astype(np.int8)
    codes.flags.writeable = False
    return codes
