"""A pendulum against a wall that moves to and fro: a rheonomous constraint."""

import math
from collections.abc import Sequence

import numpy as np
from scipy.integrate import solve_ivp

from stickslip.exhibits import Curve, Figure, Panel
from stickslip.laws import NewtonImpact
from stickslip.problem.checks import Array
from stickslip.scenes.measures import GRAVITY, impacts, spacing
from stickslip.scenes.parameters import number
from stickslip.scenes.scenario import Fact, Scenario
from stickslip.simulation.trajectory import Trajectory
from stickslip.systems.lagrangian import Lagrangian
from stickslip.systems.lagrangian_relations import Rheonomous
from stickslip.systems.system import Interaction, NonsmoothSystem


def moving_wall(
    *, length: float = 1.0, mass: float = 1.0, e: float = 0.8, amplitude: float = 0.1, rate: float = 5.0,
    angle: float = 60.0, h: float = 5e-4, until: float = 6.0,
) -> Scenario:  # fmt: skip
    """A point mass on a rod; its place length sin(q) stays right of the wall at amplitude sin(rate t).

    length: of the pendulum [m], > 0.
    mass: at its end [kg], > 0.
    e: restitution of the wall [-], in [0, 1].
    amplitude: of the wall [m], in [0, 0.5 length].
    rate: of the wall [rad/s], >= 0.
    angle: from which it is released at rest [deg], in (0, 85], right of the wall.
    h: time step [s], > 0.
    until: how long [s], > 0.

    The wall does work on the pendulum: u = length cos(q) q̇ - wall velocity is what is reversed, and energy
    may grow. The first impacts are checked against an integration from impact to impact by SciPy
    (DOP853, 1e-12).
    """
    length = number("length", length, "m", above=0.0)
    mass = number("mass", mass, "kg", above=0.0)
    e = number("e", e, "", least=0.0, most=1.0)
    amplitude = number("amplitude", amplitude, "m", least=0.0, most=0.5 * length)
    rate = number("rate", rate, "rad/s", least=0.0)
    angle = number("angle", angle, "deg", above=0.0, most=85.0)
    h = number("h", h, "s", above=0.0)
    until = number("until", until, "s", above=0.0)
    pendulum = Lagrangian(
        "pendulum", M=mass * length**2, q0=math.radians(angle),
        F_int=lambda q: mass * GRAVITY * length * np.sin(q),
        dF_int_dq=lambda q: mass * GRAVITY * length * np.cos(q)[None, :],
        potential=lambda q: -mass * GRAVITY * length * math.cos(q[0]),
    )  # fmt: skip

    def place(t: float | Array) -> float | Array:
        return amplitude * np.sin(rate * t)

    def velocity(t: float | Array) -> float | Array:
        return amplitude * rate * np.cos(rate * t)

    wall = Interaction(
        "wall", "pendulum",
        Rheonomous(
            lambda t, q: length * np.sin(q) - place(t),
            dy_dq=lambda q: length * np.cos(q)[None, :],
            dy_dt=lambda t: np.array([-velocity(t)]),
        ),
        NewtonImpact(e=e),
    )  # fmt: skip

    def reference(count: int) -> tuple[Array, Array]:
        """Times of the first impacts and the angular velocities after them [s], [rad/s]."""

        def gap(t: float, x: Array) -> float:
            return float(length * math.sin(x[0]) - place(t))

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

    def facts(trajectory: Trajectory) -> Sequence[Fact]:
        dt, fine = spacing(trajectory), trajectory.scheme == "event-driven"
        times, speeds = reference(3)
        hits = impacts(trajectory, "wall")
        found = []
        for n in range(min(3, len(hits), len(times))):
            found.append(
                Fact(
                    f"impact {n + 1} [s], SciPy from impact to impact (each is known to a step)",
                    float(hits[n]), float(times[n]), 1e-6 if fine else (2 + 2 * n) * dt,
                )
            )  # fmt: skip
            k = int(np.searchsorted(trajectory.t, hits[n] + 0.5 * dt))
            found.append(
                Fact(
                    f"angular velocity after impact {n + 1} [rad/s], SciPy (the wall turns within steps)",
                    float(trajectory.v[k, 0]), float(speeds[n]),
                    (4 + 4 * n) * dt * (GRAVITY / length + amplitude * rate**2 / length + 0.1),
                )
            )  # fmt: skip
        gap = float(trajectory.interaction("wall").y[:, 0].min())
        fastest = float(np.abs(trajectory.v).max()) * length + amplitude * rate
        found.append(
            Fact("deepest penetration [m], a step of the fastest approach", max(0.0, -gap), 0.0, fastest * dt)
        )
        return found

    def figure(trajectory: Trajectory) -> Figure:
        t, q, v = trajectory.t, trajectory.q[:, 0], trajectory.v[:, 0]
        return Figure(
            f"Pendulum against a wall that moves by {amplitude:g} m at {rate:g} rad/s, e = {e:g}",
            [
                Panel(
                    "Place", "t [s]", "x [m]",
                    [Curve("pendulum", t, length * np.sin(q)), Curve("wall", t, np.asarray(place(t)), "--")],
                ),
                Panel("State space", "q [rad]", "v [rad/s]", [Curve("pendulum", q, v)]),
            ],
        )  # fmt: skip

    return Scenario(
        "moving-wall", "A pendulum against a wall that moves.", NonsmoothSystem([pendulum], [wall]), until, h,
        "moreau-jean", {}, facts, figure, ("moreau-jean", "event-driven"),
    )  # fmt: skip
