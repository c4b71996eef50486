"""Boxes, planks and dominoes: stacks and a tower that rest, and a row that falls."""

import itertools
import math
from collections.abc import Iterator

import numpy as np

from stickslip.exhibits import Curve, Figure, Panel
from stickslip.mechanics.builder import WorldBuilder
from stickslip.mechanics.shapes import Cuboid, Plane
from stickslip.mechanics.world import World
from stickslip.scenes.block_views import side_view, turn
from stickslip.scenes.measures import GRAVITY
from stickslip.scenes.parameters import checked, number
from stickslip.scenes.rest import balance_fact, drift, rest_facts, shaken_facts, speed, weight
from stickslip.scenes.scenario import Fact, Scenario, against, over_time, scene
from stickslip.simulation.world_trajectory import WorldTrajectory
from stickslip.state import Array


@checked
def stack(
    *, bodies: int = 10, mu: float = 0.5, mu_roll: float = 0.0, mu_spin: float = 0.0, size: float = 1.0,
    push: float = 0.0, until: float = 5.0, h: float = 2e-3,
) -> Scenario:  # fmt: skip
    """Boxes of the same size stacked on the floor.

    bodies: how many boxes [-], >= 1.
    mu: friction [-], >= 0.
    size: edge of a box [m], > 0.
    push: speed to the side, along x, at the top at the start; it grows with the height [m/s].

    Each box carries those above it: the k-th from the top presses on the next with k weights.
    """
    grip = {"mu": mu, "mu_roll": mu_roll, "mu_spin": mu_spin}
    masses = np.full(bodies, 1000.0 * size**3)
    return scene("stack", f"{bodies} boxes on one another {'are pushed' if push else 'rest'}.",
                 pile(masses, size, grip, push), until, h,
                 lambda trajectory: pile_facts(trajectory, masses, size, push),
                 lambda trajectory: pile_figure(trajectory, f"{bodies} boxes, mu = {mu:g}", masses)
    )  # fmt: skip


@checked
def heavy_on_light(
    *, bodies: int = 2, ratio: float = 1000.0, mu: float = 0.5, mu_roll: float = 0.0, mu_spin: float = 0.0,
    size: float = 1.0, push: float = 0.0, until: float = 2.0, h: float = 2e-3,
) -> Scenario:  # fmt: skip
    """Light and heavy boxes in turn on the floor, a light one below.

    bodies: how many boxes [-], >= 2.
    ratio: of their masses [-], >= 1.
    mu: friction [-], >= 0.
    size: edge of a box [m], > 0.
    push: speed to the side, along x, at the top at the start; it grows with the height [m/s].

    It rests as a stack of equal boxes does: what presses on each is the weight above it.
    """
    grip = {"mu": mu, "mu_roll": mu_roll, "mu_spin": mu_spin}
    masses = 1000.0 * size**3 * np.where(np.arange(bodies) % 2, ratio, 1.0)
    return scene("heavy-on-light", f"A box {ratio:g} times as heavy rests on a light one.",
                 pile(masses, size, grip, push), until, h,
                 lambda trajectory: pile_facts(trajectory, masses, size, push),
                 lambda trajectory: pile_figure(trajectory, f"{ratio:g}:1, mu = {mu:g}", masses))  # fmt: skip


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
) -> Iterator[Fact]:  # fmt: skip
    """Facts of rest, and what each box carries; what holds of any motion once they were pushed."""
    if push:
        yield from shaken_facts(trajectory)
        return
    carried = GRAVITY * np.cumsum(masses[::-1])[::-1]
    ratios = carried_forces(trajectory, masses)[-1] / carried
    worst = float(ratios[np.argmax(np.abs(ratios - 1.0))])
    yield from rest_facts(trajectory, size)
    yield Fact("what presses on the worst support [of the weight above], at the end", worst, 1.0, 1e-6)


def carried_forces(trajectory: WorldTrajectory, masses: Array) -> Array:
    """Vertical force on the lower face of each box, over time [N], shape (n, bodies)."""
    on = np.stack([trajectory.forces_on(f"box {k + 1}")[:, 2] for k in range(masses.size)], axis=1)
    return np.asarray(np.cumsum(on[:, ::-1], axis=1)[:, ::-1])


def pile_figure(trajectory: WorldTrajectory, title: str, masses: Array) -> Figure:
    """How it stands, what presses where, and that nothing moves."""
    t, forces = trajectory.t, carried_forces(trajectory, masses)
    place = np.arange(1.0, masses.size + 1)
    weight = GRAVITY * np.cumsum(masses[::-1])[::-1]
    return Figure(f"Boxes at rest: {title}", [
        Panel("At the end", "x [m]", "z [m]", side_view(trajectory, [float(t[-1])])),
        against("Force on the lower faces, at the end", "box, from below", "force [N]", place,
                {"contacts": (forces[-1], "o"), "weight above": weight},
                log_y=bool(masses.max() > 10.0 * masses.min())),
        over_time("Way from the start", "farthest box [m]", t[1:], {"boxes": drift(trajectory)[1:]}),
        over_time("Speed", "fastest box [m/s]", t[1:], {"boxes": speed(trajectory)[1:]}),
    ])  # fmt: skip


PLANK = (0.1170, 0.0234, 0.0078)
"""Length, width and thickness of a plank, 15:3:1 [m]."""


@checked
def kapla(
    *, courses: int = 12, mu: float = 0.4, mu_roll: float = 0.0, mu_spin: float = 0.0, push: float = 0.0,
    until: float = 1.0, h: float = 2e-3,
) -> Scenario:  # fmt: skip
    """A tower of planks: two in every course, along x and along y in turn.

    courses: how many [-], >= 1; two planks each.
    mu: friction [-], >= 0.
    push: speed to the side, along x, at the top at the start; it grows with the height [m/s].

    Every plank lies on two others (or on the floor) and stays. The two planks of a course together press on
    what is below with all that lies above; how they share it statics does not say.
    """
    builder, shape = WorldBuilder(), Cuboid(PLANK)
    builder.material("wood", mu=mu, mu_roll=mu_roll, mu_spin=mu_spin)
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

    def facts(trajectory: WorldTrajectory) -> Iterator[Fact]:
        if push:
            yield from shaken_facts(trajectory)
            return
        one = GRAVITY * trajectory.model.mass[1]
        worst = np.abs(
            _pressed(trajectory, courses).sum(axis=1) / one - 2.0 * np.arange(courses, 0, -1)
        ).max()
        yield from rest_facts(trajectory, PLANK[2])
        yield Fact("what the worst course presses with less all above it [of a plank's weight], at the end",
                   worst, 0.0, 1e-5 * courses)  # fmt: skip

    def figure(trajectory: WorldTrajectory) -> Figure:
        t, place, one = trajectory.t, np.arange(1.0, courses + 1), GRAVITY * trajectory.model.mass[1]
        return Figure(f"Tower of {2 * courses} planks, mu = {mu:g}", [
            Panel("At the end", "x [m]", "z [m]", side_view(trajectory, [float(t[-1])])),
            against("Force under each course, at the end", "course", "force [N]", place,
                    {"contacts": (_pressed(trajectory, courses).sum(axis=1), "o"),
                     "weight above": 2.0 * one * (courses + 1.0 - place)}),
            over_time("Way from the start", "farthest plank [m]", t[1:], {"planks": drift(trajectory)[1:]}),
            over_time("Speed", "fastest plank [m/s]", t[1:], {"planks": speed(trajectory)[1:]}),
        ])  # fmt: skip

    return scene("kapla", "A tower of planks laid crosswise stands.", builder.build(), until, h, facts,
                 figure)  # fmt: skip


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


HEIGHT, WIDTH, THICK = 0.048, 0.024, 0.0075
"""Of a domino [m]."""


@checked
def dominoes(
    *, bodies: int = 12, spacing: float = 0.02, mu: float = 0.3, mu_floor: float = 0.8, push: float = 4.0,
    until: float = 0.0, h: float = 5e-4,
) -> Scenario:  # fmt: skip
    """Dominoes in a row, the first of which is given a spin about its lower edge.

    bodies: how many [-], >= 3.
    spacing: from face to face [m], in [0.005, 0.04].
    mu: friction of dominoes on each other [-], >= 0.
    mu_floor: on the floor [-], >= 0.
    push: spin of the first at the start [rad/s], enough to topple it.
    until: end [s], >= 0; 0 is long enough for all to fall.

    A domino topples by itself once its centre is past its edge, at atan(THICK / HEIGHT); its neighbour is hit
    at asin(spacing / HEIGHT). Each fall gives energy, each impact takes some, and after a few dominoes the
    two balance: the wave goes at a steady speed.
    """
    tipping = math.atan2(THICK, HEIGHT)
    # From standing to tipping the centre rises; the moment of inertia is about the edge.
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

    def facts(trajectory: WorldTrajectory) -> Iterator[Fact]:
        lean = leans(trajectory, bodies)
        passed = passing(trajectory.t, lean, 0.5 * (tipping + struck))
        turned = float(np.abs(trajectory.v.reshape(len(lean), -1, 6)[:, :, 3:]).max() * trajectory.h.max())
        fallen = float((lean[-1] > struck).mean())
        yield Fact("share of dominoes that have fallen [-], all", fallen, 1.0, 0.0)
        yield balance_fact(trajectory, HEIGHT * bodies)
        yield Fact("deepest overlap of two bodies [m], less than a corner goes in a step",
                   trajectory.penetration.max(), 0.0, turned * HEIGHT)  # fmt: skip
        yield Fact("largest gain of energy in a step, less what the correction lifts [J], none (order h²: an"
                   " edge that turns)",
                   max(np.diff(trajectory.energy - trajectory.lifted).max(), 0.0), 0.0,
                   weight(trajectory) / bodies * turned**2 * HEIGHT)  # fmt: skip
        if np.isfinite(passed).all():
            between = np.diff(passed)
            yield Fact("least time from one domino to the next [s]: in order", min(between.min(), 0.0), 0.0,
                       0.0)  # fmt: skip
            if bodies >= 9:
                late = between[bodies // 2 : -2]
                yield Fact("spread of the wave's speed over its second half [of its mean], steady",
                           np.ptp(late) / late.mean(), 0.0, 0.1)  # fmt: skip

    def figure(trajectory: WorldTrajectory) -> Figure:
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


def leans(trajectory: WorldTrajectory, bodies: int) -> Array:
    """Angle of each domino from standing, towards +x [rad], shape (n, bodies)."""
    p = trajectory.q.reshape(len(trajectory), -1, 7)[:, 1 : bodies + 1, 3:]
    return np.asarray(2.0 * np.arctan2(p[:, :, 2], p[:, :, 0]))


def passing(t: Array, lean: Array, angle: float) -> Array:
    """When each domino is first past an angle [rad], between records by interpolation [s], shape (bodies,);
    NaN where it never is."""
    found = np.full(lean.shape[1], np.nan)
    for k, one in enumerate(lean.T):
        past = np.flatnonzero(one > angle)
        if past.size and past[0] > 0:
            j = past[0]
            found[k] = t[j - 1] + (angle - one[j - 1]) / (one[j] - one[j - 1]) * (t[j] - t[j - 1])
    return found
