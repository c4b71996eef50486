"""Runs of structures on tilted ground: do they stand, and at which angle do they not any more?

A structure is placed at rest and let go. If forces in Coulomb's cones hold it, rest is a solution of every
step's problem; if none do, it moves off, the faster the farther the angle is beyond the critical one: a few
steps tell. Rest need not be the only solution: with friction there may be others in which joints slip, and a
solver may find either. So two angles are looked for. Up to the first, rest is a solution: where the convex
relaxation is at rest, so is Coulomb's law, and that answer passes the judge of the exact law (`RestFirst`).
Up to the second the structure stands when the solver is left to itself.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from stickslip.mechanics.world import World
from stickslip.problem.solution import AnyProblem, Solution
from stickslip.scenes.measures import GRAVITY
from stickslip.scenes.rest import speed
from stickslip.schemes.step import Solver
from stickslip.simulation.world_loop import simulate_world
from stickslip.simulation.world_trajectory import WorldTrajectory
from stickslip.solvers import registry as solvers
from stickslip.studies.tilt_models import Structure

TOLERANCE = 1e-8
"""Of the solver [-]."""
MOVED = 3e-5
"""Least share of the speed of free fall that counts as falling [-]: far above what the solver's tolerance
leaves of a structure at rest, and, as a body moves off at about g times the angle past the critical one,
about the error in radian that it makes."""


@dataclass(frozen=True)
class Plan:
    """How much is done."""

    h: float = 1e-3
    """Time step [s]."""
    first: int = 1
    """Steps after which it is known whether rest is a solution."""
    steps: int = 20
    """Steps after which a structure that is let go stands or not."""
    width: float = 0.01
    """Of the bracket in which bisection ends [deg]."""
    long: float = 0.5
    """How long the runs beside the critical angle are [s]."""
    below: float = 0.25
    """How far below it the one is [deg]."""
    above: float = 3.0
    """How far above it the other is, so that the fall is seen [deg]."""
    stones: tuple[int, ...] = (5, 7, 9, 11, 15, 21, 31, 63, 127)
    """Of the arches whose least thickness limit analysis finds."""
    thicknesses: tuple[float, ...] = (0.12, 0.15, 0.2, 0.25, 0.3)
    """t / R of the arches that are tilted for the figure."""


QUICK = Plan(width=0.1, long=0.05, stones=(5, 11, 31), thicknesses=(0.2,))


@dataclass(frozen=True, eq=False)
class Found:
    """A critical tilt of a structure."""

    structure: Structure
    low: float
    """Largest angle at which it stood [deg]."""
    high: float
    """Least at which it fell [deg]."""
    tried: list[tuple[float, float]]
    """Angles [deg] and the speeds reached, over that of free fall [-]."""
    missed: int
    """Steps that missed the solver's tolerance, in all runs."""

    @property
    def angle(self) -> float:
        """The middle of the two [deg]."""
        return 0.5 * (self.low + self.high)


class RestFirst:
    """Gives the answer of the convex relaxation where that is one of the exact law too, as it is at rest."""

    def __init__(self) -> None:
        self.tolerance = TOLERANCE
        self._relaxed = solvers.make("ipm", tolerance=TOLERANCE, law="relaxed", algorithm="nt-f")
        self._exact = left_to_itself()

    def solve(self, problem: AnyProblem, *, guess: ArrayLike | None = None) -> Solution:
        """The certified answer."""
        found: Solution = self._relaxed.solve(problem, guess=guess)
        return found if found.ok else self._exact.solve(problem, guess=guess)


def left_to_itself() -> Solver:
    """The solver as `stickslip.simulate` has it."""
    return solvers.make("auto", tolerance=TOLERANCE)


def can_stand(structure: Structure, plan: Plan) -> Found:
    """The angle up to which rest is a solution."""
    return _bisected(structure, plan, plan.first, RestFirst())


def let_go(structure: Structure, plan: Plan) -> Found:
    """The angle up to which it stands when the solver is left to itself."""
    return _bisected(structure, plan, plan.steps, left_to_itself())


def rolled(world: World, h: float, until: float, solver: Solver) -> WorldTrajectory:
    """The world let go; steps that miss their tolerance are counted."""
    return simulate_world(
        world, until=until, h=h, solver=solver, solver_name="auto", tolerance=TOLERANCE, on_failure="accept"
    )


def _bisected(structure: Structure, plan: Plan, steps: int, solver: Solver) -> Found:
    """What moves in most steps of the second half of a run falls: friction lets it slip, or jam, for one."""
    tried: list[tuple[float, float]] = []
    missed = 0

    def falls(angle: float) -> bool:
        nonlocal missed
        trajectory = rolled(structure.world(angle), plan.h, steps * plan.h, solver)
        missed += trajectory.missed
        late = slice(1 + steps // 2, None)
        share = float(np.median(speed(trajectory)[late] / (GRAVITY * trajectory.t[late])))
        tried.append((angle, share))
        return share > MOVED

    low, high = bracket(falls, 0.0, 60.0, plan.width)
    return Found(structure, low, high, sorted(tried), missed)


def bracket(falls: Callable[[float], bool], low: float, high: float, width: float) -> tuple[float, float]:
    """Two angles no farther apart than `width`, at the lower of which it stands and at the other it falls;
    NaN where the ends of the range are not such."""
    if falls(low) or not falls(high):
        return float("nan"), float("nan")
    while high - low > width:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if falls(middle) else (middle, high)
    return low, high
