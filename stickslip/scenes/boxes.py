"""Boxes that stand on each other."""

from collections.abc import Sequence

import numpy as np

from stickslip.exhibits import Curve, Figure, Panel
from stickslip.mechanics.builder import WorldBuilder
from stickslip.mechanics.shapes import Cuboid, Plane
from stickslip.scenes.measures import GRAVITY
from stickslip.scenes.parameters import number, whole
from stickslip.scenes.scenario import Fact, Scenario
from stickslip.simulation.world_trajectory import WorldTrajectory

FLOOR = "floor"


def stack(
    *, bodies: int = 10, mu: float = 0.5, size: float = 0.1, density: float = 1000.0,
    gravity: float = GRAVITY, h: float = 1e-3,
) -> Scenario:  # fmt: skip
    """A stack of boxes at rest.

    bodies: how many boxes, >= 1.
    mu: friction of all surfaces [-], >= 0.
    size: edge of a box [m], > 0.
    density: of the boxes [kg/m³], > 0.
    gravity: [m/s²], > 0.
    h: time step [s], > 0.

    Nothing moves, and every box carries those above it: box k of n pushes down with (n - k) m g.
    """
    n = whole("bodies", bodies, 1)
    mu = number("mu", mu, "", least=0.0)
    size = number("size", size, "m", above=0.0)
    density = number("density", density, "kg/m³", above=0.0)
    gravity = number("gravity", gravity, "m/s²", above=0.0)
    h = number("h", h, "s", above=0.0)
    builder = WorldBuilder(gravity=(0.0, 0.0, -gravity))
    builder.material("default", mu=mu)
    builder.body(FLOOR, Plane(), fixed=True)
    box, weight = Cuboid((size, size, size)), density * size**3 * gravity
    for k in range(n):
        builder.body(f"box {k + 1}", box, position=(0.0, 0.0, (k + 0.5) * size), density=density)

    def facts(trajectory: WorldTrajectory) -> Sequence[Fact]:
        moved = [trajectory.body(f"box {k + 1}").centre for k in range(n)]
        drift = max(float(np.abs(x[-1] - x[0]).max()) for x in moved)
        push = -trajectory.forces_on(FLOOR)[-1]
        scale = n * weight * n * size
        return [
            Fact("penetration over the size [-], none (1e-5 allowed)",
                 float(trajectory.penetration.max()) / size, 0.0, 1e-5),
            Fact("farthest that a box went, over the size [-], not at all", drift / size, 0.0, 1e-5),
            Fact("fastest box at the end [m/s], at rest", float(np.abs(trajectory.v[-1]).max()), 0.0, 1e-6),
            Fact("force on the floor [N], the weight of all", float(push[2]), n * weight, 1e-6 * n * weight),
            Fact("energy that appears or vanishes, over m g h of all [-] (rounding)",
                 float(np.abs(trajectory.balance).max()) / scale, 0.0, 1e-10),
        ]  # fmt: skip

    def figure(trajectory: WorldTrajectory) -> Figure:
        t = trajectory.t
        top = trajectory.body(f"box {n}").position
        return Figure(
            f"A stack of {n} boxes, mu = {mu:g}",
            [
                Panel(
                    "The box on top", "t [s]", "way from its place [m]",
                    [Curve(axis, t, top[:, k] - top[0, k]) for k, axis in enumerate("xyz")],
                ),
                Panel("Certificate", "t [s]", "natural_scaled [-]", [
                    Curve("residual", t[1:], trajectory.natural_scaled[1:])
                ]),
            ],
        )  # fmt: skip

    return Scenario(
        "stack", "Boxes on each other rest by friction and normal forces alone.", builder.build(), 5.0, h,
        "moreau-jean-bodies", {}, facts, figure, ("moreau-jean-bodies",),
    )  # fmt: skip
