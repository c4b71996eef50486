"""`stickslip bench collect`: build the standard collection of problems from its recipes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from stickslip.cli.errors import ExitCode, InputError, complain, printable, refused, usable
from stickslip.cli.parameters import Flag
from stickslip.cli.places import make_folder
from stickslip.cli.progress import watch_parts
from stickslip.cli.settings import names_in
from stickslip.cli.tables import table

if TYPE_CHECKING:
    from stickslip.bench.results import Entry

MANY = 5
"""Largest number of names in one line of output; the others are counted."""


def collect(
    *,
    out: Path = Path("standard"),
    families: str | None = None,
    small: Flag = False,
    again: Flag = False,
    list_: Annotated[bool, Parameter(name="--list", show_default=False)] = False,
) -> int:
    """Build the standard collection of about a hundred contact problems.

    Each recipe simulates a scene and writes the problems of selected steps to
    DIR/FAMILY/NAME.hdf5 in FCLIB's layout. DIR/collection.json contains the recipe,
    the hash and the features of each problem. On one machine the files are reproduced
    bit for bit. Problems whose hashes differ from the published ones, because another
    machine or version rounds differently, are listed. Existing problems are kept.

    Exit status 1: a recipe failed.

    For example:
      stickslip bench collect --small --out small
      stickslip bench collect --out standard
      stickslip bench collect --families stack,kapla --out standard
      stickslip bench collect --list

    Parameters
    ----------
    out
        Folder for the problems; created if it does not exist.
    families
        Families to build, separated by commas; all by default.
    small
        Build only about twenty small problems, which takes seconds.
    again
        Rebuild existing problems.
    list_
        List the recipes without building problems.
    """
    from stickslip.bench.collections import standard

    with refused(ValueError, before="--families: "):
        recipes = standard.select(None if families is None else names_in(families), small)
    if not recipes:
        raise InputError("--families with --small: no small problems in these families")
    if list_:
        rows = []
        for recipe in recipes:
            arguments = ", ".join(f"{key}={value}" for key, value in recipe.parameters.items())
            steps = f"from {recipe.start:g} s, every {recipe.every}" if recipe.has_steps else ""
            rows.append((recipe.place, recipe.size, str(recipe.most), f"{recipe.scene}({arguments})", steps))
        columns = ("recipe", "size", "problems", "scene", "steps")
        table(columns, rows, numbers=("problems",), folds=("scene",))
        print(f"\n{sum(recipe.most for recipe in recipes)} problems by {len(recipes)} recipes")
        return ExitCode.FINE
    if out == Path():
        raise InputError("--out is empty or the current folder; give the name of a folder for the problems")
    make_folder(out)
    with usable(out), watch_parts("collect") as progress:
        collection = standard.collect(out, recipes, again=again, progress=progress)
    if collection.made:
        by_family: dict[str, list[Entry]] = {}
        for one in collection.made:
            by_family.setdefault(one.entry.family, []).append(one.entry)
        headings = ("family", "problems", "contacts", "rolling", "mass ratio", "rank missing", "conditioning")
        table(headings, [_row(*item) for item in by_family.items()], numbers=headings[1:])
        print()
    number_kept = sum(one.kept for one in collection.made)
    note = f", {number_kept} of them existed already" if number_kept else ""
    print(f"{len(collection.made)} problems in {printable(str(out))}{note}")
    for verdict, phrase in (
        (
            standard.DIFFERS,
            "differ from the published ones (another machine or version rounds differently)",
        ),
        (standard.NEW, "were never published"),
    ):
        if names := [one.entry.name for one in collection.made if one.verdict == verdict]:
            print(f"{len(names)} of them {phrase}: {_some(names)}")
    same = collection.identity == collection.published
    suffix = ", the published one" if same else f"; published: {collection.published or 'none'}"
    print(f"identity {collection.identity}{suffix}")
    if collection.strangers:
        names = [str(path) for path in collection.strangers]
        complain(f"in the folder, but not part of this collection: {_some(names)}")
    for failure in collection.failures:
        complain(f"{failure.recipe.place}: {failure.reason}")
    return ExitCode.MISSED if collection.failures else ExitCode.FINE


def _some(names: Sequence[str]) -> str:
    """Return the first `MANY` names, and the number of the others."""
    rest = f" and {len(names) - MANY} more" if len(names) > MANY else ""
    return ", ".join(map(printable, names[:MANY])) + rest


def _row(family: str, entries: Sequence[Entry]) -> tuple[str, ...]:
    """One row of the table of families: ranges of the features of its problems."""
    features = [entry.features for entry in entries]
    contacts = [item.contacts for item in features]
    ratios = [item.mass_ratio for item in features if item.mass_ratio is not None]
    missing = [
        (item.size - item.rank) / item.size for item in features if item.rank is not None and item.size
    ]
    numbers = [item.conditioning for item in features if item.conditioning is not None]
    return (
        family,
        str(len(entries)),
        f"{min(contacts)}–{max(contacts)}",
        str(sum(item.rolling for item in features)),
        f"≤ {max(ratios):.3g}" if ratios else "",
        f"{100 * min(missing):.0f}–{100 * max(missing):.0f} %" if missing else "",
        f"{min(numbers):.1e}–{max(numbers):.1e}" if numbers else "",
    )
