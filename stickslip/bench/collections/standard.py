"""The standard collection: about a hundred problems, built from recipes.

On one machine the files are reproduced bit for bit. Other machines may round differently. Therefore problems
are identified by recipe and hash, and `standard.json` beside this file contains the published hashes, which
show whether two machines have solved the same numbers. After a change of recipes, or of code that changes the
numbers, increase `VERSION`, build the whole collection and publish it:

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
"""Name of the manifest of a folder."""
PUBLISHED = Path(__file__).with_name("standard.json")
"""The published hashes."""

SAME, DIFFERS, NEW = "same", "differs", "new"
"""Comparison of a problem with the published one: same numbers, other numbers, or not published."""

Parts = Callable[[str, int, int], None]
"""Called with the current recipe, the number of recipes done and the total number."""


@dataclass(frozen=True)
class Made:
    """One problem of the collection in the folder."""

    entry: Entry
    verdict: str
    """SAME, DIFFERS or NEW."""
    kept: bool
    """Whether it existed already and was not rebuilt."""


@dataclass(frozen=True)
class Failure:
    """A recipe that failed."""

    recipe: Recipe
    reason: str
    """Reason as a sentence."""


@dataclass(frozen=True)
class Collected:
    """Result of `collect`."""

    made: tuple[Made, ...]
    """Problems of the requested recipes, in their order."""
    failures: tuple[Failure, ...]
    """Recipes that failed."""
    strangers: tuple[Path, ...]
    """Problem files in the folder that are not of this collection."""
    published: str
    """Identity of the published problems of these recipes; empty if some were never published."""

    @property
    def identity(self) -> str:
        """Hash of all problems of these recipes."""
        return identity(one.entry for one in self.made)


def select(families: Sequence[str] | None = None, small: bool = False) -> tuple[Recipe, ...]:
    """Recipes of these families, or all for None; small: only those that take seconds."""
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
    """Build the problems of the recipes in the folder `out`, as `FAMILY/NAME.hdf5`, and its manifest.

    Existing problems are not rebuilt, unless `again`: files whose bytes agree with the manifest, with the
    same recipe, and with the published hashes or made by the same code on this machine. A failed recipe does
    not stop the others. Problems of other recipes in the folder are kept in its manifest.
    """
    published = read_published() if published is None else published
    out.mkdir(parents=True, exist_ok=True)
    stored = _manifest_of(out)
    now: dict[str, tuple[Piece, ...]] = {}
    places: set[str] = set()
    failures: list[Failure] = []
    for k, recipe in enumerate(recipes):
        if progress is not None:
            progress(recipe.place, k, len(recipes))
        pieces = () if again else _found(out, recipe, stored, published)
        if pieces:
            places.add(recipe.place)
        else:
            try:
                pieces = _make(out, recipe)
            except OSError:  # a full disk also affects the other recipes
                raise
            except Exception as error:  # a failed recipe must not stop the others
                failures.append(Failure(recipe, f"{type(error).__name__}: {error}"))
                continue
        now[recipe.place] = pieces
        others = (piece for piece in stored.problems if piece.place != recipe.place)
        texts = stored.recipes | {recipe.place: recipe.as_json()}
        stored = Manifest(VERSION, texts, (*others, *pieces), stored.makers | dict([_maker()]))
        replace_file(out / MANIFEST, stored.text().encode())  # an interruption loses at most one recipe
    stored = _whole(out, stored, [failure.recipe.place for failure in failures], now)
    replace_file(out / MANIFEST, stored.text().encode())
    known = {out / f"{piece.name}.hdf5" for piece in stored.problems}
    return Collected(
        tuple(
            Made(piece.entry, _verdict(recipe, piece, published), recipe.place in places)
            for recipe in recipes
            for piece in now.get(recipe.place, ())
        ),
        tuple(failures),
        tuple(sorted(p for p in out.rglob("*") if p.suffix.lower() in ENDINGS and p not in known)),
        _published_identity(recipes, published),
    )


def read_published(path: Path = PUBLISHED) -> Published:
    """Read the published recipes and hashes; empty if there is no file."""
    return manifest.read_published(path)


def publish(folder: str | Path, path: Path = PUBLISHED) -> str:
    """Publish the hashes of a folder with the whole collection; return their identity."""
    folder_manifest, recipes = read_manifest(Path(folder) / MANIFEST), {}
    pieces: list[Piece] = []
    for recipe in RECIPES:
        if folder_manifest.recipes.get(recipe.place) != recipe.as_json():
            raise ValueError(f"{folder} does not hold the problems of {recipe.place} as the recipe is now")
        pieces_of_recipe = folder_manifest.of(recipe.place)
        problems = {p.name: PublishedProblem(p.hash, p.features.contacts) for p in pieces_of_recipe}
        recipes[recipe.place], pieces = (
            PublishedRecipe(recipe.as_json(), problems),
            [*pieces, *pieces_of_recipe],
        )
    publication = Publication(VERSION, identity(pieces), recipes=recipes)
    replace_file(path, (json.dumps(publication.as_json(), indent=1, allow_nan=False) + "\n").encode())
    return publication.identity


def _make(out: Path, recipe: Recipe) -> tuple[Piece, ...]:
    """Simulate a recipe, and write its problems when all of them exist."""
    how = {"every": recipe.every, "start": recipe.start, "most": recipe.most}
    # With several threads the order of summation depends on the machine.
    with threadpool_limits(limits=1):
        problems = list(problems_of(recipe.scene, recipe.parameters, **how))
    if len(problems) < recipe.most:
        raise ValueError(f"it gave {len(problems)} of {recipe.most} problems")
    pieces = []
    for problem in problems:
        name, info = recipe.problem_name(problem.step), problem.record.info | {"family": recipe.family}
        path = out / f"{name}.hdf5"
        path.parent.mkdir(exist_ok=True)
        write(path, replace(problem.record, info=info))
        pieces.append(
            Piece(
                name, recipe.family, fingerprint(problem.record.problem), problem.features, info["recipe"],
                info["title"], recipe.place, _digest(path), _maker()[0],
            )
        )  # fmt: skip
    return tuple(pieces)


def _found(out: Path, recipe: Recipe, held: Manifest, published: Published) -> tuple[Piece, ...]:
    """Existing problems of a recipe in the folder, if all of them are valid; else none."""
    pieces, maker = held.of(recipe.place), _maker()[0]
    good = held.recipes.get(recipe.place) == recipe.as_json() and len(pieces) == recipe.most
    ours = (piece.maker == maker or _verdict(recipe, piece, published) == SAME for piece in pieces)
    return pieces if good and all(ours) and _are_there(out, pieces) else ()


def _are_there(out: Path, pieces: Iterable[Piece]) -> bool:
    """Whether the files of problems exist and are unchanged."""
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
    """Manifest of a folder; an empty one if it cannot be read or has another version."""
    try:
        stored = read_manifest(out / MANIFEST)
    except (FileNotFoundError, FormatError):
        stored = None
    return stored if stored and stored.version == VERSION else Manifest(VERSION, {}, (), {})


def _maker() -> tuple[str, dict[str, Any]]:
    """Short hash and data of code and machine, on which the numbers of a problem may depend."""
    data = here().as_json()
    del data["cores"], data["memory"]
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:12], data


def _whole(out: Path, held: Manifest, failed: Collection[str], now: Collection[str]) -> Manifest:
    """The manifest in the order of the collection, without problems whose files are missing."""
    order = {recipe.place: k for k, recipe in enumerate(RECIPES)}
    places = [
        place
        for place in sorted(held.recipes, key=lambda place: (order.get(place, len(order)), place))
        if place in now or (place not in failed and _are_there(out, held.of(place)))
    ]
    pieces = tuple(piece for place in places for piece in held.of(place))
    return replace(held, recipes={place: held.recipes[place] for place in places}, problems=pieces)


def _digest(path: Path) -> str:
    """SHA-256 of the bytes of a file; empty if it does not exist."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
