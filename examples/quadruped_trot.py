"""A quadruped trots: a function sets the targets of eight position servos before every step.

Purpose: simulate a robot from MJCF with a controller and hard contact. Diagonal legs swing together. The
impulses of the floor equal the change of momentum plus the impulse of gravity, every force lies in its
friction cone, and no foot penetrates the floor. With a folder as argument, the figure is written to it.
"""

import sys

import numpy as np

import stickslip as ss
from stickslip.view import Curve, Figure, Panel, draw

MU, G, UNTIL, RATE = 0.9, 9.81, 3.0, 2.0  # -, m/s², s, 1/s
LEGS = {"front_left": (1, 1), "front_right": (1, -1), "rear_left": (-1, 1), "rear_right": (-1, -1)}
STANCE = np.array([0.65, -1.3])  # hip and knee [rad]
LEG = """<body name="{0}" pos="{1} {2} 0"><joint name="{0}_hip" axis="0 1 0" range="-1.5 1.5"/>
  <geom class="limb" fromto="0 0 0 0 0 -.18" size=".02" mass=".5"/>
  <body name="{0}_shank" pos="0 0 -.18"><joint name="{0}_knee" axis="0 1 0" range="-2.6 -.1"/>
  <geom class="limb" fromto="0 0 0 0 0 -.18" size=".014" mass=".15"/>
  <geom pos="0 0 -.18" size=".02" mass=".05"/></body></body>"""


def mjcf():
    """MJCF of the robot on a floor, with a standing keyframe."""
    legs = "".join(LEG.format(name, 0.18 * x, 0.11 * y) for name, (x, y) in LEGS.items())
    joints = [f"{name}_{part}" for name in LEGS for part in ("hip", "knee")]
    servos = "".join(f'<position name="{j}" joint="{j}" kp="80" kv="2" forcerange="-25 25"/>' for j in joints)
    stance = " ".join(map(str, np.tile(STANCE, 4)))
    return f"""<mujoco><compiler angle="radian"/><option timestep=".002" gravity="0 0 {-G}"/><default>
      <joint armature=".005" damping=".05" frictionloss=".05"/><geom friction="{MU} .005 .0001"/>
      <default class="limb"><geom type="capsule" contype="0" conaffinity="0"/></default></default><worldbody>
      <geom type="plane" size="9 9 .1"/><body name="trunk" pos="0 0 .31"><freejoint name="trunk"/>
      <geom type="box" size=".22 .08 .05" mass="6"/>{legs}</body></worldbody><actuator>{servos}</actuator>
      <keyframe><key name="stand" qpos="0 0 .307 1 0 0 0 {stance}" ctrl="{stance}"/></keyframe></mujoco>"""


def trot(data):
    """Targets of the servos [rad]: a swinging leg is bent, and diagonal legs swing together."""
    phase = 2.0 * np.pi * RATE * data.time + np.pi * np.array([0.0, 1.0, 1.0, 0.0])
    lift = np.maximum(0.0, np.sin(phase))
    return (STANCE + np.stack([0.2 * np.cos(phase) + 0.35 * lift, -0.7 * lift], axis=1)).reshape(-1)


def main():
    """The run."""
    robot = ss.Robot.load(mjcf())
    return ss.simulate(robot, until=UNTIL, control=trot, start=robot.key("stand"))


def check(run):
    """Momentum, friction cones, no penetration, and a trunk that moves ahead and stays up."""
    mass = dict(zip(run.model.names, run.source.model.body_mass, strict=True))
    momentum = sum(m * run.body(name).centre_velocity[-1] for name, m in mass.items())
    impulse = momentum + np.array([0.0, 0.0, sum(mass.values()) * G * UNTIL])  # it starts at rest
    np.testing.assert_allclose(-run.h @ run.forces_on("world"), impulse, atol=1e-4 * impulse[2])
    feet = run.contact_table("world")
    assert (run.h.max() * (feet.friction_force - MU * feet.normal_force) <= run.tolerance).all()  # N s
    assert run.ok.all()
    assert run.penetration.max() < 1e-6
    x, _, z = run.body("trunk").position.T
    assert x[-1] > 0.5
    assert z.min() > 0.25


def picture(run, path):
    """Draw distance and height of the trunk, and two knees on opposite diagonals."""
    x, _, z = run.body("trunk").position.T
    knees = [Curve(name, run.t, run.joint(f"{name}_knee").position) for name in list(LEGS)[:2]]
    trunk = Panel("Trunk", "t [s]", "[m]", [Curve("distance", run.t, x), Curve("height", run.t, z)])
    draw(Figure("A quadruped trots", [trunk, Panel("Knees", "t [s]", "[rad]", knees)]), path)


if __name__ == "__main__":
    run = main()
    check(run)
    print(f"{run.body('trunk').position[-1, 0]:.3f} m in {UNTIL:g} s, every step certified")
    if len(sys.argv) > 1:
        picture(run, f"{sys.argv[1]}/quadruped_trot.png")
