"""`stickslip bench run`: problems to solvers, under limits, into one file that can be gone on with."""

from __future__ import annotations

import shlex
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from inspect import signature
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from stickslip.cli import progress
from stickslip.cli.errors import ExitCode, InputError, complain, printable, refused, stop_code, stop_word
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
"""Columns, and the outcomes that are counted in each."""
SHOWN = 4
"""Jobs under way that are shown one by one."""


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
    given = dict(locals())
    from stickslip.bench.campaigns.campaign import run_campaign
    from stickslip.bench.campaigns.contestants import contestants
    from stickslip.bench.campaigns.results_file import read_results
    from stickslip.bench.records import Limits
    from stickslip.bench.running import executors

    check_writable(out, FCLIB)
    tolerances = _tolerances(tolerance)
    try:
        limits = Limits(timeout=timeout, memory=memory, best_of=best_of)
    except ValueError as error:  # the sentence begins with the name of the class
        said = str(error).removeprefix("Limits: ").replace("best_of", "best-of")
        raise InputError(f"--{said}") from None
    with refused(ValueError), redirect_stdout(sys.stderr):  # a user's module may print when it is imported
        entrants = contestants(solvers or "", own or ())
    if workers < 1:
        raise InputError(f"--workers must be at least 1, got {workers}")
    with refused(ValueError, RuntimeError, ImportError, OSError, before=f"--executor {executor}: "):
        executing = executors.executor(executor, workers)
    collection = _collection(problems, kind, families or "", most, out)
    try:
        # Other conditions, a changed file, an executor that is gone.
        with refused(ValueError, RuntimeError), campaign_table(quiet=json) as shown:
            results = run_campaign(
                collection, entrants, tolerances, limits, executing, out, shown, _command(given)
            )
    except KeyboardInterrupt as stop:
        safe = "no run was made"
        with suppress(OSError, ValueError):
            safe = f"{len(read_results(out).runs)} runs are stored in {out}"
        complain(f"{stop_word(stop)}; {safe}; repeat the command to continue")
        return stop_code(stop)
    if json:
        counts = {"problems": len(results.problems), "runs": len(results.runs)}
        more = {"standings": standings(results), "conditions": results.conditions.as_json()}
        print_json({"out": str(out), "command": results.command, **counts, **more})
    else:
        _close(results, out)
    return ExitCode.FINE


def _tolerances(text: str) -> list[float]:
    found = []
    for word in text.split(","):
        try:
            value = float(word)
        except ValueError:
            raise InputError(f"--tolerance takes numbers separated by commas, got {word.strip()!r}") from None
        if not 0.0 < value < 1.0:
            raise InputError(f"--tolerance must lie in (0, 1), got {word.strip()}")
        if value in found:
            raise InputError(f"--tolerance {word.strip()} is given twice")
        found.append(value)
    return found


def _collection(
    problems: Sequence[Path], kind: str | None, families: str, most: int | None, out: Path
) -> Collection:
    """The chosen problems; what was left out of the folders is said."""
    from stickslip.bench.campaigns.campaign import chosen
    from stickslip.bench.collections.collection import Collection

    if most is not None and most < 1:
        raise InputError(f"--most must be at least 1, got {most}")
    with refused(ValueError, OSError):
        with watch_parts("reading") as told:
            found = Collection.of(problems, kind, told)
        picked = chosen(found, names_in(families), most)
    skipped = [file for file in found.skipped if file.path.resolve() != out.resolve()]
    if skipped:
        complain(f"{len(skipped)} file{'s' if len(skipped) > 1 else ''} left out; {skipped[0].reason}")
    return picked


def _command(given: dict[str, Any]) -> str:
    """The command that makes the same campaign, from the arguments of `run`; defaults are left out."""
    words = ["stickslip", "bench", "run"]
    for name, one in signature(run).parameters.items():
        value = given[name]
        if name != "json" and value and value != one.default:
            for each in value if isinstance(value, list) else [value]:
                text = repr(each).removesuffix(".0") if isinstance(each, float) else str(each)
                words += [f"--{name.replace('_', '-')}", text]
    return shlex.join(words)


def _close(results: Results, out: Path) -> None:
    """The closing table, where everything is, and what to do next."""
    from stickslip.exhibits import power

    columns = ("solver", "tolerance", *GROUPS, "of", "fastest on", "total time")
    rows = []
    for line in standings(results):
        seconds = line["seconds"]  # zero where nothing came to an end
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
    """How many of the runs ended how, by the names of `GROUPS`."""
    count = Counter(run.outcome.name for run in runs)
    return {name: sum(count[outcome] for outcome in group) for name, group in GROUPS.items()}


def standings(results: Results) -> list[dict[str, Any]]:
    """Per solver and tolerance: what became of its runs, on how many it was fastest, and its time [s]."""
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
    """The live table of a campaign on stderr; None when `quiet`, or where that is no terminal."""
    console = None if quiet else progress.terminal()
    if console is None:
        yield None
        return
    from rich.live import Live

    table = CampaignTable()
    with Live(console=console, get_renderable=table.drawn, refresh_per_second=4, transient=True):
        yield table


class CampaignTable:
    """Hears how a campaign goes on, and draws it."""

    def __init__(self) -> None:
        self._runs: dict[str, list[RunRecord]] = {}
        self._names: dict[str, str] = {}
        self._under_way: dict[str, tuple[Job, float]] = {}
        self._done = self._planned = 0
        self._start = time.monotonic()

    def planned(self, jobs: Sequence[Job], results: Results) -> None:
        """What is to be done, and what was done before."""
        self._names = {entry.hash: entry.name for entry in results.problems}
        self._runs = {job.contestant.label: [] for job in jobs}
        for run in results.runs:
            self._runs.setdefault(run.solver, []).append(run)
        self._planned, self._start = len(jobs), time.monotonic()

    def started(self, worker: str, job: Job) -> None:
        """A job begins."""
        self._under_way[worker] = job, time.monotonic()

    def ended(self, record: RunRecord) -> None:
        """A run is in the journal."""
        self._runs.setdefault(record.solver, []).append(record)
        self._done += 1
        for worker, (job, _) in list(self._under_way.items()):
            if job.key == record.key:
                del self._under_way[worker]

    def drawn(self) -> Any:
        """The table as rich draws it."""
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
        """What runs now, and how far everything is."""
        from stickslip.exhibits import power

        now = time.monotonic()
        under_way = list(self._under_way.values())
        for job, since in under_way[:SHOWN]:
            name = self._names.get(job.problem, job.problem[:12])
            label = printable(f"{job.contestant.label} on {name} at {power(job.tolerance)}")
            yield f"now: {label}, {clock(now - since)}"
        if len(under_way) > SHOWN:
            yield f"     and {len(under_way) - SHOWN} more"
        passed = now - self._start
        line = f"{self._done} of {self._planned} runs, {clock(passed)} passed"
        if self._done:
            line += f", about {clock(passed * (self._planned - self._done) / self._done)} left"
        yield line


def clock(seconds: float) -> str:
    """A time for people who wait: `12 s`, `3 min 05 s`, `2 h 10 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
