"""What each digit of the tolerance costs in runs of worlds, and what it changes.

    python benchmarks/tolerances.py [--only shaken] [--tolerances 1e-4,1e-6,1e-8]

Eight runs with friction that slides and sticks: processor time of a step, mean and worst, the steps that
missed the tolerance, the last positions beside those of the finest tolerance, and the time over that of the
first one. Times have no compilation in them: each run is begun twice, and the second counts.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from hard import press, shaken_wall

import stickslip as ss

WARM = 20
"""Steps of the run that compiles."""


def scene(name: str, **parameters: Any) -> tuple[Any, Any, float, float]:
    """World, start, end and step of a scene."""
    made = ss.scenes.make(name, **parameters)
    return made.system, None, made.until, made.h


RUNS: dict[str, Callable[[], tuple[Any, Any, float, float]]] = {
    "shaken": lambda: (shaken_wall(0), None, 1.5, 5e-3),
    "press": lambda: (press(0), None, 1.2, 5e-3),
    "pile": lambda: scene("sphere-pile", bodies=1000, until=0.5),
    "soup": lambda: scene("soup", bodies=150, until=0.6),
    "drum": lambda: scene("drum", bodies=150, until=0.6),
    "kapla": lambda: scene("kapla", courses=12, push=2.0, until=0.5),
    "rocks": lambda: scene("rockfall", bodies=12, until=2.0),
    "tilted wall": lambda: scene("masonry-wall", tilt=32.0, until=0.5),
}


def carry(world: Any, start: Any, until: float, h: float, tolerance: float) -> tuple[np.ndarray, int, Any]:
    """Processor times of the steps [s], how many missed the tolerance, and the last state."""
    live = ss.live(
        world, h=h, start=start, solver_options={"tolerance": tolerance}, record=10**9, on_failure="accept",
    )  # fmt: skip
    times, missed = [], 0
    for _ in range(round(until / h)):
        begin = time.thread_time()
        live.step()
        times.append(time.thread_time() - begin)
        missed += not live.residual <= tolerance
    return np.array(times), missed, live.state


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="names that begin so")
    parser.add_argument("--tolerances", default="1e-4,1e-6,1e-8")
    given = parser.parse_args()
    tolerances = [float(one) for one in given.tolerances.split(",")]
    for name, make in RUNS.items():
        if not name.startswith(given.only):
            continue
        world, start, until, h = make()
        done = {}
        for tolerance in tolerances:
            carry(world, start, WARM * h, h, tolerance)
            done[tolerance] = carry(world, start, until, h, tolerance)
        finest = done[min(tolerances)][2].q
        for tolerance, (times, missed, state) in done.items():
            away = np.abs(state.q - finest).reshape(-1, 7)[:, :3].max()
            ratio = times.sum() / done[tolerances[0]][0].sum()
            print(
                f"{name:12} {tolerance:5.0e} {1e3 * times.mean():8.2f} ms a step,"
                f" worst {1e3 * times.max():8.1f},"
                f" {ratio:5.2f} times the first, missed {missed:4}, {away:.1e} m from the finest",
                flush=True,
            )


if __name__ == "__main__":
    main()
