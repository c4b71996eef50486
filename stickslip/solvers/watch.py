"""Watch of an iteration: it has the judge examine the iterates, stores the best one and decides when to stop.

Every iterative solver in Python runs inside one:

    with Watch(problem, tolerance, limit, progress) as watch:
        while watch.goes_on:
            ...one iteration...
            watch.look(r)
    return watch.attempt()

Decisions depend on counts and residuals, never on measured time.
"""

import time
from types import TracebackType

import numpy as np

from stickslip.compilation.timing import Compilation
from stickslip.problem.certificate import Certificate
from stickslip.problem.checks import Array
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.residuals import examine
from stickslip.problem.solution import AnyProblem, Status
from stickslip.solvers.certify import Attempt
from stickslip.solvers.registry import Progress

HALVING = 0.5
"""Factor by which the error must fall to count as progress (heuristic)."""
NEARLY = 0.1
"""A relaxed solution may still reach the exact law while its exact error is at most tolerance / NEARLY and
its relaxed error above NEARLY tolerance (heuristic)."""
LONGEST_GAP = 50
"""Largest number of iterations between two checks of a cheap method: a check costs about one iteration."""
PROGRESS_SECONDS = 0.1
"""Time between two calls of `progress` [s]; it does not affect results."""


class Watch:
    """Count the iterations of one solve, judge its iterates, and store the best one and the history."""

    def __init__(
        self, problem: AnyProblem, tolerance: float, limit: int,
        progress: Progress | None = None, patience: int = 0, relaxed: bool = False,
    ):  # fmt: skip
        """Begin a solve.

        `limit`: largest number of iterations. `patience`: iterations without halving the error after which it
        has stalled; 0 for no limit. `relaxed`: judge by the convex relaxation, for methods that solve it.
        """
        self.problem, self.tolerance, self.limit, self.patience = problem, tolerance, limit, patience
        has_friction = isinstance(problem, ContactProblem | GlobalProblem) and problem.K.coefficient.size > 0
        self.relaxed = relaxed and has_friction
        self.iterations = 0
        self.best = np.zeros(problem.size)
        """Impulses with the smallest error by the judge [N s], shape (n,)."""
        self.error = np.inf
        """Error of `best`: the larger of natural and natural_scaled [-]."""
        self.best_v: Array | None = None
        """Velocities that belong to `best`, of a global problem [m/s, rad/s], shape (nv,)."""
        self.best_lam: Array | None = None
        """Multipliers that belong to `best`, of a global problem [N s], shape (p,)."""
        self.u = problem.u_free if isinstance(problem, ContactProblem) else np.zeros(problem.size)
        """Velocities of the impulses judged last [m/s], shape (n,); w of a box problem."""
        self.scaled = np.inf
        """natural_scaled of the impulses judged last [-], for decisions independent of units."""
        self.status: Status | None = None
        self.reason = ""
        self.operations = 0.0
        """Number of multiplications, if the method counts them."""
        self.certificate: Certificate | None = None
        """Claimed proof of infeasibility, if the method has one."""
        self._progress, self._history = progress, []  # type: ignore[var-annotated]
        self._mark, self._mark_at, self._shown = np.inf, 0, 0.0

    def __enter__(self) -> "Watch":
        self._errstate = np.errstate(all="ignore")  # the judge handles overflow
        self._errstate.__enter__()
        self._compilation = Compilation()
        self._compilation.__enter__()
        self._start = time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._seconds = time.perf_counter() - self._start
        self._compilation.__exit__()
        self._errstate.__exit__(kind, error, trace)

    @property
    def goes_on(self) -> bool:
        """Whether the iteration has neither ended nor reached its limit."""
        return self.status is None and self.iterations < self.limit

    @property
    def gap(self) -> int:
        """Iterations until the next check: a quarter of those done, at most LONGEST_GAP."""
        return min(1 + self.iterations // 4, LONGEST_GAP, self.limit - self.iterations)

    def look(self, r: Array, iterations: int = 1, v: Array | None = None, lam: Array | None = None) -> float:
        """Judge `r` (and `v`, `lam` of a global problem), reached after so many more iterations.

        Return its error, infinite if it is not finite.
        """
        self.iterations += iterations
        residuals, self.u = examine(self.problem, np.ascontiguousarray(r), v, lam, self.relaxed)
        error, self.scaled = residuals.error, residuals.natural_scaled
        self._history.append((self.iterations, residuals.natural, residuals.natural_scaled))
        if error < self.error or residuals.solved(self.tolerance):
            self.error, self.best = error, r.copy()
            self.best_v, self.best_lam = (None if x is None else x.copy() for x in (v, lam))
        if residuals.solved(self.tolerance) and not self._nearly_exact(r, error, v, lam):
            self.status = Status.RELAXED if self.relaxed else Status.SOLVED
        elif not np.isfinite(error):
            self.status = Status.NOT_FINITE
        elif self.error <= HALVING * self._mark:
            self._mark, self._mark_at = self.error, self.iterations
        elif self.patience and self.iterations - self._mark_at >= self.patience:
            still = self.iterations - self._mark_at
            self.stop(Status.STALLED, f"the residual has not halved for {still} iterations")
        self._tell()
        return error

    def _nearly_exact(self, r: Array, error: float, v: Array | None, lam: Array | None) -> bool:
        """Whether a solution of the relaxation may still converge to one of the exact law."""
        if not self.relaxed or error <= NEARLY * self.tolerance:
            return False
        exact = examine(self.problem, np.ascontiguousarray(r), v, lam)[0]
        return self.tolerance < exact.error <= self.tolerance / NEARLY

    def stop(self, status: Status, reason: str = "") -> None:
        """End the iteration with a status and a reason of the method."""
        self.status, self.reason = status, reason

    def attempt(self) -> Attempt:
        """Return the best iterate with its status, work and history."""
        history = np.array(self._history).reshape(-1, 3)
        status = self.status or Status.MAX_ITERATIONS
        if self.relaxed and self.error <= self.tolerance:
            status = Status.RELAXED
        return Attempt(
            self.best, status, self.iterations,
            self._seconds - self._compilation.seconds, self._compilation.seconds, history, self.reason,
            operations=self.operations, certificate=self.certificate,
        )  # fmt: skip

    def _tell(self) -> None:
        if self._progress is not None and time.perf_counter() - self._shown >= PROGRESS_SECONDS:
            self._shown = time.perf_counter()
            self._progress(self.iterations, self.error)
