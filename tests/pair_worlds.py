"""Worlds of two bodies that are about to touch, one of each pair of shapes."""

import numpy as np

import stickslip as ss
from stickslip.detection.detector import Detector
from stickslip.shapes import ConvexHull, Ellipsoid, HeightField

_x = np.linspace(-1.0, 1.0, 9)
SHAPES = {
    "box": ss.Cuboid((0.2, 0.3, 0.25)),
    "ball": ss.Sphere(0.1),
    "capsule": ss.Capsule(0.05, 0.3),
    "cylinder": ss.Cylinder(0.1, 0.3),
    "ellipsoid": Ellipsoid((0.1, 0.15, 0.2)),
    "hull": ConvexHull(0.1 * np.random.default_rng(0).normal(size=(12, 3))),
    "field": HeightField(0.05 * np.sin(3.0 * _x)[:, None] * np.cos(2.0 * _x), (2.0, 2.0)),
    "plane": ss.Plane(),
}
ENDLESS = ("field", "plane")


def turned(rng):
    """Return a random unit quaternion."""
    p = rng.normal(size=4)
    return p / np.linalg.norm(p)


def above(upper, lower, seed, height, mu=0.3, e=0.0):
    """Return a world with a body thrown at a resting body from `height` above its centre [m]."""
    rng = np.random.default_rng(seed)
    upright = turned(rng)
    builder = ss.WorldBuilder()
    builder.material("default", mu=mu, e=e)
    if lower in ENDLESS:
        builder.body("lower", SHAPES[lower], fixed=True)
    else:
        builder.body("lower", SHAPES[lower], mass=2.0, quaternion=upright)
    builder.body(
        "upper", SHAPES[upper], mass=1.0, position=(0.03, 0.02, height), quaternion=turned(rng),
        velocity=0.5 * rng.normal(size=3) - (0.0, 0.0, 1.0), spin=2.0 * rng.normal(size=3),
    )  # fmt: skip
    return builder.build()


def about_to_touch(upper, lower, seed, gap=1e-3, **material):
    """Return the world of `above` with the height for which the gap is `gap` [m], by bisection."""
    low, high = 0.05, 0.7
    for _ in range(30):
        middle = 0.5 * (low + high)
        world = above(upper, lower, seed, middle, **material)
        least = Detector(world).find(np.array(world.start.q), 2e-3).gap.min(initial=1.0)
        low, high = (middle, high) if least < gap else (low, middle)
    return above(upper, lower, seed, high, **material)
