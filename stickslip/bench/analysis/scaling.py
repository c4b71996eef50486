"""Scaling of time with contacts: exponents fitted to the solved problems of a family."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from stickslip.bench.analysis.costs import Grid
from stickslip.problem.checks import Array

FEWEST = 4
"""Smallest number of problems of a fit."""
WIDTH = 4.0
"""Smallest ratio of the largest to the smallest number of contacts of a fit [-]."""


@dataclass(frozen=True, eq=False)
class Scaling:
    """Time over contacts of one solver on the solved problems of one family at one tolerance."""

    solver: str
    family: str
    contacts: Array
    """Numbers of contacts of the problems, ascending [-], shape (problems,)."""
    seconds: Array
    """Times on the problems [s], shape (problems,)."""
    exponent: float | None
    """p of seconds = c contacts^p by least squares in logarithms [-]; None without a fit."""
    error: float | None
    """Standard error of the exponent [-]."""
    factor: float | None
    """c: the time of one contact [s]."""
    reason: str = ""
    """Reason why there is no fit."""


def power_law(sizes: ArrayLike, costs: ArrayLike) -> tuple[float, float, float]:
    """Fit cost = factor size^exponent by least squares in logarithms.

    Returns exponent, standard error of the exponent, and factor. Sizes and costs must be positive, at least
    three, and not all sizes equal.
    """
    x, y = np.log(np.asarray(sizes, float)), np.log(np.asarray(costs, float))
    if len(x) < 3 or np.ptp(x) == 0.0:
        raise ValueError(f"{len(x)} sizes, {len(np.unique(x))} of them different: too few for a power law")
    (exponent, level), covariance = np.polyfit(x, y, 1, cov=True)
    return float(exponent), math.sqrt(covariance[0, 0]), math.exp(level)


def scaling(grid: Grid, family: str, solver: str, tolerance: float) -> Scaling:
    """Fit one solver on one family, if there are enough problems over a sufficient range of contacts."""
    points = []
    for entry in grid.family(family):
        seconds = grid.cost(grid.run(entry, solver, tolerance))
        if entry.features.contacts > 0 and 0.0 < seconds < math.inf:
            points.append((float(entry.features.contacts), seconds))
    contacts, times = np.array(sorted(points), float).reshape(-1, 2).T
    width = contacts[-1] / contacts[0] if len(contacts) else 1.0
    if len(contacts) < FEWEST:
        reason = f"{len(contacts)} solved, {FEWEST} needed"
    elif width < WIDTH:
        reason = f"contacts within a factor of {width:.2g}, {WIDTH:g} needed"
    else:
        return Scaling(solver, family, contacts, times, *power_law(contacts, times))
    return Scaling(solver, family, contacts, times, None, None, None, reason)
