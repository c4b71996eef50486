"""Structures of blocks: stacks of boxes, a tower of planks, a row of dominoes, and masonry without mortar (a
wall in running bond and an arch of voussoirs)."""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from stickslip.exhibits import Curve, Figure, Panel
from stickslip.mechanics.builder import WorldBuilder
from stickslip.mechanics.hulls import ConvexHull
from stickslip.mechanics.shapes import Cuboid, Plane
from stickslip.mechanics.world import World
from stickslip.scenes import measures
from stickslip.scenes.measures import reactions, rest_facts, turn, weight, zero
from stickslip.scenes.parameters import checked, lengths, number
from stickslip.scenes.scenario import GRAVITY, Fact, Scenario, against, over_time, scene
from stickslip.scenes.views import side_view, still_panels
from stickslip.simulation.trajectory import Trajectory
from stickslip.state import Array


@checked
def stack(
    *, bodies: int = 10, mu: float = 0.5, mu_roll: float = 0.0, mu_spin: float = 0.0, size: float = 1.0,
    push: float = 0.0, until: float = 5.0, h: float = 2e-3,
) -> Scenario:  # fmt: skip
    """Boxes of the same size stacked on the floor.

    bodies: number of boxes [-], >= 1.
    size: edge of a box [m], > 0.

    Box k from the top presses on the next one with the weight of k boxes.
    """
    summary = f"A stack of {bodies} boxes {'is pushed' if push else 'rests'}."
    grip = {"mu": mu, "mu_roll": mu_roll, "mu_spin": mu_spin}
    world, facts, figure = _pile(np.ones(bodies), size, grip, push, f"{bodies} boxes, mu = {mu:g}")
    return scene("stack", summary, world, until, h, facts, figure)


@checked
def heavy_on_light(
    *, bodies: int = 2, ratio: float = 1000.0, mu: float = 0.5, mu_roll: float = 0.0, mu_spin: float = 0.0,
    size: float = 1.0, push: float = 0.0, until: float = 2.0, h: float = 2e-3,
) -> Scenario:  # fmt: skip
    """A stack of light and heavy boxes in alternation, a light one at the bottom.

    bodies: number of boxes [-], >= 2.
    ratio: of the masses [-], >= 1.
    size: edge of a box [m], > 0.

    Like a stack of equal boxes it rests, and the force on each box is the weight above it.
    """
    summary = f"A box rests on one that is {ratio:g} times lighter."
    shares = np.where(np.arange(bodies) % 2, ratio, 1.0)
    grip = {"mu": mu, "mu_roll": mu_roll, "mu_spin": mu_spin}
    world, facts, figure = _pile(shares, size, grip, push, f"{ratio:g}:1, mu = {mu:g}")
    return scene("heavy-on-light", summary, world, until, h, facts, figure)


def _pile(
    shares: Array, size: float, grip: dict[str, float], push: float, title: str
) -> tuple[World, Callable[[Any], Iterator[Fact]], Callable[[Any], Figure]]:
    """Return a stack of boxes with its facts and figure.

    shares: densities over that of water, from below [-]; grip: friction coefficients; push: initial velocity
    of the top [m/s].
    """
    masses = 1000.0 * size**3 * shares
    builder, box = WorldBuilder(), Cuboid((size, size, size))
    builder.material("default", **grip)
    builder.body("floor", Plane(), fixed=True)
    for k, mass in enumerate(masses):
        builder.body(
            f"box {k + 1}", box, position=(0.0, 0.0, (k + 0.5) * size), mass=float(mass),
            velocity=(push * (k + 0.5) / (masses.size - 0.5), 0.0, 0.0),
        )  # fmt: skip
    levels = [[f"box {k + 1}"] for k in range(masses.size)]
    above = GRAVITY * np.cumsum(masses[::-1])[::-1]

    def facts(trajectory: Trajectory) -> Iterator[Fact]:
        if push:
            yield from measures.shaken_facts(trajectory)
            return
        ratios = measures.carried_forces(trajectory, levels)[-1] / above
        worst = float(ratios[np.argmax(np.abs(ratios - 1.0))])
        yield from measures.rest_facts(trajectory, size)
        yield Fact("force under the worst box [of the weight above], at the end", worst, 1.0, 1e-6)

    def figure(trajectory: Trajectory) -> Figure:
        labels = "Force on the lower faces, at the end", "box, from below"
        return _standing(trajectory, f"Boxes at rest: {title}", labels, levels, above, ("box", "boxes"))

    return builder.build(), facts, figure


def _standing(
    trajectory: Trajectory, title: str, labels: tuple[str, str], levels: list[list[str]], above: Array,
    names: tuple[str, str],
) -> Figure:  # fmt: skip
    """Return a figure of the final state, the force under each level against the weight `above` [N], and the
    displacements; `names`: the singular and plural name of the bodies."""
    number, weights = np.arange(1.0, len(levels) + 1), -np.diff(above, append=0.0)
    return Figure(title, [
        Panel("At the end", "x [m]", "z [m]", side_view(trajectory, [float(trajectory.t[-1])])),
        against(*labels, "force [N]", number,
                {"contacts": (measures.carried_forces(trajectory, levels)[-1], "o"), "weight above": above},
                log_y=bool(weights.max() > 10.0 * weights.min())),
        *still_panels(trajectory, *names),
    ])  # fmt: skip


PLANK = (0.1170, 0.0234, 0.0078)
"""Length, width and thickness of a plank, 15:3:1 [m]."""


@checked
def kapla(
    *, courses: int = 12, mu: float = 0.4, mu_roll: float = 0.0, mu_spin: float = 0.0, push: float = 0.0,
    until: float = 1.0, h: float = 2e-3,
) -> Scenario:  # fmt: skip
    """A tower of planks: two in every course, alternately along x and along y.

    courses: number of courses of two planks [-], >= 1.

    Every plank rests on two others or on the floor. The two planks of a course together carry the weight of
    the courses above; statics does not determine how they share it.
    """
    builder, shape = WorldBuilder(), Cuboid(PLANK)
    builder.material("wood", mu=mu, mu_roll=mu_roll, mu_spin=mu_spin)
    builder.body("floor", Plane(), fixed=True, material="wood")
    apart = 0.5 * (PLANK[0] - PLANK[1])
    _, across = measures.turn(0.5 * math.pi, 2)
    for course in range(courses):
        for side, name in ((-1.0, "a"), (1.0, "b")):
            position = np.array([0.0, side * apart, (course + 0.5) * PLANK[2]])
            if course % 2:
                position[:2] = position[1], 0.0
            builder.body(
                f"plank {course + 1}{name}", shape, position=position, density=700.0, material="wood",
                quaternion=across if course % 2 else (1.0, 0.0, 0.0, 0.0),
                velocity=(push * (course + 0.5) / (courses - 0.5), 0.0, 0.0),
            )  # fmt: skip

    levels = [[f"plank {course + 1}a", f"plank {course + 1}b"] for course in range(courses)]
    world = builder.build()
    plank_weight = GRAVITY * world.mass[1]
    above = 2.0 * plank_weight * np.arange(courses, 0, -1)

    def facts(trajectory: Trajectory) -> Iterator[Fact]:
        if push:
            yield from measures.shaken_facts(trajectory)
            return
        yield from measures.rest_facts(trajectory, PLANK[2])
        yield zero("force under the worst course minus the weight above [of a plank's weight], at the end",
                   (measures.carried_forces(trajectory, levels)[-1] - above) / plank_weight,
                   1e-5 * courses)  # fmt: skip

    def figure(trajectory: Trajectory) -> Figure:
        labels = "Force under each course, at the end", "course"
        title = f"Tower of {2 * courses} planks, mu = {mu:g}"
        return _standing(trajectory, title, labels, levels, above, ("plank", "planks"))

    return scene("kapla", "A tower of planks laid crosswise stands.", world, until, h, facts, figure)


HEIGHT, WIDTH, THICK = 0.048, 0.024, 0.0075
"""Size of a domino along z, y and x [m]."""


@checked
def dominoes(
    *, bodies: int = 12, spacing: float = 0.02, mu: float = 0.3, mu_floor: float = 0.8, push: float = 4.0,
    until: float = 0.0, h: float = 5e-4,
) -> Scenario:  # fmt: skip
    """A row of dominoes; the first one starts with an angular velocity about its lower edge.

    bodies: number of dominoes [-], >= 3.
    spacing: from face to face [m], in [0.005, 0.04].
    mu: friction between dominoes [-], >= 0.
    mu_floor: friction of dominoes on the floor [-], >= 0.
    push: initial angular velocity of the first [rad/s], large enough to topple it.
    until: end [s], >= 0; with 0 the run is long enough for all to fall.

    A domino topples once its centre is past its edge, at the angle atan(THICK / HEIGHT), and hits its
    neighbour at asin(spacing / HEIGHT). Each fall releases energy and each impact dissipates some; after a
    few dominoes the two balance, and the wave has a constant speed.
    """
    tipping = math.atan2(THICK, HEIGHT)
    # Least spin: its energy about the edge lifts the centre to the height of tipping.
    reach = math.hypot(THICK, HEIGHT)
    least = math.sqrt(3.0 * GRAVITY * (reach - HEIGHT)) / reach
    push = number("push", push, "rad/s", above=least)
    until = until or 0.35 + 0.03 * bodies
    pitch = spacing + THICK
    builder, shape = WorldBuilder(), Cuboid((THICK, WIDTH, HEIGHT))
    builder.material("domino", mu=mu)
    builder.material("floor")
    builder.pair("domino", "floor", mu=mu_floor)
    builder.body("floor", Plane(), fixed=True, material="floor")
    for k in range(bodies):
        spin = push if k == 0 else 0.0
        builder.body(
            f"domino {k + 1}", shape, position=(k * pitch, 0.0, 0.5 * HEIGHT), material="domino",
            velocity=(0.5 * HEIGHT * spin, 0.0, 0.5 * THICK * spin), spin=(0.0, spin, 0.0),
        )  # fmt: skip
    struck = math.asin(min(spacing / HEIGHT, 1.0))

    def facts(trajectory: Trajectory) -> Iterator[Fact]:
        lean = leans(trajectory, bodies)
        passed = passing(trajectory.t, lean, 0.5 * (tipping + struck))
        turned = float(np.abs(trajectory.v.reshape(len(lean), -1, 6)[:, :, 3:]).max() * trajectory.h.max())
        fallen = float((lean[-1] > struck).mean())
        yield Fact("share of fallen dominoes [-], all", fallen, 1.0, 0.0)
        yield measures.balance_fact(trajectory, measures.weight(trajectory) * HEIGHT * bodies)
        yield zero("deepest overlap of two bodies [m], at most a corner's path in a step",
                   trajectory.penetration, turned * HEIGHT)  # fmt: skip
        yield zero("largest gain of energy in a step, without position correction [J], zero (order h²,"
                   " as edges rotate)", max(np.diff(trajectory.energy - trajectory.lifted).max(), 0.0),
                   measures.weight(trajectory) / bodies * turned**2 * HEIGHT)  # fmt: skip
        if np.isfinite(passed).all():
            between = np.diff(passed)
            yield zero("shortest time between neighbours [s], not negative", min(between.min(), 0.0), 0.0)
            if bodies >= 9:
                late = between[bodies // 2 : -2]
                yield zero("range of the wave's speed over its second half [of its mean], constant",
                           np.ptp(late) / late.mean(), 0.1)  # fmt: skip

    def figure(trajectory: Trajectory) -> Figure:
        t, lean = trajectory.t, leans(trajectory, bodies)
        passed = passing(t, lean, 0.5 * (tipping + struck))
        stop = float(np.nanmax(passed)) if np.isfinite(passed).any() else float(t[-1])
        return Figure(f"{bodies} dominoes, {1e3 * spacing:g} mm apart", [
            Panel("From the side", "x [m]", "z [m]", side_view(trajectory, [0.5 * stop, float(t[-1])])),
            over_time("Lean", "angle [deg]", t,
                      {f"domino {k + 1}": np.degrees(lean[:, k]) for k in (0, bodies // 2, bodies - 1)}),
            Panel("Speed of the wave", "domino", "speed [m/s]",
                  [Curve("wave", np.arange(2.0, bodies + 1), pitch / np.diff(passed), "o")]),
            over_time("Energy", "energy [J]", t,
                      {"kinetic": trajectory.kinetic,
                       "potential": trajectory.potential - trajectory.potential[-1],
                       "dissipated": (trajectory.dissipated, "--")}),
        ])  # fmt: skip

    return scene("dominoes", "A push topples a row of dominoes one after another.", builder.build(), until, h,
                 facts, figure)  # fmt: skip


def leans(trajectory: Trajectory, bodies: int) -> Array:
    """Return the angle of each domino from the vertical, towards +x [rad], shape (n, bodies)."""
    p = trajectory.q.reshape(len(trajectory), -1, 7)[:, 1 : bodies + 1, 3:]
    return np.asarray(2.0 * np.arctan2(p[:, :, 2], p[:, :, 0]))


def passing(t: Array, lean: Array, angle: float) -> Array:
    """Return when each domino first exceeds an angle [rad], interpolated between records [s], shape
    (bodies,); NaN if it never does."""
    times = np.full(lean.shape[1], np.nan)
    for k, angles in enumerate(lean.T):
        past = np.flatnonzero(angles > angle)
        if past.size and past[0] > 0:
            j = past[0]
            times[k] = t[j - 1] + (angle - angles[j - 1]) / (angles[j] - angles[j - 1]) * (t[j] - t[j - 1])
    return times


DENSITY = 2000.0
"""Density of stones and bricks [kg/m³]."""


@checked
def masonry_wall(
    *, courses: int = 6, length: int = 4, mu: float = 0.6, mu_roll: float = 0.0, mu_spin: float = 0.0,
    tilt: float = 0.0, brick: Sequence[float] = (0.2, 0.1, 0.1), until: float = 1.0, h: float = 2e-3,
) -> Scenario:  # fmt: skip
    """A wall of bricks in running bond, each course shifted by half a brick. The floor may be tilted along
    the wall, with the lower end at x > 0.

    courses: number of courses [-], >= 1.
    length: bricks in a course; every second course has one whole brick less and two halves [-], >= 2.
    mu: friction of all faces [-], > 0.
    tilt: of the floor along the wall [deg], in [0, 60].
    brick: length, thickness and height of a brick [m], three numbers > 0.

    Only friction holds the wall. On level ground it stands for any mu; tilted it stands up to an angle that
    `stickslip study tilt` compares with limit analysis.
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
    """Return course and ends of each brick [brick lengths], from below; odd courses begin and end with half
    bricks."""
    bricks = []
    for course in range(courses):
        middle = np.arange(length + 1.0) if course % 2 == 0 else np.arange(length) + 0.5
        ends = sorted({0.0, *middle.tolist(), float(length)})
        bricks += [(course, (a - 0.5 * length, b - 0.5 * length)) for a, b in pairwise(ends)]
    return bricks


@checked
def arch(
    *, bodies: int = 11, thickness: float = 0.2, mu: float = 0.7, mu_roll: float = 0.0,
    mu_spin: float = 0.0, tilt: float = 0.0, radius: float = 1.0, until: float = 1.0, h: float = 2e-3,
) -> Scenario:  # fmt: skip
    """A semicircular arch of equal voussoirs, wedges with radial joints, on two fixed abutments.

    bodies: number of voussoirs [-], >= 3.
    thickness: of the arch, t / R with R the radius of its middle line [-], in (0, 1).
    mu: friction of all joints [-], > 0.
    tilt: of the abutments in the plane of the arch; the foot at x > 0 is the lower one [deg], in [0, 60].
    radius: R [m], > 0.

    Only friction holds the arch. On level ground an arch of many voussoirs stands if t / R >= 0.1075
    (Milankovitch 1907; Heyman 1969 gives 0.106 by an approximation) and mu is large enough for its joints not
    to slide; tilted it stands up to an angle that `stickslip study tilt` compares with limit analysis.
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
        position = frame @ [radius * middle[0], 0.0, radius * middle[1]]
        builder.body(f"stone {k + 1}", ConvexHull(points), position=position, quaternion=p, density=DENSITY)

    title = f"Arch of {bodies} voussoirs, t / R = {thickness:g}, on {tilt:g}°, mu = {mu:g}"
    return scene("arch", "A semicircular arch of voussoirs stands by friction alone.", builder.build(), until,
                 h, lambda run: rest_facts(run, t), lambda run: standing_figure(run, title))  # fmt: skip


def voussoirs(bodies: int, thickness: float) -> Array:
    """Return the corners (x, z) of the stones of an arch with R = 1, from x > 0 to x < 0 [R], shape
    (bodies, 4, 2).

    Corners are counter-clockwise: inner and outer corner of the first joint, outer and inner of the second.
    """
    inner, outer = 1.0 - 0.5 * thickness, 1.0 + 0.5 * thickness
    angle = np.pi * np.arange(bodies + 1) / bodies
    joint = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    joint[0], joint[-1] = (1.0, 0.0), (-1.0, 0.0)
    ends = [inner * joint[:-1], outer * joint[:-1], outer * joint[1:], inner * joint[1:]]
    return np.stack(ends, axis=1)


def standing_figure(trajectory: Trajectory, title: str) -> Figure:
    """Return a figure of the structure with the final contact forces, the reactions and the displacements."""
    t = trajectory.t
    table = trajectory.contacts
    rows = table.at(len(trajectory) - 1)
    force, _ = table.force(trajectory.h)
    point, force = table.point[rows], force[rows]
    total = weight(trajectory)
    scale = 0.5 * float(np.ptp(trajectory.q[-1].reshape(-1, 7)[:, 0])) / total
    ends = np.stack([point - scale * force, point + scale * force, np.full_like(point, np.nan)], axis=1)
    x, _, z = ends.reshape(-1, 3).T
    share = reactions(trajectory) / total
    return Figure(title, [
        Panel("Stones and contact forces, at the end", "x [m]", "z [m]",
              [*side_view(trajectory, [float(t[0]), float(t[-1])]), Curve("forces", x, z)]),
        over_time("Reactions", "force [of the weight]", t[1:],
                  {"vertical": share[1:, 2], "horizontal": (share[1:, 0], "--")}),
        *still_panels(trajectory, "stone", "stones", 0),
    ])  # fmt: skip
