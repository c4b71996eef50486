"""Rolling and spinning bodies: balls that friction stops, rockfall, a free body that flips about its
intermediate axis, and a tippe top."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.special import ellipkm1

from stickslip.exhibits import Curve, Figure, Panel
from stickslip.mechanics.builder import WorldBuilder
from stickslip.mechanics.energy import momentum
from stickslip.mechanics.height_fields import HeightField
from stickslip.mechanics.shapes import Cuboid, Plane, Sphere
from stickslip.mechanics.world import BodyKind
from stickslip.rotations import turned
from stickslip.scenes import measures
from stickslip.scenes.containers import add_floor, lattice, orientations
from stickslip.scenes.grains import pebble
from stickslip.scenes.measures import zero
from stickslip.scenes.parameters import checked, lengths, number
from stickslip.scenes.scenario import GRAVITY, Fact, Scenario, over_time, scene
from stickslip.scenes.views import energy_panel, outlines
from stickslip.simulation.trajectory import Trajectory
from stickslip.state import Array, BoolArray

SPHERE = 0.4
"""Moment of inertia of a solid sphere over m R² [-]."""
STILL = 1e-6
"""Speed over the initial one below which a ball counts as at rest [-]; heuristic."""


@checked
def rolling_ball(
    *, mu: float = 0.2, mu_roll: float = 0.01, mu_spin: float = 0.01, radius: float = 0.1,
    speed: float = 1.5, spin: float = 20.0, gravity: float = GRAVITY, h: float = 1e-3,
) -> Scenario:  # fmt: skip
    """Three balls on a plane: one starts rolling, one sliding without spin, one spinning in place.

    mu: friction of all three [-], > 0.
    mu_roll: rolling friction of the first [m], > 0 and below 1.4 radius mu, so that it does not slip.
    mu_spin: torsional friction of the third [m], > 0.
    radius: of the balls [m], > 0.
    speed: initial speed of the first two [m/s], > 0.
    spin: initial spin of the third about the vertical [rad/s], > 0.
    gravity: acceleration of gravity [m/s²], > 0.

    Rolling: with the rolling moment mu_roll m g and the friction F, m a = F and
    I a / R = mu_roll m g - F R, so that a = g (mu_roll / R) / (1 + I / (m R²)) and the ball stops after the
    distance speed² / (2 a). Sliding: the angular momentum about the line of contact is constant, so that the
    ball rolls at 5/7 of its speed from the time 2 speed / (7 mu g). Spinning: the moment mu_spin m g stops
    the ball after the time spin I / (mu_spin m g).
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

    def facts(trajectory: Trajectory) -> Iterator[Fact]:
        t, dt = trajectory.t, float(np.diff(trajectory.t).max())
        end = float(t[-1])
        roller, slider, spinner = (trajectory.body(name) for name in ("roller", "slider", "spinner"))
        slip = np.abs(roller.velocity[:, 0] - radius * roller.spin[:, 1])
        yield Fact("slip of the rolling ball [of its speed], zero", float(slip.max()) / speed, 0.0, 1e-6)
        yield zero("displacement of the spinning ball [m], zero",
                   spinner.position - spinner.position[0], 1e-6 * radius)  # fmt: skip
        yield measures.account_fact(trajectory)
        yield from measures.overlap_facts(trajectory, radius, "the radius")
        if end > stop + dt:
            yield Fact("path of the rolling ball until it stops [m], speed²/(2 a), to a h²",
                       roller.position[-1, 0], 0.5 * speed * stop,
                       brake * h**2 + 1e-6 * speed * stop)  # fmt: skip
            yield Fact("time at which it stops [s], speed / a, to a step",
                       _first(t, roller.velocity[:, 0] <= STILL * speed), stop, h + dt)  # fmt: skip
        if end > slid + dt:
            known = speed * slid - 0.5 * mu * gravity * slid**2 + 5.0 / 7.0 * speed * (end - slid)
            rolls = np.abs(slider.velocity[:, 0] - radius * slider.spin[:, 1]) <= STILL * speed
            yield Fact("speed of the sliding ball once it rolls [of the initial one], 5/7",
                       float(slider.velocity[-1, 0]) / speed, 5.0 / 7.0, 1e-6)  # fmt: skip
            yield Fact("time from which it rolls [s], 2 speed / (7 mu g), to a step", _first(t, rolls), slid,
                       h + dt)  # fmt: skip
            yield Fact("its path at the end [m], closed form, to mu g h²", slider.position[-1, 0],
                       known, mu * gravity * h**2 + 1e-6 * speed * end)  # fmt: skip
        if end > still + dt:
            yield Fact("time at which the spinning ball stops [s], spin I / (mu_spin m g), to a step",
                       _first(t, spinner.spin[:, 2] <= STILL * spin), still, h + dt)  # fmt: skip

    def figure(trajectory: Trajectory) -> Figure:
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
            over_time("Positions", "x [m]", t,
                      {"launched rolling": roller.position[:, 0], "launched sliding": slider.position[:, 0]},
                      level=0.5 * speed * stop),
            Panel("Spin about the vertical", "t [s]", "ω [rad/s]",
                  [Curve("spinning in place", t, spinner.spin[:, 2]),
                   Curve("closed form", np.array([0.0, still]), np.array([spin, 0.0]), ":")]),
        ])  # fmt: skip

    return scene("rolling-ball", "Friction of each kind stops a rolling, a sliding and a spinning ball.",
                 b.build(), until, h, facts, figure)  # fmt: skip


def _first(t: Array, condition: BoolArray) -> float:
    """Return the first time at which the condition holds [s]; NaN if it never does."""
    return float(t[np.argmax(condition)]) if condition.any() else math.nan


@checked
def rockfall(
    *, bodies: int = 16, mu: float = 0.5, mu_roll: float = 0.1, e: float = 0.2, slope: float = 38.0,
    size: float = 0.3, seed: int = 0, until: float = 5.0, h: float = 2e-3,
) -> Scenario:  # fmt: skip
    """Rocks, convex hulls of random points, fall down a rough slope onto level ground, a height field.

    bodies: number of rocks [-], >= 1.
    slope: of the upper part [degrees], >= 0 and <= 60.
    size: radius of a sphere that contains any rock [m], in [0.05, 0.5].
    seed: of rocks, positions and ground [-], >= 0.
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

    def over(trajectory: Trajectory) -> tuple[Array, BoolArray]:
        """Return the heights of the rocks' centres above the ground, shape (n, bodies), and whether each is
        over the height field."""
        x = trajectory.q.reshape(len(trajectory), -1, 7)[:, 1:, :3]
        inside = (np.abs(x[:, :, 0]) <= 0.5 * LENGTH) & (np.abs(x[:, :, 1]) <= 0.5 * WIDTH)
        return x[:, :, 2] - ground.surface(x[:, :, 0], x[:, :, 1]), inside

    def facts(trajectory: Trajectory) -> Iterator[Fact]:
        height, inside = over(trajectory)
        v = trajectory.v.reshape(len(trajectory), -1, 6)[:, 1:]
        speed = np.linalg.norm(v[:, :, :3], axis=2)
        contacts = trajectory.contacts
        excess = np.linalg.norm(contacts.r[:, 3:5], axis=1) - contacts.law[:, 1] * contacts.r[:, 0]
        largest_normal = float(contacts.r[:, 0].max(initial=0.0))
        yield from measures.law_facts(trajectory)
        yield Fact("largest excess of rolling moment over mu_roll times normal force [m]",
                   max(0.0, float(excess.max(initial=0.0))) / (largest_normal or 1.0), 0.0,
                   1e-6)  # fmt: skip
        yield measures.account_fact(trajectory)
        yield measures.dissipation_fact(trajectory)
        yield from measures.overlap_facts(trajectory, size, "the size")
        yield Fact("number of rocks whose centre was below the ground [-], none",
                   ((height <= 0.0) & inside).any(axis=0).sum(), 0.0, 0.0)  # fmt: skip
        # On level ground a rock rolls no longer than a sphere of its size.
        here, top = inside[-1], np.where(inside, speed, 0.0).max(axis=1)
        brake = GRAVITY * mu_roll / size / (1.0 + SPHERE)
        rest = float(trajectory.t[np.argmax(top)]) + float(top.max()) / brake if brake else math.inf
        if trajectory.t[-1] > rest:
            yield Fact("fastest rock on the ground at the end [of the largest speed in the run]",
                       speed[-1][here].max(initial=0.0) / top.max(), 0.0, 0.02)  # fmt: skip

    def figure(trajectory: Trajectory) -> Figure:
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
"""Length and width of the ground, and size of the cells of its grid [m]."""
TOP = -6.0
"""Mean initial x of the rocks [m]."""
BEND = 0.8
"""Length scale over which the slope becomes level [m]."""
ROUGH = 0.06
"""Largest height of a bump [m]."""


def _ground(rng: np.random.Generator, rise: float) -> HeightField:
    """Return a slope of `rise` [-] for x < 0 and level ground for x > 0, with random bumps."""
    nx, ny = round(LENGTH / CELL) + 1, round(WIDTH / CELL) + 1
    x = np.linspace(-0.5 * LENGTH, 0.5 * LENGTH, nx)
    fall = rise * BEND * np.logaddexp(0.0, -x / BEND)
    return HeightField(fall[:, None] + rng.uniform(-ROUGH, ROUGH, (nx, ny)), (LENGTH, WIDTH))


@checked
def dzhanibekov(
    *, size: Sequence[float] = (0.02, 0.1, 0.06), rate: float = 10.0, nudge: float = 1e-3, flips: int = 5,
    h: float = 1e-3,
) -> Scenario:  # fmt: skip
    """A free body that spins about its intermediate axis and flips periodically.

    size: edges of the box along x, y, z [m], all different, > 0.
    rate: initial spin [rad/s], > 0.
    nudge: initial angle of the spin from the intermediate axis [rad], in (0, 0.5].
    flips: number of flips in the run [-], >= 1.

    Euler's equations have Jacobi's elliptic functions as solutions (Landau & Lifshitz, Mechanics, § 37): the
    spin about the intermediate axis vanishes at (2 j + 1) T / 4 with T = 4 K(k) / s. The scheme conserves the
    angular momentum in space and the energy for any step; times are of second order in the step.
    """
    x, y, z = edges = lengths("size", size, ("along x", "along y", "along z"))
    if len(set(edges)) < 3:
        raise ValueError(f"size is {size!r}; the three edges must differ, or there is no intermediate axis")
    # The moment about a longer edge is smaller: axes by their moments, I1 < I2 < I3.
    first, middle, third = np.argsort(edges)[::-1]
    spin = np.zeros(3)
    spin[middle], spin[first] = rate * math.cos(nudge), rate * math.sin(nudge)
    builder = WorldBuilder(gravity=(0.0, 0.0, 0.0))
    builder.body("body", Cuboid((x, y, z)), spin=spin)
    world = builder.build()
    moments = np.diag(world.inertia[0])[[first, middle, third]]
    period = _period(moments, spin[[first, middle, third]])
    until = (0.5 * flips + 0.1) * period

    def facts(trajectory: Trajectory) -> Iterator[Fact]:
        crossings, _ = measures.turning_points(trajectory.t, trajectory.t, trajectory.v[:, 3 + middle])
        expected = period * (0.25 + 0.5 * np.arange(flips))
        late = np.abs(crossings[:flips] - expected).max() if crossings.size >= flips else np.inf
        angular = [momentum(world, q, v)[1] for q, v in zip(trajectory.q, trajectory.v, strict=True)]
        change = np.linalg.norm(np.array(angular) - angular[0], axis=1) / np.linalg.norm(angular[0])
        rounding = 1e-15 * max(trajectory.steps, 1000)
        yield Fact("number of flips [-], Landau & Lifshitz § 37", crossings.size, flips, 0)
        yield Fact("times of the flips minus those of the elliptic functions [s], second order in the step",
                   late, 0.0, flips * period * (h * rate) ** 2 / 12.0)  # fmt: skip
        yield Fact("relative change of angular momentum in space [-], rounding", change.max(), 0.0, rounding)
        yield zero("relative change of the energy [-], rounding",
                   trajectory.kinetic / trajectory.kinetic[0] - 1.0, rounding)  # fmt: skip

    def figure(trajectory: Trajectory) -> Figure:
        t, p = trajectory.t, trajectory.body("body").quaternion
        axis = turned(p, np.eye(3)[middle])
        names = {first: "smallest moment", middle: "intermediate", third: "largest moment"}
        _, along = momentum(world, trajectory.q[0], trajectory.v[0])
        along = along / np.linalg.norm(along)
        crossings: Array = period * (0.25 + 0.5 * np.arange(flips, dtype=np.float64))
        return Figure(f"A box spins about its intermediate axis and flips every {0.5 * period:.4g} s", [
            over_time("Spin in the body", "Ω [rad/s]", t,
                      {names[k]: trajectory.v[:, 3 + k] for k in (first, middle, third)}),
            Panel("Intermediate axis against the momentum", "t [s]", "cosine [-]",
                  [Curve("run", t, axis @ along),
                   Curve("flips by elliptic functions", crossings, 0.0 * crossings, "o")]),
            Panel("Spin in the body", "Ω intermediate [rad/s]", "Ω largest moment [rad/s]",
                  [Curve("run", trajectory.v[:, 3 + middle], trajectory.v[:, 3 + third])]),
            over_time("Energy", "E / E(0) - 1 [-]", t,
                      {"run": trajectory.kinetic / trajectory.kinetic[0] - 1.0}),
        ])  # fmt: skip

    return scene("dzhanibekov", "A free body flips about its intermediate axis periodically.",
                 world, until, h, facts, figure)  # fmt: skip


def _period(moments: Array, spin: Array) -> float:
    """Return the period T of the spin [s] (Landau & Lifshitz § 37, 10 to 12), with axes in order of
    moments."""
    energy, square = float(moments @ spin**2), float(moments**2 @ spin**2)  # 2 E and M²
    a, b, c = (float(x) for x in (moments if square > energy * moments[1] else moments[::-1]))
    # 1 - k², without cancellation: k is close to 1.
    rest = (c - a) * (square - energy * b) / ((c - b) * (square - energy * a))
    speed = math.sqrt((c - b) * (square - energy * a) / (a * b * c))
    return float(4.0 * ellipkm1(rest) / speed)


@checked
def tippe_top(
    *, mu: float = 0.3, rate: float = 180.0, tilt: float = 0.1, radius: float = 0.02, offset: float = 0.2,
    ratio: float = 0.95, until: float = 2.5, h: float = 2.5e-4,
) -> Scenario:  # fmt: skip
    """A tippe top: a spinning ball whose centre of mass is below its centre turns over.

    mu: sliding friction on the floor [-], >= 0; with 0 the top does not turn over.
    rate: initial spin about the vertical [rad/s], > 0.
    tilt: initial tilt of the axis [rad], in (0, 1].
    radius: of the ball [m], > 0.
    offset: of the centre of mass below the centre, over the radius [-], in (0, 1).
    ratio: moment of inertia across the axis over the one about it [-], in (0.5, 2].

    Friction at the point of contact conserves Jellett's integral, the angular momentum times the arm from the
    centre of mass to that point (Cohen 1977, Am. J. Phys. 45, 12; Bou-Rabee, Marsden & Romero 2004, SIAM J.
    Appl. Dyn. Syst. 3, 352), and dissipates energy. For a ratio of inertias between 1 - offset and
    1 + offset, and with enough spin, the top ends upside down, with its spin reduced by a factor of about
    (1 - offset) / (1 + offset).
    """
    mass, low = 0.02, offset * radius
    about = 0.4 * mass * radius**2
    builder = WorldBuilder()
    builder.material("default", mu=mu)
    builder.body("floor", Plane(), fixed=True)
    builder.body(
        "top", Sphere(radius), position=(0.0, 0.0, radius), spin=(0.0, 0.0, rate), mass=mass,
        quaternion=(math.cos(0.5 * tilt), 0.0, math.sin(0.5 * tilt), 0.0), centre=(0.0, 0.0, -low),
        inertia=(ratio * about, ratio * about, about), velocity=(0.0, rate * low * math.sin(tilt), 0.0),
    )  # fmt: skip
    world = builder.build()
    # Jellett's integral of the initial state, R (e_z - offset e_3) · (A e_z + (C - A) cos(tilt) e_3) rate.
    lean = math.cos(tilt)
    start = about * rate * radius * (ratio * (1.0 - offset * lean) + (1.0 - ratio) * lean * (lean - offset))

    def jellett(trajectory: Trajectory) -> Array:
        """Return L · (R e_z - offset R e_3) [N m² s], shape (n,)."""
        p, spin = trajectory.q[:, 10:14], trajectory.v[:, 9:12]
        arm = np.array([0.0, 0.0, radius]) - low * turned(p, np.array([0.0, 0.0, 1.0]))
        angular = turned(p, spin * np.array([ratio * about, ratio * about, about]))
        return np.asarray(np.einsum("ni,ni->n", angular, arm))

    def facts(trajectory: Trajectory) -> Iterator[Fact]:
        upright = turned(trajectory.q[:, 10:14], np.array([0.0, 0.0, 1.0]))[:, 2]
        final = start / (about * radius * (1.0 + offset))
        lost = np.diff(trajectory.dissipated)
        scale = trajectory.energy[0]
        yield zero("change of Jellett's integral [relative], to (h Ω)²", jellett(trajectory) / start - 1.0,
                   (h * rate) ** 2)  # fmt: skip
        yield Fact("cosine of the axis at the end [-], upside down", upright[-1], -1.0, 0.02)
        yield Fact("rise of the centre of mass [m], 2 offset radius",
                   trajectory.q[-1, 9] - trajectory.q[0, 9], low * (1.0 + math.cos(tilt)),
                   0.02 * low)  # fmt: skip
        yield Fact("spin about the vertical at the end [rad/s], by Jellett's integral",
                   trajectory.body("top").spin[-1, 2], final, 0.02 * final)  # fmt: skip
        yield Fact("least energy that friction dissipates in a step [of the energy], not negative",
                   min(lost.min(), 0.0) / scale, 0.0, 1e-9)  # fmt: skip
        yield measures.balance_fact(trajectory, scale, "of the initial")

    def figure(trajectory: Trajectory) -> Figure:
        t, body = trajectory.t, trajectory.body("top")
        upright = turned(body.quaternion, np.array([0.0, 0.0, 1.0]))[:, 2]
        return Figure(f"A tippe top, mu = {mu:g}: it turns over by sliding friction", [
            over_time("Axis", "angle from the vertical [rad]", t,
                      {"run": np.arccos(np.clip(upright, -1.0, 1.0))}, level=math.pi),
            over_time("Spin", "[rad/s]", t,
                      {"about the vertical": body.spin[:, 2], "about its own axis": trajectory.v[:, 11]}),
            over_time("Energies over the initial energy", "[-]", t,
                      {"kinetic": trajectory.kinetic / trajectory.energy[0],
                       "dissipated": trajectory.dissipated / trajectory.energy[0]}),
            over_time("Centre of mass", "height [m]", t, {"run": body.centre[:, 2]}),
            over_time("Jellett's integral", "relative change [1e-4]", t,
                      {"run": 1e4 * (jellett(trajectory) / start - 1.0)}),
            Panel("Path of the centre of the ball", "x [m]", "y [m]",
                  [Curve("run", body.position[:, 0], body.position[:, 1])]),
        ])  # fmt: skip

    return scene("tippe-top", "A top with a low centre of mass turns over by sliding friction.",
                 world, until, h, facts, figure)  # fmt: skip
