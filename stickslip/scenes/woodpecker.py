"""The woodpecker toy: a bird on a sleeve that pecks its way down a pole.

Glocker, "Dynamik von Starrkörpersystemen mit Reibung und Stößen", thesis, TU München (1995), from p. 162;
the woodpecker sample of Siconos has the same values.
"""

from collections.abc import Iterator

import numpy as np

from stickslip.exhibits import Curve, Figure, Panel
from stickslip.laws import NewtonImpact
from stickslip.problem.checks import Array
from stickslip.scenes.measures import GRAVITY, energy, impacts, spacing
from stickslip.scenes.parameters import checked
from stickslip.scenes.scenario import Fact, Scenario, over_time, scene
from stickslip.simulation.trajectory import Trajectory
from stickslip.systems.lagrangian import Lagrangian
from stickslip.systems.lagrangian_relations import Scleronomous
from stickslip.systems.system import Interaction, NonsmoothSystem

POLE, SLEEVE = 2.5e-3, 3.1e-3
"""Radii r_0 of the pole and r_M of the sleeve's hole [m]."""
SLEEVE_HEIGHT = 5.8e-3
"""Half height h_M of the sleeve [m]."""
L_SLEEVE, L_BIRD = 0.010, 0.015
"""Distances l_M, l_G from the sleeve's centre to the spring, and from the spring to the bird [m]."""
BEAK_HEIGHT, BEAK_REACH = 0.02, 0.0201
"""Place h_S, l_S of the beak [m]."""
MASS_SLEEVE, MASS_BIRD = 3e-4, 4.5e-3
"""m_M, m_S [kg]."""
J_SLEEVE, J_BIRD = 5e-9, 7e-7
"""J_M, J_S [kg m²]."""
SPRING = 0.0056
"""c_phi [N m/rad]."""
PERIOD = 0.146
"""Of the pecking [s], as both schemes find it: 0.1460 by time-stepping at h = 2e-5 s, 0.1459 event-driven.
The 0.1316 that is quoted for the toy is not what the values above give."""
START = ([0.0, -0.1036, -0.2788], [-0.3411, 0.0, -7.4583])
"""(y, phi_M, phi_S) and their velocities at the start of the sample of Siconos [m, rad, s]."""

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
"""Gap at zero angles [m], and the rows of the normal and the tangential velocity (small angles)."""


@checked
def woodpecker(*, mu: float = 0.3, e_beak: float = 0.5, h: float = 1e-4, until: float = 0.6) -> Scenario:
    """Coordinates (y, phi_M, phi_S): height of the sleeve, angles of sleeve and bird.

    mu: friction of all three contacts [-], > 0.
    e_beak: restitution of the beak [-], in [0, 1]; that of the sleeve is 0.

    The beak hits the pole once in a period, and the sleeve jams with its lower and its upper edge: without
    friction the toy would fall. The motion is periodic but for y, which loses the same height every time.
    """
    toy = Lagrangian(
        "toy", M=M, q0=START[0], v0=START[1], F_ext=WEIGHT, F_int=lambda q: K @ q, dF_int_dq=K,
        potential=lambda q: 0.5 * q @ K @ q - WEIGHT @ q,
    )  # fmt: skip
    ties = []
    for name, (gap, normal, tangent) in CONTACTS.items():
        n, e = np.array(normal), e_beak if name == "beak" else 0.0
        relation = Scleronomous(lambda q, n=n, gap=gap: [gap + n @ q], dy_dq=np.array([normal, tangent]))
        ties.append(Interaction(name, "toy", relation, NewtonImpact(e=e, mu=mu, dimension=2)))
    ours = mu == 0.3 and e_beak == 0.5

    def facts(trajectory: Trajectory) -> Iterator[Fact]:
        dt, E = spacing(trajectory), energy(trajectory)
        gaps = np.array([trajectory.interaction(name).y[:, 0] for name in CONTACTS])
        yield Fact("deepest penetration [m], a step of the beak's fastest way", max(0.0, -gaps.min()), 0.0,
                   2.0 * dt * float(np.abs(trajectory.v[:, 2]).max()) * BEAK_HEIGHT)  # fmt: skip
        yield Fact("energy not accounted for by the contacts [J] (event-driven, of the order of the records)",
                   E[-1] - E[0] - trajectory.contact_work[-1], 0.0,
                   (1e-2 if trajectory.scheme == "event-driven" else 1e-3) * np.ptp(E))  # fmt: skip
        pecks = _first_of_each(impacts(trajectory, "beak"), 0.25 * PERIOD)
        if ours and len(pecks) >= 2:
            yield Fact("period of the pecking [s], as both schemes find it (to 3e-4, and the step)",
                       np.diff(pecks).mean(), PERIOD,
                       3e-4 + (0.0 if trajectory.scheme == "event-driven" else 3.0 * dt))  # fmt: skip
        back = _return(trajectory)
        if ours and back is not None:
            for k, what, change in (
                (0, "velocity of the sleeve [m/s]", 1.0),
                (2, "angular velocity of the bird [rad/s]", 30.0),
            ):
                largest = float(np.abs(trajectory.v[:, k]).max())
                yield Fact(f"{what} when the bird is back at its angle: the start is on a periodic motion"
                           " (a hundredth of the largest, and ten steps)",
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

    return scene("woodpecker", "The woodpecker toy pecks its way down a pole.", NonsmoothSystem([toy], ties),
                 until, h, facts, figure, ("moreau-jean", "event-driven"))  # fmt: skip


def _first_of_each(times: Array, apart: float) -> Array:
    """Those of the times that come more than `apart` after the last kept one [s]."""
    kept: list[float] = []
    for t in times:
        if not kept or t - kept[-1] > apart:
            kept.append(float(t))
    return np.array(kept)


def _return(trajectory: Trajectory) -> Array | None:
    """Velocities when the bird first comes down to its angle at the start [m/s, rad/s], shape (3,)."""
    angle, start = trajectory.q[:, 2], START[0][2]
    k = np.flatnonzero((angle[1:-1] > start) & (angle[2:] <= start) & (trajectory.t[1:-1] > 0.5 * PERIOD))
    if not k.size:
        return None
    i = int(k[0]) + 1
    part = (angle[i] - start) / (angle[i] - angle[i + 1])
    return np.asarray((1.0 - part) * trajectory.v[i] + part * trajectory.v[i + 1])
