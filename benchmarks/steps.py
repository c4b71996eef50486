"""Steps of small models per second, recorded and certified, compared with Siconos if it is installed.

    python benchmarks/steps.py [--quick] [--json] [--python /usr/bin/python3]

Each run is `stickslip.simulate` into a Trajectory with every step recorded. Times are processor times of runs
without compilation, the shortest of three. "Compiled" models consist of functions compiled with Numba,
"plain" ones of Python functions. Siconos runs the same ball in its own interpreter: its C++ loop, which
records nothing, and the loop in Python of its examples, which records the state.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numba import njit

import stickslip as ss
from stickslip import scenes
from stickslip.schemes import registry

REPETITIONS = 3
"""Number of timed runs."""
H = 1e-4
"""Step of the bouncing ball [s]."""
SICONOS = """
import json, os, sys, time
out = os.fdopen(os.dup(1), "w")
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
import numpy as np, siconos.kernel as sk

def build(q0, steps, h, e=0.9):
    ball = sk.LagrangianLinearTIDS([q0], [0.0], np.eye(1))
    ball.setFExtPtr(np.array([-9.81]))
    floor = sk.Interaction(sk.NewtonImpactNSL(e), sk.LagrangianLinearTIR(np.array([[1.0]])))
    model = sk.NonSmoothDynamicalSystem(0.0, steps * h)
    model.insertDynamicalSystem(ball)
    model.link(floor, ball)
    run = sk.TimeStepping(model, sk.TimeDiscretisation(0.0, h), sk.MoreauJeanOSI(0.5), sk.LCP())
    return ball, floor, run

rates = {}
for name, q0 in json.loads(sys.argv[1]).items():
    steps, h = int(sys.argv[2]), float(sys.argv[3])
    best = {}
    for _ in range(3):
        ball, floor, run = build(q0, steps, h)
        start = time.process_time()
        run.run()
        best["kernel"] = max(best.get("kernel", 0.0), steps / (time.process_time() - start))
        ball, floor, run = build(q0, steps, h)
        rows = np.zeros((steps + 1, 4))
        q, v, p, lam = ball.q(), ball.velocity(), ball.p(1), floor.lambda_(1)
        start, k = time.process_time(), 0
        while run.hasNextEvent() and k < steps:
            run.computeOneStep()
            k += 1
            rows[k] = run.nextTime(), q[0], v[0], lam[0]
            run.nextStep()
        best["loop"] = max(best.get("loop", 0.0), k / (time.process_time() - start))
    rates[name] = best
print(json.dumps(rates), file=out)
"""
"""Script for the interpreter with Siconos; prints steps per second as JSON."""


@njit
def height(q):
    return q


@njit
def between(q):
    return np.array([q[1] - q[0] - 0.1])


@njit
def falling(t):
    return np.array([-9.81])


@njit
def arm_mass(q):
    c = np.cos(q[1])
    return np.array([[3.0 + 2.0 * c, 1.0 + c], [1.0 + c, 1.0]])


@njit
def arm_gyration(q, v):
    s = np.sin(q[1])
    return np.array([-s * v[1] * (2.0 * v[0] + v[1]), s * v[0] * v[0]])


@njit
def arm_weight(q):
    low = 9.81 * np.sin(q[0] + q[1])
    return np.array([2.0 * 9.81 * np.sin(q[0]) + low, low])


@njit
def arm_wall(q):
    return np.array([1.2 - np.sin(q[0]) - np.sin(q[0] + q[1])])


def choose(function: Any, compiled: bool) -> Any:
    """Return the compiled function, or the Python function behind it."""
    return function if compiled else function.py_func


def ball(compiled: bool, q0: float) -> ss.NonsmoothSystem:
    """Return a bouncing ball."""
    body = ss.Lagrangian("ball", M=1.0, q0=q0, F_ext=choose(falling, compiled))
    floor = ss.Interaction(
        "floor", "ball", ss.Scleronomous(choose(height, compiled), 1.0), ss.NewtonImpact(e=0.9)
    )
    return ss.NonsmoothSystem([body], [floor])


def chain(compiled: bool) -> ss.NonsmoothSystem:
    """Return ten balls on a line that strike each other."""
    bodies = [
        ss.LagrangianLinear(f"b{k}", M=1.0, q0=0.1001 * k, v0=1.0 if k == 0 else 0.0) for k in range(10)
    ]
    relation = ss.Scleronomous(choose(between, compiled), [[-1.0, 1.0]])
    ties = [
        ss.Interaction(f"c{k}", (f"b{k}", f"b{k + 1}"), relation, ss.NewtonImpact(e=0.5)) for k in range(9)
    ]
    return ss.NonsmoothSystem(bodies, ties)


def arm(compiled: bool) -> ss.NonsmoothSystem:
    """Return a double pendulum that strikes a wall, with its mass matrix as a function of q."""
    M, N, F = (choose(function, compiled) for function in (arm_mass, arm_gyration, arm_weight))
    body = ss.Lagrangian("arm", M=M, q0=[0.4, 0.5], v0=[1.0, 0.0], N=N, F_int=F)
    wall = ss.Interaction("wall", "arm", ss.Scleronomous(choose(arm_wall, compiled)), ss.NewtonImpact(e=0.4))
    return ss.NonsmoothSystem([body], [wall])


def sphere(mu: float | None) -> ss.NonsmoothSystem:
    """Return a spinning Newton-Euler sphere that falls on a plane, bounces and rolls."""
    body = ss.NewtonEuler(
        "sphere", mass=1.0, inertia=[0.004] * 3, q0=(0.0, 0.0, 0.15), v0=(1.0, 0.0, 0.0, 0.0, 3.0, 1.0),
        force=[0.0, 0.0, -9.81],
    )  # fmt: skip
    law = ss.NewtonImpact(e=0.5, mu=mu)
    return ss.NonsmoothSystem([body], [ss.Interaction("floor", "sphere", ss.systems.SpherePlane(0.1), law)])


def tower() -> ss.NonsmoothSystem:
    """Return a tower of three Newton-Euler spheres with small offsets."""
    spheres = [
        ss.NewtonEuler(
            f"s{k}", mass=1.0, inertia=[0.004] * 3, q0=(0.01 * k, 0.0, 0.1 + 0.2 * k), force=[0.0, 0.0, -9.81]
        )
        for k in range(3)
    ]
    law = ss.NewtonImpact(mu=0.3)
    ties = [ss.Interaction("floor", "s0", ss.systems.SpherePlane(0.1), law)] + [
        ss.Interaction(f"c{k}", (f"s{k + 1}", f"s{k}"), ss.systems.SphereSphere(0.1, 0.1), law)
        for k in range(2)
    ]
    return ss.NonsmoothSystem(spheres, ties)


def joined() -> ss.NonsmoothSystem:
    """Return two Newton-Euler bodies with ball joints above a floor whose gap is a Python function."""
    bodies = [
        ss.NewtonEuler(
            f"b{k}",
            mass=1.0,
            inertia=[0.004, 0.003, 0.002],
            q0=(0.2 * k + 0.1, 0.0, 0.5),
            force=[0.0, 0.0, -9.81],
        )
        for k in range(2)
    ]
    floor = ss.systems.BodyContact(
        gap=lambda q: q[2] - 0.35, normal=[0.0, 0.0, 1.0], point=lambda q: [q[0], q[1], q[2]]
    )
    ties = [
        ss.Interaction("j0", "b0", ss.joints.BallJoint((0.0, 0.0, 0.5)), ss.laws.Equality(3)),
        ss.Interaction("j1", ("b1", "b0"), ss.joints.BallJoint((0.2, 0.0, 0.5)), ss.laws.Equality(3)),
        ss.Interaction("floor", "b1", floor, ss.NewtonImpact(e=0.5, mu=0.2)),
    ]
    return ss.NonsmoothSystem(bodies, ties)


def belt() -> ss.NonsmoothSystem:
    """Return a mass on a spring and a moving belt, with stick-slip motion."""
    mass = ss.LagrangianLinear("mass", M=1.0, q0=0.0, v0=0.2, K=1.0)
    moving = ss.systems.Rheonomous(lambda t, q: q - 0.1 * t, 1.0, -0.1)
    return ss.NonsmoothSystem([mass], [ss.Interaction("belt", "mass", moving, ss.laws.Relay(0.5))])


LC = ss.FirstOrderLinear("lc", A=[[0.0, -1e6], [1e2, 0.0]], x0=[10.0, 0.0])
"""LC oscillator."""


def diode() -> ss.NonsmoothSystem:
    """Return the circuit of docs/circuits.md: an LC oscillator with a diode and a resistor."""
    relation = ss.systems.FirstOrderLinearRelation(C=[[1.0, 0.0]], D=[[100.0]], B=[[1e6], [0.0]])
    return ss.NonsmoothSystem([LC], [ss.Interaction("diode", "lc", relation, ss.laws.Complementarity())])


def bent() -> ss.NonsmoothSystem:
    """Return the circuit with a nonlinear load, whose Jacobians are finite differences."""
    load = ss.systems.FirstOrderType2(
        h=lambda x, lam: [x[0] + 100.0 * lam[0] + 50.0 * np.tanh(lam[0])], g=lambda lam: [lam[0] * 1e6, 0.0]
    )
    return ss.NonsmoothSystem([LC], [ss.Interaction("load", "lc", load, ss.laws.Complementarity())])


def rate(make: Callable[[], ss.NonsmoothSystem], steps: int, h: float, **options: Any) -> float:
    """Return the largest number of steps per second of processor time of several runs."""
    best = 0.0
    ss.simulate(make(), until=5 * h, h=h, **options)
    system = make()
    ss.simulate(system, until=50 * h, h=h, **options)  # compiles kernels
    for _ in range(REPETITIONS):
        start = time.process_time()
        run = ss.simulate(system, until=steps * h, h=h, **options)
        seconds = time.process_time() - start
        assert run.missed == 0
        assert len(run) == steps + 1
        best = max(best, steps / seconds)
    return best


def scene(name: str, steps: int, h: float | None = None) -> float:
    """Return the steps per second of a scene with its scheme."""
    model = scenes.make(name)
    scheme = registry.make(model.scheme, **model.options)
    return rate(lambda: model.system, steps, model.h if h is None else h, scheme=scheme)


def siconos(python: str, phases: dict[str, float], steps: int) -> dict[str, dict[str, float]] | None:
    """Return the steps per second of Siconos for the same ball, by phase; None if it is not available."""
    command = [python, "-c", SICONOS, json.dumps(phases), str(steps), str(H)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    rates: dict[str, dict[str, float]] = json.loads(done.stdout.splitlines()[-1])
    return rates


def measured(quick: bool, python: str) -> Iterator[tuple[str, float, str]]:
    """Yield rows of the table: model, steps per second, remark."""
    steps = 20_000 if quick else 100_000
    few = 2_000 if quick else 10_000
    phases = {"flight": 1e6, "rest": 0.0, "whole": 1.0}
    peer = siconos(python, phases, steps // 2)
    for name, q0 in phases.items():
        ours = rate(lambda q0=q0: ball(True, q0), steps, H)
        remark = ""
        if peer is not None:
            kernel, loop = peer[name]["kernel"], peer[name]["loop"]
            remark = f"{ours / kernel:.2f} x Siconos (C++ loop), {ours / loop:.1f} x (Python loop)"
            yield f"ball, {name}: Siconos, C++ loop, nothing recorded", kernel, ""
            yield f"ball, {name}: Siconos, loop in Python", loop, ""
        yield f"ball, {name}: compiled", ours, remark
        yield f"ball, {name}: plain", rate(lambda q0=q0: ball(False, q0), few, H), ""
    for title, make in (("chain of 10 balls", chain), ("double pendulum and wall, M(q)", arm)):
        yield f"{title}: compiled", rate(lambda make=make: make(True), steps // 5, H), ""
        yield f"{title}: plain", rate(lambda make=make: make(False), few // 5, H), ""
    for title, build in (
        ("Newton-Euler sphere on a plane", lambda: sphere(None)),
        ("Newton-Euler sphere on a plane, friction", lambda: sphere(0.3)),
        ("tower of 3 Newton-Euler spheres, friction", tower),
        ("2 Newton-Euler bodies, ball joints, floor", joined),
    ):
        yield title, rate(build, few // 10, 1e-3), ""
    events = ss.schemes.EventDriven()
    for title, build, h in (
        ("ball: plain", lambda: ball(False, 1.0), 1e-3),
        ("chain of 10 balls: plain", lambda: chain(False), 1e-3),
        ("mass on a moving belt", belt, 1e-2),
        ("Newton-Euler sphere, friction", lambda: sphere(0.3), 1e-3),
    ):
        yield f"event-driven, {title}", rate(build, few // 20, h, scheme=events), ""
    scheme = ss.schemes.EulerMoreau(theta=0.5, gamma=0.5, relation="gamma")
    yield "one diode: compiled march", rate(diode, steps, 2e-6, scheme=scheme), ""
    yield "one diode, bent load: Newton, plain", rate(bent, few // 5, 2e-6, scheme=scheme), ""
    for name in ("diode-bridge", "rlc-diode", "relay"):
        yield f"{name}, euler-moreau", scene(name, steps), ""
    follower = scene("cam", steps // 2, H)
    yield "cam follower, h = 1e-4", follower, f"5 s in {5.0 / H / follower:.2f} s"


def main() -> None:
    """Parse the command line, measure, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="shorter runs")
    parser.add_argument("--json", action="store_true", help="one line of JSON per row")
    parser.add_argument("--python", default="/usr/bin/python3", help="an interpreter with Siconos")
    arguments = parser.parse_args()
    for name, value, remark in measured(arguments.quick, arguments.python):
        if arguments.json:
            print(json.dumps({"model": name, "steps_per_second": value, "remark": remark}))
        else:
            print(f"{name:<52} {value:>12,.0f} steps/s  {remark}")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
