"""Workloads of typical first programs; their kernels are in the wheel, which runs them without compilation.

They are README's code, every solver on small problems, short runs of scenes and of robots, and the demo.
"""

import re
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import stickslip as ss

ROOT = Path(__file__).parents[1]
ITERATIONS = 50
"""Iteration limit of the solvers, as a solution is not needed."""
ELSEWHERE = ("ipm-step",)
"""Solvers whose kind of problem is not in `problems`."""


def readme() -> None:
    """Run the blocks of Python in the README in order, and the first batch of the documentation."""
    names: dict[str, object] = {}
    for block in [*blocks("README.md"), blocks("docs/many-runs.md")[0]]:
        exec(compile(block, "documentation", "exec"), names)


def blocks(page: str) -> list[str]:
    """Return the blocks of Python on a page of the documentation."""
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), flags=re.S)


def problems() -> list[object]:
    """Return problems of every form."""
    from stickslip.scenes import make

    rng = np.random.default_rng(0)
    sliding, mixed = (
        ss.coulomb([0.3, 0.4]),
        ss.coulomb([0.4]) + ss.problem.rolling([0.2], [0.1]) + ss.problem.nonnegative(1),
    )
    dense: list[object] = []
    for K in (sliding, mixed):
        A = rng.normal(size=(K.size, K.size))
        dense.append(ss.ContactProblem(A @ A.T + np.eye(K.size), rng.normal(size=K.size), K))
    packing = make("packing-problem", spheres=40)
    return [
        *dense,
        make("incline-problem"),
        make("wall-problem"),
        packing,
        ss.problem.lcp(np.eye(3) + 0.1, [-1.0, 1.0, -2.0]),
    ]


def solvers() -> None:
    """Run every solver of stickslip on every problem that it accepts, whether it converges or not."""
    from stickslip.solvers import registry

    internal = [name for name in registry.names() if not registry.entry(name).package]
    for name in internal:
        accepted = 0
        for problem in problems():
            try:
                ss.solve(problem, bounded(name))
            except (TypeError, ValueError, ss.SolverFailure):
                continue
            accepted += 1
        if not accepted and name not in ELSEWHERE:
            raise RuntimeError(f"{name}: none of the problems was accepted")
        print(f"  {name}: {accepted} problems", flush=True)


def bounded(name: str) -> object:
    """Make a solver, with few iterations if it has an iteration limit."""
    from stickslip.solvers import registry

    try:
        return registry.make(name, max_iterations=ITERATIONS)
    except (TypeError, ValueError):
        return registry.make(name)


def bodies() -> None:
    """Simulate worlds of boxes, spheres, other shapes, joints and springs for a short time."""
    for shapes in ((ss.Cuboid((0.2, 0.2, 0.2)),) * 3, (ss.Sphere(0.1),) * 5, MIXED):
        b = ss.WorldBuilder()
        b.body("floor", ss.Plane(), fixed=True)
        for k, shape in enumerate(shapes):
            b.body(f"body{k}", shape, position=(0.3 * (k % 2), 0.0, 0.15 + 0.35 * k), velocity=(0.5, 0, 0))
        run = ss.simulate(b.build(), until=0.6, h=2e-3)
        _ = run.contacts.r
        with tempfile.TemporaryDirectory() as folder:
            run.save(Path(folder) / "run.h5")
            ss.read_trajectory(Path(folder) / "run.h5")
    b = ss.WorldBuilder()
    b.body("rod", ss.Capsule(0.05, 0.4), position=(0, 0, 1))
    b.body("bob", ss.Sphere(0.1), position=(0, 0, 0.5))
    b.joint("pivot", "hinge", "rod", point=(0, 0, 1.3), axis=(0, 1, 0))
    b.joint("link", "ball", "rod", "bob", point=(0, 0, 0.7))
    b.force(
        ss.forces.Spring("spring", "bob", first_point=(0, 0, 0.5), second_point=(1, 0, 0.5), stiffness=10.0)
    )
    ss.simulate(b.build(), until=0.2, h=2e-3)
    b = ss.WorldBuilder()
    b.body("belt", ss.Cuboid((2, 2, 0.1)), position=(0, 0, -0.05), motion=((0.5, 0, 0), (0, 0, 0)))
    b.body("box", ss.Cuboid((0.2, 0.2, 0.2)), position=(0, 0, 0.1))
    b.force(ss.forces.BodyForce("push", "box", force=(1.0, 0.0, 0.0)))
    ss.simulate(b.build(), until=0.2, h=2e-3)


ROBOT = """<mujoco><option timestep="0.002"/><worldbody><geom type="plane" size="9 9 .1"/>
<body name="arm" pos="0 0 .5"><joint name="arm" axis="0 1 0" range="-90 90" damping=".1" frictionloss=".1"/>
<geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/><body pos=".3 0 0"><joint name="wrist" axis="0 1 0"/>
<geom type="box" size=".05 .02 .02"/></body></body><body name="ball" pos=".5 .5 .2"><freejoint/>
<geom size=".05" condim="6"/></body></worldbody>
<actuator><position joint="arm" kp="20"/><motor joint="wrist"/></actuator>
<sensor><jointpos name="arm" joint="arm"/></sensor></mujoco>"""
"""MJCF model with joints, a servo, a sensor, limits, dry friction and contacts."""


def robots() -> None:
    """Simulate a robot alone, with bodies around it, step by step, and with each cone; read its file."""
    b = ss.WorldBuilder()
    b.body("box", ss.Cuboid((0.2, 0.2, 0.2)), position=(0.5, 0, 0.1))
    for cone in ("groups", "joint"):
        robot = ss.Robot.load(ROBOT, restitution=0.3, cone=cone)
        around = robot.with_world(b.build()).with_pair("ball", "box", friction=0.3)
        for model in (robot, around):
            run = ss.simulate(model, until=0.4)
            _ = run.contacts.r
        ss.simulate(robot, until=0.02, control=lambda data: (0.1, 0.0))
        live = robot.live()
        live.step(3)
        ss.solve(live.problem())
    ss.simulate(robot, until=0.02, solver="nsgs")
    with tempfile.TemporaryDirectory() as folder:
        run.save(Path(folder) / "run.h5")
        ss.read_trajectory(Path(folder) / "run.h5")


def batches() -> None:
    """Step batches of a world, of a ball written as equations and of a robot."""
    b = ss.WorldBuilder()
    b.body("floor", ss.Plane(), fixed=True)
    b.body("ball", ss.Sphere(0.1), position=(0, 0, 0.3))
    ball = ss.Lagrangian("ball", M=1.0, q0=1.0, F_ext=-9.81)
    floor = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q), ss.NewtonImpact(e=0.9))
    for model in (b.build(), ss.NonsmoothSystem([ball], [floor]), ss.Robot.load(ROBOT)):
        batch = ss.Batch(model, 4, h=2e-3, threads=2)
        batch.step(250)
        batch.reset([1, 2])
        batch.step(2)


MIXED = (
    ss.Cylinder(0.1, 0.3),
    ss.Capsule(0.1, 0.2),
    ss.Sphere(0.1),
    ss.Cuboid((0.2, 0.2, 0.2)),
    ss.shapes.Ellipsoid((0.1, 0.15, 0.1)),
)
"""Shapes of several kinds."""


def demo() -> None:
    """Run the demo with few spheres."""
    from stickslip.cli.main import main

    with tempfile.TemporaryDirectory() as folder:
        main(["demo", "--bodies", "30", "--no-html", "--out", folder])


def main() -> None:
    """Run all workloads and print their times."""
    warnings.simplefilter("ignore")
    for work in (readme, demo, bodies, robots, batches, solvers):
        start = time.process_time()
        work()
        print(f"{work.__name__}: {time.process_time() - start:.0f} s of processor time", flush=True)


if __name__ == "__main__":
    main()
