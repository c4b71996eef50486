"""Scenes that run, by name: `make("bouncing-ball", e=0.8)` gives a Scenario. One word per scene here."""

from typing import Any

from stickslip.mechanics.world import World
from stickslip.scenes.parameters import Catalogue
from stickslip.scenes.scenario import Scenario
from stickslip.schemes import registry

MODULES = {
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
RUNS = {
    function.replace("_", "-"): f"stickslip.scenes.{module}:{function}"
    for module, functions in MODULES.items()
    for function in functions
}
"""The scenes that run, and where they are made, as module:function."""
_CATALOGUE: Catalogue[Scenario] = Catalogue(" that runs", RUNS)
names, parameters, meanings = _CATALOGUE.names, _CATALOGUE.parameters, _CATALOGUE.meanings
make, function = _CATALOGUE.make, _CATALOGUE.function


def scheme_name(scene: Scenario, scheme: str | None = None) -> str:
    """Name of the scheme that runs a scene: its own, or `scheme` if that can; a ValueError where not."""
    chosen, world = scene.scheme if scheme is None else scheme, isinstance(scene.system, World)
    if world:
        chosen = registry.FOR_BODIES.get(chosen, chosen)
    carries = registry.entry(chosen).order == registry.BODIES
    if world and carries:  # whether it can carry this world, the scheme says itself
        return chosen
    if scene.schemes and chosen not in scene.schemes:
        raise ValueError(f"{scene.name} cannot be run by {chosen}; it can by {', '.join(scene.schemes)}")
    return chosen


def scheme_of(scene: Scenario, scheme: str | None = None, **given: Any) -> Any:
    """The scheme that runs a scene, with the scene's options for its own and those given."""
    chosen = scheme_name(scene, scheme)
    own = dict(scene.options) if chosen == scene.scheme else {}
    return registry.make(chosen, **own | given)
