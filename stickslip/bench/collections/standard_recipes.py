"""Recipes of the standard collection: eight families, three sizes, with and without rolling friction. They
are in `recipes.json`, in the order of the collection.

Simulated scenes give different problems: the first impact, a slide or a collapse, settling, and rest with
statically indeterminate contacts. Alternating light and heavy boxes, and spheres of many sizes, give large
mass ratios.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stickslip import scenes
from stickslip.bench.json_data import Stored

SIZES = ("small", "middle", "large")
"""Sizes of problems: tens, hundreds, and a thousand contacts or more."""


@dataclass(frozen=True)
class Recipe(Stored):
    """Recipe of one or several problems, which depend only on it, the code and the machine."""

    family: str
    """Family of the problems."""
    name: str
    """Name, unique in the family; names of its problems begin with it."""
    size: str
    """One of `SIZES`."""
    scene: str
    """Name of the scene, a run or a single problem."""
    parameters: dict[str, Any] = field(default_factory=dict)
    """Parameters of the scene that differ from the defaults."""
    start: float = 0.0
    """Time of the first recorded problem [s]."""
    every: int = 1
    """Number of steps with contacts from one recorded problem to the next."""
    most: int = 1
    """Number of recorded problems."""
    quick: bool = False
    """Whether it belongs to the small collection, which takes seconds."""

    @property
    def place(self) -> str:
        """Family and name."""
        return f"{self.family}/{self.name}"

    @property
    def has_steps(self) -> bool:
        """Whether its scene is a run, not a single problem."""
        return scenes.kind_of(self.scene) == scenes.RUN

    def problem_name(self, step: int) -> str:
        """Name of the problem of a step, including the family."""
        return f"{self.place}-{step:04d}" if self.has_steps else self.place

    def check(self) -> None:
        """Raise a ValueError for unknown scenes and parameters."""
        if self.scene not in scenes.SCENES:
            raise ValueError(f"recipe {self.place}: unknown scene {self.scene!r}")
        known = scenes.parameters(self.scene)
        for key in self.parameters:
            if key not in known:
                raise ValueError(f"recipe {self.place}: scene {self.scene} has no parameter {key!r}")


VERSION = 1
"""Version of the collection; other versions have other recipes or other numbers."""


RECIPES: tuple[Recipe, ...] = tuple(
    Recipe.from_json(said, f"recipes.json, {k}")
    for k, said in enumerate(json.loads(Path(__file__).with_name("recipes.json").read_text(encoding="utf-8")))
)
"""Recipes in the order of the collection."""
