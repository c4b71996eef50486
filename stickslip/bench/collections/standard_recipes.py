"""Recipes of the standard collection: eight families, three sizes, with and without rolling friction. They
stand in `recipes.json`, in the order of the collection.

Of a scene that runs come different problems: the first impact, a slide or a collapse, settling, and rest with
more contacts than statics can tell apart. Boxes in turn light and heavy, and spheres of many sizes, bring
ratios of masses.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stickslip import scenes
from stickslip.bench.json_data import Stored

SIZES = ("small", "middle", "large")
"""Sizes of problems: tens, hundreds and about a thousand contacts and more."""


@dataclass(frozen=True)
class Recipe(Stored):
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
        return scenes.kind_of(self.scene) == scenes.RUN

    def problem_name(self, step: int) -> str:
        """Name of the problem of a step, family included."""
        return f"{self.place}-{step:04d}" if self.has_steps else self.place

    def check(self) -> None:
        """Refuse a scene or a parameter that is not there, as a ValueError; makes nothing."""
        if self.scene not in scenes.SCENES:
            raise ValueError(f"recipe {self.place}: unknown scene {self.scene!r}")
        known = scenes.parameters(self.scene)
        for key in self.parameters:
            if key not in known:
                raise ValueError(f"recipe {self.place}: scene {self.scene} has no parameter {key!r}")


VERSION = 1
"""Of the collection; another one has other recipes or other numbers."""


RECIPES: tuple[Recipe, ...] = tuple(
    Recipe.from_json(said, f"recipes.json, {k}")
    for k, said in enumerate(json.loads(Path(__file__).with_name("recipes.json").read_text(encoding="utf-8")))
)
"""The collection, in its order."""
