"""The contact problems that a scene meets while it runs, as records that say where they come from.

A scene runs as `stickslip run` runs it. The solver that its scheme asks is one that hands every problem on
and keeps those of the steps wanted, with the answer and with the impulses it began from.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import stickslip
from stickslip import scenes
from stickslip.bench.collections.features import Features
from stickslip.bench.collections.provenance import Recording
from stickslip.files import ProblemRecord, StoredSolution, write
from stickslip.names import alternatives
from stickslip.problem.box import BoxProblem
from stickslip.problem.checks import Array
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.solution import AnyProblem, Problem, Solution
from stickslip.scenes import runs
from stickslip.schemes import registry as schemes
from stickslip.solvers import registry as solvers
from stickslip.state import UnknownNameError

Progress = Callable[[float, float], None]
"""Called with the time that a scene has reached, and its end [s]."""
SELDOM = 10**9
"""Steps between two that the trajectory of a recorded run keeps: it is not looked at."""


@dataclass(frozen=True, eq=False)
class Recorded:
    """One problem of a scene."""

    record: ProblemRecord
    """The problem, what is said about it, the answer found and the guess it was found from."""
    step: int
    """Number of the step, from 1; 0 where the scene is one problem."""
    time: float
    """When the step begins [s]."""
    name: str
    """Of a file, without ending: `stack-bodies10-000120`."""
    features: Features
    """What kind of problem it is."""


Keep = Callable[[Recorded], None]


def names() -> list[str]:
    """Scenes that can be recorded: those that run, and those that are one problem."""
    return sorted({*runs.names(), *scenes.names()})


def parameters_of(name: str) -> dict[str, Any]:
    """Parameters of a scene and their defaults; an unknown name is an UnknownNameError."""
    if name in scenes.names():
        return scenes.parameters(name)
    if name not in runs.names():
        raise UnknownNameError(f"no scene {name!r}; {alternatives(name, names())}")
    return runs.parameters(name)


def is_one_problem(name: str) -> bool:
    """Whether a scene is one problem and does not run."""
    return name in scenes.names()


def problems_of(
    scenario_name: str,
    parameters: Mapping[str, Any],
    *,
    every: int,
    start: float = 0.0,
    until: float | None = None,
    h: float | None = None,
    most: int | None = None,
    solver: str = "auto",
    progress: Progress | None = None,
) -> Iterator[Recorded]:
    """The problems of every so many steps that have contacts, from time `start` [s] on, at most `most`.

    The first such step is kept, and every `every`-th after it; of a step the first problem that it asks for.
    A scene that fails on the way gives what it met before, and then its exception. A scene that is one
    problem gives that.
    """
    found: list[Recorded] = []
    failure: Exception | None = None
    try:
        _meet(scenario_name, parameters, every, start, until, h, most, solver, progress, found.append)
    except Exception as error:  # what was met stands, whatever stopped the scene
        failure = error
    yield from found
    if failure is not None:
        raise failure


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
    progress: Progress | None = None,
    told: Callable[[Path, Recorded], None] | None = None,
) -> list[Path]:
    """Write the problems of `problems_of` into the folder `out`, each as soon as it is met; the files.

    `told` is called after each with the file and what is in it.
    """
    files: list[Path] = []

    def keep(one: Recorded) -> None:
        path = out / f"{one.name}.hdf5"
        out.mkdir(parents=True, exist_ok=True)
        write(path, one.record)
        files.append(path)
        if told is not None:
            told(path, one)

    _meet(scenario_name, parameters, every, start, until, h, most, solver, progress, keep)
    return files


class _Enough(Exception):  # noqa: N818 (it says what is)
    """As many problems as were asked for have been met."""


def _meet(
    name: str, given: Mapping[str, Any], every: int, start: float, until: float | None, h: float | None,
    most: int | None, solver: str, progress: Progress | None, keep: Keep,
) -> None:  # fmt: skip
    """Run a scene, and give each problem to be kept to `keep`."""
    for key, value in (("every", every), ("most", most)):
        if value is not None and value < 1:
            raise ValueError(f"{key} is {value}; it must be at least 1")
    if not start >= 0.0:
        raise ValueError(f"start is {start}; it must be at least 0")
    known = parameters_of(name)
    differs = {key: value for key, value in given.items() if key not in known or value != known[key]}
    about = Recording(
        scene=name, summary="", parameters=known | differs, given=differs, every=every, start=start,
        until=until, h=h, most=most, solver=solver,
    )  # fmt: skip
    if is_one_problem(name):
        _keep_one(about, keep)
        return
    scene = runs.make(name, **differs)
    scheme = runs.scheme_of(scene)
    of_bodies = schemes.entry(runs.scheme_name(scene)).order == schemes.BODIES
    tolerance = stickslip.WORLD_TOLERANCE if of_bodies else stickslip.SYSTEM_TOLERANCE
    made: Any = solvers.make(solver, tolerance=tolerance)
    length = scene.h if h is None else h
    title, options = schemes.described(scheme)
    said = ", ".join([f"h={length!r}", *(f"{key}={value}" for key, value in options.items())])
    listener = _Listener(made, tolerance, about.run_by(scene.summary, f"{title} ({said})"), keep)

    def moved(t: float, end: float) -> None:
        listener.step, listener.time, listener.asked = listener.step + 1, t, False
        if progress is not None:
            progress(t, end)

    end = scene.until if until is None else until
    try:
        stickslip.simulate(
            scene.system, until=end, h=length, scheme=scheme, solver=listener, record=SELDOM, progress=moved
        )
    except _Enough:
        return


def _keep_one(about: Recording, keep: Keep) -> None:
    """The problem of a scene that is one."""
    problem = scenes.make(about.scene, **about.given)
    answer = solvers.make(about.solver, tolerance=stickslip.WORLD_TOLERANCE).solve(problem)
    keep(_recorded(about.run_by(scenes.summary(about.scene), ""), problem, None, answer, 0, 0.0))


@dataclass
class _Listener:
    """A solver that hands on every problem, and keeps those of the steps wanted."""

    solver: Any
    tolerance: float
    about: Recording
    keep: Keep
    step: int = 1
    """The step that is being made."""
    time: float = 0.0
    """When it began [s]."""
    asked: bool = False
    """Whether it has asked for a problem with contacts."""
    met: int = 0
    """Steps that had contacts, from the start of the recording."""
    kept: int = 0

    def solve(self, problem: AnyProblem, *, guess: ArrayLike | None = None) -> Solution:
        """The answer of the solver behind."""
        answer: Solution = self.solver.solve(problem, guess=guess)
        if self.asked or self.time < self.about.start or not _has_contacts(problem):
            return answer
        self.asked = True
        self.met += 1
        if (self.met - 1) % self.about.every == 0:
            assert isinstance(problem, ContactProblem | GlobalProblem | BoxProblem)
            begun = None if guess is None else np.asarray(guess, float)
            self.keep(_recorded(self.about, problem, begun, answer, self.step, self.time))
            self.kept += 1
            if self.kept == self.about.most:
                raise _Enough
        return answer


def _has_contacts(problem: AnyProblem) -> bool:
    """Whether there is something that may open, slide or switch, in a problem that files can hold."""
    if not isinstance(problem, ContactProblem | GlobalProblem | BoxProblem):
        return False
    return Features.of(problem).contacts > 0


def _recorded(
    about: Recording, problem: Problem, guess: Array | None, answer: Solution, step: int, time: float
) -> Recorded:
    features = Features.of(problem, spectrum=True)
    info = about.info(problem, step, time, answer, guess is not None, features)
    found = _stored(problem, answer.r, answer.u, answer.v, answer.lam)
    begun = None if guess is None else _stored(problem, guess, *_motion(problem, guess))
    record = ProblemRecord(problem, info, found, () if begun is None else (begun,))
    return Recorded(record, step, time, about.name(step), features)


def _motion(problem: Problem, r: Array) -> tuple[Array, Array | None]:
    """u, and v where there is one, that impulses r alone lead to."""
    if isinstance(problem, BoxProblem):
        return problem.value(r), None
    if isinstance(problem, ContactProblem):
        return problem.velocity(r), None
    v = problem.M.solve(problem.f + problem.pushed(r, np.zeros(problem.g_bias.size)))
    return problem.contact_velocity(v), v


def _stored(
    problem: Problem, r: Array, u: Array, v: Array | None = None, lam: Array | None = None
) -> StoredSolution | None:
    """An answer as a file holds it, None where it is not finite."""
    if not isinstance(problem, GlobalProblem):
        v = lam = None
    parts = [part for part in (r, u, v, lam) if part is not None]
    return StoredSolution(r, u, v, lam) if all(np.isfinite(part).all() for part in parts) else None
