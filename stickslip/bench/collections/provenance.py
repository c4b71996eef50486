"""Where a recorded problem comes from, as its file says it: the scene, the step, and the command."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import stickslip
from stickslip.bench.collections.features import Features
from stickslip.bench.environment import here
from stickslip.problem.box import BoxProblem
from stickslip.problem.contact import GlobalProblem
from stickslip.problem.solution import Problem, Solution

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


@dataclass(frozen=True)
class Recording:
    """What is recorded: a scene, its parameters, and which of its steps."""

    scene: str
    summary: str
    """What the scene is, in a line."""
    parameters: Mapping[str, Any]
    """All of them, defaults too."""
    given: Mapping[str, Any]
    """Those that differ from their defaults."""
    every: int
    start: float
    until: float | None
    h: float | None
    most: int | None
    solver: str
    scheme: str = ""
    """Name and options of the time scheme; empty where the scene is one problem."""

    def run_by(self, summary: str, scheme: str) -> "Recording":
        """The same, with what the scene is and the scheme that runs it."""
        return replace(self, summary=summary, scheme=scheme)

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
        place = here()
        said = ", ".join(f"{name}={typed(value)}" for name, value in self.given.items())
        what = f"{self.scene} ({said})" if said else self.scene
        when = f", step {step}, t = {time:.6g} s" if self.scheme else ""
        return {
            "title": f"{what}{when}: {_counted(features)}",
            "description": self._description(step, time, answer, guessed, features),
            "math_info": EQUATIONS[features.kind] + _level(problem),
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

    def _description(
        self, step: int, time: float, answer: Solution, guessed: bool, features: Features
    ) -> str:
        values = ", ".join(f"{name} = {typed(value) or 'none'}" for name, value in self.parameters.items())
        lines = [f"Scene {self.scene}: {self.summary}", f"Parameters: {values or 'none'}."]
        if self.scheme:
            lines.append(
                f"Met in step {step}, which begins at t = {time!r} s, of a run by {self.scheme};"
                " the first problem that the step asks for."
            )
        else:
            lines.append("The scene is this one problem.")
        lines.append(f"It has {_counted(features)}.")
        error = answer.residuals.error
        lines.append(
            f"The stored solution is what {self.solver} found: {answer.status.value}, the largest of the"
            f" judge's measures is {error:.2e}, the tolerance was {answer.tolerance:.0e}."
        )
        if guessed:
            lines.append("The guess is what the solver began with: impulses of the step before.")
        lines.append(
            f"Made by stickslip {here().stickslip} (code {here().code}) with the command: {self.recipe}"
        )
        return "\n".join(lines)


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


def _level(problem: Problem) -> str:
    if isinstance(problem, BoxProblem):
        return ""
    form = "" if isinstance(problem, GlobalProblem) else ", v eliminated"
    return f"; {problem.level.value} level{form}, normal component first"
