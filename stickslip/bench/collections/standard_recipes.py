"""Recipes of the standard collection: eight families, three sizes, with and without rolling friction.

Of a scene that runs come different problems: the first impact, a slide or a collapse, settling, and rest with
more contacts than statics can tell apart. Boxes in turn light and heavy, and spheres of many sizes, bring
ratios of masses.
"""

from dataclasses import dataclass, field
from typing import Any

from stickslip.bench.collections.recording import is_one_problem, names, parameters_of
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
        return not is_one_problem(self.scene)

    def problem_name(self, step: int) -> str:
        """Name of the problem of a step, family included."""
        return f"{self.place}-{step:04d}" if self.has_steps else self.place

    def check(self) -> None:
        """Refuse a scene or a parameter that is not there, as a ValueError; makes nothing."""
        if self.scene not in names():
            raise ValueError(f"recipe {self.place}: there is no scene {self.scene!r}")
        known = parameters_of(self.scene)
        for key in self.parameters:
            if key not in known:
                raise ValueError(f"recipe {self.place}: scene {self.scene} has no parameter {key!r}")


VERSION = 1
"""Of the collection; another one has other recipes or other numbers."""


def _family(family: str, *rows: tuple[str, str, str, dict[str, Any], dict[str, Any]]) -> tuple[Recipe, ...]:
    """Recipes of a family: name, size, scene, its parameters, and which problems are kept."""
    return tuple(Recipe(family, name, size, scene, given, **kept) for name, size, scene, given, kept in rows)


STACKS = _family(
    "stack",
    ("boxes-5", "small", "stack", {"bodies": 5}, {"quick": True}),
    ("boxes-10-pushed", "small", "stack", {"bodies": 10, "push": 2.0},
     {"start": 0.04, "every": 60, "most": 2, "quick": True}),
    ("heavy-8", "small", "heavy-on-light", {"bodies": 8}, {"start": 0.02}),
    ("rolling-10", "small", "stack", {"bodies": 10, "push": 2.0, "mu_roll": 0.05}, {"every": 50, "most": 2}),
    ("boxes-40-pushed", "middle", "stack", {"bodies": 40, "push": 4.0}, {"every": 40, "most": 2}),
    ("heavy-30-pushed", "middle", "heavy-on-light", {"bodies": 30, "ratio": 1e4, "push": 1.0},
     {"every": 25, "most": 2}),
    ("rolling-40", "middle", "stack", {"bodies": 40, "push": 4.0, "mu_roll": 0.05, "mu_spin": 0.05},
     {"every": 15, "most": 2}),
    ("boxes-250", "large", "stack", {"bodies": 250}, {}),
    ("boxes-250-pushed", "large", "stack", {"bodies": 250, "push": 8.0}, {"start": 0.02}),
    ("rolling-150", "large", "stack", {"bodies": 150, "push": 8.0, "mu_roll": 0.05}, {"every": 4, "most": 2}),
)  # fmt: skip
CAPSULES = _family(
    "capsules",
    ("poured-20", "small", "capsules", {"bodies": 20, "h": 4e-3},
     {"start": 0.16, "every": 40, "most": 2, "quick": True}),
    ("rolling-20", "small", "capsules", {"bodies": 20, "h": 4e-3, "mu_roll": 3e-3},
     {"start": 0.2, "every": 50, "most": 2, "quick": True}),
    ("poured-80", "middle", "capsules", {"bodies": 80, "h": 4e-3, "seed": 1},
     {"start": 0.3, "every": 50, "most": 2}),
    ("rolling-60", "middle", "capsules", {"bodies": 60, "h": 4e-3, "mu_roll": 3e-3, "seed": 2},
     {"start": 0.3, "every": 35, "most": 2}),
    ("poured-160", "large", "capsules", {"bodies": 160, "h": 5e-3},
     {"start": 0.45, "every": 60, "most": 2}),
    ("rolling-150", "large", "capsules", {"bodies": 150, "h": 5e-3, "mu_roll": 3e-3, "mu_spin": 3e-3},
     {"start": 0.25, "every": 25, "most": 2}),
)  # fmt: skip
CHUTES = _family(
    "chute",
    ("flow-30", "small", "grain-chute", {"bodies": 30, "h": 2e-3},
     {"start": 0.06, "every": 50, "most": 2, "quick": True}),
    ("rolling-30", "small", "grain-chute", {"bodies": 30, "h": 2e-3, "mu_roll": 2e-3},
     {"start": 0.06, "every": 50, "most": 2}),
    ("flow-200", "middle", "grain-chute", {"bodies": 200, "h": 2e-3, "mu": 0.3, "angle": 35.0},
     {"start": 0.08, "every": 60, "most": 2}),
    ("rolling-120", "middle", "grain-chute", {"bodies": 120, "h": 2e-3, "mu_roll": 2e-3, "mu_spin": 1e-3},
     {"start": 0.06, "every": 40, "most": 2}),
    ("shear-400-smooth", "middle", "chute", {"spheres": 400, "bed": "smooth", "angle": 25.0}, {}),
    ("flow-600", "large", "grain-chute", {"bodies": 600, "h": 2e-3}, {"start": 0.16}),
    ("shear-1000", "large", "chute", {"spheres": 1000, "speed": 0.1, "velocity": 0.02}, {}),
    ("rolling-300-smooth", "large", "chute", {"spheres": 300, "mu_roll": 1e-3, "bed": "smooth"}, {}),
    ("rolling-300", "large", "chute", {"spheres": 300, "mu_roll": 1e-3, "velocity": 0.02}, {}),
)  # fmt: skip
KAPLA = _family(
    "kapla",
    ("tower-3", "small", "kapla", {"courses": 3}, {"every": 3, "most": 2, "quick": True}),
    ("rolling-3", "small", "kapla", {"courses": 3, "mu_roll": 5e-4, "push": 0.3}, {"every": 10, "most": 2}),
    ("tower-12", "middle", "kapla", {"courses": 12}, {"start": 0.01}),
    ("tower-16-pushed", "middle", "kapla", {"courses": 16, "push": 0.8, "mu": 0.3},
     {"start": 0.01, "every": 60, "most": 2}),
    ("rolling-10", "middle", "kapla", {"courses": 10, "mu_roll": 5e-4, "mu_spin": 5e-4, "push": 0.5},
     {"every": 12, "most": 2}),
    ("tower-80", "large", "kapla", {"courses": 80}, {}),
    ("tower-80-pushed", "large", "kapla", {"courses": 80, "push": 1.0}, {"start": 0.02}),
    ("rolling-50", "large", "kapla", {"courses": 50, "mu_roll": 5e-4}, {"every": 2, "most": 2}),
)  # fmt: skip
SOUPS = _family(
    "soup",
    ("poured-14", "small", "soup", {"bodies": 14, "h": 4e-3},
     {"start": 0.2, "every": 50, "most": 2, "quick": True}),
    ("rolling-14", "small", "soup", {"bodies": 14, "h": 4e-3, "mu_roll": 3e-3, "mu_spin": 3e-3},
     {"start": 0.2, "every": 50, "most": 2}),
    ("poured-70", "middle", "soup", {"bodies": 70, "h": 4e-3, "seed": 1},
     {"start": 0.3, "every": 50, "most": 2}),
    ("rolling-42", "middle", "soup", {"bodies": 42, "h": 4e-3, "mu_roll": 3e-3, "seed": 2},
     {"start": 0.3, "every": 40, "most": 2}),
    ("poured-160", "large", "soup", {"bodies": 160, "h": 5e-3, "mu": 0.8},
     {"start": 0.5, "every": 60, "most": 2}),
    ("rolling-140", "large", "soup", {"bodies": 140, "h": 5e-3, "mu_roll": 3e-3},
     {"start": 0.3, "every": 25, "most": 2}),
)  # fmt: skip
SPHERES = _family(
    "spheres",
    ("pile-20", "small", "sphere-pile", {"bodies": 20, "h": 5e-3},
     {"start": 0.15, "every": 40, "most": 2, "quick": True}),
    ("rolling-20", "small", "sphere-pile", {"bodies": 20, "h": 5e-3, "mu_roll": 5e-3},
     {"start": 0.15, "every": 40, "most": 2}),
    ("pile-150-uneven", "middle", "sphere-pile", {"bodies": 150, "h": 5e-3, "spread": 0.8, "mu": 0.3},
     {"start": 0.2, "every": 40, "most": 3}),
    ("rolling-80", "middle", "sphere-pile", {"bodies": 80, "h": 5e-3, "mu_roll": 5e-3, "mu_spin": 2e-3},
     {"start": 0.3, "every": 30, "most": 2}),
    ("packing-200", "middle", "packing", {"spheres": 200, "mu": 0.6}, {}),
    ("packing-400-rough", "large", "packing", {"spheres": 400, "mu": 0.6}, {}),
    ("packing-400", "large", "packing", {"spheres": 400}, {}),
    ("packing-500-moving", "large", "packing", {"spheres": 500, "velocity": 0.05, "spread": 0.4}, {}),
    ("rolling-200", "large", "packing", {"spheres": 200, "mu_roll": 1e-3}, {}),
    ("rolling-200-moving", "large", "packing", {"spheres": 200, "mu_roll": 1e-3, "velocity": 0.02}, {}),
)  # fmt: skip
MASONRY = _family(
    "masonry",
    ("wall-2", "small", "masonry-wall", {"courses": 2, "length": 2}, {"every": 2, "most": 2, "quick": True}),
    ("arch-9-sliding", "small", "arch", {"bodies": 9, "mu": 0.2}, {"every": 40, "most": 2}),
    ("rolling-arch-9", "small", "arch", {"bodies": 9, "tilt": 10.0, "mu_roll": 1e-2},
     {"every": 5, "most": 2}),
    ("arch-40", "middle", "arch", {"bodies": 40, "tilt": 5.0}, {"start": 0.01}),
    ("wall-6-tilted", "middle", "masonry-wall", {"courses": 6, "length": 4, "tilt": 30.0, "mu": 0.5},
     {"start": 0.01, "every": 30, "most": 2}),
    ("rolling-wall-4", "middle", "masonry-wall",
     {"courses": 4, "length": 3, "tilt": 35.0, "mu": 0.5, "mu_roll": 5e-3}, {"every": 8, "most": 2}),
    ("wall-10-tilted", "large", "masonry-wall", {"courses": 10, "length": 6, "tilt": 20.0},
     {"start": 0.01}),
    ("wall-12-heads", "large", "wall", {"rows": 12, "columns": 10, "head_joints": True}, {}),
    ("rolling-arch-100", "large", "arch", {"bodies": 100, "tilt": 5.0, "mu_roll": 1e-3}, {}),
    ("rolling-wall-10", "large", "wall", {"rows": 10, "columns": 8, "mu_roll": 5e-3}, {}),
)  # fmt: skip
CHAINS = _family(
    "chains",
    ("rings-12", "small", "ring-chain", {"bodies": 12, "push": 2.0},
     {"every": 150, "most": 2, "quick": True}),
    ("rolling-12", "small", "ring-chain", {"bodies": 12, "push": 2.0, "mu_roll": 4e-4},
     {"every": 100, "most": 2}),
    ("rings-150", "middle", "ring-chain", {"bodies": 150}, {"start": 0.01}),
    ("rings-150-pushed", "middle", "ring-chain", {"bodies": 150, "push": 4.0}, {"every": 100, "most": 2}),
    ("rolling-100", "middle", "ring-chain", {"bodies": 100, "push": 4.0, "mu_roll": 4e-4, "mu_spin": 4e-4},
     {"every": 40, "most": 2}),
    ("rings-1000", "large", "ring-chain", {"bodies": 1000, "push": 8.0}, {"every": 10, "most": 2}),
    ("rolling-500", "large", "ring-chain", {"bodies": 500, "push": 8.0, "mu_roll": 4e-4},
     {"every": 5, "most": 2}),
)  # fmt: skip

RECIPES: tuple[Recipe, ...] = (*STACKS, *CAPSULES, *CHUTES, *KAPLA, *SOUPS, *SPHERES, *MASONRY, *CHAINS)
"""The collection, in its order."""
