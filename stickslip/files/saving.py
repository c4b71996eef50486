"""The public verbs `save` and `load`: models in files of their own, and in files of runs."""

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
    """Write a model to a file that `load` reads back bit for bit, .toml or .json; or a run, .h5 or .hdf5.

    Convex hulls of more than 100 points become meshes beside the file, `NAME-convex-hull-1.obj`. A file
    holds no code: functions of your own are written by the names that `functions` has for them, and one that
    has none is refused by a ModelError that names the function and whose it is.
    """
    from stickslip.files.models import write_model

    if isinstance(model, Trajectory):
        write_trajectory(path, model)
    else:
        write_model(Path(path), model, checked_functions(functions))


def load(
    path: str | PathLike[str], *, functions: Mapping[str, Callable[..., Any]] | None = None
) -> World | NonsmoothSystem:
    """The World or NonsmoothSystem in a file of a model, .toml or .json, or of a run, .h5 or .hdf5.

    Functions that a file names are those of `functions`; a name in a file imports nothing.

    What is wrong with a file is a FormatError that says where; of a file of a model it has all that is wrong,
    place by place, as its `faults`.
    """
    from stickslip.files.models import read_model

    place, given = Path(path), checked_functions(functions)
    return read_trajectory(place).source if place.suffix.lower() in ENDINGS else read_model(place, given)
