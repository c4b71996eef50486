"""Jamming by friction: Painlevé's sliding rod, for which rigid bodies with Coulomb's law have no acceleration
or more than one, and the woodpecker toy.

Génot & Brogliato, "New results on Painlevé paradoxes", European Journal of Mechanics A 18 (1999). Glocker,
"Dynamik von Starrkörpersystemen mit Reibung und Stößen", thesis, TU München (1995), from p. 162; the
woodpecker sample of Siconos has the same values.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum

import numpy as np
from scipy.optimize import minimize_scalar

from stickslip.exhibits import Curve, Figure, Panel
from stickslip.laws import NewtonImpact
from stickslip.problem.checks import Array
from stickslip.scenes.measures import energy, impacts, penetration_fact, spacing
from stickslip.scenes.parameters import checked
from stickslip.scenes.scenario import GRAVITY, Fact, Scenario, against, over_time, scene
from stickslip.simulation.trajectory import Trajectory
from stickslip.systems.lagrangian import Lagrangian
from stickslip.systems.lagrangian_relations import Scleronomous
from stickslip.systems.system import Interaction, NonsmoothSystem

CRITICAL = 4.0 / 3.0
"""Friction coefficient above which a slender rod has a paradox at some angle (Génot & Brogliato 1999) [-]."""


class Sliding(Enum):
    """Solutions for the acceleration of a sliding contact."""

    UNIQUE = 0
    """One solution."""
    INDETERMINATE = 1
    """Two solutions: the contact separates, or it stays closed with a force."""
    INCONSISTENT = 2
    """No solution with finite forces."""


@dataclass(frozen=True)
class NormalMotion:
    """Normal acceleration A lam_N + b of a sliding contact with the friction force -mu sign(u_T) lam_N."""

    A: float
    """Acceleration per unit normal force [1/kg]."""
    b: float
    """Acceleration without contact force [m/s²]."""

    @property
    def kind(self) -> Sliding:
        """Number of solutions of 0 <= A lam + b ⟂ lam >= 0: one for A > 0, else two if b > 0, none if b <
        0."""
        if self.A > 0.0:
            return Sliding.UNIQUE
        return Sliding.INDETERMINATE if self.b > 0.0 else Sliding.INCONSISTENT


def normal_motion(
    system: NonsmoothSystem, name: str, mu: float, q: Array, v: Array, step: float = 1e-6
) -> NormalMotion:
    """Return the normal motion of a sliding contact from the equations of a system of one body.

    `step` is that of the central difference of H along v.
    """
    interaction, (body, _) = system.interaction[name], system.mechanical[0]
    lam = np.zeros(interaction.law.size)

    def rows(position: Array) -> Array:
        return interaction.mechanical.rows(0.0, position, lam, system.z0)

    H = rows(q)
    turning = (rows(q + step * v) - rows(q - step * v)) @ v / (2.0 * step)
    inverse = np.linalg.inv(body.mass(0.0, q, system.z0))
    W = H @ inverse @ H.T
    free = H @ inverse @ body.force(0.0, q, v, system.z0) + turning
    slip = math.copysign(1.0, float((H @ v)[1]))
    return NormalMotion(float(W[0, 0] - mu * slip * W[0, 1]), float(free[0]))


@checked
def painleve(
    *, mu: float = 2.0, angle: float = 60.0, speed: float = 1.0, turning: float = 0.0, half: float = 1.0,
    mass: float = 1.0, h: float = 1e-4, until: float = 0.2,
) -> Scenario:  # fmt: skip
    """A slender rod whose lower end slides on the ground, ahead of the rod: coordinates (x, y, angle).

    mu: friction [-], > 0.
    angle: of the rod to the ground [deg], in (0, 90).
    speed: of the sliding end, away from the rod [m/s], > 0.
    turning: initial angular velocity [rad/s].
    half: half the length of the rod [m], > 0.
    mass: of the rod [kg], > 0.

    The sliding end has the normal acceleration A lam_N + b with A = (1 + 3 cos² - 3 mu sin cos) / mass and
    b = half turning² sin - g. For A < 0 and b < 0 no finite force is a solution: the end jams in an impact
    without collision. The impulse that stops the end is P = -W⁻¹ (0, u_T), with
    P_N = (3/4) mass speed sin cos; it lies in the cone exactly if A <= 0.
    """
    theta = math.radians(angle)
    sine, cosine = math.sin(theta), math.cos(theta)

    def state(tilt: float, omega: float) -> tuple[Array, Array]:
        """Return coordinates and velocities with the lower end (x - half cos, y - half sin) at the origin,
        sliding to the left."""
        s, c = math.sin(tilt), math.cos(tilt)
        v = np.array([-speed - half * s * omega, half * c * omega, omega])
        return np.array([half * c, half * s, tilt]), v

    q0, v0 = state(theta, turning)
    rod = Lagrangian(
        "rod", M=np.diag([mass, mass, mass * half**2 / 3.0]), q0=q0, v0=v0,
        F_ext=[0.0, -mass * GRAVITY, 0.0], potential=lambda q: mass * GRAVITY * q[1],
    )  # fmt: skip

    def rows(q: Array) -> Array:
        s, c = math.sin(q[2]), math.cos(q[2])
        return np.array([[0.0, 1.0, -half * c], [1.0, 0.0, half * s]])

    ground = Interaction(
        "ground", "rod", Scleronomous(lambda q: [q[1] - half * math.sin(q[2])], dy_dq=rows),
        NewtonImpact(mu=mu, dimension=2),
    )  # fmt: skip
    system = NonsmoothSystem([rod], [ground])

    def detected(tilt: float, omega: float) -> Sliding:
        return normal_motion(system, "ground", mu, *state(tilt, omega)).kind

    def known(tilt: float, omega: float) -> Sliding:
        s, c = math.sin(tilt), math.cos(tilt)
        A, b = 1.0 + 3.0 * c * (c - mu * s), half * omega**2 * s - GRAVITY
        return NormalMotion(A / mass, b).kind

    angles, rates = np.radians(np.linspace(2.0, 88.0, 44)), np.linspace(0.05, 6.0, 25)

    def kinds(kind: Callable[[float, float], Sliding]) -> Array:
        """Return the values of `kind` at all angles and rates [-], shape (rates, angles)."""
        return np.array([[kind(float(a), float(w)).value for a in angles] for w in rates])

    def smallest_mu() -> float:
        """Return the least mu for which A reaches zero at some angle, from the model's W."""

        def ratio(theta: float) -> float:
            H = rows(np.array([0.0, 0.0, theta]))
            W = H @ np.linalg.inv(rod.M(0.0, q0, v0, system.z0)) @ H.T
            return float(W[0, 0] / abs(W[0, 1]))

        return float(minimize_scalar(ratio, bounds=(0.1, 1.5), method="bounded", options={"xatol": 1e-9}).fun)

    def facts(trajectory: Trajectory) -> Iterator[Fact]:
        start, dt = known(theta, turning), spacing(trajectory)
        yield Fact("least mu of a paradox [-], 4/3 (from the model's W)", smallest_mu(), CRITICAL,
                   1e-9)  # fmt: skip
        yield Fact("states of 1100 whose detected kind differs from that of the analytic A and b [-]",
                   (kinds(detected) != kinds(known)).sum(), 0.0, 0.0)  # fmt: skip
        yield Fact("kind at the start [-]: 0 unique, 1 indeterminate, 2 inconsistent",
                   detected(theta, turning).value, start.value, 0.0)  # fmt: skip
        contact = trajectory.interaction("ground")
        first, push = contact.r[1], mass * (GRAVITY + half * turning**2) * dt
        if start is Sliding.INCONSISTENT and trajectory.scheme == "moreau-jean":
            yield Fact("impulse of the first step, jamming [N s], (3/4) m u sin cos (gravity adds m g h)",
                       first[0], 0.75 * mass * speed * sine * cosine, 4.0 * push)  # fmt: skip
            yield Fact("velocity of the end after the first step [m/s], zero", contact.u[1, 1], 0.0,
                       1e-7 * speed)  # fmt: skip
        if start is Sliding.UNIQUE:
            motion = normal_motion(system, "ground", mu, q0, v0)
            force = max(0.0, -motion.b / motion.A)
            yield Fact("initial normal force [N], -b / A (up to its change in a step)", first[0] / dt, force,
                       (0.02 + 100.0 * dt * (speed + abs(turning) + 1.0) / half) * (force + mass * GRAVITY)
            )  # fmt: skip

    def figure(trajectory: Trajectory) -> Figure:
        states = kinds(detected)
        t, r = trajectory.t, trajectory.interaction("ground").r
        tilt = np.degrees(trajectory.q[:, 2])
        tips = np.array([rows(q) @ v for q, v in zip(trajectory.q, trajectory.v, strict=True)])
        maps = []
        for kind in Sliding:
            i, j = np.nonzero(states == kind.value)
            maps.append(Curve(kind.name.lower(), np.degrees(angles[j]), rates[i], "o"))
        sides = []
        if mu > CRITICAL:
            # A = 0 where 5 + 3 cos 2θ = 3 mu sin 2θ
            base, width = math.atan2(-mu, 1.0), math.acos(-5.0 / 3.0 / math.hypot(1.0, mu))
            sides = sorted(
                0.5 * ((x + 2.0 * math.pi) % (2.0 * math.pi)) for x in (base - width, base + width)
            )
        edges = [(np.full(2, math.degrees(x)), np.array([0.0, 6.0])) for x in sides]
        edges.append((np.degrees(angles[5:]), np.sqrt(GRAVITY / (half * np.sin(angles[5:])))))
        maps += [Curve("A = 0, b = 0 (analytic)", *edge, "--") for edge in edges]
        return Figure(f"Painlevé's rod, mu = {mu:g}: {known(theta, turning).name.lower()} at the start", [
            Panel("Acceleration of a sliding end", "angle [deg]", "[rad/s]", maps, y_range=(0.0, 6.0)),
            against("Velocity of the end, first steps", "t [ms]", "[m/s]", 1e3 * t[:20],
                    {"along the ground": tips[:20, 1], "away from it": (tips[:20, 0], "--")}),
            against("Impulse of each step, first steps", "t [ms]", "r [N s]", 1e3 * t[1:20],
                    {"along the ground": r[1:20, 1], "away from it": (r[1:20, 0], "--")}),
            over_time("Angle of the rod", "[deg]", t, {"rod": tilt}),
        ])  # fmt: skip

    smooth = known(theta, turning) is Sliding.UNIQUE
    return scene("painleve",
                 "Painlevé's sliding rod: the paradox is detected; time-stepping jams the rod.", system,
                 until, h, facts, figure, ("moreau-jean", *(["event-driven"] if smooth else [])))  # fmt: skip


POLE, SLEEVE = 2.5e-3, 3.1e-3
"""Radii r_0 of the pole and r_M of the sleeve's hole [m]."""
SLEEVE_HEIGHT = 5.8e-3
"""Half height h_M of the sleeve [m]."""
L_SLEEVE, L_BIRD = 0.010, 0.015
"""Distances l_M from the sleeve's centre to the spring, and l_G from the spring to the bird [m]."""
BEAK_HEIGHT, BEAK_REACH = 0.02, 0.0201
"""Position h_S, l_S of the beak [m]."""
MASS_SLEEVE, MASS_BIRD = 3e-4, 4.5e-3
"""Masses m_M, m_S [kg]."""
J_SLEEVE, J_BIRD = 5e-9, 7e-7
"""Moments of inertia J_M, J_S [kg m²]."""
SPRING = 0.0056
"""Stiffness c_phi of the spring [N m/rad]."""
PERIOD = 0.146
"""Period of the pecking [s], computed by both schemes: 0.1460 by time-stepping at h = 2e-5 s, 0.1459
event-driven. The values above do not give the 0.1316 that is quoted for the toy."""
START = ([0.0, -0.1036, -0.2788], [-0.3411, 0.0, -7.4583])
"""Initial (y, phi_M, phi_S) and their velocities in the sample of Siconos [m, rad, s]."""

M = np.array(
    [
        [MASS_BIRD + MASS_SLEEVE, MASS_BIRD * L_SLEEVE, MASS_BIRD * L_BIRD],
        [MASS_BIRD * L_SLEEVE, J_SLEEVE + MASS_BIRD * L_SLEEVE**2, MASS_BIRD * L_SLEEVE * L_BIRD],
        [MASS_BIRD * L_BIRD, MASS_BIRD * L_SLEEVE * L_BIRD, J_BIRD + MASS_BIRD * L_BIRD**2],
    ]
)
K = SPRING * np.array([[0.0, 0.0, 0.0], [0.0, 1.0, -1.0], [0.0, -1.0, 1.0]])
WEIGHT = -GRAVITY * np.array([MASS_BIRD + MASS_SLEEVE, MASS_BIRD * L_SLEEVE, MASS_BIRD * L_BIRD])
CONTACTS = {
    "beak": (
        L_SLEEVE + L_BIRD - BEAK_REACH - POLE,
        [0.0, 0.0, -BEAK_HEIGHT],
        [1.0, L_SLEEVE, L_BIRD - BEAK_REACH],
    ),
    "sleeve low": (SLEEVE - POLE, [0.0, SLEEVE_HEIGHT, 0.0], [1.0, SLEEVE, 0.0]),
    "sleeve high": (SLEEVE - POLE, [0.0, -SLEEVE_HEIGHT, 0.0], [1.0, SLEEVE, 0.0]),
}  # fmt: skip
"""For each contact the gap at zero angles [m], and the rows of normal and tangential velocity (small
angles)."""


@checked
def woodpecker(*, mu: float = 0.3, e_beak: float = 0.5, h: float = 1e-4, until: float = 0.6) -> Scenario:
    """The woodpecker toy; coordinates (y, phi_M, phi_S): height of the sleeve, angles of sleeve and bird.

    mu: friction of all three contacts [-], > 0.
    e_beak: restitution of the beak [-], in [0, 1]; that of the sleeve is 0.

    In each period the beak hits the pole once, and the lower and the upper edge of the sleeve jam: without
    friction the toy would fall. The motion is periodic except for y, which decreases by the same height in
    each period.
    """
    toy = Lagrangian(
        "toy", M=M, q0=START[0], v0=START[1], F_ext=WEIGHT, F_int=lambda q: K @ q, dF_int_dq=K,
        potential=lambda q: 0.5 * q @ K @ q - WEIGHT @ q,
    )  # fmt: skip
    interactions = []
    for name, (gap, normal, tangent) in CONTACTS.items():
        n, e = np.array(normal), e_beak if name == "beak" else 0.0
        relation = Scleronomous(lambda q, n=n, gap=gap: [gap + n @ q], dy_dq=np.array([normal, tangent]))
        interactions.append(Interaction(name, "toy", relation, NewtonImpact(e=e, mu=mu, dimension=2)))
    default = mu == 0.3 and e_beak == 0.5

    def facts(trajectory: Trajectory) -> Iterator[Fact]:
        dt, E = spacing(trajectory), energy(trajectory)
        fastest = float(np.abs(trajectory.v[:, 2]).max()) * BEAK_HEIGHT
        yield penetration_fact(trajectory, CONTACTS, 2.0 * dt * fastest, "one step of the beak's motion")
        yield Fact("error of the energy balance [J] (event-driven: of the order of the records' spacing)",
                   E[-1] - E[0] - trajectory.contact_work[-1], 0.0,
                   (1e-2 if trajectory.scheme == "event-driven" else 1e-3) * np.ptp(E))  # fmt: skip
        pecks = _first_of_each(impacts(trajectory, "beak"), 0.25 * PERIOD)
        if default and len(pecks) >= 2:
            yield Fact("period of the pecking [s], as both schemes compute it (to 3e-4 and the step)",
                       np.diff(pecks).mean(), PERIOD,
                       3e-4 + (0.0 if trajectory.scheme == "event-driven" else 3.0 * dt))  # fmt: skip
        back = _return(trajectory)
        if default and back is not None:
            for k, quantity, change in (
                (0, "velocity of the sleeve [m/s]", 1.0),
                (2, "angular velocity of the bird [rad/s]", 30.0),
            ):
                largest = float(np.abs(trajectory.v[:, k]).max())
                yield Fact(f"{quantity} after one period, that of the start (to a hundredth of its maximum"
                           " and ten steps)",
                           back[k], START[1][k], 0.01 * largest + 10.0 * dt * change)  # fmt: skip

    def figure(trajectory: Trajectory) -> Figure:
        t, q, v = trajectory.t, trajectory.q, trajectory.v
        late = t > 0.5 * t[-1]
        return Figure(f"Woodpecker toy, mu = {mu:g}", [
            over_time("Height of the sleeve", "y [mm]", t, {"y": 1e3 * q[:, 0]}),
            over_time("Angles", "[rad]", t, {"sleeve": q[:, 1], "bird": q[:, 2]}),
            Panel("Sleeve", "angle [rad]", "[rad/s]", [Curve("sleeve", q[late, 1], v[late, 1])]),
            Panel("Bird", "angle [rad]", "[rad/s]", [Curve("bird", q[late, 2], v[late, 2])]),
        ])  # fmt: skip

    return scene("woodpecker", "The woodpecker toy pecks its way down a pole.",
                 NonsmoothSystem([toy], interactions), until, h, facts, figure,
                 ("moreau-jean", "event-driven"))  # fmt: skip


def _first_of_each(times: Array, apart: float) -> Array:
    """Return the times that are more than `apart` after the previous returned one [s]."""
    first: list[float] = []
    for t in times:
        if not first or t - first[-1] > apart:
            first.append(float(t))
    return np.array(first)


def _return(trajectory: Trajectory) -> Array | None:
    """Return the velocities when the bird first swings down to its initial angle [m/s, rad/s], shape (3,);
    None if it does not."""
    angle, start = trajectory.q[:, 2], START[0][2]
    k = np.flatnonzero((angle[1:-1] > start) & (angle[2:] <= start) & (trajectory.t[1:-1] > 0.5 * PERIOD))
    if not k.size:
        return None
    i = int(k[0]) + 1
    part = (angle[i] - start) / (angle[i] - angle[i + 1])
    return np.asarray((1.0 - part) * trajectory.v[i] + part * trajectory.v[i + 1])
