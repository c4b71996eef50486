"""The variational scheme: a step of a robot on four feet, its derivative, and chains of 10 and 100 links.

    python benchmarks/variational.py [--json]

Times are processor times once compiled, the least of many calls that take turns, with one thread. Steps are
solved to 1e-6 by `ipm-step`. The derivative is that of positions and velocities at the end by those at the
start and by the twelve moments of the motors, as whole matrices, without the step itself.
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
FIRST = 5
"""Steps before the one that is timed."""


def least(*calls: Callable[[], Any]) -> list[float]:
    """Processor time of calls that take turns, of each the least of many [ms]."""
    found: list[list[float]] = [[] for _ in calls]
    for k in range(CALLS):
        for call, times in zip(calls, found, strict=True):
            start = time.process_time()
            call()
            if k:
                times.append(1e3 * (time.process_time() - start))
    return [min(times) for times in found]


def prepared(name: str, **options: Any) -> tuple[Any, ...]:
    """Scheme, world, state, memory, step and solver after a few steps of a scene."""
    scene = scenes.make(name, **options)
    scheme, solver = VariationalBodies(), StepInteriorPoint(tolerance=TOLERANCE)
    world, state = PreparedWorld(scene.system), scene.system.start
    memory = scheme.begin(world, state, scene.h)
    for _ in range(FIRST):
        step = scheme.step(world, state, memory, scene.h, solver)
        state, memory = step.state, step.memory
    return scheme, world, state, memory, scene.h, solver


def whole(arguments: tuple[Any, ...]) -> VariationalDerivative:
    """The step and all matrices of its derivative by state and input."""
    found = variational_derivative(*arguments)
    for by in ("q", "v", "effort"):
        for of in ("q", "v"):
            found.jacobian(of, by)
    return found


def measured() -> dict[str, float]:
    """All figures, times in milliseconds."""
    robot = prepared("quadruped", gait="hold")
    step, both = least(lambda: robot[0].step(*robot[1:]), lambda: whole(robot))
    found = whole(robot)
    few, many = (prepared("chain", bodies=n, kind="hinge") for n in (10, 100))
    short, long = least(lambda: few[0].step(*few[1:]), lambda: many[0].step(*many[1:]))
    return {
        "robot: contacts [-]": len(found.step.contacts),
        "robot: a step [ms]": step,
        "robot: its derivative [ms]": both - step,
        "robot: derivative over step [-]": (both - step) / step,
        "chain of 10 links: a step [ms]": short,
        "chain of 100 links: a step [ms]": long,
        "chain of 100 links over one of 10 [-]": long / short,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="one object instead of lines")
    given = parser.parse_args()
    with threadpool_limits(1):
        found = measured()
    if given.json:
        print(json.dumps(found, indent=2))
        return
    for name, value in found.items():
        print(f"{name:<42}{value:9.3f}")


if __name__ == "__main__":
    main()
