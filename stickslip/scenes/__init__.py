"""Scenes by name: `make("wall-problem", rows=12)` is a contact problem, `make("bouncing-ball", e=0.8)` a run.

Names of scenes that are problems end in `-problem`. A new scene is a function, and an entry of the tables
below.
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
"""Functions of scenes of kind run, by module."""
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
"""Function of each scene, as module:function."""


def names(kind: str | None = None) -> list[str]:
    """Return the names of all scenes, or of the scenes of a kind: `problem` or `run`.

    Example:

        print(ss.scenes.names("problem"))
    """
    return sorted(name for name in SCENES if kind is None or kind_of(name) == kind)


def kind_of(name: str) -> str:
    """Return `problem` for a scene that is a single contact problem, `run` for one that is simulated."""
    return PROBLEM if current_name(name).endswith("-problem") else RUN


def make(name: str, **given: Any) -> Any:
    """Return the scene `name`: a GlobalProblem for a scene of kind problem, a Scenario for one of kind run.

    An unknown name raises an UnknownNameError, an unknown parameter a TypeError.

    Example:

        wall = ss.scenes.make("wall-problem", rows=3)
        print(ss.solve(wall).status.name)
    """
    scene = function(name)
    known = defaults(scene)
    for key in given:
        if key not in known:
            others = alternatives(key, known, "it has:")
            raise TypeError(f"scene {name} has no parameter {key!r}; {others}")
    result = scene(**given)
    if kind_of(name) == RUN:
        remember(result.system, current_name(name), dict(given))
    return result


def parameters(name: str) -> dict[str, Any]:
    """Return the parameters of the scene `name` with their defaults."""
    return defaults(function(name))


def meanings(name: str) -> dict[str, str]:
    """Return the meanings of the parameters of the scene `name`, from the lines `parameter: meaning` of
    its docstring.
    """
    return documented(function(name))


def summary(name: str) -> str:
    """Return a one-line description of the scene `name`."""
    if kind_of(name) == PROBLEM:
        return (getdoc(function(name)) or "").partition("\n")[0]
    return str(make(name).summary)


def function(name: str) -> Callable[..., Any]:
    """Return the function of the scene `name`."""
    module, _, attribute = SCENES[current_name(name)].partition(":")
    return getattr(import_module(module), attribute)


def scheme_name(scene: "Scenario", scheme: str | None = None) -> str:
    """Return the name of the scheme of a scene: its default, or `scheme`; a ValueError if that does not
    apply.
    """
    from stickslip.mechanics.world import World
    from stickslip.schemes import registry

    chosen = scene.scheme if scheme is None else scheme
    if isinstance(scene.system, World):
        chosen = registry.name_for_bodies(chosen)
        if (
            registry.entry(chosen).order == registry.BODIES
        ):  # the scheme itself refuses worlds that it does not support
            return chosen
    registry.entry(chosen)
    if scene.schemes and chosen not in scene.schemes:
        raise ValueError(f"{scene.name} cannot be run by {chosen}; it can by {', '.join(scene.schemes)}")
    return chosen


def scheme_of(scene: "Scenario", scheme: str | None = None, **given: Any) -> Any:
    """Return the scheme of a scene, with the options of the scene for its default scheme and the given
    options.
    """
    from stickslip.schemes import registry

    chosen = scheme_name(scene, scheme)
    options = dict(scene.options) if chosen == scene.scheme else {}
    return registry.make(chosen, **options | given)


def current_name(name: str) -> str:
    """Return the current name of a scene; an old name warns, an unknown one raises an UnknownNameError."""
    scene_name = name if name in SCENES else current("scene", name, OLD)
    if scene_name not in SCENES:
        raise UnknownNameError(f"unknown scene {name!r}; {alternatives(name, sorted(SCENES))}")
    return scene_name
