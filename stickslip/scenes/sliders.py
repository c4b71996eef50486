"""Blocks with dry friction: on a spring, on a moving belt, on a slope, and a box on a plane in space."""

import math
from collections.abc import Callable, Iterator

import numpy as np

from stickslip.exhibits import Curve, Figure, Panel
from stickslip.laws import NewtonImpact
from stickslip.mechanics.builder import WorldBuilder
from stickslip.mechanics.shapes import Cuboid, Plane
from stickslip.scenes import measures
from stickslip.scenes.measures import zero
from stickslip.scenes.parameters import checked, number
from stickslip.scenes.scenario import GRAVITY, Fact, Scenario, over_time, scene
from stickslip.simulation.trajectory import Trajectory
from stickslip.state import Array
from stickslip.systems.lagrangian import Lagrangian
from stickslip.systems.lagrangian_relations import Rheonomous, Scleronomous
from stickslip.systems.system import Interaction, NonsmoothSystem

ROWS = np.array([[0.0, 1.0], [1.0, 0.0]])
"""Rows of a contact, normal first, for the coordinates (along the floor, away from it) [-]."""


def _under(name: str, mu: float) -> Interaction:
    """Return the contact of the block with the surface under it."""
    relation = Scleronomous(lambda q: q[1:], dy_dq=ROWS)
    return Interaction(name, "block", relation, NewtonImpact(mu=mu, dimension=2))


@checked
def coulomb_oscillator(
    *, mu: float = 0.2, stiffness: float = 100.0, mass: float = 1.0, stretch: float = 0.15, h: float = 1e-3
) -> Scenario:
    """A block on a spring on a rough floor, released from rest.

    mu: friction [-], > 0.
    stiffness: of the spring [N/m], > 0.
    mass: of the block [kg], > 0.
    stretch: initial elongation of the spring [m], > 0.

    With d = mu m g / k, the amplitude decreases by 2 d in every half cycle π √(m / k); the block sticks at
    its first turning point within d of the middle (amplitudes decay linearly, not exponentially).
    """
    d = mu * mass * GRAVITY / stiffness
    half = math.pi * math.sqrt(mass / stiffness)
    turns = max(0, math.ceil(0.5 * (stretch / d - 1.0)))
    rest = (-1.0) ** turns * (stretch - 2.0 * turns * d)
    K = np.diag([stiffness, 0.0])
    block = Lagrangian(
        "block", M=mass, q0=[stretch, 0.0], F_ext=[0.0, -mass * GRAVITY],
        F_int=lambda q: K @ q, dF_int_dq=K, potential=lambda q: 0.5 * q @ K @ q + mass * GRAVITY * q[1],
    )  # fmt: skip
    floor = _under("floor", mu)

    def facts(trajectory: Trajectory) -> Iterator[Fact]:
        t, block, dt = trajectory.t, trajectory.system("block"), measures.spacing(trajectory)
        x, v = block.q[:, 0], block.v[:, 0]
        slip = np.where(np.abs(v) > 1e-9, v, 0.0)
        _, places = measures.turning_points(t, x, slip)
        fine = trajectory.scheme == "event-driven"
        between = 0.5 * stiffness / mass * stretch * dt**2
        grace = 1e-6 + between if fine else 4.0 * d * dt / half
        for n in range(min(turns, len(places))):
            yield Fact(f"turning point {n + 1} [m], 2 mu m g / k less at each (resolved to a step)",
                       places[n], (-1.0) ** (n + 1) * (stretch - 2.0 * (n + 1) * d),
                       (n + 1) * grace)  # fmt: skip
        if t[-1] > turns * half + 3.0 * dt:
            yield Fact("final position [m], closed form", x[-1], rest, (turns + 1) * grace)
            yield Fact("time of the stop [s], half cycles of π √(m / k)",
                       float(t[np.flatnonzero(slip)[-1] + 1]) if slip.any() else 0.0, turns * half,
                       (turns + 2) * dt)  # fmt: skip
            yield Fact("velocity at the end [m/s], sticking", v[-1], 0.0, 1e-7)

    def figure(trajectory: Trajectory) -> Figure:
        t, block = trajectory.t, trajectory.system("block")
        line = stretch - 2.0 * d * t / half
        within = line >= 0.0
        force = trajectory.interaction("floor").r[1:, 1] / np.diff(t)
        return Figure(f"Spring and dry friction, mu = {mu:g}: it stays after {turns} half cycles", [
            Panel("Way", "t [s]", "x [m]",
                  [Curve("block", t, block.q[:, 0]),
                   Curve("±(x₀ - 2 d t / half cycle)", t[within], line[within], "--"),
                   Curve("±(x₀ - 2 d t / half cycle)", t[within], -line[within], "--"),
                   Curve("|x| = mu m g / k", t, np.full(t.size, d), ":"),
                   Curve("|x| = mu m g / k", t, np.full(t.size, -d), ":")]),
            over_time("Friction", "force [N]", t[1:], {"block": force}),
        ])  # fmt: skip

    return scene("coulomb-oscillator", "A block on a spring slides to rest in finitely many half cycles.",
                 NonsmoothSystem([block], [floor]), (turns + 2) * half, h, facts, figure,
                 ("moreau-jean", "event-driven"))  # fmt: skip


@checked
def stick_slip(
    *, mu_static: float = 0.4, mu: float = 0.2, speed: float = 0.1, stiffness: float = 100.0,
    mass: float = 1.0, h: float = 5e-4, cycles: int = 4,
) -> Scenario:  # fmt: skip
    """A block on a moving belt, held by a spring, with larger friction in sticking than in sliding.

    mu_static: friction of sticking [-], > mu.
    mu: friction of sliding [-], > 0.
    speed: of the belt [m/s], > 0.
    stiffness: of the spring [N/m], > 0.
    mass: of the block [kg], > 0.
    cycles: number of cycles in the run [-], >= 1.

    With a single mu the block would settle where the spring balances friction. The contact has mu; the
    additional friction of sticking, clip(|k x| - mu m g, 0, (mu_static - mu) m g), is a force that the
    discrete parameter z switches off while the block slides on the belt. The block sticks from
    x = (2 mu - mu_static) m g / k to mu_static m g / k, for the time 2 Δ / speed with
    Δ = (mu_static - mu) m g / k, and slides back, m ẍ = -k x + mu m g, in the time
    (2 / ω)(π - arctan(Δ ω / speed)), ω = √(k / m).
    """
    mu_static = number("mu_static", mu_static, "", above=mu)
    omega, weight = math.sqrt(stiffness / mass), mass * GRAVITY
    delta = (mu_static - mu) * weight / stiffness
    middle = mu * weight / stiffness
    ride = 2.0 * delta / speed
    slide = 2.0 / omega * (math.pi - math.atan(delta * omega / speed))
    amplitude = math.hypot(delta, speed / omega)
    still = 1e-6 * speed
    block = Lagrangian(
        "block", M=mass, q0=[middle - delta, 0.0], v0=[speed, 0.0], F_ext=[0.0, -weight],
        F_int=_spring_and_surplus(stiffness, mu * weight, (mu_static - mu) * weight),
        z=[1.0], z_update=lambda v: np.array([1.0 if abs(v[0] - speed) <= still else 0.0]),
        potential=lambda q: 0.5 * stiffness * q[0] ** 2 + weight * q[1],
    )  # fmt: skip
    belt = Interaction(
        "belt", "block",
        Rheonomous(lambda t, q: q[1:], dy_dq=ROWS, dy_dt=np.array([0.0, -speed])),
        NewtonImpact(mu=mu, dimension=2),
    )  # fmt: skip

    def facts(trajectory: Trajectory) -> Iterator[Fact]:
        t, block, dt = trajectory.t, trajectory.system("block"), measures.spacing(trajectory)
        x, v = block.q[:, 0], block.v[:, 0]
        slides = np.abs(v - speed) > 1e-4 * speed
        slips = t[1:][slides[1:] & ~slides[:-1]]
        sticks = t[1:][~slides[1:] & slides[:-1]]
        # Sliding begins with v - V ~ t²: its detection, which switches the surplus off, has this delay.
        late = math.sqrt(2e-4 * speed * mass / (stiffness * speed)) + 2.0 * dt
        if len(slips) >= 2:
            yield Fact("period [s], closed form (transitions are resolved to a step; slip begins slowly)",
                       np.diff(slips).mean(), ride + slide, 3.0 * dt + 0.25 * late)  # fmt: skip
        if len(slips) and len(sticks):
            yield Fact("duration of sliding [s], closed form", sticks[0] - slips[0], slide, late + 2.0 * dt)
            yield Fact("largest elongation of the spring [m], middle + √(Δ² + (speed/ω)²)", x.max(),
                       middle + amplitude, 4.0 * speed * late * delta / amplitude + 1e-6)  # fmt: skip

    def figure(trajectory: Trajectory) -> Figure:
        t, block = trajectory.t, trajectory.system("block")
        x, v = block.q[:, 0], block.v[:, 0]
        title = f"Stick-slip, mu = {mu:g} sliding and {mu_static:g} at rest: period {ride + slide:.4g} s"
        return Figure(title, [
            over_time("Elongation of the spring", "x [m]", t, {"block": x}),
            over_time("Velocity", "v [m/s]", t, {"block": v, "belt": (np.full(t.size, speed), "--")}),
            Panel("State space", "x [m]", "v [m/s]", [Curve("block", x, v)]),
        ], across=3)  # fmt: skip

    return scene("stick-slip", "A block on a moving belt sticks and slips periodically.",
                 NonsmoothSystem([block], [belt]), cycles * (ride + slide) + 0.5 * ride + slide, h, facts,
                 figure, ("moreau-jean", "event-driven"))  # fmt: skip


def _spring_and_surplus(k: float, kinetic: float, surplus: float) -> Callable[[Array, Array], Array]:
    """Return the force k x minus the additional friction of sticking."""

    def force(q: Array, z: Array) -> Array:
        pull = k * q[0]
        static = math.copysign(min(max(abs(pull) - kinetic, 0.0), surplus), pull)
        return np.array([pull - z[0] * static, 0.0])

    return force


@checked
def incline_block(
    *, angle: float = 25.0, mu: float = 0.3, speed: float = 2.0, mass: float = 1.0, h: float = 1e-3
) -> Scenario:
    """A block on a slope, launched upwards; coordinates are (down the slope, away from it).

    angle: of the slope [deg], in [0, 80].
    mu: friction [-], >= 0; mu and angle must not both be 0, as the block would not stop.
    speed: initial speed up the slope [m/s], >= 0.
    mass: of the block [kg], > 0.

    The block decelerates at g (sin + mu cos) and stops after the time speed / (g (sin + mu cos)). Then it
    sticks if tan(angle) <= mu; otherwise it slides down with the acceleration g (sin - mu cos).
    """
    sine, cosine = math.sin(math.radians(angle)), math.cos(math.radians(angle))
    slowing = GRAVITY * (sine + mu * cosine)
    if not slowing > 0.0:
        raise ValueError("angle and mu are both 0: nothing stops the block; give one of them a value > 0")
    sticks = sine <= mu * cosine
    falling = 0.0 if sticks else GRAVITY * (sine - mu * cosine)
    stop = speed / slowing
    turn = -0.5 * speed**2 / slowing
    until = max(3.0 * stop, 0.5)
    weight = np.array([mass * GRAVITY * sine, -mass * GRAVITY * cosine])
    block = Lagrangian(
        "block", M=mass, q0=[0.0, 0.0], v0=[-speed, 0.0], F_ext=weight, potential=lambda q: -weight @ q
    )
    slope = _under("slope", mu)

    def facts(trajectory: Trajectory) -> Iterator[Fact]:
        t, block = trajectory.t, trajectory.system("block")
        x, v, end, dt = block.q[:, 0], block.v[:, 0], float(trajectory.t[-1]), measures.spacing(trajectory)
        after = max(end - stop, 0.0)
        near = 1e-7 if trajectory.scheme == "event-driven" else 2.0 * GRAVITY * dt
        yield zero("distance from the slope [m], zero", block.q[:, 1], 1e-9)
        if after > 0.0:
            expected = "zero" if sticks else "g (sin - mu cos) (t - stop)"
            claim = f"velocity at the end [m/s], {expected} (first order in the step of the stop)"
            yield Fact(claim, v[-1], falling * after, near)
            yield Fact("farthest up the slope [m], speed² / (2 g (sin + mu cos))", x.min(), turn,
                       dt * dt * GRAVITY + 1e-9)  # fmt: skip
            yield Fact("position at the end [m], closed form", x[-1], turn + 0.5 * falling * after**2,
                       near * after + 1e-8)  # fmt: skip
            sliding = (t > stop + 2.0 * dt)[1:]
            if sliding.sum() > 2:
                r = trajectory.interaction("slope").r[1:][sliding]
                ratio = float(r[:, 1].sum() / r[:, 0].sum())
                yield Fact("friction over normal force after the stop [-], -min(tan, mu)", ratio,
                           -min(sine / cosine, mu), 1e-6)  # fmt: skip

    def figure(trajectory: Trajectory) -> Figure:
        t, block = trajectory.t, trajectory.system("block")
        force = trajectory.interaction("slope").r[1:] / np.diff(t)[:, None]
        title = f"Block on a slope of {angle:g}°, mu = {mu:g}: it " + ("sticks" if sticks else "slides back")
        return Figure(title, [
            over_time("Position down the slope", "x [m]", t, {"block": block.q[:, 0]}),
            over_time("Velocity", "v [m/s]", t, {"block": block.v[:, 0]}),
            over_time("Contact force", "force [N]", t[1:],
                      {"normal": force[:, 0], "friction": (force[:, 1], "--")}),
            over_time("Energy", "E [J]", t, {"total": measures.energy(trajectory)}),
        ])  # fmt: skip

    return scene("incline-block", "A block launched up a slope stops, and sticks or slides back.",
                 NonsmoothSystem([block], [slope]), until, h, facts, figure,
                 ("moreau-jean", "event-driven"))  # fmt: skip


@checked
def box_incline(
    *, angle: float = 25.0, mu: float = 0.4, launch: float = 0.0, direction: float = 0.0, size: float = 0.2,
    until: float = 1.0, h: float = 1e-3,
) -> Scenario:  # fmt: skip
    """A box on a tilted plane; x points down the slope, y across it.

    angle: of the slope [deg], in [0, 60].
    mu: friction [-], in [0, 0.9), so that the sliding box does not tip over.
    launch: initial speed along the plane [m/s], >= 0.
    direction: of the initial velocity, from the fall line towards y [deg], in [-180, 180].
    size: edge of the box, a cube [m], > 0.

    From rest the box sticks if tan(angle) <= mu, and otherwise accelerates at g (sin - mu cos). On level
    ground its path is straight, of length launch² / (2 mu g). Across a slope its path is curved: with φ the
    angle of the velocity from the fall line and k = mu / tan(angle), v' = g (sin cos φ - mu cos) and v φ' =
    -g sin sin φ, so that v sin φ / tan(φ / 2)ᵏ is constant.
    """
    tilt, course = math.radians(angle), math.radians(direction)
    frame, p = measures.turn(tilt)
    heading = np.array([math.cos(course), math.sin(course), 0.0])
    builder = WorldBuilder()
    builder.material("default", mu=mu)
    builder.body("slope", Plane(), quaternion=p, fixed=True)
    builder.body(
        "box", Cuboid((size, size, size)), position=frame @ [0.0, 0.0, 0.5 * size], quaternion=p,
        velocity=frame @ (launch * heading),
    )  # fmt: skip
    pull, grip = GRAVITY * math.sin(tilt), mu * GRAVITY * math.cos(tilt)

    def along(trajectory: Trajectory) -> tuple[Array, Array]:
        """Return displacement and velocity of the box down the slope, across it and away from it, shape (n,
        3) each."""
        box = trajectory.body("box")
        return (box.centre - box.centre[0]) @ frame, box.centre_velocity @ frame

    def facts(trajectory: Trajectory) -> Iterator[Fact]:
        x, v = along(trajectory)
        end = float(trajectory.t[-1])
        yield zero("distance from the plane [m], zero", x[:, 2], 1e-7 * size)
        yield _carried(trajectory, tilt)
        scale = measures.weight(trajectory) * (size + launch * launch / GRAVITY)
        yield measures.balance_fact(trajectory, scale)
        yield measures.overlap_fact(trajectory, size)
        if launch == 0.0:
            yield from _from_rest(v, pull, grip, end)
            return
        if angle == 0.0:
            yield from _on_level_ground(trajectory, x, v, heading, launch, grip)
            return
        yield from _across(trajectory, v, launch, course, mu / math.tan(tilt))

    def figure(trajectory: Trajectory) -> Figure:
        (x, v), t, on = along(trajectory), trajectory.t, trajectory.forces_on("box") @ frame
        names = ("down the slope", "across it")
        return Figure(f"Box on {angle:g}°, mu = {mu:g}, launched at {launch:g} m/s", [
            Panel("Path", "down the slope [m]", "across it [m]", [Curve("box", x[:, 0], x[:, 1])])
            if launch
            else over_time("Displacement down the slope", "x [m]", t, {"box": x[:, 0]}),
            over_time("Velocity", "v [m/s]", t,
                      {name: (v[:, k], "-" if k == 0 else "--") for k, name in enumerate(names)}),
            over_time("Contact force", "force [N]", t[1:],
                      {"normal": on[1:, 2], "friction": (np.linalg.norm(on[1:, :2], axis=1), "--")}),
            over_time("Energy", "energy [J]", t,
                      {"kinetic": trajectory.kinetic, "dissipated": (trajectory.dissipated, "--")}),
        ])  # fmt: skip

    return scene("box-incline", "A box on a slope sticks or slides, by mu and the angle.", builder.build(),
                 until, h, facts, figure)  # fmt: skip


def _carried(trajectory: Trajectory, tilt: float) -> Fact:
    """Return the fact that the normal force is the normal component of the weight for any motion of the
    box."""
    normal = np.array([math.sin(tilt), 0.0, math.cos(tilt)])
    force = trajectory.forces_on("box")[1:] @ normal / measures.weight(trajectory)
    worst = float(force[np.argmax(np.abs(force - math.cos(tilt)))])
    return Fact("normal force [of the weight], cos(angle) in every step", worst, math.cos(tilt), 1e-5)


def _from_rest(v: Array, pull: float, grip: float, end: float) -> Iterator[Fact]:
    """Yield the facts of a box without initial velocity: it sticks, or accelerates down the slope."""
    if pull <= grip:
        yield Fact("speed at the end [m/s], no creep", math.hypot(*v[-1]), 0.0, 1e-9)
        return
    known = (pull - grip) * end
    yield Fact("velocity at the end [m/s], g (sin - mu cos) t", v[-1, 0], known, 1e-6 * known)
    yield zero("velocity across the slope [m/s], zero", v[:, 1], 1e-6 * known)


def _on_level_ground(
    trajectory: Trajectory, x: Array, v: Array, heading: Array, launch: float, grip: float
) -> Iterator[Fact]:
    """Yield the facts of a box on level ground: a straight path with the deceleration mu g until it stops."""
    t, side = trajectory.t, np.array([-heading[1], heading[0], 0.0])
    reach = float(np.abs(x @ heading).max())
    bend = np.abs(x @ side).max() / reach
    speed = np.maximum(launch - grip * t, 0.0)
    step = float(trajectory.h.max())
    yield Fact("lateral displacement [of the path's length], zero", bend, 0.0, 1e-6)
    yield zero("largest error of the speed [m/s], launch - mu g t (in the step of the stop: mu g h)",
               v @ heading - speed, grip * step + 1e-8 * launch)  # fmt: skip
    yield Fact("length of the path [m], closed form (in the step of the stop: mu g h²)", reach,
               float((launch - 0.5 * grip * t[-1]) * t[-1]) if speed[-1] > 0.0 else 0.5 * launch**2 / grip,
               grip * step**2 + 1e-8)  # fmt: skip


def _across(trajectory: Trajectory, v: Array, launch: float, course: float, k: float) -> Iterator[Fact]:
    """Yield the fact of the first integral v sin φ / tan(φ / 2)ᵏ, to first order in h: friction has the
    direction of the velocity at the end of each step."""
    now, size = np.arctan2(v[:, 1], v[:, 0]), measures.speed(trajectory)
    step = float(trajectory.h.max())
    if abs(math.sin(course)) < 1e-9:
        yield zero("velocity across the slope [m/s], zero", v[:, 1], 1e-6 * launch)
        return
    # For velocities nearly down the slope, and for small ones, rounding dominates the first integral.
    clear = (size > 0.2 * launch) & (np.abs(np.sin(now)) > 0.05)
    phi = np.abs(now[clear])
    integral = size[clear] * np.sin(phi) / np.tan(0.5 * phi) ** k
    start = launch * abs(math.sin(course)) / math.tan(0.5 * abs(course)) ** k
    rate = GRAVITY / (0.2 * launch)
    yield zero("relative change of v sin φ / tan(φ / 2)ᵏ [-], zero (order h)", integral / start - 1.0,
               0.5 * (1.0 + k) * rate * step)  # fmt: skip
