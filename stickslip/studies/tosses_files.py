"""Files of tosses: NumPy's .npz with `rows` and `start`, checked at the door.

`rows`, shape (N, 13): place (3), quaternion w x y z (4), velocity (3), angular velocity (3), a row for each
frame; `start`, shape (tosses + 1,): toss k is rows[start[k]:start[k + 1]]. Lengths are in nominal half-widths
of the cube. Only places and quaternions are used: velocities in such files are noisy differences.
"""

import zipfile
import zlib
from os import PathLike
from pathlib import Path

import numpy as np

from stickslip.files.errors import FormatError
from stickslip.state import Array, IntArray

FORMAT = (
    "a .npz with rows, shape (N, 13): place, quaternion, velocities of each frame, and start, shape"
    " (tosses + 1,): the first row of each toss, and N"
)
"""What a file of tosses is, for those who have none."""
_BROKEN = (ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error, NotImplementedError)
"""What NumPy raises on a file that is no .npz, or holds pickled objects, which are never loaded."""


def read_arrays(path: str | PathLike[str]) -> tuple[Array, IntArray]:
    """`rows` and `start` of a file; a FormatError says what is wrong with it."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            if not zipfile.is_zipfile(file):
                raise FormatError.at(path, "the file", "an archive of arrays (.npz)", "something else")
            file.seek(0)
            with np.load(file, allow_pickle=False) as held:
                found = {name: _array(path, held, name) for name in ("rows", "start")}
    except FormatError:
        raise
    except _BROKEN as error:
        raise FormatError.at(path, "the file", "an archive of arrays (.npz)", _short(error)) from None
    rows, start = found["rows"], found["start"]
    if rows.ndim != 2 or rows.shape[1] != 13 or rows.dtype.kind not in "fiu":
        raise FormatError.at(path, "rows", "numbers, shape (N, 13)", f"{rows.dtype}, shape {rows.shape}")
    if start.ndim != 1 or start.size < 2 or start.dtype.kind not in "iu":
        what = "whole numbers, shape (tosses + 1,)"
        raise FormatError.at(path, "start", what, f"{start.dtype}, shape {start.shape}")
    rows, start = rows.astype(float), start.astype(np.int64)
    if start[0] != 0 or start[-1] != len(rows) or (np.diff(start) < 1).any():
        raise FormatError.at(path, "start", f"numbers that grow from 0 to {len(rows)}", f"{_ends(start)}")
    for name, used in (("places", rows[:, :3]), ("quaternions", rows[:, 3:7])):
        bad = np.flatnonzero(~np.isfinite(used).all(axis=1))
        if bad.size:
            raise FormatError.at(path, f"row {bad[0]}", f"finite {name}", str(used[bad[0]]))
    bad = np.flatnonzero(np.abs(np.linalg.norm(rows[:, 3:7], axis=1) - 1.0) > 0.1)
    if bad.size:
        raise FormatError.at(path, f"row {bad[0]}", "a quaternion of length 1", str(rows[bad[0], 3:7]))
    return rows, start


def _array(path: Path, held: "np.lib.npyio.NpzFile", name: str) -> np.ndarray:
    if name not in held.files:
        known = ", ".join(sorted(held.files)[:8]) or "nothing"
        raise FormatError.at(path, "the file", f"arrays rows and start, no {name}", known)
    return np.asarray(held[name])


def _short(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:80] or type(error).__name__


def _ends(start: IntArray) -> str:
    return f"{start[0]} to {start[-1]}" + ("" if (np.diff(start) >= 1).all() else ", not growing")
