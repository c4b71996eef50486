"""Measured tosses of a cube: rotation into a common frame, and ballistic fits of free flight.

The tosses are those of the ContactNets data set (DAIR Lab, as redistributed with Dojo.jl): 148 frames per
second, in nominal half-widths of 0.0524 m. Tracked lengths are 2 % too short: the half-width is 0.978 of that
and gravity 183.25 units/s². Here lengths are in metres.

Each toss was thrown in the same direction and its record was then rotated about the vertical by an individual
angle. Rotated back, so that all throws are along x, the records show two effects that would otherwise look
like noise: gravity has a horizontal part (the tracker's axis is 0.9° off the vertical) and the table is
tilted (0.5°). Some tosses are in the file twice, rotated by two angles; such copies must not be both fitted
on and predicted.

Files are NumPy's .npz with `rows` and `start`, which are validated. `rows`, shape (N, 13): position (3),
quaternion w x y z (4), velocity (3), angular velocity (3), a row for each frame; `start`, shape
(tosses + 1,): toss k is rows[start[k]:start[k + 1]]. Lengths are in nominal half-widths of the cube. Only
positions and quaternions are used: velocities in such files are noisy differences.
"""

import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import NoReturn

import numpy as np

from stickslip.files.errors import FormatError
from stickslip.rotations import between, conjugate, exponential, logarithm, matrices, product
from stickslip.state import Array, IntArray

RATE, UNIT = 148.0, 0.0524
"""Frames per second [1/s], and the unit of length of the files [m]."""
HALF, GRAVITY = 0.978 * UNIT, 183.25 * UNIT
"""Half-width of the cube [m], and gravity [m/s²], both as tracked."""
CORNERS = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
"""Corners of a cube of half-width one [-], shape (8, 3)."""
CLEAR = 0.06 * UNIT
"""Height of the lowest corner above which a frame counts as free flight [m]; heuristic."""
LEAST = 3
"""Least number of frames of free flight for the fit of velocities."""
SHORT = 6
"""Number of frames that determine the direction of a throw; heuristic."""
LAST, STILL = 6, 0.01
"""Number of frames at the end that determine whether a cube rests, and the largest motion in them
[units, rad]; heuristic."""
FORMAT = (
    "a .npz with rows, shape (N, 13): position, quaternion, velocities of each frame, and start, shape"
    " (tosses + 1,): the first row of each toss, and N"
)
"""Description of the files, for error messages."""
_BROKEN = (ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error, NotImplementedError)
"""Exceptions of NumPy for a file that is not an .npz, or contains pickled objects, which are never loaded."""


@dataclass(frozen=True, eq=False)
class Toss:
    """A toss from its last free frame (the start) on, and a fit of its flight, linear in centre of mass and
    gravity."""

    place: Array
    """Positions of the cube's centre at the frames after the start [m], shape (frames, 3)."""
    turn: Array
    """Quaternions at the frames after the start [-], shape (frames, 4)."""
    flight: Array
    """Positions of the cube's centre in free flight, up to the start [m], shape (free, 3)."""
    flight_turn: Array
    """Quaternions in free flight [-], shape (free, 4)."""
    fit: Array
    """Position and velocity of the cube's centre at the start by straight lines [m, m/s], shape (2, 3)."""
    by_centre: Array
    """Derivatives of position and velocity by the centre of mass in the cube's frame [-, 1/s], shape
    (2, 3, 3)."""
    by_gravity: Array
    """Derivatives of each component of position and velocity by gravity [s², s], shape (2,)."""
    start_turn: Array
    """Fitted quaternion at the start [-], shape (4,)."""
    spin: Array
    """Fitted angular velocity in the cube's frame [rad/s], shape (3,)."""

    def start(self, centre: Array, gravity: Array) -> Array:
        """Return position and velocity at the start of the centre of mass, which is at `centre` [m] in the
        cube's frame [m, m/s], shape (2, 3)."""
        return self.fit + self.by_centre @ centre + np.outer(self.by_gravity, gravity)

    @property
    def rests(self) -> bool:
        """Whether the cube lies still in the last frames."""
        last = self.place[-LAST:]
        turned = np.linalg.norm(between(self.turn[-LAST:], self.turn[-1:]), axis=1)
        return bool(len(last) == LAST and np.ptp(last, axis=0).max() < STILL * UNIT and turned.max() < STILL)

    @property
    def key(self) -> bytes:
        """Key that is equal for a toss and its copies: rotation about the vertical does not change
        heights."""
        return np.round(np.concatenate([self.flight[:, 2], self.place[:, 2]]) / UNIT, 6).tobytes()


@dataclass(frozen=True, eq=False)
class Site:
    """The site of tosses: gravity and tilt of the table."""

    gravity: Array
    """Acceleration of gravity [m/s²], shape (3,)."""
    tilt: Array
    """Horizontal components of the rotation vector of the table [rad], shape (2,)."""

    @classmethod
    def nominal(cls) -> "Site":
        """Return the site with vertical gravity and a level table."""
        return cls(np.array([0.0, 0.0, -GRAVITY]), np.zeros(2))

    @classmethod
    def of(cls, tosses: Sequence[Toss]) -> "Site":
        """Return gravity from the flights and the tilt from cubes at rest at the end (level if there are
        none)."""
        still = [toss.turn[-1] for toss in tosses if toss.rests]
        if not still:
            return cls(flown(tosses)[1], np.zeros(2))
        ends = matrices(np.array(still))
        axis = np.abs(ends[:, 2]).argmax(axis=1)  # the axis of the cube that is nearly vertical
        upright = np.take_along_axis(ends, axis[:, None, None], axis=2)[..., 0]
        normal = np.median(upright * np.sign(upright[:, 2:]), axis=0)
        return cls(flown(tosses)[1], np.array([-normal[1], normal[0]]))

    def turn(self, more: Array) -> Array:
        """Return the quaternion of the table [-], shape (4,), with the additional tilt `more` [rad], (2,)."""
        return exponential(np.array([*(self.tilt + more), 0.0]))


def read(path: str | PathLike[str]) -> list[Toss]:
    """Return all tosses of a file with at least `LEAST` frames of free flight."""
    return tosses_of(*read_arrays(path))


def tosses_of(rows: Array, start: IntArray) -> list[Toss]:
    """Return the tosses in the arrays of a file, rotated about the vertical so that each is thrown along
    x."""
    tosses = []
    for x, p in ((rows[a:b, :3] * UNIT, rows[a:b, 3:7]) for a, b in pairwise(start.tolist())):
        # 1. Rotate the throw to x.
        throw = x[min(SHORT, len(x)) - 1] - x[0]
        angle = -np.arctan2(throw[1], throw[0])
        turn = np.array([np.cos(angle / 2.0), 0.0, 0.0, np.sin(angle / 2.0)])
        x, p = x @ matrices(turn).T, product(turn, p / np.linalg.norm(p, axis=1)[:, None])
        # 2. The flight lasts until the lowest corner is below `CLEAR`.
        low = (x[:, None, 2] + HALF * np.einsum("fj,cj->fc", matrices(p)[:, 2], CORNERS)).min(axis=1)
        down = np.flatnonzero(low < CLEAR)
        if down.size and down[0] >= LEAST:
            tosses.append(_started(x, p, int(down[0])))
    return tosses


def without_copies(tosses: Sequence[Toss], but: Sequence[Toss] = ()) -> list[Toss]:
    """Return the first of all copies of each toss, without tosses that are also in `but`."""
    keys = {toss.key for toss in but}
    unique = []
    for toss in tosses:
        if toss.key not in keys:
            keys.add(toss.key)
            unique.append(toss)
    return unique


def _started(x: Array, p: Array, free: int) -> Toss:
    """Return a toss with a ballistic fit of its free frames: a parabola for the centre of mass, and constant
    angular velocity in the cube's frame (moments of inertia differ by 6 %, and flights last for 0.1 s)."""
    t = (np.arange(free) - (free - 1)) / RATE
    lines = np.linalg.pinv(np.stack([np.ones(free), t], axis=1))
    # Gauss-Newton for the orientation q at the start and the angular velocity.
    q, spin = p[free - 1], between(p[free - 1], p[0]) / t[0]
    for _ in range(6):
        path = product(q, exponential(t[:, None] * spin))
        error = between(path, p[:free])  # in the cube's frame of each time
        error_at_start = np.einsum("fij,fj->fi", matrices(product(conjugate(q), path)), error)
        offset, change = lines @ error_at_start
        q, spin = product(q, exponential(offset)), spin + change
    by_centre = np.einsum("lf,fij->lij", lines, matrices(p[:free]))
    return Toss(
        x[free:], p[free:], x[:free], p[:free], lines @ x[:free], by_centre, -0.5 * lines @ (t * t), q, spin
    )


def flown(tosses: Sequence[Toss]) -> tuple[Array, Array]:
    """Return the centre of mass [m] and gravity [m/s²] of the parabolas that fit the flights best, by linear
    least squares."""
    A, b = np.zeros((6, 6)), np.zeros(6)
    for toss in tosses:
        x, R = toss.flight, matrices(toss.flight_turn)
        t = np.arange(len(x)) / RATE
        line = np.linalg.qr(np.stack([np.ones(len(x)), t], axis=1))[0]
        bend = 0.5 * t * t - line @ (line.T @ (0.5 * t * t))
        for axis in range(3):
            columns = np.zeros((len(x), 6))
            columns[:, :3] = R[:, axis] - line @ (line.T @ R[:, axis])
            columns[:, 3 + axis] = -bend
            A, b = A + columns.T @ columns, b - columns.T @ x[:, axis]
    solution = np.linalg.solve(A, b)
    return np.asarray(solution[:3], float), np.asarray(solution[3:], float)


def errors(toss: Toss, place: Array, turn: Array) -> Array:
    """Return distances [% of the width] and angles [degrees] at each frame, shape (frames, 2)."""
    n = len(place)
    distance = np.linalg.norm(place - toss.place[:n], axis=1) / (2.0 * HALF)
    angle = np.linalg.norm(logarithm(product(conjugate(toss.turn[:n]), turn)), axis=1)
    return np.stack([100.0 * distance, np.degrees(angle)], axis=1)


def read_arrays(path: str | PathLike[str]) -> tuple[Array, IntArray]:
    """Return `rows` and `start` of a file; an invalid file raises a FormatError."""

    def fail(place: str, expected: str, value: object) -> NoReturn:
        raise FormatError.at(path, place, expected, str(value)) from None

    # 1. Read the archive.
    archive, arrays = "an archive of arrays (.npz)", {}
    try:
        with Path(path).open("rb") as file:
            if not zipfile.is_zipfile(file):
                fail("the file", archive, "something else")
            file.seek(0)
            with np.load(file, allow_pickle=False) as stored:
                for name in ("rows", "start"):
                    if name not in stored.files:
                        known = ", ".join(sorted(stored.files)[:8]) or "nothing"
                        fail("the file", f"arrays rows and start, no {name}", known)
                    arrays[name] = np.asarray(stored[name])
    except FormatError:
        raise
    except _BROKEN as error:
        message = (str(error).splitlines() or [""])[0][:80]
        fail("the file", archive, message or type(error).__name__)
    # 2. Check shapes and types.
    rows, start = arrays["rows"], arrays["start"]
    if rows.ndim != 2 or rows.shape[1] != 13 or rows.dtype.kind not in "fiu":
        fail("rows", "numbers, shape (N, 13)", f"{rows.dtype}, shape {rows.shape}")
    if start.ndim != 1 or start.size < 2 or start.dtype.kind not in "iu":
        fail("start", "whole numbers, shape (tosses + 1,)", f"{start.dtype}, shape {start.shape}")
    rows, start = rows.astype(float), start.astype(np.int64)
    grows = (np.diff(start) >= 1).all()
    if start[0] != 0 or start[-1] != len(rows) or not grows:
        ends = f"{start[0]} to {start[-1]}{'' if grows else ', not growing'}"
        fail("start", f"numbers that grow from 0 to {len(rows)}", ends)
    # 3. Check the values of each row.
    length = np.linalg.norm(rows[:, 3:7], axis=1)
    for expected, valid, part in (
        ("finite places", np.isfinite(rows[:, :3]).all(axis=1), slice(3)),
        ("finite quaternions", np.isfinite(rows[:, 3:7]).all(axis=1), slice(3, 7)),
        ("a quaternion of length 1", np.abs(length - 1.0) <= 0.1, slice(3, 7)),
    ):
        if not valid.all():
            k = int(np.argmin(valid))
            fail(f"row {k}", expected, rows[k, part])
    return rows, start
