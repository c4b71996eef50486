"""Laws of first-order systems in the event-driven scheme: diodes and relays whose switches are located.

    M ẋ = f(t, x) + Σ g(t, x, lam),  y = h(t, x, lam),  -y in the normal cone of [lower, upper] at lam

Between switches every component is in one of three modes: y = 0, maintained by lam; y > 0 with lam = lower;
or y < 0 with lam = upper. Interactions that share systems have relative degree 0, where lam follows from
y = 0, or 1, where h does not depend on lam and lam follows from ẏ = 0 (Acary & Brogliato 2008, chapters 4 and
8), or both (`event_driven_mixed`). At a switch the modes follow from the law at that instant and, for
components at a corner of it, from the same law on rates. Both are box problems, measured by the judge.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.problem.box import BoxProblem
from stickslip.problem.checks import Array, IntArray
from stickslip.problem.solution import Solution
from stickslip.schemes.event_driven_mixed import Choice
from stickslip.schemes.event_driven_network import ABOVE, BELOW, HELD, NEWTON, SINGULAR, Network, independent
from stickslip.schemes.event_driven_roots import Crossing
from stickslip.schemes.event_driven_standing import Standing
from stickslip.schemes.step import Event, Memory
from stickslip.state import BoolArray, ModelError
from stickslip.systems.system import NonsmoothSystem

STRICT = 1e-9
"""Output or multiplier, relative to the largest, that counts as zero at a switch [-] (heuristic)."""
STALLED = 20
"""Largest number of decisions at one instant, after which the step fails (heuristic)."""
ROUNDING, SAME = 1e-12, 10.0
"""Watched quantity that counts as zero, relative to the largest number of the state or 1 [-]; and duration
over which quantities are tested for rising, relative to `together` [-] (heuristic)."""
UNKNOWN = -9.0
"""Mode of an undecided component."""


def check(system: NonsmoothSystem) -> bool:
    """Whether interactions belong to first-order systems; raise ModelError if there are mechanical systems as
    well, or friction."""
    first = [
        one for one in system.interactions if one.systems and not system.systems[one.systems[0]].start.v.size
    ]
    if not first:
        return False
    if system.mechanical:
        raise ModelError(
            f"interaction {first[0].name!r} ties systems of first order beside mechanics, and event-driven"
            " carries one of the two; give each system its scheme, {'circuit': 'euler-moreau', ...}"
        )
    for one in first:
        if one.law.K.group_size.size:
            raise ModelError(
                f"interaction {one.name!r} has friction; event-driven takes complementarity, equalities,"
                " boxes and relays of first-order systems: use euler-moreau"
            )
    return True


@dataclass(frozen=True)
class Watched:
    """A quantity that must stay positive for the modes to remain valid."""

    kind: str
    """`output`, `lower` or `upper`."""
    component: int
    """Number of the component."""


class SwitchedFlow:
    """Right side ẋ with fixed modes, and watched quantities; it has the interface of `Flow`."""

    def __init__(self, network: Network, mode: Array, lam: Array):
        self.network, self.mode, self.guess = network, mode, lam
        self.nq, self.nv, self.end = network.at.q.size, 0, network.at.q.size
        self.components = np.zeros(0, np.int64)
        self.open: list[Any] = []
        self.watched: list[Watched] = []
        for k, value in enumerate(mode.tolist()):
            if value == HELD:
                bounds = (("lower", network.lower[k]), ("upper", network.upper[k]))
                self.watched += [Watched(kind, k) for kind, bound in bounds if math.isfinite(bound)]
            else:
                self.watched.append(Watched("output", k))

    def __call__(self, t: float, state: Array) -> Array:
        x = state[: self.nq]
        return self.network.rates(t, x, self._lam(t, x))

    def floors(self, t: float, state: Array, together: float) -> Array:
        """Return the magnitudes of negative values that still count as zero [any], shape (watched,):
        rounding, and the initial values of quantities that start slightly below zero and rise."""
        g, later = self.values(t, state), SAME * together
        rises = self.values(t + later, state + later * self(t, state)) >= 0.0
        rounding = ROUNDING * max(1.0, float(np.abs(state).max(initial=0.0)))
        return rounding + np.where(rises, np.maximum(-1.001 * g, 0.0), 0.0)

    def begin(self, q: Array, v: Array) -> Array:
        """Return the state at the start of this motion."""
        return np.array(q)

    def slopes(self, t: float, state: Array) -> Array:
        """Return the rates of gaps: none, shape (0,)."""
        return np.zeros(0)

    def value(self, i: int, t: float, state: Array) -> float:
        """Return watched quantity i."""
        return float(self.values(t, state)[i])

    def values(self, t: float, state: Array) -> Array:
        """Return the watched quantities [any], shape (watched,)."""
        x = state[: self.nq]
        lam = self._lam(t, x)
        y, network, out = self.network.outputs(t, x, lam), self.network, np.empty(len(self.watched))
        for i, watched in enumerate(self.watched):
            k = watched.component
            if watched.kind == "output":
                out[i] = self.mode[k] * y[k]
            else:
                out[i] = lam[k] - network.lower[k] if watched.kind == "lower" else network.upper[k] - lam[k]
        return out

    def _lam(self, t: float, x: Array) -> Array:
        """Return the multipliers [any], shape (size,); raise ModelError if they do not exist."""
        lam = self.network.multipliers(t, x, self.mode, self.guess)
        if not np.isfinite(lam).all():
            self.network.at.system.explain(t, x, np.zeros(0), self.network.at.z)
            names = ", ".join(repr(one.name) for one in self.network.system.interactions)
            raise ModelError(
                f"event-driven: at t = {t:.9g} s, the multipliers of {names} do not follow from their outputs"
                " nor, where those do not depend on them, from their rates: use euler-moreau"
            )
        return lam


class Switches:
    """Modes of all components, and the handling of switches; it has the interface of `Decisions`."""

    def __init__(self, at: Standing, memory: Memory):
        self.at, self.network = at, Network(at)
        self.mode: Array = np.array(memory["direction"])
        """Mode of each component [-], shape (size,)."""
        self.undecided = bool((self.mode == UNKNOWN).any())
        self.here = (math.nan, 0)
        at.pieces, at.groups = (), []

    def begin(self) -> None:
        """Determine the modes at the start of a run, and after jumps."""
        if self.undecided:
            self.undecided = False
            self._settle(np.zeros(self.mode.size, bool), quiet=True)

    def flow(self) -> SwitchedFlow:
        """Return the smooth motion with the current modes."""
        return SwitchedFlow(self.network, self.mode, self.at.lam)

    def leaving(self) -> list[Any]:
        """Return no interactions: none are integrated by time-stepping."""
        return []

    def forget(self, group: list[Any], pressed: BoolArray) -> None:
        """See `leaving`."""

    def take_over(self, group: list[Any]) -> None:
        """See `leaving`."""

    def decide(self, flow: Any, crossing: Crossing) -> None:
        """Update the modes after some watched quantities have crossed zero."""
        t, times = self.here
        self.here = (self.at.t, times + 1 if self.at.t == t else 1)
        passed = np.zeros(self.mode.size, bool)
        passed[[flow.watched[i].component for i in crossing.which.tolist()]] = True
        if self.here[1] > STALLED or len(self.at.events) >= self.at.options.max_events:
            names = ", ".join(sorted({repr(self._name(k)) for k in np.flatnonzero(passed).tolist()}))
            self.at.fail(
                f"at t = {self.at.t:.12g} s, {names} switch without end; their switches accumulate there, and"
                " euler-moreau carries them on"
            )
            return
        self._settle(passed, quiet=False)

    def finish(self) -> tuple[Array, Array]:
        """Remove the drift, and return multipliers and outputs at the end of a step [any], shape (size,)
        each."""
        at = self.at
        self._level()
        if not at.stopped:
            at.lam = self.network.multipliers(at.t, at.q, self.mode, at.lam)
            at.keep("end", (self._judged(),))
        return at.lam, self.network.outputs(at.t, at.q, at.lam)

    def _judged(self) -> Solution:
        """Return the law at the end of a step as a problem, with its multipliers and the judge's residuals.
        It is stated on outputs, and on rates for components of degree 1 with y = 0."""
        at, network = self.at, self.network
        rates = (network.degree == 1) & (self.mode == HELD)
        D, W, _ = network.responses(at.t, at.q, at.lam)
        A = np.where(rates[:, None], W, D)
        y, rate = network.outputs(at.t, at.q, at.lam), network.output_rates(at.t, at.q, at.lam)
        value = np.where(rates, rate, y)
        value[np.abs(value) <= ROUNDING * max(1.0, float(np.abs(at.q).max(initial=0.0)))] = 0.0
        problem = BoxProblem(A, value - A @ at.lam, network.lower, network.upper)
        return Solution.of_box(problem, at.lam, network.tolerance, "modes", 0)

    def _name(self, component: int) -> str:
        """Return the name of the interaction of a component."""
        return next(
            one.name
            for one in self.at.system.interactions
            if one.components.start <= component < one.components.stop
        )

    def _settle(self, passed: BoolArray, quiet: bool) -> None:
        """Determine multipliers and modes by 1. the law at this instant, and 2. for components at its corners
        the law on rates; 3. report the switches."""
        at, network, before = self.at, self.network, np.array(self.mode)
        if not self._choose(passed):
            return
        lam, both = np.array(at.lam), network.both
        first = network.degree == 1
        for _ in range(NEWTON):
            # 1. Degree 0: the law on y(lam). Degree 1: lam is at the bound given by the sign of y, and
            # follows    from the law on ẏ(lam) if y = 0.
            D, W, _ = network.responses(at.t, at.q, lam)
            y = network.outputs(at.t, at.q, lam)
            rate = network.output_rates(at.t, at.q, lam)
            near = np.abs(y) <= self._small(y, at.q)
            near |= before == HELD
            near |= passed
            lower, upper = np.array(network.lower), np.array(network.upper)
            far = first & ~near
            lower = np.where(far & (y < 0.0), upper, lower)
            upper = np.where(far & (y > 0.0), network.lower, upper)
            lower, upper = np.where(both, lam, lower), np.where(both, lam, upper)
            wrong = far & ~(np.isfinite(lower) & np.isfinite(upper))
            if wrong.any():
                k = int(np.flatnonzero(wrong)[0])
                at.fail(
                    f"at t = {at.t:.12g} s, y = {y[k]:.3g} of interaction {self._name(k)!r} has a sign that"
                    " its law does not allow, and a continuous state cannot change; begin where it holds"
                )
                return
            A = np.where(first[:, None], W, D)
            value = np.where(first, rate, y)
            solution = self._solved(A, value - A @ lam, lower, upper)
            if solution is None:
                return
            moved, lam = float(np.abs(solution - lam).max()), solution
            if moved <= 1e-12 * max(1.0, float(np.abs(lam).max())):
                break
        y = network.outputs(at.t, at.q, lam)
        rate = network.output_rates(at.t, at.q, lam)
        value = np.where(first, rate, y)
        # 2. Modes by the signs of outputs and the bounds of multipliers; corners by the law on rates.
        tight = STRICT * max(1.0, float(np.abs(lam).max()))
        at_lower, at_upper = lam <= network.lower + tight, lam >= network.upper - tight
        zero = np.abs(value) <= self._small(value, at.q)
        side = np.where(at_upper & ~at_lower, BELOW, ABOVE)
        mode = np.where(first & ~near, np.where(y > 0.0, ABOVE, BELOW), HELD)
        corner = (at_lower | at_upper) & zero & ~(first & ~near) & ~both
        mode = np.where((at_lower | at_upper) & ~zero & ~(first & ~near), side, mode)
        if corner.any():
            mode = self._corners(mode, corner, side, lam, rate, passed, before)
        mode = np.where(both, self.mode, mode)
        # 3. Events.
        self.mode, at.lam = mode, lam
        for one in at.system.interactions:
            if not quiet and (mode[one.components] != before[one.components]).any():
                at.events.append(Event(at.t, "switch", one.name))

    def _choose(self, passed: BoolArray) -> bool:
        """Select modes and multipliers of components with both degrees; return False if there are none."""
        at, network = self.at, self.network
        mode = np.where(self.mode == UNKNOWN, math.nan, self.mode)
        for group in network.mixed:
            choice = Choice(network, at.t, at.q, group)
            selection = choice.find(mode, passed, at.lam, at.substep)
            if selection is None:
                names = ", ".join(sorted({repr(self._name(k)) for k in group.tolist()}))
                at.fail(
                    f"at t = {at.t:.12g} s, no modes of {names} keep their laws without a jump of the state;"
                    " begin where they hold, or use euler-moreau"
                )
                return False
            chosen, solution = selection
            at.keep("switch", (solution,))
            self.mode[group] = mode[group] = chosen[group]
            at.lam[group] = network.multipliers(at.t, at.q, np.where(np.isnan(mode), HELD, mode), at.lam)[
                group
            ]
        return True

    def _corners(
        self, mode: Array, corner: BoolArray, side: Array, lam: Array, rate: Array, passed: BoolArray,
        before: Array,
    ) -> Array:  # fmt: skip
        """Return the modes of components at corners of the law: for degree 0 by the law on the rates of y and
        lam; if that does not decide, or for degree 1, a mode that differs from the one that has just
        ended."""
        network, at = self.network, self.at
        other = np.where(before == HELD, side, HELD)
        mode = np.where(corner, np.where(passed, other, np.where(before == HELD, HELD, side)), mode)
        zeroth = corner & (network.degree == 0)
        if not zeroth.any():
            return mode
        # Rates of lam: free in the mode y = 0, 0 in the other modes, one-sided at corners.
        D, _, _ = network.responses(at.t, at.q, lam)
        lower = np.where(corner, np.where(side == ABOVE, 0.0, -np.inf), np.where(mode == HELD, -np.inf, 0.0))
        upper = np.where(corner, np.where(side == ABOVE, np.inf, 0.0), np.where(mode == HELD, np.inf, 0.0))
        places = np.flatnonzero(network.degree == 0)
        rates = self._solved(D[np.ix_(places, places)], rate[places], lower[places], upper[places])
        if rates is None:
            return mode
        slope = np.zeros(mode.size)
        slope[places] = rates
        value = np.zeros(mode.size)
        value[places] = D[np.ix_(places, places)] @ rates + rate[places]
        scale = float(np.abs(rate[places]).max())
        moves = np.abs(slope) > STRICT * max(float(np.abs(slope).max()), 1e-300)
        opens = np.abs(value) > STRICT * max(scale, 1e-300)
        return np.where(zeroth & moves, HELD, np.where(zeroth & opens, side, mode))

    def _solved(self, A: Array, b: Array, lower: Array, upper: Array) -> Array | None:
        """Solve a box problem of components, without those whose bounds are equal; None if it fails."""
        fixed = np.isfinite(lower) & (lower == upper)
        z = np.where(fixed, lower, 0.0)
        places = np.flatnonzero(~fixed)
        if places.size:
            problem = BoxProblem(
                A[np.ix_(places, places)], b[places] + A[places] @ z, lower[places], upper[places]
            )
            solution = self.at.solver.solve(problem)
            self.at.keep("switch", (solution,))
            if not solution.ok:
                self.at.fail(
                    f"at t = {self.at.t:.12g} s, the law of a switch is not solved ({solution.reason}); where"
                    " outputs that are coupled have different relative degrees and are not linear, use"
                    " euler-moreau"
                )
                return None
            z[places] = solution.r
        return z

    def _small(self, value: Array, x: Array) -> float:
        """Return the magnitude below which values count as zero."""
        size = max(1.0, float(np.abs(x).max(initial=0.0)))
        return max(STRICT * float(np.abs(value).max(initial=0.0)), 1e-11 * size)

    def _level(self) -> None:
        """Remove the drift of outputs of degree 1 with y = 0, by the least inputs."""
        at, network = self.at, self.network
        held: IntArray = np.flatnonzero((self.mode == HELD) & ((network.degree == 1) | network.both))
        if not held.size or at.stopped:
            return
        y = network.outputs(at.t, at.q, at.lam)[held]
        D, W, G = network.responses(at.t, at.q, at.lam)
        block = np.ix_(held, held)
        # Combinations of outputs that do not depend on lam: all of them for degree 1.
        rows = independent(D[block], float(np.abs(D).max()))[1]
        least = np.linalg.lstsq(rows.T @ W[block], -(rows.T @ y), rcond=SINGULAR)[0]
        drift = G[:, held] @ least
        at.q = at.q + drift
        at.projection = max(at.projection, float(np.abs(drift).max()))
