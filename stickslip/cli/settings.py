"""From `--set name=value` and `--name value` to values, each of the type that its default has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stickslip.cli.errors import InputError
from stickslip.names import alternatives, suggestion
from stickslip.options import TRUTH


def read_settings(given: Sequence[str]) -> dict[str, str]:
    """Texts of the form name=value, by name."""
    found: dict[str, str] = {}
    for text in given:
        key, equals, value = text.partition("=")
        key = key.strip().replace("-", "_")
        if not equals or not key:
            raise InputError(f"--set {text!r} is not of the form name=value")
        if key in found:
            raise InputError(f"--set {key} is given twice")
        found[key] = value.strip()
    return found


def with_options(settings: dict[str, str], options: Mapping[str, str]) -> dict[str, str]:
    """The settings, and those given as options of their own: `--name value`."""
    both = dict(settings)
    for name, text in options.items():
        key = name.strip().replace("-", "_")
        if key in both:
            raise InputError(f"{key} is given twice")
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


def parsed(name: str, text: str, default: Any) -> Any:
    """`text` as a value of the type of `default`: yes or no, a number, numbers between commas, or text."""
    kind = type(default)
    try:
        if kind is bool:
            return TRUTH[text.lower()]
        if kind in (int, float):
            return kind(text)
        if kind in (tuple, list):
            return kind(float(part) for part in text.split(","))
    except (KeyError, ValueError):
        wanted = {bool: "yes or no", int: "a whole number", float: "a number"}.get(
            kind, "numbers, commas between"
        )
        raise InputError(f"{name} takes {wanted}, got {text!r}") from None
    if default is None:
        try:
            return float(text)
        except ValueError:
            return text
    return text
