"""Towers that stand by balance and friction: planks laid crosswise, and cards that lean on each other."""

import math
from collections.abc import Sequence

import numpy as np

from stickslip.exhibits import Curve, Figure, Panel
from stickslip.mechanics.builder import WorldBuilder
from stickslip.mechanics.shapes import Cuboid, Plane
from stickslip.scenes.block_views import side_view, turn
from stickslip.scenes.measures import GRAVITY
from stickslip.scenes.parameters import number, whole
from stickslip.scenes.rest import balance_fact, drift, overlap_fact, rest_facts, speed, weight
from stickslip.scenes.scenario import Fact, Scenario
from stickslip.simulation.world_trajectory import WorldTrajectory

PLANK = (0.1170, 0.0234, 0.0078)
"""Length, width and thickness of a plank, 15:3:1 [m]."""


def kapla(*, courses: int = 12, mu: float = 0.4, until: float = 1.0, h: float = 2e-3) -> Scenario:
    """A tower of planks: two in every course, along x and along y in turn.

    courses: how many [-], >= 1; two planks each.
    mu: friction [-], >= 0.
    until: end [s], > 0.
    h: time step [s], > 0.

    Every plank lies on two others (or on the floor) and stays. By symmetry each of the four crossings of a
    course carries a quarter of the weight above, and each plank presses with half of it.
    """
    courses = whole("courses", courses, 1)
    mu = number("mu", mu, "", least=0.0)
    until, h = number("until", until, "s", above=0.0), number("h", h, "s", above=0.0)
    builder, shape = WorldBuilder(), Cuboid(PLANK)
    builder.material("wood", mu=mu)
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
            )  # fmt: skip

    def facts(trajectory: WorldTrajectory) -> Sequence[Fact]:
        below = -np.array([_pressed(trajectory, f"plank {course + 1}") for course in range(courses)])
        one = GRAVITY * trajectory.model.mass[1]
        known = one * np.arange(courses, 0, -1)
        return [
            *rest_facts(trajectory, PLANK[2]),
            Fact(
                "what presses on the worst plank less half of what lies above it [of a plank's weight]",
                float(np.abs(below - known[:, None]).max() / one), 0.0, 1e-5 * courses,
            ),
        ]  # fmt: skip

    def figure(trajectory: WorldTrajectory) -> Figure:
        t = trajectory.t
        return Figure(
            f"Tower of {2 * courses} planks, mu = {mu:g}",
            [
                Panel("At the end", "x [m]", "z [m]", side_view(trajectory, [float(t[-1])])),
                Panel(
                    "Force under each plank, at the end", "course", "force [N]",
                    [
                        Curve(
                            "contacts", np.repeat(np.arange(1, courses + 1), 2),
                            -np.array([_pressed(trajectory, f"plank {c + 1}") for c in range(courses)]).ravel(),
                            "o",
                        ),
                        Curve(
                            "half of what lies above", np.arange(1.0, courses + 1),
                            GRAVITY * trajectory.model.mass[1] * np.arange(courses, 0.0, -1),
                        ),
                    ],
                ),
                Panel("Way from the start", "t [s]", "farthest plank [m]",
                      [Curve("planks", t[1:], drift(trajectory)[1:])]),
                Panel("Speed", "t [s]", "fastest plank [m/s]", [Curve("planks", t[1:], speed(trajectory)[1:])]),
            ],
        )  # fmt: skip

    return Scenario(
        "kapla", "A tower of planks laid crosswise stands.", builder.build(), until, h, "moreau-jean-bodies",
        {}, facts, figure, ("moreau-jean-bodies",),
    )  # fmt: skip


def _pressed(trajectory: WorldTrajectory, course: str) -> list[float]:
    """Forces on what is below the two planks of a course, downwards as a negative number, at the end [N]."""
    table = trajectory.contacts
    rows = np.arange(len(table))[table.at(len(trajectory) - 1)]
    force = table.force(trajectory.h)[0][rows]
    found = []
    for side in "ab":
        k = trajectory.model.body(f"{course}{side}")
        height = trajectory.q[-1, 7 * k + 2]
        own = (table.body[rows] == k).any(axis=1) & (table.point[rows, 2] < height)
        sign = np.where(table.body[rows][own][:, 0] == k, -1.0, 1.0)
        found.append(float((sign * force[own, 2]).sum()))
    return found


def card_house(
    *, lean: float = 20.0, mu: float = 0.5, mu_floor: float = 0.3, until: float = 1.0, h: float = 1e-3
) -> Scenario:
    """Two cards that lean on each other, edge to edge.

    lean: of the cards from the vertical [deg], in [5, 45].
    mu: friction of the cards on each other [-], >= tan(lean) so that the force at the top may be level.
    mu_floor: friction on the floor [-], >= 0.
    until: end [s], > 0.
    h: time step [s], > 0.

    A card of length L, thickness d and weight w stands on its inner lower edge and leans with its inner upper
    edge. Moments about the lower edge: H L cos(lean) = w (L sin(lean) - d cos(lean)) / 2, so that the floor
    must hold H / w = (tan(lean) - d / L) / 2: the cards stand if mu_floor is at least that, and else slide
    apart.
    """
    lean = number("lean", lean, "deg", least=5.0, most=45.0)
    angle = math.radians(lean)
    mu = number("mu", mu, "", least=math.tan(angle))
    mu_floor = number("mu_floor", mu_floor, "", least=0.0)
    until, h = number("until", until, "s", above=0.0), number("h", h, "s", above=0.0)
    length, width, thick = 0.09, 0.06, 0.003
    builder, card = WorldBuilder(), Cuboid((thick, width, length))
    builder.material("card", mu=mu)
    builder.material("floor")
    builder.pair("card", "floor", mu=mu_floor)
    builder.body("floor", Plane(), fixed=True, material="floor")
    place = 0.5 * np.array(
        [
            length * math.sin(angle) + thick * math.cos(angle), 0.0,
            length * math.cos(angle) + thick * math.sin(angle),
        ]
    )  # fmt: skip
    for name, side in (("left", -1.0), ("right", 1.0)):
        _, p = turn(-side * angle)
        builder.body(name, card, position=place * [side, 1.0, 1.0], quaternion=p, material="card")
    needed = 0.5 * (math.tan(angle) - thick / length)
    stays = mu_floor >= needed

    def facts(trajectory: WorldTrajectory) -> Sequence[Fact]:
        rows = [balance_fact(trajectory, length), overlap_fact(trajectory, length)]
        if stays:
            foot = -trajectory.forces_on("floor")[-1]
            table = trajectory.contact_table("left")
            last = (table.t == trajectory.t[-1]) & (table.other == "floor")
            level = float(table.force[last, 0].sum()) / (0.5 * weight(trajectory))
            rows += [
                *rest_facts(trajectory, thick)[:3],
                Fact("floor's force on a card along it [of its weight], (tan(lean) - d/L) / 2", level, needed,
                     1e-5),
                Fact("floor's force on both along it [of the weight]", float(foot[0] / weight(trajectory)),
                     0.0, 1e-6),
            ]  # fmt: skip
        else:
            moved = float(drift(trajectory)[-1])
            rows.append(Fact("whether the cards slid apart [-]", float(moved > 0.1 * length), 1.0, 0.0))
        return rows

    def figure(trajectory: WorldTrajectory) -> Figure:
        t, total = trajectory.t, weight(trajectory)
        held = -trajectory.forces_on("floor")
        return Figure(
            f"Cards leaning by {lean:g}°, mu on the floor {mu_floor:g}, needed {needed:.3g}",
            [
                Panel("From the side", "x [m]", "z [m]", side_view(trajectory, [0.0, 0.5 * t[-1], t[-1]])),
                Panel("Floor's force", "t [s]", "force [of the weight]",
                      [Curve("vertical", t[1:], held[1:, 2] / total)]),
                Panel("Way from the start", "t [s]", "farthest card [m]", [Curve("cards", t, drift(trajectory))]),
                Panel("Speed", "t [s]", "fastest card [m/s]", [Curve("cards", t, speed(trajectory))]),
            ],
        )  # fmt: skip

    return Scenario(
        "card-house", "Two cards lean on each other and stand by the floor's friction.", builder.build(),
        until, h, "moreau-jean-bodies", {}, facts, figure, ("moreau-jean-bodies",),
    )  # fmt: skip
