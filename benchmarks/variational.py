"""Costs of the variational scheme: a step of a quadruped and its derivative, chains of 10 and 100 links.

    python benchmarks/variational.py [--json]

Times are processor times on one thread without compilation, the shortest of many alternating calls. Steps are
solved to 1e-6 by `ipm-step`. The derivative consists of the full matrices of final positions and velocities
by initial ones and by the twelve motor torques; its time excludes the step itself.
"""

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

from threadpoolctl import threadpool_limits

from stickslip import scenes
from stickslip.gradients.variational import VariationalDerivative, variational_derivative
from stickslip.schemes.body_world import PreparedWorld
from stickslip.schemes.variational import VariationalBodies
from stickslip.solvers.step_point import StepInteriorPoint

TOLERANCE = 1e-6
CALLS = 200
"""Number of timed calls."""
FIRST = 5
"""Number of steps before the timed one."""


def least(*calls: Callable[[], Any]) -> list[float]:
    """Return the shortest processor time of each call, in alternating turns [ms]."""
    seconds: list[list[float]] = [[] for _ in calls]
    for k in range(CALLS):
        for call, times in zip(calls, seconds, strict=True):
            start = time.process_time()
            call()
            if k:
                times.append(1e3 * (time.process_time() - start))
    return [min(times) for times in seconds]


def prepared(name: str, **options: Any) -> tuple[Any, ...]:
    """Return scheme, world, state, memory, step length and solver after a few steps of a scene."""
    scene = scenes.make(name, **options)
    scheme, solver = VariationalBodies(), StepInteriorPoint(tolerance=TOLERANCE)
    world, state = PreparedWorld(scene.system), scene.system.start
    memory = scheme.begin(world, state, scene.h)
    for _ in range(FIRST):
        step = scheme.step(world, state, memory, scene.h, solver)
        state, memory = step.state, step.memory
    return scheme, world, state, memory, scene.h, solver


def whole(arguments: tuple[Any, ...]) -> VariationalDerivative:
    """Make the step and all matrices of its derivative by state and input."""
    derivative = variational_derivative(*arguments)
    for by in ("q", "v", "effort"):
        for of in ("q", "v"):
            derivative.jacobian(of, by)
    return derivative


def measured() -> dict[str, float]:
    """Measure and return all numbers by name."""
    robot = prepared("quadruped", gait="hold")
    step, both = least(lambda: robot[0].step(*robot[1:]), lambda: whole(robot))
    derivative = whole(robot)
    few, many = (prepared("chain", bodies=n, kind="hinge") for n in (10, 100))
    short, long = least(lambda: few[0].step(*few[1:]), lambda: many[0].step(*many[1:]))
    return {
        "robot: contacts [-]": len(derivative.step.contacts),
        "robot: a step [ms]": step,
        "robot: its derivative [ms]": both - step,
        "robot: derivative over step [-]": (both - step) / step,
        "chain of 10 links: a step [ms]": short,
        "chain of 100 links: a step [ms]": long,
        "chain of 100 links over one of 10 [-]": long / short,
    }


def main() -> None:
    """Measure and print the numbers."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    with threadpool_limits(1):
        results = measured()
    if arguments.json:
        print(json.dumps(results, indent=2))
        return
    for name, value in results.items():
        print(f"{name:<42}{value:9.3f}")


if __name__ == "__main__":
    main()
