"""Siconos as a peer in campaigns: its solvers, in its own interpreter, by the same judge as ours.

    find_siconos()         the interpreter that imports it, and its version
    methods()              its solvers as contestants: siconos-nsgs, siconos-prox, ...
    attempt_siconos(...)   one run as a record

Each of its solvers is tried in every suitable storage, with and without reduction where both exist, at its
own tolerances from loose to tight. The fastest setting whose answer the judge accepts counts. Only its driver
call is timed. Its error measure is absolute and differs from the judge's, so each method gets tighter
tolerances until the judge accepts the answer. Problems are passed as text files in Siconos's format with 17
digits. A crash, a hang or an error costs one trial.
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
"""Tolerances given to Siconos relative to the requested one [-], until the judge agrees; the last ones are
needed for very small numbers, as its measure is absolute."""
ITERATIONS = 10_000_000
"""Iteration limit, so large that only time limits a solver."""
SLOWER = 10.0
"""Ratio to the best time so far at which a solver is given up [-]; heuristic."""
LEAST = 1.0
"""Shortest time before a solver is given up [s]; heuristic."""
QUICK, FEW = 0.02, 5
"""Time [s] and number of repetitions of a first trial."""
SHORTEST = 0.1
"""Shortest time limit of a call [s]."""
READING = 5e6
"""Lower bound of the speed at which Siconos reads text [bytes/s]."""
LARGEST_BOX = 2_000
"""Largest number of unknowns of a box problem, as its drivers take dense matrices."""
__all__ = ["Found", "attempt_siconos", "find_siconos", "methods", "total_seconds"]
TOTAL = 2.0
"""Time limit of all trials of a run, relative to the limit of one call [-]."""
SOON = 0.1
"""Time before a setting is compared with the best so far [s]."""
WORST = (Outcome.TIMEOUT, Outcome.MISSED, Outcome.MEMORY, Outcome.CRASHED, Outcome.RAISED)
"""Outcomes of a run without success: the first of these that occurred for some setting."""


@dataclass(frozen=True, slots=True)
class Method:
    """One solver of Siconos."""

    name: str
    """Name in tables of trials."""
    constant: str
    """Name of its number in `siconos.numerics`."""
    counts: bool = True
    """Whether it is one of NSGS, PROX, ADMM and NSN_AC, with which solvers are compared."""

    @property
    def contestant(self) -> str:
        """Name in campaigns, `siconos-nsn-ac`, the same for forms with and without reduction."""
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
"""Solvers by kind of problem and number of components of a contact, presumably fast ones first. Solvers of
mixed problems that require four separate matrices are omitted, as text files contain one."""


def methods_for(problem: Problem) -> tuple[Method, ...]:
    """The solvers of Siconos that accept `problem`."""
    kind = kind_of(problem) or ""
    if isinstance(problem, BoxProblem):
        return METHODS.get((kind, 1), ()) if 0 < problem.size <= LARGEST_BOX else ()
    if not problem.contacts or (isinstance(problem, GlobalProblem) and problem.G is not None):
        return ()
    return METHODS.get((kind, problem.K.dimension or 0), ())


@dataclass(frozen=True, slots=True)
class Run:
    """Result of one solver of Siconos on one problem."""

    method: Method
    storage: str
    """Storage of the matrices: dense, block or sparse."""
    tolerance: float = 0.0
    """Tolerance given to Siconos, for its own measure."""
    seconds: float = math.inf
    """Shortest time of the driver call, by the selected clock [s]."""
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
    """Number of timed calls."""
    info: int = 0
    """Return code of Siconos; 0 means success by its own measure."""
    iterations: int = 0
    """Number of iterations, as counted by Siconos."""
    memory: float = math.nan
    """Growth of its process in all calls since its start [MiB]."""
    residuals: Residuals | None = None
    """Residuals of the judge on the original problem."""
    passed: bool = False
    """Whether the judge accepts the answer."""
    failed: str = ""
    """Reason why there is no answer."""
    outcome: Outcome | None = None
    """Outcome if there is no answer."""

    @property
    def name(self) -> str:
        """Name for the table."""
        return f"{self.method.name}/{self.storage}"


class Peer:
    """Siconos on one problem, in a separate process."""

    def __init__(
        self,
        python: str,
        problem: Problem,
        *,
        cpu_from: float = math.inf,
        natural_alone: bool = False,
        memory: float = math.inf,
    ):
        """cpu_from: time from which solves are measured in processor time [s]. natural_alone: only the
        judge's residual natural of r decides. memory: memory limit of the process [MiB]."""
        self.cpu_from, self.natural_alone = cpu_from, natural_alone
        self.turn_to(problem)
        # Unnamed files, which disappear however this process ends.
        self._text = tempfile.TemporaryFile()  # noqa: SIM115 (closed on the way out)
        self._answer = tempfile.TemporaryFile()  # noqa: SIM115
        files = self._text.fileno(), self._answer.fileno()
        self._process = SiconosProcess(python, files, memory)

    def turn_to(self, problem: Problem) -> None:
        """Switch to another problem."""
        self.problem, self.kind, self.methods = problem, kind_of(problem) or "", methods_for(problem)
        self.velocities = problem.M.size if isinstance(problem, GlobalProblem) else 0
        self.answer: Array = np.zeros(problem.size)
        """r of the last call with a finite result [N s], shape (n,)."""
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
        """Suitable storages: dense for small problems, sparse for large ones."""
        if isinstance(self.problem, BoxProblem):
            return ("dense",)
        if isinstance(self.problem, GlobalProblem):
            return ("sparse", "block", "dense") if self.problem.M.size <= 500 else ("sparse", "block")
        nc = self.problem.contacts
        sparse = nc >= 50 and self.problem.K.dimension == 3  # other drivers do not accept sparse storage
        return ("block",) + ("dense",) * (nc <= 100) + ("sparse",) * sparse

    def search(self, tolerance: float, timeout: float) -> list[Run]:
        """Try each solver in each storage, at the loosest tolerance of the ladder that the judge accepts."""
        settings = [Run(method, storage) for method in self.methods for storage in self.storages()]
        return [runs[-1] for runs in self.trials(settings, tolerance, timeout, LEAST)]

    def trials(
        self, settings: Sequence[Run], tolerance: float, timeout: float, least: float, total: float = math.inf
    ) -> list[list[Run]]:
        """Try all settings within the time limit; return all calls of each setting.

        A setting that is ten times slower than another is given up after `least` seconds.
        """
        last, best, climbs = time.monotonic() + total, math.inf, []
        for setting in settings:
            if time.monotonic() >= last:
                break
            limit = min(timeout, max(least, SLOWER * best))
            end = min(last, time.monotonic() + limit) if math.isinf(total) else last
            climbs.append(self.climb(setting, tolerance, limit, end))
            if climbs[-1][-1].passed:
                best = min(best, climbs[-1][-1].seconds)
        return climbs

    def climb(self, run: Run, tolerance: float, limit: float, end: float) -> list[Run]:
        """Tighten the tolerance until a setting passes or fails; each call takes at most `limit` seconds, and
        at most SHORTEST seconds after `end` of the monotonic clock."""
        runs: list[Run] = []
        for share in LADDER:
            run = replace(run, tolerance=share * tolerance)
            run = self.time(run, tolerance, QUICK, FEW, min(limit, end - time.monotonic()))
            runs.append(run)
            if run.passed or run.failed:
                break
        return runs

    def time(self, run: Run, tolerance: float, box: float, most: int, limit: float) -> Run:
        """Repeat a run for `box` seconds, at most `most` times; the shortest time counts."""
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
            global_form = isinstance(self.problem, GlobalProblem) and not self.natural_alone
            residuals = judge(self.problem, r, v if global_form else None)
            passed = residuals.natural <= tolerance if self.natural_alone else residuals.solved(tolerance)
        seconds = min(reply["seconds"], run.seconds) if run.passed else reply["seconds"]
        return replace(
            run, seconds=seconds, **{name: reply[name] for name in TIMES}, info=int(reply["info"]),
            repetitions=int(reply["repetitions"]), iterations=int(reply["iterations"]),
            memory=float(reply["memory"]), residuals=residuals, passed=passed,
        )  # fmt: skip

    def _read(self) -> tuple[Array, Array]:
        """Read r, and v of a global problem, from the file of Siconos."""
        n, velocities = self.problem.size, self.velocities
        self._answer.seek(0)
        try:
            array = np.load(self._answer, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise NoAnswer(Outcome.RAISED, f"its answer is no array: {error}") from None
        finally:
            self._answer.truncate(0)
        if array.shape != (n + velocities,) or array.dtype != np.float64:
            expected = f"expected ({n + velocities},) of float64"
            raise NoAnswer(Outcome.RAISED, f"its answer has shape {array.shape} of {array.dtype}, {expected}")
        return array[:n], array[n:]

    def _write(self, storage: str) -> int:
        """Write the problem in a storage for the process; return the size of the text [bytes]."""
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
    """Names of all solvers of Siconos as contestants; each accepts some kinds of problems."""
    return tuple(dict.fromkeys(method.contestant for group in METHODS.values() for method in group))


def total_seconds(limits: Limits) -> float:
    """Upper bound of the time of `attempt_siconos` [s]."""
    return TOTAL * limits.timeout + limits.patience + 2.0 * START


def attempt_siconos(job: Job, limits: Limits, problem: Problem) -> RunRecord:
    """Run one solver of Siconos on `problem`: the fastest of its settings that the judge accepts.

    A call takes at most `limits.timeout`, all calls together twice as long. The options of the record contain
    the setting and the number of calls to find it.
    """
    blank = RunRecord(job.problem, job.contestant.label, {}, job.source, job.tolerance, Outcome.RAISED)
    place = find_siconos()
    if place.python is None:
        return replace(blank, reason=f"Siconos was not found; tried {'; '.join(place.tried)}")
    if job.source not in ("", place.source):
        return replace(blank, reason=f"{place.source} is here, not {job.source}")
    chosen = [method for method in methods_for(problem) if method.contestant == job.contestant.name]
    if not chosen or job.contestant.options:
        others = ", ".join(dict.fromkeys(method.contestant for method in methods_for(problem)))
        takers = f"those that do: {others}" if others else "no solver of Siconos does"
        name, kind = job.contestant.name, kind_of(problem) or "problem"
        reason = f"{name} does not take a {kind} like {problem!r}; {takers}"
        if job.contestant.options:
            reason = f"{name} takes no options, got {dict(job.contestant.options)}"
        return replace(blank, outcome=Outcome.REFUSED, reason=reason)
    with Peer(place.python, problem, memory=limits.memory) as peer:
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
    """Record of the answer with the smallest error, if there is one, and of the reason of failure."""
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
