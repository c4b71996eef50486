"""From `--solver`, `--tolerance` and `--option k=v` to a solver with checked options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import Field
from typing import Any

from stickslip.cli.errors import InputError
from stickslip.names import alternatives
from stickslip.options import TRUTH


def make_solver(name: str, tolerance: float | None, given: Sequence[str]) -> Any:
    """The solver `name` with the options given as `k=v` texts; `InputError` lists what is known."""
    from stickslip.solvers import registry

    if name not in registry.names():
        raise InputError(f"no solver {name!r}; {alternatives(name, registry.names())}")
    known = {spec.name: spec for spec in registry.entry(name).options}
    options: dict[str, Any] = {} if tolerance is None else {"tolerance": tolerance}
    for text in given:
        key, equals, value = text.partition("=")
        key = key.strip().replace("-", "_")
        if not equals:
            raise InputError(
                f"--option {text!r} is not of the form name=value; {name} has: {', '.join(known)}"
            )
        if key not in known:
            raise InputError(f"{name} has no option {key!r}; {alternatives(key, known, 'it has:')}")
        if key in options:
            raise InputError(f"option {key} is given twice")
        options[key] = parse(known[key], value.strip())
    try:
        return registry.make(name, **options)
    except ValueError as error:  # outside its range; the sentence begins with the name of the class
        raise InputError(f"{name}: {str(error).partition(': ')[2] or error}") from None


def parse(spec: Field[Any], text: str) -> bool | int | float | str:
    """`text` as the type of the option's default; `InputError` says what would have been right."""
    from stickslip.options import allowed

    kind: Any = type(spec.default)
    try:
        if kind is bool:
            return TRUTH[text.lower()]
        if kind in (int, float):
            number: int | float = kind(text)
            return number
    except (KeyError, ValueError):
        article = "an" if kind is int else "a"
        raise InputError(
            f"option {spec.name} takes {article} {kind.__name__} in {allowed(spec)}, got {text!r}"
        ) from None
    return text
