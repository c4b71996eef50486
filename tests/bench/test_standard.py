"""The standard collection: the same bytes every time, told apart from the published, mended where torn."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from stickslip.bench.collections import standard
from stickslip.bench.collections.collection import Collection
from stickslip.bench.collections.manifest import identity, read_manifest
from stickslip.bench.collections.standard import DIFFERS, MANIFEST, NEW, SAME, Collected, Published
from stickslip.bench.collections.standard_recipes import RECIPES, SIZES, Recipe
from stickslip.files import FormatError, read
from stickslip.problem.fingerprint import fingerprint

FAMILIES = {"stack", "capsules", "chute", "kapla", "soup", "spheres", "masonry", "chains"}
SMALL = standard.select(small=True)
TWO = tuple(recipe for recipe in SMALL if recipe.family in ("chute", "kapla"))
FALLS = Recipe("kapla", "falls", "small", "kapla", {"courses": 0})


def made_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.*")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("standard") / "small"


@pytest.fixture(scope="module")
def first(folder: Path) -> Collected:
    return standard.collect(folder, SMALL, published={})


def as_published(found: Collected, recipes: tuple[Recipe, ...]) -> Published:
    return {
        recipe.place: (
            recipe.as_json(),
            {
                one.entry.name: one.entry.hash
                for one in found.made
                if one.entry.name.rpartition("-")[0] == recipe.place or one.entry.name == recipe.place
            },
        )
        for recipe in recipes
    }


def test_the_collection_is_what_was_ordered() -> None:
    assert {recipe.family for recipe in RECIPES} == FAMILIES
    assert 90 <= sum(recipe.most for recipe in RECIPES) <= 120
    assert len({recipe.place for recipe in RECIPES}) == len(RECIPES)
    for family in FAMILIES:
        found = Counter[tuple[str, bool]]()
        for recipe in RECIPES:
            if recipe.family == family:
                found[recipe.size, recipe.parameters.get("mu_roll", 0.0) > 0.0] += recipe.most
        assert set(found) == {(size, rolls) for size in SIZES for rolls in (False, True)}, family


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.place)
def test_scenes_and_parameters_of_recipes_are_there(recipe: Recipe) -> None:
    recipe.check()


def test_a_recipe_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="recipe kapla/falls: unknown scene 'tower'"):
        replace(FALLS, scene="tower").check()
    with pytest.raises(ValueError, match="recipe kapla/falls: scene kapla has no parameter 'floors'"):
        replace(FALLS, parameters={"floors": 3}).check()
    with pytest.raises(ValueError, match="recipe kapla/falls: scene wall-problem has no parameter 'courses'"):
        replace(FALLS, scene="wall-problem").check()


def test_families_are_chosen_by_name() -> None:
    chosen = standard.select(["kapla", "stack"])
    assert {recipe.family for recipe in chosen} == {"kapla", "stack"}
    assert {recipe.family for recipe in SMALL} == FAMILIES
    with pytest.raises(ValueError, match="unknown family 'tower'; known: stack, "):
        standard.select(["tower"])
    with pytest.raises(ValueError, match="no family is named"):
        standard.select([])


def test_twice_the_same_bytes(folder: Path, first: Collected, tmp_path: Path) -> None:
    assert not first.failures
    again = standard.collect(tmp_path / "again", SMALL, published={})
    assert again.identity == first.identity
    assert made_of(tmp_path / "again") == made_of(folder)


def test_the_manifest_is_what_the_folder_holds(folder: Path, first: Collected) -> None:
    manifest = read_manifest(folder / MANIFEST)
    files = {path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.hdf5")}
    assert files == {piece.entry.name for piece in manifest.problems}
    assert [piece.entry for piece in manifest.problems] == [one.entry for one in first.made]
    for piece in manifest.problems:
        assert fingerprint(read(folder / f"{piece.entry.name}.hdf5")) == piece.entry.hash
    assert manifest.text() == (folder / MANIFEST).read_text()
    assert list(manifest.recipes.values()) == [recipe.as_json() for recipe in SMALL]
    assert len({piece.entry.hash for piece in manifest.problems}) == len(manifest.problems)


def test_a_campaign_reads_it_under_the_same_names(folder: Path, first: Collected) -> None:
    read_back = Collection.of([folder])
    assert not read_back.skipped
    assert {e.name: e for e in read_back.entries} == {one.entry.name: one.entry for one in first.made}


def test_what_differs_from_the_published_is_told(folder: Path, first: Collected) -> None:
    published = as_published(first, SMALL)
    same = standard.collect(folder, SMALL, published=published)
    assert {one.verdict for one in same.made} == {SAME}
    assert all(one.kept for one in same.made)
    assert same.identity == same.published
    assert {one.verdict for one in first.made} == {NEW}
    assert first.published == ""
    other = first.made[0].entry.name
    place = SMALL[0].place
    published[place] = published[place][0], published[place][1] | {other: "0" * 64}
    told = standard.collect(folder, SMALL, published=published)
    assert [one.entry.name for one in told.made if one.verdict == DIFFERS] == [other]
    assert told.identity != told.published != ""
    published[place] = published[place][0] | {"every": 1000}, published[place][1]
    assert standard.collect(folder, SMALL, published=published).made[0].verdict == NEW


def test_torn_and_missing_files_are_made_again(first: Collected, tmp_path: Path) -> None:
    standard.collect(tmp_path, TWO, published={})
    whole = made_of(tmp_path)
    torn, *rest = sorted(name for name in whole if name.startswith("chute"))
    (tmp_path / torn).write_bytes(whole[torn][:-100])
    (tmp_path / rest[-1]).unlink()
    found = standard.collect(tmp_path, TWO, published={})
    assert {one.entry.family for one in found.made if one.kept} == {"kapla"}
    assert made_of(tmp_path) == whole
    assert all(not one.kept for one in standard.collect(tmp_path, TWO, again=True, published={}).made)


@pytest.mark.parametrize("text", ["", "[]", '{"version": 1}', '{"recipes": {}, "version": true}'])
def test_a_torn_manifest_is_made_again(first: Collected, tmp_path: Path, text: str) -> None:
    recipes = TWO[-1:]
    standard.collect(tmp_path, recipes, published={})
    whole = made_of(tmp_path)
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(FormatError, match=MANIFEST):
        read_manifest(tmp_path / MANIFEST)
    standard.collect(tmp_path, recipes, published={})
    assert made_of(tmp_path) == whole


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("name", "../out/there"),
        ("name", 3),
        ("hash", "abc"),
        ("file", None),
        ("maker", "nobody"),
        ("place", "kapla/unknown"),
        ("title", ["a list"]),
        ("features", {"kind": "global"}),
        ("contacts", "many"),
        ("rolling", 1),
    ],
)
def test_a_manifest_that_says_something_else_is_refused(
    folder: Path, first: Collected, tmp_path: Path, key: str, value: object
) -> None:
    said = json.loads((folder / MANIFEST).read_text())
    problem = said["problems"][0]
    (problem["features"] if key in problem["features"] else problem)[key] = value
    (tmp_path / MANIFEST).write_text(json.dumps(said))
    with pytest.raises(FormatError, match=f"{MANIFEST}: problems"):
        read_manifest(tmp_path / MANIFEST)


def test_a_recipe_that_fails_does_not_stop_the_others(first: Collected, tmp_path: Path) -> None:
    late = replace(TWO[-1], name="late", start=1e3)
    found = standard.collect(tmp_path, (FALLS, late, TWO[-1]), published={})
    assert [failure.recipe for failure in found.failures] == [FALLS, late]
    assert "courses is 0" in found.failures[0].reason
    assert "it gave 0 of" in found.failures[1].reason
    assert [one.entry.family for one in found.made] == [TWO[-1].family] * TWO[-1].most
    assert len(read_manifest(tmp_path / MANIFEST).problems) == TWO[-1].most


def test_other_families_of_a_folder_stay(first: Collected, tmp_path: Path) -> None:
    standard.collect(tmp_path, TWO[:1], published={})
    (tmp_path / "chute" / "mine.hdf5").write_bytes(b"")
    found = standard.collect(tmp_path, TWO[1:], published={})
    manifest = read_manifest(tmp_path / MANIFEST)
    assert {piece.entry.family for piece in manifest.problems} == {"chute", "kapla"}
    assert {one.entry.family for one in found.made} == {"kapla"}
    assert found.strangers == (tmp_path / "chute" / "mine.hdf5",)


def test_identity_is_of_names_and_hashes(first: Collected) -> None:
    entries = [one.entry for one in first.made]
    assert identity(entries) == identity(reversed(entries))
    assert identity(entries) != identity(entries[1:])
    assert identity(entries) != identity([replace(entries[0], hash="0" * 64), *entries[1:]])


def test_what_is_published_is_of_these_recipes() -> None:
    published = standard.read_published()
    assert {place: recipe for place, (recipe, _) in published.items()} == {
        recipe.place: recipe.as_json() for recipe in RECIPES
    }
    for recipe in RECIPES:
        names = list(published[recipe.place][1])
        assert len(names) == recipe.most
        assert all(name.startswith(recipe.place) for name in names)
    hashes = [one for _, problems in published.values() for one in problems.values()]
    assert len(set(hashes)) == len(hashes)
    said = json.loads(standard.PUBLISHED.read_text())
    assert said["identity"] == standard._published_identity(RECIPES, published)


def test_publishing_takes_the_hashes_of_a_whole_folder(
    folder: Path, first: Collected, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "standard.json"
    with pytest.raises(ValueError, match="does not hold the problems of stack/"):
        standard.publish(folder, place)
    monkeypatch.setattr(standard, "RECIPES", SMALL)
    assert standard.publish(str(folder), place) == first.identity
    published = standard.read_published(place)
    assert published == as_published(first, SMALL)
    assert {one.verdict for one in standard.collect(folder, SMALL, published=published).made} == {SAME}


@pytest.mark.parametrize(
    "text", ["{}", '{"recipes": []}', '{"recipes": {"a/b": 1}}',
             '{"recipes": {"a/b": {"recipe": {}, "problems": {"../c": {"hash": "0"}}}}}'],
)  # fmt: skip
def test_published_hashes_that_are_none_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "standard.json").write_text(text)
    with pytest.raises(FormatError, match=r"standard\.json: recipes"):
        standard.read_published(tmp_path / "standard.json")
    assert standard.read_published(tmp_path / "nothing.json") == {}
