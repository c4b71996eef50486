"""Contact problems of runs as records with a description of their origin."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import stickslip
from stickslip.bench.collections.features import Features
from stickslip.bench.collections.models import is_own, parameters_of, short_name
from stickslip.bench.environment import here
from stickslip.files import ProblemRecord, StoredSolution
from stickslip.problem.box import BoxProblem
from stickslip.problem.checks import Array
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.solution import Problem, Solution

OPTIONS = ("every", "from", "until", "h", "most", "solver", "solver_option", "out", "set")
"""Options of `stickslip bench record`; a parameter of the same name is given by --set."""
LONGEST = 60
"""Largest number of characters of parameters in a file name."""

LAW = "u + (mu |u_T| + ...) e_N in K* and orthogonal to r in K"
EQUATIONS = {
    "local": f"u = W r + q, {LAW}",
    "global": f"M v = f + H r + G l, u = H' v + w, G' v + b = 0, {LAW}",
    "box": "-(A z + b) in the normal cone of [lower, upper] at z",
}
"""Equations of the problems of each kind."""


@dataclass(frozen=True)
class Recording:
    """Description of a recording: a scene, its parameters, and the selected steps; see `record`."""

    scene: str
    parameters: Mapping[str, Any]
    """All parameters, including defaults."""
    given: Mapping[str, Any]
    """Parameters that differ from their defaults."""
    every: int
    start: float = 0.0
    until: float | None = None
    h: float | None = None
    most: int | None = None
    solver: str = "auto"
    solver_options: Mapping[str, Any] = field(default_factory=dict)
    place: str = ""
    """Origin of a model that is not a scene: `file.py:function`, or `simulate`."""
    summary: str = ""
    """Description of the scene in one line."""
    scheme: str = ""
    """Name and options of the time scheme; empty for a single problem."""

    @classmethod
    def of(cls, scene: str, given: Mapping[str, Any], **how: Any) -> "Recording":
        """A recording of a scene with these parameters; how: the other fields."""
        known, place = parameters_of(scene), scene if is_own(scene) else ""
        differs = {key: value for key, value in given.items() if key not in known or value != known[key]}
        recording = cls(short_name(scene), known | differs, differs, place=place, **how)
        cls.check(recording.every, recording.most, recording.start)
        return recording

    @staticmethod
    def check(every: int, most: int | None, start: float) -> None:
        """Raise a ValueError for numbers out of range."""
        for key, value, least in (("every", every, 1), ("most", most, 1), ("start", start, 0)):
            if value is not None and not value >= least:
                raise ValueError(f"{key} is {value}; it must be at least {least}")

    @property
    def recipe(self) -> str:
        """Command that makes the same files."""
        if self.place == "simulate":
            return "stickslip.simulate(..., record_problems=...)"
        words = ["stickslip bench record", self.place or self.scene]
        if self.scheme:
            options = {
                "every": self.every, "from": self.start or None, "until": self.until, "h": self.h,
                "most": self.most,
            }  # fmt: skip
            words += [f"--{name} {value!r}" for name, value in options.items() if value is not None]
        if self.solver != stickslip.DEFAULT_SOLVER:
            words.append(f"--solver {self.solver}")
        words += [f"--solver-option {name}={typed(value)}" for name, value in self.solver_options.items()]
        for name, value in self.given.items():
            if name in OPTIONS:
                words.append(f"--set {name}={typed(value)}")
            else:
                words.append(f"--{name.replace('_', '-')} {typed(value)}")
        return " ".join(words)

    def name(self, step: int) -> str:
        """Name of the file of a step without suffix: scene, parameters, step; it sorts by time."""
        parts = [name.replace("_", "-") + typed(value) for name, value in sorted(self.given.items())]
        text = re.sub(r"[^A-Za-z0-9.+-]+", "_", "-".join(parts))
        if len(text) > LONGEST:
            text = hashlib.sha256(text.encode()).hexdigest()[:12]
        return "-".join(filter(None, (self.scene, text, f"{step:06d}" if self.scheme else "")))

    def info(
        self, problem: Problem, step: int, time: float, answer: Solution, guessed: bool, features: Features
    ) -> dict[str, str]:
        """Description of a problem in its file."""
        env, counted = here(), _counted(features)
        given_text = ", ".join(f"{name}={typed(value)}" for name, value in self.given.items())
        when = f", step {step}, t = {time:.6g} s" if self.scheme else ""
        values = ", ".join(f"{name} = {typed(value) or 'none'}" for name, value in self.parameters.items())
        origin = (
            f"Met in step {step}, which begins at t = {time!r} s, of a run by {self.scheme};"
            " the first problem that the step asks for."
        )
        lines = [
            f"{'Model' if self.place else 'Scene'} {self.scene}: {self.summary}",
            f"Parameters: {values or 'none'}.",
            origin if self.scheme else "The scene is this one problem.",
            f"It has {counted}.",
            f"The stored solution is what {self.solver} found: {answer.status.value}, the largest of the"
            f" judge's measures is {answer.residuals.error:.2e}, the tolerance was {answer.tolerance:.0e}.",
            *(["The guess is what the solver began with: impulses of the step before."] if guessed else []),
            f"Made by stickslip {env.stickslip} (code {env.code}) with the command: {self.recipe}",
        ]
        level = "" if isinstance(problem, BoxProblem) else f"; {problem.level.value} level"
        level += ", v eliminated" if isinstance(problem, ContactProblem) else ""
        return {
            "title": f"{self.scene}{f' ({given_text})' if given_text else ''}{when}: {counted}",
            "description": "\n".join(lines),
            "math_info": EQUATIONS[features.kind] + (f"{level}, normal component first" if level else ""),
            "family": self.scene,
            "scene": self.scene,
            "parameters": json.dumps(dict(self.parameters), sort_keys=True, default=str),
            **({"scheme": self.scheme, "step": str(step), "time": repr(time)} if self.scheme else {}),
            "contacts": str(features.contacts),
            **features.facts(),
            "recipe": self.recipe,
            "stickslip": env.stickslip,
            "code": env.code,
        }


def typed(value: Any) -> str:
    """Format a parameter for the command line, with all digits."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple | list):
        return ",".join(map(typed, value))
    return repr(value) if isinstance(value, float) else "" if value is None else str(value)


def _counted(features: Features) -> str:
    noun = "unknown" if features.kind == "box" else "contact"
    count = f"{features.contacts} {noun}{'' if features.contacts == 1 else 's'}"
    if features.equalities:
        count += f", {features.equalities} bilateral rows"
    return count + (" with rolling friction" if features.rolling else "")


@dataclass(frozen=True, eq=False)
class Recorded:
    """One recorded problem of a scene."""

    record: ProblemRecord
    """The problem with its description, its solution and the initial guess."""
    step: int
    """Number of the step, from 1; 0 for a single problem."""
    time: float
    """Time at the start of the step [s]."""
    name: str
    """Name of the file without suffix: `stack-bodies10-000120`."""
    features: Features
    """Features of the problem."""


def recorded(
    about: Recording, problem: Problem, guess: Array | None, answer: Solution, step: int, time: float
) -> Recorded:
    """Make the record of a problem of a step from `time` [s] on, with its solution and initial guess."""
    features = Features.of(problem, spectrum=True)
    info = about.info(problem, step, time, answer, guess is not None, features)
    solution = _stored(problem, answer.r, answer.u, answer.v, answer.lam)
    initial = None if guess is None else _stored(problem, guess, *_motion(problem, guess))
    record = ProblemRecord(problem, info, solution, () if initial is None else (initial,))
    return Recorded(record, step, time, about.name(step), features)


def _motion(problem: Problem, r: Array) -> tuple[Array, Array | None]:
    """u, and v of a global problem, for impulses r."""
    if isinstance(problem, BoxProblem):
        return problem.value(r), None
    if isinstance(problem, ContactProblem):
        return problem.velocity(r), None
    v = problem.M.solve(problem.f + problem.pushed(r, np.zeros(problem.g_bias.size)))
    return problem.contact_velocity(v), v


def _stored(
    problem: Problem, r: Array, u: Array, v: Array | None = None, lam: Array | None = None
) -> StoredSolution | None:
    """Convert a solution for a file; None if it is not finite."""
    if not isinstance(problem, GlobalProblem):
        v = lam = None
    parts = [part for part in (r, u, v, lam) if part is not None]
    return StoredSolution(r, u, v, lam) if all(np.isfinite(part).all() for part in parts) else None
