"""Mode selection at a switch, for first-order systems whose outputs have relative degrees 0 and 1 together.

    M ẋ = f(t, x) + B lam,  y = C x + D lam,  -y in the normal cone of [lower, upper] at lam,  D singular

An example is a diode before a capacitor: its current follows from the rate of its voltage, while other
currents of the network follow from outputs. All choices of modes of the components at corners of their law
are tried, and one is selected whose motion satisfies the law from this instant on (van der Schaft &
Schumacher 1998, Complementarity modeling of hybrid systems, section IV).
"""

import itertools
from collections.abc import Iterator

import numpy as np

from stickslip.problem.box import BoxProblem
from stickslip.problem.checks import Array, IntArray
from stickslip.problem.solution import Solution
from stickslip.schemes.event_driven_network import ABOVE, BELOW, HELD, Network
from stickslip.state import BoolArray

ACCEPTED = 1e-8
"""Largest residual of selected modes [-] (heuristic); residuals above the tolerance of the run are
reported."""
MOST = 4096
"""Largest number of choices of modes at one switch: 12 diodes at their corners at once."""
LOOKS = (1e-2, 1e-3, 1e-4, 1e-5)
"""Durations over which the law is tested, relative to the integrator's step [-] (heuristic). Long durations
discriminate better between choices, short ones end before the next switch."""
CORNER = 1e-7
"""Distance from a corner of the law, relative to the largest output or multiplier, that counts as zero [-]
(heuristic)."""


class Choice:
    """Selection of the modes of coupled components with both degrees, at one instant."""

    def __init__(self, network: Network, t: float, x: Array, own: IntArray):
        self.network, self.t, self.x, self.own = network, t, x, own
        self.tried = 0
        """Number of choices tried [-]."""

    def find(
        self, before: Array, passed: BoolArray, lam: Array, step: float
    ) -> tuple[Array, Solution] | None:
        """Return modes of all components, shape (size,), with which the law of `own` holds from now on, and
        the solution of the law at this instant; None if there are none.

        before: previous modes, nan if not known; passed: components that have just crossed a corner; step:
        duration over which the state changes little [s].
        """
        # 1. Components at corners of the law, and those that have just passed one, may change.
        known = not np.isnan(before[self.own]).any()
        arrived = self._multipliers(self.t, self.x, before, lam) if known else None
        lam = lam if arrived is None else arrived
        corner = np.isnan(before) | passed | self._corners(before, lam)
        free = self.own[corner[self.own]]
        choices = list(self._choices(before, free))
        # 2. The choice with the fewest changes that satisfies the law over the longest duration.
        for look in LOOKS:
            for mode in choices:
                solution = self._lasts(mode, lam, look * step)
                if solution is not None:
                    return mode, solution
        return None

    def _corners(self, before: Array, lam: Array) -> BoolArray:
        """Whether a component is at a corner of its law [-], shape (size,)."""
        network = self.network
        y = network.outputs(self.t, self.x, lam)
        near = CORNER * max(float(np.abs(lam[self.own]).max()), 1e-300)
        bound = np.minimum(np.abs(lam - network.lower), np.abs(network.upper - lam)) <= near
        return np.asarray(bound & (np.abs(y) <= CORNER * max(1.0, float(np.abs(y[self.own]).max()))))

    def _choices(self, before: Array, free: IntArray) -> Iterator[Array]:
        """Yield all modes in which only `free` components change, fewest changes first; nothing if there are
        more than `MOST`."""
        kinds = [
            [HELD]
            + [ABOVE] * bool(np.isfinite(self.network.lower[k]))
            + [BELOW] * bool(np.isfinite(self.network.upper[k]))
            for k in free.tolist()
        ]
        if np.prod([float(len(kind)) for kind in kinds]) > MOST:
            return
        choices = [np.array(choice) for choice in itertools.product(*kinds)]
        for choice in sorted(choices, key=lambda choice: int((choice != before[free]).sum())):
            mode = np.where(np.isnan(before), HELD, before)
            mode[free] = choice
            yield mode

    def _lasts(self, mode: Array, lam: Array, look: float) -> Solution | None:
        """Return the solution of the law at this instant with these modes, with the judge's residuals; None
        if it is not solved, or if the law is violated after `look` [s] of motion."""
        # 1. The law at this instant.
        self.tried += 1
        now = self._multipliers(self.t, self.x, mode, lam)
        if now is None or not self._holds(self.t, self.x, mode, now, 1e-9):
            return None
        network, group = self.network, self.own
        D = network.responses(self.t, self.x, now)[0][np.ix_(group, group)]
        y = network.outputs(self.t, self.x, now)[group]
        problem = BoxProblem(D, y - D @ now[group], network.lower[group], network.upper[group])
        solution = Solution.of_box(problem, now[group], network.tolerance, "modes", self.tried)
        if not solution.residuals.solved(ACCEPTED):
            return None
        # 2. One step of the classical Runge-Kutta method; the violation may be of second order in `look`.
        slopes, x = [network.rates(self.t, self.x, now)], self.x
        for share in (0.5, 0.5, 1.0):
            x = self.x + share * look * slopes[-1]
            then = self._multipliers(self.t + share * look, x, mode, now)
            if then is None:
                return None
            slopes.append(network.rates(self.t + share * look, x, then))
        a, b, c, d = slopes
        x = self.x + look / 6.0 * (a + 2.0 * b + 2.0 * c + d)
        then = self._multipliers(self.t + look, x, mode, now)
        lasts = then is not None and self._holds(self.t + look, x, mode, then, 1e-12)
        return solution if lasts else None

    def _multipliers(self, t: float, x: Array, mode: Array, guess: Array) -> Array | None:
        """Return the multipliers of modes; None if they do not exist."""
        lam = self.network.multipliers(t, x, mode, guess)
        return lam if np.isfinite(lam[self.own]).all() else None

    def _holds(self, t: float, x: Array, mode: Array, lam: Array, tolerance: float) -> bool:
        """Whether outputs have the signs of their modes and multipliers are within bounds, to `tolerance`."""
        network, group = self.network, self.own
        y, low, high, of = (
            network.outputs(t, x, lam)[group],
            network.lower[group],
            network.upper[group],
            lam[group],
        )
        held = mode[group] == HELD
        least = -tolerance * max(1.0, float(np.abs(x).max(initial=0.0)))
        inside = np.minimum(of - low, high - of) >= least
        return bool(np.where(held, inside, mode[group] * y >= least).all())
