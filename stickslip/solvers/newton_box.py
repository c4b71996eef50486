"""Semismooth Newton on box problems, with the min function and the Fischer-Burmeister function.

The law of each pair is one equation in z and w = A z + b:

- min: z - P_[l, u](z - w) = 0, piecewise linear: each step solves the equations of one set of active bounds;
- the Fischer-Burmeister function phi, whose merit |phi|²/2 is smooth and measures progress (`mcp_newton.py`).

A step of the min function is accepted if it reduces that merit; otherwise a Fischer-Burmeister step with a
line search is made (De Luca, Facchinei & Kanzow 2000). If no step makes progress, the next starting point is
tried.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from stickslip.options import iterations_option, option
from stickslip.problem.box import BoxProblem
from stickslip.problem.checks import Array
from stickslip.problem.equilibration import equilibrate
from stickslip.problem.solution import Status
from stickslip.solvers.base import BoxSolver
from stickslip.solvers.lemke import GOLDEN, settled
from stickslip.solvers.mcp_newton import Newton
from stickslip.solvers.watch import Watch

STARTS = 6
"""Default number of starting points."""
ENOUGH = 0.9
"""Factor by which the merit must fall for a step of the min function to be accepted."""
STILL = 1e-14
"""Ratio of |phi| to its first value below which it is rounding."""
NEAR = 1e-5
"""Error below which the equations of the current active bounds are solved."""
PATIENCE, SLOW = 20, 0.9
"""Number of steps, and factor by which the merit must fall in them; otherwise the next start is tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewtonMin(BoxSolver):
    """Semismooth Newton on the min function with a line search, for problems without friction."""

    name: ClassVar[str] = "newton-min"
    max_iterations: int = iterations_option(1_000, "Newton steps in all")
    starts: int = option(
        STARTS,
        "number of starting points if Newton stalls: the guess, then points near the bounds",
        low=1,
    )

    with_min: ClassVar[bool] = True
    """Whether steps of the min function are tried first; otherwise all steps are those of phi."""

    def iterate(self, problem: BoxProblem, guess: Array | None, watch: Watch) -> None:
        """Make Newton steps from one starting point after the other."""
        law = _Law(problem)
        for k in range(self.starts):
            z = law.start(guess, k)
            watch.look(law.units * z, 0)
            if watch.goes_on:
                _descend(law, watch, z, self.with_min)
            if not watch.goes_on:
                return
        watch.stop(Status.STALLED, f"Newton stalled from each of {self.starts} starts")


class FischerBurmeisterOnBox(NewtonMin):
    """Semismooth Newton on the Fischer-Burmeister function only: last resort of `newton-fb` on boxes."""

    name, with_min = "newton-fb", False


def _descend(law: "_Law", watch: Watch, z: Array, with_min: bool) -> None:
    """Make steps from z until the merit no longer falls."""
    problem, newton = watch.problem, Newton(law, "fischer-burmeister")
    assert isinstance(problem, BoxProblem)
    newton.begin(z, 0.0)
    tried, marks = False, [newton.merit]
    while watch.goes_on and newton.merit > STILL * STILL * marks[0]:
        # 1. Step of the min function, or of the Fischer-Burmeister function.
        new = law.min_step(newton.z) if with_min else None
        if new is not None and newton.merit_at(new) <= ENOUGH * newton.merit:
            newton.begin(new, 0.0)
        else:
            newton.step()
        if newton.still:
            break
        # 2. Near a solution: equations of the active bounds, solved to rounding.
        error = watch.look(law.units * newton.z)
        if watch.goes_on and error <= NEAR and not tried:
            watch.look(settled(problem, law.units * newton.z), 0)
            tried = watch.error > 0.1 * error
        marks.append(newton.merit)
        if not newton.merit <= SLOW * marks[max(0, len(marks) - PATIENCE)] and len(marks) > PATIENCE:
            break
    if watch.goes_on:
        watch.look(settled(problem, law.units * newton.z), 0)


class _Law:
    """A box problem scaled to entries of about 1; z of the problem is units z."""

    def __init__(self, problem: BoxProblem):
        A = problem.A.toarray() if isinstance(problem.A, sp.csr_array) else problem.A
        rows, self.units = equilibrate(A)
        self.A, self.b = rows[:, None] * A * self.units, rows * problem.b
        self.lower, self.upper = problem.lower / self.units, problem.upper / self.units
        self.size = self.b.size

    def value(self, z: Array) -> Array:
        """Return A z + b, shape (n,)."""
        return np.asarray(self.A @ z + self.b)

    def slope(self, z: Array) -> Array:
        """Return A, shape (n, n)."""
        return self.A

    def start(self, guess: Array | None, k: int) -> Array:
        """Return starting point k: the guess, -b, then points spread over the size of b, shape (n,)."""
        z = np.zeros(self.b.size) if guess is None else guess / self.units
        if k == 1:
            z = -self.b
        elif k > 1:
            spread = (np.arange(1, self.b.size + 1) * k * GOLDEN) % 1.0
            z = np.exp2(k - 4.0) * (2.0 * spread - 0.5) * (float(np.abs(self.b).max(initial=0.0)) or 1.0)
        return np.clip(z, self.lower, self.upper)

    def min_step(self, z: Array) -> Array | None:
        """Return z after a Newton step of the min function: bounds are active if z - w is beyond them."""
        lower, upper, moved = self.lower, self.upper, z - self.value(z)
        inside = (moved > lower) & (moved < upper)
        new = np.where(inside, 0.0, np.where(moved <= lower, lower, upper))
        right = -(self.b + self.A @ new)
        try:
            new[inside] = np.linalg.solve(self.A[np.ix_(inside, inside)], right[inside])
        except np.linalg.LinAlgError:
            return None
        return new if np.isfinite(new).all() else None
