"""What a trajectory file says about itself: one JSON text, every part of it checked when it is read."""

import json
from dataclasses import asdict, dataclass
from typing import Any

from stickslip.files.hdf5 import Source
from stickslip.files.json_text import read_json
from stickslip.files.world_trajectories import read_forces, read_relaxation
from stickslip.problem.contact import Level
from stickslip.simulation.model import SystemPart
from stickslip.simulation.trajectory import Trajectory


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
    relaxation: str
    forces: str
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
        "steps": of.steps, "missed": of.missed, "verdict": of.verdict.value, "relaxation": of.relaxation,
        "forces": of.forces,
        "memory": [{"name": name, "shape": list(value.shape[1:])} for name, value in of.memory.items()],
        "measures": list(of.measures), "kinds": kinds, "owners": owners,
    }  # fmt: skip
    # What is no JSON (a scheme of the user's own may have any option) is kept as text.
    return json.dumps(said, indent=1, default=repr)


def read_about(source: Source, group: Any) -> About:
    """The text of a file, checked."""
    place = f"{group.name}/about"
    reader, top = read_json(source, group, "about")
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
    scheme = text(top, "scheme"), reader.table("scheme_options", top.get("scheme_options"))
    return About(
        systems, ties, *scheme,
        text(top, "solver"), number(top, "tolerance"), number(top, "origin"), h,
        count(top, "steps"), count(top, "missed"), read_relaxation(reader, top, *scheme),
        read_forces(reader, top), memory,
        reader.texts(top, "measures"),
        reader.texts(top, "kinds"), reader.texts(top, "owners"),
    )  # fmt: skip
