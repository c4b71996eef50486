"""A slider-crank mechanism whose slider has clearance in its guide: four corners that may touch.

Flores, Leine & Glocker, "Modeling and analysis of planar rigid multibody systems with translational
clearance joints based on the non-smooth dynamics approach", Multibody System Dynamics 23 (2010), table 1.
"""

import math
from collections.abc import Iterator

import numpy as np

from stickslip.exhibits import Curve, Figure, Panel
from stickslip.laws import NewtonImpact
from stickslip.problem.checks import Array
from stickslip.scenes.measures import GRAVITY, energy, none, spacing
from stickslip.scenes.parameters import checked
from stickslip.scenes.scenario import Fact, Scenario, against, scene
from stickslip.simulation.trajectory import Trajectory
from stickslip.systems.lagrangian import Lagrangian
from stickslip.systems.lagrangian_relations import Scleronomous
from stickslip.systems.system import Interaction, NonsmoothSystem

CRANK, ROD = 0.153, 0.306
"""Lengths l₁, l₂ [m]."""
HALF_LENGTH, HALF_HEIGHT = 0.05, 0.025
"""Of the slider: a, b [m]."""
M1, M2, M3 = 0.038, 0.038, 0.076
"""Masses of crank, rod and slider [kg]."""
J1, J2, J3 = 7.4e-5, 5.9e-4, 2.7e-6
"""Moments of inertia about the centres of mass [kg m²]."""
CORNERS = {"top left": (-1, 1), "top right": (1, 1), "bottom left": (-1, -1), "bottom right": (1, -1)}
"""Signs of a corner's place in the slider, along and across."""

COUPLING = (0.5 * M2 + M3) * CRANK * ROD
"""Of crank and rod in the mass matrix [kg m²]."""


def mass_matrix(q: Array) -> Array:
    """M(q) of the angles (crank, rod, slider) to the horizontal [kg m²], shape (3, 3)."""
    c = COUPLING * math.cos(q[1] - q[0])
    return np.array(
        [
            [J1 + (0.25 * M1 + M2 + M3) * CRANK**2, c, 0.0],
            [c, J2 + (0.25 * M2 + M3) * ROD**2, 0.0],
            [0.0, 0.0, J3],
        ]
    )


def inertia_forces(q: Array, v: Array) -> Array:
    """N(q, v) = Ṁ v - ½ ∂(v'M v)/∂q [N m], shape (3,)."""
    s = COUPLING * math.sin(q[0] - q[1])
    return np.array([s * v[1] ** 2, -s * v[0] ** 2, 0.0])


def weights(q: Array) -> Array:
    """F_int, the derivative of the potential energy [N m], shape (3,)."""
    return GRAVITY * np.array(
        [
            (0.5 * M1 + M2 + M3) * CRANK * math.cos(q[0]),
            (0.5 * M2 + M3) * ROD * math.cos(q[1]),
            0.0,
        ]
    )


def potential_energy(q: Array) -> float:
    """Of gravity [J]."""
    crank, rod = CRANK * math.sin(q[0]), ROD * math.sin(q[1])
    return GRAVITY * (0.5 * M1 * crank + M2 * (crank + 0.5 * rod) + M3 * (crank + rod))


def kinetic_energy(q: Array, v: Array, step: float = 1e-6) -> float:
    """From the motion of the centres of mass, by differences of their places [J]; checks `mass_matrix`."""

    def centres(q: Array) -> Array:
        joint = CRANK * np.array([math.cos(q[0]), math.sin(q[0])])
        rod = ROD * np.array([math.cos(q[1]), math.sin(q[1])])
        return np.array([0.5 * joint, joint + 0.5 * rod, joint + rod])

    along = v / np.linalg.norm(v)
    speed = np.linalg.norm(v) * (centres(q + step * along) - centres(q - step * along)) / (2.0 * step)
    return float(0.5 * np.array([M1, M2, M3]) @ (speed**2).sum(axis=1) + 0.5 * np.array([J1, J2, J3]) @ v**2)


def corner(signs: tuple[int, int], clearance: float, friction: bool) -> Scleronomous:
    """The gap of a corner to its side of the guide; with friction also its velocity along the guide."""
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
    """Crank, rod and slider, started at full stretch; the slider may hit the guide with its four corners.

    e: restitution of the corners [-], in [0, 1].
    mu: friction of the corners [-], >= 0.
    clearance: between slider and guide on either side [m], in (0, 0.01].
    speed: of the crank at the start [rad/s], > 0; the rod starts at minus half of it.
    """
    mechanism = Lagrangian(
        "mechanism", M=mass_matrix, q0=[0.0, 0.0, 0.0], v0=[speed, -0.5 * speed, 0.0], N=inertia_forces,
        F_int=weights, potential=potential_energy,
    )  # fmt: skip
    law = NewtonImpact(e=e, mu=mu, dimension=2) if mu > 0.0 else NewtonImpact(e=e)
    ties = [
        Interaction(name, "mechanism", corner(signs, clearance, mu > 0.0), law)
        for name, signs in CORNERS.items()
    ]

    def facts(trajectory: Trajectory) -> Iterator[Fact]:
        q, v, dt = trajectory.q, trajectory.v, spacing(trajectory)
        E = energy(trajectory)
        some = np.linspace(0, len(q) - 1, 12).astype(int)
        kinetic = max(abs(kinetic_energy(q[k], v[k]) / float(trajectory.kinetic[k]) - 1.0) for k in some)
        gaps = np.array([trajectory.interaction(name).y[:, 0] for name in CORNERS])
        touched = sum(float(trajectory.interaction(name).r[:, 0].sum()) for name in CORNERS)
        fastest = float(np.abs(v[:, 0]).max()) * CRANK
        yield none("kinetic energy by M(q) against differences of the bodies' places [-]", kinetic, 1e-7)
        yield Fact("N(q, v) against differences of M(q) [N m]", max(_inertia_error(q[k], v[k]) for k in some),
                   0.0, 1e-5 * speed**2 * COUPLING)  # fmt: skip
        yield Fact("energy not accounted for by the contacts [J] (of second order in h)",
                   E[-1] - E[0] - trajectory.contact_work[-1], 0.0,
                   1e-3 * E[0] * max(1.0, (dt * speed / 1.5e-3) ** 2))  # fmt: skip
        yield Fact("largest growth of energy in a step [J] (of second order in h)",
                   np.diff(E).max(initial=0.0), 0.0, 1e-2 * E[0] * (dt * speed))  # fmt: skip
        yield Fact("deepest penetration [m], at most a step of the slider's fastest way",
                   max(0.0, -gaps.min()), 0.0, 2.0 * fastest * dt)  # fmt: skip
        yield Fact("whether the slider touched [-], 1 after a tenth of a turn", touched > 0.0,
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

    return scene("slider-crank", "A slider-crank whose slider rattles in its guide.",
                 NonsmoothSystem([mechanism], ties), until, h, facts, figure, ("moreau-jean",))  # fmt: skip


def _inertia_error(q: Array, v: Array, step: float = 1e-5) -> float:
    """Largest difference of N from Ṁ v - ½ ∂(v'M v)/∂q by central differences [N m]."""
    dM = [(mass_matrix(q + step * a) - mass_matrix(q - step * a)) / (2.0 * step) for a in np.eye(3)]
    N = sum(v[k] * dM[k] for k in range(3)) @ v - 0.5 * np.array([v @ dM[k] @ v for k in range(3)])
    return float(np.abs(N - inertia_forces(q, v)).max())
