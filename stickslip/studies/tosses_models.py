"""What a model of a tossed cube is: numbers that are fitted, and rides that it predicts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from stickslip.state import Array
from stickslip.studies.tosses_records import HALF, UNIT, Site, Toss

TILT = "more tilt about"
"""What numbers of the table's tilt are called."""
SOLID = 2.0 / 3.0 * HALF**2
"""Moment of inertia over mass of a solid cube [m²]."""


@dataclass(frozen=True)
class Number:
    """One number of a model."""

    name: str
    """What it is."""
    nominal: float
    """Its value where nothing is fitted."""
    guess: float
    """Where a fit begins."""
    scale: float
    """A change of it that is neither small nor large."""
    lower: float
    """Least value."""
    upper: float
    """Largest value."""
    unit: str = "-"
    """Unit in tables."""
    over: float = 1.0
    """What it is divided by there; 0 where the number is a logarithm."""

    def shown(self, value: float) -> float:
        """The value in the unit of tables."""
        return float(value / self.over if self.over else np.exp(value))


def _moment(axis: str) -> Number:
    limits = (0.1 * UNIT**2, 0.2 * SOLID, 3.0 * SOLID)
    return Number(f"moment of inertia, {axis}", SOLID, SOLID, *limits, "of the solid cube's", SOLID)


def _centre(axis: str) -> Number:
    return Number(f"centre of mass, {axis}", 0.0, 0.0, 0.02 * UNIT, -0.3 * UNIT, 0.3 * UNIT, "mm", 1e-3)


SHAPE = (
    *(_moment(axis) for axis in "xyz"),
    *(_centre(axis) for axis in "xyz"),
    Number("radius of corners", 0.002 * UNIT, 0.02 * UNIT, 0.03 * UNIT, 0.002 * UNIT, 0.3 * UNIT, "mm", 1e-3),
    *(Number(f"{TILT} {axis}", 0.0, 0.0, 3e-3, -0.05, 0.05, "deg", np.pi / 180.0) for axis in "xy"),
)
"""What the cube is like: moments of inertia over mass [m²], centre of mass [m], radius of the corners [m];
last, how much more the table is tilted for impacts than for cubes at rest [rad]. The half-width is not among
them: cubes at rest tell it."""


@dataclass(frozen=True, eq=False)
class Ride:
    """A predicted toss."""

    place: Array
    """Of the cube's centre at each frame [m], shape (frames, 3)."""
    turn: Array
    """Quaternions there [-], shape (frames, 4)."""
    penetration: float
    """Deepest overlap with the table [m]."""
    by: Array | None = None
    """Changes of place and turn (in the cube's frame) with each of the k numbers [m, rad over the unit of the
    number], shape (frames, 6, k)."""


class Model(Protocol):
    """A cube with given numbers on a table."""

    title: ClassVar[str]
    """What tables call it."""
    numbers: ClassVar[tuple[Number, ...]]
    """What is fitted, `SHAPE` last."""
    rough: ClassVar[bool]
    """Whether its derivatives are differences, so that a search without any goes on from them."""
    late: ClassVar[tuple[str, ...]]
    """What is fitted over the whole length of tosses."""

    def __init__(self, site: Site, theta: Array, fine: bool = False) -> None: ...

    def ride(self, toss: Toss, frames: int | None = None, sensitive: bool = False) -> Ride:
        """A toss, predicted over so many frames or all; with its derivatives where asked."""


def column(numbers: Sequence[Number], field: str) -> Array:
    """One field of all numbers, in the unit of each [-], shape (k,)."""
    return np.array([getattr(number, field) for number in numbers], float)
