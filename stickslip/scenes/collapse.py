"""A column of spheres that collapses in a long box and flows around boulders."""

import numpy as np

from stickslip.mechanics.builder import WorldBuilder
from stickslip.mechanics.shapes import Sphere
from stickslip.mechanics.world import World
from stickslip.scenes.containers import add_floor, add_walls, lattice
from stickslip.scenes.parameters import checked

LENGTH = 2.2
"""Length of the box [of its width]: the column stands at one end and is as long as it is wide."""
HEIGHT = 0.75
"""Height of the column, about [of its width]."""
BOULDERS = ((0.14, -0.24, 0.15), (0.38, 0.22, 0.21))
"""Along the box and across it from its middle, and radius [of its width]; half sunk into the floor."""


@checked
def column_collapse(
    *, bodies: int = 1500, mu: float = 0.3, radius: float = 0.1, spread: float = 0.2, seed: int = 0
) -> World:
    """Spheres stacked loosely at one end of a box with nothing to hold them.

    bodies: how many spheres [-], >= 1.
    mu: friction of all that touches [-], >= 0.
    radius: mean of the radii [m], > 0.
    spread: of the radii, which are uniform in radius (1 ± spread) [-], in [0, 1).
    seed: of places and radii [-], >= 0.
    """
    rng = np.random.default_rng(seed)
    across = max(2, round((bodies / HEIGHT) ** (1.0 / 3.0)))
    centres, (_, width) = lattice(rng, bodies, (across, across), (1.0 + spread) * radius)
    centres[:, 0] -= 0.5 * (LENGTH - 1.0) * width
    b = WorldBuilder()
    b.material("default", mu=mu)
    add_floor(b)
    add_walls(b, (LENGTH * width, width))
    for k, (x, y, size) in enumerate(BOULDERS):
        b.body(f"boulder {k + 1}", Sphere(size * width), position=(x * width, y * width, 0.0), fixed=True)
    for k, size in enumerate(radius * rng.uniform(1.0 - spread, 1.0 + spread, bodies)):
        b.body(f"ball {k + 1}", Sphere(float(size)), position=centres[k], density=2500.0)
    return b.build()
