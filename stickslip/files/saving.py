"""The public functions `save` and `load` for model files and files of runs."""

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from stickslip.files.model_functions import checked_functions
from stickslip.files.runs import ENDINGS, read_trajectory, write_trajectory
from stickslip.mechanics.world import World
from stickslip.simulation.trajectory import Trajectory
from stickslip.systems.system import NonsmoothSystem


def save(
    model: World | NonsmoothSystem | Trajectory, path: str | PathLike[str], *,
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> None:  # fmt: skip
    """Write a model to a file (.toml or .json) that `load` reads back bit for bit; or a run (.h5 or .hdf5).

    functions   names for your own functions, {"control": control}, because a file contains no code. A
                function without a name raises a ModelError that names the function and its owner

    Convex hulls of more than 100 points become meshes beside the file, `NAME-convex-hull-1.obj`.

    Example:

        b = ss.WorldBuilder()
        b.body("ball", ss.Sphere(0.1), position=(0, 0, 1))
        ss.save(b.build(), "model.json")
    """
    from stickslip.files.models import write_model

    if isinstance(model, Trajectory):
        write_trajectory(path, model)
    else:
        write_model(Path(path), model, checked_functions(functions))


def load(
    path: str | PathLike[str], *, functions: Mapping[str, Callable[..., Any]] | None = None
) -> World | NonsmoothSystem:
    """Return the World or NonsmoothSystem in a model file (.toml, .json) or in the file of a run (.h5,
    .hdf5).

    functions   functions by name, for the names that the file contains; a name in a file imports nothing

    Raises a FormatError that names the position. For a model file its `faults` are all errors with positions.

    Example:

        b = ss.WorldBuilder()
        b.body("ball", ss.Sphere(0.1), position=(0, 0, 1))
        ss.save(b.build(), "model.toml")
        print(ss.load("model.toml").names)
    """
    from stickslip.files.models import read_model

    place, arguments = Path(path), checked_functions(functions)
    return read_trajectory(place).source if place.suffix.lower() in ENDINGS else read_model(place, arguments)
