"""Time of contact detection and tracking: settled piles of spheres, spheres of many sizes, a stack of boxes.

    python benchmarks/detection.py [--spheres 10000,100000]

Times are processor times per contact, the shortest of several calls without compilation. A pile is a
drop-and-roll packing with nearly three contacts per sphere, on a floor and between four walls. `radii 1:100`
is a random cloud with radii uniform on a logarithmic scale that fill 0.3 of it; `one far away` has a sphere
at 1e300 m, so that cells can no longer be numbered one by one.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from stickslip.detection.contacts import SLOTS
from stickslip.detection.detector import Detector
from stickslip.kernels.bodies.tracking import local_points, track_contacts
from stickslip.mechanics.builder import WorldBuilder
from stickslip.mechanics.shapes import Cuboid, Plane, Sphere
from stickslip.mechanics.world import World
from stickslip.scenes.packing import deposit
from stickslip.state import Array

REPEATS = 15
"""Number of timed calls."""


def shortest(call: Callable[..., Any], *arguments: Any) -> float:
    """Return the shortest processor time of several calls after a first one [s]."""
    call(*arguments)
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        call(*arguments)
        times.append(time.process_time() - start)
    return min(times)


def walled(centre: Array, radius: Array, width: float) -> World:
    """Return spheres on a floor between four walls."""
    builder = WorldBuilder()
    half = np.sqrt(0.5)
    builder.body("floor", Plane(), fixed=True)
    builder.body("left", Plane(), fixed=True, quaternion=(half, 0.0, half, 0.0))
    builder.body("right", Plane(), fixed=True, quaternion=(half, 0.0, -half, 0.0), position=(width, 0.0, 0.0))
    builder.body("front", Plane(), fixed=True, quaternion=(half, -half, 0.0, 0.0))
    builder.body("back", Plane(), fixed=True, quaternion=(half, half, 0.0, 0.0), position=(0.0, width, 0.0))
    for i, (x, r) in enumerate(zip(centre, radius, strict=True)):
        builder.body(str(i), Sphere(float(r)), position=x)
    return builder.build()


def stack(boxes: int) -> World:
    """Return a stack of cubes of 1 m on a floor."""
    builder = WorldBuilder()
    builder.body("floor", Plane(), fixed=True)
    for k in range(boxes):
        builder.body(f"box {k}", Cuboid((1.0, 1.0, 1.0)), position=(0.0, 0.0, k + 0.5))
    return builder.build()


def worlds(sizes: list[int]) -> Iterator[tuple[str, World, Array, float]]:
    """Yield name, world, positions and orientations of its bodies, and margin of detection [m]."""
    for n in sizes:
        pile = deposit(spheres=n, seed=0, radius=0.01, spread=0.2)
        shuffled = np.random.default_rng(0).permutation(n)
        for order, description in ((np.arange(n), "sorted in space"), (shuffled, "in any order")):
            world = walled(pile.centre[order], pile.radius[order], pile.width)
            yield f"{n} spheres, {description}", world, world.start.q.copy(), 1e-6
        q = world.start.q.copy()
        q[-7] = 1e300
        yield f"{n} spheres, one far away", world, q, 1e-6
        random = np.random.default_rng(0)
        radius = 10.0 ** random.uniform(-3.0, -1.0, n)
        width = float(np.cbrt((4.0 / 3.0 * np.pi * radius**3).sum() / 0.3))
        centre = random.uniform(0.0, width, (n, 3))
        world = walled(centre, radius, width)
        yield f"{n} spheres, radii 1:100", world, world.start.q.copy(), 0.0
    world = stack(10)
    yield "stack of 10 boxes", world, world.start.q.copy(), 1e-3


def main() -> None:
    """Parse the command line, measure, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spheres", default="10000,100000", help="sizes of the piles")
    sizes = [int(size) for size in parser.parse_args().spheres.split(",")]
    print(f"{'':36} {'contacts':>9} {'find':>10} {'track':>10} {'ns/contact':>11}")
    for name, world, q, margin in worlds(sizes):
        detector = Detector(world)
        contacts = detector.find(q, margin)
        nc = len(contacts)
        local, r, guess = np.empty((nc, 2, 3)), np.zeros((nc, 6)), np.zeros((nc, 6))
        local_points(q, contacts.body, contacts.point, local)
        last = contacts.id.astype(float), local, contacts.frame, r
        order, ids = np.empty(nc, np.int64), np.empty(nc, np.int64)
        matched = contacts.id, local, contacts.frame, SLOTS, *last, order, ids, guess
        find, follow = shortest(detector.find, q, margin), shortest(track_contacts, *matched)
        times = " ".join(f"{1e3 * seconds:7.3f} ms" for seconds in (find, follow))
        print(f"{name:36} {len(contacts):9} {times} {1e9 * find / len(contacts):11.0f}")


if __name__ == "__main__":
    main()
