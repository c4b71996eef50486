"""`stickslip solvers`: list the solvers, the problems that they accept, and their options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import Field
from typing import Annotated, Any

from cyclopts import Parameter

from stickslip import DEFAULT_SOLVER
from stickslip.cli.errors import refused
from stickslip.cli.parameters import Json
from stickslip.cli.tables import pairs, print_json, table


def solvers(name: Annotated[str | None, Parameter(name="NAME")] = None, /, *, json: Json = False) -> int:
    """List the solvers, or describe one solver with all its options.

    With --json the options are always included; an infinite bound is null.

    For example:
      stickslip solvers
      stickslip solvers auto
      stickslip solvers newton-ac
      stickslip solvers --json

    Parameters
    ----------
    name
        Solver to describe; without it, the solvers are listed.
    """
    from stickslip.solvers import registry

    def facts(entry: Any) -> dict[str, Any]:
        return {
            "class": entry.cls, "accepts": sorted(entry.accepts), "exact": entry.exact,
            "here": entry.availability,
        }  # fmt: skip

    def rows(entry: Any) -> list[tuple[str, str]]:
        law = "Coulomb's law" if entry.exact else entry.instead
        here = entry.availability if entry.package else ""
        return [
            ("class", f"stickslip.solvers.{entry.cls}"),
            ("accepts", _accepted(entry)),
            ("solves", law),
            ("here", here),
        ]

    entries = look_up(registry, name, json, facts, rows)
    if entries:
        shown = [(each.name, each.cls, _accepted(each), each.availability, each.summary) for each in entries]
        table(("solver", "class", "accepts", "here", "summary"), shown, folds=("accepts", "here", "summary"))
        print(f"\n{DEFAULT_SOLVER} is the default; `stickslip solvers NAME` shows its options")
        print("siconos-nsgs, siconos-prox, ... are available where Siconos is installed")
    return 0


def look_up(
    registry: Any, name: str | None, json: bool, facts: Callable[[Any], dict[str, Any]],
    rows: Callable[[Any], list[tuple[str, str]]],
) -> list[Any]:  # fmt: skip
    """Print one entry of a registry as text, or one or all entries as JSON; otherwise return all entries.

    facts: function of the JSON data of an entry besides name, summary and options; rows: function of the
    lines printed for one entry. Returns an empty list if something was printed.
    """
    with refused(KeyError):
        entries = [registry.entry(item) for item in (registry.names() if name is None else [name])]
    if json:
        data = [
            {"name": item.name, "summary": item.summary, **facts(item),
             "options": [option_facts(spec) for spec in item.options]}
            for item in entries
        ]  # fmt: skip
        print_json(data[0] if name else data)
        return []
    if name:
        pairs(entries[0].name, [("summary", entries[0].summary), *rows(entries[0])])
        show_options(entries[0].options)
        return []
    return entries


def option_facts(spec: Field[Any]) -> dict[str, Any]:
    """JSON data of one option."""
    meta, kind = spec.metadata, type(spec.default)
    bounded = kind in (int, float) and not meta["choices"]
    return {
        "name": spec.name,
        "type": kind.__name__,
        "unit": meta["unit"],
        "default": spec.default,
        **{key: meta[key] if bounded else None for key in ("low", "high", "open_low", "open_high")},
        "choices": list(meta["choices"]) or None,
        "doc": meta["doc"],
    }


def show_options(options: tuple[Field[Any], ...]) -> None:
    """Print a table of options with default, unit, range and meaning."""
    from stickslip.options import allowed

    if not options:
        print("\nno options")
        return
    rows = [
        (spec.name, _default(spec.default), spec.metadata["unit"], allowed(spec), spec.metadata["doc"])
        for spec in options
    ]
    print()
    table(("option", "default", "unit", "range", "what it does"), rows, folds=("what it does",))


def _default(value: Any) -> str:
    """Format a default value."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _accepted(entry: Any) -> str:
    """Kinds of blocks that a solver accepts, in the order of `KINDS`; `everything` if it accepts all."""
    from stickslip.problem.sets import KINDS

    accepts = entry.accepts
    if not accepts:
        return "StepProblem"
    return "everything" if accepts.issuperset(KINDS) else ", ".join(k for k in KINDS if k in accepts)
