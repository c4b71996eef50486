"""Nonsmooth Newton methods: the contact law as equations F(r, u) = 0, solved with generalised Jacobians.

Four maps F (`kernels/maps.py`, `kernels/cone_maps.py`) share one loop. Gauss-Seidel sweeps give an initial
iterate for Newton's method. When Newton stops making progress, more sweeps follow from the best iterate and
the matrix is regularised more. Alart & Curnier 1991; Siconos Developer's Notes 2017, ch. 16.

Full steps are the default. They solve all recorded friction problems to 1e-10. With a line search on the
merit function one of these is not solved, and others take up to four times as many steps.
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
"""Armijo constant: fraction of the predicted decrease that a step of the line search must achieve."""
SHORTEST = 2.0**-12
"""Smallest step length of the line search."""
MEMORY = 6
"""Memory of the nonmonotone line search, in steps (Grippo, Lampariello & Lucidi 1986)."""
RUNAWAY = 1e30
"""Growth factor of the merit at which a Newton phase is abandoned (heuristic)."""
GROW = 10.0
"""Growth factor of the regularisation after a singular matrix or a failed phase (heuristic)."""
WORSE, FAST = 2.0, 0.5
"""Factors of the regularisation after a step that raises the error, and after one that divides it by 10."""
LEAST, MOST = 1e-6, 1.0
"""Range of the regularisation, in units of 1/rho: from the rounding errors of a singular W to W itself."""
MOST_SWEEPS = 2000
"""Largest number of sweeps of one first-order phase (heuristic)."""
PATIENCE = 20
"""Number of Newton steps without halving the error after which sweeps take over (heuristic)."""
PHASES = 6
"""Number of successive phases without halving the error after which the solver stops (heuristic)."""

System = ReducedSystem | GlobalSystem


@dataclass(frozen=True, slots=True, kw_only=True)
class Newton(ContactSolver):
    """Base of the nonsmooth Newton methods."""

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
        """Alternate between sweeps and Newton steps."""
        system = ReducedSystem(problem, type(self).evaluate, self.augmentation)
        start = np.zeros(problem.size) if guess is None else guess.copy()
        self._run(system, watch, start, guess is not None)

    def _run(self, system: System, watch: Watch, x: Array, is_guess: bool) -> None:
        """Alternate between sweeps and Newton steps from x; x is judged first if it is a guess."""
        share, sweeps, failed = self.regularisation, self.sweeps, 0
        if is_guess or not sweeps:
            system.look(watch, x, 0)
        while watch.goes_on:
            # 1. Gauss-Seidel sweeps.
            before = watch.error
            if sweeps:
                x = system.sweep(x, sweeps, watch.tolerance)
                system.look(watch, x, 0)
            # 2. Newton steps.
            swept = watch.error
            if watch.goes_on:
                self._steps(system, watch, x, share)
            if watch.error <= HALVING * swept:
                x = system.best(watch)
            # 3. If the error was not halved: more sweeps and more regularisation.
            if watch.error <= HALVING * before and watch.error < before:  # excludes 0 <= 0
                failed = 0
            else:
                failed += 1
                share *= GROW
                sweeps = min(2 * sweeps, MOST_SWEEPS)
            if failed >= PHASES and watch.goes_on:
                watch.stop(Status.STALLED, f"{failed} times sweeps and Newton did not halve the residual")
        watch.operations = system.operations

    def _steps(self, system: System, watch: Watch, x: Array, share: float) -> None:
        """Make Newton steps from x while they make progress."""
        merit = system.measure(x)
        first, merits = merit, [merit]
        mark = error = watch.error
        steps = since = 0
        while watch.goes_on:
            # 1. Direction and step length.
            dx = self._step(system, x, min(max(share * error, LEAST), MOST) if share else 0.0)
            length = 0.0 if dx is None else self._length(system, x, dx, merits)
            if dx is None or length == 0.0:
                break
            x = x + length * dx
            merit = system.measure(x)
            if not merit <= RUNAWAY * first:
                break
            merits.append(merit)
            # 2. Error and regularisation.
            last, error = error, system.look(watch, x, 1)
            share *= WORSE if error > last else FAST if error < 0.1 * last else 1.0
            steps += 1
            if error <= HALVING * mark:
                mark, since = error, steps
            elif steps - since >= PATIENCE:
                break

    def _step(self, system: System, x: Array, alpha: float) -> Array | None:
        """Return Newton's step, with as much regularisation as needed; None if the matrix stays singular."""
        while True:
            dx = system.step(x, alpha)
            if dx is not None:
                return dx
            if not alpha < MOST:  # true also for a NaN error
                return None
            alpha = min(max(alpha, LEAST) * GROW, MOST)

    def _length(self, system: System, x: Array, dx: Array, merits: list[float]) -> float:
        """Return the step length by Armijo's rule on |F|²/2, whose slope along Newton's step is -|F|²."""
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
        """Solve `problem` from `guess` (zero if None); with form 'global' or 'velocity', a GlobalProblem."""
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
        """Solve `problem` from `guess` (zero if None); any problem, through its contact form.

        If that fails on a BoxProblem, whose matrix may be indefinite, Newton's method with a line search in
        the unknowns of the box problem follows (`solvers/newton_box.py`).
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
