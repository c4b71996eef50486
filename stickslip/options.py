"""Options of solvers and schemes: typed fields with a unit, a default, a range and a description.

`Options` checks every field against its range on construction: an invalid value raises a `ValueError` that
names it, and an unknown name a `TypeError`, before any computation.
"""

import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import Field, dataclass, field, fields
from importlib import import_module
from numbers import Integral, Real
from typing import Any, Self

from stickslip.names import alternatives, suggestion
from stickslip.renames import OPTIONS, current

LARGEST_INT = 2**63 - 1
"""Largest integer of kernels (64 bits)."""
TRUTH = dict.fromkeys(("true", "yes", "on", "1"), True) | dict.fromkeys(("false", "no", "off", "0"), False)
"""Accepted spellings of true and false."""


def option(
    default: Any, doc: str, *, unit: str = "-", low: float = -math.inf, high: float = math.inf,
    open_low: bool = False, open_high: bool = False, choices: tuple[str, ...] = (),
) -> Any:  # fmt: skip
    """Return a dataclass field of options with default, description, unit, and range or choices."""
    metadata = {
        "doc": doc, "unit": unit, "low": low, "high": high,
        "open_low": open_low, "open_high": open_high, "choices": choices,
    }  # fmt: skip
    return field(default=default, metadata=metadata)


def tolerance_option(default: float = 1e-8) -> Any:
    """Return the option `tolerance` of solvers."""
    doc = "tolerance on the judge's natural and natural_scaled"
    return option(default, doc, low=0.0, high=1.0, open_low=True, open_high=True)


def iterations_option(default: int, what: str = "iterations") -> Any:
    """Return the option `max_iterations` of solvers."""
    return option(default, f"largest number of {what}", low=1)


def kappa_option() -> Any:
    """Return the option `kappa` of solvers of whole steps: smoothing of the law."""
    doc = (
        "point of the central path of a step of a world by scheme='variational' to stop at: γ s of gaps,"
        " β∘η of friction in N s m/s; 0 is its end"
    )
    return option(0.0, doc, unit="N s m", low=0.0, open_high=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Base of every solver and scheme: a frozen set of checked options."""

    def __new__(cls, *_: Any, **values: Any) -> Self:
        """Reject an unknown option before `__init__` does, whose message would not list the known ones."""
        check_names(cls.__name__, values, fields(cls))
        return object.__new__(cls)

    def __post_init__(self) -> None:
        for spec in fields(self):
            value = getattr(self, spec.name)
            number = isinstance(value, Real) and not isinstance(value, bool)
            digits = {float(text): text for text in spec.metadata["choices"] if str(text).isdigit()}
            if number and value in digits:  # such as exponent=3 for "3"
                value = digits[value]
                object.__setattr__(self, spec.name, value)
            check(type(self).__name__, spec, value)


def check_names(owner: str, names: Iterable[str], known: Iterable[Field[Any]]) -> None:
    """Raise a TypeError for an option that `owner` does not have."""
    known_names = [spec.name for spec in known]
    for name in names:
        if name not in known_names:
            raise TypeError(f"{owner} has no option {name!r}; {alternatives(name, known_names, 'it has:')}")


def check(owner: str, spec: Field[Any], value: Any) -> None:
    """Raise a ValueError for a value of the wrong type or outside its range."""
    kind, meta = type(spec.default), spec.metadata
    wrong = isinstance(value, bool) != (kind is bool)
    if kind is float:
        wrong |= not isinstance(value, Real)
    elif kind is int:
        wrong |= not isinstance(value, Integral)
    else:
        wrong |= not isinstance(value, kind)
    if wrong:
        raise ValueError(f"{owner}: {spec.name} must be {kind.__name__}, got {value!r}")
    if kind is int and not abs(value) <= LARGEST_INT:
        raise ValueError(f"{owner}: {spec.name} is too large; the largest integer is {LARGEST_INT}")
    if meta["choices"]:
        if value not in meta["choices"]:
            close = suggestion(value, meta["choices"])
            hint = f"; {close}" if close else ""
            raise ValueError(f"{owner}: {spec.name} must be one of {allowed(spec)}, got {value!r}{hint}")
    elif kind in (int, float):
        low = meta["low"] < value if meta["open_low"] else meta["low"] <= value
        high = value < meta["high"] if meta["open_high"] else value <= meta["high"]
        if not (low and high):
            raise ValueError(f"{owner}: {spec.name} must lie in {allowed(spec)}, got {value!r}")


def allowed(spec: Field[Any]) -> str:
    """Return the range of an option as text: `(0, 1)`, `[1, inf)`, `a, b`, `True, False`."""
    meta = spec.metadata
    if meta["choices"]:
        return ", ".join(meta["choices"])
    if type(spec.default) is bool:
        return "True, False"
    left = "(" if meta["open_low"] or meta["low"] == -math.inf else "["
    right = ")" if meta["open_high"] or meta["high"] == math.inf else "]"
    return f"{left}{meta['low']:g}, {meta['high']:g}{right}"


def parsed(what: str, text: str, default: Any, within: str = "") -> Any:
    """Convert `text` to the type of `default`: yes or no, a number, numbers separated by commas, or text.

    Without a default, return a number if possible. A ValueError names the quantity `what` and its range
    `within`.
    """
    kind = type(default)
    try:
        if kind is bool:
            return TRUTH[text.lower()]
        if kind in (int, float):
            return kind(text)
        if kind in (tuple, list):
            return kind(float(part) for part in text.split(","))
    except (KeyError, ValueError):
        expected = {bool: "yes or no", int: "a whole number", float: "a number"}.get(
            kind, "numbers separated by commas"
        )
        within = f" in {within}" if within and kind is not bool else ""
        raise ValueError(f"{what} takes {expected}{within}, got {text!r}") from None
    if default is None:
        with suppress(ValueError):
            return float(text)
    return text


@dataclass(frozen=True, slots=True)
class Listed:
    """Entry of a registry: name and location of a class of options, which is imported on use."""

    name: str
    """Public name."""
    module: str
    """Module of the class."""
    cls: str
    """Name of the class."""

    def load(self) -> Any:
        """Import and return the class."""
        return getattr(import_module(self.module), self.cls)

    def make(self, **values: Any) -> Any:
        """Return an object of the class; an unknown option raises a `TypeError` that lists the known ones."""
        renamed = OPTIONS.get(self.name, {})
        values = {current(f"option of {self.name}", key, renamed): value for key, value in values.items()}
        check_names(self.name, values, self.options)
        return self.load()(**values)

    @property
    def summary(self) -> str:
        """First line of the docstring of the class."""
        return (self.load().__doc__ or "").strip().splitlines()[0]

    @property
    def options(self) -> tuple[Field[Any], ...]:
        """The options, as dataclass fields with doc, unit and range in their metadata."""
        return fields(self.load())
