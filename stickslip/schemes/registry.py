"""The schemes by name. A new scheme is one file and one line in `_TABLE`.

The table holds names of modules, not modules: a scheme is imported when it is asked for.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from importlib import import_module
from typing import Any

from stickslip.names import alternatives
from stickslip.options import Listed
from stickslip.problem.step_problem import RELAXATIONS, SPRINGS
from stickslip.renames import SCHEMES_OF_WORLDS, current
from stickslip.schemes.body_step import BodyScheme
from stickslip.schemes.equations_scheme import ByEquations
from stickslip.schemes.step import Scheme
from stickslip.state import ModelError, UnknownNameError
from stickslip.systems.system import NonsmoothSystem

SchemeChoice = str | Scheme | Mapping[str, str | Scheme]
"""A scheme by name, a scheme, or one of them per system."""


@dataclass(frozen=True, slots=True)
class Entry(Listed):
    """One line of the table: where a scheme is, and what it carries."""

    order: str
    """Order of the systems that it carries: `first`, `second`, or `bodies` for worlds."""
    relaxation: str = ""
    """What it puts in the place of the exact law whatever its options are; empty where nothing."""
    has_models: bool = False
    """Whether its option `contact` chooses the law, one of `MODELS`."""


_SCHEMES = "stickslip.schemes."
DEFAULTS = {"second": "moreau-jean", "first": "euler-moreau"}
"""The scheme of a system when none is named, by the order of its systems."""
GUARDED = "event-driven"
"""The scheme of a system with guards when none is named."""
BODIES = "bodies"
"""What schemes for worlds carry."""
ROBOTS = "robots"
"""What the scheme for robots carries."""
DEFAULT_ROBOTS = "moreau-jean-reduced"
"""The scheme for robots."""
DEFAULT_BODIES = "moreau-jean-semi-explicit"
"""The scheme for worlds when none is named."""
FOR_BODIES = {"variational": "variational-bodies"}
"""Schemes for worlds that have the name of one for systems."""
COMPOSITE = (_SCHEMES + "composite", "Composite")
"""The scheme that a choice of one scheme per system becomes."""

_TABLE = {
    entry.name: entry
    for entry in (
        Entry("moreau-jean", _SCHEMES + "moreau_jean", "MoreauJean", "second"),
        Entry("euler-moreau", _SCHEMES + "euler_moreau", "EulerMoreau", "first"),
        Entry("schatzman-paoli", _SCHEMES + "schatzman_paoli", "SchatzmanPaoli", "second"),
        Entry("variational", _SCHEMES + "variational_written", "Variational", "second", has_models=True),
        Entry("event-driven", _SCHEMES + "event_driven", "EventDriven", "second"),
        Entry("moreau-jean-semi-explicit", _SCHEMES + "bodies", "SemiExplicitMoreauJean", BODIES),
        Entry("variational-bodies", _SCHEMES + "variational", "VariationalBodies", BODIES, has_models=True),
        Entry("compliant", _SCHEMES + "compliant", "Compliant", "second", relaxation=SPRINGS),
        Entry("moreau-jean-reduced", _SCHEMES + "robots", "ReducedMoreauJean", ROBOTS),
    )
}


def names() -> list[str]:
    """Names of the schemes."""
    return sorted(_TABLE)


def entry(name: str) -> Entry:
    """The line of one scheme; an unknown name is an `UnknownNameError` that lists the known ones."""
    if name not in _TABLE:
        name = current("scheme", name, SCHEMES_OF_WORLDS)
    if name not in _TABLE:
        raise UnknownNameError(f"unknown scheme {name!r}; {alternatives(name, names())}")
    return _TABLE[name]


def make(name: str, **options: Any) -> Scheme:
    """The scheme `name` with these options; an unknown option is a `TypeError` that lists the known."""
    scheme: Scheme = entry(name).make(**options)
    return scheme


def described(scheme: Scheme | BodyScheme) -> tuple[str, dict[str, Any]]:
    """Name and options of a scheme, as `remade` takes them; the name of its class where it has no line."""
    if isinstance(scheme, ByEquations):
        return described(scheme.scheme)
    kind = type(scheme)
    if (kind.__module__, kind.__name__) == COMPOSITE:
        parts = {name: described(one) for name, one in scheme.schemes.items()}  # type: ignore[union-attr]
        return "composite", {name: {"scheme": one, "options": given} for name, (one, given) in parts.items()}
    name = next(
        (e.name for e in _TABLE.values() if (e.module, e.cls) == (kind.__module__, kind.__name__)),
        kind.__name__,
    )
    if not is_dataclass(scheme):
        return name, {}
    return name, {spec.name: _plain(getattr(scheme, spec.name)) for spec in fields(scheme)}


def relaxation(name: str, options: Mapping[str, Any]) -> str:
    """What the scheme that `described` told of puts in the place of the exact law where there is friction, as
    far as its options tell; empty where it is exact. Steps tell it themselves: this is for files that do not.
    """
    if name == "composite":
        known = [one for one in options.values() if isinstance(one, Mapping)]  # a file may say anything
        parts = (relaxation(str(one.get("scheme")), one.get("options") or {}) for one in known)
        return ", ".join(dict.fromkeys(part for part in parts if part))
    line = _TABLE.get(name)
    if line is None:
        return ""
    return RELAXATIONS.get(str(options.get("contact")), "") if line.has_models else line.relaxation


def remade(name: str, options: Mapping[str, Any]) -> Scheme:
    """The scheme that `described` told of; a ModelError where that cannot be."""
    try:
        if name == "composite":
            return chosen({key: remade(one["scheme"], one["options"]) for key, one in options.items()})
        return make(name, **options)
    except (KeyError, TypeError, ValueError):
        raise ModelError(f"the scheme {name} cannot be restored from its options; give scheme=...") from None


def chosen(scheme: SchemeChoice) -> Scheme:
    """The scheme that a name, a scheme, or one of either per system stands for."""
    if isinstance(scheme, str):
        if entry(scheme).order in (BODIES, ROBOTS):
            carried = {BODIES: "worlds of bodies", ROBOTS: "robots"}[entry(scheme).order]
            raise ModelError(f"the scheme {scheme} applies to {carried}, not to systems")
        return make(scheme)
    if isinstance(scheme, Mapping):
        module, name = COMPOSITE
        composite: Scheme = getattr(import_module(module), name)(
            {k: chosen(one) for k, one in scheme.items()}
        )
        return composite
    verbs = (getattr(scheme, verb, None) for verb in ("begin", "step", "levels"))
    if isinstance(scheme, type) or not all(map(callable, verbs)):
        name, _ = described(scheme)
        if not isinstance(scheme, type) and name in _TABLE and entry(name).order == BODIES:
            raise ModelError(f"the scheme {name} applies to worlds of bodies, not to systems")
        raise ModelError(
            f"scheme is {scheme!r}; expected a name ({', '.join(names())}), a scheme such as MoreauJean(),"
            " or one of them per system: {'ball': 'moreau-jean'}"
        )
    return scheme


def chosen_for_system(scheme: SchemeChoice | None, system: NonsmoothSystem) -> Scheme:
    """The scheme that `chosen` finds; where none is given, that of guards or of the order of the systems."""
    if scheme is not None:
        return chosen(scheme)
    if system.guards:
        return make(GUARDED)
    if system.flows and system.mechanical:
        first = {one.name for one, _ in system.flows}
        order = {name: "first" if name in first else "second" for name in system.number}
        each = ", ".join(f"{name!r}: {DEFAULTS[order[name]]!r}" for name in order)
        raise ModelError(
            f"the systems have first and second order; name a scheme for each, scheme={{{each}}}"
        )
    return make(DEFAULTS["first" if system.flows else "second"])


def chosen_for_bodies(scheme: "str | Scheme | BodyScheme | None") -> BodyScheme:
    """The scheme for worlds that a name or a scheme stands for; of `FOR_BODIES` the one for bodies. One of
    second-order systems carries the equations of the world."""
    if scheme is None:
        scheme = DEFAULT_BODIES
    elif isinstance(scheme, str):
        scheme = name_for_bodies(scheme)
    if isinstance(scheme, str):
        return _for_bodies(scheme, {})
    if not isinstance(scheme, type) and callable(getattr(scheme, "levels", None)):
        name, _ = described(scheme)
        if name in _TABLE:
            _check_for_bodies(entry(name))
        return ByEquations(scheme)  # type: ignore[arg-type]
    verbs = (getattr(scheme, verb, None) for verb in ("begin", "step"))
    if isinstance(scheme, type) or not all(map(callable, verbs)):
        raise ModelError(f"scheme is {scheme!r}; {_carriers()}, or a scheme such as SemiExplicitMoreauJean()")
    return scheme  # type: ignore[return-value]


def _carriers() -> str:
    known = [
        one.name
        for one in _TABLE.values()
        if one.order not in ("first", ROBOTS) and one.name not in FOR_BODIES
    ]
    return f"worlds accept {', '.join((*FOR_BODIES, *known))}"


def _check_for_bodies(line: Entry) -> None:
    if line.order in ("first", ROBOTS):
        carried = "robots" if line.order == ROBOTS else "systems of first order"
        raise ModelError(f"the scheme {line.name} applies to {carried}, not to worlds; {_carriers()}")


def _for_bodies(name: str, options: Mapping[str, Any]) -> BodyScheme:
    """The scheme for worlds of that name."""
    line = entry(name)
    _check_for_bodies(line)
    made: Any = line.make(**options)
    return made if line.order == BODIES else ByEquations(made)  # type: ignore[no-any-return]


def chosen_for_robots(scheme: Any) -> Any:
    """The scheme for robots that a name or a scheme stands for."""
    name = DEFAULT_ROBOTS if scheme is None else scheme if isinstance(scheme, str) else described(scheme)[0]
    if entry(name).order != ROBOTS:
        raise ModelError(f"the scheme {name} does not apply to robots; use {DEFAULT_ROBOTS}")
    return entry(name).make() if scheme is None or isinstance(scheme, str) else scheme


def name_for_bodies(name: str) -> str:
    """The name that a scheme has in the table of those for worlds; old names warn."""
    return FOR_BODIES.get(name) or current("scheme of a world", name, SCHEMES_OF_WORLDS)


def remade_for_bodies(name: str, options: Mapping[str, Any]) -> BodyScheme:
    """The scheme for worlds that `described` told of; a ModelError where that cannot be."""
    try:
        return _for_bodies(name, options)
    except (KeyError, TypeError, ValueError):
        raise ModelError(f"the scheme {name} cannot be restored from its options; give scheme=...") from None


def _plain(value: Any) -> Any:
    """A value as JSON gives it back, so that options read from a file compare equal."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, bool | int | float | str | None):
        return value
    return value.tolist() if hasattr(value, "tolist") else repr(value)
