"""What a trajectory file says about itself: one JSON text, every part of it checked when it is read."""

import json
from dataclasses import asdict, dataclass
from typing import Any

from stickslip.files.errors import shown
from stickslip.files.hdf5 import Source
from stickslip.problem.contact import Level
from stickslip.simulation.model import SystemPart
from stickslip.simulation.trajectory import Trajectory

LARGEST = 2**31
"""No count in a file is larger: more would not fit into any memory."""


@dataclass(frozen=True)
class Tie:
    """One interaction, as its file tells of it; its set stands elsewhere."""

    name: str
    systems: tuple[str, ...]
    law: str
    first_order: bool
    level: Level
    components: int


@dataclass(frozen=True)
class About:
    """What a file says about its trajectory."""

    systems: tuple[SystemPart, ...]
    interactions: tuple[Tie, ...]
    scheme: str
    scheme_options: dict[str, Any]
    solver: str
    tolerance: float
    origin: float
    h: float
    steps: int
    missed: int
    memory: tuple[tuple[str, tuple[int, ...]], ...]
    """Names of the memories, and the shape of each at one instant."""
    measures: tuple[str, ...]
    kinds: tuple[str, ...]
    """Kinds of events."""
    owners: tuple[str, ...]
    """Names of interactions that events have."""


def about_text(of: Trajectory, kinds: list[str], owners: list[str]) -> str:
    """The text, as JSON."""
    interactions = [
        {
            "name": part.name, "systems": list(part.systems), "law": part.law,
            "first_order": part.first_order, "level": part.level.value, "components": part.K.size,
        }
        for part in of.model.interactions
    ]  # fmt: skip
    said = {
        "systems": [asdict(part) for part in of.model.systems], "interactions": interactions,
        "scheme": of.scheme, "scheme_options": of.scheme_options,
        "solver": of.solver, "tolerance": of.tolerance, "origin": of.clock.origin, "h": of.clock.h,
        "steps": of.steps, "missed": of.missed,
        "memory": [{"name": name, "shape": list(value.shape[1:])} for name, value in of.memory.items()],
        "measures": list(of.measures), "kinds": kinds, "owners": owners,
    }  # fmt: skip
    # What is no JSON (a scheme of the user's own may have any option) is kept as text.
    return json.dumps(said, indent=1, default=repr)


def read_about(source: Source, group: Any) -> About:
    """The text of a file, checked."""
    place = f"{group.name}/about"
    try:
        said = json.loads(source.text(group, "about"))
    except (ValueError, RecursionError):
        source.fail(place, "JSON", "other text")
    reader = _Reader(source, place)
    top = reader.table("the text", said)
    number, count, text = reader.number, reader.count, reader.text
    systems = tuple(
        SystemPart(
            text(s, "name"), text(s, "kind"), reader.flag(s, "first_order"),
            count(s, "nq"), count(s, "nv"), count(s, "nz"), reader.flag(s, "potential_known"),
        )
        for s in reader.tables(top, "systems")
    )  # fmt: skip
    ties = tuple(
        Tie(
            text(i, "name"), reader.texts(i, "systems"), text(i, "law"), reader.flag(i, "first_order"),
            Level(reader.one_of(i, "level", [level.value for level in Level])), count(i, "components"),
        )
        for i in reader.tables(top, "interactions")
    )  # fmt: skip
    for name, names in (("systems", [s.name for s in systems]), ("interactions", [i.name for i in ties])):
        if len(set(names)) < len(names):
            source.fail(place, f"{name} with names of their own", "two of the same name")
    memory = tuple((text(m, "name"), reader.counts(m, "shape")) for m in reader.tables(top, "memory"))
    h = number(top, "h")
    if h <= 0.0:
        source.fail(place, "a positive h", f"{h}")
    return About(
        systems, ties, text(top, "scheme"), reader.table("scheme_options", top.get("scheme_options")),
        text(top, "solver"), number(top, "tolerance"), number(top, "origin"), h,
        count(top, "steps"), count(top, "missed"), memory, reader.texts(top, "measures"),
        reader.texts(top, "kinds"), reader.texts(top, "owners"),
    )  # fmt: skip


class _Reader:
    """Takes values out of JSON, and refuses the file where they are not what they should be."""

    def __init__(self, source: Source, place: str):
        self.source, self.place = source, place

    def table(self, name: str, value: Any) -> dict[str, Any]:
        return self._kept(name, value, isinstance(value, dict), "an object")  # type: ignore[no-any-return]

    def tables(self, of: dict[str, Any], name: str) -> list[dict[str, Any]]:
        value = self._kept(name, of.get(name), isinstance(of.get(name), list), "a list")
        return [self.table(f"{name}[{k}]", item) for k, item in enumerate(value)]

    def text(self, of: dict[str, Any], name: str) -> str:
        return str(self._kept(name, of.get(name), isinstance(of.get(name), str), "a text"))

    def texts(self, of: dict[str, Any], name: str) -> tuple[str, ...]:
        value = of.get(name)
        good = isinstance(value, list) and all(isinstance(item, str) for item in value)
        return tuple(self._kept(name, value, good, "a list of texts"))

    def flag(self, of: dict[str, Any], name: str) -> bool:
        return bool(self._kept(name, of.get(name), isinstance(of.get(name), bool), "true or false"))

    def number(self, of: dict[str, Any], name: str) -> float:
        value = of.get(name)
        good = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= 1e300
        return float(self._kept(name, value, good, "a finite number"))

    def count(self, of: dict[str, Any], name: str) -> int:
        return int(self._kept(name, of.get(name), _is_count(of.get(name)), f"a count up to {LARGEST}"))

    def counts(self, of: dict[str, Any], name: str) -> tuple[int, ...]:
        value = of.get(name)
        good = isinstance(value, list) and len(value) <= 8 and all(map(_is_count, value))
        return tuple(self._kept(name, value, good, f"at most 8 counts up to {LARGEST}"))

    def one_of(self, of: dict[str, Any], name: str, known: list[str]) -> str:
        value = self.text(of, name)
        return str(self._kept(name, value, value in known, "one of " + ", ".join(known)))

    def _kept(self, name: str, value: Any, good: bool, expected: str) -> Any:
        if not good:
            self.source.fail(self.place, f"{expected} as {name}", shown(str(value)[:200]))
        return value


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST
