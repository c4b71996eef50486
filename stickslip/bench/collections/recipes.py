"""Recipes of problems: which scene runs, with which parameters, and which of its problems are kept."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from stickslip.bench.collections.recording import is_one_problem, names, parameters_of

SIZES = ("small", "middle", "large")
"""Sizes of problems: tens, hundreds and about a thousand contacts and more."""


@dataclass(frozen=True)
class Recipe:
    """How one or several problems are made; nothing else goes into them but the code and the machine."""

    family: str
    """Problems that belong together."""
    name: str
    """Unique in its family: names of its problems begin with it."""
    size: str
    """One of `SIZES`."""
    scene: str
    """A scene that runs, or one that is a problem."""
    parameters: dict[str, Any] = field(default_factory=dict)
    """Of the scene, those that differ from the defaults."""
    start: float = 0.0
    """Time from which problems are kept [s]."""
    every: int = 1
    """Steps from one problem that is kept to the next."""
    most: int = 1
    """How many are kept."""
    quick: bool = False
    """Whether it is among those of a small collection, made in seconds."""

    @property
    def place(self) -> str:
        """Family and name."""
        return f"{self.family}/{self.name}"

    @property
    def has_steps(self) -> bool:
        """Whether its scene runs; else it is one problem."""
        return not is_one_problem(self.scene)

    def problem_name(self, step: int) -> str:
        """Name of the problem of a step, family included."""
        return f"{self.place}-{step:04d}" if self.has_steps else self.place

    def as_json(self) -> dict[str, Any]:
        """As JSON holds it."""
        made: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return made

    def check(self) -> None:
        """Refuse a scene or a parameter that is not there, as a ValueError; makes nothing."""
        if self.scene not in names():
            raise ValueError(f"recipe {self.place}: there is no scene {self.scene!r}")
        known = parameters_of(self.scene)
        for key in self.parameters:
            if key not in known:
                raise ValueError(f"recipe {self.place}: scene {self.scene} has no parameter {key!r}")
