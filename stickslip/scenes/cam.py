"""The cam and its follower: a mass on a spring, lifted by a turning cam that it leaves and hits.

Siconos Developer's Notes 2017, chapter 14 (di Bernardo, Osorio & Santini): mass, stiffness, restitution,
start and steps are those of section 14.0.2. The notes leave out the cam's profile and the force of the valve:
here the cam is an eccentric disc, arcs with dwells as in the example that Siconos publishes, or a spline
through points, under a knife-edge follower, and the valve pushes with a constant force.
See docs/cam.md. Every function of the model runs compiled by Numba.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from stickslip.exhibits import Curve, Figure, Panel
from stickslip.kernels.jit import jit
from stickslip.laws import NewtonImpact
from stickslip.names import alternatives
from stickslip.problem.checks import Array
from stickslip.scenes.cam_profiles import TURN, arcs, disc, reach, through
from stickslip.scenes.measures import impacts, penetration_fact, spacing
from stickslip.scenes.parameters import checked
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
BASE, FLANK, NOSE, RISE, DWELL, ARCS_REST = 0.4, 0.85, 0.15, 70.0, 180.0, 0.3
"""Radii of the published example's arcs [m], the angles of its rise and of its low dwell [degrees], and the
end of the unstretched spring from the axle [m]."""
PROFILES, FORMS = ("disc", "arcs", "points"), ("rheonomous", "translated")
SLOW = 0.01
"""Approach below which an impact is not counted: grazing, and resting contact [m/s]."""
LOOKS, NEVER = 3600, 1e100
"""Angles at which a turn is looked at, and a speed that no cam has [rad/s]."""
OWN = 7
"""Numbers of z before those of the profile."""


@jit
def cam_place(t: float, z: Array) -> float:
    """c: how far the cam lifts the follower above the end of the unstretched spring [m]."""
    return reach(z[0] * t + z[1], z[OWN:])[0] - z[2]


@jit
def cam_velocity(t: float, z: Array) -> float:
    """dc/dt [m/s]."""
    return z[0] * reach(z[0] * t + z[1], z[OWN:])[1]


@jit
def cam_acceleration(t: float, z: Array) -> float:
    """d²c/dt² [m/s²]."""
    return z[0] * z[0] * reach(z[0] * t + z[1], z[OWN:])[2]


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
    return np.array([-z[3]])


@jit
def translated_force(t: float, z: Array) -> Array:
    """f_v - (m d²c/dt² + ζ dc/dt + κ c), (14.3) [N], shape (1,)."""
    pull = z[4] * cam_acceleration(t, z) + z[6] * cam_velocity(t, z) + z[5] * cam_place(t, z)
    return np.array([-z[3] - pull])


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as Python runs it."""
    return getattr(function, "py_func", function)  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class Turning:
    """The cam at one speed of its shaft, and the follower on it."""

    z: Array
    """Speed [rad/s], phase [rad], rest [m], valve force [N], mass [kg], stiffness [N/m], damping [N s/m], and
    the profile, shape (any,)."""

    @property
    def period(self) -> float:
        """Of a turn of the shaft [s]."""
        return TURN / float(self.z[0])

    def place(self, t: Array) -> Array:
        """c at each of the times [m], shape of t."""
        return np.array([cam_place(float(s), self.z) for s in np.atleast_1d(t)])

    def velocity(self, t: Array) -> Array:
        """dc/dt at each of the times [m/s], shape of t."""
        return np.array([cam_velocity(float(s), self.z) for s in np.atleast_1d(t)])

    @property
    def fastest(self) -> float:
        """Largest |dc/dt| [m/s]."""
        return float(np.abs(self.velocity(np.linspace(0.0, self.period, LOOKS))).max())

    def flight(self, s: float, u: float, v: float) -> tuple[float, float]:
        """Place and velocity of the free follower s after it was at u with v [m], [m/s]."""
        _, _, _, valve, m, k, damping = self.z[:OWN].tolist()
        decay, shift = damping / (2.0 * m), -valve / k
        square = k / m - decay * decay
        w = math.sqrt(abs(square))
        if square > 0.0:
            cosine, sine = math.cos(w * s), math.sin(w * s) / w
        else:
            cosine, sine = math.cosh(w * s), math.sinh(w * s) / w if w > 0.0 else s
        fade, x = math.exp(-decay * s), u - shift
        place = shift + fade * (x * (cosine + decay * sine) + v * sine)
        return place, fade * (v * (cosine - decay * sine) - k / m * x * sine)

    def detachment(self) -> float:
        """The speed at which a follower that rides on the cam first leaves it [rad/s]; infinite where none
        does, 0 where the spring pulls it off a cam that stands.

        The cam pushes with m ω² c'' + ζ ω c' + κ c + P. At each angle that has a least root in ω; the
        smallest of them over a turn is refined between its neighbours.
        """
        _, _, rest, valve, m, k, damping = self.z[:OWN].tolist()
        profile = self.z[OWN:]

        def root(angle: float) -> float:
            c, first, second = reach(angle, profile)
            a, b, load = m * second, damping * first, k * (c - rest) + valve
            if load <= 0.0:
                return 0.0
            square = b * b - 4.0 * a * load
            if square < 0.0 or (a >= 0.0 and b >= 0.0):
                return NEVER
            return 2.0 * load / (-b + math.sqrt(square))

        angles = np.linspace(0.0, TURN, LOOKS + 1)
        roots = [root(float(angle)) for angle in angles]
        best = int(np.argmin(roots))
        step = float(angles[1])
        between = (float(angles[best]) - step, float(angles[best]) + step)
        found = minimize_scalar(root, bounds=between, method="bounded", options={"xatol": 1e-12})
        least = min(roots[best], float(found.fun))
        return least if least < NEVER else math.inf


@checked
def cam(
    *, rpm: float = 358.0, profile: str = "disc", mass: float = MASS, stiffness: float = STIFFNESS,
    damping: float = DAMPING, form: str = "rheonomous", e: float = E, gap0: float = GAP, rate0: float = RATE,
    phase: float = 0.0, radius: float = RADIUS, eccentricity: float = ECCENTRICITY, base: float = BASE,
    flank: float = FLANK, nose: float = NOSE, rise: float = RISE, dwell: float = DWELL,
    points: Sequence[float] = (), rest: float | None = None, valve: float = 0.0, h: float = STEP,
    until: float = UNTIL, compiled: bool = True,
) -> Scenario:  # fmt: skip
    """The follower on its cam.

    rpm: speed of the cam [1/min], in (0, 2000].
    profile: `disc`, `arcs` with dwells, or a spline through `points`.
    mass: of the follower [kg], > 0.
    stiffness: of its spring [N/m], > 0.
    damping: of its motion [N s/m], >= 0.
    form: `rheonomous`, u >= c(t), or `translated`, û = u - c(t) >= 0.
    gap0: follower above the cam at the start [m], >= 0.
    rate0: its velocity relative to the cam at the start [m/s].
    phase: angle of the cam at the start [rad]; at 0 its lowest point, or the middle of its low dwell, is up.
    radius: of the disc [m], > eccentricity.
    eccentricity: of the disc [m], > 0.
    base, flank, nose: radii of the arcs [m], > 0.
    rise: of arcs, the angle from the low dwell to the high one [degrees], in (0, 180).
    dwell: of arcs, the angle of the low dwell [degrees], in [0, 360).
    points: distances from the axle at equal angles over a turn, three or more [m].
    rest: height at which the spring is unstretched, above the axle [m]; 0.17 for the disc, 0.3 for arcs, 0
        for points unless given.
    valve: constant force that closes the valve, downwards [N].
    compiled: whether the model's functions are compiled by Numba.
    """
    for name, word, words in (("form", form, FORMS), ("profile", profile, PROFILES)):
        if word not in words:
            raise ValueError(f"{name} is {word!r}; {alternatives(word, words, 'it must be one of:')}")
    if len(points) and profile != "points":
        raise ValueError(f"points are given, but profile is {profile!r}; it must be 'points'")
    if profile == "disc":
        shape, usual = disc(radius, eccentricity), REST
    elif profile == "arcs":
        shape, usual = arcs(base, flank, nose, math.radians(rise), math.radians(dwell)), ARCS_REST
    else:
        shape, usual = through(points), 0.0
    rest = usual if rest is None else rest
    omega = TURN * rpm / 60.0
    turning = Turning(np.array([omega, phase, rest, valve, mass, stiffness, damping, *shape]))
    use = (lambda f: f) if compiled else plain
    moving = form == "rheonomous"
    start = (cam_place(0.0, turning.z), cam_velocity(0.0, turning.z)) if moving else (0.0, 0.0)
    follower = LagrangianLinear(
        "follower", M=mass, K=stiffness, C=damping, q0=gap0 + start[0], v0=rate0 + start[1],
        F_ext=use(valve_force if moving else translated_force), z=turning.z,
    )  # fmt: skip
    relation: Rheonomous | Scleronomous = Scleronomous(use(own_gap), dy_dq=np.eye(1))
    if moving:
        relation = Rheonomous(use(gap), dy_dq=np.eye(1), dy_dt=use(gap_rate))
    tie = Interaction("cam", "follower", relation, NewtonImpact(e=e))

    def facts(trajectory: Trajectory) -> Iterator[Fact]:
        dt = spacing(trajectory)
        fine = trajectory.scheme == "event-driven"
        end = float(trajectory.t[-1])
        exact, late = (exact_impacts(turning, e, (gap0, rate0), 5, end, late=s) for s in (0.0, 2.0 * dt))
        found = impacts(trajectory, "cam")
        fastest = float(np.abs(trajectory.v).max()) + turning.fastest
        for n, (t, after, seen) in enumerate(zip(exact, late, found, strict=False)):
            yield Fact(f"impact {n + 1} [s], exact flow from impact to impact (each is seen up to two steps"
                       " late, and passes that on)", seen, t, 1e-6 if fine else abs(after - t))  # fmt: skip
        yield penetration_fact(trajectory, ["cam"], 1e-6 if fine else fastest * dt)

    def figure(trajectory: Trajectory) -> Figure:
        t = trajectory.t
        place = turning.place(t)
        u, v = absolute(trajectory, turning, form)
        late, last = t > 0.5 * t[-1], t > t[-1] - 10.0 * turning.period
        gaps = u[late] - place[late]
        return Figure(f"Cam follower at {rpm:g} rpm, e = {e:g} ({form})", [
            over_time("All of it", "[m]", t, {"follower": u, "cam": (place, "--")}),
            over_time("The last ten turns", "[m]", t[last],
                      {"follower": u[last], "cam": (place[last], "--")}),
            Panel("State space, second half", "u [m]", "v [m/s]", [Curve("follower", u[late], v[late])]),
            over_time("Gap, second half", "u - c [m]", t[late], {"follower": gaps}),
        ])  # fmt: skip

    made = scene("cam", "A follower on a spring, lifted and hit by a turning cam.",
                 NonsmoothSystem([follower], [tie]), until, h, facts, figure, ("moreau-jean", "event-driven"),
                 {"theta": THETA})  # fmt: skip
    observe = {
        "gap [m]": lambda run: run.y[-1],
        "approach [m/s]": lambda run: hits(run, mass, e)[1],
    }
    return replace(made, period=turning.period, observe=observe)


def absolute(trajectory: Trajectory, turning: Turning, form: str) -> tuple[Array, Array]:
    """Place and velocity of the follower [m], [m/s], whichever form was simulated."""
    u, v = trajectory.q[:, 0], trajectory.v[:, 0]
    if form == "rheonomous":
        return u, v
    return u + turning.place(trajectory.t), v + turning.velocity(trajectory.t)


def hits(trajectory: Trajectory, mass: float, e: float) -> tuple[Array, Array, int]:
    """Times [s] and approach velocities [m/s] of the impacts, shape (impacts,) each, and how many were left
    out: those that share a record with others, and those slower than `SLOW`.

    The approach is r / (m (1 + e)) of the record that holds the impact.
    """
    t, r = np.asarray(trajectory.t), np.asarray(trajectory.r)[:, 0]
    times = impacts(trajectory, "cam")
    record = np.searchsorted(t, times - 1e-12)
    alone = np.array([np.count_nonzero(record == k) == 1 for k in record], bool)
    approach = r[np.minimum(record, t.size - 1)] / (mass * (1.0 + e))
    keep = alone & (approach > SLOW)
    return times[keep], approach[keep], int(np.count_nonzero(~keep))


def exact_impacts(
    turning: Turning, e: float, start: tuple[float, float], count: int, until: float, *, late: float = 0.0,
    look: float = 1e-4,
) -> list[float]:  # fmt: skip
    """Times of the first impacts [s]: the follower's free flight in closed form, its meeting with the cam by
    root finding. It ends where impacts accumulate (flights shorter than ten looks).

    late: how long after it each impact is seen to happen [s], as by time-stepping.
    """
    z = turning.z
    t0, u, v = 0.0, start[0] + cam_place(0.0, z), start[1] + cam_velocity(0.0, z)
    times: list[float] = []
    while len(times) < count:

        def height(s: float, t0: float = t0, u: float = u, v: float = v) -> float:
            return turning.flight(s - t0, u, v)[0] - float(cam_place(s, z))

        s = t0 + look
        while s < until and height(s) > 0.0:
            s += look
        if s >= until or (times and s - t0 < 10.0 * look):
            break
        hit = float(brentq(height, s - look, s, xtol=1e-14))
        hit += late
        before, lift = turning.flight(hit - t0, u, v)[1], float(cam_velocity(hit, z))
        t0, u, v = hit, float(cam_place(hit, z)), lift - e * (before - lift)
        times.append(hit)
    return times
