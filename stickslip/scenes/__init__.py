"""Scenes by name: `make("wall-problem", rows=12)` is a contact problem, `make("bouncing-ball", e=0.8)` a run.

Names of scenes that are problems end in `-problem`. A new scene is one function and one word here.
"""

from collections.abc import Callable
from importlib import import_module
from inspect import getdoc
from typing import TYPE_CHECKING, Any

from stickslip.names import alternatives
from stickslip.renames import SCENES as OLD
from stickslip.renames import current
from stickslip.scenes.parameters import defaults, documented
from stickslip.state import UnknownNameError
from stickslip.systems.named import remember

if TYPE_CHECKING:
    from stickslip.scenes.scenario import Scenario

__all__ = [
    "current_name", "function", "kind_of", "make", "meanings", "names", "parameters", "scheme_name",
    "scheme_of", "summary",
]  # fmt: skip

PROBLEM, RUN = "problem", "run"
"""Kinds of scenes."""
RUNS = {
    "balls": ("ball_chain", "bouncing_ball", "moving_wall"),
    "boxes": ("arch", "dominoes", "heavy_on_light", "kapla", "masonry_wall", "stack"),
    "cam": ("cam",),
    "chains": ("chain", "quadruped", "ring_chain"),
    "circuits": ("bridge_filter", "diode_bridge", "rlc_diode"),
    "grains": ("capsules", "drum", "grain_chute", "soup", "sphere_pile"),
    "jamming": ("painleve", "woodpecker"),
    "linkages": ("crank_stops", "four_bar", "slider_crank"),
    "relays": ("filippov", "relay", "sliding_mode"),
    "rolling_bodies": ("dzhanibekov", "rockfall", "rolling_ball", "tippe_top"),
    "sliders": ("box_incline", "coulomb_oscillator", "incline_block", "stick_slip"),
}
"""Functions that make the scenes that run, by their modules."""
SCENES = {
    "chute-problem": "stickslip.scenes.packing:chute",
    "incline-problem": "stickslip.scenes.rigid:incline",
    "packing-problem": "stickslip.scenes.packing:sphere_packing",
    "wall-problem": "stickslip.scenes.rigid:wall",
} | {
    function.replace("_", "-"): f"stickslip.scenes.{module}:{function}"
    for module, functions in RUNS.items()
    for function in functions
}
"""All scenes, and where they are made, as module:function."""


def names(kind: str | None = None) -> list[str]:
    """Names of the scenes, or of those of a kind: `problem` or `run`."""
    return sorted(name for name in SCENES if kind is None or kind_of(name) == kind)


def kind_of(name: str) -> str:
    """`problem` for a scene that is one contact problem, `run` for one that runs."""
    return PROBLEM if current_name(name).endswith("-problem") else RUN


def make(name: str, **given: Any) -> Any:
    """The scene `name`: a GlobalProblem where it is a problem, a Scenario where it runs.

    An unknown name is an UnknownNameError, an unknown parameter a TypeError.
    """
    scene = function(name)
    known = defaults(scene)
    for key in given:
        if key not in known:
            others = alternatives(key, known, "it has:")
            raise TypeError(f"scene {name} has no parameter {key!r}; {others}")
    made = scene(**given)
    if kind_of(name) == RUN:
        remember(made.system, current_name(name), dict(given))
    return made


def parameters(name: str) -> dict[str, Any]:
    """Parameters of the scene `name` and their defaults."""
    return defaults(function(name))


def meanings(name: str) -> dict[str, str]:
    """What the parameters of the scene `name` are, as its docstring says: lines `parameter: meaning`."""
    return documented(function(name))


def summary(name: str) -> str:
    """What the scene `name` is, in a line."""
    if kind_of(name) == PROBLEM:
        return (getdoc(function(name)) or "").partition("\n")[0]
    return str(make(name).summary)


def function(name: str) -> Callable[..., Any]:
    """The function that makes the scene `name`."""
    module, _, made = SCENES[current_name(name)].partition(":")
    return getattr(import_module(module), made)


def scheme_name(scene: "Scenario", scheme: str | None = None) -> str:
    """Name of the scheme that runs a scene: its own, or `scheme` if that can; a ValueError where not."""
    from stickslip.mechanics.world import World
    from stickslip.schemes import registry

    chosen = scene.scheme if scheme is None else scheme
    if isinstance(scene.system, World):
        chosen = registry.name_for_bodies(chosen)
        if registry.entry(chosen).order == registry.BODIES:  # whether it can carry this world, it says itself
            return chosen
    registry.entry(chosen)
    if scene.schemes and chosen not in scene.schemes:
        raise ValueError(f"{scene.name} cannot be run by {chosen}; it can by {', '.join(scene.schemes)}")
    return chosen


def scheme_of(scene: "Scenario", scheme: str | None = None, **given: Any) -> Any:
    """The scheme that runs a scene, with the scene's options for its own and those given."""
    from stickslip.schemes import registry

    chosen = scheme_name(scene, scheme)
    own = dict(scene.options) if chosen == scene.scheme else {}
    return registry.make(chosen, **own | given)


def current_name(name: str) -> str:
    """The name that a scene has today; an old one warns, an unknown one is an UnknownNameError."""
    found = name if name in SCENES else current("scene", name, OLD)
    if found not in SCENES:
        raise UnknownNameError(f"unknown scene {name!r}; {alternatives(name, sorted(SCENES))}")
    return found
