"""Costs of solvers in a campaign: runs by problem, solver and tolerance."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stickslip.bench.records import Outcome, RunRecord
from stickslip.bench.results import Entry, Results
from stickslip.names import alternatives
from stickslip.problem.checks import Array

TIMES = {"wall": "wall time", "cpu": "processor time"}
"""Times that can be compared, and their names."""


class Grid:
    """The runs of a campaign by problem, solver and tolerance.

    A solver is a label. If runs of a label have different sources (two versions of a package), each source is
    a separate solver, with the source in brackets. Of problems with equal numbers only the first one counts.
    """

    problems: tuple[Entry, ...]
    """Problems with different numbers, in the order of the collection."""
    solvers: tuple[str, ...]
    """Names of the solvers, in the order of their first run."""
    tolerances: tuple[float, ...]
    """Tolerances of the campaign and of its runs, descending [-]."""

    def __init__(self, results: Results, time: str = "wall") -> None:
        if time not in TIMES:
            raise ValueError(f"time is {time!r}; {alternatives(time, TIMES, 'it must be one of')}")
        self.time = time
        self.results = results
        self.problems = tuple({entry.hash: entry for entry in reversed(results.problems)}.values())[::-1]
        sources: dict[str, dict[str, None]] = {}
        for run in results.runs:
            sources.setdefault(run.solver, {})[run.source] = None
        self._several = {label for label, of in sources.items() if len(of) > 1}
        self.solvers = tuple(dict.fromkeys(self.name(run) for run in results.runs))
        self.tolerances = tuple(
            sorted({*results.conditions.tolerances, *(run.tolerance for run in results.runs)}, reverse=True)
        )
        self._runs = {(run.problem, self.name(run), run.tolerance): run for run in results.runs}

    @property
    def tightest(self) -> float:
        """The smallest tolerance [-], NaN if there is none."""
        return min(self.tolerances, default=math.nan)

    def name(self, run: RunRecord) -> str:
        """Name of the solver of a run."""
        if run.solver in self._several:
            return f"{run.solver} [{run.source or 'no source'}]"
        return run.solver

    def run(self, entry: Entry, solver: str, tolerance: float) -> RunRecord | None:
        """The run; None if it was not made."""
        return self._runs.get((entry.hash, solver, tolerance))

    def made(self, entry: Entry, tolerance: float) -> dict[str, RunRecord]:
        """The runs of one problem at one tolerance, by solver."""
        runs = {solver: self.run(entry, solver, tolerance) for solver in self.solvers}
        return {solver: run for solver, run in runs.items() if run is not None}

    def runs_of(self, solver: str, tolerance: float) -> list[RunRecord]:
        """The runs of one solver at one tolerance, in the order of the problems."""
        runs = (self.run(entry, solver, tolerance) for entry in self.problems)
        return [run for run in runs if run is not None]

    def missing(self, solver: str, tolerance: float) -> int:
        """Number of problems on which the solver was not run."""
        return len(self.problems) - len(self.runs_of(solver, tolerance))

    def seconds(self, run: RunRecord) -> float:
        """Time of a run [s]; NaN if it is missing or invalid."""
        duration = run.seconds if self.time == "wall" else run.cpu_seconds
        return duration if 0.0 <= duration < math.inf else math.nan

    def cost(self, run: RunRecord | None) -> float:
        """Time of a run [s]; infinite if it did not solve the problem, NaN without a run or a time."""
        if run is None:
            return math.nan
        return self.seconds(run) if run.solved else math.inf

    def family(self, family: str | None) -> tuple[Entry, ...]:
        """The problems of a family; all problems for None."""
        return tuple(entry for entry in self.problems if family in (None, entry.family))


@dataclass(frozen=True, eq=False)
class Costs:
    """Costs of some solvers on the same problems at one tolerance."""

    tolerance: float
    """Tolerance of the judge's residuals [-]."""
    solvers: tuple[str, ...]
    """Compared solvers, one column each."""
    problems: tuple[Entry, ...]
    """Problems on which all of the solvers were run, one row each."""
    seconds: Array
    """Times, infinite for unsolved problems [s], shape (problems, solvers)."""
    refused: Array
    """Whether the solver refused the problem, boolean [-], shape (problems, solvers)."""
    missing: tuple[Entry, ...]
    """Omitted problems, for which a run or a time of some solver is missing."""

    @property
    def contacts(self) -> Array:
        """Numbers of contacts of the problems, at least 1 [-], shape (problems,)."""
        return np.array([max(entry.features.contacts, 1) for entry in self.problems], float)

    @property
    def ratios(self) -> Array:
        """Times relative to the best of the problem, infinite if unsolved [-], shape (problems, solvers)."""
        return ratios(self.seconds)

    @property
    def statement(self) -> str:
        """Sentences on the compared and the omitted problems."""
        if not self.solvers:
            return "No run was made, so there is nothing to compare."
        text = f"{count(len(self.problems), 'problem')} on which {among(self.solvers)} ran"
        if not self.problems:
            text = f"There is no problem on which {among(self.solvers)} ran, so nothing can be compared"
        if self.missing:
            text += (
                f"; {count(len(self.missing), 'problem')} left out, since some run on"
                f" {'it' if len(self.missing) == 1 else 'them'} is missing (not failed)"
            )
        if refused := int(self.refused.sum()):
            text += (
                f". {count(refused, 'refusal')}, of a kind of problem that a solver does not take: not solved"
            )
        return text + "."


def costs(
    grid: Grid, tolerance: float, family: str | None = None, solvers: Sequence[str] | None = None
) -> Costs:
    """Costs at a tolerance, on one family or all problems, of some solvers or all."""
    compared = grid.solvers if solvers is None else tuple(solvers)
    if strangers := [name for name in compared if name not in grid.solvers]:
        raise ValueError(
            f"there is no run of {strangers[0]!r}; "
            f"{alternatives(strangers[0], grid.solvers, 'there are runs of')}"
        )
    problems, missing, seconds, refused = [], [], [], []
    for entry in grid.family(family):
        runs = [grid.run(entry, solver, tolerance) for solver in compared]
        row = [grid.cost(run) for run in runs]
        if any(math.isnan(cost) for cost in row) or not row:
            missing.append(entry)
            continue
        problems.append(entry)
        seconds.append(row)
        refused.append([run is not None and run.outcome is Outcome.REFUSED for run in runs])
    shape = (len(problems), len(compared))
    return Costs(
        tolerance, compared, tuple(problems),
        np.array(seconds, float).reshape(shape), np.array(refused, bool).reshape(shape), tuple(missing),
    )  # fmt: skip


def ratios(seconds: Array) -> Array:
    """Costs relative to the smallest of their row; 1 for equal costs, also for zeros; inf stays inf."""
    solved = np.isfinite(seconds)
    best = seconds.min(axis=1, keepdims=True, initial=np.inf)
    ratio = np.full(seconds.shape, np.inf)
    with np.errstate(invalid="ignore", divide="ignore"):
        np.divide(seconds, best, out=ratio, where=solved)
    ratio[solved & (seconds == best)] = 1.0  # also for 0/0
    return ratio


def count(number: int, noun: str) -> str:
    """A number and its noun in singular or plural."""
    many = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{number:,} {noun if number == 1 else many}"


def among(solvers: Sequence[str]) -> str:
    """Enumerate solvers in a sentence; many of them only by number."""
    return f"all {len(solvers)} solvers" if len(solvers) > 3 else listed(solvers)


def listed(words: Sequence[str]) -> str:
    """Enumerate words in a sentence."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else "none"
