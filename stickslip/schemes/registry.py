"""Registry of the schemes by name. A new scheme is one file and one line in `_TABLE`.

The table has names of modules; a scheme is imported on first use.
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
"""A name, a scheme, or a mapping of system names to either."""


@dataclass(frozen=True, slots=True)
class Entry(Listed):
    """One line of the table: a scheme, its module, and the models that it supports."""

    order: str
    """Order of the systems that it supports: `first`, `second`, or `bodies` for worlds."""
    relaxation: str = ""
    """Law that it always uses in place of the exact one; empty if none."""
    has_models: bool = False
    """Whether its option `contact` chooses the law, one of `MODELS`."""


_SCHEMES = "stickslip.schemes."
"""Package of the schemes."""
DEFAULTS = {"second": "moreau-jean", "first": "euler-moreau"}
"""Default scheme of a system, by the order of its systems."""
GUARDED = "event-driven"
"""Default scheme of a system with guards."""
BODIES = "bodies"
"""`Entry.order` of schemes for worlds."""
ROBOTS = "robots"
"""`Entry.order` of the scheme for robots."""
DEFAULT_ROBOTS = "moreau-jean-reduced"
"""Default scheme for robots."""
DEFAULT_BODIES = "moreau-jean-semi-explicit"
"""Default scheme for worlds."""
FOR_BODIES = {"variational": "variational-bodies"}
"""Schemes for worlds with the same public name as a scheme for systems, by that name."""
COMPOSITE = (_SCHEMES + "composite", "Composite")
"""Module and class of the scheme for one scheme per system."""

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
    """Return the names of the schemes."""
    return sorted(_TABLE)


def entry(name: str) -> Entry:
    """Return the entry of a scheme; raise UnknownNameError with the known names for an unknown one."""
    if name not in _TABLE:
        name = current("scheme", name, SCHEMES_OF_WORLDS)
    if name not in _TABLE:
        raise UnknownNameError(f"unknown scheme {name!r}; {alternatives(name, names())}")
    return _TABLE[name]


def make(name: str, **options: Any) -> Scheme:
    """Return the scheme `name` with these options; raise TypeError with the known options for an unknown
    one."""
    scheme: Scheme = entry(name).make(**options)
    return scheme


def described(scheme: Scheme | BodyScheme) -> tuple[str, dict[str, Any]]:
    """Return name and options of a scheme, for `remade`; the name of its class if it is not in the table."""
    if isinstance(scheme, ByEquations):
        return described(scheme.scheme)
    kind = type(scheme)
    if (kind.__module__, kind.__name__) == COMPOSITE:
        parts = {name: described(part) for name, part in scheme.schemes.items()}  # type: ignore[union-attr]
        return "composite", {
            name: {"scheme": part, "options": options} for name, (part, options) in parts.items()
        }
    name = next(
        (e.name for e in _TABLE.values() if (e.module, e.cls) == (kind.__module__, kind.__name__)),
        kind.__name__,
    )
    if not is_dataclass(scheme):
        return name, {}
    return name, {spec.name: _plain(getattr(scheme, spec.name)) for spec in fields(scheme)}


def relaxation(name: str, options: Mapping[str, Any]) -> str:
    """Return the law that a described scheme uses in place of the exact one, by its options, assuming
    friction; empty if it is exact. It is used for files without the relaxation of their steps.
    """
    if name == "composite":
        valid = [part for part in options.values() if isinstance(part, Mapping)]  # files are not trusted
        parts = (relaxation(str(part.get("scheme")), part.get("options") or {}) for part in valid)
        return ", ".join(dict.fromkeys(part for part in parts if part))
    line = _TABLE.get(name)
    if line is None:
        return ""
    return RELAXATIONS.get(str(options.get("contact")), "") if line.has_models else line.relaxation


def remade(name: str, options: Mapping[str, Any]) -> Scheme:
    """Return the scheme with the name and options of `described`; raise ModelError if they are not valid."""
    try:
        if name == "composite":
            return chosen({key: remade(part["scheme"], part["options"]) for key, part in options.items()})
        return make(name, **options)
    except (KeyError, TypeError, ValueError):
        raise ModelError(f"the scheme {name} cannot be restored from its options; give scheme=...") from None


def chosen(scheme: SchemeChoice) -> Scheme:
    """Return the scheme for a name, a scheme, or a mapping of system names to either."""
    if isinstance(scheme, str):
        if entry(scheme).order in (BODIES, ROBOTS):
            carried = {BODIES: "worlds of bodies", ROBOTS: "robots"}[entry(scheme).order]
            raise ModelError(f"the scheme {scheme} applies to {carried}, not to systems")
        return make(scheme)
    if isinstance(scheme, Mapping):
        module, name = COMPOSITE
        composite: Scheme = getattr(import_module(module), name)(
            {name_: chosen(choice) for name_, choice in scheme.items()}
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
    """Return `chosen(scheme)`; for None the default for guards or for the order of the systems."""
    if scheme is not None:
        return chosen(scheme)
    if system.guards:
        return make(GUARDED)
    if system.flows and system.mechanical:
        first = {flow.name for flow, _ in system.flows}
        order = {name: "first" if name in first else "second" for name in system.number}
        each = ", ".join(f"{name!r}: {DEFAULTS[order[name]]!r}" for name in order)
        raise ModelError(
            f"the systems have first and second order; name a scheme for each, scheme={{{each}}}"
        )
    return make(DEFAULTS["first" if system.flows else "second"])


def chosen_for_bodies(scheme: "str | Scheme | BodyScheme | None") -> BodyScheme:
    """Return the scheme for worlds for a name or a scheme; a scheme for second-order systems is applied to
    the equations of the world."""
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
    """Return a list of the schemes for worlds, for messages."""
    known = [
        entry_.name
        for entry_ in _TABLE.values()
        if entry_.order not in ("first", ROBOTS) and entry_.name not in FOR_BODIES
    ]
    return f"worlds accept {', '.join((*FOR_BODIES, *known))}"


def _check_for_bodies(line: Entry) -> None:
    """Raise ModelError for schemes that do not support worlds."""
    if line.order in ("first", ROBOTS):
        carried = "robots" if line.order == ROBOTS else "systems of first order"
        raise ModelError(f"the scheme {line.name} applies to {carried}, not to worlds; {_carriers()}")


def _for_bodies(name: str, options: Mapping[str, Any]) -> BodyScheme:
    """Return the scheme for worlds with this name and options."""
    line = entry(name)
    _check_for_bodies(line)
    scheme: Any = line.make(**options)
    return scheme if line.order == BODIES else ByEquations(scheme)  # type: ignore[no-any-return]


def chosen_for_robots(scheme: Any) -> Any:
    """Return the scheme for robots for a name or a scheme."""
    name = DEFAULT_ROBOTS if scheme is None else scheme if isinstance(scheme, str) else described(scheme)[0]
    if entry(name).order != ROBOTS:
        raise ModelError(f"the scheme {name} does not apply to robots; use {DEFAULT_ROBOTS}")
    return entry(name).make() if scheme is None or isinstance(scheme, str) else scheme


def name_for_bodies(name: str) -> str:
    """Return the name of a scheme for worlds in the table; old names give a warning."""
    return FOR_BODIES.get(name) or current("scheme of a world", name, SCHEMES_OF_WORLDS)


def remade_for_bodies(name: str, options: Mapping[str, Any]) -> BodyScheme:
    """Return the scheme for worlds with the name and options of `described`; raise ModelError if they are not
    valid."""
    try:
        return _for_bodies(name, options)
    except (KeyError, TypeError, ValueError):
        raise ModelError(f"the scheme {name} cannot be restored from its options; give scheme=...") from None


def _plain(value: Any) -> Any:
    """Return a value as JSON would return it, so that options read from a file compare equal."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, bool | int | float | str | None):
        return value
    return value.tolist() if hasattr(value, "tolist") else repr(value)
