"""The cube of `identify_tosses.py` in MuJoCo: the same shape and numbers, its own soft contacts."""

from types import SimpleNamespace

import mujoco
import numpy as np
import toss_records as records

STEPS = 16, 32
"""Steps in a frame where numbers are fitted, and where tosses are predicted."""
HARD = 4.0
"""Weights that the table bears from which on friction is that of impacts."""
MODEL = """
<mujoco>
  <option timestep="{h}" gravity="{gx} {gy} {gz}" cone="elliptic" iterations="100" tolerance="1e-10"/>
  <worldbody>
    <geom name="table" type="plane" size="0 0 1" quat="{quat}" friction="{mu} 0 0" priority="1"
          condim="3" solref="{time} {damping}"/>
    <body name="cube"><freejoint/><inertial pos="{centre}" mass="1" diaginertia="{J}"/>{corners}</body>
  </worldbody>
</mujoco>
"""
CORNER = '<geom type="sphere" size="{radius}" pos="{place}" contype="1" conaffinity="0"/>'


NUMBERS = (
    ("mu", 1.0, 0.2, 0.02, 0.01, 1.5),
    ("mu_hit", 1.0, 0.2, 0.01, 0.01, 1.5),
    ("time", np.log(0.02), np.log(0.01), 0.2, np.log(1e-3), np.log(0.1)),
    ("damping", 0.0, np.log(0.4), 0.2, np.log(0.05), np.log(3.0)),
    *records.SHAPE,
)
"""Friction, that of impacts, logarithms of time constant [s] and damping ratio of contacts, and what the cube
is like. Not fitted: MuJoCo's defaults."""


class SoftCube:
    """MuJoCo's cube on a table."""

    names, nominal, guess, scale, lower, upper = records.table(NUMBERS)
    rough, late = True, ("mu", "mu_hit", "time", "damping")

    def __init__(self, gravity, theta, fine=False):
        self.gravity, self.theta, self.centre = gravity, theta, theta[7:10]
        half, radius = theta[10], theta[11]
        text = lambda x: " ".join(map(repr, np.asarray(x, float).tolist()))  # noqa: E731
        places = records.CORNERS * (half - radius)
        corners = "".join(CORNER.format(radius=radius, place=text(place)) for place in places)
        gx, gy, gz = gravity
        self.steps = STEPS[int(fine)]
        xml = MODEL.format(
            h=1.0 / (self.steps * records.RATE), gx=gx, gy=gy, gz=gz, mu=theta[0], time=np.exp(theta[2]),
            damping=np.exp(theta[3]), centre=text(self.centre), J=text(theta[4:7]), corners=corners,
            quat=text(records.exponential(np.array([*theta[12:], 0.0]))),
        )  # fmt: skip
        self.model = mujoco.MjModel.from_xml_string(xml)

    def ride(self, toss, frames=None, sensitive=False):
        """A toss, predicted; derivatives by central differences."""
        frames = min(frames or len(toss.place), len(toss.place))
        place, turn, deepest = self._carried(toss, frames)
        by = None
        if sensitive:
            by = np.empty((frames, 6, len(self.theta)))
            for k, step in enumerate(0.02 * self.scale):
                change = np.zeros(len(self.theta))
                change[k] = step
                ends = [SoftCube(self.gravity, self.theta + s * change) for s in (1.0, -1.0)]
                there, back = (one._carried(toss, frames) for one in ends)
                by[:, :3, k] = (there[0] - back[0]) / (2.0 * step)
                between = records.product(records.conjugate(back[1]), there[1])
                by[:, 3:, k] = records.logarithm(between) / (2.0 * step)
        return SimpleNamespace(place=place, turn=turn, penetration=deepest, by=by)

    def _carried(self, toss, frames):
        model, data = self.model, mujoco.MjData(self.model)
        mu, hit = self.theta[:2]
        weight = HARD * np.linalg.norm(self.gravity)
        place, velocity = toss.start(self.centre, self.gravity)
        R = records.rotation(toss.start_turn)
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
        return out[:, :3], out[:, 3:], deepest
