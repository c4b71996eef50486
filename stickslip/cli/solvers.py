"""`stickslip solvers`: which solvers there are, what they take, and how they are set."""

from __future__ import annotations

from dataclasses import Field
from typing import Annotated, Any

from cyclopts import Parameter

from stickslip import DEFAULT_SOLVER
from stickslip.cli.errors import InputError
from stickslip.cli.parameters import Json
from stickslip.cli.tables import pairs, print_json, table
from stickslip.names import alternatives


def solvers(name: Annotated[str | None, Parameter(name="NAME")] = None, /, *, json: Json = False) -> int:
    """List the solvers, or show one of them with all its options.

    With --json the options are always there; a bound that is null is infinite.

    For example:
      stickslip solvers
      stickslip solvers auto
      stickslip solvers newton-ac
      stickslip solvers --json

    Parameters
    ----------
    name
        Show this solver and its options; without it, one line per solver.
    json
        Print JSON and nothing else: an object with NAME, otherwise a list.
    """
    from stickslip.solvers import registry

    known = registry.names()
    if name is not None and name not in known:
        raise InputError(f"no solver {name!r}; {alternatives(name, known)}")
    if json:
        print_json(describe(name) if name else [describe(each) for each in known])
    elif name:
        _show_one(name)
    else:
        rows = [
            (each, _accepted(each), registry.entry(each).availability, registry.entry(each).summary)
            for each in known
        ]
        table(("solver", "accepts", "here", "summary"), rows, folds=("accepts", "here", "summary"))
        print(f"\n{DEFAULT_SOLVER} is used where none is named; `stickslip solvers NAME` shows its options")
    return 0


def describe(name: str) -> dict[str, Any]:
    """One solver as data: name, summary, accepted kinds of block, whether it runs here, options."""
    from stickslip.solvers import registry

    entry = registry.entry(name)
    return {
        "name": name,
        "summary": entry.summary,
        "accepts": sorted(entry.accepts),
        "exact": entry.exact,
        "here": entry.availability,
        "options": [option_facts(spec) for spec in entry.options],
    }


def option_facts(spec: Field[Any]) -> dict[str, Any]:
    """One option as data."""
    meta, kind = spec.metadata, type(spec.default)
    bounded = kind in (int, float) and not meta["choices"]
    return {
        "name": spec.name,
        "type": kind.__name__,
        "unit": meta["unit"],
        "default": spec.default,
        "low": meta["low"] if bounded else None,
        "high": meta["high"] if bounded else None,
        "open_low": meta["open_low"] if bounded else None,
        "open_high": meta["open_high"] if bounded else None,
        "choices": list(meta["choices"]) or None,
        "doc": meta["doc"],
    }


def _show_one(name: str) -> None:
    from stickslip.solvers import registry

    entry = registry.entry(name)
    law = "Coulomb's law" if entry.exact else entry.instead
    facts = [("summary", entry.summary), ("accepts", _accepted(name)), ("solves", law)]
    pairs(name, [*facts, ("here", entry.availability if entry.package else "")])
    show_options(entry.options)


def show_options(options: tuple[Field[Any], ...]) -> None:
    """A table of options with default, unit, range and meaning."""
    from stickslip.options import allowed

    rows = [
        (spec.name, _default(spec.default), spec.metadata["unit"], allowed(spec), spec.metadata["doc"])
        for spec in options
    ]
    print()
    table(("option", "default", "unit", "range", "what it does"), rows, folds=("what it does",))


def _default(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _accepted(name: str) -> str:
    """The kinds of block in the order of the house, `everything` when none is missing, else what it takes."""
    from stickslip.problem.sets import KINDS
    from stickslip.solvers import registry

    accepts = registry.entry(name).accepts
    if not accepts:
        return "StepProblem"
    return "everything" if accepts.issuperset(KINDS) else ", ".join(k for k in KINDS if k in accepts)
