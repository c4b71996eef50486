"""The problems of the rolling study, piles and chutes of spheres made from seeds, and runs on them: one
algorithm on one problem, iteration by iteration, on two measures.
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
"""Steps from the smallest problems to the largest."""
LARGEST = 1000
"""Spheres of the largest problems; they have nearly three contacts each."""
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


class Measures(NamedTuple):
    """Errors of an iterate, as Nguyen 2021 defines them."""

    pinfeas: float
    """|J y - H' v - w| / (1 + |w|) [-]."""
    dinfeas: float
    """|M v - f - H r| / (1 + |f|) [-]."""
    comp1: float
    """|y o z| of the first cones of the contacts [J]."""
    comp2: float
    """|y o z| of their other cones [J]."""
    gap: float
    """y'z = u'r [J]."""


def measured(point: ConePoint) -> Measures:
    """How far the iterate is from a solution."""
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
    """What is varied at every size besides the shape of the pile."""

    mu: float
    """Friction coefficient [-]."""
    roll: float
    """Rolling friction over the mean radius [-]."""
    velocity: float
    """Random part of the velocities, g h being 0.0098 [m/s]."""
    angle: float
    """Slope of the chutes [deg]."""


FRICTIONS = (
    Friction(0.3, 0.05, 0.0, 20.0),
    Friction(0.5, 0.02, 0.02, 30.0),
    Friction(0.1, 0.2, 0.0, 10.0),
    Friction(0.4, 0.1, 0.1, 40.0),
)
"""From rough to slippery, from hardly to strongly resisting rolling, at rest and agitated.

Chutes on a rough bed wedge where mu reaches 0.7: impulses may then grow without bound in balance, no
velocities are strictly inside the dual cones, and no central path leads to a solution.
"""


@dataclass(frozen=True)
class Case:
    """One problem of the study, by its seed."""

    family: str
    """"pile" or "chute"."""
    spheres: int
    """How many are poured [-]."""
    seed: int
    """Of the pile [-]."""
    friction: Friction
    """Coefficients and motion."""
    bed: str = "rough"
    """Bed of a chute."""

    @property
    def name(self) -> str:
        """Says the family, the spheres, the coefficients and the seed."""
        what = self.family if self.family == "pile" else f"{self.bed} {self.family}"
        return f"{what}, {self.spheres} spheres, mu {self.friction.mu:g}, seed {self.seed}"

    def problem(self) -> GlobalProblem:
        """The contact problem of one step with rolling friction; 5 components per contact."""
        f = self.friction
        given: dict[str, Any] = {
            "spheres": self.spheres, "seed": self.seed, "mu": f.mu, "mu_roll": f.roll * RADIUS,
            "velocity": f.velocity, "radius": RADIUS,
        }  # fmt: skip
        if self.family == "pile":
            return sphere_packing(**given)
        return chute(**given, angle=f.angle, bed=self.bed, speed=0.1)


SHOWN = {
    2: Case("pile", 2, 1, FRICTIONS[0]),
    4: Case("chute", 3, 1, FRICTIONS[1], "smooth"),
    100: Case("pile", 38, 6, FRICTIONS[1]),
    351: Case("chute", 133, 4, FRICTIONS[0]),
}
"""The problems whose iterations are shown, by their exact number of contacts."""


def cases(quick: bool = False) -> list[Case]:
    """All problems, 2 to some three thousand contacts, evenly in the logarithm; or a few small ones.

    Piles and chutes of the same spheres alternate with the friction; small chutes have a smooth bed,
    for all spheres of a few lie on the floor.
    """
    grown = np.geomspace(2.0, LARGEST, SIZES).round().astype(int)
    sizes = np.maximum(grown, 2 + np.arange(SIZES)).tolist()  # each a little larger than the one before
    sizes, frictions = ([3, 12], FRICTIONS[:2]) if quick else (sizes, FRICTIONS)
    found = list(SHOWN.values())
    for step, spheres in enumerate(sizes):
        bed = "rough" if spheres >= 40 else "smooth"
        for which, friction in enumerate(frictions):
            seed = 10 * step + which
            found.append(Case("pile", spheres, seed, friction))
            found.append(Case("chute", spheres, seed + 5, friction, bed))
    return found


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
        names = ("errors", "gap", "judged", "alpha", "seconds")
        return replace(self, reason="", **{name: getattr(self, name)[: at + 1] for name in names})

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
        measures = measured(point)
    best, marks, still = [np.inf, np.inf], [np.inf, np.inf], 0
    while True:
        errors.append(measures[:4])
        gap.append(measures.gap)
        seconds.append(watch.seconds)
        judged.append(np.inf if local is None else judge(local, point.answer().r, relaxed=True).error)
        now = [max(error, TOLERANCES[-1]) for error in (max(errors[-1]), judged[-1])]
        best = [min(pair) for pair in zip(now, best, strict=True)]
        fell = [n < BETTER * mark for n, mark in zip(now, marks, strict=True)]
        marks = [n if f else mark for n, f, mark in zip(now, fell, marks, strict=True)]
        still = 0 if any(fell) or local is None else still + 1
        patience = STILL if best[0] > TOLERANCES[-1] else STILL // 4
        ends = {  # in this order; nothing to say where it met all it could
            "": max(best) <= TOLERANCES[-1],
            f"{most} iterations were made": len(errors) > most,
            "it made no more progress": still >= patience,
            f"{LIMIT:g} s were over": watch.seconds > LIMIT,
        }
        if any(ends.values()):
            reason = next(why for why, ended in ends.items() if ended)
            break
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
