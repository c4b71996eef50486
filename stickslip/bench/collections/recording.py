"""Record the contact problems of a simulation, of a scene or of a user's model.

The run uses a solver that forwards every problem to the actual solver, and records the problems of selected
steps with their solutions and initial guesses. Recording does not change the run.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, is_dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import stickslip
from stickslip.bench.collections.features import Features
from stickslip.bench.collections.models import Model, model_of
from stickslip.bench.collections.recorded import Recorded, Recording, recorded
from stickslip.files import write
from stickslip.problem.box import BoxProblem
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.solution import AnyProblem, Solution
from stickslip.schemes import registry as schemes
from stickslip.simulation.clock import RunStatus, takes_status
from stickslip.solvers import registry as solvers
from stickslip.state import ModelError

Progress = Callable[[float, float], None]
"""Called with the current time of a run, and its end [s]."""
SELDOM = 10**9
"""Number of steps between records of the trajectory, which is not used."""
STORED = ContactProblem | GlobalProblem | BoxProblem
"""Problems that can be stored in files."""
Keep = Callable[[Recorded], None]
"""Function that receives a recorded problem."""


@dataclass(frozen=True, kw_only=True)
class ProblemRecorder:
    """Selection of the contact problems of a run that are written: `simulate(..., record_problems=...)`.

    Of the steps with contacts, from time `start` [s] on, the first one and every `every`-th after it are
    recorded, at most `most`; of a step its first problem.
    """

    out: str | PathLike[str]
    """Folder for the files, created if it does not exist."""
    every: int = 1
    """Record every `every`-th step that has contacts."""
    start: float = 0.0
    """Time of the first recorded step [s]."""
    most: int | None = None
    """Largest number of files; the run continues without recording."""
    name: str = "model"
    """Name of the files and of the family of their problems."""

    def __post_init__(self) -> None:
        Recording.check(self.every, self.most, self.start)


def problems_of(scenario_name: str, parameters: Mapping[str, Any], **how: Any) -> Iterator[Recorded]:
    """Yield the problems that `record` writes; how: the other arguments of `record`.

    If the simulation fails, the problems before are yielded, and then its exception is raised.
    """
    problems: list[Recorded] = []
    try:
        _meet(scenario_name, parameters, problems.append, None, how)
    finally:
        yield from problems


def record(
    scenario_name: str,
    parameters: Mapping[str, Any],
    out: Path,
    *,
    every: int,
    start: float = 0.0,
    until: float | None = None,
    h: float | None = None,
    most: int | None = None,
    solver: str = "auto",
    solver_options: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    report: Callable[[Path, Recorded], None] | None = None,
) -> list[Path]:
    """Simulate a scene and write its contact problems to the folder `out` as they occur; return the files.

    scenario_name: a scene, or `file.py:function` or `package.module:function` of a function with keyword
    parameters that returns a World, a NonsmoothSystem (with `until` and `h`), a Scenario or a problem. Of the
    steps with contacts, from time `start` [s] on, the first one and every `every`-th after it are recorded,
    at most `most`; of a step its first problem. A single problem is recorded as it is. report: called after
    each problem with the file and the recorded problem.
    """
    files: list[Path] = []

    def keep(one: Recorded) -> None:
        path = _written(out, one)
        files.append(path)
        if report is not None:
            report(path, one)

    how = {
        "every": every, "start": start, "until": until, "h": h, "most": most, "solver": solver,
        "solver_options": dict(solver_options or {}),
    }  # fmt: skip
    _meet(scenario_name, parameters, keep, progress, how)
    return files


def _written(out: Path, one: Recorded) -> Path:
    path = out / f"{one.name}.hdf5"
    out.mkdir(parents=True, exist_ok=True)
    write(path, one.record)
    return path


class _Enough(Exception):  # noqa: N818 (describes a state)
    """The requested number of problems has been recorded."""


def _meet(
    name: str, parameters: Mapping[str, Any], keep: Keep, progress: Progress | None, how: Mapping[str, Any]
) -> None:
    """Simulate a model, and pass each selected problem to `keep`."""
    about = Recording.of(name, parameters, **how)
    model: Model = model_of(name, about.given, about.until, about.h)
    about = replace(about, summary=model.summary)
    if isinstance(model.model, STORED):
        options = {"tolerance": stickslip.WORLD_TOLERANCE} | dict(about.solver_options)
        answer = solvers.make(about.solver, **options).solve(model.model)
        keep(recorded(about, model.model, None, answer, 0, 0.0))
        return
    with suppress(_Enough):
        stickslip.simulate(
            model.model, until=model.until, h=model.h, scheme=model.scheme, solver=about.solver,
            solver_options=about.solver_options, record=SELDOM, progress=progress,
            record_problems=Hearing(about, keep, ends=True),
        )  # fmt: skip


@dataclass(eq=False)
class Hearing:
    """Selects the problems of a run that are recorded."""

    about: Recording
    keep: Keep
    ends: bool = False
    """Whether the run ends when the requested number of problems has been recorded."""
    step: int = 1
    """Number of the current step."""
    time: float = 0.0
    """Time at the start of the current step [s]."""
    asked: bool = False
    """Whether a problem with contacts of the current step has been seen."""
    met: int = 0
    """Number of steps with contacts since the start of the recording."""
    kept: int = 0
    """Number of recorded problems."""

    def moved(self, t: float) -> None:
        """Register the end of a step at time t [s]."""
        self.step, self.time, self.asked = self.step + 1, t, False

    def hear(self, problem: Any, guess: ArrayLike | None, answer: Solution) -> None:
        """Record a problem if it is selected; for a step problem, its tangent problem at the solution."""
        about = self.about
        if self.asked or self.time < about.start or self.kept == about.most:
            return
        if not isinstance(problem, STORED):
            problem, guess = answer.problem, None
        # Only problems with contacts that can be stored in files.
        if not isinstance(problem, STORED) or not Features.of(problem).contacts:
            return
        self.asked = True
        self.met += 1
        if (self.met - 1) % about.every:
            return
        # A zero guess is no guess.
        begun = None if guess is None or not np.any(guess) else np.asarray(guess, float)
        self.keep(recorded(about, problem, begun, answer, self.step, self.time))
        self.kept += 1
        if self.ends and self.kept == about.most:
            raise _Enough


@dataclass(frozen=True, eq=False)
class Listener:
    """A solver that forwards every problem to another solver, and reports it to `hearing`."""

    solver: Any
    hearing: Hearing
    tolerance: float
    """Tolerance of the other solver [-]."""

    def __post_init__(self) -> None:
        if is_dataclass(self.solver) and getattr(self.solver, "tolerance", None) not in (
            None,
            self.tolerance,
        ):
            finer = replace(self.solver, tolerance=self.tolerance)  # type: ignore[type-var]
            object.__setattr__(self, "solver", finer)

    def solve(self, problem: AnyProblem, *, guess: ArrayLike | None = None) -> Solution:
        """Return the solution of the other solver."""
        answer: Solution = self.solver.solve(problem, guess=guess)
        self.hearing.hear(problem, guess, answer)
        return answer

    def __getattr__(self, name: str) -> Any:
        # Steps in compiled code would bypass this solver.
        if name == "compiled_steps" or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.solver, name)


def listened(
    wanted: Any, model: Any, how: Mapping[str, Any], scheme: Any, h: float | None, start: Any,
    progress: Progress | None,
) -> tuple[Listener, Progress]:  # fmt: skip
    """Solver and progress function of a run whose problems are recorded.

    wanted: a folder, a `ProblemRecorder` or a `Hearing`; how: `solver`, `solver_name` and `tolerance` of the
    run.
    """
    state = getattr(start, "state", start)
    begins = float(getattr(state, "t", 0.0))
    hearing = wanted if isinstance(wanted, Hearing) else _hearing(wanted, how["solver_name"])
    hearing.time = begins
    hearing.about = replace(hearing.about, scheme=_scheme_text(model, scheme, h, start))
    status_wanted = progress is not None and takes_status(progress)

    def moved(t: float, end: float, status: RunStatus | None = None) -> None:
        hearing.moved(t)
        if progress is None:
            return
        if status_wanted:
            progress(t, end, status=status)  # type: ignore[call-arg]
        else:
            progress(t, end)

    return Listener(how["solver"], hearing, how["tolerance"]), moved


def _hearing(wanted: Any, solver: str) -> Hearing:
    if isinstance(wanted, str | PathLike):
        wanted = ProblemRecorder(out=wanted)
    if not isinstance(wanted, ProblemRecorder):
        raise ModelError(
            f"record_problems is {wanted!r}; expected a folder, or stickslip.bench.ProblemRecorder(out=...)"
        )
    about = Recording(
        wanted.name, {}, {}, wanted.every, wanted.start, most=wanted.most, solver=solver, place="simulate",
        summary="a model of the user's own",
    )  # fmt: skip
    out = Path(wanted.out)

    def keep(one: Recorded) -> None:
        _written(out, one)

    return Hearing(about, keep)


def _scheme_text(model: Any, scheme: Any, h: float | None, start: Any) -> str:
    """Name, step and options of the scheme of a run."""
    if scheme is None and getattr(start, "scheme", None):
        title, options = start.scheme, start.scheme_options
    elif isinstance(model, stickslip.World):
        title, options = schemes.described(schemes.chosen_for_bodies(scheme))
    else:
        title, options = schemes.described(schemes.chosen_for_system(scheme, model))
    length = h if h is not None else getattr(getattr(start, "clock", None), "h", None)
    return f"{title} ({', '.join([f'h={length!r}', *(f'{key}={value}' for key, value in options.items())])})"
