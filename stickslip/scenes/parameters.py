"""Checks of scene parameters; error messages name the parameter, its value and the allowed values.

The docstring of a scene has a table of its parameters, one line `name: meaning [unit], bounds.` each, which
`checked` enforces; parameters in `COMMON` need no line. Bounds are numbers: `> 0`, `<= 60`, `in [0, 1)`.
Bounds that depend on other parameters are checked by the scene.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import getdoc, signature
from numbers import Integral, Real
from operator import ge, gt, le, lt
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
Made = TypeVar("Made")
NUMBER = r"(-?\d+(?:\.\d+)?)"
BOUND = re.compile(rf"(>=|<=|>|<) {NUMBER}(?=[,;.]|$| and )")
RANGE = re.compile(rf"in ([\[(]){NUMBER}, {NUMBER}([\])])")
ENDS = {">": "above", ">=": "least", "<": "below", "<=": "most",
        "(": "above", "[": "least", ")": "below", "]": "most"}  # fmt: skip

COMMON = {
    "h": "time step [s], > 0.",
    "until": "end [s], > 0.",
    "mu_roll": "rolling friction [m], >= 0.",
    "mu_spin": "torsional friction about the normals [m], >= 0.",
    "mu": "friction [-], >= 0.",
    "e": "restitution [-], in [0, 1].",
    "bodies": "number of bodies [-], >= 1.",
    "push": "initial velocity along x of the top; it decreases linearly to 0 at the bottom [m/s].",
}
"""Default meanings of parameters that most scenes have."""


def documented(scene: Callable[..., Any]) -> dict[str, str]:
    """Return the meanings of the parameters of a scene, in order, from its docstring.

    A line may name several parameters, `a, b: meaning`.
    """
    known, last = signature(scene).parameters, list[str]()
    table = {name: COMMON[name] for name in known if name in COMMON}
    for line in (getdoc(scene) or "").splitlines():
        names, colon, text = line.partition(": ")
        if colon and all(name in known for name in names.split(", ")):
            last = names.split(", ")
            table |= dict.fromkeys(last, text.strip())
        elif last and line.strip():
            table |= {name: f"{table[name]} {line.strip()}" for name in last}
        else:
            last = []
    return {name: table[name] for name in known if name in table}


def bounds(meaning: str) -> tuple[str, dict[str, float]]:
    """Return the unit and the bounds of a line of the table; the bounds are arguments of `number`."""
    _, bracket, after = meaning.partition("[")
    unit, _, after = after.partition("]")
    ends = {ENDS[sign]: float(value) for sign, value in BOUND.findall(after)}
    for opening, low, high, closing in RANGE.findall(after):
        ends |= {ENDS[opening]: float(low), ENDS[closing]: float(high)}
    return unit if bracket and unit != "-" else "", ends


def checked(scene: Callable[P, Made]) -> Callable[P, Made]:
    """Decorator: check the numbers given to a scene against its docstring.

    Text, switches and tuples are checked by the scene itself.
    """
    table: Mapping[str, str] = documented(scene)
    usual = defaults(scene)

    def check(name: str, value: Any) -> Any:
        default = usual.get(name, "")
        if isinstance(default, str | bool | tuple) or (default is None and value is None):
            return value
        if name not in table:
            raise TypeError(
                f"{name}: no line of the docstring says what is allowed (python -OO drops them all)"
            )
        unit, ends = bounds(table[name])
        if isinstance(default, int):
            return whole(name, value, int(ends["least"]), SEEDS if name == "seed" else MOST)
        return number(name, value, unit, **ends)

    @wraps(scene)
    def make(*args: P.args, **given: P.kwargs) -> Made:
        return scene(*args, **{name: check(name, value) for name, value in given.items()})  # type: ignore[arg-type]

    return make


def number(
    name: str, value: float, unit: str, *, above: float | None = None, least: float | None = None,
    below: float | None = None, most: float | None = None,
) -> float:  # fmt: skip
    """Return `value` as a float inside its range (`above` and `below` are open ends); `unit` is for
    messages."""
    signs = ((">", gt, above), (">=", ge, least), ("<", lt, below), ("<=", le, most))
    ends = [(sign, holds, bound) for sign, holds, bound in signs if bound is not None]
    allowed = " and ".join(["finite", *(f"{sign} {bound:g}" for sign, _, bound in ends)])
    allowed += f" [{unit}]" if unit else ""
    real = isinstance(value, Real) and not isinstance(value, bool)
    if not real or not math.isfinite(value):
        raise ValueError(f"{name} is {value!r}; it must be a number, {allowed}")
    if not all(holds(value, bound) for _, holds, bound in ends):
        raise ValueError(f"{name} is {value!r}; it must be {allowed}")
    return float(value)


MOST = 1_000_000
"""Largest number of bodies of a scene; more would exhaust memory before the first step."""
SEEDS = 2**63
"""Largest seed of random numbers."""


def whole(name: str, value: int, least: int, most: int = MOST) -> int:
    """Return `value` as an int from `least` to `most`."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} is {value!r}; it must be a whole number >= {least}")
    if value > most:
        raise ValueError(f"{name} is {value!r}; it must be a whole number <= {most}")
    return int(value)


def lengths(name: str, value: Sequence[float], parts: Sequence[str]) -> tuple[float, ...]:
    """Return `value` as positive lengths [m], one for each of `parts`."""
    if isinstance(value, str | Real) or len(value) != len(parts):
        raise ValueError(f"{name} is {value!r}; it must be {len(parts)} lengths: {', '.join(parts)} [m]")
    return tuple(number(f"{name} ({part})", x, "m", above=0.0) for part, x in zip(parts, value, strict=True))


def defaults(scene: Callable[..., Any]) -> dict[str, Any]:
    """Return the parameters of a scene with their defaults."""
    return {name: one.default for name, one in signature(scene).parameters.items()}
