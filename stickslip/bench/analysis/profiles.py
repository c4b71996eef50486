"""Performance profiles (Dolan & Moré 2002, Math. Program. 91, 201-213) and data profiles (Moré & Wild 2009,
SIAM J. Optim. 20(1), 172-191)."""

from dataclasses import dataclass
from operator import attrgetter

import numpy as np
from numpy.typing import ArrayLike

from stickslip.bench.analysis.costs import ratios
from stickslip.problem.checks import Array


@dataclass(frozen=True, eq=False)
class Profile:
    """Share of the problems that each solver solves within a factor tau of the best solver (performance
    profile), or within a cost alpha (data profile)."""

    places: Array
    """Factors [-] or costs [s, or s per contact] at which some share increases, ascending; the first is 1, or
    0 for costs, shape (k,)."""
    shares: Array
    """Shares of the problems, constant from each place to the next [-], shape (solvers, k)."""
    name: str = "tau"
    """Symbol of the places: tau or alpha."""
    taus = alphas = property(attrgetter("places"))
    """The places by the symbols of Dolan & Moré and of Moré & Wild."""

    def at(self, place: float) -> Array:
        """Shares at a factor or cost, which must be at least the first place [-], shape (solvers,)."""
        if not place >= self.places[0]:
            raise ValueError(f"{self.name} is {place!r}; it must be a number >= {self.places[0]:g}")
        return np.asarray(self.shares[:, int(np.searchsorted(self.places, place, side="right")) - 1])


def performance_profile(times: ArrayLike) -> Profile:
    """Performance profile of costs (times, iterations, or other positive numbers), shape (problems, solvers).

    An infinite cost is a failure. Problems on which all solvers fail are counted. Equal costs, also zeros,
    share the first rank.
    """
    return Profile(*_shares(ratios(_checked(times)), 1.0))


def data_profile(times: ArrayLike, sizes: ArrayLike | None = None) -> Profile:
    """Data profile of costs, shape (problems, solvers); infinite costs are failures.

    With `sizes`, shape (problems,), the costs are divided by them: contacts replace the n + 1 evaluations of
    a simplex gradient, the unit of Moré & Wild. Otherwise alpha is the time.
    """
    t = _checked(times)
    if sizes is not None:
        n = np.asarray(sizes, float)
        if n.shape != t.shape[:1] or not (np.isfinite(n) & (n > 0.0)).all():
            raise ValueError(
                f"sizes has shape {n.shape}; it must be ({t.shape[0]},), one positive number for each problem"
            )
        t = t / n[:, None]
    return Profile(*_shares(t, 0.0), "alpha")


def _checked(times: ArrayLike) -> Array:
    t = np.asarray(times, float)
    if t.ndim != 2 or 0 in t.shape:
        raise ValueError(f"times has shape {t.shape}; it must be (problems, solvers), none of them empty")
    if np.isnan(t).any() or (t < 0.0).any():
        problem, solver = np.argwhere(np.isnan(t) | (t < 0.0))[0].tolist()
        raise ValueError(
            f"times[{problem}, {solver}] is {t[problem, solver]}; it must be >= 0, or infinite for a failure"
        )
    return t


def _shares(costs: Array, first: float) -> tuple[Array, Array]:
    """Places at which a share of some column of costs increases, from `first` on, and the shares there."""
    places = np.unique(np.append(costs[np.isfinite(costs)], first))
    shares = [np.searchsorted(np.sort(column), places, side="right") / costs.shape[0] for column in costs.T]
    return places, np.stack(shares)
