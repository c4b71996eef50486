"""Problems of the rolling study, random piles and chutes of spheres, and runs of an algorithm on a problem
with the errors of every iterate.
"""

import time
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from stickslip.compilation.timing import Compilation
from stickslip.kernels import cone_point as kernels
from stickslip.problem.checks import Array
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.convert import reduce_to_contacts
from stickslip.problem.residuals import judge
from stickslip.scenes.packing import chute, sphere_packing
from stickslip.solvers.cone_motion import motion
from stickslip.solvers.cone_point import ALGORITHMS, ConePoint

RADIUS = 0.01
"""Mean radius of the spheres [m]."""
SIZES = 26
"""Number of sizes from the smallest problems to the largest."""
LARGEST = 1000
"""Number of spheres of the largest problems; they have nearly three contacts each."""
TOLERANCES = (1e-12, 1e-14, 1e-16, 1e-17)
"""Tolerances of the report's performance profiles [-]."""
ERRORS = ("pinfeas", "dinfeas", "comp1", "comp2")
"""Errors that the report draws over the iterations."""
MEASURES = {"own": "report's", "by_gap": "with the gap", "judged": "judge's"}
"""Measures of convergence: the errors of the report, its infeasibilities and u'r, or the judge's error."""
MOST = 120
"""Largest number of iterations; heuristic."""
SMALL, REPEATS = 300, 3
"""Problems with fewer contacts than SMALL run REPEATS times, and the shortest times are kept; heuristic."""
STILL, BETTER = 8, 0.7
"""A run stops if in STILL iterations neither measure has dropped by the factor BETTER; heuristic.

A quarter of the iterations is enough once the report's measure is below the finest tolerance.
"""
NOT_LARGE = 700
"""Largest number of contacts for which SuperLU replaces an LU that has lost its pivots; heuristic."""
LIMIT = 5.0
"""Processor time after which a run stops [s]; heuristic."""
ROUNDING = 1e-11
"""Size of dinfeas over its initial value below which growths are rounding [-]; heuristic."""


class Measures(NamedTuple):
    """Errors of an iterate, as Nguyen 2021 defines them."""

    pinfeas: float
    """|J y - H' v - w| / (1 + |w|) [-]."""
    dinfeas: float
    """|M v - f - H r| / (1 + |f|) [-]."""
    comp1: float
    """|y o z| of the first cones of the contacts [J]."""
    comp2: float
    """|y o z| of the second cones of the contacts [J]."""
    gap: float
    """y'z = u'r [J]."""


def measured(point: ConePoint) -> Measures:
    """Return the errors of the present iterate."""
    form, cones, out = point.form, point.form.split, np.empty(3)
    kernels.complementarity(tuple(cones), point.y, point.z, out)
    bound, w = np.diff(cones.cone_start) > 0, form.w.copy()
    w[cones.offset[:-1][bound]] += point.shift[bound]
    return Measures(
        float(np.linalg.norm(point.gathered(point.y) - point.u)) / (1.0 + float(np.linalg.norm(w))),
        float(np.linalg.norm(point.dual)) / (1.0 + float(np.linalg.norm(form.f))),
        float(out[1]), float(out[2]), float(out[0]),
    )  # fmt: skip


@dataclass(frozen=True)
class Friction:
    """Parameters of friction and motion of the problems of each size."""

    mu: float
    """Friction coefficient [-]."""
    roll: float
    """Rolling friction over the mean radius [-]."""
    velocity: float
    """Standard deviation of the random velocities [m/s]; g h is 0.0098 m/s."""
    angle: float
    """Slope of the chutes [deg]."""


FRICTIONS = (
    Friction(0.3, 0.05, 0.0, 20.0),
    Friction(0.5, 0.02, 0.02, 30.0),
    Friction(0.1, 0.2, 0.0, 10.0),
    Friction(0.4, 0.1, 0.1, 40.0),
)
"""Combinations of small and large mu, weak and strong rolling friction, at rest and agitated.

All mu are below 0.7. Above it chutes on a rough bed wedge: unbounded impulses are in equilibrium, no
velocities are strictly inside the dual cones, and no central path leads to a solution.
"""


@dataclass(frozen=True)
class Case:
    """A problem of the study."""

    family: str
    """"pile" or "chute"."""
    spheres: int
    """Number of spheres [-]."""
    seed: int
    """Seed of the pile [-]."""
    friction: Friction
    """Coefficients of friction and motion."""
    bed: str = "rough"
    """Bed of a chute: "rough" or "smooth"."""

    @property
    def name(self) -> str:
        """Name with family, number of spheres, friction and seed."""
        family = self.family if self.family == "pile" else f"{self.bed} {self.family}"
        return f"{family}, {self.spheres} spheres, mu {self.friction.mu:g}, seed {self.seed}"

    def problem(self) -> GlobalProblem:
        """Return the contact problem of one step with rolling friction; 5 components per contact."""
        f = self.friction
        parameters: dict[str, Any] = {
            "spheres": self.spheres, "seed": self.seed, "mu": f.mu, "mu_roll": f.roll * RADIUS,
            "velocity": f.velocity, "radius": RADIUS,
        }  # fmt: skip
        if self.family == "pile":
            return sphere_packing(**parameters)
        return chute(**parameters, angle=f.angle, bed=self.bed, speed=0.1)


SHOWN = {
    2: Case("pile", 2, 1, FRICTIONS[0]),
    4: Case("chute", 3, 1, FRICTIONS[1], "smooth"),
    100: Case("pile", 38, 6, FRICTIONS[1]),
    351: Case("chute", 133, 4, FRICTIONS[0]),
}
"""Problems whose iterations are shown, by their exact number of contacts."""


def cases(quick: bool = False) -> list[Case]:
    """Return all problems, from 2 to about 3000 contacts in geometric progression, or a few small ones.

    Piles and chutes have the same numbers of spheres and frictions. Small chutes have a smooth bed, as all of
    a few spheres lie on the floor.
    """
    progression = np.geomspace(2.0, LARGEST, SIZES).round().astype(int)
    sizes = np.maximum(progression, 2 + np.arange(SIZES)).tolist()  # strictly increasing
    sizes, frictions = ([3, 12], FRICTIONS[:2]) if quick else (sizes, FRICTIONS)
    problems = list(SHOWN.values())
    for step, spheres in enumerate(sizes):
        bed = "rough" if spheres >= 40 else "smooth"
        for number, friction in enumerate(frictions):
            seed = 10 * step + number
            problems.append(Case("pile", spheres, seed, friction))
            problems.append(Case("chute", spheres, seed + 5, friction, bed))
    return problems


@dataclass(frozen=True, eq=False)
class Run:
    """Errors and times of the iterates of an algorithm on a problem."""

    case: Case
    """The problem."""
    contacts: int
    """Number of contacts."""
    algorithm: str
    """Name of the algorithm, one of `ALGORITHMS`."""
    steps: str
    """Whether the primal and the dual step are "equal" or "separate"."""
    errors: Array
    """pinfeas, dinfeas, comp1 and comp2 of each iterate, including the initial one [-], shape (iterates,
    4)."""
    gap: Array
    """u'r of each iterate [J], shape (iterates,)."""
    judged: Array
    """Error of the judge for each iterate, on the same convex problem [-], shape (iterates,)."""
    alpha: Array
    """Primal and dual step length to each iterate, NaN for the first [-], shape (iterates, 2)."""
    seconds: Array
    """Processor time since the beginning [s], shape (iterates,)."""
    reason: str
    """Reason why the run ended; empty if it met its tolerance."""

    @property
    def iterations(self) -> int:
        """Number of iterations."""
        return self.errors.shape[0] - 1

    @property
    def own(self) -> Array:
        """Measure of the report, the largest of its errors [-], shape (iterates,)."""
        return np.asarray(self.errors.max(axis=1))

    @property
    def by_gap(self) -> Array:
        """Largest of pinfeas, dinfeas and the gap u'r [-], shape (iterates,).

        The gap replaces the norms of the complementarities, which decrease with its square root under
        scaling.
        """
        return np.maximum(self.errors[:, :2].max(axis=1), np.abs(self.gap))

    def first(self, tolerance: float, measure: str = "own") -> int | None:
        """Return the first iterate within the tolerance on one of MEASURES, or None."""
        met = np.flatnonzero(getattr(self, measure) <= tolerance)
        return int(met[0]) if met.size else None

    def time(self, tolerance: float, measure: str = "own") -> float:
        """Return the time to the tolerance [s], infinite if it was not met."""
        k = self.first(tolerance, measure)
        return np.inf if k is None else float(self.seconds[k])

    def per_iteration(self, tolerance: float) -> float:
        """Return the mean time of iterations to the tolerance, with the gap [s]; NaN if there are none."""
        k = self.first(tolerance, "by_gap")
        return float(self.seconds[k] - self.seconds[0]) / k if k else float("nan")

    def until(self, tolerance: float) -> "Run":
        """Return the part of the run up to this tolerance, or all of it if the tolerance was not met."""
        k = self.first(tolerance)
        if k is None:
            return self
        names = ("errors", "gap", "judged", "alpha", "seconds")
        return replace(self, reason="", **{name: getattr(self, name)[: k + 1] for name in names})

    @property
    def growths(self) -> int:
        """Number of iterations in which dinfeas grew by more than rounding."""
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
    """Run an algorithm on the convex relaxation of a problem to the limit of double precision.

    The run stops if both measures meet the finest tolerance, if neither has improved for some iterations, or
    if the algorithm fails. Small problems are timed several times.
    """
    problem = case.problem() if problem is None else problem
    local = reduce_to_contacts(problem).problem
    with np.errstate(all="ignore"):  # a run may end with non-finite values, which it reports
        run = _run(case, problem, local, algorithm, steps, factor)
        for _ in range(repeats - 1 if run.contacts < SMALL else 0):
            again = _run(case, problem, None, algorithm, steps, factor, run.iterations)
            np.minimum(run.seconds, again.seconds, out=run.seconds)
    return run


def warm_up() -> None:
    """Compile the kernels of the runs, so that no timed run compiles them."""
    for algorithm in ALGORITHMS:
        for factor in ("lu",) if algorithm in ("simple", "mehrotra") else ("lu", "ldl", "cholesky"):
            record(SHOWN[4], algorithm, factor=factor, repeats=1)


def _run(
    case: Case, problem: GlobalProblem, local: ContactProblem | None, algorithm: str, steps: str, factor: str,
    most: int = MOST,
) -> Run:  # fmt: skip
    """Return one run. With the contact problem `local` every iterate is judged, outside the measured time."""
    errors, gap, judged, alpha, seconds = [], [], [], [(np.nan, np.nan)], []
    watch = _Watch()
    with watch:
        point = ConePoint(
            motion(problem), algorithm, separate=steps == "separate", factor=factor,
            fallback=problem.contacts <= NOT_LARGE,
        )  # fmt: skip
        measures = measured(point)
    best, marks, still = [np.inf, np.inf], [np.inf, np.inf], 0
    while True:
        # 1. Errors and time of the iterate.
        errors.append(measures[:4])
        gap.append(measures.gap)
        seconds.append(watch.seconds)
        judged.append(np.inf if local is None else judge(local, point.answer().r, relaxed=True).error)
        # 2. Progress of both measures, and the first reason to stop; none if both met the tolerance.
        current = [max(error, TOLERANCES[-1]) for error in (max(errors[-1]), judged[-1])]
        best = [min(pair) for pair in zip(current, best, strict=True)]
        improved = [n < BETTER * mark for n, mark in zip(current, marks, strict=True)]
        marks = [n if f else mark for n, f, mark in zip(current, improved, marks, strict=True)]
        still = 0 if any(improved) or local is None else still + 1
        patience = STILL if best[0] > TOLERANCES[-1] else STILL // 4
        ends = {
            "": max(best) <= TOLERANCES[-1],
            f"it reached {most} iterations": len(errors) > most,
            "it made no more progress": still >= patience,
            f"it reached the limit of {LIMIT:g} s": watch.seconds > LIMIT,
        }
        if any(ends.values()):
            reason = next(text for text, ended in ends.items() if ended)
            break
        # 3. The next iterate.
        with watch:
            step = point.advance()
            measures = measured(point)
        if isinstance(step, str):
            reason = step
            break
        alpha.append((step.alpha_p, step.alpha_d))
    return Run(
        case, problem.contacts, algorithm, steps, np.array(errors), np.array(gap), np.array(judged),
        np.array(alpha), np.array(seconds), reason,
    )  # fmt: skip


class _Watch:
    """A stopwatch of processor time without compilation, a context manager."""

    def __init__(self) -> None:
        self.seconds = 0.0
        """Time in all contexts so far [s]."""

    def __enter__(self) -> None:
        self._compilation = Compilation()
        self._compilation.__enter__()
        self._start = time.process_time()

    def __exit__(self, *failure: object) -> None:
        spent = time.process_time() - self._start
        self._compilation.__exit__(*failure)
        self.seconds += max(spent - self._compilation.seconds, 0.0)  # the latter is wall time
