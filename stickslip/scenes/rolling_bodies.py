"""Balls that roll, slide and spin until friction stops them, and rocks that fall down a slope."""

import math
from collections.abc import Iterator

import numpy as np

from stickslip.exhibits import Curve, Figure, Panel
from stickslip.mechanics.builder import WorldBuilder
from stickslip.mechanics.height_fields import HeightField
from stickslip.mechanics.shapes import Sphere
from stickslip.mechanics.world import BodyKind
from stickslip.scenes.containers import add_floor, lattice, orientations
from stickslip.scenes.grain_facts import balance_fact, dissipation_fact, law_facts, overlap_facts
from stickslip.scenes.grain_views import energy_panel, outlines
from stickslip.scenes.measures import GRAVITY
from stickslip.scenes.parameters import checked, number
from stickslip.scenes.piles import pebble
from stickslip.scenes.scenario import Fact, Scenario, over_time, scene
from stickslip.simulation.world_trajectory import WorldTrajectory
from stickslip.state import Array, BoolArray

SPHERE = 0.4
"""Moment of inertia of a solid sphere over m R² [-]."""
STILL = 1e-6
"""A ball slower than this share of its first speed stands [-]."""


@checked
def rolling_ball(
    *, mu: float = 0.2, mu_roll: float = 0.01, mu_spin: float = 0.01, radius: float = 0.1,
    speed: float = 1.5, spin: float = 20.0, gravity: float = GRAVITY, h: float = 1e-3,
) -> Scenario:  # fmt: skip
    """Three balls on a plane: one launched rolling, one sliding without spin, one spinning on the spot.

    mu: friction of all three [-], > 0.
    mu_roll: rolling friction of the first [m], > 0 and below 1.4 radius mu, so that it does not slip.
    mu_spin: torsional friction of the third [m], > 0.
    radius: of the balls [m], > 0.
    speed: of the first two at the start [m/s], > 0.
    spin: of the third about the vertical at the start [rad/s], > 0.
    gravity: [m/s²], > 0.

    Rolling: the moment mu_roll m g and the friction F that keeps it rolling brake m a = F and
    I a / R = mu_roll m g - F R, so that a = g (mu_roll / R) / (1 + I / (m R²)) and it stops after
    speed² / (2 a). Sliding: friction keeps the angular momentum about the line of contact, so that the ball
    rolls at 5/7 of its speed from 2 speed / (7 mu g) on. Spinning: mu_spin m g stops it after
    spin I / (mu_spin m g).
    """
    mu_roll = number("mu_roll", mu_roll, "m", above=0.0, below=(1.0 + SPHERE) * radius * mu)
    brake = gravity * mu_roll / radius / (1.0 + SPHERE)
    stop, slid = speed / brake, 2.0 * speed / (7.0 * mu * gravity)
    still = spin * SPHERE * radius**2 / (mu_spin * gravity)
    until = 1.1 * max(stop, slid, still)
    b = WorldBuilder(gravity=(0.0, 0.0, -gravity))
    b.material("floor", mu=mu, mu_roll=mu_roll, mu_spin=mu_spin)
    b.material("rough", mu=mu, mu_roll=mu_roll)
    b.material("smooth", mu=mu)
    b.material("flat", mu=mu, mu_spin=mu_spin)
    add_floor(b, "floor")
    ball = Sphere(radius)
    b.body(
        "roller", ball, position=(0.0, 0.0, radius), velocity=(speed, 0.0, 0.0),
        spin=(0.0, speed / radius, 0.0), material="rough",
    )  # fmt: skip
    b.body(
        "slider", ball, position=(0.0, 4.0 * radius, radius), velocity=(speed, 0.0, 0.0), material="smooth"
    )
    b.body("spinner", ball, position=(0.0, 8.0 * radius, radius), spin=(0.0, 0.0, spin), material="flat")

    def facts(trajectory: WorldTrajectory) -> Iterator[Fact]:
        t, dt = trajectory.t, float(np.diff(trajectory.t).max())
        end = float(t[-1])
        roller, slider, spinner = (trajectory.body(name) for name in ("roller", "slider", "spinner"))
        slip = np.abs(roller.velocity[:, 0] - radius * roller.spin[:, 1])
        yield Fact("slip of the rolling ball [of its speed], none", float(slip.max()) / speed, 0.0, 1e-6)
        yield Fact("way of a ball that keeps its place, the spinning one's [m]",
                   np.abs(spinner.position - spinner.position[0]).max(), 0.0, 1e-6 * radius)  # fmt: skip
        yield balance_fact(trajectory)
        yield from overlap_facts(trajectory, radius, "the radius")
        if end > stop + dt:
            yield Fact("way of the rolling ball until it stops [m], speed²/(2 a) to a step's a h²",
                       roller.position[-1, 0], 0.5 * speed * stop,
                       brake * h**2 + 1e-6 * speed * stop)  # fmt: skip
            yield Fact("time at which it stops [s], speed / a to a step",
                       _first(t, roller.velocity[:, 0] <= STILL * speed), stop, h + dt)  # fmt: skip
        if end > slid + dt:
            known = speed * slid - 0.5 * mu * gravity * slid**2 + 5.0 / 7.0 * speed * (end - slid)
            rolls = np.abs(slider.velocity[:, 0] - radius * slider.spin[:, 1]) <= STILL * speed
            yield Fact("speed of the sliding ball once it rolls [of its first], 5/7",
                       float(slider.velocity[-1, 0]) / speed, 5.0 / 7.0, 1e-6)  # fmt: skip
            yield Fact("time from which it rolls [s], 2 speed / (7 mu g) to a step", _first(t, rolls), slid,
                       h + dt)  # fmt: skip
            yield Fact("its way at the end [m], closed form to a step's mu g h²", slider.position[-1, 0],
                       known, mu * gravity * h**2 + 1e-6 * speed * end)  # fmt: skip
        if end > still + dt:
            yield Fact("time at which the spinning ball stops [s], spin I / (mu_spin m g) to a step",
                       _first(t, spinner.spin[:, 2] <= STILL * spin), still, h + dt)  # fmt: skip

    def figure(trajectory: WorldTrajectory) -> Figure:
        t = trajectory.t
        roller, slider, spinner = (trajectory.body(name) for name in ("roller", "slider", "spinner"))
        exact = np.array([0.0, stop, max(stop, float(t[-1]))])
        title = f"Balls of radius {radius:g} m: mu = {mu:g}, mu_roll = {mu_roll:g} m, mu_spin = {mu_spin:g} m"
        return Figure(title, [
            Panel("Speeds of the centres", "t [s]", "v [m/s]",
                  [Curve("launched rolling", t, roller.velocity[:, 0]),
                   Curve("closed form", exact, np.array([speed, 0.0, 0.0]), ":"),
                   Curve("launched sliding", t, slider.velocity[:, 0])]),
            over_time("Slip v - R ω", "v - R ω [m/s]", t,
                      {"launched rolling": roller.velocity[:, 0] - radius * roller.spin[:, 1],
                       "launched sliding": slider.velocity[:, 0] - radius * slider.spin[:, 1]}),
            over_time("Ways", "x [m]", t,
                      {"launched rolling": roller.position[:, 0], "launched sliding": slider.position[:, 0]},
                      level=0.5 * speed * stop),
            Panel("Spin about the vertical", "t [s]", "ω [rad/s]",
                  [Curve("spinning on the spot", t, spinner.spin[:, 2]),
                   Curve("closed form", np.array([0.0, still]), np.array([spin, 0.0]), ":")]),
        ])  # fmt: skip

    return scene("rolling-ball", "Balls that roll, slide and spin stop where friction of each kind says.",
                 b.build(), until, h, facts, figure)  # fmt: skip


def _first(t: Array, found: BoolArray) -> float:
    """The first time at which it is so [s]; NaN if it never is."""
    return float(t[np.argmax(found)]) if found.any() else math.nan


@checked
def rockfall(
    *, bodies: int = 16, mu: float = 0.5, mu_roll: float = 0.1, e: float = 0.2, slope: float = 38.0,
    size: float = 0.3, seed: int = 0, until: float = 5.0, h: float = 2e-3,
) -> Scenario:  # fmt: skip
    """Rocks, hulls of random points, that fall down a rough slope onto level ground, a height field.

    bodies: how many rocks [-], >= 1.
    mu: friction [-], >= 0.
    e: restitution [-], in [0, 1].
    slope: of the upper part [degrees], >= 0 and <= 60.
    size: radius of a ball that holds any of them [m], in [0.05, 0.5].
    seed: of rocks, places and ground [-], >= 0.
    """
    rng = np.random.default_rng(seed)
    ground = _ground(rng, math.tan(math.radians(slope)))
    b = WorldBuilder()
    b.material("default", mu=mu, mu_roll=mu_roll, e=e)
    b.body("ground", ground, fixed=True)
    centres, _ = lattice(rng, bodies, (2, 6), size)
    centres[:, 0] += TOP
    lowest = ground.surface(centres[:, 0], centres[:, 1]).max()
    centres[:, 2] += lowest + 0.5
    turns = orientations(rng, bodies)
    for k in range(bodies):
        b.body(f"rock {k + 1}", pebble(rng, size), position=centres[k], quaternion=turns[k], density=2600.0)

    def over(trajectory: WorldTrajectory) -> tuple[Array, BoolArray]:
        """Heights of the centres of the rocks above the ground, shape (n, bodies), and where there is any."""
        x = trajectory.q.reshape(len(trajectory), -1, 7)[:, 1:, :3]
        inside = (np.abs(x[:, :, 0]) <= 0.5 * LENGTH) & (np.abs(x[:, :, 1]) <= 0.5 * WIDTH)
        return x[:, :, 2] - ground.surface(x[:, :, 0], x[:, :, 1]), inside

    def facts(trajectory: WorldTrajectory) -> Iterator[Fact]:
        height, inside = over(trajectory)
        v = trajectory.v.reshape(len(trajectory), -1, 6)[:, 1:]
        speed = np.linalg.norm(v[:, :, :3], axis=2)
        contacts = trajectory.contacts
        beyond = np.linalg.norm(contacts.r[:, 3:5], axis=1) - contacts.law[:, 1] * contacts.r[:, 0]
        pressing = float(contacts.r[:, 0].max(initial=0.0))
        yield from law_facts(trajectory)
        yield Fact("rolling moment beyond mu_roll times normal force [m], of the largest normal force",
                   max(0.0, float(beyond.max(initial=0.0))) / (pressing or 1.0), 0.0, 1e-6)  # fmt: skip
        yield balance_fact(trajectory)
        yield dissipation_fact(trajectory)
        yield from overlap_facts(trajectory, size, "the size")
        yield Fact("centres of rocks that went below the ground [-], none",
                   ((height <= 0.0) & inside).any(axis=0).sum(), 0.0, 0.0)  # fmt: skip
        # On level ground a rock rolls on no longer than a ball that holds it.
        here, top = inside[-1], np.where(inside, speed, 0.0).max(axis=1)
        brake = GRAVITY * mu_roll / size / (1.0 + SPHERE)
        rest = float(trajectory.t[np.argmax(top)]) + float(top.max()) / brake if brake else math.inf
        if trajectory.t[-1] > rest:
            yield Fact("fastest rock still on the ground at the end [of the fastest ever]",
                       speed[-1][here].max(initial=0.0) / top.max(), 0.0, 0.02)  # fmt: skip

    def figure(trajectory: WorldTrajectory) -> Figure:
        t, x = trajectory.t, trajectory.q.reshape(len(trajectory), -1, 7)[:, 1:, :3]
        v = np.linalg.norm(trajectory.v.reshape(len(trajectory), -1, 6)[:, 1:, :3], axis=2)
        free = trajectory.model.kind == BodyKind.DYNAMIC
        gap = np.full((1, bodies), np.nan)
        paths = [np.concatenate([x[:, :, k], gap]).T.ravel() for k in range(3)]
        last = len(trajectory) - 1
        profile = Curve("ground, in the middle", ground.x, ground.heights[:, ground.heights.shape[1] // 2])
        return Figure(f"{bodies} rocks on a slope of {slope:g}°: mu = {mu:g}, mu_roll = {mu_roll:g} m", [
            Panel("From above", "x [m]", "y [m]",
                  [Curve("paths", paths[0], paths[1]),
                   Curve("at the end", *outlines(trajectory, last, (0, 1), free))], equal=True),
            Panel("From the side", "x [m]", "z [m]",
                  [Curve("paths", paths[0], paths[2]),
                   Curve("at the end", *outlines(trajectory, last, (0, 2), free)), profile], equal=True),
            over_time("Speeds", "v [m/s]", t, {"fastest": v.max(axis=1), "mean": v.mean(axis=1)}),
            energy_panel(trajectory),
        ])  # fmt: skip

    return scene("rockfall", "Rocks fall down a rough slope and run out on level ground.", b.build(), until,
                 h, facts, figure)  # fmt: skip


LENGTH, WIDTH, CELL = 20.0, 10.0, 0.5
"""Of the ground, and of the cells of its grid [m]."""
TOP = -6.0
"""x from which the rocks fall [m]."""
BEND = 0.8
"""Over which the slope becomes level [m]."""
ROUGH = 0.06
"""Largest height of a bump [m]."""


def _ground(rng: np.random.Generator, rise: float) -> HeightField:
    """A slope of `rise` [-] for x < 0 and level ground beyond, with bumps."""
    nx, ny = round(LENGTH / CELL) + 1, round(WIDTH / CELL) + 1
    x = np.linspace(-0.5 * LENGTH, 0.5 * LENGTH, nx)
    fall = rise * BEND * np.logaddexp(0.0, -x / BEND)
    return HeightField(fall[:, None] + rng.uniform(-ROUGH, ROUGH, (nx, ny)), (LENGTH, WIDTH))
