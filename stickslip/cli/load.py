"""Reading a file for a verb: whatever is wrong with it becomes one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from stickslip.cli.errors import InputError, usable

if TYPE_CHECKING:
    from stickslip.files import ProblemRecord
    from stickslip.simulation.trajectory import Trajectory
    from stickslip.simulation.world_trajectory import WorldTrajectory


def load(path: Path, kind: str | None = None) -> ProblemRecord:
    """The problem in `path` with all that is stored beside it; `InputError` says what is wrong."""
    from stickslip.files import read_record

    if path.is_dir():
        raise InputError(f"{path}: is a directory, not a problem file")
    with usable(path, "problem"):
        return read_record(path, kind)


def load_run(path: Path) -> Trajectory | WorldTrajectory:
    """The trajectory in `path`; `InputError` says what is wrong."""
    from stickslip.files.trajectories import read_trajectory

    with usable(path, "trajectory"):
        return read_trajectory(path)
