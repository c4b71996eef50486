"""A bouncing ball, and balls in a row: impacts with closed forms."""

import math
from collections.abc import Sequence

import numpy as np

from stickslip.exhibits import Curve, Figure, Panel
from stickslip.laws import NewtonImpact
from stickslip.scenes.measures import GRAVITY, energy, impacts, spacing
from stickslip.scenes.parameters import number, whole
from stickslip.scenes.scenario import Fact, Scenario
from stickslip.schemes.compliant_forces import ratio_of
from stickslip.simulation.trajectory import Trajectory
from stickslip.systems.lagrangian import Lagrangian
from stickslip.systems.lagrangian_relations import Scleronomous
from stickslip.systems.system import Interaction, NonsmoothSystem


def bouncing_ball(
    *, e: float = 0.7, height: float = 1.0, mass: float = 1.0, gravity: float = GRAVITY, h: float = 1e-3
) -> Scenario:
    """A ball dropped on a floor.

    e: restitution [-], in [0, 1).
    height: from which it drops [m], > 0.
    mass: of the ball [kg], > 0.
    gravity: [m/s²], > 0.
    h: time step [s], > 0.

    It first touches at t₁ = √(2 height / gravity), comes back after 2 eⁿ t₁ from the n-th impact, and rests
    after infinitely many impacts at t₁ (1 + e) / (1 - e). The run lasts a quarter longer.
    """
    e = number("e", e, "", least=0.0, below=1.0)
    height = number("height", height, "m", above=0.0)
    mass = number("mass", mass, "kg", above=0.0)
    gravity = number("gravity", gravity, "m/s²", above=0.0)
    h = number("h", h, "s", above=0.0)
    first = math.sqrt(2.0 * height / gravity)
    rest = first * (1.0 + e) / (1.0 - e)
    ball = Lagrangian(
        "ball", M=mass, q0=height, F_ext=-mass * gravity, potential=lambda q: mass * gravity * q[0]
    )
    floor = Interaction("floor", "ball", Scleronomous(lambda q: q, dy_dq=np.eye(1)), NewtonImpact(e=e))

    def facts(trajectory: Trajectory) -> Sequence[Fact]:
        times = impacts(trajectory, "floor")
        dt, y, E = spacing(trajectory), trajectory.system("ball").q[:, 0], energy(trajectory)
        fine = trajectory.scheme == "event-driven"
        if trajectory.relaxed:
            return _springs(trajectory, float(times[0]), first, mass, gravity, e)
        known = [first * (1.0 + 2.0 * sum(e**k for k in range(1, n + 1))) for n in range(3)]
        rows = [
            Fact(
                f"impact {n + 1} [s], closed form (each impact is known to a step)",
                float(times[n]), known[n], 1e-9 if fine else (2 + 2 * n) * dt,
            )
            for n in range(min(3, len(times)))
            if known[n] < trajectory.t[-1]
        ]  # fmt: skip
        flying = known[0] + 0.5 * (known[1] - known[0])
        if trajectory.t[-1] > flying and e > 0.0:
            k = int(np.searchsorted(trajectory.t, flying))
            top, speed = e**2 * height, e * gravity * first
            rows.append(
                Fact(
                    "energy after the first impact [J], e² of that before (the speed is known to g h)",
                    float(E[k]), mass * gravity * top, 1e-8 if fine else 4.0 * mass * speed * gravity * dt,
                )
            )  # fmt: skip
        if trajectory.t[-1] > 1.2 * rest:
            tail = trajectory.t > 1.02 * rest + 20.0 * dt
            rows.append(
                Fact(
                    "distance from the floor after the accumulation of impacts [m] (a step of the fall)",
                    float(np.abs(y[tail]).max()), 0.0, 2.0 * gravity * first * dt,
                )
            )  # fmt: skip
            rows.append(
                Fact(
                    "energy lost to the floor [J], all of it", float(E[0] - E[-1]), mass * gravity * height,
                    2.0 * mass * gravity**2 * first * dt,
                )
            )  # fmt: skip
        return rows

    def figure(trajectory: Trajectory) -> Figure:
        t, ball, r = trajectory.t, trajectory.system("ball"), trajectory.interaction("floor").r[:, 0]
        return Figure(
            f"Ball dropped from {height:g} m, e = {e:g}: at rest at {rest:.4g} s",
            [
                Panel("Height", "t [s]", "q [m]", [Curve("ball", t, ball.q[:, 0])]),
                Panel("Velocity", "t [s]", "v [m/s]", [Curve("ball", t, ball.v[:, 0])]),
                Panel(
                    "Energy", "t [s]", "E [J]",
                    [
                        Curve("total", t, energy(trajectory)),
                        Curve("kinetic", t, np.asarray(trajectory.kinetic), "--"),
                    ],
                ),
                Panel("Impulses", "t [s]", "r [N s]", [Curve("ball", t, r)]),
            ],
        )  # fmt: skip

    return Scenario(
        "bouncing-ball", "A ball dropped on a floor bounces to rest in finite time.",
        NonsmoothSystem([ball], [floor]), 1.25 * rest, h, "moreau-jean", {}, facts, figure,
        ("moreau-jean", "schatzman-paoli", "variational", "event-driven", "compliant"),
    )  # fmt: skip


def _springs(
    trajectory: Trajectory, touch: float, first: float, mass: float, gravity: float, e: float
) -> Sequence[Fact]:
    """What a ball on a spring and damper still shows: when it touches, how deep it sinks, where it rests."""
    k = float(trajectory.scheme_options["stiffness"])
    y, dt = trajectory.system("ball").q[:, 0], spacing(trajectory)
    E = energy(trajectory) + np.nan_to_num(trajectory.measures["spring energy [J]"])
    omega, zeta = math.sqrt(k / mass), ratio_of(e)
    root = math.sqrt(abs(1.0 - zeta**2))
    turn = (math.acos(zeta) if zeta < 1.0 else math.atanh(root / zeta)) / root if root else 1.0
    depth = gravity * first / omega * math.exp(-zeta * turn)
    deepest = float(np.nanmax(trajectory.measures["penetration [m]"]))
    rest = -mass * gravity / k
    return [
        Fact("first touch [s], closed form (known to a step)", touch, first, 2.0 * dt),
        Fact("deepest penetration [m] of spring and damper, substeps looked at", deepest, depth, 0.1 * depth),
        Fact("largest growth of energy, the spring's counted [J], none", float(np.diff(E).max()), 0.0, 1e-9),
        Fact("place at the end [m], -m g / k under its weight", float(y[-1]), rest, 0.01 * depth - rest),
    ]  # fmt: skip


def ball_chain(
    *, balls: int = 5, e: float = 1.0, gap: float = 0.01, speed: float = 1.0, radius: float = 0.02,
    mass: float = 0.1, h: float = 1e-4,
) -> Scenario:  # fmt: skip
    """Balls in a row, the first of which hits the others: Newton's cradle.

    balls: how many [-], >= 2.
    e: restitution [-], in [0, 1].
    gap: between neighbours at the start [m], >= 0; before the first impact the first ball is 0.02 m away.
    speed: of the first ball [m/s], > 0.
    radius: of the balls [m], > 0.
    mass: of each ball [kg], > 0.
    h: time step [s], > 0.

    With gaps the impacts come one after the other: each hands (1 + e) / 2 of the velocity on, so that the
    last ball leaves at ((1 + e) / 2)ⁿ⁻¹ speed; with e = 1 the others stand still. Without gaps all impacts
    are one, in which Newton's law treats the resting balls as one body: the first has (1 - (n - 1) e) / n of
    the speed after, all others (1 + e) / n. Experiments are like the first: the law says nothing of waves.
    """
    balls = whole("balls", balls, 2)
    e = number("e", e, "", least=0.0, most=1.0)
    gap = number("gap", gap, "m", least=0.0)
    speed = number("speed", speed, "m/s", above=0.0)
    radius = number("radius", radius, "m", above=0.0)
    mass = number("mass", mass, "kg", above=0.0)
    h = number("h", h, "s", above=0.0)
    n, distance = balls, 0.02
    place = [0.0, distance + 2.0 * radius]
    for _ in range(n - 2):
        place.append(place[-1] + gap + 2.0 * radius)
        if gap == 0.0 and place[-1] - place[-2] - 2.0 * radius > 0.0:  # touching, whatever rounding says
            place[-1] = math.nextafter(place[-1], -math.inf)
    systems = [
        Lagrangian(f"ball {k + 1}", M=mass, q0=place[k], v0=speed if k == 0 else 0.0) for k in range(n)
    ]
    row = np.array([[-1.0, 1.0]])
    relation = Scleronomous(lambda q: q[1:] - q[:1] - 2.0 * radius, dy_dq=row)
    ties = [
        Interaction(f"contact {k + 1}", (f"ball {k + 1}", f"ball {k + 2}"), relation, NewtonImpact(e=e))
        for k in range(n - 1)
    ]
    handed = 0.5 * (1.0 + e)
    passing = distance / speed + sum(gap / (speed * handed**k) for k in range(1, n - 1))
    until = 1.5 * passing + 0.02

    def facts(trajectory: Trajectory) -> Sequence[Fact]:
        v, kinetic = np.asarray(trajectory.v), np.asarray(trajectory.kinetic)
        lost = 0.5 * mass * speed**2 - kinetic
        rows = [
            Fact(
                "largest change of momentum [N s], conserved (rounding)",
                float(mass * np.abs(v.sum(axis=1) - speed).max()), 0.0, 1e-9 * mass * speed * n,
            ),
            Fact(
                "largest growth of energy [J], never with e <= 1 (rounding)",
                float(np.diff(kinetic).max(initial=0.0)), 0.0, 1e-9 * mass * speed**2,
            ),
        ]  # fmt: skip
        if e == 1.0:
            rows.append(
                Fact("energy lost [J], none with e = 1", float(lost[-1]), 0.0, 1e-8 * mass * speed**2)
            )
        last = np.flatnonzero(v[:, -1] > 0.0)
        if gap == 0.0 and last.size:
            rows += [
                Fact(
                    "first ball after the impact [m/s], all at once", float(v[last[0], 0]),
                    (1.0 - (n - 1) * e) / n * speed, 1e-8 * speed,
                ),
                Fact(
                    "last ball after the impact [m/s], all at once", float(v[last[0], -1]),
                    (1.0 + e) / n * speed, 1e-8 * speed,
                ),
            ]  # fmt: skip
        if gap > 0.0 and last.size:
            rows += [
                Fact(
                    "last ball when it is first hit [m/s], ((1 + e) / 2)ⁿ⁻¹ of the first's",
                    float(v[last[0], -1]), handed ** (n - 1) * speed, 1e-8 * speed,
                ),
                Fact(
                    "when the last ball is hit [s], closed form (each impact is known to a step)",
                    float(trajectory.t[last[0]]), passing, (n + 1) * spacing(trajectory),
                ),
            ]  # fmt: skip
        return rows

    def figure(trajectory: Trajectory) -> Figure:
        t = trajectory.t
        return Figure(
            f"{n} balls in a row, gaps of {1e3 * gap:g} mm, e = {e:g}",
            [
                Panel(
                    "Places", "t [s]", "q [m]",
                    [Curve(f"ball {k + 1}", t, trajectory.q[:, k]) for k in range(n)],
                ),
                Panel(
                    "Velocities", "t [s]", "v [m/s]",
                    [Curve(f"ball {k + 1}", t, trajectory.v[:, k]) for k in range(n)],
                ),
            ],
        )  # fmt: skip

    return Scenario(
        "ball-chain", "Newton's cradle: an impact runs through a row of balls.",
        NonsmoothSystem(systems, ties), until, h, "moreau-jean", {}, facts, figure,
        ("moreau-jean", "event-driven"),
    )  # fmt: skip
