"""Granular scenes: piles of spheres and mixed shapes in a box, flow down a rough chute, a rotating drum, and
a column that collapses in a long box with boulders."""

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from stickslip.exhibits import Curve, Figure, Panel
from stickslip.mechanics.builder import WorldBuilder
from stickslip.mechanics.compounds import Compound
from stickslip.mechanics.hulls import ConvexHull
from stickslip.mechanics.shapes import Capsule, Cuboid, Cylinder, Ellipsoid, Shape, Sphere
from stickslip.mechanics.world import World
from stickslip.rotations import turned
from stickslip.scenes import measures
from stickslip.scenes.containers import add_floor, add_walls, lattice, orientations
from stickslip.scenes.parameters import checked
from stickslip.scenes.scenario import GRAVITY, Fact, Scenario, over_time, scene
from stickslip.scenes.views import energy_panel, overlap_panel, support_panel, view_panels
from stickslip.simulation.trajectory import Trajectory
from stickslip.state import Array


@checked
def sphere_pile(
    *, bodies: int = 200, mu: float = 0.5, mu_roll: float = 0.0, mu_spin: float = 0.0, radius: float = 0.05,
    spread: float = 0.2, e: float = 0.0, seed: int = 0, until: float = 1.25, h: float = 2.5e-3,
) -> Scenario:  # fmt: skip
    """Spheres that fall into a box.

    radius: mean radius [m], > 0.
    spread: radii are uniform in radius (1 ± spread) [-], in [0, 1).
    seed: of positions and radii [-], >= 0.
    """
    rng = np.random.default_rng(seed)
    radii = radius * rng.uniform(1.0 - spread, 1.0 + spread, bodies)
    world = _poured(rng, [Sphere(r) for r in radii], (1.0 + spread) * radius, mu, mu_roll, mu_spin, e)
    summary = f"{bodies} spheres fall into a box and come to rest."
    return _pile("sphere-pile", summary, world, until, h, radius, e)


@checked
def capsules(
    *, bodies: int = 60, mu: float = 0.5, mu_roll: float = 0.0, mu_spin: float = 0.0, radius: float = 0.03,
    length: float = 0.12, e: float = 0.0, seed: int = 0, until: float = 1.5, h: float = 2e-3,
) -> Scenario:  # fmt: skip
    """Capsules of random orientation that fall into a box.

    radius: of the capsules [m], > 0.
    length: of the cylindrical part [m], > 0.
    seed: of positions and orientations [-], >= 0.
    """
    shape = Capsule(radius, length)
    rng = np.random.default_rng(seed)
    world = _poured(rng, [shape] * bodies, shape.reach, mu, mu_roll, mu_spin, e)
    return _pile("capsules", f"{bodies} capsules fall into a box.", world, until, h, radius, e)


@checked
def soup(
    *, bodies: int = 56, mu: float = 0.5, mu_roll: float = 0.0, mu_spin: float = 0.0, size: float = 0.1,
    e: float = 0.0, seed: int = 0, until: float = 1.5, h: float = 2e-3,
) -> Scenario:  # fmt: skip
    """Mixed shapes that fall into a box: in turn spheres, boxes, capsules, cylinders, ellipsoids, convex
    hulls of random points, and compounds.

    size: radius of a sphere that contains any shape [m], > 0.
    seed: of shapes, positions and orientations [-], >= 0.
    """
    rng = np.random.default_rng(seed)
    shapes = [KINDS[k % len(KINDS)](rng, size) for k in range(bodies)]
    summary = f"{bodies} bodies of {min(bodies, len(KINDS))} kinds of shape fall into a box."
    world = _poured(rng, shapes, size, mu, mu_roll, mu_spin, e)
    return _pile("soup", summary, world, until, h, 0.5 * size, e)


def _box(rng: np.random.Generator, size: float) -> Shape:
    """Return a box with random edges and the half diagonal `size` [m]."""
    edges = rng.uniform(0.5, 1.0, 3)
    return Cuboid(tuple(2.0 * size * edges / np.linalg.norm(edges)))


def _dumb_bell(rng: np.random.Generator, size: float) -> Shape:
    """Return two balls of random radii at the ends of a bar, within a ball of radius `size` [m]."""
    balls = size * rng.uniform(0.3, 0.45, 2)
    bar = Cuboid((0.25 * size, 0.25 * size, 1.2 * size))
    return Compound(
        (bar, (0.0, 0.0, 0.0)),
        (Sphere(balls[0]), (0.0, 0.0, size - balls[0])),
        (Sphere(balls[1]), (0.0, 0.0, balls[1] - size)),
    )


KINDS: tuple[Callable[[np.random.Generator, float], Shape], ...] = (
    lambda rng, size: Sphere(size * rng.uniform(0.5, 0.8)),
    _box,
    lambda rng, size: Capsule(0.4 * size, size * rng.uniform(0.6, 1.2)),
    lambda rng, size: Cylinder(size * rng.uniform(0.3, 0.6), size * rng.uniform(0.6, 1.4)),
    lambda rng, size: Ellipsoid(tuple(size * rng.uniform(0.4, 1.0, 3))),
    lambda rng, size: pebble(rng, size),
    _dumb_bell,
)
"""Functions that return a random shape within a ball of a given radius [m]."""


def pebble(rng: np.random.Generator, size: float, corners: int = 14) -> ConvexHull:
    """Return the hull of random points on an ellipsoid within a ball of radius `size` [m]."""
    points = rng.normal(size=(corners, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return ConvexHull(size * points * rng.uniform(0.6, 1.0, 3))


def _poured(
    rng: np.random.Generator, shapes: Sequence[Shape], reach: float, mu: float, mu_roll: float,
    mu_spin: float, e: float,
) -> World:  # fmt: skip
    """Return a box with the shapes above its floor, in about as many layers as columns along each side."""
    b = WorldBuilder()
    b.material("default", mu=mu, mu_roll=mu_roll, mu_spin=mu_spin, e=e)
    side = max(2, round(len(shapes) ** (1.0 / 3.0)))
    centres, width = lattice(rng, len(shapes), (side, side), reach)
    turns = orientations(rng, len(shapes))
    add_floor(b)
    add_walls(b, width)
    for k, shape in enumerate(shapes):
        b.body(f"body {k + 1}", shape, position=centres[k], quaternion=turns[k], density=2500.0)
    return b.build()


def _pile(name: str, summary: str, world: World, until: float, h: float, size: float, e: float) -> Scenario:
    """Return the scenario of bodies that fall and come to rest; overlaps are relative to `size` [m]."""

    def facts(trajectory: Trajectory) -> Iterator[Fact]:
        yield from measures.shaken_facts(trajectory)
        yield from measures.overlap_facts(trajectory, size, f"{1e3 * size:g} mm")
        yield from measures.settled_facts(trajectory, e)

    def figure(trajectory: Trajectory) -> Figure:
        views = view_panels(trajectory, (0.0, float(trajectory.t[-1])))
        return Figure(summary, [*views, energy_panel(trajectory), support_panel(trajectory)])

    return scene(name, summary, world, until, h, facts, figure)


SLACK = 0.1
"""Initial clearance of grains in their cells of the lattice, over their radius [-]."""


@checked
def grain_chute(
    *, bodies: int = 120, mu: float = 0.5, mu_roll: float = 0.0, mu_spin: float = 0.0, angle: float = 28.0,
    radius: float = 0.02, e: float = 0.0, seed: int = 0, until: float = 0.8, h: float = 1e-3,
) -> Scenario:  # fmt: skip
    """Spheres that flow down a chute with a rough bottom of fixed spheres of the same size.

    bodies: number of grains [-], >= 1.
    angle: of the chute [degrees], in [0, 90).
    radius: of the grains [m], > 0.
    seed: of positions [-], >= 0.

    x points down the chute and z away from its bottom. Without friction at the bottom all grains would have
    the speed g t sin(angle); the bottom slows them down.
    """
    rng, tilt = np.random.default_rng(seed), math.radians(angle)
    down = GRAVITY * math.sin(tilt)
    across = 5
    along = max(2, math.ceil(bodies / (4 * across)))
    centres, size = lattice(rng, bodies, (along, across), radius, SLACK)
    centres[:, 2] += radius
    b = WorldBuilder(gravity=(down, 0.0, -GRAVITY * math.cos(tilt)))
    b.material("default", mu=mu, mu_roll=mu_roll, mu_spin=mu_spin, e=e)
    add_floor(b)
    add_walls(b, size, ("left", "front", "back"))
    cell = size[1] / across
    rows = along + math.ceil((0.5 * down * until**2 + 2.0 * cell) / cell)
    bed, _ = lattice(rng, rows * across, (rows, across), radius, SLACK)
    bed[:, 0] += 0.5 * (rows - along) * cell
    bed[:, 2] = -radius * rng.uniform(0.2, 0.6, len(bed))
    b.body("bed", Compound(*((Sphere(radius), place) for place in bed)), fixed=True)
    grain = Sphere(radius)
    for k, place in enumerate(centres):
        b.body(f"grain {k + 1}", grain, position=place, density=2500.0)
    first = 5
    """Index of the first grain, after floor, walls and bed."""

    def facts(trajectory: Trajectory) -> Iterator[Fact]:
        q = trajectory.q.reshape(len(trajectory), -1, 7)[:, first:, :3]
        speed = trajectory.v[-1].reshape(-1, 6)[first:, 0]
        free = down * float(trajectory.t[-1])
        yield from measures.shaken_facts(trajectory)
        yield from measures.overlap_facts(trajectory, radius, "the radius")
        yield Fact("lowest centre of a grain minus the radius [of the radius], not below 0 but for overlap",
                   min(0.0, float(q[:, :, 2].min()) / radius - 1.0), 0.0, 0.05)  # fmt: skip
        if free > 0.0:
            yield Fact("mean speed at the end [of free flow, g t sin(angle)], between 0 and 1",
                       float(speed.mean()) / free, 0.5, 0.5)  # fmt: skip

    def figure(trajectory: Trajectory) -> Figure:
        t, end = trajectory.t, float(trajectory.t[-1])
        v = trajectory.v.reshape(len(trajectory), -1, 6)[:, first:, 0]
        place = trajectory.q[-1].reshape(-1, 7)[first:]
        return Figure(f"{bodies} grains down a chute of {angle:g}°, mu = {mu:g}", [
            *view_panels(trajectory, (0.0, end)),
            over_time("Speeds down the chute", "v [m/s]", t,
                      {"mean": v.mean(axis=1), "fastest": v.max(axis=1),
                       "free, g t sin(angle)": (down * t, ":")}),
            Panel(
                "Speed over height, at the end", "v [m/s]", "z [m]",
                [Curve("grains", v[-1], place[:, 2], "o")],
            ),
            energy_panel(trajectory),
            overlap_panel(trajectory, radius, "the radius"),
        ])  # fmt: skip

    return scene("grain-chute", "Grains flow down a chute with a rough bottom.", b.build(), until, h, facts,
                 figure)  # fmt: skip


@checked
def drum(
    *, bodies: int = 100, mu: float = 0.5, speed: float = 1.5, radius: float = 0.03, filled: float = 0.3,
    walls: int = 24, e: float = 0.0, seed: int = 0, until: float = 1.6, h: float = 2e-3,
) -> Scenario:  # fmt: skip
    """Spheres in a drum that rotates about the horizontal y axis, between two frictionless plates.

    bodies: number of grains [-], >= 1.
    mu: friction of grains and drum [-], >= 0.
    speed: of the drum [rad/s], >= 0.
    radius: of the grains [m], > 0.
    filled: share of the drum that the heap fills [-], in [0.05, 0.35].
    walls: number of flat boxes that form the drum [-], >= 8.
    seed: of positions [-], >= 0.

    The plates exert no moment about the axis: the power of the drum is its torque times its speed, and the
    angular momentum of the grains changes by that torque and by the moment of the weight of the heap.
    """
    cell = 2.0 * (1.0 + SLACK) * radius
    deep = 3 if bodies < 150 else 5
    width = deep * cell
    # The grains fill about 0.6 of the volume of the heap.
    inner = math.sqrt(bodies * 4.0 / 3.0 * radius**3 / (0.6 * filled * width)) + radius
    centres = _in_disc(np.random.default_rng(seed), bodies, inner - radius, deep, radius)
    b = WorldBuilder()
    b.material("default", mu=mu, e=e)
    b.material("glass", mu=0.0, e=e)
    add_walls(b, (width, width), ("front", "back"), "glass")
    b.body("drum", _shell(inner, width, 0.5 * radius, walls), motion=((0.0, 0.0, 0.0), (0.0, speed, 0.0)))
    grain = Sphere(radius)
    for k, place in enumerate(centres):
        b.body(f"grain {k + 1}", grain, position=place, density=2500.0)

    def facts(trajectory: Trajectory) -> Iterator[Fact]:
        yield from measures.shaken_facts(trajectory)
        yield from measures.overlap_facts(trajectory, radius, "the radius")
        x = trajectory.q.reshape(len(trajectory), -1, 7)[:, 3:, :3]
        far = float(np.linalg.norm(x[:, :, [0, 2]], axis=2).max()) / (inner / math.cos(math.pi / walls))
        yield Fact("largest distance of a grain from the axis [of the drum's radius], inside", max(1.0, far),
                   1.0, 0.0)  # fmt: skip
        if measures.every_step(trajectory) and speed > 0.0:
            moment = torque(trajectory)
            drum_work = speed * float(np.sum(moment * trajectory.h))
            yield Fact("work of the drum [J], the integral of torque times speed", trajectory.work[-1],
                       drum_work,
                       1e-9 * float(np.abs(moment).max()) * speed * float(trajectory.t[-1]))  # fmt: skip
            x = measures.centre(trajectory)[:, 0]
            fall = np.linalg.norm(measures.pull(trajectory)) * 0.5 * (x[1:] + x[:-1])
            impulse = float((moment[1:] + fall) @ trajectory.h[1:])
            L = angular_momentum(trajectory)
            claim = "angular momentum about the axis [N m s]: of drum and weight, but for position correction"
            yield Fact(claim, L[-1] - L[0], impulse, 5e-3 * float(np.abs(moment) @ trajectory.h))  # fmt: skip

    def figure(trajectory: Trajectory) -> Figure:
        t, end = trajectory.t, float(trajectory.t[-1])
        c = measures.centre(trajectory)
        lean = np.degrees(np.arctan2(-c[:, 0], -c[:, 2]))
        late = t > 0.5 * end
        W = float(np.linalg.norm(measures.pull(trajectory)))
        title = (
            f"{bodies} grains in a drum at {speed:g} rad/s, mu = {mu:g}: the heap leans by "
            f"{lean[late].mean():.1f}° in the second half"
        )
        return Figure(title, [
                *view_panels(trajectory, (0.0, end)),
                over_time("Inclination of the heap", "angle of its centre [degrees]", t, {"heap": lean}),
                Panel("Torques of the drum and of the heap's weight", "t [s]", "torque [N m]",
                      [Curve("drum", t[1:], torque(trajectory)[1:]),
                       Curve("heap", t, -W * c[:, 0])], y_range=(-0.5 * W * inner, W * inner)),
                energy_panel(trajectory),
                overlap_panel(trajectory, radius, "the radius"),
            ],
        )  # fmt: skip

    return scene("drum", "Grains in a rotating drum.", b.build(), until, h, facts, figure)


def torque(trajectory: Trajectory) -> Array:
    """Return the torque of the drum on the grains about the y axis, over the last step of each record [N m],
    shape (n,)."""
    contacts, total = trajectory.contacts, np.zeros(len(trajectory))
    drum_index = trajectory.model.body("drum")
    force, _ = contacts.force(trajectory.h)
    about = np.cross(contacts.point, force)[:, 1]
    for side, sign in ((1, 1.0), (0, -1.0)):
        rows = contacts.body[:, side] == drum_index
        np.add.at(total, contacts.record[rows], sign * about[rows])
    return total


def angular_momentum(trajectory: Trajectory) -> Array:
    """Return the angular momentum of all grains about the y axis [N m s], shape (n,)."""
    n, model = len(trajectory), trajectory.model
    q, v = trajectory.q.reshape(n, -1, 7), trajectory.v.reshape(n, -1, 6)
    spin = turned(q[:, :, 3:].reshape(-1, 4), v[:, :, 3:].reshape(-1, 3)).reshape(n, -1, 3)
    orbits = np.einsum("b,nb->n", model.mass, np.cross(q[:, :, :3], v[:, :, :3])[:, :, 1])
    return np.asarray(orbits + np.einsum("b,nb->n", model.inertia[:, 1, 1], spin[:, :, 1]))


def _in_disc(rng: np.random.Generator, bodies: int, reach: float, deep: int, radius: float) -> Array:
    """Return centres of grains within `reach` of the y axis, from the lowest up [m], shape (bodies, 3)."""
    cell = 2.0 * (1.0 + SLACK) * radius
    n = 2 * math.ceil(reach / cell)
    k, i, j = (a.ravel() for a in np.meshgrid(np.arange(n), np.arange(n), np.arange(deep), indexing="ij"))
    places = cell * np.stack([i - 0.5 * (n - 1), j - 0.5 * (deep - 1), k - 0.5 * (n - 1)], axis=1)
    room = 0.5 * SLACK * radius
    inside = places[np.hypot(places[:, 0], places[:, 2]) <= reach - 2.0 * room]
    if len(inside) < bodies:
        raise ValueError(f"bodies is {bodies}; there is room for {len(inside)} in the drum: fill it less")
    return np.asarray(inside[:bodies] + rng.uniform(-room, room, (bodies, 3)))


def _shell(inner: float, width: float, thickness: float, walls: int) -> Compound:
    """Return a regular prism of boxes about the y axis with its inner faces at the distance `inner` [m]."""
    long = 2.0 * (inner + thickness) * math.tan(math.pi / walls)
    box, away = Cuboid((thickness, width, long)), inner + 0.5 * thickness
    parts = []
    for k in range(walls):
        a = 2.0 * math.pi * k / walls  # turned about y, x goes to (cos a, 0, -sin a)
        place = (away * math.cos(a), 0.0, -away * math.sin(a))
        parts.append((box, place, (math.cos(0.5 * a), 0.0, math.sin(0.5 * a), 0.0)))
    return Compound(*parts)


LENGTH = 2.2
"""Length of the box over its width [-]; the column stands at one end and is as long as it is wide."""
HEIGHT = 0.75
"""Approximate height of the column over its width [-]."""
BOULDERS = ((0.14, -0.24, 0.15), (0.38, 0.22, 0.21))
"""Position along and across the box from its middle, and radius of each boulder, over the width of the box
[-]; centres are on the floor."""


@checked
def column_collapse(
    *, bodies: int = 1500, mu: float = 0.3, radius: float = 0.1, spread: float = 0.2, seed: int = 0
) -> World:
    """A loose column of spheres at one end of a box, which collapses.

    bodies: number of spheres [-], >= 1.
    mu: friction of all contacts [-], >= 0.
    radius: mean radius [m], > 0.
    spread: radii are uniform in radius (1 ± spread) [-], in [0, 1).
    seed: of positions and radii [-], >= 0.
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
