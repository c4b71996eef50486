"""Costs and effects of the tolerance in runs of worlds.

    python benchmarks/tolerances.py [--only shaken] [--tolerances 1e-4,1e-6,1e-8]

Eight runs with sliding and sticking friction: processor time of a step (mean, 99th percentile, worst), time
relative to the first tolerance, number of steps that missed the tolerance, and distance of the final
positions from those of the finest tolerance. `nudged` is this distance for a run of the finest tolerance with
initial velocities changed by NUDGE: if it is as large, the run is chaotic, and its end does not depend on the
tolerance alone. Runs that compile kernels are repeated.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from hard import press, shaken_wall

import stickslip as ss
from stickslip.compilation.timing import Compilation
from stickslip.mechanics.world import BodyKind

COMPILED = 1e-2
"""Compilation time above which a run is repeated [s]."""
NUDGE = 1e-9
"""Relative and absolute change of initial velocities [-; m/s, rad/s]."""


def scene(name: str, **parameters: Any) -> tuple[Any, float, float]:
    """Return the world, final time and step of a scene."""
    model = ss.scenes.make(name, **parameters)
    return model.system, model.until, model.h


RUNS: dict[str, Callable[[], tuple[Any, float, float]]] = {
    "shaken": lambda: (shaken_wall(0), 1.5, 5e-3),
    "press": lambda: (press(0), 1.2, 5e-3),
    "pile": lambda: scene("sphere-pile", bodies=1000, until=0.5),
    "soup": lambda: scene("soup", bodies=150, until=0.6),
    "drum": lambda: scene("drum", bodies=150, until=0.6),
    "kapla": lambda: scene("kapla", courses=12, push=2.0, until=0.5),
    "rocks": lambda: scene("rockfall", bodies=12, until=2.0),
    "tilted wall": lambda: scene("masonry-wall", tilt=32.0, until=0.5),
}


class Result(NamedTuple):
    """Times and final state of a run."""

    times: np.ndarray
    """Processor time of each step [s], shape (steps,)."""
    missed: int
    """Number of steps that missed the tolerance."""
    positions: np.ndarray
    """Final positions of the bodies [m], shape (bodies, 3)."""


def simulate(world: Any, until: float, h: float, tolerance: float, nudge: float = 0.0) -> Result:
    """Make a run, and repeat it if it has compiled kernels; nudge: change of initial velocities."""
    start = None
    if nudge:
        begin, free = world.start, np.repeat(world.kind == BodyKind.DYNAMIC, 6)
        start = ss.State(begin.t, begin.q, begin.v + free * nudge * (1.0 + np.abs(begin.v)), begin.z)
    while True:
        options = {"tolerance": tolerance}
        live = ss.live(world, h=h, start=start, solver_options=options, record=10**9, on_failure="accept")
        times, missed = [], 0
        with Compilation() as compilation:
            for _ in range(round(until / h)):
                before = time.thread_time()
                live.step()
                times.append(time.thread_time() - before)
                missed += not live.residual <= tolerance
        if compilation.seconds < COMPILED:
            return Result(np.array(times), missed, live.state.q.reshape(-1, 7)[:, :3])


def main() -> None:
    """Make the runs and print the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="first letters of the names")
    parser.add_argument("--tolerances", default="1e-4,1e-6,1e-8")
    arguments = parser.parse_args()
    tolerances = [float(one) for one in arguments.tolerances.split(",")]
    for name, make in RUNS.items():
        if not name.startswith(arguments.only):
            continue
        world, until, h = make()
        done = {tolerance: simulate(world, until, h, tolerance) for tolerance in tolerances}
        finest = done[min(tolerances)].positions
        nudged = np.abs(simulate(world, until, h, min(tolerances), NUDGE).positions - finest).max()
        first = done[tolerances[0]].times.sum()
        for tolerance, run in done.items():
            times, distance = 1e3 * run.times, np.abs(run.positions - finest).max()
            print(
                f"{name:12} {tolerance:5.0e} {times.mean():8.2f} ms a step, 99 % within"
                f" {np.quantile(times, 0.99):8.1f}, worst {times.max():8.1f},"
                f" {run.times.sum() / first:5.2f} times the first, missed {run.missed:4},"
                f" {distance:.1e} m from the finest (nudged {nudged:.0e})",
                flush=True,
            )


if __name__ == "__main__":
    main()
