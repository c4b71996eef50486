"""Siconos as a peer in campaigns: its solvers, in its own interpreter, by the same judge as ours.

    find_siconos()         the interpreter that imports it, and its version
    methods()              its solvers as contestants: siconos-nsgs, siconos-prox, ...
    attempt_siconos(...)   one run as a record

Each of its solvers is tried in every storage that suits the problem, with and without reduction
where it has both, at tolerances of its own from loose to tight; what counts is the fastest setting
whose answer the judge finds good. Times are around its driver call alone. Its measure of error is
absolute and not the judge's, so each method is given tighter and tighter tolerances until the judge is
content. Problems go over as text files in Siconos's own format, 17 digits. A crash, a hang or an error
costs one trial.
"""

import math
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.bench.records import FIGURES, Job, Limits, Outcome, RunRecord
from stickslip.bench.siconos.process import START, TIMES, Found, NoAnswer, SiconosProcess, find_siconos
from stickslip.files import ProblemRecord
from stickslip.files.dat import kind_of, write_dat
from stickslip.problem.box import BoxProblem
from stickslip.problem.checks import Array
from stickslip.problem.contact import GlobalProblem
from stickslip.problem.residuals import Residuals, judge
from stickslip.problem.solution import Problem

LADDER = (1e2, 1e1, 1.0, 1e-1, 1e-2, 1e-4, 1e-6, 1e-10, 1e-14, 1e-18, 1e-22)
"""Tolerances given to Siconos, over the one asked for, until our judge agrees; where its measure is
absolute and the numbers are tiny, it takes the last ones."""
ITERATIONS = 10_000_000
"""So many that only time limits a solver."""
SLOWER = 10.0
"""A solver is given up when it takes so many times longer than the best so far."""
LEAST = 1.0
"""But never before so many seconds."""
QUICK, FEW = 0.02, 5
"""Time box [s] and repetitions of a first trial."""
SHORTEST = 0.1
"""Every call has so many seconds, however late it is."""
READING = 5e6
"""Bytes of text that Siconos reads in a second, at least."""
LARGEST_BOX = 2_000
"""Unknowns of a box problem, at most: its drivers take dense matrices."""
__all__ = ["Found", "attempt_siconos", "find_siconos", "methods", "total_seconds"]
TOTAL = 2.0
"""All trials of one run together take at most so many times the limit of one call."""
SOON = 0.1
"""A setting may take so long before it is compared with the best so far [s]."""
WORST = (Outcome.TIMEOUT, Outcome.MISSED, Outcome.MEMORY, Outcome.CRASHED, Outcome.RAISED)
"""What a run without success is called: the first of these that some setting ended in."""


@dataclass(frozen=True, slots=True)
class Method:
    """One solver of Siconos."""

    name: str
    """Name in tables of trials."""
    constant: str
    """Name of its number in `siconos.numerics`."""
    counts: bool = True
    """Whether it is one of NSGS, PROX, ADMM and NSN_AC, which are compared with."""

    @property
    def contestant(self) -> str:
        """Name in campaigns: `siconos-nsn-ac`. Forms with and without reduction are one contestant."""
        return "siconos-" + self.name.removesuffix("_WR").lower().replace("_", "-")


def _methods(prefix: str, names: str, counted: str = "NSGS PROX ADMM NSN_AC") -> tuple[Method, ...]:
    return tuple(
        Method(name, prefix + name, name.removesuffix("_WR") in counted.split()) for name in names.split()
    )


METHODS = {
    ("friction", 2): _methods("SICONOS_FRICTION_2D_", "NSGS CPG LEMKE ENUM"),
    ("friction", 3): _methods("SICONOS_FRICTION_3D_", "PROX NSN_AC NSGS ADMM"),
    ("rolling", 5): _methods("SICONOS_ROLLING_FRICTION_3D_", "NSGS ADMM"),
    ("global", 3): _methods(
        "SICONOS_GLOBAL_FRICTION_3D_", "PROX_WR NSN_AC_WR NSN_AC NSGS_WR NSGS ADMM_WR ADMM"
    ),
    ("global-rolling", 5): _methods("SICONOS_GLOBAL_ROLLING_FRICTION_3D_", "NSGS_WR"),
    ("lcp", 1): (
        *(Method(name, f"SICONOS_LCP_{name}") for name in ("LEMKE", "PIVOT", "PGS", "CPG")),
        *(Method(name, f"SICONOS_LCP_{name}_FBLSA") for name in ("NEWTON_FB", "NEWTON_MIN")),
        Method("ENUM", "SICONOS_LCP_ENUM"),
    ),
    ("mlcp", 1): (Method("NEWTON_FB", "SICONOS_MLCP_FB"), Method("ENUM", "SICONOS_MLCP_ENUM")),
}
"""Solvers by kind of problem and components of a contact, those likely to be fast first. Those
of mixed problems that want their matrices cut in four are left out: text files hold them in one."""


def methods_for(problem: Problem) -> tuple[Method, ...]:
    """The solvers of Siconos that take `problem`."""
    kind = kind_of(problem) or ""
    if isinstance(problem, BoxProblem):
        return METHODS.get((kind, 1), ()) if 0 < problem.size <= LARGEST_BOX else ()
    if not problem.contacts or (isinstance(problem, GlobalProblem) and problem.G is not None):
        return ()
    return METHODS.get((kind, problem.K.dimension or 0), ())


@dataclass(frozen=True, slots=True)
class Run:
    """What one solver of Siconos did on one problem."""

    method: Method
    storage: str
    """How its matrices were held: dense, block or sparse."""
    tolerance: float = 0.0
    """Tolerance given to Siconos, on its own measure."""
    seconds: float = math.inf
    """Shortest time of the driver call, by the clock asked for [s]."""
    wall: float = math.inf
    """Shortest wall time of the driver call [s]."""
    wall_median: float = math.nan
    """Median wall time of the calls [s]."""
    wall_longest: float = math.nan
    """Longest wall time of the calls [s]."""
    cpu: float = math.inf
    """Shortest processor time of the driver call [s]."""
    cpu_median: float = math.nan
    """Median processor time of the calls [s]."""
    cpu_longest: float = math.nan
    """Longest processor time of the calls [s]."""
    repetitions: int = 0
    """Calls that were timed."""
    info: int = 0
    """What Siconos returned; 0 is success in its own eyes."""
    iterations: int = 0
    """Iterations, counted its own way."""
    memory: float = math.nan
    """How much its process has grown in all calls since its start [MiB]."""
    residuals: Residuals | None = None
    """Our judge's measures on the original problem."""
    passed: bool = False
    """Whether the judge is content."""
    failed: str = ""
    """Why there is no answer, if there is none."""
    outcome: Outcome | None = None
    """What became of it, if there is no answer."""

    @property
    def name(self) -> str:
        """Name for the table."""
        return f"{self.method.name}/{self.storage}"


class Peer:
    """Siconos on one problem, in a process of its own."""

    def __init__(
        self,
        python: str,
        problem: Problem,
        *,
        cpu_from: float = math.inf,
        natural_alone: bool = False,
        memory: float = math.inf,
    ):
        """`cpu_from`: solves that take longer [s] are measured in processor time; `natural_alone`: the
        judge's natural decides, and of r alone; `memory`: what the process may take [MiB]."""
        self.cpu_from, self.natural_alone = cpu_from, natural_alone
        self.turn_to(problem)
        # Files without a name: nothing is left of them, however this process ends.
        self._text = tempfile.TemporaryFile()  # noqa: SIM115 (closed on the way out)
        self._answer = tempfile.TemporaryFile()  # noqa: SIM115
        files = self._text.fileno(), self._answer.fileno()
        self._process = SiconosProcess(python, files, memory)

    def turn_to(self, problem: Problem) -> None:
        """Go on with another problem."""
        self.problem, self.kind, self.methods = problem, kind_of(problem) or "", methods_for(problem)
        self.velocities = problem.M.size if isinstance(problem, GlobalProblem) else 0
        self.answer: Array = np.zeros(problem.size)
        """r of the last call that gave finite ones [N s], shape (n,)."""
        self._texts: dict[str, bytes] = {}
        self._written = ""

    def __enter__(self) -> "Peer":
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        self._process.close()
        self._text.close()
        self._answer.close()

    def storages(self) -> tuple[str, ...]:
        """The storages worth trying: dense while it is small, sparse once it is not."""
        if isinstance(self.problem, BoxProblem):
            return ("dense",)
        if isinstance(self.problem, GlobalProblem):
            return ("sparse", "block", "dense") if self.problem.M.size <= 500 else ("sparse", "block")
        nc = self.problem.contacts
        sparse = nc >= 50 and self.problem.K.dimension == 3  # its other drivers do not take it
        return ("block",) + ("dense",) * (nc <= 100) + ("sparse",) * sparse

    def search(self, tolerance: float, timeout: float) -> list[Run]:
        """Each solver in each storage, at the loosest tolerance of the ladder that contents our judge."""
        settings = [Run(method, storage) for method in self.methods for storage in self.storages()]
        return [runs[-1] for runs in self.trials(settings, tolerance, timeout, LEAST)]

    def trials(
        self, settings: Sequence[Run], tolerance: float, timeout: float, least: float, total: float = math.inf
    ) -> list[list[Run]]:
        """Every call that was made, for each setting; those that are left when time is up are not tried.

        Where one setting is ten times faster than another, the other is waited for `least` seconds only.
        """
        last, best, found = time.monotonic() + total, math.inf, []
        for setting in settings:
            if time.monotonic() >= last:
                break
            limit = min(timeout, max(least, SLOWER * best))
            end = min(last, time.monotonic() + limit) if math.isinf(total) else last
            found.append(self.climb(setting, tolerance, limit, end))
            if found[-1][-1].passed:
                best = min(best, found[-1][-1].seconds)
        return found

    def climb(self, run: Run, tolerance: float, limit: float, end: float) -> list[Run]:
        """Tighter and tighter until it passes or fails; each call takes at most `limit` seconds, and
        hardly any after `end` of the monotonic clock."""
        runs: list[Run] = []
        for share in LADDER:
            run = replace(run, tolerance=share * tolerance)
            run = self.time(run, tolerance, QUICK, FEW, min(limit, end - time.monotonic()))
            runs.append(run)
            if run.passed or run.failed:
                break
        return runs

    def time(self, run: Run, tolerance: float, box: float, most: int, limit: float) -> Run:
        """Run it for `box` seconds, at most `most` times; the shortest time so far counts."""
        limit, size = max(limit, SHORTEST), self._write(run.storage)
        request = {
            "kind": self.kind, "file": self._text.fileno(), "solver": run.method.constant,
            "tolerance": run.tolerance, "iterations": ITERATIONS, "box": box, "most": most,
            "answer": self._answer.fileno(), "cpu_from": self.cpu_from,
            "velocities": self.velocities,
        }  # fmt: skip
        try:
            reply = self._process.ask(request, limit + box + 1.0 + size / READING)
            if reply["wall"] > limit:
                raise NoAnswer(Outcome.TIMEOUT, f"no answer within {limit:.1f} s")
            r, v = self._read()
        except NoAnswer as error:
            return replace(run, failed=error.reason, outcome=error.outcome, passed=False, residuals=None)
        residuals, passed = None, False
        if np.isfinite(r).all() and np.isfinite(v).all():
            self.answer = r
            own = isinstance(self.problem, GlobalProblem) and not self.natural_alone
            residuals = judge(self.problem, r, v if own else None)
            passed = residuals.natural <= tolerance if self.natural_alone else residuals.solved(tolerance)
        seconds = min(reply["seconds"], run.seconds) if run.passed else reply["seconds"]
        return replace(
            run, seconds=seconds, **{name: reply[name] for name in TIMES}, info=int(reply["info"]),
            repetitions=int(reply["repetitions"]), iterations=int(reply["iterations"]),
            memory=float(reply["memory"]), residuals=residuals, passed=passed,
        )  # fmt: skip

    def _read(self) -> tuple[Array, Array]:
        """r, and v of a global problem, as Siconos left them."""
        n, velocities = self.problem.size, self.velocities
        self._answer.seek(0)
        try:
            found = np.load(self._answer, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise NoAnswer(Outcome.RAISED, f"its answer is no array: {error}") from None
        finally:
            self._answer.truncate(0)
        if found.shape != (n + velocities,) or found.dtype != np.float64:
            expected = f"expected ({n + velocities},) of float64"
            raise NoAnswer(Outcome.RAISED, f"its answer has shape {found.shape} of {found.dtype}, {expected}")
        return found[:n], found[n:]

    def _write(self, storage: str) -> int:
        """Let the process find the problem in that storage; bytes of the text."""
        if storage not in self._texts:
            self._texts[storage] = write_dat(Path("problem.dat"), ProblemRecord(self.problem), storage)
        text = self._texts[storage]
        if self._written != storage:
            self._text.seek(0)
            self._text.truncate()
            self._text.write(text)
            self._text.flush()
            self._written = storage
        return len(text)


def methods() -> tuple[str, ...]:
    """Names of all solvers of Siconos, as contestants; each takes some kinds of problem."""
    return tuple(dict.fromkeys(method.contestant for group in METHODS.values() for method in group))


def total_seconds(limits: Limits) -> float:
    """The time after which `attempt_siconos` has surely ended [s]."""
    return TOTAL * limits.timeout + limits.patience + 2.0 * START


def attempt_siconos(job: Job, limits: Limits, problem: Problem) -> RunRecord:
    """One solver of Siconos on `problem`: the fastest of its settings that the judge accepts.

    A call takes at most `limits.timeout`, all together twice as long; options of the record say
    what was given to Siconos, and how many calls it took to find that out.
    """
    blank = RunRecord(job.problem, job.contestant.label, {}, job.source, job.tolerance, Outcome.RAISED)
    found = find_siconos()
    if found.python is None:
        return replace(blank, reason=f"Siconos was not found; tried {'; '.join(found.tried)}")
    if job.source not in ("", found.source):
        return replace(blank, reason=f"{found.source} is here, not {job.source}")
    chosen = [method for method in methods_for(problem) if method.contestant == job.contestant.name]
    if not chosen or job.contestant.options:
        others = ", ".join(dict.fromkeys(method.contestant for method in methods_for(problem)))
        takers = f"those that do: {others}" if others else "no solver of Siconos does"
        name, kind = job.contestant.name, kind_of(problem) or "problem"
        reason = f"{name} does not take a {kind} like {problem!r}; {takers}"
        if job.contestant.options:
            reason = f"{name} takes no options, got {dict(job.contestant.options)}"
        return replace(blank, outcome=Outcome.REFUSED, reason=reason)
    with Peer(found.python, problem, memory=limits.memory) as peer:
        settings = [Run(m, s) for s in peer.storages() for m in chosen]
        how = job.tolerance, limits.timeout, SOON, TOTAL * limits.timeout
        runs = [run for each in peer.trials(settings, *how) for run in each]
        passed = [run for run in runs if run.passed]
        if not passed:
            return _without_success(blank, runs, limits)
        best = min(passed, key=lambda run: run.wall)
        again = peer.time(best, job.tolerance, limits.patience, limits.best_of, limits.timeout)
        return replace(
            _with_figures(blank, again if again.passed else best, len(runs)), outcome=Outcome.SOLVED
        )


def _without_success(blank: RunRecord, runs: list[Run], limits: Limits) -> RunRecord:
    """The answer nearest to a solution, if there is one, and what ended the trials."""
    answers = [run for run in runs if run.residuals is not None]
    record = replace(blank, options=_options(runs[-1], len(runs)))
    if answers:
        nearest = min(answers, key=lambda run: run.residuals.error if run.residuals else math.inf)
        record = _with_figures(blank, nearest, len(runs))
    ends = {run.outcome: run for run in runs if run.outcome is not None}
    if answers:
        ends[Outcome.MISSED] = answers[-1]
    outcome = next((each for each in WORST if each in ends), Outcome.RAISED)
    reason = ends[outcome].failed if outcome in ends else "its answer is not finite"
    seconds = limits.timeout if outcome is Outcome.TIMEOUT else record.seconds
    return replace(record, outcome=outcome, reason=reason, seconds=seconds)


def _with_figures(blank: RunRecord, run: Run, tries: int) -> RunRecord:
    residuals = run.residuals
    assert residuals is not None
    return replace(
        blank, options=_options(run, tries), status=f"info {run.info}", iterations=run.iterations,
        **{name: getattr(residuals, name) for name in FIGURES},
        seconds=run.wall, median_seconds=run.wall_median, longest_seconds=run.wall_longest,
        cpu_seconds=run.cpu, median_cpu_seconds=run.cpu_median, longest_cpu_seconds=run.cpu_longest,
        repetitions=run.repetitions, memory=run.memory,
    )  # fmt: skip


def _options(run: Run, tries: int) -> dict[str, Any]:
    return {
        "solver": run.method.constant, "storage": run.storage, "tolerance": run.tolerance, "tries": tries,
    }  # fmt: skip
