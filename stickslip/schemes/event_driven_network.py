"""First-order systems and their interactions at one instant, for the event-driven scheme.

    M ẋ = f(t, x) + Σ g(t, x, lam),  y = h(t, x, lam)

For components with y = 0, lam follows from y = 0 (relative degree 0), from ẏ = 0 if h does not depend on lam
(degree 1), or from both if some combinations of outputs depend on lam and others do not.
"""

import math

import numpy as np

from stickslip.problem.checks import Array, IntArray
from stickslip.schemes.event_driven_standing import Standing
from stickslip.schemes.problems import coupled

HELD, ABOVE, BELOW = 0.0, 1.0, -1.0
"""Modes of a component: y = 0, y > 0 and lam = lower, y < 0 and lam = upper."""
SINGULAR = 1e-13
"""Ratio of singular values below which the equations of multipliers count as singular [-]."""
UNSOLVED = 1e-9
"""Largest residual of the equations of multipliers, relative to the largest multiplier or state [-]
(heuristic)."""
NEWTON = 30
"""Largest number of Newton iterations if h or g is not affine in lam."""
SHIFT = 1e-6
"""Step of difference quotients of outputs by t [s], relative to max(1, |t|)."""


def independent(D: Array, largest: float) -> tuple[Array, Array]:
    """Return the combinations of the rows of D that depend on lam, and those that do not, as columns [-],
    shapes (rows, rank) and (rows, rows - rank); largest: scale of the singular values of D."""
    U, sizes, _ = np.linalg.svd(D)
    rank = int((sizes > SINGULAR * max(largest, 1e-300)).sum())
    return U[:, :rank], U[:, rank:]


class Network:
    """Multipliers, outputs and rates of first-order systems and their interactions."""

    def __init__(self, at: Standing):
        self.at, self.system = at, at.system
        self.tolerance = float(getattr(at.solver, "tolerance", UNSOLVED))
        """Tolerance of the problems of the run [-]."""
        self.lower, self.upper = np.zeros(at.system.size), np.zeros(at.system.size)
        for one in at.system.interactions:
            K = one.law.K
            self.lower[one.components], self.upper[one.components] = K.lower, K.upper
        self.affine = all(one.flow.linear for one in at.system.interactions)
        self.degree = np.zeros(at.system.size, np.int64)
        """Relative degree of each component [-], shape (size,), the same for all coupled components."""
        self.mixed: list[IntArray] = []
        """Sets of coupled components in which some combinations of outputs depend on lam and others do not;
        their degree is 0."""
        D = self.jacobians(at.t, at.q, at.lam)[1]
        for group in coupled(list(at.system.interactions)):
            components = np.concatenate(
                [np.arange(one.components.start, one.components.stop) for one in group]
            )
            inner = D[np.ix_(components, components)]
            depends = bool(inner.any())
            self.degree[components] = 0 if depends else 1
            linear = depends and all(one.flow.linear for one in group)
            if linear and independent(inner, float(np.abs(inner).max()))[1].size:
                self.mixed.append(components)
        self.both = np.zeros(at.system.size, bool)
        """Whether a component is in one of `mixed` [-], shape (size,), bool."""
        for components in self.mixed:
            self.both[components] = True

    def outputs(self, t: float, x: Array, lam: Array) -> Array:
        """Return y [any], shape (size,)."""
        t, out = self.at.motion.within(t), np.empty(lam.size)
        for one in self.system.interactions:
            out[one.components] = one.flow.h(t, x[one.q], lam[one.components], self.at.z[one.z])
        return out

    def rates(self, t: float, x: Array, lam: Array) -> Array:
        """Return ẋ [any], shape (nx,)."""
        inputs, now = np.zeros(x.size), self.at.motion.within(t)
        for one in self.system.interactions:
            inputs[one.q] += one.flow.g(now, x[one.q], lam[one.components], self.at.z[one.z])
        return self.at.motion.velocities(t, x, inputs)

    def jacobians(self, t: float, x: Array, lam: Array) -> tuple[Array, Array, Array]:
        """Return C, D and B of all interactions [any], shapes (size, nx), (size, size), (nx, size)."""
        t, n, m = self.at.motion.within(t), x.size, lam.size
        C, D, B = np.zeros((m, n)), np.zeros((m, m)), np.zeros((n, m))
        for one in self.system.interactions:
            at, rows = (t, x[one.q], lam[one.components], self.at.z[one.z]), one.components
            C[rows, one.q], D[rows, rows] = one.flow.C(*at), one.flow.D(*at)
            B[one.q, rows] = one.flow.B(*at)
        return C, D, B

    def output_rates(self, t: float, x: Array, lam: Array) -> Array:
        """Return ẏ = C ẋ + ∂h/∂t at fixed lam [any/s], shape (size,)."""
        C = self.jacobians(t, x, lam)[0]
        s, motion = SHIFT * max(1.0, abs(t)), self.at.motion
        low, high = motion.within(t - s), motion.within(t + s)
        by_time = (self.outputs(high, x, lam) - self.outputs(low, x, lam)) / (high - low)
        return C @ self.rates(t, x, lam) + by_time

    def responses(self, t: float, x: Array, lam: Array) -> tuple[Array, Array, Array]:
        """Return D, ∂ẏ/∂lam = C M⁻¹ B, and M⁻¹ B [any], shapes (size, size) twice, (nx, size)."""
        C, D, B = self.jacobians(t, x, lam)
        G = self.at.motion.mobility(t, x) @ B
        return D, C @ G, G

    def function(self, t: float, x: Array, lam: Array) -> tuple[Array, Array]:
        """Return the functions that lam makes zero in the mode y = 0, y or by its degree ẏ, and their
        derivatives by lam [any], shapes (size,), (size, size)."""
        first = self.degree == 1
        if not first.any():
            return self.outputs(t, x, lam), self.jacobians(t, x, lam)[1]
        D, W, _ = self.responses(t, x, lam)
        value = np.where(first, self.output_rates(t, x, lam), self.outputs(t, x, lam))
        return value, np.where(first[:, None], W, D)

    def multipliers(self, t: float, x: Array, mode: Array, guess: Array) -> Array:
        """Return lam for the modes [any], shape (size,); nan if its equations are singular."""
        held = np.flatnonzero((mode == HELD) & ~self.both)
        lam = np.where(mode == HELD, guess, np.where(mode == ABOVE, self.lower, self.upper))
        for _ in range((1 if self.affine else NEWTON) if held.size else 0):
            value, slope = self.function(t, x, lam)
            A = slope[np.ix_(held, held)]
            try:
                step = np.linalg.solve(A, value[held])
            except np.linalg.LinAlgError:
                return np.full(lam.size, math.nan)
            lam[held] -= step
            if np.abs(step).max() <= 1e-14 * max(1.0, np.abs(lam[held]).max()):
                break
        for group in self.mixed:
            members = group[mode[group] == HELD]
            if members.size:
                lam[members] += self._change(t, x, lam, members)
        return lam

    def _change(self, t: float, x: Array, lam: Array, held: IntArray) -> Array:
        """Return the least change of lam of held components for which they stay at y = 0 [any], shape
        (held,); nan if there is none.

        1. y = 0 in the combinations of outputs that depend on lam; 2. ẏ = 0 in the others.
        """
        D, W, _ = self.responses(t, x, lam)
        block, largest = np.ix_(held, held), float(np.abs(D).max())
        zeroth, first = independent(D[block], largest)
        # One unit for both kinds of rows, so that one ratio of singular values decides the rank.
        unit = largest / max(float(np.abs(W).max()), 1e-300)
        y, rate = self.outputs(t, x, lam)[held], self.output_rates(t, x, lam)[held]
        value = np.concatenate([zeroth.T @ y, unit * (first.T @ rate)])
        A = np.vstack([zeroth.T @ D[block], unit * (first.T @ W[block])])
        change = np.linalg.lstsq(A, -value, rcond=1e-10)[0]
        size = max(
            1.0, float(np.abs(lam).max()), float(np.abs(x).max(initial=0.0)), float(np.abs(value).max())
        )
        if float(np.abs(A @ change + value).max()) > UNSOLVED * size:
            return np.full(held.size, np.nan)
        return change
