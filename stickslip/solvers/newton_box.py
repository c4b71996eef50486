"""Semismooth Newton on box problems: the min function, and Fischer and Burmeister's.

The law of each pair is one equation of z and w = A z + b:

- min: z - P_[l, u](z - w) = 0, piecewise linear: each step solves the equations of one guess of the bounds;
- Fischer-Burmeister: phi(a, b) = a + b - sqrt(a² + b²), with phi(z - l, -phi(u - z, -w)) between two
  bounds (Billups 1995); |phi|²/2 is smooth and measures progress.

Steps of the min function are taken where they lower that measure; otherwise a step of Fischer and
Burmeister's with a line search, and where that is no descent its gradient (De Luca, Facchinei & Kanzow
2000). Where all stands still the next start is tried.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from stickslip.options import Options, iterations_option, option, tolerance_option
from stickslip.problem.box import BoxProblem
from stickslip.problem.checks import Array
from stickslip.problem.equilibration import equilibrate
from stickslip.problem.solution import Problem, Solution, Status
from stickslip.solvers.certify import Attempt, certified_box
from stickslip.solvers.lemke import GOLDEN, settled
from stickslip.solvers.registry import Progress
from stickslip.solvers.watch import Watch

STARTS = 6
"""Points to start from unless something else is asked for."""
ENOUGH = 0.9
"""Share of the measure below which a step of the min function is taken as it is."""
ARMIJO, SHORTEST = 1e-4, 2.0**-20
"""Share of the predicted decrease that a step must bring, and the shortest step."""
DESCENT = 1e-10
"""Least slope of a step, over |gradient| |step|, with which it counts as descent."""
STILL = 1e-14
"""Share of its size at start below which |phi| is rounding."""
NEAR = 1e-5
"""Error below which the equations of the bounds at hand are tried."""
PATIENCE, SLOW = 20, 0.9
"""Steps in which the measure must fall to this share, or the next start is tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MinFunction(Options):
    """Semismooth Newton on the min function with a line search, for problems without friction."""

    tolerance: float = tolerance_option()
    max_iterations: int = iterations_option(1_000, "Newton steps in all")
    starts: int = option(
        STARTS,
        "points to start from where Newton stands still: the guess, then others near the bounds",
        low=1,
    )

    def solve(
        self, problem: Problem, *, guess: ArrayLike | None = None, progress: Progress | None = None
    ) -> Solution:
        """Solve `problem` from `guess` (zero if none)."""
        method = partial(newton, True, self.max_iterations, self.starts, progress)
        return certified_box("newton-min", method, problem, guess, self.tolerance)


def newton(
    with_min: bool, limit: int, starts: int, progress: Progress | None,
    problem: BoxProblem, guess: Array | None, tolerance: float,
) -> Attempt:  # fmt: skip
    """Newton's steps on a box problem from one start after the other; without min those of phi alone."""
    with Watch(problem, tolerance, limit, progress) as watch:
        law = _Law(problem)
        for k in range(starts):
            z = law.start(guess, k)
            watch.look(law.units * z, 0)
            if watch.goes_on:
                _descend(law, watch, z, with_min)
            if not watch.goes_on:
                break
        if watch.goes_on:
            watch.stop(Status.STALLED, f"Newton stood still from each of {starts} starts")
    return watch.attempt()


def _descend(law: "_Law", watch: Watch, z: Array, with_min: bool) -> None:
    """Steps from z until the measure stands still."""
    phi, J = law.fischer_burmeister(z)
    first = measure = 0.5 * float(phi @ phi)
    tried, marks = False, [measure]
    while watch.goes_on and measure > STILL * STILL * first:
        new = law.min_step(z) if with_min else None
        if new is None or not law.measure(new) <= ENOUGH * measure:
            new = _searched(law, z, phi, J, measure)
        if new is None:
            break
        z = new
        error = watch.look(law.units * z)
        if watch.goes_on and error <= NEAR and not tried:
            watch.look(settled(law.problem, law.units * z), 0)
            tried = watch.error > 0.1 * error
        phi, J = law.fischer_burmeister(z)
        measure = 0.5 * float(phi @ phi)
        marks.append(measure)
        if not measure <= SLOW * marks[max(0, len(marks) - PATIENCE)] and len(marks) > PATIENCE:
            break
    if watch.goes_on:
        watch.look(settled(law.problem, law.units * z), 0)


def _searched(law: "_Law", z: Array, phi: Array, J: Array, measure: float) -> Array | None:
    """Fischer and Burmeister's step with Armijo's rule, the gradient's where it is no descent."""
    gradient = J.T @ phi
    for d in (_solved(J, -phi), _damped(J, phi, measure), -gradient):
        if d is None:
            continue
        slope = float(gradient @ d)
        if not slope <= -DESCENT * float(np.linalg.norm(gradient) * np.linalg.norm(d)):
            continue
        length = 1.0
        while length >= SHORTEST:
            if law.measure(z + length * d) <= measure + ARMIJO * length * slope:
                return z + length * d
            length *= 0.5
    return None


def _solved(J: Array, right: Array) -> Array | None:
    """J^-1 right, None where J is singular."""
    try:
        d = np.linalg.solve(J, right)
    except np.linalg.LinAlgError:
        return None
    return np.asarray(d, float) if np.isfinite(d).all() else None


def _damped(J: Array, phi: Array, measure: float) -> Array | None:
    """Levenberg and Marquardt's step, damped by the root of the measure."""
    weight = min(1e-2, max(1e-12, np.sqrt(2.0 * measure)))
    return _solved(J.T @ J + weight * np.eye(phi.size), -(J.T @ phi))


class _Law:
    """A box problem with entries of about 1 as equations of its unknowns: z of the problem is units z."""

    def __init__(self, problem: BoxProblem):
        self.problem = problem
        A = problem.A.toarray() if isinstance(problem.A, sp.csr_array) else problem.A
        rows, self.units = equilibrate(A)
        self.A, self.b = rows[:, None] * A * self.units, rows * problem.b
        self.lower, self.upper = problem.lower / self.units, problem.upper / self.units
        self.down, self.up = np.isfinite(self.lower), np.isfinite(self.upper)

    def start(self, guess: Array | None, k: int) -> Array:
        """Start number k: the guess, -b, and points spread over the size of b, shape (n,)."""
        z = np.zeros(self.b.size) if guess is None else guess / self.units
        if k == 1:
            z = -self.b
        elif k > 1:
            spread = (np.arange(1, self.b.size + 1) * k * GOLDEN) % 1.0
            z = np.exp2(k - 4.0) * (2.0 * spread - 0.5) * (float(np.abs(self.b).max(initial=0.0)) or 1.0)
        return np.clip(z, self.lower, self.upper)

    def min_step(self, z: Array) -> Array | None:
        """z after Newton's step of the min function: bounds kept where z - w is beyond them."""
        moved = z - (self.A @ z + self.b)
        inside = (moved > self.lower) & (moved < self.upper)
        new = np.where(inside, 0.0, np.where(moved <= self.lower, self.lower, self.upper))
        right = -(self.b + self.A @ new)
        part = _solved(self.A[np.ix_(inside, inside)], right[inside])
        if part is None:
            return None
        new[inside] = part
        return new

    def measure(self, z: Array) -> float:
        """|phi|²/2 at z."""
        with np.errstate(all="ignore"):
            phi = self._phi(z, self.A @ z + self.b)[0]
            return 0.5 * float(phi @ phi)

    def fischer_burmeister(self, z: Array) -> tuple[Array, Array]:
        """phi at z, shape (n,), and an element of its generalised Jacobian, shape (n, n)."""
        phi, of_z, of_w = self._phi(z, self.A @ z + self.b)
        J = of_w[:, None] * self.A
        J[np.diag_indices(z.size)] += of_z
        return phi, J

    def _phi(self, z: Array, w: Array) -> tuple[Array, Array, Array]:
        """phi and its slopes with respect to z and w, each shape (n,)."""
        phi, of_z, of_w = w.copy(), np.zeros(z.size), np.ones(z.size)
        up, down = self.up, self.down
        value, of_a, of_b = _phi(self.upper[up] - z[up], -w[up])
        phi[up], of_z[up], of_w[up] = -value, of_a, of_b
        value, of_a, of_b = _phi(z[down] - self.lower[down], phi[down])
        phi[down], of_z[down], of_w[down] = value, of_a + of_b * of_z[down], of_b * of_w[down]
        return phi, of_z, of_w


def _phi(a: Array, b: Array) -> tuple[Array, Array, Array]:
    """phi(a, b) = a + b - sqrt(a² + b²) and its slopes; at a = b = 0 those towards a = b > 0."""
    root = np.hypot(a, b)
    total = a + b
    away = root > 0.0
    safe = np.where(away, root, 1.0)
    # 2ab / (a + b + root) has no cancellation where a + b > 0
    value = np.where(total > 0.0, 2.0 * a * b / np.where(total > 0.0, total + safe, 1.0), total - root)
    middle = np.sqrt(0.5)
    return value, 1.0 - np.where(away, a / safe, middle), 1.0 - np.where(away, b / safe, middle)
