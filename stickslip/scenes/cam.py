"""The cam and its follower: a mass on a spring, lifted by a turning cam that it leaves and hits.

Siconos Developer's Notes 2017, chapter 14 (di Bernardo, Osorio & Santini): mass, stiffness, restitution,
start and steps are those of section 14.0.2. The notes leave out the cam's profile and the force of the valve:
here the cam is an eccentric disc under a knife-edge follower, and the valve pushes with a constant force.
See docs/cam.md. Every function of the model runs compiled by Numba.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq

from stickslip.exhibits import Curve, Figure, Panel
from stickslip.kernels.jit import jit
from stickslip.laws import NewtonImpact
from stickslip.names import alternatives
from stickslip.problem.checks import Array
from stickslip.scenes.measures import impacts, penetration_fact, spacing
from stickslip.scenes.parameters import checked, number
from stickslip.scenes.scenario import Fact, Scenario, over_time, scene
from stickslip.simulation.trajectory import Trajectory
from stickslip.systems.lagrangian import LagrangianLinear
from stickslip.systems.lagrangian_relations import Rheonomous, Scleronomous
from stickslip.systems.system import Interaction, NonsmoothSystem

MASS, STIFFNESS, DAMPING, E = 1.221, 1430.8, 0.0, 0.8
"""Section 14.0.2 [kg], [N/m], [N s/m], [-]."""
GAP, RATE = 0.4, 0.4
"""Follower above the cam at the start, and its velocity relative to the cam, 14.0.2 [m], [m/s]."""
STEP, UNTIL, THETA = 1e-4, 5.0, 0.5
"""h, T and theta of 14.0.2 [s], [s], [-]."""
RADIUS, ECCENTRICITY, REST = 0.3, 0.1, 0.17
"""Of the disc, of its centre from the axle, and of the end of the unstretched spring from the axle [m]."""
FORMS = ("rheonomous", "translated")


@jit
def cam_place(t: float, z: Array) -> float:
    """c: how far the cam lifts the follower above the end of the unstretched spring [m].

    The ray from the axle meets the disc at -ε cos β + √(ρ² - ε² sin² β), β = ω t + phase.
    """
    beta, eccentric = z[0] * t + z[1], z[2]
    s = math.sin(beta)
    return -eccentric * math.cos(beta) + math.sqrt(z[3] * z[3] - eccentric * eccentric * s * s) - z[4]


@jit
def cam_velocity(t: float, z: Array) -> float:
    """dc/dt [m/s]."""
    beta, eccentric = z[0] * t + z[1], z[2]
    s, c = math.sin(beta), math.cos(beta)
    root = math.sqrt(z[3] * z[3] - eccentric * eccentric * s * s)
    return z[0] * (eccentric * s - eccentric * eccentric * s * c / root)


@jit
def cam_acceleration(t: float, z: Array) -> float:
    """d²c/dt² [m/s²]."""
    beta, eccentric = z[0] * t + z[1], z[2]
    s, c = math.sin(beta), math.cos(beta)
    square = eccentric * eccentric
    root = math.sqrt(z[3] * z[3] - square * s * s)
    bend = -square * (c * c - s * s) / root - square * square * s * s * c * c / (root * root * root)
    return z[0] * z[0] * (eccentric * c + bend)


@jit
def gap(t: float, q: Array, z: Array) -> Array:
    """y = u - c(t) [m], shape (1,)."""
    return np.array([q[0] - cam_place(t, z)])


@jit
def gap_rate(t: float, z: Array) -> Array:
    """∂y/∂t = -dc/dt [m/s], shape (1,)."""
    return np.array([-cam_velocity(t, z)])


@jit
def own_gap(q: Array) -> Array:
    """y = û [m], shape (1,)."""
    return q * 1.0


@jit
def valve_force(z: Array) -> Array:
    """f_v [N], shape (1,)."""
    return np.array([-z[5]])


@jit
def translated_force(t: float, z: Array) -> Array:
    """f_v - (m d²c/dt² + κ c), (14.3) with ζ = 0 [N], shape (1,)."""
    return np.array([-z[5] - MASS * cam_acceleration(t, z) - STIFFNESS * cam_place(t, z)])


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as Python runs it."""
    return getattr(function, "py_func", function)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Speed:
    """Where the cam is, at one speed of the shaft."""

    z: Array
    """Speed [rad/s], phase [rad], eccentricity, radius, rest [m], valve force [N], shape (6,)."""

    @property
    def period(self) -> float:
        """Of a turn of the shaft [s]."""
        return 2.0 * math.pi / float(self.z[0])

    def place(self, t: Array) -> Array:
        """c at each of the times [m], shape of t."""
        return np.array([cam_place(float(s), self.z) for s in np.atleast_1d(t)])

    def velocity(self, t: Array) -> Array:
        """dc/dt at each of the times [m/s], shape of t."""
        return np.array([cam_velocity(float(s), self.z) for s in np.atleast_1d(t)])


@checked
def cam(
    *, rpm: float = 358.0, form: str = "rheonomous", e: float = E, gap0: float = GAP, rate0: float = RATE,
    phase: float = 0.0, radius: float = RADIUS, eccentricity: float = ECCENTRICITY, rest: float = REST,
    valve: float = 0.0, h: float = STEP, until: float = UNTIL, compiled: bool = True,
) -> Scenario:  # fmt: skip
    """The follower on its cam.

    rpm: speed of the cam [1/min], in (0, 2000].
    form: `rheonomous`, u >= c(t), or `translated`, û = u - c(t) >= 0.
    gap0: follower above the cam at the start [m], >= 0.
    rate0: its velocity relative to the cam at the start [m/s].
    phase: angle of the cam at the start [rad]; at 0 its lowest point is up.
    radius: of the disc [m], > eccentricity.
    eccentricity: of the disc [m], > 0.
    rest: height at which the spring is unstretched, above the axle [m].
    valve: constant force that closes the valve, downwards [N].
    compiled: whether the model's functions are compiled by Numba.
    """
    if form not in FORMS:
        raise ValueError(f"form is {form!r}; {alternatives(form, FORMS, 'it must be one of:')}")
    radius = number("radius", radius, "m", above=eccentricity)
    omega = 2.0 * math.pi * rpm / 60.0
    speed = Speed(np.array([omega, phase, eccentricity, radius, rest, valve]))
    use = (lambda f: f) if compiled else plain
    moving = form == "rheonomous"
    start = (cam_place(0.0, speed.z), cam_velocity(0.0, speed.z)) if moving else (0.0, 0.0)
    follower = LagrangianLinear(
        "follower", M=MASS, K=STIFFNESS, C=DAMPING, q0=gap0 + start[0], v0=rate0 + start[1],
        F_ext=use(valve_force if moving else translated_force), z=speed.z,
    )  # fmt: skip
    relation: Rheonomous | Scleronomous = Scleronomous(use(own_gap), dy_dq=np.eye(1))
    if moving:
        relation = Rheonomous(use(gap), dy_dq=np.eye(1), dy_dt=use(gap_rate))
    tie = Interaction("cam", "follower", relation, NewtonImpact(e=e))

    def facts(trajectory: Trajectory) -> Iterator[Fact]:
        dt = spacing(trajectory)
        fine = trajectory.scheme == "event-driven"
        exact = exact_impacts(speed, e, (gap0, rate0), 5, float(trajectory.t[-1]))
        found = impacts(trajectory, "cam")
        fastest = float(np.abs(trajectory.v).max()) + omega * eccentricity
        for n, (t, seen) in enumerate(zip(exact, found, strict=False)):
            yield Fact(f"impact {n + 1} [s], exact flow from impact to impact (each is known to a step, and"
                       " passes its error on)", seen, t, 1e-6 if fine else (1.0 + 2.0 * n) * dt)  # fmt: skip
        yield penetration_fact(trajectory, ["cam"], 1e-6 if fine else fastest * dt)

    def figure(trajectory: Trajectory) -> Figure:
        t = trajectory.t
        place = speed.place(t)
        u, v = absolute(trajectory, speed, form)
        late, last = t > 0.5 * t[-1], t > t[-1] - 10.0 * speed.period
        gaps = u[late] - place[late]
        return Figure(f"Cam follower at {rpm:g} rpm, e = {e:g} ({form})", [
            over_time("All of it", "[m]", t, {"follower": u, "cam": (place, "--")}),
            over_time("The last ten turns", "[m]", t[last],
                      {"follower": u[last], "cam": (place[last], "--")}),
            Panel("State space, second half", "u [m]", "v [m/s]", [Curve("follower", u[late], v[late])]),
            over_time("Gap, second half", "u - c [m]", t[late], {"follower": gaps}),
        ])  # fmt: skip

    return scene("cam", "A follower on a spring, lifted and hit by a turning cam.",
                 NonsmoothSystem([follower], [tie]), until, h, facts, figure, ("moreau-jean", "event-driven"),
                 {"theta": THETA})  # fmt: skip


def absolute(trajectory: Trajectory, speed: Speed, form: str) -> tuple[Array, Array]:
    """Place and velocity of the follower [m], [m/s], whichever form was simulated."""
    u, v = trajectory.q[:, 0], trajectory.v[:, 0]
    if form == "rheonomous":
        return u, v
    return u + speed.place(trajectory.t), v + speed.velocity(trajectory.t)


def exact_impacts(
    speed: Speed, e: float, start: tuple[float, float], count: int, until: float, look: float = 1e-4
) -> list[float]:
    """Times of the first impacts [s]: the follower's free flight in closed form, its meeting with the cam by
    root finding. It ends where impacts accumulate (flights shorter than ten looks)."""
    z = speed.z
    natural, shift = math.sqrt(STIFFNESS / MASS), -float(z[5]) / STIFFNESS
    t0, u, v = 0.0, start[0] + cam_place(0.0, z), start[1] + cam_velocity(0.0, z)
    times: list[float] = []
    while len(times) < count:

        def height(s: float, t0: float = t0, u: float = u, v: float = v) -> float:
            x = natural * (s - t0)
            flight = shift + (u - shift) * math.cos(x) + v / natural * math.sin(x)
            return flight - float(cam_place(s, z))

        s = t0 + look
        while s < until and height(s) > 0.0:
            s += look
        if s >= until or (times and s - t0 < 10.0 * look):
            break
        hit = float(brentq(height, s - look, s, xtol=1e-14))
        x = natural * (hit - t0)
        before = -(u - shift) * natural * math.sin(x) + v * math.cos(x)
        lift = float(cam_velocity(hit, z))
        t0, u, v = hit, float(cam_place(hit, z)), lift - e * (before - lift)
        times.append(hit)
    return times
