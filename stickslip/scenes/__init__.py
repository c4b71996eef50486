"""Ready contact problems by name: `make("wall", rows=12)`. A new scene is one file and one line here."""

from collections.abc import Callable
from inspect import signature
from typing import Any

from stickslip.problem.contact import GlobalProblem
from stickslip.scenes.chute import chute
from stickslip.scenes.incline import incline
from stickslip.scenes.packing import sphere_packing
from stickslip.scenes.wall import wall

SCENES: dict[str, Callable[..., GlobalProblem]] = {
    "chute": chute,
    "incline": incline,
    "packing": sphere_packing,
    "wall": wall,
}
"""The scenes, each a function of keyword parameters with defaults."""


def names() -> list[str]:
    """Names of the scenes."""
    return sorted(SCENES)


def make(name: str, **parameters: Any) -> GlobalProblem:
    """The scene `name`. Unknown names are a KeyError, unknown parameters a TypeError: both list the known."""
    if name not in SCENES:
        raise KeyError(f"no scene {name!r}; known: {', '.join(names())}")
    known = list(signature(SCENES[name]).parameters)
    for given in parameters:
        if given not in known:
            raise TypeError(f"scene {name} has no parameter {given!r}; it has: {', '.join(known)}")
    return SCENES[name](**parameters)
