"""`stickslip bench run`: solve problems by several solvers, under limits, into one results file.

An interrupted campaign is continued from its results file.
"""

from __future__ import annotations

import shlex
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from inspect import signature
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from stickslip.cli import progress
from stickslip.cli.errors import ExitCode, InputError, complain, printable, refused, stopped_runs
from stickslip.cli.parameters import Json, Kind
from stickslip.cli.places import FCLIB, check_writable
from stickslip.cli.progress import watch_parts
from stickslip.cli.settings import names_in
from stickslip.cli.tables import duration, print_json, table

if TYPE_CHECKING:
    from stickslip.bench.collections.collection import Collection
    from stickslip.bench.records import Job, RunRecord
    from stickslip.bench.results import Results

GROUPS = {
    "solved": ("SOLVED",),
    "missed": ("MISSED",),
    "timeout": ("TIMEOUT",),
    "crashed": ("MEMORY", "CRASHED", "RAISED"),
    "refused": ("REFUSED",),
}
"""Columns of the table of outcomes, each with the names of the outcomes that it counts."""
SHOWN = 4
"""Largest number of running jobs that are shown one by one."""


def run(
    *,
    problems: list[Path],
    solvers: str | None = None,
    own: Annotated[list[str] | None, Parameter(name="--own")] = None,
    tolerance: str = "1e-8",
    timeout: float = 20.0,
    memory: float = 4096.0,
    best_of: int = 3,
    workers: int = 1,
    executor: str = "processes",
    out: Path,
    families: str | None = None,
    most: int | None = None,
    kind: Kind = None,
    json: Json = False,
) -> int:
    """Solve problems by several solvers, and store the judge's residuals of every answer.

    Each run is made in a warm process with a time limit and a memory limit; a crash
    or a hang affects that run only. The judge decides success, at the tolerance of the
    campaign. Every run is written to disk at once: the same command continues an
    interrupted campaign and repeats no run. More problems and solvers may be added to
    a results file, but not other conditions.

    Options of a solver follow colons, ipm:max_iterations=50. newton means newton-ac,
    and siconos means all solvers of Siconos, where it is installed.

    Exit status 0: all runs were made, including failed ones.

    For example:
      stickslip bench run --problems standard --out results.h5
      stickslip bench run --problems standard --tolerance 1e-4,1e-8 --out all.h5
      stickslip bench run --problems a.dat --solvers auto,siconos --out a.h5
      stickslip bench run --problems p --own mine=solver.py:Mine --out mine.h5
      stickslip bench run --problems p --executor dask --workers 4 --out p.h5

    Parameters
    ----------
    problems
        Folder of problem files (.hdf5, .dat), or one file; may be repeated.
    solvers
        Solvers, separated by commas; by default nsgs, anderson, admm, prox, newton-ac, ipm, clarabel,
        auto, siconos.
    own
        Your own solver, NAME=file.py:Class or NAME=package.module:Class; may be repeated.
    tolerance
        Largest residual of a solved problem; several values separated by commas make separate runs.
    timeout
        Time limit of one solve, without compilation [s].
    memory
        Memory limit of one run [MiB].
    best_of
        Number of timed calls; the shortest counts.
    workers
        Number of simultaneous runs; use at most one for each core.
    executor
        Executor of the runs: processes, dask (a cluster on this machine), or dask://HOST:PORT.
    out
        Results file (.h5, .hdf5); an existing file is continued.
    families
        Families of problems to use, separated by commas; all by default.
    most
        Largest number of problems; the smallest ones are used.
    """
    arguments = dict(locals())
    from stickslip.bench.campaigns.campaign import run_campaign
    from stickslip.bench.campaigns.contestants import contestants
    from stickslip.bench.campaigns.results_file import read_results
    from stickslip.bench.records import Limits
    from stickslip.bench.running import executors

    check_writable(out, FCLIB)
    tolerances = _tolerances(tolerance)
    try:
        limits = Limits(timeout=timeout, memory=memory, best_of=best_of)
    except ValueError as error:  # the message begins with the name of the class
        message = str(error).removeprefix("Limits: ").replace("best_of", "best-of")
        raise InputError(f"--{message}") from None
    with refused(ValueError), redirect_stdout(sys.stderr):  # a user's module may print when it is imported
        entrants = contestants(solvers or "", own or ())
    if workers < 1:
        raise InputError(f"--workers must be at least 1, got {workers}")
    with refused(ValueError, RuntimeError, ImportError, OSError, before=f"--executor {executor}: "):
        executing = executors.executor(executor, workers)
    collection = _collection(problems, kind, families or "", most, out)
    try:
        # Refused: other conditions than those of the file, a changed file, a lost executor.
        with refused(ValueError, RuntimeError), campaign_table(quiet=json) as shown:
            results = run_campaign(
                collection, entrants, tolerances, limits, executing, out, shown, _command(arguments)
            )
    except KeyboardInterrupt as stop:
        return stopped_runs(stop, lambda: len(read_results(out).runs), out)
    if json:
        counts = {"problems": len(results.problems), "runs": len(results.runs)}
        tables = {"standings": standings(results), "conditions": results.conditions.as_json()}
        print_json({"out": str(out), "command": results.command, **counts, **tables})
    else:
        _close(results, out)
    return ExitCode.FINE


def _tolerances(text: str) -> list[float]:
    values = []
    for word in text.split(","):
        try:
            value = float(word)
        except ValueError:
            raise InputError(f"--tolerance takes numbers separated by commas, got {word.strip()!r}") from None
        if not 0.0 < value < 1.0:
            raise InputError(f"--tolerance must lie in (0, 1), got {word.strip()}")
        if value in values:
            raise InputError(f"--tolerance {word.strip()} is given twice")
        values.append(value)
    return values


def _collection(
    problems: Sequence[Path], kind: str | None, families: str, most: int | None, out: Path
) -> Collection:
    """Read and select the problems; report on stderr how many files are left out."""
    from stickslip.bench.campaigns.campaign import chosen
    from stickslip.bench.collections.collection import Collection

    if most is not None and most < 1:
        raise InputError(f"--most must be at least 1, got {most}")
    with refused(ValueError, OSError):
        with watch_parts("reading") as report:
            everything = Collection.of(problems, kind, report)
        picked = chosen(everything, names_in(families), most)
    skipped = [file for file in everything.skipped if file.path.resolve() != out.resolve()]
    if skipped:
        complain(f"{len(skipped)} file{'s' if len(skipped) > 1 else ''} left out; {skipped[0].reason}")
    return picked


def _command(arguments: dict[str, Any]) -> str:
    """The command that repeats this campaign, from the arguments of `run`; defaults are omitted."""
    words = ["stickslip", "bench", "run"]
    for name, parameter in signature(run).parameters.items():
        value = arguments[name]
        if name != "json" and value and value != parameter.default:
            for item in value if isinstance(value, list) else [value]:
                text = repr(item).removesuffix(".0") if isinstance(item, float) else str(item)
                words += [f"--{name.replace('_', '-')}", text]
    return shlex.join(words)


def _close(results: Results, out: Path) -> None:
    """Print the final table, the place of the results, and the commands to continue."""
    from stickslip.exhibits import power

    columns = ("solver", "tolerance", *GROUPS, "of", "fastest on", "total time")
    rows = []
    for line in standings(results):
        seconds = line["seconds"]  # zero if no run ended
        total = clock(seconds) if seconds >= 60.0 else duration(seconds) if seconds else ""
        numbers = (str(line[name]) for name in (*GROUPS, "runs", "fastest"))
        rows.append((line["solver"], power(line["tolerance"]), *numbers, total))
    table(columns, rows, columns[1:])
    place = printable(shlex.quote(str(out)))
    page = printable(shlex.quote(str(out.with_suffix(".html"))))
    print(f"\n{len(results.runs)} runs on {len(results.problems)} problems in {printable(str(out))}")
    print(f"report: stickslip bench report {place} --out {page}")
    print("to add problems or solvers, repeat the command with more of them; existing runs are kept")


def outcomes(runs: Sequence[RunRecord]) -> dict[str, int]:
    """Number of runs in each group of outcomes of `GROUPS`."""
    count = Counter(run.outcome.name for run in runs)
    return {name: sum(count[outcome] for outcome in group) for name, group in GROUPS.items()}


def standings(results: Results) -> list[dict[str, Any]]:
    """For each solver and tolerance: outcomes, the number of problems it was fastest on, total time [s]."""
    lines: dict[tuple[str, float], list[RunRecord]] = {}
    best: dict[tuple[str, float], float] = {}
    for run in results.runs:
        lines.setdefault((run.solver, run.tolerance), []).append(run)
        if run.solved:
            place = run.problem, run.tolerance
            best[place] = min(best.get(place, run.seconds), run.seconds)
    return [
        {"solver": solver, "tolerance": tolerance, "runs": len(runs), **outcomes(runs)}
        | {
            "fastest": sum(run.solved and run.seconds == best[run.problem, tolerance] for run in runs),
            "seconds": sum(run.seconds for run in runs if run.seconds == run.seconds),
        }
        for (solver, tolerance), runs in sorted(lines.items(), key=lambda line: (line[0][0], -line[0][1]))
    ]


@contextmanager
def campaign_table(quiet: bool = False) -> Iterator[CampaignTable | None]:
    """Show the live table of a campaign on stderr; yield None if `quiet` or if stderr is not a terminal."""
    console = None if quiet else progress.terminal()
    if console is None:
        yield None
        return
    from rich.live import Live

    table = CampaignTable()
    with Live(console=console, get_renderable=table.drawn, refresh_per_second=4, transient=True):
        yield table


class CampaignTable:
    """Progress display of a campaign: receives its events and draws a table of them."""

    def __init__(self) -> None:
        self._runs: dict[str, list[RunRecord]] = {}
        self._names: dict[str, str] = {}
        self._under_way: dict[str, tuple[Job, float]] = {}
        self._done = self._planned = 0
        self._start = time.monotonic()

    def planned(self, jobs: Sequence[Job], results: Results) -> None:
        """Receive the planned jobs and the results that exist already."""
        self._names = {entry.hash: entry.name for entry in results.problems}
        self._runs = {job.contestant.label: [] for job in jobs}
        for run in results.runs:
            self._runs.setdefault(run.solver, []).append(run)
        self._planned, self._start = len(jobs), time.monotonic()

    def started(self, worker: str, job: Job) -> None:
        """Receive the start of a job on a worker."""
        self._under_way[worker] = job, time.monotonic()

    def ended(self, record: RunRecord) -> None:
        """Receive a run that was written to the journal."""
        self._runs.setdefault(record.solver, []).append(record)
        self._done += 1
        for worker, (job, _) in list(self._under_way.items()):
            if job.key == record.key:
                del self._under_way[worker]

    def drawn(self) -> Any:
        """The table and the lines below it, as objects that rich draws."""
        from rich.box import SIMPLE_HEAD
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        shown = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
        shown.add_column("solver", no_wrap=True)
        for name in ("done", *GROUPS, "median time"):
            shown.add_column(name, justify="right", no_wrap=True)
        for solver, runs in list(self._runs.items()):
            times = [run.seconds for run in list(runs) if run.solved]
            counts = (len(runs), *outcomes(runs).values())
            middle = duration(median(times)) if times else ""
            shown.add_row(Text(printable(solver)), *(str(n) if n else "" for n in counts), middle)
        return Group(shown, *(Text(line, no_wrap=True, overflow="ellipsis") for line in self._lines()))

    def _lines(self) -> Iterator[str]:
        """Yield lines on the running jobs, the number of runs made and the time left."""
        from stickslip.exhibits import power

        now = time.monotonic()
        under_way = list(self._under_way.values())
        for job, since in under_way[:SHOWN]:
            name = self._names.get(job.problem, job.problem[:12])
            label = printable(f"{job.contestant.label} on {name} at {power(job.tolerance)}")
            yield f"now: {label}, {clock(now - since)}"
        if len(under_way) > SHOWN:
            yield f"     and {len(under_way) - SHOWN} more"
        elapsed = now - self._start
        line = f"{self._done} of {self._planned} runs, {clock(elapsed)} passed"
        if self._done:
            line += f", about {clock(elapsed * (self._planned - self._done) / self._done)} left"
        yield line


def clock(seconds: float) -> str:
    """Format a waiting time [s]: `12 s`, `3 min 05 s`, `2 h 10 min`."""
    rounded = round(seconds)
    if rounded < 60:
        return f"{rounded} s"
    if rounded < 3600:
        return f"{rounded // 60} min {rounded % 60:02d} s"
    return f"{rounded // 3600} h {rounded % 3600 // 60:02d} min"
