"""What a folder of made problems says of itself: recipes, hashes and features, as one JSON file."""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from stickslip.bench.results import Entry
from stickslip.files import FormatError
from stickslip.files.problems import file_content

LARGEST = 16_000_000
"""No manifest is larger [bytes]."""
NAME = re.compile(r"[a-z0-9-]+/[a-z0-9.-]+")
"""Names of problems: family and the rest, nothing that leads out of a folder."""
HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Piece:
    """One problem of a folder: what it is, which recipe made it, and its file."""

    entry: Entry
    place: str
    """Family and name of the recipe."""
    file: str
    """SHA-256 of the file's bytes."""
    maker: str
    """Which of the manifest's makers made it."""

    def as_json(self) -> dict[str, Any]:
        """As JSON holds it."""
        return self.entry.as_json() | {"place": self.place, "file": self.file, "maker": self.maker}


@dataclass(frozen=True)
class Manifest:
    """All that a folder holds."""

    version: int
    """Of the collection: another one has other recipes."""
    recipes: dict[str, dict[str, Any]]
    """The recipes by family and name, as JSON holds them."""
    pieces: tuple[Piece, ...]
    """The problems, in the order of the recipes."""
    makers: dict[str, dict[str, Any]]
    """Code and machines that made them, as `Environment.as_json` tells, by a short hash."""

    def of(self, place: str) -> tuple[Piece, ...]:
        """The problems of one recipe."""
        return tuple(piece for piece in self.pieces if piece.place == place)

    def text(self) -> str:
        """As it stands in a file; the same manifest gives the same text."""
        used = {piece.maker for piece in self.pieces}
        said = {
            "collection": "standard", "version": self.version,
            "identity": identity(piece.entry for piece in self.pieces),
            "makers": {key: self.makers[key] for key in sorted(used)},
            "recipes": self.recipes, "problems": [piece.as_json() for piece in self.pieces],
        }  # fmt: skip
        return json.dumps(said, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def identity(entries: Iterable[Entry]) -> str:
    """One hash of the names and hashes of all problems, in whatever order they come."""
    lines = sorted(f"{entry.name} {entry.hash}\n" for entry in entries)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def read_manifest(path: Path) -> Manifest:
    """The manifest in a file; what is none is a FormatError."""
    said = read_object(path)
    recipes = said.get("recipes")
    if not isinstance(recipes, dict) or not all(isinstance(one, dict) for one in recipes.values()):
        raise FormatError.at(path, "recipes", "an object of recipes", "something else")
    version, makers, problems = said.get("version"), said.get("makers"), said.get("problems")
    if not isinstance(version, int) or isinstance(version, bool) or not isinstance(makers, dict):
        raise FormatError.at(path, "version and makers", "a whole number and an object", "others")
    if not isinstance(problems, list):
        raise FormatError.at(path, "problems", "a list", type(problems).__name__)
    pieces = tuple(_piece(path, k, one) for k, one in enumerate(problems))
    names = [piece.entry.name for piece in pieces]
    if len(set(names)) < len(names):
        raise FormatError.at(path, "problems", "each name once", "one of them twice")
    if not all(piece.maker in makers and piece.place in recipes for piece in pieces):
        raise FormatError.at(path, "problems", "makers and recipes of the manifest", "others")
    return Manifest(version, recipes, pieces, makers)


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file; anything else is a FormatError."""
    content = file_content(path)
    if len(content) > LARGEST:
        raise FormatError.at(path, "the file", f"at most {LARGEST} bytes", f"{len(content)}")
    try:
        said = json.loads(content)
    except (ValueError, RecursionError):
        raise FormatError.at(path, "the file", "JSON", "other text") from None
    if not isinstance(said, dict):
        raise FormatError.at(path, "the file", "a JSON object", type(said).__name__)
    return said


def known_name(text: Any) -> bool:
    """Whether this is a name that a problem may have."""
    return isinstance(text, str) and NAME.fullmatch(text) is not None and ".." not in text


def known_hash(text: Any) -> bool:
    """Whether this is a SHA-256 in hexadecimal digits."""
    return isinstance(text, str) and HASH.fullmatch(text) is not None


def _piece(path: Path, k: int, said: Any) -> Piece:
    def fail(place: str, expected: str, found: str) -> NoReturn:
        raise FormatError.at(path, place, expected, found)

    place = f"problems[{k}]"
    if not isinstance(said, dict):
        fail(place, "an object", type(said).__name__)
    own, file, maker = (said.pop(key, None) for key in ("place", "file", "maker"))
    entry = Entry.from_json(said, place, fail)
    if not known_name(entry.name) or not known_name(own):
        fail(place, "names such as family/name", "others")
    if not known_hash(entry.hash) or not known_hash(file):
        fail(place, "hashes of 64 hexadecimal digits", "others")
    return Piece(entry, own, file, str(maker))


def strangers(folder: Path, pieces: Sequence[Piece], endings: Sequence[str]) -> tuple[Path, ...]:
    """Files with these endings below a folder that are none of its pieces', by name."""
    known = {f"{piece.entry.name}.hdf5" for piece in pieces}
    return tuple(
        sorted(
            path
            for path in folder.rglob("*")
            if path.suffix.lower() in endings and path.relative_to(folder).as_posix() not in known
        )
    )
