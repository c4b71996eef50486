"""Interface of models of a tossed cube (fitted numbers, predicted tosses), and MuJoCo's model.

Instead of restitution, MuJoCo's model has a time constant, a damping ratio and a slack (`solref`, `solimp`)
of its soft contacts. Friction has two values as in stickslip's model: that of impacts holds while the table
carries more than a few weights of the cube.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from stickslip.detection.mujoco_library import load_mujoco
from stickslip.rotations import between, matrices
from stickslip.state import Array
from stickslip.studies.tosses_records import CORNERS, HALF, RATE, UNIT, Site, Toss

TILT = "more tilt about"
"""Prefix of the names of numbers of the table's tilt."""
SOLID = 2.0 / 3.0 * HALF**2
"""Moment of inertia over mass of a solid cube [m²]."""


@dataclass(frozen=True)
class Number:
    """A number of a model, a parameter of fits."""

    name: str
    """Name in tables."""
    nominal: float
    """Value without a fit."""
    guess: float
    """Initial value of a fit."""
    scale: float
    """Typical change in a fit."""
    lower: float
    """Lower bound."""
    upper: float
    """Upper bound."""
    unit: str = "-"
    """Unit in tables."""
    over: float = 1.0
    """Value of the unit of tables; 0 if the number is a logarithm."""

    def shown(self, value: float) -> float:
        """Return the value in the unit of tables."""
        return float(value / self.over if self.over else np.exp(value))


def _moment(axis: str) -> Number:
    """Return the number of a moment of inertia."""
    limits = (0.1 * UNIT**2, 0.2 * SOLID, 3.0 * SOLID)
    return Number(f"moment of inertia, {axis}", SOLID, SOLID, *limits, "of the solid cube's", SOLID)


def _centre(axis: str) -> Number:
    """Return the number of a coordinate of the centre of mass."""
    return Number(f"centre of mass, {axis}", 0.0, 0.0, 0.02 * UNIT, -0.3 * UNIT, 0.3 * UNIT, "mm", 1e-3)


SHAPE = (
    *(_moment(axis) for axis in "xyz"),
    *(_centre(axis) for axis in "xyz"),
    Number("radius of corners", 0.002 * UNIT, 0.02 * UNIT, 0.03 * UNIT, 0.002 * UNIT, 0.3 * UNIT, "mm", 1e-3),
    *(Number(f"{TILT} {axis}", 0.0, 0.0, 3e-3, -0.05, 0.05, "deg", np.pi / 180.0) for axis in "xy"),
)
"""Numbers of the cube: moments of inertia over mass [m²], centre of mass [m], radius of the corners [m]; and
of the table: its additional tilt for impacts, relative to that of cubes at rest [rad]. Cubes at rest
determine the half-width."""


@dataclass(frozen=True, eq=False)
class Ride:
    """A predicted toss."""

    place: Array
    """Positions of the cube's centre at each frame [m], shape (frames, 3)."""
    turn: Array
    """Quaternions of the cube at each frame [-], shape (frames, 4)."""
    penetration: float
    """Deepest overlap with the table [m]."""
    by: Array | None = None
    """Derivatives of position and orientation (in the cube's frame) with respect to each of the k numbers
    [m, rad over the unit of the number], shape (frames, 6, k)."""


class Model(Protocol):
    """A cube with given numbers on a table."""

    title: ClassVar[str]
    """Name in tables."""
    numbers: ClassVar[tuple[Number, ...]]
    """Numbers of the model, `SHAPE` last."""
    rough: ClassVar[bool]
    """Whether derivatives are differences, so that a search without derivatives follows each stage of a
    fit."""
    late: ClassVar[tuple[str, ...]]
    """Names of the numbers that the last stage fits over the whole length of tosses."""

    def __init__(self, site: Site, theta: Array, fine: bool = False) -> None: ...

    def ride(self, toss: Toss, frames: int | None = None, sensitive: bool = False) -> Ride:
        """Return the prediction of a toss over so many frames (None: all); `sensitive`: with derivatives."""


def column(numbers: Sequence[Number], field: str) -> Array:
    """Return one field of all numbers, in the unit of each [-], shape (k,)."""
    return np.array([getattr(number, field) for number in numbers], float)


mujoco: Any = load_mujoco()
"""The package mujoco."""

STEPS = 16, 32
"""Steps per frame in fits and in predictions."""
HARD = 4.0
"""Force on the table above which friction is that of impacts, over the cube's weight [-]; heuristic."""
MODEL = """
<mujoco>
  <option timestep="{h}" gravity="{gravity}" cone="elliptic" iterations="100" tolerance="1e-10"/>
  <worldbody>
    <geom name="table" type="plane" size="0 0 1" quat="{quat}" friction="{mu} 0 0" priority="1"
          condim="3" solref="{time} {damping}" solimp="{least} {most} 0.001"/>
    <body name="cube"><freejoint/><inertial pos="{centre}" mass="1" diaginertia="{J}"/>{corners}</body>
  </worldbody>
</mujoco>
"""
"""MuJoCo's model, a template of XML."""
CORNER = '<geom type="sphere" size="{radius}" pos="{place}" contype="1" conaffinity="0"/>'
"""Template of a corner of the cube."""
MU, HIT, TIME, DAMPING, SLACK, J, CENTRE, RADIUS, TILTING = (
    0, 1, 2, 3, 4, slice(5, 8), slice(8, 11), 11, slice(12, 14)
)  # fmt: skip
"""Indices of the numbers of `SoftCube`."""


class SoftCube:
    """MuJoCo's cube on a table; a `Model`. The nominal contacts are MuJoCo's defaults."""

    title: ClassVar[str] = "MuJoCo"
    numbers: ClassVar[tuple[Number, ...]] = (
        Number("friction", 1.0, 0.2, 0.02, 0.01, 1.5),
        Number("friction of impacts", 1.0, 0.2, 0.01, 0.01, 1.5),
        Number("time constant", np.log(0.02), np.log(0.004), 0.2, np.log(1e-3), np.log(0.1), "s", 0.0),
        Number("damping ratio", 0.0, np.log(0.5), 0.2, np.log(0.05), np.log(3.0), "-", 0.0),
        Number("slack 1 - d", np.log(0.05), np.log(0.05), 0.3, np.log(1e-4), np.log(0.3), "-", 0.0),
        *SHAPE,
    )
    rough: ClassVar[bool] = True
    late: ClassVar[tuple[str, ...]] = (
        "friction", "friction of impacts", "time constant", "damping ratio", "slack 1 - d"
    )  # fmt: skip

    def __init__(self, site: Site, theta: Array, fine: bool = False) -> None:
        self.site, self.theta, self.centre = site, theta, theta[CENTRE]
        radius, slack = float(theta[RADIUS]), float(np.exp(theta[SLACK]))
        places = CORNERS * (HALF - radius)
        corners = "".join(CORNER.format(radius=radius, place=_text(place)) for place in places)
        self.steps = STEPS[int(fine)]
        xml = MODEL.format(
            h=1.0 / (self.steps * RATE), gravity=_text(site.gravity), mu=float(theta[MU]),
            time=float(np.exp(theta[TIME])), damping=float(np.exp(theta[DAMPING])),
            least=1.0 - 2.0 * slack, most=1.0 - slack, centre=_text(self.centre), J=_text(theta[J]),
            corners=corners, quat=_text(site.turn(theta[TILTING])),
        )  # fmt: skip
        self.model = mujoco.MjModel.from_xml_string(xml)

    def ride(self, toss: Toss, frames: int | None = None, sensitive: bool = False) -> Ride:
        """Return the prediction of a toss, see `Model.ride`; derivatives are central differences."""
        frames = min(frames or len(toss.place), len(toss.place))
        ride = self._carried(toss, frames)
        if not sensitive:
            return ride
        by = np.empty((frames, 6, len(self.theta)))
        for k, number in enumerate(self.numbers):
            change = np.zeros(len(self.theta))
            change[k] = 0.02 * number.scale
            ends = [SoftCube(self.site, self.theta + s * change) for s in (1.0, -1.0)]
            plus, minus = (cube._carried(toss, frames) for cube in ends)
            by[:, :3, k] = (plus.place - minus.place) / (2.0 * change[k])
            by[:, 3:, k] = between(minus.turn, plus.turn) / (2.0 * change[k])
        return Ride(ride.place, ride.turn, ride.penetration, by)

    def _carried(self, toss: Toss, frames: int) -> Ride:
        """Return the prediction of a toss without derivatives."""
        model, data = self.model, mujoco.MjData(self.model)
        mu, hit = self.theta[MU], self.theta[HIT]
        weight = HARD * np.linalg.norm(self.site.gravity)
        place, velocity = toss.start(self.centre, self.site.gravity)
        R = matrices(toss.start_turn)
        data.qpos[:] = np.concatenate([place - R @ self.centre, toss.start_turn])
        data.qvel[:3], data.qvel[3:] = velocity - R @ np.cross(toss.spin, self.centre), toss.spin
        out, deepest = np.empty((frames, 7)), 0.0
        for k in range(frames):
            for _ in range(self.steps):
                model.geom_friction[0, 0] = hit if data.qfrc_constraint[2] > weight else mu
                mujoco.mj_step(model, data)
                if data.ncon:
                    deepest = max(deepest, -float(data.contact.dist.min()))
            out[k] = data.qpos
        return Ride(out[:, :3], out[:, 3:], deepest)


def _text(x: ArrayLike) -> str:
    """Return numbers as text of XML attributes, exact to the last bit."""
    return " ".join(map(repr, np.asarray(x, float).tolist()))
