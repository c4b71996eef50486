"""`stickslip schemes`: list the time schemes and their options."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from stickslip.cli.parameters import Json
from stickslip.cli.solvers import look_up
from stickslip.cli.tables import table


def schemes(name: Annotated[str | None, Parameter(name="NAME")] = None, /, *, json: Json = False) -> int:
    """List the time schemes, or describe one scheme with all its options.

    Set options by `stickslip run SCENE --set name=value`, or in Python.

    For example:
      stickslip schemes
      stickslip schemes moreau-jean
      stickslip schemes --json

    Parameters
    ----------
    name
        Scheme to describe; without it, the schemes are listed.
    """
    from stickslip.schemes import registry

    entries = look_up(
        registry, name, json, lambda entry: {"class": entry.cls, "order": entry.order},
        lambda entry: [("class", f"stickslip.schemes.{entry.cls}"), ("carries", _carried(entry.order))],
    )  # fmt: skip
    if entries:
        rows = [(each.name, each.cls, _carried(each.order), each.summary) for each in entries]
        table(("scheme", "class", "carries", "summary"), rows, folds=("summary",))
    return 0


def _carried(order: str) -> str:
    """Models that a scheme of this order integrates."""
    carried = {"bodies": "worlds", "robots": "robots", "second": "second-order systems, worlds"}
    return carried.get(order, f"{order}-order systems")
