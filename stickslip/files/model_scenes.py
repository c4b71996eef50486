"""Models with functions of ours in files: the name of a scene and its parameters. Files hold no code."""

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
"""Largest whole number of a parameter in a file, and most numbers of a list: sizes of what is made."""
Value = bool | int | float | Text | list[float] | list[int]


class SceneKeys(Keys):
    """A scene of ours, as `stickslip scenes` lists them."""

    version: Literal[1]
    """Of this format."""
    model: Literal["scene"]
    scene: Text
    """Its name."""
    parameters: dict[Text, Value] = Field(default_factory=dict)
    """Its parameters, by name; those that are not given have their defaults."""


def make_scene(keys: SceneKeys, faults: Faults) -> World | NonsmoothSystem | None:
    """The model of checked keys; None where something is wrong with them, which `faults` then has."""
    given: dict[str, Any] = {}
    for name, value in keys.parameters.items():
        sizes = [len(value)] if isinstance(value, list) else [value] if type(value) is int else []
        if any(size > MOST for size in sizes) and name != "seed":
            faults.add(("parameters", name), f"is {value!r}; a file may ask for {MOST} at most")
            return None
        given[name] = tuple(value) if isinstance(value, list) else value
    try:
        model = remade(Named(keys.scene, given))
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
    """A model that a scene has made as files have it; None where none has."""
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
    """The constants of a model that can be compared."""
    if isinstance(model, World):
        return {"start": (model.start.q, model.start.v), "names": model.names}
    found: dict[str, Any] = {"q0": model.q0, "v0": model.v0, "z0": model.z0}
    for one in (*model.systems, *(bound.output for bound in model.interactions)):
        found |= {f"{part.owner}: {part.name}": part.constant for part in one.quantities}
    return found
