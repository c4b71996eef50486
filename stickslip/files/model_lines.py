"""Lines of the values in a TOML or JSON text, which the parsers of the standard library do not keep.

Of TOML, a value is on the line with which the text so far first holds it. JSON is decoded once more by
the decoder of the standard library, in Python, which tells its parts where they begin.
"""

import json
import tomllib
from functools import cached_property
from json.decoder import JSONArray, JSONObject  # type: ignore[attr-defined]
from json.scanner import py_make_scanner  # type: ignore[attr-defined]
from typing import Any

from stickslip.files.model_faults import Place

LARGEST = 1_000_000
"""Letters of a JSON text of which lines are looked for."""
EFFORT = 5_000_000
"""Letters of TOML that are parsed to find lines, of all places together: some seconds."""


class Lines:
    """The lines of a text: `Lines(text, ".toml").of(("bodies", 3, "mass"))`."""

    def __init__(self, text: str, ending: str):
        self._text, self._lines = text, text.split("\n")
        self._find = self._in_toml if ending == ".toml" else self._in_json
        self._left = EFFORT
        self._parsed: dict[int, Any] = {0: {}}
        """Trees of the first so many lines; None where they are no whole text."""

    def of(self, place: Place) -> int | None:
        """Number of the line, from 1, of the value at a place, or of what it would be in; None where that is
        not known."""
        while place:
            line = self._find(place)
            if line is not None:
                return line
            place = place[:-1]
        return None

    def _in_toml(self, place: Place) -> int | None:
        low, high = 0, len(self._lines)
        last, there = self._next(high, place)
        if not there:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            end, there = self._next(middle, place)
            if there:
                last, high = min(last, end), middle
            else:
                low = end
        while self._tree(last - 1) is None:
            last -= 1  # a value of several lines: its first
        return last if self._left > 0 else None

    def _next(self, count: int, place: Place) -> tuple[int, bool]:
        """How many lines, at least `count`, are a whole text, and whether that holds the place."""
        while self._tree(count) is None and count < len(self._lines):
            count += 1
        node = self._tree(count) or {}
        for step in place:
            try:
                node = node[step]
            except (KeyError, IndexError, TypeError):
                return count, False
        return count, True

    def _tree(self, count: int) -> Any:
        if count not in self._parsed:
            part = "\n".join(self._lines[:count])
            self._left -= len(part)
            try:
                self._parsed[count] = tomllib.loads(part) if self._left > 0 else {}
            except (tomllib.TOMLDecodeError, RecursionError):
                self._parsed[count] = None
        return self._parsed[count]

    def _in_json(self, place: Place) -> int | None:
        at, node = 0, self._placed_json
        for step in place:
            try:
                at, node = node[step]
            except (KeyError, IndexError, TypeError):
                return None
        return self._text.count("\n", 0, at) + 1

    @cached_property
    def _placed_json(self) -> Any:
        """The tree with (place in the text, value) for every value."""
        if len(self._text) > LARGEST:
            return None
        try:
            return _PlacedDecoder().decode(self._text)
        except (ValueError, RecursionError):
            return None


class _PlacedDecoder(json.JSONDecoder):
    """Gives (where it begins, what it is) for every value in an object or a list."""

    def __init__(self) -> None:
        super().__init__()
        self.parse_object = self._object
        self.parse_array = self._array
        self.scan_once = py_make_scanner(self)

    def _object(self, at: Any, strict: bool, scan: Any, hook: Any, pairs_hook: Any, memo: Any) -> Any:
        places: list[int] = []
        pairs, end = JSONObject(at, strict, _noting(scan, places), None, list, memo)
        return {key: (place, value) for (key, value), place in zip(pairs, places, strict=True)}, end

    def _array(self, at: Any, scan: Any) -> Any:
        places: list[int] = []
        values, end = JSONArray(at, _noting(scan, places))
        return list(zip(places, values, strict=True)), end


def _noting(scan: Any, places: list[int]) -> Any:
    def noted(text: str, at: int) -> Any:
        places.append(at)
        return scan(text, at)

    return noted
