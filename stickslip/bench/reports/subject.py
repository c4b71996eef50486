"""Subject of a report: the runs, the solvers whose losses are listed, and the solvers in figures."""

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
"""Largest number of solvers in a figure."""
CLAIMS = ("SOLVED", "info 0")
"""Statuses with which solvers claim success; the second is that of Siconos."""


TOLERANCE = Column("tolerance", "power")
"""The column of tolerances."""


class Subject(Grid):
    """The runs of a report, and the solvers that it treats in detail."""

    ours: tuple[str, ...]
    """Solvers whose losses are listed one by one."""
    drawn: tuple[str, ...]
    """Solvers in the figures, in the same order everywhere, so that each keeps its colour."""

    def __init__(self, results: Results, time: str, ours: str | Sequence[str]) -> None:
        """ours: names or labels of solvers; if none of them took part, the solver that solves most problems
        at the tightest tolerance."""
        super().__init__(results, time)
        names = (ours,) if isinstance(ours, str) else tuple(ours)
        ranked = sorted(self.solvers, key=lambda solver: -solved(self, solver, self.tightest))
        self.ours = tuple(s for s in self.solvers if s in names or base(s) in names) or tuple(ranked[:1])
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
        """Solvers that are not in the figures."""
        return tuple(solver for solver in self.solvers if solver not in self.drawn)

    @property
    def missing_runs(self) -> dict[str, int]:
        """Numbers of missing runs by solver."""
        return {s: sum(self.missing(s, tolerance) for tolerance in self.tolerances) for s in self.solvers}


def base(solver: str) -> str:
    """Name of a solver without options and source."""
    return solver.partition(" [")[0].partition(":")[0]


def is_peer(solver: str) -> bool:
    """Whether a solver is one of Siconos, by its name."""
    return solver.startswith(f"{PEER}-")


def solved(grid: Grid, solver: str, tolerance: float) -> int:
    """Number of problems solved by a solver."""
    return sum(run.solved for run in grid.runs_of(solver, tolerance))


def takes_some(grid: Grid, solver: str) -> bool:
    """Whether a solver accepts any of the problems: it has a run that is not a refusal."""
    runs = (run for tolerance in grid.tolerances for run in grid.runs_of(solver, tolerance))
    return any(run.outcome is not Outcome.REFUSED for run in runs)


def claimed(run: RunRecord) -> bool:
    """Whether the solver claims success that the judge does not confirm."""
    return run.outcome is Outcome.MISSED and run.status in CLAIMS


def identity(results: Results) -> str:
    """Twelve digits that identify a collection by the hashes of its problems, whatever order and names."""
    hashes = sorted({entry.hash for entry in results.problems})
    return hashlib.sha256("\n".join(hashes).encode()).hexdigest()[:12]


def number(value: float | None) -> float:
    """Number for a table; None becomes NaN (a dash), because None in a table means a missing run."""
    return math.nan if value is None else value


def median(values: Array) -> float:
    """The median; NaN for an empty array."""
    return float(np.median(values)) if len(values) else math.nan
