"""Built-in models by name, which files store instead of functions.

The models of a scene are registered with its name and parameters. A file that contains these can be loaded by
creating the model again with the installed code.
"""

from importlib import import_module
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

MAKER = "stickslip.scenes"
"""Module whose `make(name, **parameters)` gives a scene, with its model as `system`."""


class Named(NamedTuple):
    """Scene and parameters of a model."""

    name: str
    """Name of the scene."""
    parameters: dict[str, Any]
    """Given parameters by name; others have their default values."""


_MODELS: "WeakKeyDictionary[Any, Named]" = WeakKeyDictionary()


def remember(model: Any, name: str, parameters: dict[str, Any]) -> None:
    """Register the scene and the parameters of a model."""
    _MODELS[model] = Named(name, parameters)


def named(model: Any) -> Named | None:
    """Return the scene and the parameters of a model; None if it is not registered."""
    return _MODELS.get(model)


def remade(one: Named) -> Any:
    """Create the model again; raise a KeyError, TypeError or ValueError if name or parameters are invalid."""
    return import_module(MAKER).make(one.name, **one.parameters).system
