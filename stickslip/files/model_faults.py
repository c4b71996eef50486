"""What is wrong with a file of a model, place by place."""

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
"""Keys and numbers that lead to a value: ("bodies", 3, "shape", "radius")."""
OWNER = re.compile(r"^(?:[A-Z]\w+|[a-z][a-z ]*(?: ?'(?:[^'\\]|\\.)*'(?:, | on body )?)*): ")
"""How sentences of a `ModelError` begin: whose fault it is."""
FIELD = re.compile(r"^(?P<field>\w+)(?P<at>\[[\d, ]+\])? (?=(is|has|must) )")
"""How the rest begins where it is about one field, or about the value itself, `it`."""
MOST = 100
"""Faults that are told; a file may have a million."""


@dataclass(frozen=True)
class Fault:
    """One error in a model file, with its position."""

    place: str
    """Position in the file: `bodies[3].shape.radius`; empty for the whole file."""
    sentence: str
    """Description of the error."""
    line: int | None = None
    """Number of its line, from 1, where that is known."""

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
    """What was found so far, in order."""

    def __init__(self) -> None:
        self.found: list[tuple[Place, str]] = []

    def add(self, place: Place, sentence: str) -> None:
        """One more, as long as there are not too many."""
        if len(self.found) < MOST:
            self.found.append((place, sentence))

    def __bool__(self) -> bool:
        return bool(self.found)

    @contextmanager
    def at(self, *place: str | int, keys: Iterable[str] = ()) -> Iterator[None]:
        """Within it what cannot be made is a fault at that place, or at that of its keys that is named."""
        try:
            yield
        except (ValueError, OverflowError) as error:
            self.add(*_placed(place, keys, str(error)))

    def add_invalid(self, tree: Any, error: ValidationError) -> None:
        """What Pydantic found in a tree."""
        for one in error.errors(include_url=False):
            place, node = _followed(tree, one["loc"], one["type"])
            sentence = _sentence(one, node)
            keys = node if isinstance(node, dict) else ()
            self.add(*(_placed(place, keys, sentence) if one["type"] == "value_error" else (place, sentence)))


def shown_place(place: Place) -> str:
    """`bodies[3].shape.radius`."""
    text = ""
    for step in place:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            name = step if re.fullmatch(r"[\w-]{1,60}", step) else shown(step)
            text += f".{name}" if text else name
    return text


def _placed(place: Place, keys: Iterable[str], sentence: str) -> tuple[Place, str]:
    """A sentence about a part without the words that its place says better, and the place of its field."""
    rest = OWNER.sub("", sentence, count=1)
    field = FIELD.match(rest)
    if field is None or field["field"] not in (*keys, "it"):
        return place, sentence
    own = () if field["field"] == "it" else (field["field"],)
    steps = tuple(int(k) for k in re.findall(r"\d+", field["at"] or ""))
    return (*place, *own, *steps), rest[field.end() :]


def named_in(sentence: str) -> str | None:
    """The name of the thing that a sentence of a `ModelError` begins with."""
    named = re.match(r"[a-z ]+ '((?:[^'\\]|\\.)*)'", sentence)
    return named[1] if named else None


def _followed(tree: Any, steps: Iterable[str | int], kind: str) -> tuple[Place, Any]:
    """The place without the tags of unions that Pydantic puts into it, and what stands there."""
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
    """An error of Pydantic in the words of the house."""
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
    wanted = {
        "model_type": "keys", "dict_type": "keys", "list_type": "a list", "string_type": "text",
        "bool_type": "true or false", "int_type": "a whole number", "string_too_short": "some text",
        "string_too_long": "a shorter text", "string_unicode": "text in Unicode",
    }  # fmt: skip
    if kind in wanted:
        return f"must be {wanted[kind]}, is {_called(value)}"
    return str(error["msg"])


def known_keys() -> list[str]:
    """All keys that some part of a model may have."""
    from stickslip.files.model_parts import Keys

    found: dict[str, None] = {}
    waiting = [Keys]
    while waiting:
        one = waiting.pop()
        found |= dict.fromkeys(one.model_fields)
        waiting += one.__subclasses__()
    return sorted(found)


def _called(value: Any) -> str:
    if isinstance(value, dict | list):
        return "keys" if isinstance(value, dict) else "a list"
    return shown(value) if isinstance(value, str) else shown(repr(value)).strip("'")
