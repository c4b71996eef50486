"""Runs of the rolling study: one algorithm on one problem, iteration by iteration, on two measures."""

import time
from dataclasses import dataclass, replace

import numpy as np

from stickslip.compilation.timing import Compilation
from stickslip.problem.checks import Array
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.convert import reduce_to_contacts
from stickslip.problem.residuals import judge
from stickslip.solvers.cone_motion import motion
from stickslip.solvers.cone_point import ALGORITHMS, ConePoint
from stickslip.studies.rolling_problems import SHOWN, Case

TOLERANCES = (1e-12, 1e-14, 1e-16, 1e-17)
"""Those of its performance profiles [-]."""

ERRORS = ("pinfeas", "dinfeas", "comp1", "comp2")
"""What it draws along the iterations."""

MEASURES = {"own": "report's", "by_gap": "with the gap", "judged": "judge's"}
"""How convergence is measured: by its errors, by its infeasibilities and u'r, or by the judge."""

MOST = 120
"""Iterations after which an algorithm is stopped."""

SMALL, REPEATS = 300, 3
"""Problems with fewer contacts are timed as often as this, and the shortest time is kept."""

STILL, BETTER = 8, 0.7
"""A run is stopped when in so many iterations neither measure fell by this factor.

A quarter of them will do where the report's measure is below the finest tolerance.
"""

NOT_LARGE = 700
"""Contacts up to which SuperLU steps in for an LU that has lost its pivots."""

LIMIT = 5.0
"""Time after which a run is stopped [s]."""

ROUNDING = 1e-11
"""Share of the first dinfeas below which its ups and downs are rounding."""


@dataclass(frozen=True, eq=False)
class Run:
    """The iterates of one algorithm, measured."""

    case: Case
    """The problem."""
    contacts: int
    """Its contacts."""
    algorithm: str
    """Which of the four."""
    steps: str
    """Whether the primal and the dual step are "equal" or "separate"."""
    errors: Array
    """pinfeas, dinfeas, comp1 and comp2 of each iterate, the start included [-], shape (iterates, 4)."""
    gap: Array
    """u'r of each iterate [J], shape (iterates,)."""
    judged: Array
    """The judge's error of each iterate on the same convex problem [-], shape (iterates,)."""
    alpha: Array
    """Primal and dual step that led to it, NaN at the start [-], shape (iterates, 2)."""
    seconds: Array
    """Processor time since the beginning [s], shape (iterates,)."""
    reason: str
    """Why it ended, in words; empty when it met its tolerance."""

    @property
    def iterations(self) -> int:
        """Steps that were taken."""
        return self.errors.shape[0] - 1

    @property
    def own(self) -> Array:
        """The report's measure, the largest of its errors [-], shape (iterates,)."""
        return np.asarray(self.errors.max(axis=1))

    @property
    def by_gap(self) -> Array:
        """The same with u'r for the complementarities, whose norms fall with its root under scaling.

        Largest of pinfeas, dinfeas and the gap [-], shape (iterates,).
        """
        return np.maximum(self.errors[:, :2].max(axis=1), np.abs(self.gap))

    def first(self, tolerance: float, measure: str = "own") -> int | None:
        """The first iterate within the tolerance on one of MEASURES; None without one."""
        met = np.flatnonzero(getattr(self, measure) <= tolerance)
        return int(met[0]) if met.size else None

    def time(self, tolerance: float, measure: str = "own") -> float:
        """Time to the tolerance [s], infinite if it was not met."""
        at = self.first(tolerance, measure)
        return np.inf if at is None else float(self.seconds[at])

    def per_iteration(self, tolerance: float) -> float:
        """Mean time of the iterations to the tolerance, with the gap [s]; NaN without any."""
        at = self.first(tolerance, "by_gap")
        return float(self.seconds[at] - self.seconds[0]) / at if at else float("nan")

    def until(self, tolerance: float) -> "Run":
        """The run as it would have been with this tolerance; all of it where it was not met."""
        at = self.first(tolerance)
        if at is None:
            return self
        cut = slice(at + 1)
        return replace(
            self, errors=self.errors[cut], gap=self.gap[cut], judged=self.judged[cut],
            alpha=self.alpha[cut], seconds=self.seconds[cut], reason="",
        )  # fmt: skip

    @property
    def growths(self) -> int:
        """Iterations in which dinfeas grew, rounding left aside."""
        before, after = self.errors[:-1, 1], self.errors[1:, 1]
        return int(((after > 1.001 * before) & (after > ROUNDING * self.errors[0, 1])).sum())


def record(
    case: Case,
    algorithm: str,
    *,
    steps: str = "equal",
    factor: str = "",
    problem: GlobalProblem | None = None,
    repeats: int = REPEATS,
) -> Run:
    """Run an algorithm on the convex relaxation of a problem, as far as double precision carries it.

    It is stopped when both measures meet the finest tolerance, when neither has got better for some
    iterations, or when it says itself that it cannot go on. Small problems are timed several times.
    """
    problem = case.problem() if problem is None else problem
    local = reduce_to_contacts(problem).problem
    with np.errstate(all="ignore"):  # a run may end in what is not finite, and says so
        found = _run(case, problem, local, algorithm, steps, factor)
        for _ in range(repeats - 1 if found.contacts < SMALL else 0):
            again = _run(case, problem, None, algorithm, steps, factor, found.iterations)
            np.minimum(found.seconds, again.seconds, out=found.seconds)
    return found


def warm_up() -> None:
    """Compile what the runs use, so that no run is timed with it."""
    for algorithm in ALGORITHMS:
        for factor in ("lu",) if algorithm in ("simple", "mehrotra") else ("lu", "ldl", "cholesky"):
            record(SHOWN[4], algorithm, factor=factor, repeats=1)


def _run(
    case: Case, problem: GlobalProblem, local: ContactProblem | None, algorithm: str, steps: str, factor: str,
    most: int = MOST,
) -> Run:  # fmt: skip
    """One run; judged, while the clock stands still, where the contact problem is given."""
    errors, gap, judged, alpha, seconds = [], [], [], [(np.nan, np.nan)], []
    watch = _Watch()
    with watch:
        point = ConePoint(
            motion(problem), algorithm, separate=steps == "separate", factor=factor,
            fallback=problem.contacts <= NOT_LARGE,
        )  # fmt: skip
        measures = point.measures()
    best, marks, still = [np.inf, np.inf], [np.inf, np.inf], 0
    while True:
        errors.append((measures.pinfeas, measures.dinfeas, measures.comp1, measures.comp2))
        gap.append(measures.gap)
        seconds.append(watch.seconds)
        judged.append(np.inf if local is None else judge(local, point.answer().r, relaxed=True).error)
        now = [max(error, TOLERANCES[-1]) for error in (max(errors[-1]), judged[-1])]
        best = [min(pair) for pair in zip(now, best, strict=True)]
        fell = [n < BETTER * mark for n, mark in zip(now, marks, strict=True)]
        marks = [n if f else mark for n, f, mark in zip(now, fell, marks, strict=True)]
        still = 0 if any(fell) or local is None else still + 1
        patience = STILL if best[0] > TOLERANCES[-1] else STILL // 4
        reason = _end(max(best), len(errors) - 1, still, watch.seconds, most, patience)
        if reason is not None:
            break
        with watch:
            step = point.advance()
            measures = point.measures()
        if isinstance(step, str):
            reason = step
            break
        alpha.append((step.alpha_p, step.alpha_d))
    return Run(
        case, problem.contacts, algorithm, steps, np.array(errors), np.array(gap), np.array(judged),
        np.array(alpha), np.array(seconds), reason,
    )  # fmt: skip


class _Watch:
    """A stopwatch of processor time that leaves compilation aside; `with` it runs."""

    def __init__(self) -> None:
        self.seconds = 0.0
        """Time so far [s]."""

    def __enter__(self) -> None:
        self._compilation = Compilation()
        self._compilation.__enter__()
        self._start = time.process_time()

    def __exit__(self, *failure: object) -> None:
        spent = time.process_time() - self._start
        self._compilation.__exit__(*failure)
        self.seconds += max(spent - self._compilation.seconds, 0.0)  # the latter is time on the wall


def _end(error: float, done: int, still: int, spent: float, most: int, patience: int) -> str | None:
    """Why the run ends here, nothing when it met all it could; None when it goes on."""
    if error <= TOLERANCES[-1]:
        return ""
    if done >= most:
        return f"{most} iterations were made"
    if still >= patience:
        return "it made no more progress"
    return f"{LIMIT:g} s were over" if spent > LIMIT else None
