"""Small tables, collections and executors without processes, for tests of campaigns."""

import math
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from stickslip.bench.collections.features import Features
from stickslip.bench.environment import Environment
from stickslip.bench.records import Job, Outcome, RunRecord
from stickslip.bench.results import Conditions, Entry, Results

PLACE = Environment(
    "CPython 3.11", "1.0", "abc", (("numba", "0.60"), ("numpy", "2.0")), "Linux x86_64", "A chip", 2, 8.0
)
CONDITIONS = Conditions((1e-4, 1e-8), 20.0, 1024.0, 3, 1, PLACE)


def entry(name: str, size: int = 3, family: str = "made") -> Entry:
    """Make an entry of a problem without a file."""
    return Entry(name, family, f"hash of {name}", Features("local", size // 3, 3, size))


def run_of(problem: str, solver: str, tolerance: float = 1e-4, **more) -> RunRecord:
    """Make the record of a solved run, with numbers determined by its arguments."""
    size = float(len(problem) + len(solver))
    fields = {
        "options": {"max_iterations": 100, "relaxation": 1.0}, "source": "", "outcome": Outcome.SOLVED,
        "natural": tolerance / size, "iterations": int(size), "seconds": 1e-3 * size, "repetitions": 3,
        "history": np.array([[1.0, 1.0, math.nan], [2.0, 0.1, math.inf]]),
    }  # fmt: skip
    return RunRecord(problem=problem, solver=solver, tolerance=tolerance, **fields | more)


def table(*names: str, solvers=("nsgs",), **conditions) -> Results:
    """Make a complete table of these problems and solvers."""
    entries = tuple(entry(name) for name in names)
    changed = replace(CONDITIONS, **conditions)
    runs = [run_of(e.hash, s, t) for e in entries for s in solvers for t in changed.tolerances]
    return Results(changed, entries, tuple(runs), "the command").in_order()


def same(first: Results, second: Results) -> bool:
    """Return whether two tables are equal."""
    runs = [[run.as_json() for run in results.runs] for results in (first, second)]
    return (first.conditions, first.problems, first.command) == (
        second.conditions, second.problems, second.command,
    ) and runs[0] == runs[1]  # fmt: skip


@dataclass(frozen=True)
class Folder:
    """Collection of files that do not exist."""

    entries: tuple[Entry, ...]

    def path(self, entry: Entry) -> Path:
        return Path("/nowhere") / f"{entry.name}.hdf5"

    def kind(self, entry: Entry) -> str | None:
        return None


@dataclass
class Counting:
    """Executor that answers every job immediately and counts the jobs.

    order: function that orders the jobs. stop_after: number of jobs after which `error` is raised.
    """

    workers: int = 1
    order: object = staticmethod(list)
    stop_after: int | None = None
    error: type[BaseException] = KeyboardInterrupt
    place: Environment | None = None
    environment: Environment | None = None
    ran: list[Job] = field(default_factory=list)
    closed: int = 0

    def run(self, jobs, limits, told=None):
        try:
            for k, job in enumerate(self.order(jobs)):
                if k == self.stop_after:
                    raise self.error
                if told is not None:
                    told("worker 1", job)
                self.ran.append(job)
                yield run_of(
                    job.problem, job.contestant.label, job.tolerance, source=job.source,
                    environment=self.place,
                )  # fmt: skip
        finally:
            self.closed += 1
