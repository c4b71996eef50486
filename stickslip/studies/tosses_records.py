"""Measured tosses of a cube: turned into one frame, and fitted where the cube flies.

The tosses are those of the ContactNets data set (DAIR Lab, as redistributed with Dojo.jl): 148 frames a
second, in nominal half-widths of 0.0524 m. Tracked lengths run 2 % short: the half-width is 0.978 of that and
gravity 183.25 units/s². Here all is in metres.

Each toss was recorded as thrown in one direction and then turned about the vertical by an angle of its own.
Turned back, so that all throws go along x, they agree in what else would look like noise: gravity has a
horizontal part (the tracker's axis is 0.9° off the vertical) and the table is tilted (0.5°). Some tosses are
in the file twice, turned by two angles; such copies must not be both fitted on and predicted.

Files are NumPy's .npz with `rows` and `start`, checked at the door. `rows`, shape (N, 13): place (3),
quaternion w x y z (4), velocity (3), angular velocity (3), a row for each frame; `start`, shape
(tosses + 1,): toss k is rows[start[k]:start[k + 1]]. Lengths are in nominal half-widths of the cube. Only
places and quaternions are used: velocities in such files are noisy differences.
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
"""Frames in a second [1/s], and the unit of length of the files [m]."""
HALF, GRAVITY = 0.978 * UNIT, 183.25 * UNIT
"""Half-width of the cube [m], and gravity [m/s²], both as tracked."""
CORNERS = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
"""Of a cube of half-width one [-], shape (8, 3)."""
CLEAR = 0.06 * UNIT
"""Height of the lowest corner above which a frame counts as free flight [m]."""
LEAST = 3
"""Frames of free flight that a toss must have for velocities to be fitted."""
SHORT = 6
"""Frames that say where a throw goes."""
LAST, STILL = 6, 0.01
"""Frames at the end that say whether a cube rests, and how far it may seem to move in them [units, rad]."""
FORMAT = (
    "a .npz with rows, shape (N, 13): place, quaternion, velocities of each frame, and start, shape"
    " (tosses + 1,): the first row of each toss, and N"
)
"""What a file of tosses is, for those who have none."""
_BROKEN = (ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error, NotImplementedError)
"""What NumPy raises on a file that is no .npz, or holds pickled objects, which are never loaded."""


@dataclass(frozen=True, eq=False)
class Toss:
    """One toss from its last free frame on; what is fitted there depends on centre of mass and gravity."""

    place: Array
    """Of the cube's centre at the frames after the start [m], shape (frames, 3)."""
    turn: Array
    """Quaternions there [-], shape (frames, 4)."""
    flight: Array
    """Places of the cube's centre in free flight, up to the start [m], shape (free, 3)."""
    flight_turn: Array
    """Quaternions there [-], shape (free, 4)."""
    fit: Array
    """Place and velocity of the cube's centre at the start by straight lines [m, m/s], shape (2, 3)."""
    by_centre: Array
    """What a centre of mass in the cube's frame adds to them [-, 1/s], shape (2, 3, 3)."""
    by_gravity: Array
    """What gravity adds to each of their components [s², s], shape (2,)."""
    start_turn: Array
    """Fitted quaternion at the start [-], shape (4,)."""
    spin: Array
    """Fitted spin in the cube's frame [rad/s], shape (3,)."""

    def start(self, centre: Array, gravity: Array) -> Array:
        """Place and velocity of the centre of mass [m, m/s], shape (2, 3), which is at `centre` [m], (3,)."""
        return self.fit + self.by_centre @ centre + np.outer(self.by_gravity, gravity)

    @property
    def rests(self) -> bool:
        """Whether the cube lies still in the last frames."""
        last = self.place[-LAST:]
        turned = np.linalg.norm(between(self.turn[-LAST:], self.turn[-1:]), axis=1)
        return bool(len(last) == LAST and np.ptp(last, axis=0).max() < STILL * UNIT and turned.max() < STILL)

    @property
    def key(self) -> bytes:
        """The same for a toss and its copies: heights do not change when it is turned about the vertical."""
        return np.round(np.concatenate([self.flight[:, 2], self.place[:, 2]]) / UNIT, 6).tobytes()


@dataclass(frozen=True, eq=False)
class Site:
    """Where tosses are made."""

    gravity: Array
    """[m/s²], shape (3,)."""
    tilt: Array
    """Rotation vector of the table, without its vertical part [rad], shape (2,)."""

    @classmethod
    def nominal(cls) -> "Site":
        """Gravity straight down, a level table."""
        return cls(np.array([0.0, 0.0, -GRAVITY]), np.zeros(2))

    @classmethod
    def of(cls, tosses: Sequence[Toss]) -> "Site":
        """Gravity as flights tell it, the tilt as cubes tell it that lie still at the end; level if none."""
        still = [toss.turn[-1] for toss in tosses if toss.rests]
        if not still:
            return cls(flown(tosses)[1], np.zeros(2))
        ends = matrices(np.array(still))
        axis = np.abs(ends[:, 2]).argmax(axis=1)  # of the cube, the one that stands upright
        upright = np.take_along_axis(ends, axis[:, None, None], axis=2)[..., 0]
        normal = np.median(upright * np.sign(upright[:, 2:]), axis=0)
        return cls(flown(tosses)[1], np.array([-normal[1], normal[0]]))

    def turn(self, more: Array) -> Array:
        """The table's quaternion [-], shape (4,), where it is tilted by so much more [rad], shape (2,)."""
        return exponential(np.array([*(self.tilt + more), 0.0]))


def read(path: str | PathLike[str]) -> list[Toss]:
    """All tosses of a file that fly for `LEAST` frames before contact."""
    return tosses_of(*read_arrays(path))


def tosses_of(rows: Array, start: IntArray) -> list[Toss]:
    """The tosses in arrays as files have them, turned about the vertical so that each is thrown along x."""
    found = []
    for x, p in ((rows[a:b, :3] * UNIT, rows[a:b, 3:7]) for a, b in pairwise(start.tolist())):
        way = x[min(SHORT, len(x)) - 1] - x[0]
        angle = -np.arctan2(way[1], way[0])
        turn = np.array([np.cos(angle / 2.0), 0.0, 0.0, np.sin(angle / 2.0)])
        x, p = x @ matrices(turn).T, product(turn, p / np.linalg.norm(p, axis=1)[:, None])
        low = (x[:, None, 2] + HALF * np.einsum("fj,cj->fc", matrices(p)[:, 2], CORNERS)).min(axis=1)
        down = np.flatnonzero(low < CLEAR)
        if down.size and down[0] >= LEAST:
            found.append(_started(x, p, int(down[0])))
    return found


def without_copies(tosses: Sequence[Toss], but: Sequence[Toss] = ()) -> list[Toss]:
    """The first of all copies of each toss, and none that is in `but`, too."""
    seen = {toss.key for toss in but}
    found = []
    for toss in tosses:
        if toss.key not in seen:
            seen.add(toss.key)
            found.append(toss)
    return found


def _started(x: Array, p: Array, free: int) -> Toss:
    """A ballistic fit of the free frames, at the last of them: a parabola for the centre of mass, constant
    spin in the cube's frame (moments of inertia are alike to 6 %, and it flies for a tenth of a second)."""
    t = (np.arange(free) - (free - 1)) / RATE
    lines = np.linalg.pinv(np.stack([np.ones(free), t], axis=1))
    q, spin = p[free - 1], between(p[free - 1], p[0]) / t[0]
    for _ in range(6):
        path = product(q, exponential(t[:, None] * spin))
        off = between(path, p[:free])  # in the frame of the cube then
        there = np.einsum("fij,fj->fi", matrices(product(conjugate(q), path)), off)
        offset, change = lines @ there
        q, spin = product(q, exponential(offset)), spin + change
    by_centre = np.einsum("lf,fij->lij", lines, matrices(p[:free]))
    return Toss(
        x[free:], p[free:], x[:free], p[:free], lines @ x[:free], by_centre, -0.5 * lines @ (t * t), q, spin
    )


def flown(tosses: Sequence[Toss]) -> tuple[Array, Array]:
    """The centre of mass [m] and gravity [m/s²] with which flights are straight but for falling."""
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
    found = np.linalg.solve(A, b)
    return np.asarray(found[:3], float), np.asarray(found[3:], float)


def errors(toss: Toss, place: Array, turn: Array) -> Array:
    """Distances [% of the width] and angles [degrees] at each frame, shape (frames, 2)."""
    n = len(place)
    off = np.linalg.norm(place - toss.place[:n], axis=1) / (2.0 * HALF)
    angle = np.linalg.norm(logarithm(product(conjugate(toss.turn[:n]), turn)), axis=1)
    return np.stack([100.0 * off, np.degrees(angle)], axis=1)


def read_arrays(path: str | PathLike[str]) -> tuple[Array, IntArray]:
    """`rows` and `start` of a file; a FormatError says what is wrong with it."""

    def fail(place: str, expected: str, found: object) -> NoReturn:
        raise FormatError.at(path, place, expected, str(found)) from None

    archive, held = "an archive of arrays (.npz)", {}
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
                    held[name] = np.asarray(stored[name])
    except FormatError:
        raise
    except _BROKEN as error:
        said = (str(error).splitlines() or [""])[0][:80]
        fail("the file", archive, said or type(error).__name__)
    rows, start = held["rows"], held["start"]
    if rows.ndim != 2 or rows.shape[1] != 13 or rows.dtype.kind not in "fiu":
        fail("rows", "numbers, shape (N, 13)", f"{rows.dtype}, shape {rows.shape}")
    if start.ndim != 1 or start.size < 2 or start.dtype.kind not in "iu":
        fail("start", "whole numbers, shape (tosses + 1,)", f"{start.dtype}, shape {start.shape}")
    rows, start = rows.astype(float), start.astype(np.int64)
    grows = (np.diff(start) >= 1).all()
    if start[0] != 0 or start[-1] != len(rows) or not grows:
        ends = f"{start[0]} to {start[-1]}{'' if grows else ', not growing'}"
        fail("start", f"numbers that grow from 0 to {len(rows)}", ends)
    length = np.linalg.norm(rows[:, 3:7], axis=1)
    for wanted, good, part in (
        ("finite places", np.isfinite(rows[:, :3]).all(axis=1), slice(3)),
        ("finite quaternions", np.isfinite(rows[:, 3:7]).all(axis=1), slice(3, 7)),
        ("a quaternion of length 1", np.abs(length - 1.0) <= 0.1, slice(3, 7)),
    ):
        if not good.all():
            k = int(np.argmin(good))
            fail(f"row {k}", wanted, rows[k, part])
    return rows, start
