"""The public verbs `save` and `load`: models in files of their own, and in files of runs."""

from os import PathLike
from pathlib import Path

from stickslip.files.runs import ENDINGS, read_trajectory, write_trajectory
from stickslip.mechanics.world import World
from stickslip.simulation.trajectory import Trajectory
from stickslip.systems.system import NonsmoothSystem


def save(model: World | NonsmoothSystem | Trajectory, path: str | PathLike[str]) -> None:
    """Write a model to a file that `load` reads back bit for bit, .toml or .json; or a run, .h5 or .hdf5.

    Convex hulls of more than 100 points become meshes beside the file, `NAME-convex-hull-1.obj`. A model with
    functions of your own is refused by a ModelError that names the function and whose it is.
    """
    from stickslip.files.models import write_model

    if isinstance(model, Trajectory):
        write_trajectory(path, model)
    else:
        write_model(Path(path), model)


def load(path: str | PathLike[str]) -> World | NonsmoothSystem:
    """The World or NonsmoothSystem in a file of a model, .toml or .json, or of a run, .h5 or .hdf5.

    What is wrong with a file is a FormatError that says where; of a file of a model it has all that is wrong,
    place by place, as its `faults`.
    """
    from stickslip.files.models import read_model

    place = Path(path)
    return read_trajectory(place).source if place.suffix.lower() in ENDINGS else read_model(place)
