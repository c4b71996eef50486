"""Models of ours by name: what files refer to in the place of functions, which they never hold.

A scene remembers the models it makes with its own name and parameters. A file that has them can have the
model made again, by code that is installed.
"""

from importlib import import_module
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

MAKER = "stickslip.scenes"
"""Module whose `make(name, **parameters)` gives a scene, with its model as `system`."""


class Named(NamedTuple):
    """What a model is made of."""

    name: str
    """Name of the scene."""
    parameters: dict[str, Any]
    """Those that were given, by name; the others have their defaults."""


_MODELS: "WeakKeyDictionary[Any, Named]" = WeakKeyDictionary()


def remember(model: Any, name: str, parameters: dict[str, Any]) -> None:
    """Say of what a model was made."""
    _MODELS[model] = Named(name, parameters)


def named(model: Any) -> Named | None:
    """What a model was made of; None where nobody said so."""
    return _MODELS.get(model)


def remade(one: Named) -> Any:
    """The model made again; a KeyError, TypeError or ValueError tells what is wrong with its parts."""
    return import_module(MAKER).make(one.name, **one.parameters).system
