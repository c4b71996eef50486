"""Models to record or sweep: scenes by name, or models made by users' functions."""

from collections.abc import Callable, Container, Mapping, Sequence
from inspect import Parameter, getdoc, signature
from typing import Any, NamedTuple

import stickslip
from stickslip import scenes
from stickslip.bench.campaigns.contestants import ContestantError, own_thing
from stickslip.names import alternatives
from stickslip.problem.solution import Problem
from stickslip.scenes.scenario import Fact, Scenario


class Model(NamedTuple):
    """A model to simulate, or a single problem."""

    model: Any
    """A World, a NonsmoothSystem, a Robot or a problem."""
    summary: str
    """Description in one line."""
    scheme: Any = None
    """Time scheme; None for the default."""
    until: float = 0.0
    """End time [s]."""
    h: float | None = 0.0
    """Time step [s]; None for that of the file of a robot."""
    facts: Callable[[Any], Sequence[Fact]] | None = None
    """Function of the known facts of a run; None if there are none."""


def is_own(name: str) -> bool:
    """Whether a name is the place of a user's function, `file.py:function` or `package.module:function`."""
    return ":" in name


def short_name(name: str) -> str:
    """Current name of a scene, or the name of the function at a place."""
    return name.rpartition(":")[2] if is_own(name) else scenes.current_name(name)


def parameters_of(name: str, given: Container[str] = ()) -> dict[str, Any]:
    """Parameters of a scene, or of the function at a place, with their defaults.

    given: parameters that will get values; they need no default, which is then None.
    """
    if not is_own(name):
        return scenes.parameters(name)
    known = dict[str, Any]()
    for key, parameter in signature(_function(name)).parameters.items():
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        if parameter.default is parameter.empty and key not in given:
            raise ContestantError(f"{name}: its parameter {key} has no default; give it one")
        known[key] = None if parameter.default is parameter.empty else parameter.default
    return known


def takes_any(name: str) -> bool:
    """Whether the function at a place accepts any keyword."""
    kinds = [one.kind for one in signature(_function(name)).parameters.values()] if is_own(name) else []
    return Parameter.VAR_KEYWORD in kinds


def is_problem(name: str) -> bool:
    """Whether a scene is a single problem; False for functions, whose results are not known in advance."""
    return not is_own(name) and scenes.kind_of(name) == scenes.PROBLEM


def model_of(name: str, given: Mapping[str, Any], until: float | None, h: float | None) -> Model:
    """Make a model with these parameters; `until` and `h` [s] are by default those of the scene."""
    if is_problem(name):
        return Model(scenes.make(name, **given), scenes.summary(name))
    try:
        result = made_by(name, given)
    except Exception as error:
        if not is_own(name) or isinstance(error, ContestantError | TypeError):
            raise
        raise ContestantError(f"{name} fails with {type(error).__name__}: {error}") from error
    if isinstance(result, stickslip.Robot):
        raise ContestantError(f"{name} gives a Robot, whose problems are not recorded")
    return as_model(result, name, until, h)


def made_by(name: str, given: Mapping[str, Any]) -> Any:
    """Call a scene, or the function at a place, with these parameters."""
    if not is_own(name):
        return scenes.make(name, **given)
    known = parameters_of(name, given)
    for key in given:
        if key not in known and not takes_any(name):
            raise TypeError(f"{name} has no parameter {key!r}; {alternatives(key, known, 'it has:')}")
    return _function(name)(**given)


def as_model(made: Any, name: str, until: float | None, h: float | None) -> Model:
    """Convert the result of a scene or a function to a `Model`."""
    if isinstance(made, stickslip.WorldBuilder):
        made = made.build()
    if isinstance(made, Scenario):
        return _of_scene(made, until, h)
    summary = (getdoc(_function(name)) or "").partition("\n")[0] or f"what {name} makes"
    if isinstance(made, Problem):
        return Model(made, summary)
    if not isinstance(made, stickslip.World | stickslip.NonsmoothSystem | stickslip.Robot):
        raise ContestantError(
            f"{name} gives a {type(made).__name__}; expected a World, a NonsmoothSystem, a Robot, a Scenario"
            " or a problem"
        )
    required = {"until": until} if isinstance(made, stickslip.Robot) else {"until": until, "h": h}
    for key, value in required.items():
        if value is None:
            raise ContestantError(f"{name} makes a model that does not say how it is run: {key} is missing")
    assert until is not None
    return Model(made, summary, None, until, h)


def _of_scene(scene: Scenario, until: float | None, h: float | None) -> Model:
    return Model(
        scene.system, scene.summary, scenes.scheme_of(scene), scene.until if until is None else until,
        scene.h if h is None else h, scene.facts,
    )  # fmt: skip


def _function(name: str) -> Callable[..., Any]:
    function: Callable[..., Any] = own_thing(name)
    if not callable(function):
        raise ContestantError(f"{name} is {function!r}, no function")
    return function
