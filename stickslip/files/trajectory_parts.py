"""What files of trajectories of systems and of worlds have in common: the text `about`, clock and columns."""

import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from stickslip.files.errors import shown
from stickslip.files.hdf5 import Source
from stickslip.files.hdf5_write import put_array, put_text
from stickslip.problem.solution import Verdict
from stickslip.schemes import registry
from stickslip.simulation.clock import FORCES
from stickslip.simulation.trajectory import Trajectory
from stickslip.simulation.world_trajectory import WorldTrajectory

VERSION = 1
LARGEST = 2**31
"""No count in a file is larger: more would not fit into any memory."""
LATEST = 1e300
"""Times beyond this have no differences [s]."""


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
"""What values of JSON may have to be, in words and as a check."""


class About:
    """The text `about` of a file, JSON, whose values are of the right kind, or the file is refused."""

    def __init__(self, source: Source, group: Any):
        self.source, self.place = source, f"{group.name}/about"
        version = source.integer(group, "version")
        if version != VERSION:
            known = f"{VERSION}, the version that this program knows"
            source.fail(f"{group.name}/version", known, f"{version}")
        try:
            said = json.loads(source.text(group, "about"))
        except (ValueError, RecursionError):
            source.fail(self.place, "JSON", "other text")
        self.top: dict[str, Any] = self.get("the text", "object", {"the text": said})

    def get(self, name: str, kind: str, of: dict[str, Any] | None = None) -> Any:
        """A value of the text, or of an object `of` in it, that must be of that kind."""
        value = (self.top if of is None else of).get(name)
        expected, good = KINDS[kind]
        if not good(value):
            self.source.fail(self.place, f"{expected} as {name}", shown(str(value)[:200]))
        return tuple(value) if isinstance(value, list) else value

    def one_of(self, name: str, known: Iterable[str], of: dict[str, Any] | None = None) -> str:
        """A text that is one of the known."""
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
        """Refuse two of the same name."""
        if len(set(given)) < len(list(given)):
            self.source.fail(self.place, f"{what} with names of their own", "two of the same name")

    def run(self) -> dict[str, Any]:
        """Fields that both kinds of trajectory have; files from before a field was told have its default."""
        scheme, options = self.get("scheme", "text"), self.get("scheme_options", "object")
        told = "relaxation" in self.top
        return {
            "scheme": scheme, "scheme_options": options,
            "relaxation": self.get("relaxation", "text") if told else registry.relaxation(scheme, options),
            "forces": self.one_of("forces", FORCES) if "forces" in self.top else "solver",
            "solver": self.get("solver", "text"), "tolerance": float(self.get("tolerance", "number")),
            "steps": self.get("steps", "count"), "missed": self.get("missed", "count"),
        }  # fmt: skip

    def clock(self) -> tuple[float, float]:
        """Origin and step [s]."""
        origin, h = float(self.get("origin", "number")), float(self.get("h", "number"))
        if h <= 0.0:
            self.source.fail(self.place, "a positive h", f"{h}")
        return origin, h


def put_about(group: Any, of: Trajectory | WorldTrajectory, own: dict[str, Any], indent: int | None) -> None:
    """Write the version and the text; own: what this kind of trajectory says beside what both say."""
    said = own | {
        "scheme": of.scheme, "scheme_options": of.scheme_options, "solver": of.solver,
        "tolerance": of.tolerance, "origin": of.clock.origin, "h": of.clock.h, "steps": of.steps,
        "missed": of.missed, "verdict": of.verdict.value, "relaxation": of.relaxation, "forces": of.forces,
    }  # fmt: skip
    put_array(group, "version", [VERSION], np.int32)
    # What is no JSON (a scheme of the user's own may have any option) is kept as text.
    put_text(group, "about", json.dumps(said, indent=indent, default=repr))


def read_columns(
    source: Source, columns: Any, reals: Iterable[str], whole: Iterable[str], widths: Mapping[str, int]
) -> dict[str, Any]:
    """Columns of one number per record, `t` among the reals, and of several numbers, by name."""
    t = read_times(source, columns)
    found = {name: source.shaped(columns, name, source.reals(columns, name), t.shape) for name in reals}
    for name in whole:
        found[name] = source.shaped(columns, name, source.integers(columns, name), t.shape)
    for name, width in widths.items():
        found[name] = source.shaped(columns, name, source.reals(columns, name, 2), (t.size, width))
    return found


def read_named(
    source: Source, group: Any, kind: str, rows: int, shapes: Iterable[tuple[str, tuple[int, ...]]]
) -> dict[str, Any]:
    """Arrays by name from the datasets 0, 1, ... of a group: so many rows of each shape."""
    place, found = source.group(group, kind), {}
    for k, (name, shape) in enumerate(shapes):
        value = source.shaped(place, f"{k}", source.reals(place, f"{k}", 2), (rows, math.prod(shape)))
        found[name] = value.reshape(rows, *shape)
    return found


def read_times(source: Source, columns: Any) -> Any:
    """The times of the records."""
    t = source.reals(columns, "t")
    if not t.size or not (np.abs(t) <= LATEST).all():
        found = "others" if t.size else "none"
        source.fail(f"{columns.name}/t", "at least one time, all finite", found)
    if (np.diff(t) < 0.0).any():
        k = int(np.argmax(np.diff(t) < 0.0))
        source.fail(f"{columns.name}/t", "times that do not go back", f"{t[k + 1]:g} s after {t[k]:g} s")
    return t


def read_verdicts(source: Source, columns: Any, n: int, relaxation: str) -> Any:
    """Codes of the verdicts of the records; a file without them has flags `ok`: whether a step was missed."""
    if source.has(columns, "verdict"):
        codes = source.shaped(columns, "verdict", source.integers(columns, "verdict"), (n,))
        return in_range(source, columns, "verdict", codes, 0, len(Verdict) - 1).astype(np.int8)
    ok = read_flags(source, columns, "ok", (n,))
    solved = np.full(n, Verdict.RELAXED.code if relaxation else Verdict.CERTIFIED.code)
    solved[0] = Verdict.CERTIFIED.code  # no step led to the start
    return np.where(ok, solved, Verdict.MISSED.code).astype(np.int8)


def read_flags(source: Source, columns: Any, name: str, shape: tuple[int, ...]) -> Any:
    """Yes and no, stored as 1 and 0."""
    found = source.shaped(columns, name, source.integers(columns, name, len(shape)), shape)
    if not ((found == 0) | (found == 1)).all():
        source.fail(f"{columns.name}/{name}", "ones and zeros", "other numbers")
    return found.astype(bool)


def in_range(source: Source, place: Any, name: str, value: Any, low: int, high: int) -> Any:
    """Whole numbers, if all are from low to high."""
    if value.size and (value.min() < low or value.max() > high):
        source.fail(f"{place.name}/{name}", f"numbers from {low} to {high}", "others")
    return value


def read_only(*arrays: Any) -> None:
    """Nobody writes to these any more."""
    for array in arrays:
        array.flags.writeable = False
