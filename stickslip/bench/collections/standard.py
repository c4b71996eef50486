"""The standard collection: about a hundred problems, made anew from recipes.

On one machine the same files come out bit for bit. Another machine may round otherwise: problems are known by
recipe and hash, and `standard.json` beside this file holds the published hashes, so that whoever compares
times of two machines knows whether both had the same numbers. After a change of recipes, or of code that
changes their numbers, raise `VERSION`, make the whole collection and publish it:

    stickslip bench collect --out standard
    python -c "from stickslip.bench.collections.standard import publish; publish('standard')"
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from stickslip.bench.collections.collection import ENDINGS
from stickslip.bench.collections.features import Features
from stickslip.bench.collections.manifest import (
    Manifest,
    Piece,
    identity,
    known_hash,
    known_name,
    read_manifest,
    read_object,
    strangers,
)
from stickslip.bench.collections.recording import problems_of
from stickslip.bench.collections.standard_recipes import RECIPES, VERSION, Recipe
from stickslip.bench.environment import here
from stickslip.bench.results import Entry
from stickslip.files import FormatError, write
from stickslip.files.problems import replace_file
from stickslip.names import alternatives
from stickslip.problem.fingerprint import fingerprint

MANIFEST = "collection.json"
"""Name of the file that says what a folder holds."""
PUBLISHED = Path(__file__).with_name("standard.json")
"""The published hashes."""

SAME, DIFFERS, NEW = "same", "differs", "new"
"""What a problem is to the published one: the same numbers, others, or there is none."""

Parts = Callable[[str, int, int], None]
"""Called with the recipe that is made, how many are done and how many there are."""
Published = dict[str, tuple[dict[str, Any], dict[str, str]]]
"""By recipe, the recipe itself as JSON holds it, and the hashes of its problems by name."""


@dataclass(frozen=True)
class Made:
    """One problem of the collection, as it is in the folder now."""

    entry: Entry
    verdict: str
    """SAME, DIFFERS or NEW beside the published one."""
    kept: bool
    """Whether it was there already and was not made again."""


@dataclass(frozen=True)
class Failure:
    """A recipe that did not give its problems."""

    recipe: Recipe
    reason: str
    """In a sentence."""


@dataclass(frozen=True)
class Collected:
    """What `collect` made or found."""

    made: tuple[Made, ...]
    """The problems of the recipes that were asked for, in their order."""
    failures: tuple[Failure, ...]
    """Recipes that failed."""
    strangers: tuple[Path, ...]
    """Problem files in the folder that are not of this collection."""
    published: str
    """Identity of the published problems of these recipes; empty where some were never published."""

    @property
    def identity(self) -> str:
        """One hash of all problems of these recipes."""
        return identity(one.entry for one in self.made)


def select(families: Sequence[str] | None = None, small: bool = False) -> tuple[Recipe, ...]:
    """The recipes of these families, all of them for None; with `small` only those made in seconds."""
    known = tuple(dict.fromkeys(recipe.family for recipe in RECIPES))
    for family in families or ():
        if family not in known:
            raise ValueError(f"no family {family!r}; {alternatives(family, known)}")
    if families is not None and not families:
        raise ValueError(f"no family is named; known: {', '.join(known)}")
    return tuple(
        recipe
        for recipe in RECIPES
        if (families is None or recipe.family in families) and (recipe.quick or not small)
    )


def collect(
    out: Path, recipes: Sequence[Recipe] = RECIPES, *, again: bool = False, progress: Parts | None = None,
    published: Published | None = None,
) -> Collected:  # fmt: skip
    """Make the problems of the recipes in the folder `out`, as `FAMILY/NAME.hdf5`, and its manifest.

    What is there already is not made again, unless `again`: files whose bytes are those that the manifest
    tells, of the same recipe, with the published hashes or made by this very code on this machine. A recipe
    that fails does not stop the others. Problems of other recipes that the folder holds stay in its manifest.
    """
    published = read_published() if published is None else published
    out.mkdir(parents=True, exist_ok=True)
    before = _manifest_of(out) or Manifest(VERSION, {}, (), {})
    pieces: dict[str, tuple[Piece, ...]] = {}
    kept: set[str] = set()
    failures: list[Failure] = []
    for k, recipe in enumerate(recipes):
        if progress is not None:
            progress(recipe.place, k, len(recipes))
        found = () if again else _found(out, recipe, before, published)
        if found:
            kept.add(recipe.place)
        else:
            try:
                found = _make(out, recipe)
            except OSError:  # no room to write, which the others would not find either
                raise
            except Exception as error:  # a recipe may fail in any way, the others are still wanted
                failures.append(Failure(recipe, f"{type(error).__name__}: {error}"))
                continue
        pieces[recipe.place] = found
        before = _with(before, recipe, found)
        replace_file(out / MANIFEST, before.text().encode())  # an interruption loses one recipe at most
    whole = _whole(out, before, [failure.recipe.place for failure in failures], pieces)
    replace_file(out / MANIFEST, whole.text().encode())
    made = tuple(
        Made(piece.entry, _verdict(recipe, piece.entry, published), recipe.place in kept)
        for recipe in recipes
        for piece in pieces.get(recipe.place, ())
    )
    return Collected(
        made, tuple(failures), strangers(out, whole.pieces, ENDINGS), _published_identity(recipes, published)
    )


def read_published(path: Path = PUBLISHED) -> Published:
    """The published recipes and hashes; none where the file is not there."""
    if not path.exists():
        return {}
    recipes = read_object(path).get("recipes")
    if not isinstance(recipes, dict):
        raise FormatError.at(path, "recipes", "an object", type(recipes).__name__)
    found: Published = {}
    for place, said in recipes.items():
        recipe, problems = (said.get("recipe"), said.get("problems")) if isinstance(said, dict) else (0, 0)
        if not isinstance(recipe, dict) or not isinstance(problems, dict):
            raise FormatError.at(path, f"recipes: {place}"[:80], "a recipe and its problems", "others")
        hashes: dict[str, Any] = {
            name: one.get("hash") if isinstance(one, dict) else None for name, one in problems.items()
        }
        if not all(known_name(name) and known_hash(one) for name, one in hashes.items()):
            raise FormatError.at(path, f"recipes: {place}"[:80], "names and hashes of problems", "others")
        found[place] = recipe, hashes
    return found


def publish(folder: str | Path, path: Path = PUBLISHED) -> str:
    """Take the hashes of a folder with the whole collection as the published ones; their identity."""
    manifest = read_manifest(Path(folder) / MANIFEST)
    for recipe in RECIPES:
        if manifest.recipes.get(recipe.place) != recipe.as_json():
            raise ValueError(f"{folder} does not hold the problems of {recipe.place} as the recipe is now")
    recipes = {
        recipe.place: {
            "recipe": recipe.as_json(),
            "problems": {
                piece.entry.name: {"hash": piece.entry.hash, "contacts": piece.entry.features.contacts}
                for piece in manifest.of(recipe.place)
            },
        }
        for recipe in RECIPES
    }
    whole = identity(piece.entry for recipe in RECIPES for piece in manifest.of(recipe.place))
    said = {"version": VERSION, "identity": whole, "recipes": recipes}
    replace_file(path, (json.dumps(said, indent=1, allow_nan=False) + "\n").encode())
    return whole


def _make(out: Path, recipe: Recipe) -> tuple[Piece, ...]:
    """Run the recipe and write its problems, once all of them are there."""
    # With several threads sums come in an order that is not the same on all machines.
    with threadpool_limits(limits=1):
        found = list(
            problems_of(
                recipe.scene, recipe.parameters, every=recipe.every, start=recipe.start, most=recipe.most
            )
        )
    if len(found) < recipe.most:
        raise ValueError(f"it gave {len(found)} of {recipe.most} problems")
    pieces = []
    for one in found:
        name = recipe.problem_name(one.step)
        record = replace(one.record, info=one.record.info | {"family": recipe.family})
        path = out / f"{name}.hdf5"
        path.parent.mkdir(exist_ok=True)
        write(path, record)
        told = record.info
        entry = Entry(
            name, recipe.family, fingerprint(record.problem), one.features, told["recipe"], told["title"]
        )
        pieces.append(Piece(entry, recipe.place, _digest(path), _maker()[0]))
    return tuple(pieces)


def _found(out: Path, recipe: Recipe, before: Manifest, published: Published) -> tuple[Piece, ...]:
    """What the folder holds of a recipe, where all of it is as it should be; else nothing."""
    if before.recipes.get(recipe.place) != recipe.as_json():
        return ()
    pieces = before.of(recipe.place)
    here_made = _maker()[0]
    if any(p.maker != here_made and _verdict(recipe, p.entry, published) != SAME for p in pieces):
        return ()
    if len(pieces) != recipe.most or any(_digest(_file(out, piece)) != piece.file for piece in pieces):
        return ()
    return pieces


def _verdict(recipe: Recipe, entry: Entry, published: Published) -> str:
    known, hashes = published.get(recipe.place, ({}, {}))
    if known != recipe.as_json():
        return NEW
    return SAME if hashes.get(entry.name) == entry.hash else DIFFERS


def _published_identity(recipes: Iterable[Recipe], published: Published) -> str:
    entries = []
    for recipe in recipes:
        known, hashes = published.get(recipe.place, ({}, {}))
        if known != recipe.as_json():
            return ""
        nothing = Features("", 0, 0, 0)
        entries += [Entry(name, recipe.family, one, nothing) for name, one in hashes.items()]
    return identity(entries)


def _manifest_of(out: Path) -> Manifest | None:
    """What the folder says of itself; a manifest that cannot be read or is of another version is none."""
    try:
        found = read_manifest(out / MANIFEST)
    except (FileNotFoundError, FormatError):
        return None
    return found if found.version == VERSION else None


def _with(before: Manifest, recipe: Recipe, pieces: tuple[Piece, ...]) -> Manifest:
    """The manifest with the problems of a recipe as they are now."""
    others = tuple(piece for piece in before.pieces if piece.place != recipe.place)
    recipes = before.recipes | {recipe.place: recipe.as_json()}
    return Manifest(VERSION, recipes, (*others, *pieces), before.makers | dict([_maker()]))


def _maker() -> tuple[str, dict[str, Any]]:
    """What the numbers of a problem may depend on beside its recipe, and a short hash of it."""
    said = here().as_json()
    del said["cores"], said["memory"]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:12], said


def _whole(
    out: Path, manifest: Manifest, failed: Sequence[str], now: dict[str, tuple[Piece, ...]]
) -> Manifest:
    """The manifest in the order of the collection, without what is no longer there."""
    order = {recipe.place: k for k, recipe in enumerate(RECIPES)}
    places = sorted(manifest.recipes, key=lambda place: (order.get(place, len(order)), place))
    recipes: dict[str, dict[str, Any]] = {}
    pieces: list[Piece] = []
    for place in places:
        own = now.get(place, manifest.of(place))
        if place in failed or (place not in now and any(_digest(_file(out, p)) != p.file for p in own)):
            continue
        recipes[place] = manifest.recipes[place]
        pieces += own
    return Manifest(VERSION, recipes, tuple(pieces), manifest.makers)


def _file(out: Path, piece: Piece) -> Path:
    return out / f"{piece.entry.name}.hdf5"


def _digest(path: Path) -> str:
    """SHA-256 of a file's bytes, empty where there is none."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
