"""A gripper holds a box for ten seconds: with hard contact it sticks, with soft contact it slides out.

Purpose: run one model in two engines. Two pads press with 8 N each on a box that weighs 2.94 N; friction can
carry 2 mu F = 12.8 N, so the box sticks under Coulomb's law. MuJoCo's soft contact, with default parameters,
creeps; hard contact holds the box to 1e-9 m. With a folder as argument, the figure is written to it.
"""

import sys

import mujoco
import numpy as np

import stickslip as ss
from stickslip.view import Curve, Figure, Panel, draw

MU, FORCE, MASS, G = 0.8, 8.0, 0.3, 9.81  # -, N, kg, m/s²
SETTLED, UNTIL, EVERY = 1.0, 11.0, 50  # s, s, steps between two records
PAD = """<body name="{0}" pos="{1} 0 -.08"><joint name="{0}" type="slide" axis="{2} 0 0" range="-.06 .02"/>
  <geom type="box" size=".01 .02 .05" mass=".1"/></body>"""
MJCF = f"""<mujoco><option timestep=".002" gravity="0 0 {-G}" cone="elliptic"/>
  <default><geom friction="{MU} .005 .0001"/></default><worldbody>
  <body name="hand" pos="0 0 .5"><joint name="lift" type="slide" axis="0 0 1" damping="1"/>
  <geom type="box" size=".1 .03 .02" mass="1" contype="0" conaffinity="0"/>
  {PAD.format("left", -0.06, -1)}{PAD.format("right", 0.06, 1)}</body>
  <body name="box" pos="0 0 .42"><freejoint name="box"/>
  <geom type="box" size=".0499 .02 .03" mass="{MASS}"/></body></worldbody>
  <actuator><position joint="lift" kp="4000" kv="120"/><motor joint="left" gear="-1"/>
  <motor joint="right" gear="-1"/></actuator>
  <keyframe><key name="hold" ctrl="0 {FORCE} {FORCE}"/></keyframe></mujoco>"""


def by_mujoco():
    """Times [s], and heights of the box relative to the hand [m], simulated by MuJoCo."""
    model = mujoco.MjModel.from_xml_string(MJCF)
    data, records = mujoco.MjData(model), []
    mujoco.mj_resetDataKeyframe(model, data, 0)
    while data.time < UNTIL:
        mujoco.mj_step(model, data, EVERY)
        records.append((data.time, data.joint("box").qpos[2] - data.joint("lift").qpos[0]))
    return np.array(records).T


def main():
    """The run of stickslip, and times and heights of MuJoCo for the same model."""
    robot = ss.Robot.load(MJCF)
    return ss.simulate(robot, until=UNTIL, start=robot.key("hold"), record=EVERY), by_mujoco()


def curves(run, soft):
    """By engine: times after the box has settled [s], and its displacement downwards since then [m]."""
    height = run.joint("box").position[:, 2] - run.joint("lift").position
    heights = {"stickslip": (run.t, height), "MuJoCo": soft}
    later = {name: (t[t > SETTLED], height[t > SETTLED]) for name, (t, height) in heights.items()}
    return {name: (t, height[0] - height) for name, (t, height) in later.items()}


def check(run, soft):
    """The box sticks and the pads carry its weight; in MuJoCo it slides all the time."""
    slides = {name: way for name, (_, way) in curves(run, soft).items()}
    assert np.abs(slides["stickslip"]).max() < 1e-9
    np.testing.assert_allclose(run.forces_on("box")[-1], [0.0, 0.0, MASS * G], atol=1e-6)
    assert run.ok.all()
    assert slides["MuJoCo"][-1] > 1e-3
    assert (np.diff(slides["MuJoCo"]) > 0.0).all()


def picture(run, soft, path):
    """Draw the displacement of the box in both engines."""
    lines = [Curve(name, t, 1e3 * way) for name, (t, way) in curves(run, soft).items()]
    panel = Panel("The box slides down between the pads", "t [s]", "[mm]", lines)
    draw(Figure("A gripper that could hold four times the weight", [panel]), path)


if __name__ == "__main__":
    held, other = main()
    check(held, other)
    for engine, (_, way) in curves(held, other).items():
        print(f"{engine}: the box slides {way[-1]:.2e} m in {UNTIL - SETTLED:g} s")
    if len(sys.argv) > 1:
        picture(held, other, f"{sys.argv[1]}/gripper_holds.png")
