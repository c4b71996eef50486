"""Linkages: a four-bar with a driven crank, a slider-crank between hard stops, and a slider-crank whose
slider has clearance in its guide and may touch it with four corners.

The last one is that of Flores, Leine & Glocker, "Modeling and analysis of planar rigid multibody systems with
translational clearance joints based on the non-smooth dynamics approach", Multibody System Dynamics 23
(2010), table 1.
"""

import math
from collections.abc import Iterator

import numpy as np

from stickslip.exhibits import Curve, Figure, Panel
from stickslip.laws import NewtonImpact
from stickslip.mechanics.builder import WorldBuilder
from stickslip.mechanics.energy import kinetic
from stickslip.mechanics.forces import Actuator
from stickslip.mechanics.sensors import JointSensor
from stickslip.mechanics.shapes import Cuboid
from stickslip.scenes.measures import balance_fact, energy, penetration_fact, spacing, zero
from stickslip.scenes.parameters import checked, number
from stickslip.scenes.scenario import GRAVITY, Fact, Scenario, against, over_time, scene
from stickslip.scenes.views import side_view
from stickslip.simulation.trajectory import Trajectory
from stickslip.state import Array
from stickslip.systems.lagrangian import Lagrangian
from stickslip.systems.lagrangian_relations import Scleronomous
from stickslip.systems.system import Interaction, NonsmoothSystem

WIDTH = 0.01
"""Width of all bars [m]; their material is aluminium, 2700 kg/m³."""
ACROSS = (0.0, 1.0, 0.0)
"""Axis of hinges: linkages move in the plane of x and z."""


@checked
def four_bar(
    *, crank: float = 0.1, coupler: float = 0.3, rocker: float = 0.25, ground: float = 0.3,
    rate: float = 10.0, effort: float = 0.02, until: float = 1.5, h: float = 1e-3,
) -> Scenario:  # fmt: skip
    """A four-bar in space: a crank with a constant moment, a coupler, and a rocker on four parallel hinges.

    crank: length [m], > 0, the shortest of the four.
    coupler: length [m], > 0.
    rocker: length [m], > 0.
    ground: distance of the hinges of crank and rocker [m], > 0.
    rate: initial angular velocity of the crank [rad/s], > 0.
    effort: moment on the crank [N m], >= 0.

    The hinges constrain 20 components of three bars with one degree of freedom: three constraints are
    redundant. By Grashof's rule the crank rotates fully if crank and longest bar are together not longer than
    the other two, and the rocker reverses where crank and coupler are in line.
    """
    a, b, c, d = crank, coupler, rocker, ground
    if a != min(a, b, c, d) or 2.0 * (a + max(b, c, d)) >= a + b + c + d:
        raise ValueError(
            f"crank, coupler, rocker, ground are {a:g}, {b:g}, {c:g}, {d:g} m: the crank must be shortest,"
            " and with the longest shorter than the other two together, or it cannot rotate fully (Grashof)"
        )
    A, D = np.zeros(2), np.array([d, 0.0])
    B = np.array([0.0, a])
    C = _meet(B, D, b, c)
    # 1. Initial angular velocities: C moves with the coupler and with the rocker.
    vB = rate * _left(B - A)
    spins = np.linalg.solve(np.column_stack([_left(C - B), -_left(C - D)]), -vB)
    # 2. Bars, hinges, motor and sensors. Angles are positive from x to z, a rotation about -y.
    builder = WorldBuilder()
    _bar(builder, "crank", A, B, rate, np.zeros(2))
    _bar(builder, "coupler", B, C, float(spins[0]), vB)
    _bar(builder, "rocker", D, C, float(spins[1]), np.zeros(2))
    for name, first, second, point in (
        ("crank", "crank", None, A), ("knee", "coupler", "crank", B), ("elbow", "rocker", "coupler", C),
        ("rocker", "rocker", None, D),
    ):  # fmt: skip
        axis = (0.0, -1.0, 0.0)
        builder.joint(f"{name} hinge", "hinge", first, second, point=(point[0], 0.0, point[1]), axis=axis)
    builder.force(Actuator("motor", "crank hinge", effort))
    builder.sensor(JointSensor("crank", "crank hinge"))
    builder.sensor(JointSensor("rocker", "rocker hinge"))
    builder.apart_groups("default", "default")
    world = builder.build()
    start = math.atan2(C[1] - D[1], C[0] - D[0])
    ends = [math.pi - math.acos((c * c + d * d - (b + s * a) ** 2) / (2.0 * c * d)) for s in (1.0, -1.0)]

    def facts(trajectory: Trajectory) -> Iterator[Fact]:
        angle = np.unwrap(trajectory.sensors["crank"][:, 0])
        swing = start + trajectory.sensors["rocker"][:, 0]
        turns = (angle[-1] - angle[0]) / (2.0 * math.pi)
        fastest = float(np.abs(trajectory.sensors["crank"][:, 1]).max())
        scale = float(trajectory.kinetic.max())
        order = (h * fastest) ** 2
        yield Fact("work of the motor [J], moment times angle, to second order in the step",
                   trajectory.work[-1], effort * float(angle[-1] - angle[0]), order * scale)  # fmt: skip
        yield zero("largest opening of a hinge over the crank [-], of third order in the step",
                   trajectory.opening / a, (h * fastest) ** 3)  # fmt: skip
        yield balance_fact(trajectory, scale, "of the kinetic")
        yield zero("energy that hinges dissipate or create [of the kinetic], of second order in the step",
                   (trajectory.dissipated - trajectory.lifted) / scale, 10.0 * order)  # fmt: skip
        yield Fact("steps that missed the tolerance [-], none in spite of redundant hinges",
                   trajectory.missed, 0, 0)  # fmt: skip
        if turns >= 1.0:
            reach = (float(swing.min()), float(swing.max()))
            for name, extreme, end in zip(("smallest", "largest"), reach, sorted(ends), strict=True):
                yield Fact(f"{name} angle of the rocker [rad], crank and coupler in line", extreme, end,
                           order)  # fmt: skip

    def figure(trajectory: Trajectory) -> Figure:
        t, angle = trajectory.t, np.unwrap(trajectory.sensors["crank"][:, 0]) + 0.5 * math.pi
        swing = start + trajectory.sensors["rocker"][:, 0]
        views = np.searchsorted(angle, angle[0] + np.array([0.0, 0.5, 1.0, 1.5]) * math.pi)
        return Figure("A four-bar on redundant hinges", [
            Panel("From the side", "x [m]", "z [m]", side_view(trajectory, t[views[views < len(t)]])),
            Panel("Rocker against crank", "crank [turns]", "rocker [rad]",
                  [Curve("run", angle / (2.0 * math.pi), swing),
                   *(Curve("in line", angle[[0, -1]] / (2.0 * math.pi), np.full(2, end), "--")
                     for end in ends)]),
            over_time("Energies", "[J]", t,
                      {"kinetic": trajectory.kinetic, "potential": trajectory.potential,
                       "work of the motor": trajectory.work}),
            over_time("Hinges", "largest opening [m, rad]", t, {"run": trajectory.opening}),
        ])  # fmt: skip

    return scene("four-bar", "A driven crank moves a rocker through redundant hinges.", world, until, h,
                 facts, figure)  # fmt: skip


@checked
def crank_stops(
    *, crank: float = 0.1, rod: float = 0.3, stroke: float = 0.1, rate: float = 10.0, e: float = 0.8,
    friction: float = 0.05, until: float = 1.5, h: float = 2e-4,
) -> Scenario:  # fmt: skip
    """A horizontal slider-crank whose slider rubs and rebounds between two hard stops.

    crank: length [m], > 0.
    rod: length [m], > the crank.
    stroke: distance of the stops, half to either side of the slider's initial position [m], > 0.
    rate: initial angular velocity of the crank [rad/s], > 0.
    e: restitution of the stops [-], in [0, 1].
    friction: dry friction of the slider [N], >= 0.

    With one degree of freedom an impact leaves e² of the energy E, and friction dissipates force times stroke
    between stops: E after impact k + 1 is e² (E_k - friction stroke). The slider stops where the energy is 0.
    """
    a, b = crank, number("rod", rod, "m", above=crank)
    x0 = math.sqrt(b * b - a * a)
    stroke = number("stroke", stroke, "m", above=0.0, below=2.0 * min(x0 - (b - a), b + a - x0))
    A, B, C = np.zeros(2), np.array([0.0, a]), np.array([x0, 0.0])
    builder = WorldBuilder(gravity=(0.0, -GRAVITY, 0.0))  # along the hinges: gravity does no work
    # The crank rotates backwards and the slider moves outwards; at this position the rod only translates.
    speed = rate * a
    _bar(builder, "crank", A, B, -rate, np.zeros(2))
    _bar(builder, "rod", B, C, 0.0, np.array([speed, 0.0]))
    builder.body(
        "slider", Cuboid((3.0 * WIDTH,) * 3), position=(x0, 0.0, 0.0), velocity=(speed, 0.0, 0.0),
        density=2700.0,
    )  # fmt: skip
    for name, first, second, point in (
        ("main", "crank", None, A), ("pin", "rod", "crank", B), ("wrist", "slider", "rod", C)
    ):  # fmt: skip
        builder.joint(f"{name} hinge", "hinge", first, second, point=(point[0], 0.0, point[1]), axis=ACROSS)
    half = 0.5 * stroke
    builder.joint(
        "guide", "slider", "slider", None, point=(x0, 0.0, 0.0), axis=(1.0, 0.0, 0.0), limits=(-half, half),
        friction=friction, e=e,
    )  # fmt: skip
    builder.sensor(JointSensor("slider", "guide"))
    builder.apart_groups("default", "default")
    world = builder.build()
    energy = kinetic(world, world.start.v)
    impacts, place = _course(energy, friction, half, e)

    def facts(trajectory: Trajectory) -> Iterator[Fact]:
        y, u = trajectory.sensors["slider"].T
        hits = _impacts(u, y, half)
        indices = [k for k in range(len(impacts)) if k < len(hits)]
        jumps = [abs(u[hits[k] + 1] + e * u[hits[k]]) for k in indices]
        energy_errors = [abs(trajectory.kinetic[hits[k] + 1] - impacts[k]) for k in indices]
        slip = h * speed
        yield zero(
            "largest overshoot of a stop [m], at most one step", np.maximum(np.abs(y) - half, 0.0), slip
        )
        yield zero("velocity after impacts minus -e times that before [m/s], to the solver's tolerance",
                   max(jumps, default=np.inf), 1e-6 * speed)  # fmt: skip
        yield zero("energy after impacts minus the closed form [of the initial], first order in the step",
                   max(energy_errors, default=np.inf) / energy, 2.0 * h * rate)  # fmt: skip
        yield zero("largest opening of a joint over the crank [-], of second order in the step",
                   trajectory.opening / a, (h * rate) ** 2)  # fmt: skip
        yield balance_fact(trajectory, energy, "of the initial")
        if np.isfinite(place) and np.abs(u[-1]) < 1e-6 * speed:
            yield Fact("number of impacts [-]", len(hits), len(impacts), 0)
            yield Fact("final position of the slider [m], to first order in the step", y[-1], place,
                       2.0 * h * rate * energy / friction)  # fmt: skip
            yield Fact("energy dissipated by friction and impacts [J], the initial one, to the tolerance",
                       trajectory.dissipated[-1], energy, 1e-7 * energy)  # fmt: skip

    def figure(trajectory: Trajectory) -> Figure:
        t = trajectory.t
        y, u = trajectory.sensors["slider"].T
        return Figure(f"A slider-crank between stops, e = {e:g}, friction {friction:g} N", [
            Panel("Slider", "t [s]", "displacement [m]",
                  [Curve("run", t, y), *(Curve("stops", t[[0, -1]], np.full(2, s * half), "--")
                                         for s in (-1.0, 1.0))]),
            Panel("Slider", "displacement [m]", "velocity [m/s]", [Curve("run", y, u)]),
            over_time("Energy", "[J]", t,
                      {"kinetic": trajectory.kinetic, "dissipated": trajectory.dissipated}),
            over_time("Joints", "largest opening [m, rad]", t, {"run": trajectory.opening}),
        ])  # fmt: skip

    return scene("crank-stops", "A slider-crank rubs and rebounds between hard stops of its slider.", world,
                 until, h, facts, figure)  # fmt: skip


def _course(energy: float, friction: float, half: float, e: float) -> tuple[list[float], float]:
    """Return the energies after each impact [J] (at most 100), and the final position [m]; NaN if there is
    none."""
    after: list[float] = []
    position, side, distance = 0.0, 1.0, half
    while len(after) < 100:
        if friction > 0.0 and energy <= friction * distance:
            return after, position + side * energy / friction
        energy = e * e * (energy - friction * distance)
        after.append(energy)
        position, side, distance = side * half, -side, 2.0 * half
        if energy == 0.0:
            return after, position
    return after, math.nan


def _impacts(u: Array, y: Array, half: float) -> list[int]:
    """Return the records after which the velocity u changes sign near a stop."""
    turned = (u[:-1] * u[1:] < 0.0) & (np.abs(y[1:]) > 0.9 * half)
    return [int(k) for k in np.flatnonzero(turned)]


def _bar(builder: WorldBuilder, name: str, start: Array, end: Array, spin: float, velocity: Array) -> None:
    """Add a bar from `start` to `end` in the plane of x and z, with its angular velocity from x to z [rad/s]
    and the velocity of `start` [m/s]."""
    along, middle = end - start, 0.5 * (start + end)
    angle = math.atan2(along[1], along[0])
    v = velocity + spin * _left(middle - start)
    builder.body(
        name, Cuboid((float(np.linalg.norm(along)), WIDTH, WIDTH)), position=(middle[0], 0.0, middle[1]),
        quaternion=(math.cos(0.5 * angle), 0.0, -math.sin(0.5 * angle), 0.0),
        velocity=(v[0], 0.0, v[1]), spin=(0.0, -spin, 0.0), density=2700.0,
    )  # fmt: skip


def _left(arm: Array) -> Array:
    """Return the arm rotated by a right angle from x to z: its velocity at 1 rad/s [m/s], shape (2,)."""
    return np.array([-arm[1], arm[0]])


def _meet(B: Array, D: Array, b: float, c: float) -> Array:
    """Return the intersection of circles of radii b about B and c about D, left of B to D [m], shape (2,)."""
    base = D - B
    distance = float(np.linalg.norm(base))
    along = (b * b - c * c + distance * distance) / (2.0 * distance)
    height = math.sqrt(b * b - along * along)
    return np.asarray(B + (along * base + height * _left(base)) / distance)


CRANK, ROD = 0.153, 0.306
"""Lengths l₁, l₂ of crank and rod [m]."""
HALF_LENGTH, HALF_HEIGHT = 0.05, 0.025
"""Half length a and half height b of the slider [m]."""
M1, M2, M3 = 0.038, 0.038, 0.076
"""Masses of crank, rod and slider [kg]."""
J1, J2, J3 = 7.4e-5, 5.9e-4, 2.7e-6
"""Moments of inertia about the centres of mass [kg m²]."""
CORNERS = {"top left": (-1, 1), "top right": (1, 1), "bottom left": (-1, -1), "bottom right": (1, -1)}
"""Signs of the coordinates of each corner in the slider, along and across."""

COUPLING = (0.5 * M2 + M3) * CRANK * ROD
"""Coefficient of the coupling of crank and rod in the mass matrix [kg m²]."""


def mass_matrix(q: Array) -> Array:
    """Return M(q) for the angles (crank, rod, slider) to the horizontal [kg m²], shape (3, 3)."""
    c = COUPLING * math.cos(q[1] - q[0])
    return np.array(
        [
            [J1 + (0.25 * M1 + M2 + M3) * CRANK**2, c, 0.0],
            [c, J2 + (0.25 * M2 + M3) * ROD**2, 0.0],
            [0.0, 0.0, J3],
        ]
    )


def inertia_forces(q: Array, v: Array) -> Array:
    """Return N(q, v) = Ṁ v - ½ ∂(v'M v)/∂q [N m], shape (3,)."""
    s = COUPLING * math.sin(q[0] - q[1])
    return np.array([s * v[1] ** 2, -s * v[0] ** 2, 0.0])


def weights(q: Array) -> Array:
    """Return F_int, the derivative of the potential energy [N m], shape (3,)."""
    return GRAVITY * np.array(
        [(0.5 * M1 + M2 + M3) * CRANK * math.cos(q[0]), (0.5 * M2 + M3) * ROD * math.cos(q[1]), 0.0]
    )


def potential_energy(q: Array) -> float:
    """Return the potential energy of gravity [J]."""
    crank, rod = CRANK * math.sin(q[0]), ROD * math.sin(q[1])
    return GRAVITY * (0.5 * M1 * crank + M2 * (crank + 0.5 * rod) + M3 * (crank + rod))


def kinetic_energy(q: Array, v: Array, step: float = 1e-6) -> float:
    """Return the kinetic energy by central differences of the centres of mass [J]; it checks
    `mass_matrix`."""

    def centres(q: Array) -> Array:
        joint = CRANK * np.array([math.cos(q[0]), math.sin(q[0])])
        rod = ROD * np.array([math.cos(q[1]), math.sin(q[1])])
        return np.array([0.5 * joint, joint + 0.5 * rod, joint + rod])

    along = v / np.linalg.norm(v)
    speed = np.linalg.norm(v) * (centres(q + step * along) - centres(q - step * along)) / (2.0 * step)
    return float(0.5 * np.array([M1, M2, M3]) @ (speed**2).sum(axis=1) + 0.5 * np.array([J1, J2, J3]) @ v**2)


def corner(signs: tuple[int, int], clearance: float, friction: bool) -> Scleronomous:
    """Return the relation of a corner: gap to its side of the guide, and with friction the velocity along
    it."""
    along, across = signs[0] * HALF_LENGTH, signs[1] * HALF_HEIGHT
    side = signs[1]

    def gap(q: Array) -> Array:
        y = CRANK * math.sin(q[0]) + ROD * math.sin(q[1]) + along * math.sin(q[2]) + across * math.cos(q[2])
        return np.array([HALF_HEIGHT + clearance - side * y])

    def rows(q: Array) -> Array:
        s, c = np.sin(q), np.cos(q)
        normal = [-side * CRANK * c[0], -side * ROD * c[1], -side * (along * c[2] - across * s[2])]
        if not friction:
            return np.array([normal])
        return np.array([normal, [-CRANK * s[0], -ROD * s[1], -along * s[2] - across * c[2]]])

    return Scleronomous(gap, dy_dq=rows)


@checked
def slider_crank(
    *, e: float = 0.4, mu: float = 0.01, clearance: float = 1e-3, speed: float = 150.0, h: float = 1e-5,
    until: float = 0.05,
) -> Scenario:  # fmt: skip
    """A slider-crank with clearance, initially stretched; four corners of the slider may hit the guide.

    e: restitution of the corners [-], in [0, 1].
    mu: friction of the corners [-], >= 0.
    clearance: between slider and guide on either side [m], in (0, 0.01].
    speed: initial angular velocity of the crank [rad/s], > 0; that of the rod is minus half of it.
    """
    mechanism = Lagrangian(
        "mechanism", M=mass_matrix, q0=[0.0, 0.0, 0.0], v0=[speed, -0.5 * speed, 0.0], N=inertia_forces,
        F_int=weights, potential=potential_energy,
    )  # fmt: skip
    law = NewtonImpact(e=e, mu=mu, dimension=2) if mu > 0.0 else NewtonImpact(e=e)
    interactions = [
        Interaction(name, "mechanism", corner(signs, clearance, mu > 0.0), law)
        for name, signs in CORNERS.items()
    ]

    def facts(trajectory: Trajectory) -> Iterator[Fact]:
        q, v, dt = trajectory.q, trajectory.v, spacing(trajectory)
        E = energy(trajectory)
        samples = np.linspace(0, len(q) - 1, 12).astype(int)
        kinetic = max(abs(kinetic_energy(q[k], v[k]) / float(trajectory.kinetic[k]) - 1.0) for k in samples)
        touched = sum(float(trajectory.interaction(name).r[:, 0].sum()) for name in CORNERS)
        fastest = float(np.abs(v[:, 0]).max()) * CRANK
        yield zero("error of the kinetic energy by M(q) against differences of positions [-]", kinetic, 1e-7)
        yield Fact("error of N(q, v) against differences of M(q) [N m]",
                   max(_inertia_error(q[k], v[k]) for k in samples),
                   0.0, 1e-5 * speed**2 * COUPLING)  # fmt: skip
        yield Fact("error of the energy balance [J] (of second order in h)",
                   E[-1] - E[0] - trajectory.contact_work[-1], 0.0,
                   1e-3 * E[0] * max(1.0, (dt * speed / 1.5e-3) ** 2))  # fmt: skip
        yield Fact("largest growth of energy in a step [J] (of second order in h)",
                   np.diff(E).max(initial=0.0), 0.0, 1e-2 * E[0] * (dt * speed))  # fmt: skip
        yield penetration_fact(trajectory, CORNERS, 2.0 * fastest * dt,
                               "one step of the slider's fastest motion")  # fmt: skip
        yield Fact("whether the slider touched the guide [-], 1 after a tenth of a turn", touched > 0.0,
                   trajectory.t[-1] * speed > 0.2 * math.pi, 0.0)  # fmt: skip

    def figure(trajectory: Trajectory) -> Figure:
        q, v = trajectory.q, trajectory.v
        turns = q[:, 0] / (2.0 * math.pi)
        height = (CRANK * np.sin(q[:, 0]) + ROD * np.sin(q[:, 1])) / clearance
        gaps = [Curve(name, turns, trajectory.interaction(name).y[:, 0] / clearance) for name in CORNERS]
        return Figure(f"Slider-crank with {1e3 * clearance:g} mm of clearance, e = {e:g}, mu = {mu:g}", [
            against("Angular velocities", "turns of the crank", "[rad/s]", turns,
                    {n: v[:, k] for k, n in enumerate(("crank", "rod", "slider"))},
                    y_range=(-1.2 * speed, 1.2 * speed)),
            Panel("Energy", "turns of the crank", "E [J]", [Curve("crank", turns, energy(trajectory))]),
            Panel("Centre of the slider", "turns of the crank", "height / clearance",
                  [Curve("slider", turns, height)]),
            Panel("Gaps of the corners", "turns of the crank", "gap / clearance", gaps),
        ])  # fmt: skip

    return scene("slider-crank", "A slider-crank whose slider has clearance in its guide.",
                 NonsmoothSystem([mechanism], interactions), until, h, facts, figure,
                 ("moreau-jean",))  # fmt: skip


def _inertia_error(q: Array, v: Array, step: float = 1e-5) -> float:
    """Return the largest difference of N from Ṁ v - ½ ∂(v'M v)/∂q by central differences [N m]."""
    dM = [(mass_matrix(q + step * a) - mass_matrix(q - step * a)) / (2.0 * step) for a in np.eye(3)]
    N = sum(v[k] * dM[k] for k in range(3)) @ v - 0.5 * np.array([v @ dM[k] @ v for k in range(3)])
    return float(np.abs(N - inertia_forces(q, v)).max())
