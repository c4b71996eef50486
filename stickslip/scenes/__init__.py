"""Ready contact problems by name: `make("wall", rows=12)`. A new scene is one file and one line here."""

from collections.abc import Callable
from inspect import getdoc
from typing import Any

from stickslip.names import alternatives
from stickslip.problem.contact import GlobalProblem
from stickslip.scenes.chute import chute
from stickslip.scenes.incline import incline
from stickslip.scenes.packing import sphere_packing
from stickslip.scenes.parameters import called, defaults
from stickslip.scenes.wall import wall
from stickslip.state import UnknownNameError

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


def parameters(name: str) -> dict[str, Any]:
    """Parameters of the scene `name` and their defaults."""
    return defaults(_function(name))


def summary(name: str) -> str:
    """What the scene `name` is, in a line."""
    return (getdoc(_function(name)) or "").partition("\n")[0]


def make(name: str, **given: Any) -> GlobalProblem:
    """The scene `name`. An unknown name is an UnknownNameError, an unknown parameter a TypeError."""
    return called(name, _function(name), given)


def _function(name: str) -> Callable[..., GlobalProblem]:
    if name not in SCENES:
        raise UnknownNameError(f"no scene {name!r}; {alternatives(name, names())}")
    return SCENES[name]
