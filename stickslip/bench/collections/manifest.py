"""What a folder of made problems says of itself, and what was published: recipes and hashes, as JSON."""

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from stickslip.bench.json_data import Stored, parsed
from stickslip.bench.results import Entry
from stickslip.files import FormatError
from stickslip.files.problems import file_content

LARGEST = 16_000_000
"""No manifest is larger [bytes]."""
NAME = re.compile(r"(?!.*\.\.)[a-z0-9-]+/[a-z0-9.-]+")
"""Names of problems: family and the rest, nothing that leads out of a folder."""
HASH = re.compile(r"[0-9a-f]{64}")

Published = dict[str, tuple[dict[str, Any], dict[str, str]]]
"""By recipe, the recipe itself as JSON holds it, and the hashes of its problems by name."""
_S = TypeVar("_S", bound=Stored)


@dataclass(frozen=True)
class Piece(Entry):
    """One problem of a folder: what it is, which recipe made it, and its file."""

    place: str = ""
    """Family and name of the recipe."""
    file: str = ""
    """SHA-256 of the file's bytes."""
    maker: str = ""
    """Which of the manifest's makers made it."""

    @property
    def entry(self) -> Entry:
        """What it is."""
        return Entry(**{spec.name: getattr(self, spec.name) for spec in fields(Entry)})


@dataclass(frozen=True)
class Manifest(Stored):
    """All that a folder holds."""

    version: int
    """Of the collection: another one has other recipes."""
    recipes: dict[str, dict[str, Any]]
    """The recipes by family and name, as JSON holds them."""
    problems: tuple[Piece, ...]
    """In the order of the recipes."""
    makers: dict[str, dict[str, Any]]
    """Code and machines that made them, as `Environment.as_json` tells, by a short hash."""
    collection: str = "standard"
    identity: str = ""
    """Of all problems."""

    def of(self, place: str) -> tuple[Piece, ...]:
        """The problems of one recipe."""
        return tuple(piece for piece in self.problems if piece.place == place)

    def text(self) -> str:
        """As it stands in a file; the same manifest gives the same text."""
        used = {key: self.makers[key] for key in sorted({piece.maker for piece in self.problems})}
        said = replace(self, makers=used, identity=identity(self.problems)).as_json()
        order = ("collection", "version", "identity", "makers", "recipes", "problems")
        ordered = {key: said[key] for key in order}
        return json.dumps(ordered, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


@dataclass(frozen=True)
class PublishedProblem(Stored):
    """A problem as it was published."""

    hash: str
    contacts: int = 0


@dataclass(frozen=True)
class PublishedRecipe(Stored):
    """A recipe as it was published, and its problems by name."""

    recipe: dict[str, Any]
    problems: dict[str, PublishedProblem]


@dataclass(frozen=True)
class Publication(Stored):
    """The file of published hashes."""

    version: int = 0
    identity: str = ""
    """Of all problems."""
    recipes: dict[str, PublishedRecipe] = field(kw_only=True)


def identity(entries: Iterable[Entry]) -> str:
    """One hash of the names and hashes of all problems, in whatever order they come."""
    lines = sorted(f"{entry.name} {entry.hash}\n" for entry in entries)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def read_manifest(path: Path) -> Manifest:
    """The manifest in a file; what is none is a FormatError."""
    found = _read(path, Manifest)
    pieces = found.problems
    wrong = {
        "each name once": len({one.name for one in pieces}) < len(pieces),
        "names such as family/name": not all(NAME.fullmatch(x) for p in pieces for x in (p.name, p.place)),
        "hashes of 64 digits": not all(HASH.fullmatch(x) for p in pieces for x in (p.hash, p.file)),
        "makers of the manifest": not {one.maker for one in pieces} <= found.makers.keys(),
        "recipes of the manifest": not {one.place for one in pieces} <= found.recipes.keys(),
    }
    for wanted, failed in wrong.items():
        if failed:
            raise FormatError.at(path, "problems", wanted, "others")
    return found


def read_published(path: Path) -> Published:
    """The published recipes and hashes; none where the file is not there, a FormatError for what is none."""
    if not path.exists():
        return {}
    found: Published = {}
    for place, said in _read(path, Publication).recipes.items():
        hashes = {name: one.hash for name, one in said.problems.items()}
        if not all(NAME.fullmatch(name) and HASH.fullmatch(one) for name, one in hashes.items()):
            raise FormatError.at(path, f"recipes: {place}"[:80], "names and hashes of problems", "others")
        found[place] = said.recipe, hashes
    return found


def _read(path: Path, kind: type[_S]) -> _S:
    def fail(place: str, expected: str, found: str) -> NoReturn:
        raise FormatError.at(path, place or "the file", expected, found)

    content = file_content(path)
    if len(content) > LARGEST:
        fail("the file", f"at most {LARGEST} bytes", f"{len(content)}")
    return kind.from_json(parsed(content, "the file", fail), "", fail)
