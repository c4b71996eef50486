"""Time of robot steps compared with MuJoCo, on the same models with the elliptic cone and Newton's solver.

    python benchmarks/robots.py                        all models, some minutes
    python benchmarks/robots.py --models gripper,ant --steps 500

Of each model: median and 95th percentile of the time of a step, each engine on its own trajectory (`own`) and
both from the states of ours (`same`); the largest residual of the judge; steps longer than ten times the
median. Times are processor times of steps asked for one by one from Python, as `mj_step` is.

At our states contacts are closed to rounding, and MuJoCo, which looks for overlaps, has no force for them: a
robot that stands falls freely there. So there is a third ratio, with margins of TOUCHING for MuJoCo, by which
it has the contacts that ours solves (`touching`), and the median numbers of contacts: ours, and MuJoCo's of
the three ratios.
"""

import argparse
import copy
import time
from importlib.util import find_spec
from pathlib import Path

import mujoco
import numpy as np

import stickslip as ss

TOUCHING = 1e-4
"""Margin of geoms within which MuJoCo generates contacts [m]."""
STANCE = np.tile([0.0, 0.7, -1.4], 4)
LEGS = (("fl", 0.19, 1), ("fr", 0.19, -1), ("rl", -0.19, 1), ("rr", -0.19, -1))


def trunk(name: str, x: float, y: float) -> tuple[str, str]:
    """A quadruped at (x, y): its body and its servos."""
    legs = "".join(
        f"""<body pos="{ahead} {0.05 * side} 0">
        <joint name="{name}{leg}_abduction" axis="1 0 0" range="-50 50"/>
        <geom class="link" fromto="0 0 0 0 {0.06 * side} 0" size=".03" mass=".6"/>
        <body pos="0 {0.08 * side} 0"><joint name="{name}{leg}_hip" axis="0 1 0" range="-120 120"/>
        <geom class="link" fromto="0 0 0 0 0 -.2" size=".02" mass=".8"/>
        <body pos="0 0 -.2"><joint name="{name}{leg}_knee" axis="0 1 0" range="-160 -5"/>
        <geom class="link" fromto="0 0 0 0 0 -.2" size=".012" mass=".15"/>
        <geom type="sphere" pos="0 0 -.2" size=".022" mass=".05"/></body></body></body>"""
        for leg, ahead, side in LEGS
    )
    servos = "".join(
        f'<position joint="{name}{leg}_{joint}" kp="60" kv="2" forcerange="-30 30"/>'
        for leg, _, _ in LEGS
        for joint in ("abduction", "hip", "knee")
    )
    body = f"""<body name="{name}trunk" pos="{x} {y} .32"><freejoint/>
    <geom type="box" size=".2 .05 .05" mass="7"/>{legs}</body>"""
    return body, servos


def quadrupeds(count: int) -> str:
    """So many quadrupeds, apart from each other."""
    made = [trunk(f"q{k}_", 1.0 * (k % 5), 0.8 * (k // 5)) for k in range(count)]
    bodies, servos = ("".join(parts) for parts in zip(*made, strict=True))
    return f"""<mujoco><compiler angle="degree"/><option timestep=".002"/>
    <default><joint armature=".01" damping=".1" frictionloss=".1"/><geom friction=".8 .01 .001"/>
    <default class="link"><geom type="capsule" contype="0" conaffinity="0"/></default></default>
    <worldbody><geom type="plane" size="9 9 .1"/>{bodies}</worldbody><actuator>{servos}</actuator></mujoco>"""


def gripper() -> str:
    """Two pads press 8 N each on a box of 300 g."""
    pads = "".join(
        f"""<body pos="{0.06 * s} 0 -.08"><joint name="{name}" type="slide" axis="{s} 0 0" range="-.06 .02"/>
        <geom type="box" size=".01 .02 .05" mass=".1"/></body>"""
        for name, s in (("a", 1), ("b", -1))
    )
    return f"""<mujoco><option timestep=".002"/><default><geom friction=".8 .005 .0001"/></default><worldbody>
    <body pos="0 0 .5"><joint name="lift" type="slide" axis="0 0 1" damping="1"/>
    <geom type="box" size=".1 .03 .02" mass="1" contype="0" conaffinity="0"/>{pads}</body>
    <body pos="0 0 .42"><freejoint/><geom type="box" size=".0499 .02 .03" mass=".3"/></body></worldbody>
    <actuator><position joint="lift" kp="4000" kv="120"/><motor joint="a" gear="-1"/>
    <motor joint="b" gear="-1"/>
    </actuator></mujoco>"""


def standing(count: int):
    """Targets of servos: legs as at the start."""
    return lambda t: np.tile(STANCE, count)


def trot(t: float) -> np.ndarray:
    """Targets of servos: diagonal legs together, 2.5 times a second."""
    target = STANCE.copy().reshape(4, 3)
    for leg, half in enumerate((0, 1, 1, 0)):
        phase = 2.0 * np.pi * 2.5 * t + np.pi * half
        lift = max(0.0, np.sin(phase))
        target[leg, 1:] += -0.25 * np.cos(phase) + 0.35 * lift, -0.7 * lift
    return target.ravel()


def waves(model: mujoco.MjModel):
    """Sines within the limits of the controls, with phases of their own."""
    phase = np.arange(model.nu)
    half = 0.5 * (model.actuator_ctrlrange[:, 1] - model.actuator_ctrlrange[:, 0])
    middle = model.actuator_ctrlrange.mean(axis=1)
    return lambda t: middle + 0.7 * half * np.sin(6.0 * t + phase)


def of_gymnasium(name: str) -> Path | None:
    """A model file of Gymnasium's package; None without it."""
    found = find_spec("gymnasium")
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent / "envs" / "mujoco" / "assets" / name


def models() -> dict:
    """By name: what it is loaded from, the joints at the start, and the controls over time."""
    made = {
        "standing": (quadrupeds(1), STANCE, standing(1)), "trotting": (quadrupeds(1), STANCE, trot),
        "gripper": (gripper(), None, lambda t: np.array([0.0, 8.0, 8.0])),
        "ten": (quadrupeds(10), STANCE, standing(10)),
    }  # fmt: skip
    for name in ("ant", "half_cheetah", "humanoid"):
        path = of_gymnasium(f"{name}.xml")
        if path is not None:
            made[name] = path, None, None
    return made


def start_of(robot: ss.Robot, joints) -> np.ndarray:
    """Positions to begin with, hinges as given on every robot."""
    q, m = np.array(robot.start.q), robot.model
    if joints is not None:
        hinges = [int(a) for a, kind in zip(m.jnt_qposadr, m.jnt_type, strict=True) if kind == 3]
        q[hinges] = np.tile(joints, len(hinges) // len(joints))
    return q


def beside(name: str, source, joints, control, steps: int, skip: int = 100) -> None:
    """One line for a model."""
    robot = ss.Robot.load(source)
    m = (
        mujoco.MjModel.from_xml_string(source)
        if isinstance(source, str)
        else mujoco.MjModel.from_xml_path(str(source))
    )
    m.opt.cone, m.opt.solver = mujoco.mjtCone.mjCONE_ELLIPTIC, mujoco.mjtSolver.mjSOL_NEWTON
    m.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    q, h, wide = start_of(robot, joints), float(m.opt.timestep), copy.copy(m)
    wide.geom_margin[:] += 0.5 * TOUCHING
    own, same, touching = mujoco.MjData(m), mujoco.MjData(m), mujoco.MjData(wide)
    own.qpos[:] = q
    control = waves(m) if control is None else control
    live = ss.live(robot, h=h, start=robot.state(q), record=10**6)
    data, times, worst = live.data, np.zeros((steps, 4)), 0.0
    contacts: list = []
    engines = (
        live.step,
        lambda: mujoco.mj_step(m, own),
        lambda: mujoco.mj_step(m, same),
        lambda: mujoco.mj_step(wide, touching),
    )
    for k in range(steps):
        own.ctrl[:] = data.ctrl[:] = control(k * h)
        for other in (same, touching):
            other.ctrl[:], other.qpos[:], other.qvel[:] = data.ctrl, data.qpos, data.qvel
            other.act[:] = data.act
        # In turn, so that each engine finds caches as cold as the others do.
        for turn in range(4):
            engine = (k + turn) % 4
            start = time.thread_time()
            engines[engine]()
            times[k, engine] = time.thread_time() - start
        worst = max(worst, live.residual)
        if k % 20 == 0:
            contacts.append((len(live.contacts.gap), own.ncon, same.ncon, touching.ncon))
    us = 1e6 * times[skip:]
    ours, theirs, there, closed = np.median(us, axis=0)
    tail = np.percentile(us, 95, axis=0)
    long = int((us[:, 0] > 10.0 * ours).sum())
    print(
        f"{name:13} nv {m.nv:3}  ours {ours:6.1f} us (95 %: {tail[0]:6.1f})"
        f"  MuJoCo {theirs:6.1f} ({tail[1]:6.1f})"
        f"  ratio {ours / theirs:4.2f} own, {ours / there:4.2f} same, {ours / closed:4.2f} touching"
        f"  contacts {' '.join(f'{number:.0f}' for number in np.median(contacts, axis=0))}"
        f"  residual {worst:.0e}  above ten medians {long}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = models()
    parser.add_argument("--models", default=",".join(known))
    parser.add_argument("--steps", type=int, default=1500)
    given = parser.parse_args()
    for name in given.models.split(","):
        if name not in known:
            parser.error(f"no model {name!r}; known: {', '.join(known)}")
        beside(name, *known[name], given.steps)


if __name__ == "__main__":
    main()
