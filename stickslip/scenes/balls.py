"""A bouncing ball, a row of balls, and a pendulum against a moving wall, with known times of impacts."""

import math
from collections.abc import Iterator

import numpy as np
from scipy.integrate import solve_ivp

from stickslip.exhibits import Curve, Figure, Panel
from stickslip.laws import NewtonImpact
from stickslip.problem.checks import Array
from stickslip.scenes.measures import energy, impacts, penetration_fact, spacing, zero
from stickslip.scenes.parameters import checked, number
from stickslip.scenes.scenario import GRAVITY, Fact, Scenario, over_time, scene
from stickslip.schemes.compliant_forces import ratio_of
from stickslip.simulation.trajectory import Trajectory
from stickslip.systems.lagrangian import Lagrangian
from stickslip.systems.lagrangian_relations import Rheonomous, Scleronomous
from stickslip.systems.system import Interaction, NonsmoothSystem


@checked
def bouncing_ball(
    *, e: float = 0.7, height: float = 1.0, mass: float = 1.0, gravity: float = GRAVITY, h: float = 1e-3
) -> Scenario:
    """A ball dropped on a floor.

    e: restitution [-], in [0, 1).
    height: initial height of the ball [m], > 0.
    mass: of the ball [kg], > 0.
    gravity: acceleration of gravity [m/s²], > 0.

    The first impact is at t₁ = √(2 height / gravity), the time between the impacts n and n + 1 is 2 eⁿ t₁,
    and infinitely many impacts accumulate at t₁ (1 + e) / (1 - e). The run lasts a quarter longer.
    """
    first = math.sqrt(2.0 * height / gravity)
    rest = first * (1.0 + e) / (1.0 - e)
    ball = Lagrangian(
        "ball", M=mass, q0=height, F_ext=-mass * gravity, potential=lambda q: mass * gravity * q[0]
    )
    floor = Interaction("floor", "ball", Scleronomous(lambda q: q, dy_dq=np.eye(1)), NewtonImpact(e=e))

    def facts(trajectory: Trajectory) -> Iterator[Fact]:
        times = impacts(trajectory, "floor")
        dt, y, E = spacing(trajectory), trajectory.system("ball").q[:, 0], energy(trajectory)
        fine = trajectory.scheme == "event-driven"
        if trajectory.relaxed:
            yield from _springs(trajectory, float(times[0]), first, mass, gravity, e)
            return
        known = [first * (1.0 + 2.0 * sum(e**k for k in range(1, n + 1))) for n in range(3)]
        for n in range(min(3, len(times))):
            if known[n] < trajectory.t[-1]:
                yield Fact(f"impact {n + 1} [s], closed form (an impact is resolved to a step)", times[n],
                           known[n], 1e-9 if fine else (2 + 2 * n) * dt)  # fmt: skip
        flying = known[0] + 0.5 * (known[1] - known[0])
        if trajectory.t[-1] > flying and e > 0.0:
            k = int(np.searchsorted(trajectory.t, flying))
            top, speed = e**2 * height, e * gravity * first
            yield Fact("energy after the first impact [J], e² times that before (speed resolved to g h)",
                       E[k], mass * gravity * top,
                       1e-8 if fine else 4.0 * mass * speed * gravity * dt)  # fmt: skip
        if trajectory.t[-1] > 1.2 * rest:
            tail = trajectory.t > 1.02 * rest + 20.0 * dt
            yield zero("distance from the floor after the accumulation of impacts [m], at most a step's fall",
                       y[tail], 2.0 * gravity * first * dt)  # fmt: skip
            yield Fact("energy lost to the floor [J], m g height", E[0] - E[-1], mass * gravity * height,
                       2.0 * mass * gravity**2 * first * dt)  # fmt: skip

    def figure(trajectory: Trajectory) -> Figure:
        t, ball, r = trajectory.t, trajectory.system("ball"), trajectory.interaction("floor").r[:, 0]
        return Figure(f"Ball dropped from {height:g} m, e = {e:g}: at rest at {rest:.4g} s", [
            over_time("Height", "q [m]", t, {"ball": ball.q[:, 0]}),
            over_time("Velocity", "v [m/s]", t, {"ball": ball.v[:, 0]}),
            over_time("Energy", "E [J]", t,
                      {"total": energy(trajectory), "kinetic": (np.asarray(trajectory.kinetic), "--")}),
            over_time("Impulses", "r [N s]", t, {"ball": r}),
        ])  # fmt: skip

    return scene("bouncing-ball", "A ball dropped on a floor bounces to rest in finite time.",
                 NonsmoothSystem([ball], [floor]), 1.25 * rest, h, facts, figure,
                 ("moreau-jean", "schatzman-paoli", "variational", "event-driven", "compliant"))  # fmt: skip


def _springs(
    trajectory: Trajectory, touch: float, first: float, mass: float, gravity: float, e: float
) -> Iterator[Fact]:
    """Yield the facts of the compliant scheme: first touch, deepest penetration and position at rest."""
    k = float(trajectory.scheme_options["stiffness"])
    y, dt = trajectory.system("ball").q[:, 0], spacing(trajectory)
    E = energy(trajectory) + np.nan_to_num(trajectory.measures["spring energy [J]"])
    omega, zeta = math.sqrt(k / mass), ratio_of(e)
    root = math.sqrt(abs(1.0 - zeta**2))
    turn = (math.acos(zeta) if zeta < 1.0 else math.atanh(root / zeta)) / root if root else 1.0
    depth = gravity * first / omega * math.exp(-zeta * turn)
    deepest = float(np.nanmax(trajectory.measures["penetration [m]"]))
    rest = -mass * gravity / k
    yield Fact("first touch [s], closed form (resolved to a step)", touch, first, 2.0 * dt)
    yield Fact("deepest penetration [m], spring and damper (substeps included)", deepest, depth,
               0.1 * depth)  # fmt: skip
    yield Fact("largest growth of energy, with the spring's [J], zero", np.diff(E).max(), 0.0, 1e-9)
    yield Fact("position at the end [m], -m g / k", y[-1], rest, 0.01 * depth - rest)


@checked
def ball_chain(
    *, balls: int = 5, e: float = 1.0, gap: float = 0.01, speed: float = 1.0, radius: float = 0.02,
    mass: float = 0.1, h: float = 1e-4,
) -> Scenario:  # fmt: skip
    """A row of balls that is hit by the first one: Newton's cradle.

    balls: number of balls [-], >= 2.
    gap: initial gap between neighbours [m], >= 0; the first ball starts 0.02 m away from the second.
    speed: of the first ball [m/s], > 0.
    radius: of the balls [m], > 0.
    mass: of each ball [kg], > 0.

    With gaps the impacts are successive: each transmits (1 + e) / 2 of the velocity, so that the last ball
    leaves with ((1 + e) / 2)ⁿ⁻¹ times the speed; with e = 1 the others are at rest. Without gaps all impacts
    are simultaneous, and Newton's law treats the resting balls as one body: the first ball keeps
    (1 - (n - 1) e) / n of the speed, all others get (1 + e) / n. Experiments agree with successive impacts:
    Newton's law has no waves.
    """
    n, distance = balls, 0.02
    positions = [0.0, distance + 2.0 * radius]
    for _ in range(n - 2):
        positions.append(positions[-1] + gap + 2.0 * radius)
        if gap == 0.0 and positions[-1] - positions[-2] - 2.0 * radius > 0.0:  # rounding must not open a gap
            positions[-1] = math.nextafter(positions[-1], -math.inf)
    systems = [
        Lagrangian(f"ball {k + 1}", M=mass, q0=positions[k], v0=speed if k == 0 else 0.0) for k in range(n)
    ]
    row = np.array([[-1.0, 1.0]])
    relation = Scleronomous(lambda q: q[1:] - q[:1] - 2.0 * radius, dy_dq=row)
    interactions = [
        Interaction(f"contact {k + 1}", (f"ball {k + 1}", f"ball {k + 2}"), relation, NewtonImpact(e=e))
        for k in range(n - 1)
    ]
    transmitted = 0.5 * (1.0 + e)
    passing = distance / speed + sum(gap / (speed * transmitted**k) for k in range(1, n - 1))
    until = 1.5 * passing + 0.02

    def facts(trajectory: Trajectory) -> Iterator[Fact]:
        v, kinetic = np.asarray(trajectory.v), np.asarray(trajectory.kinetic)
        yield Fact("largest change of momentum [N s], conserved (rounding)",
                   mass * np.abs(v.sum(axis=1) - speed).max(), 0.0, 1e-9 * mass * speed * n)  # fmt: skip
        yield Fact("largest growth of energy [J], zero for e <= 1 (rounding)",
                   np.diff(kinetic).max(initial=0.0), 0.0, 1e-9 * mass * speed**2)  # fmt: skip
        if e == 1.0:
            yield Fact("energy lost [J], zero for e = 1", 0.5 * mass * speed**2 - kinetic[-1], 0.0,
                       1e-8 * mass * speed**2)  # fmt: skip
        last = np.flatnonzero(v[:, -1] > 0.0)
        if gap == 0.0 and last.size:
            yield Fact("first ball after the simultaneous impacts [m/s]", v[last[0], 0],
                       (1.0 - (n - 1) * e) / n * speed, 1e-8 * speed)  # fmt: skip
            yield Fact("last ball after the simultaneous impacts [m/s]", v[last[0], -1],
                       (1.0 + e) / n * speed, 1e-8 * speed)  # fmt: skip
        if gap > 0.0 and last.size:
            yield Fact("last ball after its first impact [m/s], ((1 + e) / 2)ⁿ⁻¹ of the first's",
                       v[last[0], -1], transmitted ** (n - 1) * speed, 1e-8 * speed)  # fmt: skip
            yield Fact("first impact of the last ball [s], closed form (an impact is resolved to a step)",
                       trajectory.t[last[0]], passing, (n + 1) * spacing(trajectory))  # fmt: skip

    def figure(trajectory: Trajectory) -> Figure:
        t = trajectory.t
        return Figure(f"{n} balls in a row, gaps of {1e3 * gap:g} mm, e = {e:g}", [
            over_time("Positions", "q [m]", t, {f"ball {k + 1}": trajectory.q[:, k] for k in range(n)}),
            over_time("Velocities", "v [m/s]", t, {f"ball {k + 1}": trajectory.v[:, k] for k in range(n)}),
        ])  # fmt: skip

    return scene("ball-chain", "Newton's cradle: an impact runs through a row of balls.",
                 NonsmoothSystem(systems, interactions), until, h, facts, figure,
                 ("moreau-jean", "event-driven"))  # fmt: skip


@checked
def moving_wall(
    *, length: float = 1.0, mass: float = 1.0, e: float = 0.8, amplitude: float = 0.1, rate: float = 5.0,
    angle: float = 60.0, h: float = 5e-4, until: float = 6.0,
) -> Scenario:  # fmt: skip
    """A pendulum whose point mass at x = length sin(q) stays right of a wall at x = amplitude sin(rate t).

    length: of the pendulum [m], > 0.
    mass: of the point mass [kg], > 0.
    e: restitution of the wall [-], in [0, 1].
    amplitude: of the wall's motion [m], in [0, 0.5 length].
    rate: angular frequency of the wall [rad/s], >= 0.
    angle: initial angle, right of the wall, at rest [deg], in (0, 85].

    The wall does work on the pendulum: impacts reverse the relative velocity length cos(q) q̇ - ẋ of the
    wall, so the energy may grow. The first impacts are compared with an integration from impact to impact by
    SciPy (DOP853, 1e-12).
    """
    amplitude = number("amplitude", amplitude, "m", least=0.0, most=0.5 * length)
    pendulum = Lagrangian(
        "pendulum", M=mass * length**2, q0=math.radians(angle),
        F_int=lambda q: mass * GRAVITY * length * np.sin(q),
        dF_int_dq=lambda q: mass * GRAVITY * length * np.cos(q)[None, :],
        potential=lambda q: -mass * GRAVITY * length * math.cos(q[0]),
    )  # fmt: skip

    def position(t: float | Array) -> float | Array:
        return amplitude * np.sin(rate * t)

    def velocity(t: float | Array) -> float | Array:
        return amplitude * rate * np.cos(rate * t)

    wall = Interaction(
        "wall", "pendulum",
        Rheonomous(
            lambda t, q: length * np.sin(q) - position(t),
            dy_dq=lambda q: length * np.cos(q)[None, :],
            dy_dt=lambda t: np.array([-velocity(t)]),
        ),
        NewtonImpact(e=e),
    )  # fmt: skip

    def reference(count: int) -> tuple[Array, Array]:
        """Return times of the first impacts and angular velocities after them [s], [rad/s]."""

        def gap(t: float, x: Array) -> float:
            return float(length * math.sin(x[0]) - position(t))

        gap.terminal, gap.direction = True, -1.0  # type: ignore[attr-defined]
        t, x, times, speeds = 0.0, np.array([math.radians(angle), 0.0]), [], []
        for _ in range(count):
            flow = solve_ivp(
                lambda t, x: [x[1], -GRAVITY / length * math.sin(x[0])], (t, until), x, "DOP853",
                events=gap, rtol=1e-12, atol=1e-13,
            )  # fmt: skip
            if not flow.t_events[0].size:
                break
            t, x = float(flow.t_events[0][0]), flow.y_events[0][0]
            lever = length * math.cos(x[0])
            x = np.array([x[0], (velocity(t) - e * (lever * x[1] - velocity(t))) / lever])
            times.append(t)
            speeds.append(x[1])
        return np.array(times), np.array(speeds)

    def facts(trajectory: Trajectory) -> Iterator[Fact]:
        dt, fine = spacing(trajectory), trajectory.scheme == "event-driven"
        times, speeds = reference(3)
        hits = impacts(trajectory, "wall")
        for n in range(min(3, len(hits), len(times))):
            yield Fact(f"impact {n + 1} [s], SciPy from impact to impact (resolved to a step)", hits[n],
                       times[n], 1e-6 if fine else (2 + 2 * n) * dt)  # fmt: skip
            k = int(np.searchsorted(trajectory.t, hits[n] + 0.5 * dt))
            yield Fact(f"angular velocity after impact {n + 1} [rad/s], SciPy (the wall moves within steps)",
                       trajectory.v[k, 0], speeds[n],
                       (4 + 4 * n) * dt * (GRAVITY / length + amplitude * rate**2 / length + 0.1)
            )  # fmt: skip
        fastest = float(np.abs(trajectory.v).max()) * length + amplitude * rate
        yield penetration_fact(trajectory, ["wall"], fastest * dt)

    def figure(trajectory: Trajectory) -> Figure:
        t, q, v = trajectory.t, trajectory.q[:, 0], trajectory.v[:, 0]
        title = f"Pendulum against a wall that moves by {amplitude:g} m at {rate:g} rad/s, e = {e:g}"
        return Figure(title, [
            over_time("Position", "x [m]", t,
                      {"pendulum": length * np.sin(q), "wall": (np.asarray(position(t)), "--")}),
            Panel("State space", "q [rad]", "v [rad/s]", [Curve("pendulum", q, v)]),
        ])  # fmt: skip

    return scene("moving-wall", "A pendulum against a wall that moves.", NonsmoothSystem([pendulum], [wall]),
                 until, h, facts, figure, ("moreau-jean", "event-driven"))  # fmt: skip
