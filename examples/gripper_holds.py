"""A gripper holds a box for ten seconds: here it stays, in MuJoCo it slides out.

Purpose: one model, two engines. Two pads press with 8 N each on a box of 2.94 N; friction could carry
2 mu F = 12.8 N, so that Coulomb's law holds the box for ever. MuJoCo's contact, here as it is by default, is
soft and lets what sticks creep; hard contact keeps the box to 1e-9 m. A folder as argument gets the picture.
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
    """Times [s], and heights of the box over the hand [m], by MuJoCo's own steps."""
    model = mujoco.MjModel.from_xml_string(MJCF)
    data, found = mujoco.MjData(model), []
    mujoco.mj_resetDataKeyframe(model, data, 0)
    while data.time < UNTIL:
        mujoco.mj_step(model, data, EVERY)
        found.append((data.time, data.joint("box").qpos[2] - data.joint("lift").qpos[0]))
    return np.array(found).T


def main():
    """The run, and what MuJoCo makes of the same model."""
    robot = ss.Robot.load(MJCF)
    return ss.simulate(robot, until=UNTIL, start=robot.key("hold"), record=EVERY), by_mujoco()


def curves(run, soft):
    """By engine: times after the box has settled [s], and how far it has slid since then [m]."""
    height = run.joint("box").position[:, 2] - run.joint("lift").position
    both = {"stickslip": (run.t, height), "MuJoCo": soft}
    later = {name: (t[t > SETTLED], height[t > SETTLED]) for name, (t, height) in both.items()}
    return {name: (t, height[0] - height) for name, (t, height) in later.items()}


def check(run, soft):
    """The box stays, and the pads carry its weight; MuJoCo's slides all the time."""
    ways = {name: way for name, (_, way) in curves(run, soft).items()}
    assert np.abs(ways["stickslip"]).max() < 1e-9
    np.testing.assert_allclose(run.forces_on("box")[-1], [0.0, 0.0, MASS * G], atol=1e-6)
    assert run.ok.all()
    assert ways["MuJoCo"][-1] > 1e-3
    assert (np.diff(ways["MuJoCo"]) > 0.0).all()


def picture(run, soft, path):
    """How far the box slides, by either engine."""
    drawn = [Curve(name, t, 1e3 * way) for name, (t, way) in curves(run, soft).items()]
    panel = Panel("The box slides down between the pads", "t [s]", "[mm]", drawn)
    draw(Figure("A gripper that could hold four times the weight", [panel]), path)


if __name__ == "__main__":
    held, other = main()
    check(held, other)
    for engine, (_, way) in curves(held, other).items():
        print(f"{engine}: the box slides {way[-1]:.2e} m in {UNTIL - SETTLED:g} s")
    if len(sys.argv) > 1:
        picture(held, other, f"{sys.argv[1]}/gripper_holds.png")
