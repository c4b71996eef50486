"""`stickslip cache`: show or clear the store of compiled kernels."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter

from stickslip.cli.parameters import Json
from stickslip.cli.tables import pairs, print_json


def cache(
    action: Annotated[Literal["show", "clear"], Parameter(name="ACTION")] = "show", /, *, json: Json = False
) -> int:
    """Show the store of compiled kernels, or clear it.

    Kernels are compiled at first use and stored under a key of their source, for all
    installations of the same version. After the store is cleared, they are compiled again.

    For example:
      stickslip cache
      stickslip cache clear

    Parameters
    ----------
    action
        `show` prints the folder, the number of files and their size; `clear` removes the files.
    """
    from stickslip.compilation.packs import shipped
    from stickslip.compilation.store import MOST_BYTES, user_store

    store = user_store()
    if action == "clear":
        count, size = store.clear()
    else:
        files = store.files()
        count, size = len(files), sum(each for _, each, _ in files)
    facts = {
        "folder": str(store.folder),
        "removed" if action == "clear" else "files": count,
        "bytes": size,
        "most bytes": MOST_BYTES,
        "shipped with the package": {pack.level: len(pack) for pack in shipped()},
    }
    if json:
        print_json(facts)
        return 0
    packs = ", ".join(f"{number} for {level}" for level, number in facts["shipped with the package"].items())  # type: ignore[attr-defined]
    pairs(
        "compiled kernels",
        [
            ("folder", str(store.folder)),
            ("removed" if action == "clear" else "files", f"{count:,} ({size / 2**20:.1f} MiB)"),
            ("at most", f"{MOST_BYTES / 2**20:,.0f} MiB"),
            ("shipped", packs or "none: kernels of this installation are compiled when they are first used"),
        ],
    )
    return 0
