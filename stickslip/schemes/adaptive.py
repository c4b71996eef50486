"""Adaptive step length by an error estimate: two steps of h are compared with one step of 2h.

Impacts reduce a time-stepping scheme to order one: a jump of v that is displaced in time by up to h leaves an
error of h |Δv| in q, and of |Δv| in v during that time. Therefore only positions are compared. If the motion
is smooth, the estimate decreases at least as h². A rejected pair of steps is assumed to contain an impact,
and h decreases by the rule for order one; after an accepted pair h increases by the rule for order two. An
impact late in the pair may be missed by all of these steps; it shows as an overlap at their end, which also
counts as an error.

Studer, Leine and Glocker 2008, Step size adjustment and extrapolation for time-stepping schemes in non-smooth
dynamics; Acary 2012, Higher order event capturing time-stepping schemes for nonsmooth multibody systems with
unilateral constraints and impacts.
"""

import math
from dataclasses import dataclass

import numpy as np

from stickslip.options import Options, option
from stickslip.problem.checks import Array

GROWTH, SHRINKAGE = 4.0, 0.1
"""Largest and smallest factor between successive step lengths [-] (heuristic)."""
FIRST = 0.01
"""Default of the first step length, relative to the longest [-] (heuristic)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adaptive(Options):
    """Options of adaptive steps: the error in position of each pair of steps, and bounds of the step length.

    Example:

        ball = ss.Lagrangian("ball", M=1.0, q0=1.0, F_ext=-9.81)
        steps = ss.schemes.Adaptive(tolerance=1e-5, h_max=0.05)
        run = ss.simulate(ss.NonsmoothSystem([ball]), until=0.2, adaptive=steps)
    """

    tolerance: float = option(
        1e-5, "absolute error of an entry of q or x in a pair of steps, in its unit", low=0.0, open_low=True
    )
    relative: float = option(0.0, "relative error of an entry; the two errors add up", low=0.0, high=1.0)
    h_min: float = option(
        1e-8, "shortest step, accepted with any error", unit="s", low=0.0, high=1e300, open_low=True
    )
    h_max: float = option(0.1, "longest step", unit="s", low=0.0, high=1e300, open_low=True)
    first: float = option(
        0.0, "first step; 0: a hundredth of the longest, or the shortest", unit="s", low=0.0, high=1e300
    )
    safety: float = option(0.9, "safety factor on the step length", low=0.0, high=1.0, open_low=True)

    def __post_init__(self) -> None:
        # Not super(): `slots` creates a new class, and super() would refer to the original one.
        Options.__post_init__(self)
        if self.h_min > self.h_max:
            raise ValueError(f"Adaptive: h_min is {self.h_min:g} s, more than h_max, {self.h_max:g} s")
        if self.first and not self.h_min <= self.first <= self.h_max:
            raise ValueError(
                f"Adaptive: first is {self.first:g} s, outside of h_min to h_max, {self.h_min:g} to"
                f" {self.h_max:g} s"
            )

    @property
    def begin(self) -> float:
        """Length of the first step [s]."""
        return self.first or max(self.h_min, FIRST * self.h_max)

    def error(self, fine: Array, coarse: Array, deeper: float) -> float:
        """Return the error of a pair of steps relative to the tolerance [-]: the largest difference of q
        after two steps and after one, or the increase `deeper` of overlaps [m]; inf if it is not finite."""
        allowed = self.tolerance + self.relative * np.abs(fine)
        worst = float((np.abs(fine - coarse) / allowed).max(initial=0.0))
        worst = max(worst, deeper / self.tolerance)
        return worst if math.isfinite(worst) else math.inf

    def longer(self, h: float, error: float) -> float:
        """Return the step length after an accepted pair of h [s]."""
        factor = GROWTH if error <= 0.0 else min(GROWTH, self.safety / math.sqrt(error))
        return min(self.h_max, max(self.h_min, h * factor))

    def shorter(self, h: float, error: float) -> float:
        """Return the step length after a rejected pair of h [s]."""
        return max(self.h_min, h * min(0.5, max(SHRINKAGE, self.safety / error)))
