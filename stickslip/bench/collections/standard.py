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
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from stickslip.bench.collections import manifest
from stickslip.bench.collections.collection import ENDINGS
from stickslip.bench.collections.features import Features
from stickslip.bench.collections.manifest import (
    Manifest,
    Piece,
    Publication,
    Published,
    PublishedProblem,
    PublishedRecipe,
    identity,
    read_manifest,
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
            raise ValueError(f"unknown family {family!r}; {alternatives(family, known)}")
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
    held = _manifest_of(out)
    now: dict[str, tuple[Piece, ...]] = {}
    kept: set[str] = set()
    failures: list[Failure] = []
    for k, recipe in enumerate(recipes):
        if progress is not None:
            progress(recipe.place, k, len(recipes))
        found = () if again else _found(out, recipe, held, published)
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
        now[recipe.place] = found
        others = (piece for piece in held.problems if piece.place != recipe.place)
        said = held.recipes | {recipe.place: recipe.as_json()}
        held = Manifest(VERSION, said, (*others, *found), held.makers | dict([_maker()]))
        replace_file(out / MANIFEST, held.text().encode())  # an interruption loses one recipe at most
    held = _whole(out, held, [failure.recipe.place for failure in failures], now)
    replace_file(out / MANIFEST, held.text().encode())
    known = {out / f"{piece.name}.hdf5" for piece in held.problems}
    return Collected(
        tuple(
            Made(piece.entry, _verdict(recipe, piece, published), recipe.place in kept)
            for recipe in recipes
            for piece in now.get(recipe.place, ())
        ),
        tuple(failures),
        tuple(sorted(p for p in out.rglob("*") if p.suffix.lower() in ENDINGS and p not in known)),
        _published_identity(recipes, published),
    )


def read_published(path: Path = PUBLISHED) -> Published:
    """The published recipes and hashes; none where the file is not there."""
    return manifest.read_published(path)


def publish(folder: str | Path, path: Path = PUBLISHED) -> str:
    """Take the hashes of a folder with the whole collection as the published ones; their identity."""
    held, recipes = read_manifest(Path(folder) / MANIFEST), {}
    pieces: list[Piece] = []
    for recipe in RECIPES:
        if held.recipes.get(recipe.place) != recipe.as_json():
            raise ValueError(f"{folder} does not hold the problems of {recipe.place} as the recipe is now")
        own = held.of(recipe.place)
        problems = {p.name: PublishedProblem(p.hash, p.features.contacts) for p in own}
        recipes[recipe.place], pieces = PublishedRecipe(recipe.as_json(), problems), [*pieces, *own]
    said = Publication(VERSION, identity(pieces), recipes=recipes)
    replace_file(path, (json.dumps(said.as_json(), indent=1, allow_nan=False) + "\n").encode())
    return said.identity


def _make(out: Path, recipe: Recipe) -> tuple[Piece, ...]:
    """Run the recipe and write its problems, once all of them are there."""
    how = {"every": recipe.every, "start": recipe.start, "most": recipe.most}
    # With several threads sums come in an order that is not the same on all machines.
    with threadpool_limits(limits=1):
        found = list(problems_of(recipe.scene, recipe.parameters, **how))
    if len(found) < recipe.most:
        raise ValueError(f"it gave {len(found)} of {recipe.most} problems")
    pieces = []
    for one in found:
        name, said = recipe.problem_name(one.step), one.record.info | {"family": recipe.family}
        path = out / f"{name}.hdf5"
        path.parent.mkdir(exist_ok=True)
        write(path, replace(one.record, info=said))
        pieces.append(
            Piece(
                name, recipe.family, fingerprint(one.record.problem), one.features, said["recipe"],
                said["title"], recipe.place, _digest(path), _maker()[0],
            )
        )  # fmt: skip
    return tuple(pieces)


def _found(out: Path, recipe: Recipe, held: Manifest, published: Published) -> tuple[Piece, ...]:
    """What the folder holds of a recipe, where all of it is as it should be; else nothing."""
    pieces, maker = held.of(recipe.place), _maker()[0]
    good = held.recipes.get(recipe.place) == recipe.as_json() and len(pieces) == recipe.most
    ours = (piece.maker == maker or _verdict(recipe, piece, published) == SAME for piece in pieces)
    return pieces if good and all(ours) and _are_there(out, pieces) else ()


def _are_there(out: Path, pieces: Iterable[Piece]) -> bool:
    """Whether the files of problems are those that were written."""
    return all(_digest(out / f"{piece.name}.hdf5") == piece.file for piece in pieces)


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


def _manifest_of(out: Path) -> Manifest:
    """What the folder says of itself; nothing where that cannot be read or is of another version."""
    try:
        found = read_manifest(out / MANIFEST)
    except (FileNotFoundError, FormatError):
        found = None
    return found if found and found.version == VERSION else Manifest(VERSION, {}, (), {})


def _maker() -> tuple[str, dict[str, Any]]:
    """What the numbers of a problem may depend on beside its recipe, and a short hash of it."""
    said = here().as_json()
    del said["cores"], said["memory"]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:12], said


def _whole(out: Path, held: Manifest, failed: Collection[str], now: Collection[str]) -> Manifest:
    """The manifest in the order of the collection, without what is no longer there."""
    order = {recipe.place: k for k, recipe in enumerate(RECIPES)}
    places = [
        place
        for place in sorted(held.recipes, key=lambda place: (order.get(place, len(order)), place))
        if place in now or (place not in failed and _are_there(out, held.of(place)))
    ]
    pieces = tuple(piece for place in places for piece in held.of(place))
    return replace(held, recipes={place: held.recipes[place] for place in places}, problems=pieces)


def _digest(path: Path) -> str:
    """SHA-256 of a file's bytes, empty where there is none."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
