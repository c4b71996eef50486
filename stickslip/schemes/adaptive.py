"""Steps whose length follows an error estimate: two steps of h against one of 2h.

Impacts make a time-stepping scheme of order one: a jump of v that is misplaced by up to h leaves an error of
h |Δv| in q, and one of |Δv| in v for as long as the jump is misplaced. So positions are compared, never
velocities. Where the motion is smooth the estimate falls at least as h². A pair of steps that is rejected
is taken to hold an impact, and h shrinks as an error of order one asks for; after one that is kept h grows as
one of order two allows. An impact that neither the two steps nor the one saw, because it comes late in them,
shows as an overlap at their end, which counts as an error as well.

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
"""Largest and smallest factor from one h to the next."""
FIRST = 0.01
"""The first h over the longest, unless it is given."""


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
        # Not super(): `slots` makes the class anew, and super() would be that of the one before.
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
        """Largest difference of q after two steps and after one, or by how much contacts overlap more than
        before [m], over what is allowed [-]; inf where it is not a number."""
        allowed = self.tolerance + self.relative * np.abs(fine)
        worst = float((np.abs(fine - coarse) / allowed).max(initial=0.0))
        worst = max(worst, deeper / self.tolerance)
        return worst if math.isfinite(worst) else math.inf

    def longer(self, h: float, error: float) -> float:
        """The step after a pair of h that was kept [s]."""
        factor = GROWTH if error <= 0.0 else min(GROWTH, self.safety / math.sqrt(error))
        return min(self.h_max, max(self.h_min, h * factor))

    def shorter(self, h: float, error: float) -> float:
        """The step to try after a pair of h that was rejected [s]."""
        return max(self.h_min, h * min(0.5, max(SHRINKAGE, self.safety / error)))
