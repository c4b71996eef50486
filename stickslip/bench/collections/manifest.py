"""Manifests of folders of problems, and published recipes and hashes, as JSON."""

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
"""Largest size of a manifest [bytes]."""
NAME = re.compile(r"(?!.*\.\.)[a-z0-9-]+/[a-z0-9.-]+")
"""Pattern of names of problems, family/name, which cannot lead out of a folder."""
HASH = re.compile(r"[0-9a-f]{64}")

Published = dict[str, tuple[dict[str, Any], dict[str, str]]]
"""Published recipes by place: the recipe as JSON data, and the hashes of its problems by name."""
_S = TypeVar("_S", bound=Stored)


@dataclass(frozen=True)
class Piece(Entry):
    """One problem of a folder: its entry, its recipe and its file."""

    place: str = ""
    """Family and name of the recipe."""
    file: str = ""
    """SHA-256 of the bytes of the file."""
    maker: str = ""
    """Key of its maker in the manifest."""

    @property
    def entry(self) -> Entry:
        """The entry without recipe, file and maker."""
        return Entry(**{spec.name: getattr(self, spec.name) for spec in fields(Entry)})


@dataclass(frozen=True)
class Manifest(Stored):
    """Contents of a folder of problems."""

    version: int
    """Version of the collection; other versions have other recipes."""
    recipes: dict[str, dict[str, Any]]
    """Recipes by family and name, as JSON data."""
    problems: tuple[Piece, ...]
    """Problems in the order of the recipes."""
    makers: dict[str, dict[str, Any]]
    """Code and machines that made the problems, see `Environment.as_json`, by a short hash."""
    collection: str = "standard"
    identity: str = ""
    """Hash of all problems, see `identity`."""

    def of(self, place: str) -> tuple[Piece, ...]:
        """The problems of one recipe."""
        return tuple(piece for piece in self.problems if piece.place == place)

    def text(self) -> str:
        """Text of the file; the same manifest gives the same text."""
        used = {key: self.makers[key] for key in sorted({piece.maker for piece in self.problems})}
        data = replace(self, makers=used, identity=identity(self.problems)).as_json()
        order = ("collection", "version", "identity", "makers", "recipes", "problems")
        ordered = {key: data[key] for key in order}
        return json.dumps(ordered, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


@dataclass(frozen=True)
class PublishedProblem(Stored):
    """A published problem."""

    hash: str
    contacts: int = 0


@dataclass(frozen=True)
class PublishedRecipe(Stored):
    """A published recipe, and its problems by name."""

    recipe: dict[str, Any]
    problems: dict[str, PublishedProblem]


@dataclass(frozen=True)
class Publication(Stored):
    """The file of published hashes."""

    version: int = 0
    identity: str = ""
    """Hash of all problems, see `identity`."""
    recipes: dict[str, PublishedRecipe] = field(kw_only=True)


def identity(entries: Iterable[Entry]) -> str:
    """Hash of the names and hashes of all problems, independent of their order."""
    lines = sorted(f"{entry.name} {entry.hash}\n" for entry in entries)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def read_manifest(path: Path) -> Manifest:
    """Read the manifest in a file; raise a FormatError for malformed files."""
    manifest = _read(path, Manifest)
    pieces = manifest.problems
    wrong = {
        "each name once": len({one.name for one in pieces}) < len(pieces),
        "names such as family/name": not all(NAME.fullmatch(x) for p in pieces for x in (p.name, p.place)),
        "hashes of 64 digits": not all(HASH.fullmatch(x) for p in pieces for x in (p.hash, p.file)),
        "makers of the manifest": not {one.maker for one in pieces} <= manifest.makers.keys(),
        "recipes of the manifest": not {one.place for one in pieces} <= manifest.recipes.keys(),
    }
    for expected, failed in wrong.items():
        if failed:
            raise FormatError.at(path, "problems", expected, "others")
    return manifest


def read_published(path: Path) -> Published:
    """Read published recipes and hashes; empty if there is no file, a FormatError for malformed files."""
    if not path.exists():
        return {}
    published: Published = {}
    for place, recipe in _read(path, Publication).recipes.items():
        hashes = {name: one.hash for name, one in recipe.problems.items()}
        if not all(NAME.fullmatch(name) and HASH.fullmatch(one) for name, one in hashes.items()):
            raise FormatError.at(path, f"recipes: {place}"[:80], "names and hashes of problems", "others")
        published[place] = recipe.recipe, hashes
    return published


def _read(path: Path, kind: type[_S]) -> _S:
    def fail(place: str, expected: str, found: str) -> NoReturn:
        raise FormatError.at(path, place or "the file", expected, found)

    content = file_content(path)
    if len(content) > LARGEST:
        fail("the file", f"at most {LARGEST} bytes", f"{len(content)}")
    return kind.from_json(parsed(content, "the file", fail), "", fail)
