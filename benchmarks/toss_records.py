"""Measured tosses of a cube: read, turned into one frame, and fitted where the cube flies.

The records are the ContactNets data set (DAIR Lab, as redistributed with Dojo.jl), 148 frames a second, in
nominal half-widths of 0.0524 m. Tracked lengths run 2 % short: the half-width is 0.978 of that and gravity
183.25 units/s². Here all is in metres.

Each toss was recorded as thrown in one direction and then turned about the vertical by an angle of its own.
Turned back, so that all throws go along x, they agree in what else would look like noise: gravity has a
horizontal part (the axis of the tracker is 0.9° off the vertical) and the table is tilted.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "cube_tosses.npz"
RATE, UNIT = 148.0, 0.0524
HALF, GRAVITY = 0.978 * UNIT, 183.25 * UNIT
CORNERS = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
CLEAR = 0.06 * UNIT
"""Height of the lowest corner above which a frame counts as free flight [m]."""
LEAST = 5
"""Frames of free flight that a toss must have."""
SHORT = 6
"""Frames that say where a throw goes."""


SOLID = 2.0 / 3.0 * HALF**2
"""Moment of inertia over mass of a solid cube [m²]."""
SHAPE = (
    ("Jx", SOLID, SOLID, 0.1 * UNIT**2, 0.2 * SOLID, 3.0 * SOLID),
    ("Jy", SOLID, SOLID, 0.1 * UNIT**2, 0.2 * SOLID, 3.0 * SOLID),
    ("Jz", SOLID, SOLID, 0.1 * UNIT**2, 0.2 * SOLID, 3.0 * SOLID),
    ("cx", 0.0, 0.0, 0.02 * UNIT, -0.3 * UNIT, 0.3 * UNIT),
    ("cy", 0.0, 0.0, 0.02 * UNIT, -0.3 * UNIT, 0.3 * UNIT),
    ("cz", 0.0, 0.0, 0.02 * UNIT, -0.3 * UNIT, 0.3 * UNIT),
    ("half", HALF, HALF, 0.01 * UNIT, 0.9 * UNIT, 1.1 * UNIT),
    ("radius", 0.002 * UNIT, 0.02 * UNIT, 0.03 * UNIT, 0.002 * UNIT, 0.3 * UNIT),
    ("tilt_x", 0.0, 0.0, 3e-3, -0.05, 0.05),
    ("tilt_y", 0.0, 0.0, 3e-3, -0.05, 0.05),
)
"""Of a cube on a table: moments of inertia over mass [m²], centre of mass [m], half-width [m], radius of the
corners [m], tilt of the table [rad]; each with its nominal value, where a fit begins, a step that is neither
small nor large, and bounds."""


def table(numbers):
    """Names, nominal values, first guesses, steps, lower and upper bounds of numbers."""
    names, *columns = zip(*numbers, strict=True)
    return names, *(np.array(column) for column in columns)


@dataclass(frozen=True, eq=False)
class Toss:
    """One toss from its last free frame on; what is fitted there depends on centre of mass and gravity."""

    place: np.ndarray
    """Of the cube's centre at the frames after the start [m], shape (frames, 3)."""
    turn: np.ndarray
    """Quaternions there, shape (frames, 4)."""
    fit: np.ndarray
    """Place and velocity of the cube's centre by straight lines [m, m/s], shape (2, 3)."""
    by_centre: np.ndarray
    """What a centre of mass in the cube's frame adds to them, shape (2, 3, 3)."""
    by_gravity: np.ndarray
    """What gravity adds to each of their components [s², s], shape (2,)."""
    start_turn: np.ndarray
    """Fitted quaternion at the start, shape (4,)."""
    spin: np.ndarray
    """Fitted spin in the cube's frame [rad/s], shape (3,)."""

    def start(self, centre, gravity):
        """Place and velocity of the centre of mass, shape (2, 3)."""
        return self.fit + self.by_centre @ centre + np.outer(self.by_gravity, gravity)


def read(path=DATA):
    """All tosses that fly long enough before contact, and how they fly, for `flown`."""
    data = np.load(path)
    tosses, flights = [], []
    for first, last in zip(data["start"][:-1], data["start"][1:], strict=True):
        rows = data["rows"][first:last]
        x, p = _turned_back(rows[:, :3] * UNIT, rows[:, 3:7] / np.linalg.norm(rows[:, 3:7], axis=1)[:, None])
        low = (x[:, None, 2] + HALF * np.einsum("fj,cj->fc", rotation(p)[:, 2], CORNERS)).min(axis=1)
        free = int(np.argmax(low < CLEAR)) if (low < CLEAR).any() else len(low)
        if free >= LEAST and free < len(low):
            tosses.append(_started(x, p, free))
            flights.append((x[:free], rotation(p[:free])))
    return tosses, flights


def _turned_back(x, p):
    """The toss turned about the vertical so that it is thrown along x."""
    way = x[SHORT - 1] - x[0]
    angle = -np.arctan2(way[1], way[0])
    turn = np.array([np.cos(angle / 2.0), 0.0, 0.0, np.sin(angle / 2.0)])
    return x @ rotation(turn).T, product(turn, p)


def _started(x, p, free):
    """A ballistic fit of the free frames, at the last of them."""
    t = (np.arange(free) - (free - 1)) / RATE
    lines = np.linalg.pinv(np.stack([np.ones(free), t], axis=1))
    q, spin = p[free - 1], -logarithm(product(conjugate(p[free - 1]), p[0])) / -t[0]
    for _ in range(6):
        path = product(q, exponential(t[:, None] * spin))
        off = logarithm(product(conjugate(path), p[:free]))  # in the frame of the cube then
        there = np.einsum("fij,fj->fi", rotation(product(conjugate(q), path)), off)
        offset, change = lines @ there
        q, spin = product(q, exponential(offset)), spin + change
    R = rotation(p[:free])
    by_gravity = -0.5 * lines @ (t * t)
    return Toss(x[free:], p[free:], lines @ x[:free], np.einsum("lf,fij->lij", lines, R), by_gravity, q, spin)


def flown(flights):
    """The centre of mass [m] and gravity [m/s²] with which flights are straight but for falling."""
    A, b = np.zeros((6, 6)), np.zeros(6)
    for x, R in flights:
        t = np.arange(len(x)) / RATE
        line = np.linalg.qr(np.stack([np.ones(len(x)), t], axis=1))[0]
        bend = 0.5 * t * t - line @ (line.T @ (0.5 * t * t))
        for axis in range(3):
            columns = np.zeros((len(x), 6))
            columns[:, :3] = R[:, axis] - line @ (line.T @ R[:, axis])
            columns[:, 3 + axis] = -bend
            A, b = A + columns.T @ columns, b - columns.T @ x[:, axis]
    found = np.linalg.solve(A, b)
    return found[:3], found[3:]


def errors(toss, place, turn):
    """Distances [% of the width] and angles [degrees] at each frame, shape (frames, 2)."""
    n = len(place)
    off = np.linalg.norm(place - toss.place[:n], axis=1) / (2.0 * HALF)
    angle = np.linalg.norm(logarithm(product(conjugate(toss.turn[:n]), turn)), axis=1)
    return np.stack([100.0 * off, np.degrees(angle)], axis=1)


def product(p, q):
    """Of quaternions, shape (..., 4)."""
    a, b, c, d = np.moveaxis(p, -1, 0)
    w, x, y, z = np.moveaxis(q, -1, 0)
    parts = (a * w - b * x - c * y - d * z, a * x + b * w + c * z - d * y,
             a * y - b * z + c * w + d * x, a * z + b * y - c * x + d * w)  # fmt: skip
    return np.stack(parts, axis=-1)


def conjugate(p):
    return p * np.array([1.0, -1.0, -1.0, -1.0])


def exponential(r):
    """The quaternion of a rotation vector."""
    angle = np.linalg.norm(r, axis=-1, keepdims=True)
    return np.concatenate([np.cos(angle / 2.0), np.sinc(angle / (2.0 * np.pi)) * r / 2.0], axis=-1)


def logarithm(p):
    """The rotation vector of a quaternion, of the shorter way."""
    p = np.where(p[..., :1] < 0.0, -p, p)
    s = np.linalg.norm(p[..., 1:], axis=-1, keepdims=True)
    return p[..., 1:] * np.where(s > 1e-12, 2.0 * np.arctan2(s, p[..., :1]) / np.maximum(s, 1e-12), 2.0)


def rotation(p):
    """Rotation matrices, shape (..., 3, 3)."""
    w, x, y, z = np.moveaxis(p, -1, 0)
    rows = ((1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
            (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
            (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)))  # fmt: skip
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
