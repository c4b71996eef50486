"""The cam follower: a mass on a spring, lifted by a rotating cam that it leaves and hits.

Siconos Developer's Notes 2017, chapter 14 (di Bernardo, Osorio & Santini): mass, stiffness, restitution,
initial state and steps are those of section 14.0.2. The notes do not give the cam's profile nor the force of
the valve. Here the cam is an eccentric disc, arcs with dwells as in the published example of Siconos, or a
spline through points, with a knife-edge follower; the force of the valve is constant.
See docs/cam.md. All functions of the model are compiled by Numba.
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
"""Mass, stiffness, damping and restitution of section 14.0.2 [kg], [N/m], [N s/m], [-]."""
GAP, RATE = 0.4, 0.4
"""Initial gap and relative velocity of follower and cam, section 14.0.2 [m], [m/s]."""
STEP, UNTIL, THETA = 1e-4, 5.0, 0.5
"""h, T and theta of section 14.0.2 [s], [s], [-]."""
RADIUS, ECCENTRICITY, REST = 0.3, 0.1, 0.17
"""Radius of the disc, distance of its centre from the axle, and height of the end of the unstretched spring
above the axle [m]."""
BASE, FLANK, NOSE, RISE, DWELL, ARCS_REST = 0.4, 0.85, 0.15, 70.0, 180.0, 0.3
"""Radii of the arcs of the published example [m], angles of its rise and its low dwell [degrees], and height
of the end of the unstretched spring above the axle [m]."""
PROFILES, FORMS = ("disc", "arcs", "points"), ("rheonomous", "translated")
"""Kinds of profiles and forms of the equations."""
SLOW = 0.01
"""Approach velocity below which an impact is not counted, as grazing or resting contact [m/s]; heuristic."""
LOOKS, NEVER = 3600, 1e100
"""Number of angles at which a turn is sampled (heuristic), and a speed that no cam reaches [rad/s]."""
OWN = 7
"""Index in z of the first number of the profile."""


@jit
def cam_place(t: float, z: Array) -> float:
    """Return c, the height of the cam above the end of the unstretched spring [m]."""
    return reach(z[0] * t + z[1], z[OWN:])[0] - z[2]


@jit
def cam_velocity(t: float, z: Array) -> float:
    """Return dc/dt [m/s]."""
    return z[0] * reach(z[0] * t + z[1], z[OWN:])[1]


@jit
def cam_acceleration(t: float, z: Array) -> float:
    """Return d²c/dt² [m/s²]."""
    return z[0] * z[0] * reach(z[0] * t + z[1], z[OWN:])[2]


@jit
def gap(t: float, q: Array, z: Array) -> Array:
    """Return y = u - c(t) [m], shape (1,)."""
    return np.array([q[0] - cam_place(t, z)])


@jit
def gap_rate(t: float, z: Array) -> Array:
    """Return ∂y/∂t = -dc/dt [m/s], shape (1,)."""
    return np.array([-cam_velocity(t, z)])


@jit
def own_gap(q: Array) -> Array:
    """Return y = û [m], shape (1,)."""
    return q * 1.0


@jit
def valve_force(z: Array) -> Array:
    """Return f_v [N], shape (1,)."""
    return np.array([-z[3]])


@jit
def translated_force(t: float, z: Array) -> Array:
    """Return f_v - (m d²c/dt² + ζ dc/dt + κ c), equation (14.3) [N], shape (1,)."""
    pull = z[4] * cam_acceleration(t, z) + z[6] * cam_velocity(t, z) + z[5] * cam_place(t, z)
    return np.array([-z[3] - pull])


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the uncompiled Python function."""
    return getattr(function, "py_func", function)  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class Turning:
    """A cam with a constant speed of its shaft, and its follower."""

    z: Array
    """Speed [rad/s], phase [rad], rest [m], valve force [N], mass [kg], stiffness [N/m], damping [N s/m], and
    the profile, shape (any,)."""

    @property
    def period(self) -> float:
        """Time of a turn of the shaft [s]."""
        return TURN / float(self.z[0])

    def place(self, t: Array) -> Array:
        """Return c at each time [m], shape of t."""
        return np.array([cam_place(float(s), self.z) for s in np.atleast_1d(t)])

    def velocity(self, t: Array) -> Array:
        """Return dc/dt at each time [m/s], shape of t."""
        return np.array([cam_velocity(float(s), self.z) for s in np.atleast_1d(t)])

    @property
    def fastest(self) -> float:
        """Largest |dc/dt| [m/s]."""
        return float(np.abs(self.velocity(np.linspace(0.0, self.period, LOOKS))).max())

    def flight(self, s: float, u: float, v: float) -> tuple[float, float]:
        """Return position and velocity of the free follower at the time s after the state (u, v) [m],
        [m/s]."""
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
        """Return the lowest speed at which a follower in contact leaves the cam [rad/s]; infinite if there is
        none, 0 if the spring pulls the follower off a cam at rest.

        The contact force is m ω² c'' + ζ ω c' + κ c + P. The smallest root ω over the sampled angles of a
        turn is refined between the neighbouring angles.
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
        refined = minimize_scalar(root, bounds=between, method="bounded", options={"xatol": 1e-12})
        least = min(roots[best], float(refined.fun))
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
    """A follower on a spring above a rotating cam.

    rpm: speed of the cam [1/min], in (0, 2000].
    profile: `disc`, `arcs` with dwells, or a spline through `points`.
    mass: of the follower [kg], > 0.
    stiffness: of the spring [N/m], > 0.
    damping: of the follower [N s/m], >= 0.
    form: `rheonomous`, u >= c(t), or `translated`, û = u - c(t) >= 0.
    gap0: initial gap between follower and cam [m], >= 0.
    rate0: initial velocity of the follower relative to the cam [m/s].
    phase: initial angle of the cam [rad]; at 0 its lowest point, or the middle of its low dwell, is up.
    radius: of the disc [m], > eccentricity.
    eccentricity: of the disc [m], > 0.
    base, flank, nose: radii of the arcs [m], > 0.
    rise: angle of the arcs from the low dwell to the high one [degrees], in (0, 180).
    dwell: angle of the low dwell of the arcs [degrees], in [0, 360).
    points: distances from the axle at equal angles over a turn, three or more [m].
    rest: height of the end of the unstretched spring above the axle [m]; default 0.17 for the disc, 0.3 for
        arcs, 0 for points.
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
    interaction = Interaction("cam", "follower", relation, NewtonImpact(e=e))

    def facts(trajectory: Trajectory) -> Iterator[Fact]:
        dt = spacing(trajectory)
        fine = trajectory.scheme == "event-driven"
        end = float(trajectory.t[-1])
        exact, late = (exact_impacts(turning, e, (gap0, rate0), 5, end, late=s) for s in (0.0, 2.0 * dt))
        times = impacts(trajectory, "cam")
        fastest = float(np.abs(trajectory.v).max()) + turning.fastest
        for n, (t, after, time) in enumerate(zip(exact, late, times, strict=False)):
            yield Fact(f"impact {n + 1} [s], exact flow from impact to impact (delays of up to two steps per"
                       " impact accumulate)", time, t, 1e-6 if fine else abs(after - t))  # fmt: skip
        yield penetration_fact(trajectory, ["cam"], 1e-6 if fine else fastest * dt)

    def figure(trajectory: Trajectory) -> Figure:
        t = trajectory.t
        place = turning.place(t)
        u, v = absolute(trajectory, turning, form)
        late, last = t > 0.5 * t[-1], t > t[-1] - 10.0 * turning.period
        gaps = u[late] - place[late]
        return Figure(f"Cam follower at {rpm:g} rpm, e = {e:g} ({form})", [
            over_time("The whole run", "[m]", t, {"follower": u, "cam": (place, "--")}),
            over_time("The last ten turns", "[m]", t[last],
                      {"follower": u[last], "cam": (place[last], "--")}),
            Panel("State space, second half", "u [m]", "v [m/s]", [Curve("follower", u[late], v[late])]),
            over_time("Gap, second half", "u - c [m]", t[late], {"follower": gaps}),
        ])  # fmt: skip

    scenario = scene("cam", "A follower on a spring, lifted and hit by a rotating cam.",
                     NonsmoothSystem([follower], [interaction]), until, h, facts, figure,
                     ("moreau-jean", "event-driven"), {"theta": THETA})  # fmt: skip
    observe = {
        "gap [m]": lambda run: run.y[-1],
        "approach [m/s]": lambda run: hits(run, mass, e)[1],
    }
    return replace(scenario, period=turning.period, observe=observe)


def absolute(trajectory: Trajectory, turning: Turning, form: str) -> tuple[Array, Array]:
    """Return position and velocity of the follower [m], [m/s], for either form of the equations."""
    u, v = trajectory.q[:, 0], trajectory.v[:, 0]
    if form == "rheonomous":
        return u, v
    return u + turning.place(trajectory.t), v + turning.velocity(trajectory.t)


def hits(trajectory: Trajectory, mass: float, e: float) -> tuple[Array, Array, int]:
    """Return times [s] and approach velocities [m/s] of the impacts, shape (impacts,) each, and the number of
    impacts left out: several in one record, or slower than `SLOW`.

    The approach velocity is r / (m (1 + e)) of the record of the impact.
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
    """Return the times of the first impacts [s], from the closed form of free flights and root finding.

    The list ends where impacts accumulate: at a flight shorter than ten intervals `look`.

    late: delay of each impact after the zero of the gap [s], as in time-stepping.
    look: interval at which the gap is sampled [s].
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
