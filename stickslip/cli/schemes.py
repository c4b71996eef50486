"""`stickslip schemes`: which time schemes there are, and how they are set."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from stickslip.cli.errors import InputError
from stickslip.cli.parameters import Json
from stickslip.cli.solvers import option_facts, show_options
from stickslip.cli.tables import pairs, print_json, table
from stickslip.names import alternatives


def schemes(name: Annotated[str | None, Parameter(name="NAME")] = None, /, *, json: Json = False) -> int:
    """List the time schemes, or show one of them with all its options.

    The options are set by `stickslip run SCENE --set name=value`, or in Python.

    For example:
      stickslip schemes
      stickslip schemes moreau-jean
      stickslip schemes --json

    Parameters
    ----------
    name
        Show this scheme and its options; without it, one line per scheme.
    json
        Print JSON and nothing else: an object with NAME, otherwise a list.
    """
    from stickslip.schemes import registry

    known = registry.names()
    if name is not None and name not in known:
        raise InputError(f"no scheme {name!r}; {alternatives(name, known)}")
    if json:
        print_json(describe(name) if name else [describe(each) for each in known])
    elif name:
        entry = registry.entry(name)
        pairs(name, [("summary", entry.summary), ("carries", _carried(entry.order))])
        show_options(entry.options)
    else:
        entries = [registry.entry(each) for each in known]
        table(
            ("scheme", "carries", "summary"),
            [(each.name, _carried(each.order), each.summary) for each in entries],
            folds=("summary",),
        )
    return 0


def describe(name: str) -> dict[str, Any]:
    """One scheme as data: name, summary, order of its systems, options."""
    from stickslip.schemes import registry

    entry = registry.entry(name)
    return {
        "name": name,
        "summary": entry.summary,
        "order": entry.order,
        "options": [option_facts(spec) for spec in entry.options],
    }


def _carried(order: str) -> str:
    return "worlds of bodies" if order == "bodies" else f"{order}-order systems"
