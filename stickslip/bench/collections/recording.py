"""The contact problems that a scene meets while it runs, as records that say where they come from.

A scene runs as `stickslip run` runs it. The solver that its scheme asks is one that hands every problem on
and keeps those of the steps wanted, with the answer and with the impulses it began from.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import stickslip
from stickslip import scenes
from stickslip.bench.collections.features import Features
from stickslip.bench.environment import here
from stickslip.files import ProblemRecord, StoredSolution, write
from stickslip.problem.box import BoxProblem
from stickslip.problem.checks import Array
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.solution import AnyProblem, Problem, Solution
from stickslip.schemes import registry as schemes
from stickslip.solvers import registry as solvers

OPTIONS = ("every", "from", "until", "h", "most", "solver", "out", "set")
"""Options of `stickslip bench record`; a parameter of the same name is given by --set."""
LONGEST = 60
"""Most characters that parameters may take in the name of a file."""

LAW = "u + (mu |u_T| + ...) e_N in K* and orthogonal to r in K"
EQUATIONS = {
    "local": f"u = W r + q, {LAW}",
    "global": f"M v = f + H r + G l, u = H' v + w, G' v + b = 0, {LAW}",
    "box": "-(A z + b) in the normal cone of [lower, upper] at z",
}
"""What the problems of each kind ask for."""
Progress = Callable[[float, float], None]
"""Called with the time that a scene has reached, and its end [s]."""
SELDOM = 10**9
"""Steps between two that the trajectory of a recorded run keeps: it is not looked at."""


@dataclass(frozen=True)
class Recording:
    """What is recorded: a scene, its parameters, and which of its steps, as `record` takes it."""

    scene: str
    parameters: Mapping[str, Any]
    """All of them, defaults too."""
    given: Mapping[str, Any]
    """Those that differ from their defaults."""
    every: int
    start: float = 0.0
    until: float | None = None
    h: float | None = None
    most: int | None = None
    solver: str = "auto"
    summary: str = ""
    """What the scene is, in a line."""
    scheme: str = ""
    """Name and options of the time scheme; empty where the scene is one problem."""

    @classmethod
    def of(cls, scene: str, given: Mapping[str, Any], **how: Any) -> "Recording":
        """A recording of that scene with these parameters."""
        scene = scenes.current_name(scene)
        known = scenes.parameters(scene)
        differs = {key: value for key, value in given.items() if key not in known or value != known[key]}
        made = cls(scene, known | differs, differs, **how)
        for key, value, least in (("every", made.every, 1), ("most", made.most, 1), ("start", made.start, 0)):
            if value is not None and not value >= least:
                raise ValueError(f"{key} is {value}; it must be at least {least}")
        return made

    @property
    def recipe(self) -> str:
        """The command that makes the same files."""
        words = ["stickslip bench record", self.scene]
        if self.scheme:
            said = {
                "every": self.every, "from": self.start or None, "until": self.until, "h": self.h,
                "most": self.most,
            }  # fmt: skip
            words += [f"--{name} {value!r}" for name, value in said.items() if value is not None]
        if self.solver != stickslip.DEFAULT_SOLVER:
            words.append(f"--solver {self.solver}")
        for name, value in self.given.items():
            if name in OPTIONS:
                words.append(f"--set {name}={typed(value)}")
            else:
                words.append(f"--{name.replace('_', '-')} {typed(value)}")
        return " ".join(words)

    def name(self, step: int) -> str:
        """Of the file of a step, without ending: scene, parameters, step; those of a scene sort by time."""
        parts = [name.replace("_", "-") + typed(value) for name, value in sorted(self.given.items())]
        text = re.sub(r"[^A-Za-z0-9.+-]+", "_", "-".join(parts))
        if len(text) > LONGEST:
            text = hashlib.sha256(text.encode()).hexdigest()[:12]
        return "-".join(filter(None, (self.scene, text, f"{step:06d}" if self.scheme else "")))

    def info(
        self, problem: Problem, step: int, time: float, answer: Solution, guessed: bool, features: Features
    ) -> dict[str, str]:
        """What the file of a problem says about it."""
        place, counted = here(), _counted(features)
        said = ", ".join(f"{name}={typed(value)}" for name, value in self.given.items())
        when = f", step {step}, t = {time:.6g} s" if self.scheme else ""
        values = ", ".join(f"{name} = {typed(value) or 'none'}" for name, value in self.parameters.items())
        met = (
            f"Met in step {step}, which begins at t = {time!r} s, of a run by {self.scheme};"
            " the first problem that the step asks for."
        )
        lines = [
            f"Scene {self.scene}: {self.summary}",
            f"Parameters: {values or 'none'}.",
            met if self.scheme else "The scene is this one problem.",
            f"It has {counted}.",
            f"The stored solution is what {self.solver} found: {answer.status.value}, the largest of the"
            f" judge's measures is {answer.residuals.error:.2e}, the tolerance was {answer.tolerance:.0e}.",
            *(["The guess is what the solver began with: impulses of the step before."] if guessed else []),
            f"Made by stickslip {place.stickslip} (code {place.code}) with the command: {self.recipe}",
        ]
        level = "" if isinstance(problem, BoxProblem) else f"; {problem.level.value} level"
        level += ", v eliminated" if isinstance(problem, ContactProblem) else ""
        return {
            "title": f"{self.scene}{f' ({said})' if said else ''}{when}: {counted}",
            "description": "\n".join(lines),
            "math_info": EQUATIONS[features.kind] + (f"{level}, normal component first" if level else ""),
            "family": self.scene,
            "scene": self.scene,
            "parameters": json.dumps(dict(self.parameters), sort_keys=True),
            **({"scheme": self.scheme, "step": str(step), "time": repr(time)} if self.scheme else {}),
            "contacts": str(features.contacts),
            **features.facts(),
            "recipe": self.recipe,
            "stickslip": place.stickslip,
            "code": place.code,
        }


def typed(value: Any) -> str:
    """A parameter as it is typed on the command line, to the last digit."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple | list):
        return ",".join(map(typed, value))
    return repr(value) if isinstance(value, float) else "" if value is None else str(value)


def _counted(features: Features) -> str:
    what = "unknown" if features.kind == "box" else "contact"
    count = f"{features.contacts} {what}{'' if features.contacts == 1 else 's'}"
    if features.equalities:
        count += f", {features.equalities} bilateral rows"
    return count + (" with rolling friction" if features.rolling else "")


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


def problems_of(scenario_name: str, parameters: Mapping[str, Any], **how: Any) -> Iterator[Recorded]:
    """The problems that `record` writes; how: the steps that are kept, and by whom, as `record` takes it.

    A scene that fails on the way gives what it met before, and then its exception.
    """
    found: list[Recorded] = []
    try:
        _meet(Recording.of(scenario_name, parameters, **how), found.append)
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
    progress: Progress | None = None,
    told: Callable[[Path, Recorded], None] | None = None,
) -> list[Path]:
    """Write problems that a scene meets into the folder `out`, each as soon as it is met; the files.

    Of the steps that have contacts, from time `start` [s] on, the first is kept and every `every`-th after
    it, at most `most`; of a step the first problem that it asks for. A scene that is one problem gives that.
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

    how = {"every": every, "start": start, "until": until, "h": h, "most": most, "solver": solver}
    _meet(Recording.of(scenario_name, parameters, **how), keep, progress)
    return files


class _Enough(Exception):  # noqa: N818 (it says what is)
    """As many problems as were asked for have been met."""


def _meet(about: Recording, keep: Keep, progress: Progress | None = None) -> None:
    """Run a scene, and give each problem to be kept to `keep`."""
    if scenes.kind_of(about.scene) == scenes.PROBLEM:
        problem = scenes.make(about.scene, **about.given)
        answer = solvers.make(about.solver, tolerance=stickslip.WORLD_TOLERANCE).solve(problem)
        about = replace(about, summary=scenes.summary(about.scene))
        keep(_recorded(about, problem, None, answer, 0, 0.0))
        return
    scene = scenes.make(about.scene, **about.given)
    scheme = scenes.scheme_of(scene)
    of_bodies = schemes.entry(scenes.scheme_name(scene)).order == schemes.BODIES
    tolerance = stickslip.WORLD_TOLERANCE if of_bodies else stickslip.SYSTEM_TOLERANCE
    length = scene.h if about.h is None else about.h
    title, options = schemes.described(scheme)
    said = ", ".join([f"h={length!r}", *(f"{key}={value}" for key, value in options.items())])
    about = replace(about, summary=scene.summary, scheme=f"{title} ({said})")
    listener = _Listener(solvers.make(about.solver, tolerance=tolerance), tolerance, about, keep)

    def moved(t: float, end: float) -> None:
        listener.step, listener.time, listener.asked = listener.step + 1, t, False
        if progress is not None:
            progress(t, end)

    with suppress(_Enough):
        stickslip.simulate(
            scene.system, until=scene.until if about.until is None else about.until, h=length, scheme=scheme,
            solver=listener, record=SELDOM, progress=moved,
        )  # fmt: skip


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
        if self.asked or self.time < self.about.start:
            return answer
        # Something may open, slide or switch, in a problem that files can hold.
        if not isinstance(problem, ContactProblem | GlobalProblem | BoxProblem):
            return answer
        if not Features.of(problem).contacts:
            return answer
        self.asked = True
        self.met += 1
        if (self.met - 1) % self.about.every == 0:
            # A step that knows nothing begins with zeros.
            begun = None if guess is None or not np.any(guess) else np.asarray(guess, float)
            self.keep(_recorded(self.about, problem, begun, answer, self.step, self.time))
            self.kept += 1
            if self.kept == self.about.most:
                raise _Enough
        return answer


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
