"""Grains and mixed shapes that fall into a box of planes."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from stickslip.exhibits import Figure
from stickslip.mechanics.builder import WorldBuilder
from stickslip.mechanics.compounds import Compound
from stickslip.mechanics.hulls import ConvexHull
from stickslip.mechanics.shapes import Capsule, Cuboid, Cylinder, Ellipsoid, Shape, Sphere
from stickslip.mechanics.world import World
from stickslip.scenes.containers import add_floor, add_walls, lattice, orientations
from stickslip.scenes.grain_facts import overlap_facts, rest_facts, shaken_facts
from stickslip.scenes.grain_views import energy_panel, support_panel, view_panels
from stickslip.scenes.parameters import checked
from stickslip.scenes.scenario import Fact, Scenario, scene
from stickslip.simulation.world_trajectory import WorldTrajectory


@checked
def sphere_pile(
    *, bodies: int = 200, mu: float = 0.5, mu_roll: float = 0.0, mu_spin: float = 0.0, radius: float = 0.05,
    spread: float = 0.2, e: float = 0.0, seed: int = 0, until: float = 1.25, h: float = 2.5e-3,
) -> Scenario:  # fmt: skip
    """Spheres that fall into a box.

    bodies: how many [-], >= 1.
    mu: friction [-], >= 0.
    radius: mean of the radii [m], > 0.
    spread: of the radii, which are uniform in radius (1 ± spread) [-], in [0, 1).
    e: restitution [-], in [0, 1].
    seed: of places and radii [-], >= 0.
    """
    rng = np.random.default_rng(seed)
    radii = radius * rng.uniform(1.0 - spread, 1.0 + spread, bodies)
    grip = {"mu": mu, "mu_roll": mu_roll, "mu_spin": mu_spin, "e": e}
    world = _poured(rng, [Sphere(r) for r in radii], (1.0 + spread) * radius, grip)
    return _pile(
        "sphere-pile", f"{bodies} spheres fall into a box and come to rest.", world, radius, until, h, e
    )


@checked
def capsules(
    *, bodies: int = 60, mu: float = 0.5, mu_roll: float = 0.0, mu_spin: float = 0.0, radius: float = 0.03,
    length: float = 0.12, e: float = 0.0, seed: int = 0, until: float = 1.5, h: float = 2e-3,
) -> Scenario:  # fmt: skip
    """Capsules that fall into a box, turned at random.

    bodies: how many [-], >= 1.
    mu: friction [-], >= 0.
    radius: of the capsules [m], > 0.
    length: of their straight part [m], > 0.
    e: restitution [-], in [0, 1].
    seed: of places and orientations [-], >= 0.
    """
    shape = Capsule(radius, length)
    grip = {"mu": mu, "mu_roll": mu_roll, "mu_spin": mu_spin, "e": e}
    world = _poured(np.random.default_rng(seed), [shape] * bodies, shape.reach, grip)
    return _pile("capsules", f"{bodies} capsules fall into a box.", world, radius, until, h, e)


@checked
def soup(
    *, bodies: int = 56, mu: float = 0.5, mu_roll: float = 0.0, mu_spin: float = 0.0, size: float = 0.1,
    e: float = 0.0, seed: int = 0, until: float = 1.5, h: float = 2e-3,
) -> Scenario:  # fmt: skip
    """Mixed shapes that fall into a box: spheres, boxes, capsules, cylinders, ellipsoids, convex hulls of
    random points and compounds in turn.

    bodies: how many [-], >= 1.
    mu: friction [-], >= 0.
    size: radius of a ball that holds any of them [m], > 0.
    e: restitution [-], in [0, 1].
    seed: of shapes, places and orientations [-], >= 0.
    """
    rng = np.random.default_rng(seed)
    shapes = [KINDS[k % len(KINDS)](rng, size) for k in range(bodies)]
    grip = {"mu": mu, "mu_roll": mu_roll, "mu_spin": mu_spin, "e": e}
    world = _poured(rng, shapes, size, grip)
    return _pile(
        "soup", f"{bodies} bodies of {min(bodies, len(KINDS))} kinds of shape fall into a box.", world,
        0.5 * size, until, h, e,
    )  # fmt: skip


def _box(rng: np.random.Generator, size: float) -> Shape:
    edges = rng.uniform(0.5, 1.0, 3)
    return Cuboid(tuple(2.0 * size * edges / np.linalg.norm(edges)))


def _dumb_bell(rng: np.random.Generator, size: float) -> Shape:
    """Two balls on a bar, off its middle by chance."""
    balls = size * rng.uniform(0.3, 0.45, 2)
    bar = Cuboid((0.25 * size, 0.25 * size, 1.2 * size))
    return Compound(
        (bar, (0.0, 0.0, 0.0)),
        (Sphere(balls[0]), (0.0, 0.0, size - balls[0])),
        (Sphere(balls[1]), (0.0, 0.0, balls[1] - size)),
    )


KINDS: tuple[Callable[[np.random.Generator, float], Shape], ...] = (
    lambda rng, size: Sphere(size * rng.uniform(0.5, 0.8)),
    _box,
    lambda rng, size: Capsule(0.4 * size, size * rng.uniform(0.6, 1.2)),
    lambda rng, size: Cylinder(size * rng.uniform(0.3, 0.6), size * rng.uniform(0.6, 1.4)),
    lambda rng, size: Ellipsoid(tuple(size * rng.uniform(0.4, 1.0, 3))),
    lambda rng, size: pebble(rng, size),
    _dumb_bell,
)
"""Shapes within a ball of a given radius [m], at random."""


def pebble(rng: np.random.Generator, size: float, corners: int = 14) -> ConvexHull:
    """The hull of random points on an ellipsoid within a ball of radius `size` [m]."""
    points = rng.normal(size=(corners, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return ConvexHull(size * points * rng.uniform(0.6, 1.0, 3))


def _poured(rng: np.random.Generator, shapes: Sequence[Shape], reach: float, grip: dict[str, float]) -> World:
    """A box with the shapes above its floor, in about as many layers as columns."""
    b = WorldBuilder()
    b.material("default", **grip)
    side = max(2, round(len(shapes) ** (1.0 / 3.0)))
    centres, width = lattice(rng, len(shapes), (side, side), reach)
    turns = orientations(rng, len(shapes))
    add_floor(b)
    add_walls(b, width)
    for k, shape in enumerate(shapes):
        b.body(f"body {k + 1}", shape, position=centres[k], quaternion=turns[k], density=2500.0)
    return b.build()


def _pile(
    name: str, summary: str, world: World, size: float, until: float, h: float, e: float
) -> Scenario:  # fmt: skip
    def facts(trajectory: WorldTrajectory) -> Iterator[Fact]:
        yield from shaken_facts(trajectory)
        yield from overlap_facts(trajectory, size, f"{1e3 * size:g} mm")
        yield from rest_facts(trajectory, e)

    def figure(trajectory: WorldTrajectory) -> Figure:
        end = float(trajectory.t[-1])
        return Figure(summary, [
            *view_panels(trajectory, (0.0, end)), energy_panel(trajectory), support_panel(trajectory),
        ])  # fmt: skip

    return scene(name, summary, world, until, h, facts, figure)
