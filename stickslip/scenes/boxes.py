"""Boxes on one another: a stack, and heavy boxes on light ones; they rest."""

from collections.abc import Sequence

import numpy as np

from stickslip.exhibits import Curve, Figure, Panel
from stickslip.mechanics.builder import WorldBuilder
from stickslip.mechanics.shapes import Cuboid, Plane
from stickslip.mechanics.world import World
from stickslip.scenes.block_views import side_view
from stickslip.scenes.grain_facts import shaken_facts
from stickslip.scenes.measures import GRAVITY
from stickslip.scenes.parameters import frictions, number, whole
from stickslip.scenes.rest import drift, rest_facts, speed
from stickslip.scenes.scenario import Fact, Scenario
from stickslip.simulation.world_trajectory import WorldTrajectory
from stickslip.state import Array


def stack(
    *, bodies: int = 10, mu: float = 0.5, mu_roll: float = 0.0, mu_spin: float = 0.0, size: float = 1.0,
    push: float = 0.0, until: float = 5.0, h: float = 2e-3,
) -> Scenario:  # fmt: skip
    """Boxes of the same size stacked on the floor.

    bodies: how many boxes [-], >= 1.
    mu: friction [-], >= 0.
    mu_roll: rolling friction [m], >= 0.
    mu_spin: torsional friction about the normals [m], >= 0.
    size: edge of a box [m], > 0.
    push: speed to the side, along x, at the top at the start; it grows with the height [m/s].
    until: end [s], > 0.
    h: time step [s], > 0.

    Each box carries those above it: the k-th from the top presses on the next with k weights.
    """
    bodies = whole("bodies", bodies, 1)
    grip, push = frictions(mu, mu_roll, mu_spin), number("push", push, "m/s")
    size = number("size", size, "m", above=0.0)
    until, h = number("until", until, "s", above=0.0), number("h", h, "s", above=0.0)
    masses = np.full(bodies, 1000.0 * size**3)
    return Scenario(
        "stack", f"{bodies} boxes on one another {'are pushed' if push else 'rest'}.",
        pile(masses, size, grip, push), until, h, "moreau-jean-bodies", {},
        lambda trajectory: pile_facts(trajectory, masses, size, push),
        lambda trajectory: pile_figure(trajectory, f"{bodies} boxes, mu = {mu:g}", masses),
        ("moreau-jean-bodies",),
    )  # fmt: skip


def heavy_on_light(
    *, bodies: int = 2, ratio: float = 1000.0, mu: float = 0.5, mu_roll: float = 0.0, mu_spin: float = 0.0,
    size: float = 1.0, push: float = 0.0, until: float = 2.0, h: float = 2e-3,
) -> Scenario:  # fmt: skip
    """Light and heavy boxes in turn on the floor, a light one below.

    bodies: how many boxes [-], >= 2.
    ratio: of their masses [-], >= 1.
    mu: friction [-], >= 0.
    mu_roll: rolling friction [m], >= 0.
    mu_spin: torsional friction about the normals [m], >= 0.
    size: edge of a box [m], > 0.
    push: speed to the side, along x, at the top at the start; it grows with the height [m/s].
    until: end [s], > 0.
    h: time step [s], > 0.

    It rests as a stack of equal boxes does: what presses on each is the weight above it.
    """
    bodies = whole("bodies", bodies, 2)
    ratio = number("ratio", ratio, "", least=1.0)
    grip, push = frictions(mu, mu_roll, mu_spin), number("push", push, "m/s")
    size = number("size", size, "m", above=0.0)
    until, h = number("until", until, "s", above=0.0), number("h", h, "s", above=0.0)
    masses = 1000.0 * size**3 * np.where(np.arange(bodies) % 2, ratio, 1.0)
    return Scenario(
        "heavy-on-light", f"A box {ratio:g} times as heavy rests on a light one.",
        pile(masses, size, grip, push), until, h, "moreau-jean-bodies", {},
        lambda trajectory: pile_facts(trajectory, masses, size, push),
        lambda trajectory: pile_figure(trajectory, f"{ratio:g}:1, mu = {mu:g}", masses),
        ("moreau-jean-bodies",),
    )  # fmt: skip


def pile(masses: Array, size: float, grip: dict[str, float], push: float = 0.0) -> World:
    """Boxes on one another, from below; grip: their friction, push: speed of the highest [m/s]."""
    builder, box = WorldBuilder(), Cuboid((size, size, size))
    builder.material("default", **grip)
    builder.body("floor", Plane(), fixed=True)
    for k, mass in enumerate(masses):
        builder.body(
            f"box {k + 1}", box, position=(0.0, 0.0, (k + 0.5) * size), mass=float(mass),
            velocity=(push * (k + 0.5) / (masses.size - 0.5), 0.0, 0.0),
        )  # fmt: skip
    return builder.build()


def pile_facts(
    trajectory: WorldTrajectory, masses: Array, size: float, push: float = 0.0
) -> Sequence[Fact]:  # fmt: skip
    """Facts of rest, and what each box carries; what holds of any motion once they were pushed."""
    if push:
        return shaken_facts(trajectory)
    carried = GRAVITY * np.cumsum(masses[::-1])[::-1]
    ratios = carried_forces(trajectory, masses)[-1] / carried
    worst = float(ratios[np.argmax(np.abs(ratios - 1.0))])
    return [
        *rest_facts(trajectory, size),
        Fact("what presses on the worst support [of the weight above], at the end", worst, 1.0, 1e-6),
    ]


def carried_forces(trajectory: WorldTrajectory, masses: Array) -> Array:
    """Vertical force on the lower face of each box, over time [N], shape (n, bodies)."""
    on = np.stack([trajectory.forces_on(f"box {k + 1}")[:, 2] for k in range(masses.size)], axis=1)
    return np.asarray(np.cumsum(on[:, ::-1], axis=1)[:, ::-1])


def pile_figure(trajectory: WorldTrajectory, title: str, masses: Array) -> Figure:
    """How it stands, what presses where, and that nothing moves."""
    t, forces = trajectory.t, carried_forces(trajectory, masses)
    place = np.arange(1.0, masses.size + 1)
    weight = GRAVITY * np.cumsum(masses[::-1])[::-1]
    return Figure(
        f"Boxes at rest: {title}",
        [
            Panel("At the end", "x [m]", "z [m]", side_view(trajectory, [float(t[-1])])),
            Panel(
                "Force on the lower faces, at the end", "box, from below", "force [N]",
                [Curve("contacts", place, forces[-1], "o"), Curve("weight above", place, weight)],
                log_y=bool(masses.max() > 10.0 * masses.min()),
            ),
            Panel(
                "Way from the start", "t [s]", "farthest box [m]",
                [Curve("boxes", t[1:], drift(trajectory)[1:])],
            ),
            Panel("Speed", "t [s]", "fastest box [m/s]", [Curve("boxes", t[1:], speed(trajectory)[1:])]),
        ],
    )  # fmt: skip
