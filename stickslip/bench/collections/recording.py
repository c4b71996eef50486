"""The contact problems that a model meets while it runs: those of a scene, or of any model of the user's own.

The solver that the run asks is one that hands every problem on, and keeps those of the steps wanted, with the
answer and with the impulses it began from. The run is the same as without.
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
"""Called with the time that a run has reached, and its end [s]."""
SELDOM = 10**9
"""Steps between two that the trajectory of a recorded run keeps: it is not looked at."""
STORED = ContactProblem | GlobalProblem | BoxProblem
"""Problems that files can hold."""
Keep = Callable[[Recorded], None]


@dataclass(frozen=True, kw_only=True)
class ProblemRecorder:
    """Which of the contact problems of a run are written, and where: `simulate(..., record_problems=...)`.

    Of the steps that have contacts, from time `start` [s] on, the first is kept and every `every`-th after
    it, at most `most`; of a step the first problem that it asks for.
    """

    out: str | PathLike[str]
    """Folder for the files, made if it is not there."""
    every: int = 1
    """Keep one of so many steps that have contacts."""
    start: float = 0.0
    """Keep no step that begins before this time [s]."""
    most: int | None = None
    """Write so many files at most; the run goes on without."""
    name: str = "model"
    """Name of the files and of the family of their problems."""

    def __post_init__(self) -> None:
        Recording.check(self.every, self.most, self.start)


def problems_of(scenario_name: str, parameters: Mapping[str, Any], **how: Any) -> Iterator[Recorded]:
    """The problems that `record` writes; how: the steps that are kept, and by whom, as `record` takes it.

    A scene that fails on the way gives what it met before, and then its exception.
    """
    found: list[Recorded] = []
    try:
        _meet(scenario_name, parameters, found.append, None, how)
    finally:
        yield from found


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
    told: Callable[[Path, Recorded], None] | None = None,
) -> list[Path]:
    """Write problems that a scene meets into the folder `out`, each as soon as it is met; the files.

    scenario_name: a scene, or `file.py:function` or `package.module:function` of a function with keyword
    parameters that gives a World, a NonsmoothSystem (with `until` and `h`), a Scenario or a problem.
    Of the steps that have contacts, from time `start` [s] on, the first is kept and every `every`-th after
    it, at most `most`; of a step the first problem that it asks for. What is one problem gives that.
    `told` is called after each with the file and what is in it.
    """
    files: list[Path] = []

    def keep(one: Recorded) -> None:
        path = _written(out, one)
        files.append(path)
        if told is not None:
            told(path, one)

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


class _Enough(Exception):  # noqa: N818 (it says what is)
    """As many problems as were asked for have been met."""


def _meet(
    name: str, parameters: Mapping[str, Any], keep: Keep, progress: Progress | None, how: Mapping[str, Any]
) -> None:
    """Run a model, and give each problem to be kept to `keep`."""
    about = Recording.of(name, parameters, **how)
    made: Model = model_of(name, about.given, about.until, about.h)
    about = replace(about, summary=made.summary)
    if isinstance(made.model, STORED):
        given = {"tolerance": stickslip.WORLD_TOLERANCE} | dict(about.solver_options)
        answer = solvers.make(about.solver, **given).solve(made.model)
        keep(recorded(about, made.model, None, answer, 0, 0.0))
        return
    with suppress(_Enough):
        stickslip.simulate(
            made.model, until=made.until, h=made.h, scheme=made.scheme, solver=about.solver,
            solver_options=about.solver_options, record=SELDOM, progress=progress,
            record_problems=Hearing(about, keep, ends=True),
        )  # fmt: skip


@dataclass(eq=False)
class Hearing:
    """What a run is asked, and which of it is kept."""

    about: Recording
    keep: Keep
    ends: bool = False
    """Whether the run ends when as many are kept as are wanted."""
    step: int = 1
    """The step that is being made."""
    time: float = 0.0
    """When it began [s]."""
    asked: bool = False
    """Whether it has asked for a problem with contacts."""
    met: int = 0
    """Steps that had contacts, from the start of the recording."""
    kept: int = 0

    def moved(self, t: float) -> None:
        """Take note of the end of a step."""
        self.step, self.time, self.asked = self.step + 1, t, False

    def hear(self, problem: Any, guess: ArrayLike | None, answer: Solution) -> None:
        """Keep a problem if it is wanted; of a whole step, its tangent problem at the answer."""
        about = self.about
        if self.asked or self.time < about.start or self.kept == about.most:
            return
        if not isinstance(problem, STORED):
            problem, guess = answer.problem, None
        # Something may open, slide or switch, in a problem that files can hold.
        if not isinstance(problem, STORED) or not Features.of(problem).contacts:
            return
        self.asked = True
        self.met += 1
        if (self.met - 1) % about.every:
            return
        # A step that knows nothing begins with zeros.
        begun = None if guess is None or not np.any(guess) else np.asarray(guess, float)
        self.keep(recorded(about, problem, begun, answer, self.step, self.time))
        self.kept += 1
        if self.ends and self.kept == about.most:
            raise _Enough


@dataclass(frozen=True, eq=False)
class Listener:
    """A solver that hands every problem on to another, and lets someone hear of it."""

    solver: Any
    hearing: Hearing
    tolerance: float
    """Of the solver behind [-]."""

    def __post_init__(self) -> None:
        if is_dataclass(self.solver) and getattr(self.solver, "tolerance", None) not in (
            None,
            self.tolerance,
        ):
            finer = replace(self.solver, tolerance=self.tolerance)  # type: ignore[type-var]
            object.__setattr__(self, "solver", finer)

    def solve(self, problem: AnyProblem, *, guess: ArrayLike | None = None) -> Solution:
        """The answer of the solver behind."""
        answer: Solution = self.solver.solve(problem, guess=guess)
        self.hearing.hear(problem, guess, answer)
        return answer

    def __getattr__(self, name: str) -> Any:
        # Steps in compiled code would ask nobody.
        if name == "compiled_steps" or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.solver, name)


def listened(
    wanted: Any, model: Any, how: Mapping[str, Any], scheme: Any, h: float | None, start: Any,
    progress: Progress | None,
) -> tuple[Listener, Progress]:  # fmt: skip
    """The solver and the progress of a run whose problems are recorded.

    wanted: a folder, a `ProblemRecorder`, or a `Hearing`; how: `solver`, `solver_name` and `tolerance` of it.
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
