"""Performance profiles (Dolan & Moré 2002, Math. Program. 91, 201-213)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from stickslip.problem.checks import Array


@dataclass(frozen=True, eq=False)
class Profile:
    """For each solver, the share of all problems solved within a factor tau of the best solver."""

    taus: Array
    """The factors at which some share grows, ascending, the first is 1 [-], shape (k,)."""
    shares: Array
    """Shares of the problems, constant from each factor to the next [-], shape (solvers, k)."""

    def at(self, tau: float) -> Array:
        """The shares at a factor tau >= 1 [-], shape (solvers,)."""
        if not tau >= 1.0:
            raise ValueError(f"tau is {tau!r}; it must be a number >= 1")
        return np.asarray(self.shares[:, int(np.searchsorted(self.taus, tau, side="right")) - 1])


def performance_profile(times: ArrayLike) -> Profile:
    """The profile of costs (time, iterations: anything positive), shape (problems, solvers).

    An infinite cost is a failure. A problem that all solvers fail on stays in the count, as a miss
    of all of them. Equal costs, zeros among them, share the first place.
    """
    t = np.asarray(times, float)
    if t.ndim != 2 or 0 in t.shape:
        raise ValueError(f"times has shape {t.shape}; it must be (problems, solvers), none of them empty")
    if np.isnan(t).any() or (t < 0.0).any():
        problem, solver = np.argwhere(np.isnan(t) | (t < 0.0))[0].tolist()
        raise ValueError(
            f"times[{problem}, {solver}] is {t[problem, solver]}; it must be >= 0, or infinite for a failure"
        )
    best = t.min(axis=1, keepdims=True)
    solved = np.isfinite(t)
    ratio = np.full(t.shape, np.inf)
    with np.errstate(invalid="ignore", divide="ignore"):
        np.divide(t, best, out=ratio, where=solved)
    ratio[solved & (t == best)] = 1.0  # 0/0 too: as good as the best
    taus = np.unique(np.append(ratio[np.isfinite(ratio)], 1.0))
    shares = np.stack(
        [np.searchsorted(np.sort(column), taus, side="right") / t.shape[0] for column in ratio.T]
    )
    return Profile(taus, shares)
