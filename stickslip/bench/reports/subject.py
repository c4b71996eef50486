"""What a report is about: the runs, whose losses are told, which solvers the figures show, and its words."""

import hashlib
import math
from collections.abc import Sequence

import numpy as np

from stickslip.bench.analysis.costs import Grid
from stickslip.bench.campaigns.contestants import PEER
from stickslip.bench.records import Outcome, RunRecord
from stickslip.bench.results import Results
from stickslip.exhibits import Column
from stickslip.problem.checks import Array

MOST = 10
"""Solvers that a figure shows at most."""
CLAIMS = ("SOLVED", "info 0")
"""What a solver says of itself when it means that it has solved; the second is Siconos's way."""


TOLERANCE = Column("tolerance", "power")
"""The column of tolerances."""


class Subject(Grid):
    """The runs that a report is about, and whom it looks at closely."""

    ours: tuple[str, ...]
    """Solvers whose losses are told one by one."""
    drawn: tuple[str, ...]
    """Solvers in the figures, in one order everywhere, so that each keeps its colour."""

    def __init__(self, results: Results, time: str, ours: str | Sequence[str]) -> None:
        """`ours` are names or labels of solvers.

        Where none of them took part it is the solver that solves most at the tightest tolerance.
        """
        super().__init__(results, time)
        wanted = (ours,) if isinstance(ours, str) else tuple(ours)
        ranked = sorted(self.solvers, key=lambda solver: -solved(self, solver, self.tightest))
        self.ours = tuple(s for s in self.solvers if s in wanted or base(s) in wanted) or tuple(ranked[:1])
        total = {s: sum(solved(self, s, tolerance) for tolerance in self.tolerances) for s in self.solvers}
        able = [solver for solver in self.solvers if solver in self.ours or takes_some(self, solver)]
        best = sorted(able, key=lambda solver: (solver not in self.ours, -total[solver]))[:MOST]
        self.drawn = tuple(solver for solver in self.solvers if solver in best)

    @property
    def peers(self) -> tuple[str, ...]:
        """Solvers of Siconos that took part."""
        return tuple(solver for solver in self.solvers if is_peer(solver))

    @property
    def undrawn(self) -> tuple[str, ...]:
        """Solvers that the figures leave out."""
        return tuple(solver for solver in self.solvers if solver not in self.drawn)

    @property
    def missing_runs(self) -> dict[str, int]:
        """Runs that were not made, by solver."""
        return {s: sum(self.missing(s, tolerance) for tolerance in self.tolerances) for s in self.solvers}


def base(solver: str) -> str:
    """The name of a solver without its options and its source."""
    return solver.partition(" [")[0].partition(":")[0]


def is_peer(solver: str) -> bool:
    """Whether it is a solver of Siconos, by its name."""
    return solver.startswith(f"{PEER}-")


def solved(grid: Grid, solver: str, tolerance: float) -> int:
    """Problems that a solver solved."""
    return sum(run.solved for run in grid.runs_of(solver, tolerance))


def takes_some(grid: Grid, solver: str) -> bool:
    """Whether a solver takes any of the problems: there is a run of it that is no refusal."""
    runs = (run for tolerance in grid.tolerances for run in grid.runs_of(solver, tolerance))
    return any(run.outcome is not Outcome.REFUSED for run in runs)


def claimed(run: RunRecord) -> bool:
    """Whether the solver says that it has solved what the judge finds not solved."""
    return run.outcome is Outcome.MISSED and run.status in CLAIMS


def identity(results: Results) -> str:
    """Twelve digits that name a collection: of its problems' hashes, whatever their order and names."""
    hashes = sorted({entry.hash for entry in results.problems})
    return hashlib.sha256("\n".join(hashes).encode()).hexdigest()[:12]


def number(value: float | None) -> float:
    """A number for a table, NaN (a dash) where there is none: in a table None is a run that was not made."""
    return math.nan if value is None else value


def median(values: Array) -> float:
    """The median, NaN of nothing."""
    return float(np.median(values)) if len(values) else math.nan
