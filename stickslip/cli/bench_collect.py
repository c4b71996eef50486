"""`stickslip bench collect`: the standard collection of problems, made anew from recipes."""

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
"""Problems that are named one by one; more are counted."""


def collect(
    *,
    out: Path = Path("standard"),
    families: str | None = None,
    small: Flag = False,
    again: Flag = False,
    list_: Annotated[bool, Parameter(name="--list", show_default=False)] = False,
) -> int:
    """Make the standard collection of about a hundred contact problems.

    Scenes are simulated with given parameters, and the problems of given steps are
    written as DIR/FAMILY/NAME.hdf5 in FCLIB's layout. DIR/collection.json has the
    recipe, the hash and the features of each problem. On one machine the files are
    reproduced bit for bit. Problems whose hashes differ from the published ones, because
    another machine or version rounds differently, are listed. Existing problems are
    kept.

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
        Families to make, separated by commas; all by default.
    small
        Make only about twenty small problems, in seconds.
    again
        Make existing problems again.
    list_
        List the recipes without making problems.
    """
    from stickslip.bench.collections import standard

    with refused(ValueError, before="--families: "):
        recipes = standard.select(None if families is None else names_in(families), small)
    if not recipes:
        raise InputError("--families with --small: no small problems in these families")
    if list_:
        rows = []
        for recipe in recipes:
            given = ", ".join(f"{key}={value}" for key, value in recipe.parameters.items())
            steps = f"from {recipe.start:g} s, every {recipe.every}" if recipe.has_steps else ""
            rows.append((recipe.place, recipe.size, str(recipe.most), f"{recipe.scene}({given})", steps))
        columns = ("recipe", "size", "problems", "scene", "steps")
        table(columns, rows, numbers=("problems",), folds=("scene",))
        print(f"\n{sum(recipe.most for recipe in recipes)} problems by {len(recipes)} recipes")
        return ExitCode.FINE
    if out == Path():
        raise InputError("--out is empty or the current folder; give the name of a folder for the problems")
    make_folder(out)
    with usable(out), watch_parts("collect") as progress:
        found = standard.collect(out, recipes, again=again, progress=progress)
    if found.made:
        by_family: dict[str, list[Entry]] = {}
        for one in found.made:
            by_family.setdefault(one.entry.family, []).append(one.entry)
        headings = ("family", "problems", "contacts", "rolling", "mass ratio", "rank missing", "conditioning")
        table(headings, [_row(*item) for item in by_family.items()], numbers=headings[1:])
        print()
    kept = sum(one.kept for one in found.made)
    there = f", {kept} of them existed already" if kept else ""
    print(f"{len(found.made)} problems in {printable(str(out))}{there}")
    for verdict, said in (
        (
            standard.DIFFERS,
            "differ from the published ones (another machine or version rounds differently)",
        ),
        (standard.NEW, "were never published"),
    ):
        if names := [one.entry.name for one in found.made if one.verdict == verdict]:
            print(f"{len(names)} of them {said}: {_some(names)}")
    same = found.identity == found.published
    told = ", the published one" if same else f"; published: {found.published or 'none'}"
    print(f"identity {found.identity}{told}")
    if found.strangers:
        names = [str(path) for path in found.strangers]
        complain(f"in the folder, but not part of this collection: {_some(names)}")
    for failure in found.failures:
        complain(f"{failure.recipe.place}: {failure.reason}")
    return ExitCode.MISSED if found.failures else ExitCode.FINE


def _some(names: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    more = f" and {len(names) - MANY} more" if len(names) > MANY else ""
    return ", ".join(map(printable, names[:MANY])) + more


def _row(family: str, entries: Sequence[Entry]) -> tuple[str, ...]:
    features = [entry.features for entry in entries]
    contacts = [one.contacts for one in features]
    ratios = [one.mass_ratio for one in features if one.mass_ratio is not None]
    missing = [(one.size - one.rank) / one.size for one in features if one.rank is not None and one.size]
    numbers = [one.conditioning for one in features if one.conditioning is not None]
    return (
        family,
        str(len(entries)),
        f"{min(contacts)}–{max(contacts)}",
        str(sum(one.rolling for one in features)),
        f"≤ {max(ratios):.3g}" if ratios else "",
        f"{100 * min(missing):.0f}–{100 * max(missing):.0f} %" if missing else "",
        f"{min(numbers):.1e}–{max(numbers):.1e}" if numbers else "",
    )
