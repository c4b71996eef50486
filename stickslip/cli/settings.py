"""Convert `--set name=value`, `--name value` and `--option name=value` to values and solvers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from stickslip.cli.errors import InputError, refused
from stickslip.names import alternatives, suggestion
from stickslip.options import parsed

MOST = 100_000
"""Largest number of values of a varied parameter."""


def names_in(text: str | None) -> list[str]:
    """Split names separated by commas."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def read_settings(given: Sequence[str]) -> dict[str, str]:
    """Parse texts of the form name=value into texts of values by name."""
    settings: dict[str, str] = {}
    for text in given:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not key:
            raise InputError(f"--set {text!r} is not of the form name=value")
        settings = with_options(settings, {key: value}, "--set ")
    return settings


def with_options(settings: dict[str, str], options: Mapping[str, str], before: str = "") -> dict[str, str]:
    """Merge settings with those given as separate options, `--name value`; a name given twice is an error."""
    merged = dict(settings)
    for name, text in options.items():
        key = name.strip().replace("-", "_")
        if key in merged:
            raise InputError(f"{before}{key} is given twice")
        merged[key] = text.strip()
    return merged


def check_known(owner: str, given: Iterable[str], known: Sequence[str], options: Iterable[str]) -> None:
    """Raise an error for a setting that is not `known`; it suggests similar settings or command options."""
    for key in given:
        if key not in known:
            available = alternatives(key, known, "available:")
            if "did you mean" not in available:
                available += "".join(f"; {close}" for close in [suggestion(key, options)] if close)
            raise InputError(f"--{key.replace('_', '-')}: {owner}; {available}")


def chosen(known: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, Any]:
    """Convert the given texts of `known` parameters to values of the types of their defaults."""
    return {key: parsed(key, given[key], default) for key, default in known.items() if key in given}


def grid_values(text: str) -> list[float]:
    """Parse `first:last:count`, evenly spaced, or `a,b,c`; raise a ValueError for other texts."""
    try:
        if ":" not in text:
            values = [float(part) for part in text.split(",")]
        else:
            low, high, many = text.split(":")
            first, last, count = float(low), float(high), int(many)
    except ValueError:
        raise ValueError(f"{text!r} is neither first:last:count nor numbers separated by commas") from None
    if ":" in text:
        if not 1 <= count <= MOST:
            raise ValueError(f"{count} values; the number must lie in [1, {MOST}]")
        step = (last - first) / max(count - 1, 1)
        values = [*(first + step * k for k in range(count - 1)), last if count > 1 else first]
    if not all(map(math.isfinite, values)):
        raise ValueError("values must be finite")
    return values


def read_grid(text: str | None) -> list[float] | None:
    """Parse the times at which steps end [s] from a text with commas or from a text file."""
    if text is None:
        return None
    content = text
    if not text.strip("0123456789.,+-eE "):
        content = text.replace(",", " ")
    elif Path(text).is_file():
        with refused(OSError, UnicodeDecodeError, before=f"--grid {text}: "):
            content = Path(text).read_text().replace(",", " ")
    try:
        return [float(word) for word in content.split()]
    except ValueError:
        raise InputError(
            f"--grid {text} is neither a list of times separated by commas nor a text file of times"
        ) from None


def read_adaptive(text: str | None) -> Any:
    """Parse a text `name=value,name=value` into options of adaptive steps."""
    from stickslip.schemes.adaptive import Adaptive

    if text is None:
        return None
    known = {spec.name: spec.default for spec in fields(Adaptive)}
    texts: dict[str, str] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        key, equals, value = (word.strip() for word in part.partition("="))
        if not equals:
            raise InputError(f"--adaptive {text}: {part!r} is not of the form name=value, as tolerance=1e-6")
        if key not in known:
            raise InputError(f"--adaptive has no option {key!r}; {alternatives(key, known, 'it has:')}")
        texts = with_options(texts, {key: value}, "--adaptive: ")
    with refused(ValueError, before="--adaptive: "):
        return Adaptive(**chosen(known, texts))


def make_own(place: str, tolerance: float | None, given: Sequence[str] | None) -> Any:
    """Load the user's own solver at `place`, with options given as `k=v` texts."""
    from stickslip.bench.own_solver import OwnSolver

    with refused(ValueError):
        return OwnSolver.of(place, list(given or ()), tolerance)


def make_solver(name: str, tolerance: float | None, given: Sequence[str]) -> Any:
    """Make the solver `name` with options given as `k=v` texts; an `InputError` lists the known options."""
    return _by_texts(name, given, **({} if tolerance is None else {"tolerance": tolerance}))[1]


def solver_options(name: str, given: Sequence[str] | None) -> dict[str, Any]:
    """Parse and check options of the solver `name`, `k=v` texts; an `InputError` lists the known options."""
    return _by_texts(name, given)[0] if given else {}


def _by_texts(name: str, given: Sequence[str], **options: Any) -> tuple[dict[str, Any], Any]:
    """Return the options parsed from `k=v` texts, and the solver made with them."""
    from stickslip.bench.campaigns.contestants import solver_by_texts
    from stickslip.solvers import registry

    with refused(KeyError):
        known = [spec.name for spec in registry.entry(name).options]
    with refused(ValueError):
        return solver_by_texts(name, given, known, **options)
