"""The function `sweep`: many runs of one model, each made once, in one file."""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.bench.campaigns.contestants import HERE, PREFIX, source_of_function
from stickslip.bench.campaigns.journal import Journal
from stickslip.bench.campaigns.loop import carry_out
from stickslip.bench.collections.models import is_own, is_problem, parameters_of, takes_any
from stickslip.bench.environment import here
from stickslip.bench.records import Executor, Limits
from stickslip.bench.running.executors import executor as executor_of
from stickslip.bench.running.process import MARK
from stickslip.names import alternatives
from stickslip.state import ModelError
from stickslip.sweeps.definition import Sweep, refuse_other, refuse_other_place
from stickslip.sweeps.designs import SEED, Design, Parameter, parameter_of, parameters_of_list, whole
from stickslip.sweeps.how import check_how
from stickslip.sweeps.result import SweepResult, read_sweep
from stickslip.sweeps.runs import Row, Run, measure_of
from stickslip.sweeps.sweep_file import Head, done_in, fold, journal_rows

PORTION = 20_000
"""Number of runs between two updates of the file, which bounds the rows in memory and in the journal."""
TIMEOUT, MEMORY = 3600.0, 4096.0
"""Default limits of a run [s], [MiB]."""
Progress = Callable[[str, int, int], None]
"""Called with a summary of the failures so far, the number of runs made and the total number."""


def sweep(
    make: str | Callable[..., Any],
    parameters: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    measure: str | Callable[..., Any] | Sequence[str | Callable[..., Any]] = "usual",
    *,
    samples: int = 0,
    method: str = "random",
    repeat: int = 1,
    seed: int | None = None,
    executor: "str | Executor" = "processes",
    workers: int | None = None,
    timeout: float = TIMEOUT,
    memory: float = MEMORY,
    out: str | PathLike[str] | None = None,
    progress: Progress | None = None,
    command: str = "",
    **how: Any,
) -> SweepResult:
    """Run a model at many values of its parameters, and measure each run.

    make        name of a scene, or a function of the parameters that returns a World, a NonsmoothSystem, a
                Robot, a Scenario or a Trajectory; or the place of a function, `file.py:function`
    parameters  by name a value, several values in a list, or a distribution of `ss.sweeps`, such as
                `Uniform(0.1, 0.9)`: all combinations of the values in lists are run, each with all samples.
                Or a list of runs, each with its parameters by name
    measure     one or several measures: names (usual, facts, final, energy, runout, speed, penetration),
                functions of a run that return one number, or several by name, or places of functions. A
                function with an argument `parameters` gets those of the run
    samples     number of samples of the distributions method      sampling method: `random`, `latin` (Latin
    hypercube) or `sobol` (scrambled Sobol points) repeat      number of runs of each combination; the model
    must have a parameter `seed` seed        seed of the samples and of the runs, 0 by default: if it is given
    or runs are repeated, each run
                gets its own `seed`, if the model has such a parameter
    executor    `processes` on this machine, `dask` (a cluster on this machine), `dask://HOST:PORT` (the
                scheduler of a cluster), or `here`, in this process, one run after the other without limits
    workers     number of simultaneous runs; by default the number of processors timeout, memory   limits of
    one run [s], [MiB] out         a file, .h5 or .hdf5, to which every row is written immediately. An
    interrupted sweep, even by a
                kill, is continued; other parameters than those of the file are refused
    progress    called with a summary of failures, the number of runs made and the total number
    how         until, h, scheme, solver, solver_options, tolerance, record, on_failure: see `simulate`

    Every run gives a row; the row of a failed run contains the reason. Equal arguments give equal rows except
    for times, independently of the executor and the number of workers. Functions are called in other
    processes, which find them by name: they must be defined in a file or a module, and a script must call
    `sweep` under `if __name__ == "__main__":`. With `here` any function can be used.
    """
    by = executor if isinstance(executor, str) else "an executor of your own"
    if by != "here" and os.environ.get(MARK):
        raise ModelError(
            "sweep is called by a process of a sweep, which imports the file of a function: put the call"
            ' under if __name__ == "__main__":'
        )
    check_how(how)
    count = _processors() if workers is None else whole("workers", workers, 1)
    limits = Limits(timeout=timeout, memory=memory, best_of=1)
    measures = (measure,) if isinstance(measure, str) or not isinstance(measure, Sequence) else tuple(measure)
    with _places(by == "here") as place_of:
        places = tuple(place_of(one) for one in measures)
        model = place_of(make)
        for each in places:
            measure_of(each)
        design = design_of(model, parameters, samples, method, repeat, seed)
        sources = {place: source_of_function(place) for place in (model, *places) if is_own(place)}
        definition = Sweep(model, design, places, how, limits.timeout, limits.memory, sources)
        doing: Executor = executor_of(executor, count, times=False) if isinstance(executor, str) else executor
        if out is not None:
            if Path(out).suffix.lower() not in (".h5", ".hdf5"):
                raise ValueError(f"{out}: the name of the file of a sweep must end in .h5 or .hdf5")
            return _swept(Path(out), definition, doing, limits, command, progress)
        with tempfile.TemporaryDirectory(prefix="stickslip-sweep-") as folder:
            return _swept(Path(folder) / "sweep.h5", definition, doing, limits, command, progress)


def design_of(
    model: str,
    parameters: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    samples: int = 0,
    method: str = "random",
    repeat: int = 1,
    seed: int | None = None,
) -> Design:
    """Make the design of a sweep of a model; names and types of its parameters are checked."""
    seed, repeat = None if seed is None else whole("seed", seed, 0), whole("repeat", repeat, 1)
    samples = whole("samples", samples, 0)
    if isinstance(parameters, Mapping):
        axes = tuple(
            one if isinstance(one, Parameter) else parameter_of(name, one) for name, one in parameters.items()
        )
    else:
        axes = parameters_of_list(parameters)
    if model.endswith(".py"):
        raise ModelError(f"{model} is a file; name a function of it, {model}:function")
    if is_problem(model):
        raise ModelError(f"{model} is a problem and does not run; `stickslip scenes` lists those that do")
    known = parameters_of(model, [one.name for one in axes])
    for one in axes:
        if one.name not in known and not takes_any(model):
            others = alternatives(one.name, known, "it has:")
            raise ModelError(f"{model} has no parameter {one.name!r}; {others}")
        if type(known.get(one.name)) is int and one.kind is float:
            raise ModelError(f"{one} of {model} must be whole numbers; sample it by Integers(low, high)")
    seeded = SEED in known and SEED not in [one.name for one in axes] and (seed is not None or repeat > 1)
    if repeat != 1 and not seeded:
        raise ModelError(
            f"repeat is {repeat}, but runs of {model} with equal parameters are equal: it has no parameter"
            " seed that could differ"
        )
    return Design(axes, samples, method, repeat, seed or 0, seeded)


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _places(here_too: bool) -> Iterator[Callable[[Any], str]]:
    """Yield a function that returns the place of a function, or a name unchanged.

    Functions without a place get a temporary one.
    """
    names: list[str] = []

    def place_of(given: Any) -> str:
        if isinstance(given, str):
            path, colon, name = given.rpartition(":")
            return f"{Path(path).resolve()}:{name}" if colon and path.endswith(".py") else given
        if not callable(given):
            raise TypeError(f"{given!r} is neither a function nor the name of one")
        place = place_by_name(given)
        if not place:
            name = getattr(given, "__name__", type(given).__name__)
            if not here_too:
                raise ModelError(
                    f"other processes do not find the function {name}: define it at the top of a file or"
                    ' module, or run the sweep in this process, executor="here"'
                )
            place = f"here:{name}"
            while place in HERE:
                place += "_"
            HERE[place] = given
            names.append(place)
        return place

    try:
        yield place_of
    finally:
        for place in names:
            del HERE[place]


def place_by_name(function: Callable[..., Any]) -> str:
    """Place of a function for other processes, `file.py:name` or `package.module:name`; empty if none."""
    name, module = getattr(function, "__qualname__", ""), sys.modules.get(getattr(function, "__module__", ""))
    if module is None or not name.isidentifier() or getattr(module, name, None) is not function:
        return ""
    file = getattr(module, "__file__", None)
    package = module.__name__.partition(".")[0]
    if package in ("__main__", module.__name__) or package.startswith(PREFIX):
        return f"{Path(file).resolve()}:{name}" if file and file.endswith(".py") else ""
    return f"{module.__name__}:{name}"


def _swept(
    out: Path, asked: Sweep, executor: Executor, limits: Limits, command: str, progress: Progress | None
) -> SweepResult:
    """Make the runs that the file does not contain."""
    head = Head(asked, getattr(executor, "environment", None) or here(), command)
    journal, rows, safe = Journal(out, "sweep"), dict[int, Row](), False
    try:
        stored, done = done_in(out, asked)
        left = journal_rows(out)
        for other in (stored, None if left is None else left[0]):
            if other is not None:
                refuse_other(other.sweep, asked, str(out))
                refuse_other_place(other.environment, head.environment, (str(out), "this sweep"))
        head = stored or (head if left is None else left[0])
        rows |= {} if left is None else left[1]
        done[list(rows)] = True
        if stored is None or rows:
            _write(out, head, rows)
        safe = True  # the rows of the journal are in the file
        todo = np.flatnonzero(~done)
        report = _ProgressReport(progress, int(done.sum()), done.size)
        for first in range(0, len(todo), PORTION):
            journal.begin(head.line())
            try:
                jobs = asked.jobs(todo[first : first + PORTION])
                carry_out(jobs, executor, limits, journal, _looked(head), _kept(rows), report)
            finally:
                _write(out, head, rows)
        return read_sweep(out)
    finally:
        journal.close(keep=bool(rows) or not safe)


def _write(out: Path, head: Head, rows: dict[int, Row]) -> None:
    """Add rows to the file, and clear them."""
    fold(out, head, rows)
    rows.clear()


def _kept(rows: dict[int, Row]) -> Callable[[Row], None]:
    """Function that stores a row."""

    def keep(row: Row) -> None:
        rows[row.number] = row

    return keep


def _looked(head: Head) -> Callable[[Row], None]:
    """Function that refuses rows made by other versions of software."""

    def look(row: Row) -> None:
        if row.environment is not None:
            names = "this sweep", f"the place of run {row.number}"
            refuse_other_place(head.environment, row.environment, names)

    return look


class _ProgressReport:
    """Reports the progress of a sweep."""

    def __init__(self, progress: Progress | None, done: int, size: int):
        self._progress, self._done, self._size = progress, done, size
        self._failed = 0
        self._tell()

    def planned(self, jobs: Sequence[Run], done: Any) -> None:
        """Do nothing; the numbers are known."""

    def started(self, worker: str, job: Run) -> None:
        """Receive the start of a run."""

    def ended(self, record: Row) -> None:
        """Receive a row that has been written."""
        self._done += 1
        self._failed += record.reason != ""
        self._tell()

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(f"{self._failed} failed" if self._failed else "", self._done, self._size)
