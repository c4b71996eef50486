"""The tossed cube in MuJoCo: the same shape and numbers, its own soft contacts.

In the place of restitution stand a time constant, a damping ratio and a slack (`solref`, `solimp`). Friction
has two values as well: that of impacts holds while the table bears more than a few weights of the cube.
"""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from stickslip.detection.mujoco_library import load_mujoco
from stickslip.rotations import between, matrices
from stickslip.state import Array
from stickslip.studies.tosses_models import SHAPE, Number, Ride
from stickslip.studies.tosses_records import CORNERS, HALF, RATE, Site, Toss

mujoco: Any = load_mujoco()

STEPS = 16, 32
"""Steps in a frame where numbers are fitted, and where tosses are predicted."""
HARD = 4.0
"""Weights that the table bears from which on friction is that of impacts."""
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
CORNER = '<geom type="sphere" size="{radius}" pos="{place}" contype="1" conaffinity="0"/>'
MU, HIT, TIME, DAMPING, SLACK, J, CENTRE, RADIUS, TILT = (
    0, 1, 2, 3, 4, slice(5, 8), slice(8, 11), 11, slice(12, 14)
)  # fmt: skip
"""Places of the numbers."""


class SoftCube:
    """MuJoCo's cube on a table; a `Model`. Not fitted, contacts are as MuJoCo has them by default."""

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
            corners=corners, quat=_text(site.turn(theta[TILT])),
        )  # fmt: skip
        self.model = mujoco.MjModel.from_xml_string(xml)

    def ride(self, toss: Toss, frames: int | None = None, sensitive: bool = False) -> Ride:
        """A toss, predicted; derivatives by central differences."""
        frames = min(frames or len(toss.place), len(toss.place))
        found = self._carried(toss, frames)
        if not sensitive:
            return found
        by = np.empty((frames, 6, len(self.theta)))
        for k, number in enumerate(self.numbers):
            change = np.zeros(len(self.theta))
            change[k] = 0.02 * number.scale
            ends = [SoftCube(self.site, self.theta + s * change) for s in (1.0, -1.0)]
            there, back = (one._carried(toss, frames) for one in ends)
            by[:, :3, k] = (there.place - back.place) / (2.0 * change[k])
            by[:, 3:, k] = between(back.turn, there.turn) / (2.0 * change[k])
        return Ride(found.place, found.turn, found.penetration, by)

    def _carried(self, toss: Toss, frames: int) -> Ride:
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
    return " ".join(map(repr, np.asarray(x, float).tolist()))
