"""Hyperstatic problems in motion: presses, shaken walls, packings, rolling piles, soups, mass ratios of 1e4.

    python benchmarks/hard.py                     the development families
    python benchmarks/hard.py --kept              the seeds that were not used for tuning
    python benchmarks/hard.py --only press --solver prox

Prints for each problem: contacts, status, the judge's error, processor time of `ss.solve`, norm of the
impulses relative to that of 100 sweeps, and the stages. Problems are generated from seeds; problems of steps
come from runs at a loose tolerance.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import stickslip as ss
from stickslip.problem.jacobian import ContactBlocks

TOLERANCE = 1e-8
GROUND = np.array([0.0, 0.03, -0.02])
"""Velocity of moving ground along (n, t1, t2) [m/s]."""


def on_moving_ground(problem: ss.GlobalProblem, scale: float = 1.0) -> ss.GlobalProblem:
    """Return the problem with moving ground: its fixed bodies get the velocity `scale * GROUND`."""
    H, K, bias = problem.H, problem.K, np.array(problem.u_bias)
    assert isinstance(H, ContactBlocks)
    for i in np.flatnonzero((H.bodies < 0).any(axis=1)):
        bias[K.offset[i] : K.offset[i] + 3] += scale * GROUND
    return ss.GlobalProblem(problem.M, problem.f, H, bias, K)


def with_heavy_bodies(problem: ss.GlobalProblem, ratio: float, seed: int) -> ss.GlobalProblem:
    """Return the problem with a tenth of the masses, chosen at random, multiplied by `ratio`."""
    M, f = np.array(problem.M.matrix), np.array(problem.f).reshape(len(problem.M.matrix), -1)
    heavy = np.random.default_rng(seed).random(len(M)) < 0.1
    M[heavy] *= ratio
    f[heavy] *= ratio
    return ss.GlobalProblem(M, f.reshape(-1), problem.H, problem.u_bias, problem.K)


def packings(seeds: list[int]) -> Iterator[tuple[str, ss.GlobalProblem]]:
    """Yield packings of spheres: at rest, moving, rolling, on moving ground, with heavy spheres."""
    make = ss.scenes.make
    for k, seed in enumerate(seeds):
        spheres = (60, 150, 280)[k % 3]
        yield f"packing-{spheres}-{seed}", make("packing-problem", spheres=spheres, seed=seed)
        moving = make("packing-problem", spheres=spheres, seed=seed, velocity=0.05)
        yield f"packing-moving-{spheres}-{seed}", moving
        rolling = make("packing-problem", spheres=spheres // 2, seed=seed, mu_roll=1e-3, velocity=0.05)
        yield f"packing-rolling-{spheres // 2}-{seed}", rolling
        still = make("packing-problem", spheres=spheres // 2, seed=seed, mu_roll=1e-3)
        yield f"packing-rolling-ground-{spheres // 2}-{seed}", on_moving_ground(still)
        plain = make("packing-problem", spheres=spheres // 2, seed=seed + 100)
        yield f"packing-heavy-{spheres // 2}-{seed}", with_heavy_bodies(plain, 1e4, seed)


def chutes_and_walls(seeds: list[int]) -> Iterator[tuple[str, ss.GlobalProblem]]:
    """Yield chutes with rolling friction, and walls on moving ground."""
    make = ss.scenes.make
    for k, seed in enumerate(seeds):
        spheres = (100, 200, 300)[k % 3]
        yield (
            f"chute-rolling-{spheres}-{seed}",
            make("chute-problem", spheres=spheres, seed=seed, mu_roll=1e-3, velocity=0.02),
        )
        size = {"rows": 5 + seed % 7, "columns": 4 + seed % 5}
        yield f"wall-{seed}", on_moving_ground(make("wall-problem", **size), 1.0 + 0.1 * seed)
        rolling = make("wall-problem", mu_roll=0.01, **size)
        yield f"wall-rolling-{seed}", on_moving_ground(rolling, 1.0 + 0.1 * seed)


def shaken_wall(seed: int) -> ss.mechanics.World:
    """Return a wall of 21 bricks on a shaking floor."""
    b, acceleration, pulsation = ss.WorldBuilder(), 0.8 * 9.81, 2.0 * np.pi * (3.0 + 0.2 * seed)
    b.material("default", mu=0.6)
    b.body(
        "floor", ss.Cuboid((4.0, 1.0, 0.2)), position=(0, 0, -0.1),
        motion=lambda t: ((acceleration / pulsation * np.sin(pulsation * t), 0, 0), (0, 0, 0)),
    )  # fmt: skip
    for row in range(6):
        shift, count = (0.0, 4) if row % 2 == 0 else (0.1, 3)
        for k in range(count):
            b.body(
                f"brick {row} {k}", ss.Cuboid((0.2, 0.1, 0.08)),
                position=(0.2 * k + shift - 0.3, 0, 0.04 + 0.08 * row),
            )  # fmt: skip
    return b.build()


def press(seed: int) -> ss.mechanics.World:
    """Return a heap of boxes and spheres between walls that is pressed by a plate."""
    random, b = np.random.default_rng(seed), ss.WorldBuilder()
    b.material("default", mu=0.4)
    b.body("floor", ss.Plane(), fixed=True)
    for name, x, y in (("left", -0.35, 0), ("right", 0.35, 0), ("front", 0, -0.35), ("back", 0, 0.35)):
        size = (0.1, 0.8, 2.0) if x else (0.8, 0.1, 2.0)
        b.body(name, ss.Cuboid(size), fixed=True, position=(x, y, 1.0))
    for k in range(60):
        across = 0.15 * np.array([k % 3 - 1, k // 3 % 3 - 1]) + random.uniform(-0.02, 0.02, 2)
        place = (*across, 0.07 + 0.13 * (k // 9))
        shape = ss.Sphere(0.05) if k % 2 else ss.Cuboid((0.1, 0.08, 0.06))
        b.body(f"part {k}", shape, position=place)
    b.body(
        "plate", ss.Cuboid((0.58, 0.58, 0.05)), position=(0, 0, 1.5),
        motion=lambda t: ((0, 0, -1.2 if t < 0.8 else -0.3), (0, 0, 0)),
    )  # fmt: skip
    return b.build()


def recorded(model: Any, name: str, until: float, h: float, start: float, count: int) -> Iterator[Any]:
    """Yield problems of evenly spaced steps of a run at a loose tolerance, from the time `start` on."""
    every = max(1, int((until - start) / h) // count)
    with tempfile.TemporaryDirectory() as folder:
        recorder = ss.bench.ProblemRecorder(out=folder, every=every, start=start, most=count, name=name)
        ss.simulate(
            model, until=until, h=h, record=10**6, record_problems=recorder, on_failure="accept",
            solver="auto", solver_options={"tolerance": 1e-4},
        )  # fmt: skip
        for place in sorted(Path(folder).rglob("*.hdf5")):
            yield f"{name}-{place.stem.rsplit('-', 1)[-1]}", ss.read(place)


def steps(seeds: list[int]) -> Iterator[tuple[str, ss.GlobalProblem]]:
    """Yield problems of steps of shaken walls and presses."""
    for seed in seeds:
        yield from recorded(shaken_wall(seed), f"shaken-{seed}", 1.2, 5e-3, 0.2, 4)
        yield from recorded(press(seed), f"press-{seed}", 1.3, 5e-3, 0.6, 4)


def problems(kept: bool) -> Iterator[tuple[str, Any]]:
    """Yield all families; kept: with the seeds that were not used to choose settings."""
    yield from steps([20, 21] if kept else [0, 1, 2])
    yield from packings([20, 21, 22, 23] if kept else [0, 1, 2, 3, 4, 5])
    yield from chutes_and_walls([20, 21, 22] if kept else [0, 1, 2, 3, 4, 5])


def main() -> None:
    """Solve the problems and print the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kept", action="store_true", help="use the seeds that were not used for tuning")
    parser.add_argument("--only", default="", help="first letters of the names")
    parser.add_argument("--solver", default="auto")
    parser.add_argument("--most", type=int, default=1500, help="largest number of contacts")
    arguments = parser.parse_args()
    count = solved = quick = 0
    for name, problem in problems(arguments.kept):
        if not name.startswith(arguments.only) or len(problem.K) > arguments.most:
            continue
        sweeps = ss.solve(problem, "nsgs", max_iterations=100, tolerance=1e-14)
        start = time.process_time()
        solution = ss.solve(problem, arguments.solver, tolerance=TOLERANCE)
        seconds = time.process_time() - start - solution.compile_seconds
        size = np.linalg.norm(solution.r) / max(np.linalg.norm(sweeps.r), 1e-300)
        stages = " ".join(f"{one.solver}:{one.iterations}:{one.error:.0e}" for one in solution.tried)
        print(
            f"{name:32} {len(problem.K):5} {solution.status.name:8} {solution.residuals.error:8.1e}"
            f" {seconds:7.2f} s  |r| {size:6.2f}  {stages}",
            flush=True,
        )
        count, solved, quick = count + 1, solved + solution.ok, quick + (solution.ok and seconds < 2.0)
    print(f"{solved} of {count} solved at {TOLERANCE:g}, {quick} of them in less than 2 s of processor time")


if __name__ == "__main__":
    main()
