"""Trace of the interior-point method on split cones: errors and steps of every iteration, for studies."""

import time
from dataclasses import dataclass

import numpy as np

from stickslip.compilation.timing import Compilation
from stickslip.names import alternatives
from stickslip.problem.checks import Array, ProblemError
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.convert import Answer
from stickslip.solvers.cone_motion import motion
from stickslip.solvers.cone_point import ConePoint, Step
from stickslip.studies.rolling_runs import Measures, measured

LAWS = ("relaxed", "inside")
"""Laws of `trace`: the convex relaxation, and Coulomb's law by shifts within the iterations."""
COLUMNS = ("pinfeas", "dinfeas", "comp1", "comp2", "gap", "kappa", "sigma", "alpha_p", "alpha_d", "seconds")
STILL = 15
"""Number of iterations without halving the error after which a run counts as stagnated."""


@dataclass(frozen=True, eq=False)
class Trace:
    """Errors at every iterate, and the step from it (none from the last), shape (iterates,) each."""

    pinfeas: Array
    """|J y - H' v - w| / (1 + |w|) [-], shape (iterates,)."""
    dinfeas: Array
    """|M v - f - H r| / (1 + |f|) [-], shape (iterates,)."""
    comp1: Array
    """|y o z| over the first cones of the contacts [J], shape (iterates,)."""
    comp2: Array
    """|y o z| over their other cones [J], shape (iterates,)."""
    gap: Array
    """u'r = y'z [J], shape (iterates,)."""
    kappa: Array
    """Barrier, gap / (2 cones) [J], shape (iterates,)."""
    sigma: Array
    """Centring of the step, NaN at the last [-], shape (iterates,)."""
    alpha_p: Array
    """Length of the step of v and y, NaN at the last [-], shape (iterates,)."""
    alpha_d: Array
    """Length of the step of r, NaN at the last [-], shape (iterates,)."""
    seconds: Array
    """Time since the start, without compilation only if that was done before [s], shape (iterates,)."""
    total_seconds: float
    """Time of the run, preparation included, without compilation [s]."""
    compile_seconds: float
    """Time of compilation [s]."""
    factor_seconds: float
    """Time in factorisations and solves, without compilation only if that was done before [s]."""
    converged: bool
    """Whether the error fell below the tolerance."""
    reason: str
    """Reason of the stop if it did not converge."""
    answer: Answer
    """r, and v where velocities are unknowns, at the last iterate; joints at the end of r."""

    @property
    def iterations(self) -> int:
        """Number of steps."""
        return int(self.gap.size - 1)


def trace(
    problem: ContactProblem | GlobalProblem, algorithm: str = "nt-f", law: str = "relaxed", *,
    steps: str = "equal", tolerance: float = 1e-10, max_iterations: int = 200, factor: str = "",
    measure: str = "", corrections: int = 0,
) -> Trace:  # fmt: skip
    """Run `algorithm` on `problem` until its error is below `tolerance`, and record every iterate.

    law: "relaxed" or "inside". steps: "equal" or "separate". factor: "ldl", "lu", "cholesky", or "" for the
    default of the algorithm. measure: the complementarity in the error, "gap" or "product" (|y o z|); by
    default the gap for scaled algorithms, whose |y o z| decreases only like its root, and the product for the
    others. corrections: largest number of centrality corrections per iteration of the scaled algorithms; 0
    for the algorithm of Nguyen.
    """
    for name, value, known in (
        ("law", law, LAWS),
        ("steps", steps, ("equal", "separate")),
        ("measure", measure, ("", "gap", "product")),
    ):
        if value not in known:
            raise ProblemError(
                f"{name} is {value!r}; {alternatives(value, filter(None, known), 'expected one of')}"
            )
    by_gap = measure == "gap" or (not measure and algorithm.startswith("nt"))
    rows: list[tuple[float, ...]] = []
    reason, mark, stagnant = "", np.inf, 0
    with Compilation() as compilation, np.errstate(all="ignore"):
        start = time.perf_counter()
        point = ConePoint(
            motion(problem), algorithm, inside=law == "inside", separate=steps == "separate", factor=factor,
            corrections=corrections,
        )  # fmt: skip
        while True:
            errors, elapsed = measured(point), time.perf_counter() - start
            error = _error(errors, by_gap)
            stagnant += 1
            if error <= 0.5 * mark:
                mark, stagnant = error, 0
            step: Step | str = "the iteration limit was reached"
            if not np.isfinite(error):
                step = "the errors are not finite"
            elif error <= tolerance:
                step = ""
            elif stagnant >= STILL:
                step = f"the error has not halved for {STILL} iterations"
            elif len(rows) < max_iterations:
                kappa = point.kappa
                step = point.advance()
                if isinstance(step, Step):
                    rows.append((*_row(errors), kappa, step.sigma, step.alpha_p, step.alpha_d, elapsed))
                    continue
            reason = str(step)
            rows.append((*_row(errors), point.kappa, np.nan, np.nan, np.nan, elapsed))
            break
        seconds = time.perf_counter() - start
    columns = dict(zip(COLUMNS, np.array(rows).T.copy(), strict=True))
    return Trace(
        **columns, total_seconds=seconds - compilation.seconds, compile_seconds=compilation.seconds,
        factor_seconds=point.system.seconds, converged=not reason, reason=reason, answer=point.answer(),
    )  # fmt: skip


def _row(errors: Measures) -> tuple[float, ...]:
    """Errors as the first columns of a row."""
    return errors.pinfeas, errors.dinfeas, errors.comp1, errors.comp2, errors.gap


def _error(errors: Measures, by_gap: bool) -> float:
    """Largest error, which is compared with the tolerance."""
    comp = errors.gap if by_gap else max(errors.comp1, errors.comp2)
    return max(errors.pinfeas, errors.dinfeas, comp)
