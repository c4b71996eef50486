"""Masonry without mortar: a wall in running bond and an arch of voussoirs stand by friction alone."""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from stickslip.exhibits import Curve, Figure, Panel
from stickslip.mechanics.builder import WorldBuilder
from stickslip.mechanics.hulls import ConvexHull
from stickslip.mechanics.shapes import Cuboid, Plane
from stickslip.scenes.measures import reactions, rest_facts, turn, weight
from stickslip.scenes.parameters import checked, lengths
from stickslip.scenes.scenario import Scenario, over_time, scene
from stickslip.scenes.views import side_view, still_panels
from stickslip.simulation.world_trajectory import WorldTrajectory
from stickslip.state import Array

DENSITY = 2000.0
"""Of stone and brick [kg/m³]."""


@checked
def masonry_wall(
    *, courses: int = 6, length: int = 4, mu: float = 0.6, mu_roll: float = 0.0, mu_spin: float = 0.0,
    tilt: float = 0.0, brick: Sequence[float] = (0.2, 0.1, 0.1), until: float = 1.0, h: float = 2e-3,
) -> Scenario:  # fmt: skip
    """A wall of bricks in running bond, each course shifted by half a brick, on a floor that may be tilted
    along the wall: the end x > 0 is the lower one.

    courses: how many [-], >= 1.
    length: bricks in a course; every second course has one whole brick less and two halves [-], >= 2.
    mu: friction of all faces [-], > 0.
    tilt: of the floor along the wall [deg], in [0, 60].
    brick: length, thickness and height of a brick [m], three numbers > 0.

    Nothing but friction holds it. Level it stands whatever mu is; tilted it stands up to an angle that
    `stickslip study tilt` finds, beside that of limit analysis.
    """
    size = lengths("brick", brick, ("length", "thickness", "height"))
    frame, p = turn(math.radians(tilt))
    builder, shapes = WorldBuilder(), {}
    builder.material("default", mu=mu, mu_roll=mu_roll, mu_spin=mu_spin)
    builder.body("floor", Plane(), quaternion=p, fixed=True)
    for course, (low, high) in wall_bricks(courses, length):
        if high - low not in shapes:
            shapes[high - low] = Cuboid(((high - low) * size[0], size[1], size[2]))
        middle = np.array([0.5 * (low + high) * size[0], 0.0, (course + 0.5) * size[2]])
        builder.body(
            f"brick {course + 1}.{low:g}", shapes[high - low], position=frame @ middle, quaternion=p,
            density=DENSITY,
        )  # fmt: skip

    title = f"Wall of {courses} courses on {tilt:g}°, mu = {mu:g}"
    return scene("masonry-wall", "A wall in running bond stands by friction alone.", builder.build(), until,
                 h, lambda run: rest_facts(run, min(size)), lambda run: standing_figure(run, title)
    )  # fmt: skip


def wall_bricks(courses: int, length: int) -> list[tuple[int, tuple[float, float]]]:
    """Course and ends of each brick [brick lengths], from below; odd courses begin and end with halves."""
    found = []
    for course in range(courses):
        middle = np.arange(length + 1.0) if course % 2 == 0 else np.arange(length) + 0.5
        ends = sorted({0.0, *middle.tolist(), float(length)})
        found += [(course, (a - 0.5 * length, b - 0.5 * length)) for a, b in pairwise(ends)]
    return found


@checked
def arch(
    *, bodies: int = 11, thickness: float = 0.2, mu: float = 0.7, mu_roll: float = 0.0,
    mu_spin: float = 0.0, tilt: float = 0.0, radius: float = 1.0, until: float = 1.0, h: float = 2e-3,
) -> Scenario:  # fmt: skip
    """A semicircular arch of equal voussoirs, wedges with radial joints, on two fixed abutments.

    bodies: how many voussoirs [-], >= 3.
    thickness: of the arch, t / R with R the radius of its middle line [-], in (0, 1).
    mu: friction of all joints [-], > 0.
    tilt: of the abutments in the plane of the arch; the foot at x > 0 is the lower one [deg], in [0, 60].
    radius: R [m], > 0.

    Nothing but friction holds it. Level, an arch of many voussoirs stands if t / R >= 0.1075 (Milankovitch
    1907; Heyman 1969 has 0.106 by an approximation) and mu keeps the joints from sliding; tilted it stands up
    to an angle that `stickslip study tilt` finds, beside that of limit analysis.
    """
    frame, p = turn(math.radians(tilt))
    t = thickness * radius
    builder, depth = WorldBuilder(), 0.5 * radius
    builder.material("default", mu=mu, mu_roll=mu_roll, mu_spin=mu_spin)
    support = Cuboid((2.0 * t, 2.0 * depth, t))
    for name, side in (("right abutment", 1.0), ("left abutment", -1.0)):
        builder.body(name, support, position=frame @ [side * radius, 0.0, -0.5 * t], quaternion=p, fixed=True)
    for k, corners in enumerate(voussoirs(bodies, thickness)):
        middle = corners.mean(axis=0)
        points = [
            (radius * (x - middle[0]), y, radius * (z - middle[1]))
            for x, z in corners
            for y in (-0.5 * depth, 0.5 * depth)
        ]
        place = frame @ [radius * middle[0], 0.0, radius * middle[1]]
        builder.body(f"stone {k + 1}", ConvexHull(points), position=place, quaternion=p, density=DENSITY)

    title = f"Arch of {bodies} voussoirs, t / R = {thickness:g}, on {tilt:g}°, mu = {mu:g}"
    return scene("arch", "A semicircular arch of voussoirs stands by friction alone.", builder.build(), until,
                 h, lambda run: rest_facts(run, t), lambda run: standing_figure(run, title))  # fmt: skip


def voussoirs(bodies: int, thickness: float) -> Array:
    """Corners (x, z) of the stones of an arch with R = 1, from x > 0 to x < 0, counter-clockwise: inner and
    outer corner of the joint where it begins, outer and inner corner of that where it ends [R], shape
    (bodies, 4, 2)."""
    inner, outer = 1.0 - 0.5 * thickness, 1.0 + 0.5 * thickness
    angle = np.pi * np.arange(bodies + 1) / bodies
    joint = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    joint[0], joint[-1] = (1.0, 0.0), (-1.0, 0.0)
    ends = [inner * joint[:-1], outer * joint[:-1], outer * joint[1:], inner * joint[1:]]
    return np.stack(ends, axis=1)


def standing_figure(trajectory: WorldTrajectory, title: str) -> Figure:
    """How it stands, the forces of contacts at the end, and whether anything moves."""
    t = trajectory.t
    table = trajectory.contacts
    rows = table.at(len(trajectory) - 1)
    force, _ = table.force(trajectory.h)
    point, force = table.point[rows], force[rows]
    total = weight(trajectory)
    scale = 0.5 * float(np.ptp(trajectory.q[-1].reshape(-1, 7)[:, 0])) / total
    ends = np.stack([point - scale * force, point + scale * force, np.full_like(point, np.nan)], axis=1)
    x, _, z = ends.reshape(-1, 3).T
    held = reactions(trajectory) / total
    return Figure(title, [
        Panel("Stones and contact forces, at the end", "x [m]", "z [m]",
              [*side_view(trajectory, [float(t[0]), float(t[-1])]), Curve("forces", x, z)]),
        over_time("Reactions", "force [of the weight]", t[1:],
                  {"vertical": held[1:, 2], "horizontal": (held[1:, 0], "--")}),
        *still_panels(trajectory, "stone", 0),
    ])  # fmt: skip
