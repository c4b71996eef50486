"""Who takes part in a campaign: a solver of ours, a peer, or a solver of the user's own, with its options."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stickslip.bench.campaigns.own import (
    OwnError,
    own_class,
    own_solver,
    parameters,
    source_hash,
    whole_place,
)
from stickslip.bench.environment import version_of
from stickslip.bench.json_data import Stored
from stickslip.names import alternatives
from stickslip.options import allowed, parsed
from stickslip.solvers import registry

Value = bool | int | float | str
"""What an option of a solver may be."""

SHORT = {"newton": "newton-ac"}
"""Names that stand for one of a family of solvers."""
PEER = "siconos"
"""What names of Siconos's solvers begin with: siconos-nsgs, siconos-admm, ...; alone, all of them."""
USUAL = ("nsgs", "anderson", "admm", "prox", "newton-ac", "ipm", "clarabel", "auto")
"""Who takes part unless something else is said; those of Siconos too, where it is present."""


class ContestantError(ValueError):
    """A contestant that cannot take part; the message names it, and says what is known."""


@dataclass(frozen=True)
class Contestant(Stored):
    """A solver and the options it was given, as data that goes to any process."""

    name: str
    """Of the registry, of a solver of Siconos (siconos-nsgs), or the one given to a user's own."""
    options: tuple[tuple[str, Value], ...] = ()
    """Options that differ from the defaults, by name, in alphabetical order; never `tolerance`."""
    place: str = ""
    """Where a user's own solver is: `file.py:Class` or `package.module:Class`; empty for all others."""

    @property
    def label(self) -> str:
        """Name in tables, as it is typed: `nsgs:max_iterations=50`."""
        return ":".join([self.name, *(f"{key}={value}" for key, value in self.options)])


def is_peer(contestant: Contestant) -> bool:
    """Whether it is a solver of Siconos."""
    return not contestant.place and contestant.name.startswith(f"{PEER}-")


def is_ours(contestant: Contestant) -> bool:
    """Whether it is in our registry."""
    return not contestant.place and contestant.name in registry.names()


def contestants(text: str = "", own: Sequence[str] = ()) -> tuple[Contestant, ...]:
    """Contestants as they are typed: `nsgs,ipm:max_iterations=50,siconos,mine`.

    `text`: names between commas, options behind colons; the usual ones where it is empty. `own`: solvers of
    the user, `NAME=file.py:Class` or `NAME=package.module:Class`; those that `text` does not name come last.
    All are made once, so that a wrong option is a `ContestantError` now.
    """
    places = _own_places(own)
    words = [word.strip() for word in text.split(",")] if text.strip() else _usual()
    found: list[Contestant] = []
    for word in words:
        found += _entrants(word, places)
    named = {contestant.name for contestant in found}
    found += [_own_contestant(name, [], places) for name in places if name not in named]
    labels = [contestant.label for contestant in found]
    for label in labels:
        if labels.count(label) > 1:
            raise ContestantError(f"{label} takes part twice; name it once, or give it other options")
    return tuple(found)


def make(contestant: Contestant, tolerance: float) -> Any:
    """The solver of a contestant that is ours or the user's own, with its options and that tolerance.

    A user's own gets the tolerance if it takes one, and is held to it by the judge anyway.
    """
    options: dict[str, Any] = dict(contestant.options)
    if contestant.place:
        return own_solver(contestant.place, options, tolerance)
    return registry.make(contestant.name, tolerance=tolerance, **options)


def source_of(contestant: Contestant) -> str:
    """What exactly runs beside stickslip, as `RunRecord.source` says it."""
    if contestant.place:
        return source_hash(contestant.place)
    if is_peer(contestant):
        from stickslip.bench.siconos.peer import find_siconos

        return find_siconos().source
    package = registry.entry(contestant.name).package
    return f"{package} {version_of(package)}".strip() if package else ""


def _entrants(word: str, places: dict[str, str]) -> list[Contestant]:
    """The contestants that one word of the list stands for."""
    name, *settings = (part.strip() for part in word.split(":"))
    name = SHORT.get(name, name)
    if name in places:
        return [_own_contestant(name, settings, places)]
    if name == PEER or name.startswith(f"{PEER}-"):
        return _peer_contestants(name, settings)
    if name not in registry.names():
        known = alternatives(name, (*registry.names(), *SHORT, PEER, *places))
        raise ContestantError(f"no solver {name!r} in {word!r}; {known}")
    entry = registry.entry(name)
    if not entry.installed:
        raise ContestantError(f"{name} cannot take part: {entry.availability}")
    specs = {spec.name: spec for spec in entry.options if spec.name != "tolerance"}
    defaults = {key: spec.default for key, spec in specs.items()}
    given = _settings(name, settings, defaults, {key: allowed(spec) for key, spec in specs.items()})
    try:
        registry.make(name, **given)
    except ValueError as error:  # outside its range; the sentence begins with the name of the class
        raise ContestantError(f"{name}: {str(error).partition(': ')[2] or error}") from None
    return [Contestant(name, _changed(given, defaults))]


def _settings(
    name: str, settings: Sequence[str], defaults: dict[str, Any], ranges: dict[str, str]
) -> dict[str, Value]:
    """Options from `key=value` texts, each of the type of its default."""
    given: dict[str, Value] = {}
    for text in settings:
        key, equals, value = (part.strip() for part in text.partition("="))
        key = key.replace("-", "_")
        if key == "tolerance":
            raise ContestantError(
                f"{name}: the tolerance is the campaign's, the same for all; use --tolerance"
            )
        if not equals:
            raise ContestantError(f"{name}: {text!r} is not of the form option=value")
        if key not in defaults:
            raise ContestantError(f"{name} has no option {key!r}; {alternatives(key, defaults, 'it has:')}")
        if key in given:
            raise ContestantError(f"{name}: option {key} is given twice")
        default = defaults[key] if isinstance(defaults[key], bool | int | float) else ""
        try:
            given[key] = parsed(f"option {key}", value, default, ranges.get(key, ""))
        except ValueError as error:
            raise ContestantError(f"{name}: {error}") from None
    return given


def _changed(given: dict[str, Value], defaults: dict[str, Any]) -> tuple[tuple[str, Value], ...]:
    return tuple(sorted((key, value) for key, value in given.items() if value != defaults[key]))


def _own_places(own: Sequence[str]) -> dict[str, str]:
    """Where the solvers of the user are, by name."""
    places: dict[str, str] = {}
    for text in own:
        name, equals, place = (part.strip() for part in text.partition("="))
        if not equals or not re.fullmatch(r"[^\W\d][\w.-]{0,99}", name):
            raise ContestantError(
                f"--own {text!r} is not of the form NAME=file.py:Class or NAME=package.module:Class"
            )
        if name in registry.names() or name in SHORT or name == PEER or name.startswith(f"{PEER}-"):
            raise ContestantError(f"--own {text!r}: there is a solver {name} already; choose another name")
        if name in places:
            raise ContestantError(f"--own {name} is given twice")
        places[name] = place
    return places


def _own_contestant(name: str, settings: Sequence[str], places: dict[str, str]) -> Contestant:
    try:
        place = whole_place(places[name])
        found = parameters(own_class(place)).items()
        defaults = {key: value for key, value in found if key != "tolerance"}
        given = _settings(name, settings, defaults, {})
        own_solver(place, given, 1e-8)
    except OwnError as error:
        raise ContestantError(f"{name}: {error}") from None
    except (ContestantError, KeyboardInterrupt):
        raise
    except BaseException as error:  # a user's class may even leave
        raise ContestantError(
            f"{name}: making {places[name]} failed with {type(error).__name__}: {error}"
        ) from None
    return Contestant(name, _changed(given, defaults), place)


def _peer_contestants(name: str, settings: Sequence[str]) -> list[Contestant]:
    """Solvers of Siconos: the one of that name, or all."""
    from stickslip.bench.siconos.peer import find_siconos, methods

    found = find_siconos()
    if not found:
        raise ContestantError(
            f"{name} cannot take part, for Siconos is absent; tried {'; '.join(found.tried)}"
        )
    if settings:
        raise ContestantError(f"{name} takes no options, got {':'.join(settings)}")
    if name != PEER and name not in methods():
        raise ContestantError(f"no solver {name!r} of Siconos; {alternatives(name, methods())}")
    return [Contestant(peer) for peer in (methods() if name == PEER else (name,))]


def _usual() -> list[str]:
    from stickslip.bench.siconos.peer import find_siconos

    return [*USUAL, *([PEER] if find_siconos() else [])]
