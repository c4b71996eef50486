"""Errors of model files, with their positions."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from stickslip.files.errors import FormatError, shown
from stickslip.names import alternatives, suggestion

Place = tuple[str | int, ...]
"""Path of keys and indices to a value: ("bodies", 3, "shape", "radius")."""
OWNER = re.compile(r"^(?:[A-Z]\w+|[a-z][a-z ]*(?: ?'(?:[^'\\]|\\.)*'(?:, | on body )?)*): ")
"""Pattern of the beginning of a `ModelError`, which names the faulty part."""
FIELD = re.compile(r"^(?P<field>\w+)(?P<at>\[[\d, ]+\])? (?=(is|has|must) )")
"""Pattern of the following words if they name a field, or the value itself, `it`."""
MOST = 100
"""Largest number of reported faults."""


@dataclass(frozen=True)
class Fault:
    """One error in a model file, with its position."""

    place: str
    """Position in the file: `bodies[3].shape.radius`; empty for the whole file."""
    sentence: str
    """Description of the error."""
    line: int | None = None
    """Number of its line, from 1, if it is known."""

    def __str__(self) -> str:
        where = [f"line {self.line}"] * (self.line is not None) + [self.place] * bool(self.place)
        return ": ".join([", ".join(where), self.sentence] if where else [self.sentence])


class ModelFileError(FormatError):
    """Invalid model file; `faults` lists all errors."""

    def __init__(self, path: Path | str, faults: Iterable[Fault]):
        self.path, self.faults = path, tuple(faults)
        more = f"; and {len(self.faults) - 1} more, which stickslip check lists" if self.faults[1:] else ""
        super().__init__(f"{path}: {self.faults[0]}{more}")


class Faults:
    """Faults found so far, in order."""

    def __init__(self) -> None:
        self.found: list[tuple[Place, str]] = []

    def add(self, place: Place, sentence: str) -> None:
        """Add a fault, unless there are `MOST` already."""
        if len(self.found) < MOST:
            self.found.append((place, sentence))

    def __bool__(self) -> bool:
        return bool(self.found)

    @contextmanager
    def at(self, *place: str | int, keys: Iterable[str] = ()) -> Iterator[None]:
        """Convert exceptions to faults at this place, or at the one of its `keys` that the message names."""
        try:
            yield
        except (ValueError, OverflowError) as error:
            self.add(*_placed(place, keys, str(error)))

    def add_invalid(self, tree: Any, error: ValidationError) -> None:
        """Add the errors that Pydantic found in a tree."""
        for one in error.errors(include_url=False):
            place, node = _followed(tree, one["loc"], one["type"])
            sentence = _sentence(one, node)
            keys = node if isinstance(node, dict) else ()
            self.add(*(_placed(place, keys, sentence) if one["type"] == "value_error" else (place, sentence)))


def shown_place(place: Place) -> str:
    """Format a place: `bodies[3].shape.radius`."""
    text = ""
    for step in place:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            name = step if re.fullmatch(r"[\w-]{1,60}", step) else shown(step)
            text += f".{name}" if text else name
    return text


def _placed(place: Place, keys: Iterable[str], sentence: str) -> tuple[Place, str]:
    """Remove the names of part and field from a sentence; return the place of the field, and the rest."""
    rest = OWNER.sub("", sentence, count=1)
    field = FIELD.match(rest)
    if field is None or field["field"] not in (*keys, "it"):
        return place, sentence
    field_steps = () if field["field"] == "it" else (field["field"],)
    steps = tuple(int(k) for k in re.findall(r"\d+", field["at"] or ""))
    return (*place, *field_steps, *steps), rest[field.end() :]


def named_in(sentence: str) -> str | None:
    """Name of the part at the beginning of the message of a `ModelError`."""
    named = re.match(r"[a-z ]+ '((?:[^'\\]|\\.)*)'", sentence)
    return named[1] if named else None


def _followed(tree: Any, steps: Iterable[str | int], kind: str) -> tuple[Place, Any]:
    """Return the place without Pydantic's tags of unions, and the value at this place."""
    place: list[str | int] = []
    node = tree
    for step in steps:
        there = (isinstance(node, dict) and step in node) or (
            isinstance(node, list) and isinstance(step, int) and step < len(node)
        )
        if there:
            node = node[step]
            place.append(step)
        elif kind == "missing":
            missing = step  # the last step, or the tag of a union before it
    return (*place, missing) if kind == "missing" else tuple(place), node


def _sentence(error: Any, node: Any) -> str:
    """Rephrase an error of Pydantic."""
    kind, about, value = error["type"], error.get("ctx", {}), error["input"]
    match kind:
        case "missing":
            return "is missing"
        case "extra_forbidden":
            close = suggestion(str(error["loc"][-1]), known_keys())
            return "unknown key" + (f"; {close}" if close else "")
        case "union_tag_invalid":
            kinds = [x for text in about["expected_tags"].split(",") if (x := text.strip(" '")) != "its name"]
            return f"unknown kind {shown(about['tag'])}; {alternatives(about['tag'], kinds)}"
        case "union_tag_not_found":
            return "its kind is missing" if isinstance(value, dict) else f"must be keys, is {_called(value)}"
        case "literal_error":
            return f"must be {about['expected']}, is {_called(value)}"
        case "value_error":
            return str(about["error"])
        case "too_long" | "too_short":
            most = about.get("max_length", about.get("min_length"))
            return f"must have {most} entries, has {about['actual_length']}"
        case "greater_than_equal" | "less_than_equal":
            limit = about.get("ge", about.get("le"))
            return f"must be at {'least' if 'ge' in about else 'most'} {limit}, is {_called(value)}"
    expectations = {
        "model_type": "keys", "dict_type": "keys", "list_type": "a list", "string_type": "text",
        "bool_type": "true or false", "int_type": "a whole number", "string_too_short": "some text",
        "string_too_long": "a shorter text", "string_unicode": "text in Unicode",
    }  # fmt: skip
    if kind in expectations:
        return f"must be {expectations[kind]}, is {_called(value)}"
    return str(error["msg"])


def known_keys() -> list[str]:
    """Names of all keys of all parts of models."""
    from stickslip.files.model_parts import Keys

    names: dict[str, None] = {}
    todo = [Keys]
    while todo:
        keys = todo.pop()
        names |= dict.fromkeys(keys.model_fields)
        todo += keys.__subclasses__()
    return sorted(names)


def _called(value: Any) -> str:
    if isinstance(value, dict | list):
        return "keys" if isinstance(value, dict) else "a list"
    return shown(value) if isinstance(value, str) else shown(repr(value)).strip("'")
