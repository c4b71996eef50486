"""Nonsmooth Newton: the law as equations F(r, u) = 0, generalised Jacobians, full steps.

Four maps F (`kernels/maps.py`, `kernels/cone_maps.py`), one loop: sweeps of Gauss-Seidel bring the
iterate near, Newton finishes; when Newton stops making progress the best iterate is swept again
and the matrix is regularised more. Alart & Curnier 1991; Siconos Developer's Notes 2017, ch. 16.

Full steps are the default: they solve all recorded friction problems to 1e-10, while with a line search
on the merit function one stays above and others take up to four times as many steps.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from stickslip.kernels import newton_systems
from stickslip.options import iterations_option, option
from stickslip.problem.box import BoxProblem
from stickslip.problem.checks import Array
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.convert import Answer
from stickslip.problem.solution import Problem, Solution, Status
from stickslip.solvers.base import ContactSolver
from stickslip.solvers.certify import Attempt, certified_globally
from stickslip.solvers.newton_box import FischerBurmeisterOnBox
from stickslip.solvers.newton_global import GlobalSystem
from stickslip.solvers.newton_systems import ReducedSystem
from stickslip.solvers.registry import Progress
from stickslip.solvers.watch import HALVING, Watch

ARMIJO = 1e-4
"""Share of the predicted decrease of the merit that a step of the line search must bring."""
SHORTEST = 2.0**-12
"""Shortest step of the line search."""
MEMORY = 6
"""Steps whose largest merit the nonmonotone line search compares with (Grippo, Lampariello & Lucidi 1986)."""
RUNAWAY = 1e30
"""Growth of the merit within one phase at which it is given up."""
GROW = 10.0
"""Factor by which the regularisation grows where the matrix is singular, or a phase fails."""
WORSE, FAST = 2.0, 0.5
"""Its factors after a step that raises the error, and after one that brings it below a tenth."""
LEAST, MOST = 1e-6, 1.0
"""Range of the regularisation, in units of 1/rho: rounding in what W does not see, and W itself."""
MOST_SWEEPS = 2000
"""Most sweeps of one first-order phase."""
PATIENCE = 20
"""Newton steps without halving the error after which the first-order phase takes over."""
PHASES = 6
"""Phases in a row that do not halve the error before the solver gives up."""

System = ReducedSystem | GlobalSystem


@dataclass(frozen=True, slots=True, kw_only=True)
class Newton(ContactSolver):
    """What the nonsmooth Newton methods have in common."""

    max_iterations: int = iterations_option(500, "Newton steps")
    sweeps: int = option(
        100,
        "number of Gauss-Seidel sweeps before Newton, doubled after each failure of Newton; 0 for none",
        low=0,
    )
    line_search: str = option(
        "none", "full steps, or backtracking on |F|²/2 against the last or the largest of the last few",
        choices=("none", "armijo", "nonmonotone"),
    )  # fmt: skip
    augmentation: float = option(
        1.0, "rho of the map in units of 1/W_NN and 1/lambda_max(W_TT)", low=0.0, open_low=True, high=1e6
    )
    regularisation: float = option(
        0.1, "added to the diagonal of W in Newton's matrix, in units of error/rho; grows where needed",
        low=0.0, high=1e6,
    )  # fmt: skip

    evaluate: ClassVar[Callable[..., float]]

    def iterate(self, problem: ContactProblem, guess: Array | None, watch: Watch) -> None:
        """Sweeps and Newton in turn."""
        system = ReducedSystem(problem, type(self).evaluate, self.augmentation)
        start = np.zeros(problem.size) if guess is None else guess.copy()
        self._run(system, watch, start, guess is not None)

    def _run(self, system: System, watch: Watch, x: Array, given: bool) -> None:
        """Sweeps and Newton in turn, from x, which is looked at first if it was given."""
        share, sweeps, failed = self.regularisation, self.sweeps, 0
        if given or not sweeps:
            system.look(watch, x, 0)
        while watch.goes_on:
            before = watch.error
            if sweeps:
                x = system.sweep(x, sweeps, watch.tolerance)
                system.look(watch, x, 0)
            swept = watch.error
            if watch.goes_on:
                self._steps(system, watch, x, share)
            if watch.error <= HALVING * swept:
                x = system.best(watch)
            if watch.error <= HALVING * before and watch.error < before:  # 0 is not half of 0
                failed = 0
            else:
                failed += 1
                share *= GROW
                sweeps = min(2 * sweeps, MOST_SWEEPS)
            if failed >= PHASES and watch.goes_on:
                watch.stop(Status.STALLED, f"{failed} times sweeps and Newton did not halve the residual")
        watch.operations = system.operations

    def _steps(self, system: System, watch: Watch, x: Array, share: float) -> None:
        """Newton steps from x while they make progress."""
        merit = system.measure(x)
        first, merits = merit, [merit]
        mark = error = watch.error
        steps = since = 0
        while watch.goes_on:
            dx = self._step(system, x, min(max(share * error, LEAST), MOST) if share else 0.0)
            length = 0.0 if dx is None else self._length(system, x, dx, merits)
            if dx is None or length == 0.0:
                break
            x = x + length * dx
            merit = system.measure(x)
            if not merit <= RUNAWAY * first:
                break
            merits.append(merit)
            last, error = error, system.look(watch, x, 1)
            share *= WORSE if error > last else FAST if error < 0.1 * last else 1.0
            steps += 1
            if error <= HALVING * mark:
                mark, since = error, steps
            elif steps - since >= PATIENCE:
                break

    def _step(self, system: System, x: Array, alpha: float) -> Array | None:
        """Newton's step, the matrix regularised as much as it takes to be solved; None if it cannot be."""
        while True:
            dx = system.step(x, alpha)
            if dx is not None:
                return dx
            if not alpha < MOST:  # or where the error it is a share of is not a number
                return None
            alpha = min(max(alpha, LEAST) * GROW, MOST)

    def _length(self, system: System, x: Array, dx: Array, merits: list[float]) -> float:
        """Step length by Armijo's rule on the merit |F|²/2, whose slope along Newton's step is -|F|²."""
        if self.line_search == "none":
            return 1.0
        bound = max(merits[-MEMORY:]) if self.line_search == "nonmonotone" else merits[-1]
        length = 1.0
        while length >= SHORTEST:
            if system.measure(x + length * dx) <= bound - 2.0 * ARMIJO * length * merits[-1]:
                return length
            length *= 0.5
        return 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NewtonAlartCurnier(Newton):
    """Nonsmooth Newton on Alart and Curnier's function, for every kind of block."""

    form: str = option(
        "reduced", "unknowns: r; or, of a global problem, v, u, r, lam (global) or v, r, lam (velocity)",
        choices=("reduced", "global", "velocity"),
    )  # fmt: skip

    name: ClassVar[str] = "newton-ac"
    evaluate: ClassVar[Callable[..., float]] = staticmethod(newton_systems.evaluate_alart_curnier)

    def solve(
        self, problem: Problem, *, guess: ArrayLike | None = None, progress: Progress | None = None
    ) -> Solution:
        """Solve `problem` from `guess` (zero if none); any problem in the reduced form, else global ones."""
        if self.form == "reduced":
            return ContactSolver.solve(self, problem, guess=guess, progress=progress)
        method = partial(self._on_bodies, progress)
        return certified_globally(self.name, f"form={self.form!r}", method, problem, guess, self.tolerance)

    def _on_bodies(
        self, progress: Progress | None, problem: GlobalProblem, guess: Array | None, tolerance: float
    ) -> tuple[Attempt, Answer]:
        with Watch(problem, tolerance, self.max_iterations, progress) as watch:
            system = GlobalSystem(problem, type(self).evaluate, self.augmentation, self.form == "global")
            self._run(system, watch, system.start(guess), guess is not None)
        return watch.attempt(), system.answer(system.best(watch))


@dataclass(frozen=True, slots=True, kw_only=True)
class NewtonJeanMoreau(Newton):
    """Nonsmooth Newton on Jean and Moreau's function (disks of radius mu r_N), for every kind of block."""

    name: ClassVar[str] = "newton-jm"
    evaluate: ClassVar[Callable[..., float]] = staticmethod(newton_systems.evaluate_jean_moreau)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewtonNaturalMap(Newton):
    """Nonsmooth Newton on the natural map r - P_K(r - rho u_hat), for every kind of block."""

    name: ClassVar[str] = "newton-nm"
    evaluate: ClassVar[Callable[..., float]] = staticmethod(newton_systems.evaluate_natural)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewtonFischerBurmeister(Newton):
    """Nonsmooth Newton on the Fischer–Burmeister function of second-order cones, without rolling."""

    name: ClassVar[str] = "newton-fb"
    evaluate: ClassVar[Callable[..., float]] = staticmethod(newton_systems.evaluate_fischer_burmeister)

    def solve(
        self, problem: Problem, *, guess: ArrayLike | None = None, progress: Progress | None = None
    ) -> Solution:
        """Solve `problem` from `guess` (zero if none); any problem, through its contact form.

        Where that fails on a box problem, whose matrix may have any sign, by Newton with a line search in
        its own unknowns (`solvers/newton_box.py`).
        """
        solution = ContactSolver.solve(self, problem, guess=guess, progress=progress)
        if solution.ok or not isinstance(problem, BoxProblem):
            return solution
        search = FischerBurmeisterOnBox(tolerance=self.tolerance, max_iterations=self.max_iterations)
        other = search.solve(problem, guess=guess, progress=progress)
        better = other if other.residuals.error < solution.residuals.error else solution
        return better.with_(
            iterations=solution.iterations + other.iterations,
            seconds=solution.seconds + other.seconds,
            compile_seconds=solution.compile_seconds + other.compile_seconds,
        )
