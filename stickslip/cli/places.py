"""Input files and output paths of the verbs; paths are checked first, so that no result is lost."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stickslip.cli.errors import InputError, os_sentence, usable

if TYPE_CHECKING:
    from stickslip.files import ProblemRecord
    from stickslip.simulation.trajectory import Trajectory

FCLIB = (".hdf5", ".h5")
"""Suffixes of files in FCLIB's layout."""

PICTURES = (".png", ".svg", ".pdf")
"""Suffixes of pictures."""
PLOTS = (*PICTURES, ".pgf", ".csv")
"""Suffixes of plots: pictures, PGF for LaTeX, and the data."""

FOLLOW = 1.0
"""Time between two readings of a run that is being written [s]."""


def solution_places(files: Sequence[Path], out: Path | None) -> dict[Path, Path]:
    """Output file of each problem file; empty without `--out`."""
    if out is None:
        return {}
    if out == Path():
        raise InputError("--out is empty; give the name of a file, or of a directory")
    if out.is_dir():
        places = {path: out / f"{path.stem}.hdf5" for path in files}
    elif len(files) > 1:
        raise InputError(f"--out {out}: with several files this must be a directory that exists")
    else:
        places = {files[0]: out}
    owners: dict[Path, Path] = {}
    for path, place in places.items():
        check_writable(place, FCLIB)
        check_not_itself(path, place)
        other = owners.setdefault(place, path)
        if other != path:
            raise InputError(f"--out {out}: {other} and {path} would both be written to {place}")
    return places


def check_writable(place: Path, endings: Sequence[str]) -> None:
    """Raise an error if the suffix of a path is unknown or the file cannot be written."""
    if place.suffix.lower() not in endings:
        raise InputError(f"{place}: the name must end in {' or '.join(endings)}")
    if place.is_dir():
        raise InputError(f"{place}: is a directory")
    if not place.parent.is_dir():
        raise InputError(f"{place}: there is no directory {place.parent}")
    if not os.access(place if place.exists() else place.parent, os.W_OK):
        raise InputError(f"{place}: permission denied")


def make_folder(out: Path) -> None:
    """Create a folder if it does not exist; raise an error if it cannot be written to."""
    if out.exists() and not out.is_dir():
        raise InputError(f"{out}: this is a file; give the name of a folder")
    try:
        out.mkdir(parents=True, exist_ok=True)
        probe = out / ".stickslip"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise InputError(os_sentence(error, out)) from None


def check_not_itself(source: Path, place: Path) -> None:
    """Raise an error if the output would overwrite the input, under any name or link."""
    if source.exists() and place.exists() and source.samefile(place):
        raise InputError(f"{place}: would overwrite the input; choose another name")


def load(path: Path, kind: str | None = None) -> ProblemRecord:
    """Read the problem in `path` with the data stored with it; errors become an `InputError`."""
    from stickslip.files import read_record

    if path.is_dir():
        raise InputError(f"{path}: this is a directory, not a problem file")
    with usable(path, "problem"):
        return read_record(path, kind)


def followed(path: Path) -> Iterator[Trajectory]:
    """Yield a run repeatedly while another process writes it, and finally the complete run."""
    from stickslip.files.journal import is_written

    while True:
        being_written = is_written(path)
        yield load_run(path)
        if not being_written:
            return
        time.sleep(FOLLOW)


def load_run(path: Path) -> Trajectory:
    """Read the trajectory in `path`; errors become an `InputError`."""
    from stickslip.files.runs import read_trajectory

    with usable(path, "trajectory"):
        return read_trajectory(path)
