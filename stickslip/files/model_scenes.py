"""Models of scenes in files: the name of a scene and its parameters, as files contain no code."""

from typing import Any, Literal

import numpy as np
from pydantic import Field

from stickslip.files.model_difference import difference
from stickslip.files.model_faults import Faults
from stickslip.files.model_parts import Keys, Text
from stickslip.mechanics.world import World
from stickslip.state import ModelError
from stickslip.systems.named import Named, named, remade
from stickslip.systems.system import NonsmoothSystem

MOST = 1000
"""Largest integer of a parameter in a file, and largest length of a list, as they are sizes of models."""
Value = bool | int | float | Text | list[float] | list[int]


class SceneKeys(Keys):
    """A scene of stickslip; `stickslip scenes` lists them."""

    version: Literal[1]
    """Version of the format."""
    model: Literal["scene"]
    scene: Text
    """Name of the scene."""
    parameters: dict[Text, Value] = Field(default_factory=dict)
    """Parameters by name; the others have their defaults."""


def make_scene(keys: SceneKeys, faults: Faults) -> World | NonsmoothSystem | None:
    """Make the model of checked keys; return None and add to `faults` if there are errors."""
    arguments: dict[str, Any] = {}
    for name, value in keys.parameters.items():
        sizes = [len(value)] if isinstance(value, list) else [value] if type(value) is int else []
        if any(size > MOST for size in sizes) and name != "seed":
            faults.add(("parameters", name), f"is {value!r}; a file may ask for {MOST} at most")
            return None
        arguments[name] = tuple(value) if isinstance(value, list) else value
    try:
        model = remade(Named(keys.scene, arguments))
    except KeyError as error:
        faults.add(("scene",), str(error.args[0]))
    except AttributeError:
        faults.add(("scene",), f"{keys.scene} is a single problem, not a model to simulate")
    except (TypeError, ValueError) as error:
        faults.add(("parameters",), str(error))
    else:
        return model if isinstance(model, World | NonsmoothSystem) else None
    return None


def scene_tree(model: World | NonsmoothSystem) -> dict[str, Any] | None:
    """Convert a model made by a scene to the tree of a file; None for other models."""
    origin = named(model)
    if origin is None:
        return None
    again = remade(origin)
    if where := difference(_numbers(again), _numbers(model)):
        raise ModelError(f"{where} of this model was changed after scene {origin.name!r} made it")
    parameters = {name: _plain(value) for name, value in origin.parameters.items()}
    return {"version": 1, "model": "scene", "scene": origin.name, "parameters": parameters}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list | np.ndarray):
        return [_plain(one) for one in value]
    return value.item() if isinstance(value, np.generic) else value


def _numbers(model: World | NonsmoothSystem) -> dict[str, Any]:
    """Constants of a model, for comparison."""
    if isinstance(model, World):
        return {"start": (model.start.q, model.start.v), "names": model.names}
    numbers: dict[str, Any] = {"q0": model.q0, "v0": model.v0, "z0": model.z0}
    for one in (*model.systems, *(bound.output for bound in model.interactions)):
        numbers |= {f"{part.owner}: {part.name}": part.constant for part in one.quantities}
    return numbers
