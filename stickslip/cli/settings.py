"""From `--set name=value`, `--name value` and `--option name=value` to values and to a solver."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stickslip.cli.errors import InputError, refused
from stickslip.names import alternatives, suggestion
from stickslip.options import parsed


def names_in(text: str | None) -> list[str]:
    """Names with commas between them."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def read_settings(given: Sequence[str]) -> dict[str, str]:
    """Texts of the form name=value, by name."""
    found: dict[str, str] = {}
    for text in given:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not key:
            raise InputError(f"--set {text!r} is not of the form name=value")
        found = with_options(found, {key: value}, "--set ")
    return found


def with_options(settings: dict[str, str], options: Mapping[str, str], before: str = "") -> dict[str, str]:
    """The settings, and those given as options of their own: `--name value`."""
    both = dict(settings)
    for name, text in options.items():
        key = name.strip().replace("-", "_")
        if key in both:
            raise InputError(f"{before}{key} is given twice")
        both[key] = text.strip()
    return both


def check_known(owner: str, given: Iterable[str], known: Sequence[str], options: Iterable[str]) -> None:
    """Refuse a setting that is none of the `known`; one that looks like an option of the command is named."""
    for key in given:
        if key not in known:
            there = alternatives(key, known, "there are:")
            if "did you mean" not in there:
                there += "".join(f"; {close}" for close in [suggestion(key, options)] if close)
            raise InputError(f"--{key.replace('_', '-')}: {owner}; {there}")


def chosen(known: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, Any]:
    """Those of the `known` names and defaults that are given, as values."""
    return {key: parsed(key, given[key], default) for key, default in known.items() if key in given}


def make_solver(name: str, tolerance: float | None, given: Sequence[str]) -> Any:
    """The solver `name` with the options given as `k=v` texts; `InputError` lists what is known."""
    from stickslip.bench.campaigns.contestants import solver_by_texts
    from stickslip.solvers import registry

    if name not in registry.names():
        raise InputError(f"no solver {name!r}; {alternatives(name, registry.names())}")
    known = [spec.name for spec in registry.entry(name).options]
    with refused(ValueError):
        return solver_by_texts(name, given, known, **({} if tolerance is None else {"tolerance": tolerance}))[
            1
        ]
