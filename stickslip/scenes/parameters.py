"""Checks of scene parameters: each refusal names the parameter, its value and what is allowed."""

import math
from collections.abc import Sequence
from numbers import Integral, Real


def number(
    name: str, value: float, unit: str, *, above: float | None = None, least: float | None = None,
    below: float | None = None, most: float | None = None,
) -> float:  # fmt: skip
    """`value` as a float inside its range (`above` and `below` are open ends); unit for the message."""
    bounds = [
        f"{sign} {bound:g}"
        for sign, bound in ((">", above), (">=", least), ("<", below), ("<=", most))
        if bound is not None
    ]
    allowed = " and ".join(["finite", *bounds]) + (f" [{unit}]" if unit else "")
    real = isinstance(value, Real) and not isinstance(value, bool)
    if not real or not math.isfinite(value):
        raise ValueError(f"{name} is {value!r}; it must be a number, {allowed}")
    good = (
        (above is None or value > above)
        and (least is None or value >= least)
        and (below is None or value < below)
        and (most is None or value <= most)
    )
    if not good:
        raise ValueError(f"{name} is {value!r}; it must be {allowed}")
    return float(value)


def frictions(mu: float, mu_roll: float, mu_spin: float) -> dict[str, float]:
    """Checked friction of a material, as builders take it: mu [-], mu_roll and mu_spin [m]."""
    return {
        "mu": number("mu", mu, "", least=0.0),
        "mu_roll": number("mu_roll", mu_roll, "m", least=0.0),
        "mu_spin": number("mu_spin", mu_spin, "m", least=0.0),
    }


MOST = 1_000_000
"""Bodies that a scene can be asked for: beyond it memory is gone before the first step."""


def whole(name: str, value: int, least: int, most: int = MOST) -> int:
    """`value` as an int from `least` to `most`."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} is {value!r}; it must be a whole number >= {least}")
    if value > most:
        raise ValueError(f"{name} is {value!r}; it must be a whole number <= {most}")
    return int(value)


def lengths(name: str, value: Sequence[float], parts: Sequence[str]) -> tuple[float, ...]:
    """`value` as positive lengths [m], one for each of `parts`."""
    if isinstance(value, str | Real) or len(value) != len(parts):
        raise ValueError(f"{name} is {value!r}; it must be {len(parts)} lengths: {', '.join(parts)} [m]")
    return tuple(number(f"{name} ({part})", x, "m", above=0.0) for part, x in zip(parts, value, strict=True))
