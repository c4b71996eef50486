"""JSON texts in files: values of the right kind, or the file is refused."""

import json
from typing import Any

from stickslip.files.errors import shown
from stickslip.files.hdf5 import Source

LARGEST = 2**31
"""No count in a file is larger: more would not fit into any memory."""


def read_json(source: Source, group: Any, name: str) -> "tuple[JsonReader, dict[str, Any]]":
    """The object in the text of that name, and a reader for its parts."""
    place = f"{group.name}/{name}"
    try:
        said = json.loads(source.text(group, name))
    except (ValueError, RecursionError):
        source.fail(place, "JSON", "other text")
    reader = JsonReader(source, place)
    return reader, reader.table("the text", said)


class JsonReader:
    """Takes values out of JSON, and refuses the file where they are not what they should be."""

    def __init__(self, source: Source, place: str):
        self.source, self.place = source, place

    def table(self, name: str, value: Any) -> dict[str, Any]:
        """An object."""
        return self._kept(name, value, isinstance(value, dict), "an object")  # type: ignore[no-any-return]

    def tables(self, of: dict[str, Any], name: str) -> list[dict[str, Any]]:
        """A list of objects."""
        value = self._kept(name, of.get(name), isinstance(of.get(name), list), "a list")
        return [self.table(f"{name}[{k}]", item) for k, item in enumerate(value)]

    def text(self, of: dict[str, Any], name: str) -> str:
        """A text."""
        return str(self._kept(name, of.get(name), isinstance(of.get(name), str), "a text"))

    def texts(self, of: dict[str, Any], name: str) -> tuple[str, ...]:
        """A list of texts."""
        value = of.get(name)
        good = isinstance(value, list) and all(isinstance(item, str) for item in value)
        return tuple(self._kept(name, value, good, "a list of texts"))

    def flag(self, of: dict[str, Any], name: str) -> bool:
        """True or false."""
        return bool(self._kept(name, of.get(name), isinstance(of.get(name), bool), "true or false"))

    def number(self, of: dict[str, Any], name: str) -> float:
        """A finite number."""
        value = of.get(name)
        return float(self._kept(name, value, _is_number(value), "a finite number"))

    def count(self, of: dict[str, Any], name: str) -> int:
        """A count."""
        return int(self._kept(name, of.get(name), _is_count(of.get(name)), f"a count up to {LARGEST}"))

    def counts(self, of: dict[str, Any], name: str) -> tuple[int, ...]:
        """At most 8 counts."""
        value = of.get(name)
        good = isinstance(value, list) and len(value) <= 8 and all(map(_is_count, value))
        return tuple(self._kept(name, value, good, f"at most 8 counts up to {LARGEST}"))

    def numbers(self, of: dict[str, Any], name: str) -> tuple[float, ...]:
        """A list of finite numbers."""
        value = of.get(name)
        good = isinstance(value, list) and all(map(_is_number, value))
        return tuple(map(float, self._kept(name, value, good, "a list of finite numbers")))

    def one_of(self, of: dict[str, Any], name: str, known: list[str]) -> str:
        """A text that is one of the known."""
        value = self.text(of, name)
        return str(self._kept(name, value, value in known, "one of " + ", ".join(known)))

    def _kept(self, name: str, value: Any, good: bool, expected: str) -> Any:
        if not good:
            self.source.fail(self.place, f"{expected} as {name}", shown(str(value)[:200]))
        return value


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= 1e300
