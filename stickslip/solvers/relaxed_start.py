"""Where Newton's method begins when it has failed from sweeps: the centre of the relaxation's solutions.

Without De Saxcé's shift the problem is convex, its central path has no folds, and an interior point follows
it in ten to twenty-five steps, whatever the ratios of masses. Its last iterates are in the middle of all
impulses that solve the relaxation; proximal Newton with patience goes on from there to the exact law. It is a
start and no more: where something slides the relaxation is another law, and its impulses lean to large ones.
"""

from typing import NamedTuple

from stickslip.problem.checks import Array
from stickslip.problem.contact import ContactProblem
from stickslip.problem.convert.bodies import over_bodies
from stickslip.solvers.cone_motion import BodyMotion, motion
from stickslip.solvers.cone_point import ConePoint

END = 1e-7
"""Barrier at the end, as a share of the first: further on, rounding costs the centre."""
MOST = 45
"""Steps; problems of the standard collection and of benchmarks/hard.py took 8 to 25."""
CORRECTIONS = 3
"""Most centrality corrections of a step."""


class Centre(NamedTuple):
    """A point near the centre of the solutions of the relaxation."""

    r: Array
    """Impulses [N s], shape (n,)."""
    factors: int
    """Steps of the interior point."""
    operations: float
    """Multiplications of its factorisations."""
    name: str = "ipm"
    """Of the stage."""


def relaxed_centre(problem: ContactProblem) -> Centre:
    """The last iterate of an interior point on the relaxation of a problem with friction."""
    form = motion(over_bodies(problem))
    factor = "cholesky" if isinstance(form, BodyMotion) else ""
    point, steps = ConePoint(form, "nt-f", factor=factor, corrections=CORRECTIONS), 0
    end = END * point.kappa
    while point.kappa > end and steps < MOST:
        if isinstance(point.advance(), str):  # rounding: as near as it goes
            break
        steps += 1
    return Centre(point.answer().r, steps, point.system.operations)
