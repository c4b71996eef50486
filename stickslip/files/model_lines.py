"""Line numbers of values in TOML and JSON texts, which the parsers of the standard library do not provide.

In TOML, a value is on the first line up to which the text contains it, found by bisection. JSON is decoded
again by the Python decoder of the standard library, with hooks that record the positions of values.
"""

import json
import tomllib
from functools import cached_property
from json.decoder import JSONArray, JSONObject  # type: ignore[attr-defined]
from json.scanner import py_make_scanner  # type: ignore[attr-defined]
from typing import Any

from stickslip.files.model_faults import Place

LARGEST = 1_000_000
"""Largest number of characters of a JSON text for which lines are determined."""
EFFORT = 5_000_000
"""Largest total number of characters of TOML parsed to find lines, which takes some seconds."""


class Lines:
    """Line numbers of a text: `Lines(text, ".toml").of(("bodies", 3, "mass"))`."""

    def __init__(self, text: str, ending: str):
        self._text, self._lines = text, text.split("\n")
        self._find = self._in_toml if ending == ".toml" else self._in_json
        self._left = EFFORT
        self._parsed: dict[int, Any] = {0: {}}
        """Trees of the first n lines by n; None if these are not a complete text."""

    def of(self, place: Place) -> int | None:
        """Number of the line, from 1, of the value at a place, or of its nearest existing parent; None if it
        is not known."""
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
            last -= 1  # first line of a value of several lines
        return last if self._left > 0 else None

    def _next(self, count: int, place: Place) -> tuple[int, bool]:
        """Smallest number >= `count` of lines that are a complete text, and whether it has the place."""
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
        """The tree with (position in the text, value) for every value."""
        if len(self._text) > LARGEST:
            return None
        try:
            return _PlacedDecoder().decode(self._text)
        except (ValueError, RecursionError):
            return None


class _PlacedDecoder(json.JSONDecoder):
    """JSON decoder that returns (position, value) for every value in an object or a list."""

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
