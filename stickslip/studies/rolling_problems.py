"""The problems of the rolling study: piles and chutes of spheres, made from seeds when asked for."""

from dataclasses import dataclass

import numpy as np

from stickslip.problem.contact import GlobalProblem
from stickslip.scenes.chute import chute
from stickslip.scenes.packing import sphere_packing

RADIUS = 0.01
"""Mean radius of the spheres [m]."""
SIZES = 26
"""Steps from the smallest problems to the largest."""
LARGEST = 1000
"""Spheres of the largest problems; they have nearly three contacts each."""


@dataclass(frozen=True)
class Friction:
    """What is varied at every size besides the shape of the pile."""

    mu: float
    """Friction coefficient [-]."""
    roll: float
    """Rolling friction over the mean radius [-]."""
    velocity: float
    """Random part of the velocities, g h being 0.0098 [m/s]."""
    angle: float
    """Slope of the chutes [deg]."""


FRICTIONS = (
    Friction(0.3, 0.05, 0.0, 20.0),
    Friction(0.5, 0.02, 0.02, 30.0),
    Friction(0.1, 0.2, 0.0, 10.0),
    Friction(0.4, 0.1, 0.1, 40.0),
)
"""From rough to slippery, from hardly to strongly resisting rolling, at rest and agitated.

Chutes on a rough bed wedge where mu reaches 0.7: impulses may then grow without bound in balance, no
velocities are strictly inside the dual cones, and no central path leads to a solution.
"""


@dataclass(frozen=True)
class Case:
    """One problem of the study, by its seed."""

    family: str
    """"pile" or "chute"."""
    spheres: int
    """How many are poured [-]."""
    seed: int
    """Of the pile [-]."""
    friction: Friction
    """Coefficients and motion."""
    bed: str = "rough"
    """Bed of a chute."""

    @property
    def name(self) -> str:
        """Says the family, the spheres, the coefficients and the seed."""
        what = self.family if self.family == "pile" else f"{self.bed} {self.family}"
        return f"{what}, {self.spheres} spheres, mu {self.friction.mu:g}, seed {self.seed}"

    def problem(self) -> GlobalProblem:
        """The contact problem of one step with rolling friction; 5 components per contact."""
        f = self.friction
        if self.family == "pile":
            return sphere_packing(
                spheres=self.spheres, seed=self.seed, mu=f.mu, mu_roll=f.roll * RADIUS, velocity=f.velocity,
                radius=RADIUS,
            )  # fmt: skip
        return chute(
            spheres=self.spheres, seed=self.seed, mu=f.mu, mu_roll=f.roll * RADIUS, velocity=f.velocity,
            radius=RADIUS, angle=f.angle, bed=self.bed, speed=0.1,
        )  # fmt: skip


SHOWN = {
    2: Case("pile", 2, 1, FRICTIONS[0]),
    4: Case("chute", 3, 1, FRICTIONS[1], "smooth"),
    100: Case("pile", 38, 6, FRICTIONS[1]),
    351: Case("chute", 133, 4, FRICTIONS[0]),
}
"""The problems whose iterations are shown, by their exact number of contacts."""


def cases(quick: bool = False) -> list[Case]:
    """All problems, 2 to some three thousand contacts, evenly in the logarithm; or a few small ones.

    Piles and chutes of the same spheres alternate with the friction; small chutes have a smooth bed,
    for all spheres of a few lie on the floor.
    """
    sizes, frictions = ([3, 12], FRICTIONS[:2]) if quick else (_sizes(), FRICTIONS)
    found = list(SHOWN.values())
    for step, spheres in enumerate(sizes):
        bed = "rough" if spheres >= 40 else "smooth"
        for which, friction in enumerate(frictions):
            seed = 10 * step + which
            found.append(Case("pile", spheres, seed, friction))
            found.append(Case("chute", spheres, seed + 5, friction, bed))
    return found


def _sizes() -> list[int]:
    """Numbers of spheres, each a little larger than the one before."""
    grown = np.geomspace(2.0, LARGEST, SIZES)
    return np.maximum(np.round(grown).astype(int), 2 + np.arange(SIZES)).tolist()
