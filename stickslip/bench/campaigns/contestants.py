"""Contestants of campaigns: solvers of stickslip, of Siconos (peers), or the user's own, with their options.

A user's own solver is a class in a file or package; its versions are distinguished by a hash.
"""

import inspect
import re
import sys
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from stickslip.bench.campaigns.own_files import file_hash, source_hash
from stickslip.bench.environment import version_of
from stickslip.bench.json_data import Stored
from stickslip.names import alternatives
from stickslip.options import allowed, parsed
from stickslip.solvers import registry

PREFIX = "stickslip_own_"
"""Prefix of the names of modules of users' files, followed by the hash of the file."""
Value = bool | int | float | str
"""Types of options of solvers."""
SHORT = {"newton": "newton-ac"}
"""Short names of solvers."""
PEER = "siconos"
"""Prefix of the names of Siconos's solvers: siconos-nsgs, siconos-admm, ...; alone it means all of them."""
USUAL = ("nsgs", "anderson", "admm", "prox", "newton-ac", "ipm", "clarabel", "auto")
"""Default contestants; solvers of Siconos are added if it is installed."""


class ContestantError(ValueError):
    """A contestant cannot be used; the message names it and the alternatives."""


def own_solver(place: str, options: dict[str, Any], tolerance: float) -> Any:
    """Make an object of the class at `place`, with the tolerance if it accepts one; it must have `solve`."""
    cls = own_class(place)
    solver = cls(**options | ({"tolerance": tolerance} if takes(cls, "tolerance") else {}))
    if not callable(getattr(solver, "solve", None)):
        raise ContestantError(f"{place} has no method solve(problem)")
    return solver


def own_class(place: str) -> type[Any]:
    """Load the class at `file.py:Class` or `package.module:Class`; its module is run once per process."""
    cls = own_thing(place)
    if not isinstance(cls, type):
        path, name = _parts(place)
        raise ContestantError(f"{name} in {path} is not a class")
    return cls


def own_thing(place: str) -> Any:
    """Load the object at `file.py:name` or `package.module:name`; its module is executed once per process."""
    if place in HERE:
        return HERE[place]
    path, name = _parts(place)
    module = _module(path)
    if not hasattr(module, name):
        raise ContestantError(f"{path} has no {name}")
    return getattr(module, name)


HERE: dict[str, Any] = {}
"""Functions without a place, such as lambdas, by places that are valid only in this process."""


def place_file(place: str) -> str:
    """File of a place `file.py:name`; empty for a place in a package."""
    path, _ = _parts(place)
    return path if path.endswith(".py") else ""


def source_of_function(place: str) -> str:
    """First twelve digits of the hash of the file of a user's class or function, including files that it
    imports from its folder; for a module, of its file only."""
    if place in HERE:
        return ""
    path, _ = _parts(place)
    file = _file(path)
    return source_hash(file) if path.endswith(".py") else file_hash(file)


def takes(function: Any, name: str) -> bool:
    """Whether a function or class accepts an argument of this name."""
    parameters = _parameters(function).values()
    return any(argument.name == name or argument.kind is argument.VAR_KEYWORD for argument in parameters)


def _parameters(function: Any) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):  # written in C
        return {}


def _parts(place: str) -> tuple[str, str]:
    path, colon, cls = place.rpartition(":")
    if not colon or not path or not cls.isidentifier():
        raise ContestantError(f"{place!r} is not of the form file.py:Class or package.module:Class")
    return path, cls


def _file(path: str) -> Path:
    if path.endswith(".py"):
        if not Path(path).is_file():
            raise ContestantError(f"the file {path} does not exist")
        return Path(path)
    try:
        spec = find_spec(path)
    except (ImportError, ValueError) as error:
        raise ContestantError(f"{path} cannot be imported: {error}") from None
    if spec is None or not spec.origin or not Path(spec.origin).is_file():
        raise ContestantError(f"the module {path} was not found; install it, or add it to PYTHONPATH")
    return Path(spec.origin)


def _module(path: str) -> ModuleType:
    file = _file(path)
    try:
        return _from_file(file) if path.endswith(".py") else import_module(path)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a user's module may raise SystemExit
        raise ContestantError(f"importing {path} failed with {type(error).__name__}: {error}") from None


def _from_file(file: Path) -> ModuleType:
    name = f"{PREFIX}{file.stem}_{file_hash(file)}"
    if name in sys.modules:
        return sys.modules[name]
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ContestantError(f"{file} is not a Python file")
    module = module_from_spec(spec)
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))  # for imports from its folder
    sys.modules[name] = module  # dataclasses look up their module there
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


@dataclass(frozen=True)
class Contestant(Stored):
    """Solver with its options, as data that any process can receive."""

    name: str
    """Name in the registry, of a solver of Siconos (siconos-nsgs), or the one given to a user's own."""
    options: tuple[tuple[str, Value], ...] = ()
    """Options that differ from the defaults, by name, in alphabetical order; never `tolerance`."""
    place: str = ""
    """Place of a user's own solver: `file.py:Class` or `package.module:Class`; empty for all others."""

    @property
    def label(self) -> str:
        """Name in tables, as it is typed: `nsgs:max_iterations=50`."""
        return ":".join([self.name, *(f"{key}={value}" for key, value in self.options)])


def is_peer(contestant: Contestant) -> bool:
    """Whether a contestant is a solver of Siconos."""
    return not contestant.place and contestant.name.startswith(f"{PEER}-")


def is_ours(contestant: Contestant) -> bool:
    """Whether a contestant is in the registry of stickslip."""
    return not contestant.place and contestant.name in registry.names()


def contestants(text: str = "", own: Sequence[str] = ()) -> tuple[Contestant, ...]:
    """Parse contestants as typed on the command line: `nsgs,ipm:max_iterations=50,siconos,mine`.

    text: names separated by commas, options after colons; `USUAL` if it is empty. own: users' solvers,
    `NAME=file.py:Class` or `NAME=package.module:Class`; those that `text` does not name come last. All
    solvers are made once, so that wrong options raise a `ContestantError` immediately.
    """
    places = _own_places(own)
    words = [word.strip() for word in text.split(",")] if text.strip() else list(USUAL)
    if not text.strip():
        from stickslip.bench.siconos.peer import find_siconos

        words += [PEER] if find_siconos() else []
    entrants: list[Contestant] = []
    for word in words:
        entrants += _entrants(word, places)
    named = {contestant.name for contestant in entrants}
    entrants += [_own_contestant(name, [], places) for name in places if name not in named]
    labels = [contestant.label for contestant in entrants]
    for label in labels:
        if labels.count(label) > 1:
            raise ContestantError(f"{label} appears twice; name it once, or give it other options")
    return tuple(entrants)


def make(contestant: Contestant, tolerance: float) -> Any:
    """Make the solver of a contestant of stickslip or the user, with its options and a tolerance.

    A user's solver gets the tolerance if it accepts one; the judge applies it in any case.
    """
    options: dict[str, Any] = dict(contestant.options)
    if contestant.place:
        return own_solver(contestant.place, options, tolerance)
    return registry.make(contestant.name, tolerance=tolerance, **options)


def source_of(contestant: Contestant) -> str:
    """Source of a contestant, see `RunRecord.source`."""
    if contestant.place:
        return source_of_function(contestant.place)
    if is_peer(contestant):
        from stickslip.bench.siconos.peer import find_siconos

        return find_siconos().source
    package = registry.entry(contestant.name).package
    return f"{package} {version_of(package)}".strip() if package else ""


def _entrants(word: str, places: dict[str, str]) -> list[Contestant]:
    """Contestants of one word of the list."""
    name, *settings = (part.strip() for part in word.split(":"))
    name = SHORT.get(name, name)
    if name in places:
        return [_own_contestant(name, settings, places)]
    if name == PEER or name.startswith(f"{PEER}-"):
        return _peer_contestants(name, settings)
    if name not in registry.names():
        known = alternatives(name, (*registry.names(), *SHORT, PEER, *places))
        raise ContestantError(f"unknown solver {name!r} in {word!r}; {known}")
    entry = registry.entry(name)
    if not entry.installed:
        raise ContestantError(f"{name} is not available: {entry.availability}")
    defaults = {spec.name: spec.default for spec in entry.options if spec.name != "tolerance"}
    values, _ = solver_by_texts(name, settings, defaults)
    return [Contestant(name, _changed(values, defaults))]


def solver_by_texts(
    name: str, texts: Sequence[str], known: Container[str], **options: Any
) -> tuple[dict[str, Value], Any]:
    """Parse `key=value` texts of the `known` options; return the options, and the solver made with them."""
    specs = {spec.name: spec for spec in registry.entry(name).options if spec.name in known}
    ranges = {key: allowed(spec) for key, spec in specs.items()}
    values = _settings(name, texts, {key: spec.default for key, spec in specs.items()}, ranges)
    for key in values.keys() & options.keys():
        raise ContestantError(f"{name}: option {key} is given twice")
    try:
        return values, registry.make(name, **options, **values)
    except ValueError as error:  # out of range; the message begins with the name of the class
        raise ContestantError(f"{name}: {str(error).partition(': ')[2] or error}") from None


def _settings(
    name: str, texts: Sequence[str], defaults: dict[str, Any], ranges: dict[str, str]
) -> dict[str, Value]:
    """Parse `key=value` texts to options of the types of their defaults."""
    values: dict[str, Value] = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        key = key.replace("-", "_")
        if key == "tolerance" and key not in defaults:
            raise ContestantError(f"{name}: all solvers have the tolerance of the campaign; use --tolerance")
        if not equals:
            has = ", ".join(defaults)
            raise ContestantError(f"{name}: {text!r} is not of the form name=value; {name} has: {has}")
        if key not in defaults:
            has = alternatives(key, defaults, "it has:")
            raise ContestantError(f"{name} has no option {key!r}; {has}{registry.owners(key)}")
        if key in values:
            raise ContestantError(f"{name}: option {key} is given twice")
        default = defaults[key] if isinstance(defaults[key], bool | int | float) else ""
        try:
            values[key] = parsed(f"option {key}", value, default, ranges.get(key, ""))
        except ValueError as error:
            raise ContestantError(f"{name}: {error}") from None
    return values


def _changed(given: dict[str, Value], defaults: dict[str, Any]) -> tuple[tuple[str, Value], ...]:
    return tuple(sorted((key, value) for key, value in given.items() if value != defaults[key]))


def _own_places(own: Sequence[str]) -> dict[str, str]:
    """Parse `NAME=place` texts to places of users' solvers by name."""
    places: dict[str, str] = {}
    for text in own:
        name, equals, place = (part.strip() for part in text.partition("="))
        if not equals or not re.fullmatch(r"[^\W\d][\w.-]{0,99}", name):
            raise ContestantError(
                f"--own {text!r} is not of the form NAME=file.py:Class or NAME=package.module:Class"
            )
        if name in registry.names() or name in SHORT or name == PEER or name.startswith(f"{PEER}-"):
            raise ContestantError(
                f"--own {text!r}: the name {name} is that of a built-in solver; choose another name"
            )
        if name in places:
            raise ContestantError(f"--own {name} is given twice")
        places[name] = place
    return places


def _own_contestant(name: str, settings: Sequence[str], places: dict[str, str]) -> Contestant:
    try:
        place, (path, cls) = places[name], _parts(places[name])
        if path.endswith(".py"):
            place = f"{Path(path).resolve()}:{cls}"
        signature_items = _parameters(own_class(place)).items()
        named = {
            key: one
            for key, one in signature_items
            if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)
        }
        defaults = {key: one.default for key, one in named.items() if one.default is not one.empty}
        defaults.pop("tolerance", None)
        values = _settings(name, settings, defaults, {})
        own_solver(place, values, 1e-8)
    except ContestantError as error:
        message = str(error)
        raise ContestantError(message if message.startswith(name) else f"{name}: {message}") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a user's class may raise SystemExit
        raise ContestantError(
            f"{name}: making {places[name]} failed with {type(error).__name__}: {error}"
        ) from None
    return Contestant(name, _changed(values, defaults), place)


def _peer_contestants(name: str, settings: Sequence[str]) -> list[Contestant]:
    """The solver of Siconos of this name, or all of them."""
    from stickslip.bench.siconos.peer import find_siconos, methods

    siconos = find_siconos()
    if not siconos:
        raise ContestantError(
            f"{name} is not available, because Siconos was not found; tried {'; '.join(siconos.tried)}"
        )
    if settings:
        raise ContestantError(f"{name} takes no options, got {':'.join(settings)}")
    if name != PEER and name not in methods():
        raise ContestantError(f"unknown solver {name!r} of Siconos; {alternatives(name, methods())}")
    return [Contestant(peer) for peer in (methods() if name == PEER else (name,))]
