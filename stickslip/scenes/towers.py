"""A tower of planks laid crosswise: it stands by balance and friction."""

import itertools
import math
from collections.abc import Sequence

import numpy as np

from stickslip.exhibits import Curve, Figure, Panel
from stickslip.mechanics.builder import WorldBuilder
from stickslip.mechanics.shapes import Cuboid, Plane
from stickslip.scenes.block_views import side_view, turn
from stickslip.scenes.grain_facts import shaken_facts
from stickslip.scenes.measures import GRAVITY
from stickslip.scenes.parameters import frictions, number, whole
from stickslip.scenes.rest import drift, rest_facts, speed
from stickslip.scenes.scenario import Fact, Scenario
from stickslip.simulation.world_trajectory import WorldTrajectory
from stickslip.state import Array

PLANK = (0.1170, 0.0234, 0.0078)
"""Length, width and thickness of a plank, 15:3:1 [m]."""


def kapla(
    *, courses: int = 12, mu: float = 0.4, mu_roll: float = 0.0, mu_spin: float = 0.0, push: float = 0.0,
    until: float = 1.0, h: float = 2e-3,
) -> Scenario:  # fmt: skip
    """A tower of planks: two in every course, along x and along y in turn.

    courses: how many [-], >= 1; two planks each.
    mu: friction [-], >= 0.
    mu_roll: rolling friction [m], >= 0.
    mu_spin: torsional friction about the normals [m], >= 0.
    push: speed to the side, along x, at the top at the start; it grows with the height [m/s].
    until: end [s], > 0.
    h: time step [s], > 0.

    Every plank lies on two others (or on the floor) and stays. The two planks of a course together press on
    what is below with all that lies above; how they share it statics does not say.
    """
    courses = whole("courses", courses, 1)
    grip, push = frictions(mu, mu_roll, mu_spin), number("push", push, "m/s")
    until, h = number("until", until, "s", above=0.0), number("h", h, "s", above=0.0)
    builder, shape = WorldBuilder(), Cuboid(PLANK)
    builder.material("wood", **grip)
    builder.body("floor", Plane(), fixed=True, material="wood")
    apart = 0.5 * (PLANK[0] - PLANK[1])
    _, across = turn(0.5 * math.pi, 2)
    for course in range(courses):
        for side, name in ((-1.0, "a"), (1.0, "b")):
            place = np.array([0.0, side * apart, (course + 0.5) * PLANK[2]])
            if course % 2:
                place[:2] = place[1], 0.0
            builder.body(
                f"plank {course + 1}{name}", shape, position=place, density=700.0, material="wood",
                quaternion=across if course % 2 else (1.0, 0.0, 0.0, 0.0),
                velocity=(push * (course + 0.5) / (courses - 0.5), 0.0, 0.0),
            )  # fmt: skip

    def facts(trajectory: WorldTrajectory) -> Sequence[Fact]:
        if push:
            return shaken_facts(trajectory)
        one = GRAVITY * trajectory.model.mass[1]
        worst = np.abs(
            _pressed(trajectory, courses).sum(axis=1) / one - 2.0 * np.arange(courses, 0, -1)
        ).max()
        return [
            *rest_facts(trajectory, PLANK[2]),
            Fact(
                "what the worst course presses with less all above it [of a plank's weight], at the end",
                float(worst), 0.0, 1e-5 * courses,
            ),
        ]  # fmt: skip

    def figure(trajectory: WorldTrajectory) -> Figure:
        t, place, one = trajectory.t, np.arange(1.0, courses + 1), GRAVITY * trajectory.model.mass[1]
        return Figure(
            f"Tower of {2 * courses} planks, mu = {mu:g}",
            [
                Panel("At the end", "x [m]", "z [m]", side_view(trajectory, [float(t[-1])])),
                Panel(
                    "Force under each course, at the end", "course", "force [N]",
                    [
                        Curve("contacts", place, _pressed(trajectory, courses).sum(axis=1), "o"),
                        Curve("weight above", place, 2.0 * one * (courses + 1.0 - place)),
                    ],
                ),
                Panel("Way from the start", "t [s]", "farthest plank [m]",
                      [Curve("planks", t[1:], drift(trajectory)[1:])]),
                Panel("Speed", "t [s]", "fastest plank [m/s]",
                      [Curve("planks", t[1:], speed(trajectory)[1:])]),
            ],
        )  # fmt: skip

    return Scenario(
        "kapla", "A tower of planks laid crosswise stands.", builder.build(), until, h, "moreau-jean-bodies",
        {}, facts, figure, ("moreau-jean-bodies",),
    )  # fmt: skip


def _pressed(trajectory: WorldTrajectory, courses: int) -> Array:
    """Force with which each plank presses on what is below, at the end [N], shape (courses, 2)."""
    table, last = trajectory.contacts, trajectory.contacts.at(len(trajectory) - 1)
    force, body, height = table.force(trajectory.h)[0][last, 2], table.body[last], table.point[last, 2]
    found = np.zeros((courses, 2))
    for course, side in itertools.product(range(courses), range(2)):
        k = trajectory.model.body(f"plank {course + 1}{'ab'[side]}")
        below = height < trajectory.q[-1, 7 * k + 2]
        # A contact's force acts on its first body, and its opposite on the second.
        found[course, side] = force[below & (body[:, 0] == k)].sum() - force[below & (body[:, 1] == k)].sum()
    return found
