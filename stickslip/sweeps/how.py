"""Arguments of `simulate` that a sweep passes to each run, checked before the first run."""

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

import stickslip
from stickslip.names import alternatives
from stickslip.schemes import registry as schemes
from stickslip.simulation.clock import ON_FAILURE, choice, every, length
from stickslip.solvers import registry as solvers
from stickslip.state import ModelError

HOW = ("until", "h", "scheme", "solver", "solver_options", "tolerance", "record", "on_failure")
"""Names of these arguments."""


def check_how(how: Mapping[str, Any]) -> None:
    """Refuse arguments with which every run would fail: unknown names and values that `simulate` refuses
    whatever the model is."""
    for name, value in how.items():
        if name not in HOW:
            raise TypeError(
                f"sweep has no argument {name!r}; {alternatives(name, HOW, 'of simulate it takes:')}"
            )
        has_parts = name == "solver_options" and isinstance(value, Mapping)
        parts = value.values() if has_parts else [value]
        if not all(isinstance(x, bool | int | float | str) for x in parts):
            raise TypeError(f"{name} is {value!r}; a sweep takes names and numbers, which go to processes")
    if "until" in how:
        _check_until(how["until"])
    if "h" in how:
        length("h", how["h"])
    if "record" in how:
        every(how["record"])
    if "on_failure" in how:
        choice("on_failure", how["on_failure"], ON_FAILURE)
    if "scheme" in how:
        schemes.entry(how["scheme"])
    argument = how.get("solver_options", {})
    if not isinstance(argument, Mapping):
        raise TypeError(f"solver_options is {argument!r}; expected options by name")
    options = dict(argument)
    if "tolerance" in how and "tolerance" in options:
        raise TypeError("tolerance is given twice, as an argument and in solver_options")
    tolerance = {"tolerance": how["tolerance"]} if "tolerance" in how else {}
    if "solver" in how or options or tolerance:
        solvers.make(how.get("solver", stickslip.DEFAULT_SOLVER), **tolerance, **options)


def _check_until(until: Any) -> None:
    if not isinstance(until, Real) or isinstance(until, bool) or not 0.0 < float(until) < math.inf:
        raise ModelError(f"until is {until!r}; it must be a finite time after the start, t = 0 s")
