"""Scenes that run, by name: `make("bouncing-ball", e=0.8)` gives a Scenario. One line per scene here."""

from collections.abc import Callable
from importlib import import_module
from inspect import getdoc, signature
from typing import Any, cast

from stickslip.mechanics.world import World
from stickslip.names import alternatives
from stickslip.scenes.scenario import Scenario
from stickslip.schemes import registry
from stickslip.state import UnknownNameError

RUNS: dict[str, str] = {
    "arch": "stickslip.scenes.masonry:arch",
    "ball-chain": "stickslip.scenes.balls:ball_chain",
    "bouncing-ball": "stickslip.scenes.balls:bouncing_ball",
    "box-incline": "stickslip.scenes.box_incline:box_incline",
    "bridge-filter": "stickslip.scenes.circuits:bridge_filter",
    "cam": "stickslip.scenes.cam:cam",
    "capsules": "stickslip.scenes.piles:capsules",
    "chain": "stickslip.scenes.chains:chain",
    "coulomb-oscillator": "stickslip.scenes.spring_block:coulomb_oscillator",
    "crank-stops": "stickslip.scenes.linkages:crank_stops",
    "diode-bridge": "stickslip.scenes.circuits:diode_bridge",
    "dominoes": "stickslip.scenes.dominoes:dominoes",
    "drum": "stickslip.scenes.flows:drum",
    "dzhanibekov": "stickslip.scenes.tops:dzhanibekov",
    "filippov": "stickslip.scenes.relays:filippov",
    "four-bar": "stickslip.scenes.linkages:four_bar",
    "grain-chute": "stickslip.scenes.flows:grain_chute",
    "heavy-on-light": "stickslip.scenes.boxes:heavy_on_light",
    "incline-block": "stickslip.scenes.incline_block:incline_block",
    "kapla": "stickslip.scenes.towers:kapla",
    "masonry-wall": "stickslip.scenes.masonry:masonry_wall",
    "moving-wall": "stickslip.scenes.moving_wall:moving_wall",
    "painleve": "stickslip.scenes.painleve:painleve",
    "quadruped": "stickslip.scenes.quadruped:quadruped",
    "relay": "stickslip.scenes.relays:relay",
    "ring-chain": "stickslip.scenes.chains:ring_chain",
    "rlc-diode": "stickslip.scenes.circuits:rlc_diode",
    "rockfall": "stickslip.scenes.rolling_bodies:rockfall",
    "rolling-ball": "stickslip.scenes.rolling_bodies:rolling_ball",
    "slider-crank": "stickslip.scenes.slider_crank:slider_crank",
    "sliding-mode": "stickslip.scenes.relays:sliding_mode",
    "soup": "stickslip.scenes.piles:soup",
    "sphere-pile": "stickslip.scenes.piles:sphere_pile",
    "stack": "stickslip.scenes.boxes:stack",
    "stick-slip": "stickslip.scenes.spring_block:stick_slip",
    "tippe-top": "stickslip.scenes.tops:tippe_top",
    "woodpecker": "stickslip.scenes.woodpecker:woodpecker",
}
"""The scenes and where they are made, as module:function; each takes keyword parameters with defaults."""


def names() -> list[str]:
    """Names of the scenes that run."""
    return sorted(RUNS)


def parameters(name: str) -> dict[str, Any]:
    """Parameters of the scene `name` and their defaults."""
    return {key: one.default for key, one in signature(_function(name)).parameters.items()}


def meanings(name: str) -> dict[str, str]:
    """What the parameters of the scene `name` are, as its docstring says: lines `parameter: meaning`."""
    known, found, last = parameters(name), {}, ""
    for line in (getdoc(_function(name)) or "").splitlines():
        key, colon, text = line.partition(": ")
        if colon and key in known:
            last, found[key] = key, text.strip()
        elif last and line.strip():
            found[last] += " " + line.strip()
        else:
            last = ""
    return found


def make(name: str, **given: Any) -> Scenario:
    """The scene `name`. An unknown name is an UnknownNameError, an unknown parameter a TypeError."""
    function, known = _function(name), parameters(name)
    for key in given:
        if key not in known:
            raise TypeError(f"scene {name} has no parameter {key!r}; {alternatives(key, known, 'it has:')}")
    return function(**given)


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


def _function(name: str) -> Callable[..., Scenario]:
    if name not in RUNS:
        raise UnknownNameError(f"no scene {name!r} that runs; {alternatives(name, names())}")
    module, function = RUNS[name].split(":")
    return cast("Callable[..., Scenario]", getattr(import_module(module), function))
