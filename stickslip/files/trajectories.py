"""Trajectories in HDF5: a group that says by itself what it holds. Of systems, `stickslip_trajectory`:

    version (1), about (JSON: systems, interactions with laws, scheme and options, solver, clock, counts,
    names of memories, measures and events), laws/k (the product set of interaction k, `own`)
    columns/t, h, q, v, z, r, u, y, active, ...   one row per recorded instant, row 0 the start; `verdict` is
                                                  0 certified, 1 relaxed, 2 missed, and `ok` 1 where it is 0
    memory/k, measures/k                          in the order of their names in `about`
    events/t, kind, interaction                   kind and interaction as numbers into the lists of `about`

Of worlds, `stickslip_world_trajectory`:

    version (1), about (JSON: names of bodies and joints, kinds and lengths of shapes, scheme and options,
    solver, clock, counts, names and shapes of memories and sensors, notes of the run)
    world/kind, mass, inertia, origin, ...        one row per body, shape or joint; points/k of shape kind k
    columns/t, h, q, v, ok, natural, ...          as above
    contacts/offset, id, body, point, ...         those of record k are rows offset[k] to offset[k + 1]
    joints/offset, r                              impulses of joints, likewise
    sensors/k, memory/k                           in the order of their names in `about`; memory of the end

Numbers are stored as they are (large tables of worlds compressed), so a trajectory comes back bit for bit. A
run of systems goes on from any record, that of a world from its end.
"""

import math
from dataclasses import asdict, fields
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.files import trajectory_parts as parts
from stickslip.files.errors import FormatError
from stickslip.files.hdf5 import Source
from stickslip.files.hdf5_write import hdf5_content, packed_content, put_array
from stickslip.files.own import read_set, write_set
from stickslip.files.problems import SIGNATURE, file_content, replace_file
from stickslip.files.trajectory_parts import About
from stickslip.mechanics.joints import JointKind
from stickslip.mechanics.world import BodyKind
from stickslip.problem.contact import Level
from stickslip.schemes.body_forces import CHOICES
from stickslip.schemes.step import Event
from stickslip.simulation.clock import Clock
from stickslip.simulation.model import InteractionPart, Model, SystemPart
from stickslip.simulation.trajectory import Trajectory
from stickslip.simulation.world_contacts import CONTACT_WIDTHS, WorldContacts
from stickslip.simulation.world_contacts import WHOLE as WHOLE_CONTACTS
from stickslip.simulation.world_model import ShapeRecord, WorldModel
from stickslip.simulation.world_trajectory import WorldTrajectory

ROOT = "stickslip_trajectory"
ENDINGS = (".hdf5", ".h5")
"""Endings of the names of trajectory files."""
REALS = ("t", "h", "natural", "natural_scaled", "kinetic", "potential", "contact_work")
WHOLE = ("iterations", "newton", "index")
"""Columns of one number per record, of systems."""
WORLD_ROOT = "stickslip_world_trajectory"
WORLD_REALS = (
    "t", "h", "natural", "natural_scaled", "penetration", "opening", "correction", "kinetic", "potential",
    "dissipated", "work", "lifted", "balance",
)  # fmt: skip
"""The same, of worlds."""
BODY_WIDTHS = {"mass": (), "inertia": (3, 3), "origin": (3,)}
SHAPE_WIDTHS = {"shape_position": (3,), "shape_quaternion": (4,)}
MOST_INDEX = 2**53
"""More steps than this have no time of their own."""


def write_trajectory(path: str | PathLike[str], trajectory: Trajectory | WorldTrajectory) -> None:
    """Write a trajectory; the file appears whole or not at all, and the same one gives the same bytes."""
    path = Path(path)
    if path.suffix.lower() not in ENDINGS:
        wanted = "one that ends in " + ", ".join(ENDINGS)
        raise FormatError.at(path, "the name of the file", wanted, repr(path.name))
    replace_file(path, trajectory_content(trajectory))


def trajectory_content(trajectory: Trajectory | WorldTrajectory) -> bytes:
    """The bytes of the file of a trajectory; the same one gives the same bytes."""
    if isinstance(trajectory, WorldTrajectory):
        of = trajectory
        stored = sum(x.nbytes for x in (of.q, of.v, *vars(of.contacts).values()))
        return packed_content(WORLD_ROOT, lambda group, put: _fill_world(group, of, put), stored)
    return hdf5_content(lambda root: _fill(root.create_group(ROOT), trajectory))


def read_trajectory(path: str | PathLike[str]) -> Trajectory | WorldTrajectory:
    """The trajectory of a system or of a world in a file that its `save` wrote; a `FormatError` says what is
    wrong with the file."""
    path = Path(path)
    return trajectory_in(path, file_content(path))


def trajectory_in(path: Path, content: bytes) -> Trajectory | WorldTrajectory:
    """The trajectory in `content`, the bytes of the file `path`."""
    if not content.startswith(SIGNATURE):
        raise FormatError.at(path, "the file", "an HDF5 file", "something else")
    with Source(path, content) as source:
        if source.has(source.root, WORLD_ROOT):
            return read_world(source, source.group(source.root, WORLD_ROOT))
        if not source.has(source.root, ROOT):
            found = "a file without it; if it holds a problem, read it with read"
            source.fail("/", f"the group {ROOT} or {WORLD_ROOT} of a trajectory", found)
        return _read(source, source.group(source.root, ROOT))


def is_trajectory(path: str | PathLike[str]) -> bool:
    """Whether a file says that it holds a trajectory; what is wrong with it is for the reader to tell."""
    return has_root(Path(path), ROOT, WORLD_ROOT)


def has_root(path: Path, *roots: str) -> bool:
    """Whether a file is HDF5 and has one of these groups in its root."""
    try:
        content = file_content(path)
        if not content.startswith(SIGNATURE):
            return False
        with Source(path, content) as source:
            return any(source.has(source.root, root) for root in roots)
    except (FormatError, OSError):
        return False


def _fill(group: Any, of: Trajectory) -> None:
    kinds = sorted({event.kind for event in of.events})
    owners = sorted({event.interaction for event in of.events})
    interactions = [
        {
            "name": part.name, "systems": list(part.systems), "law": part.law,
            "first_order": part.first_order, "level": part.level.value, "components": part.K.size,
        }
        for part in of.model.interactions
    ]  # fmt: skip
    own = {
        "systems": [asdict(part) for part in of.model.systems], "interactions": interactions,
        "memory": [{"name": name, "shape": list(value.shape[1:])} for name, value in of.memory.items()],
        "measures": list(of.measures), "kinds": kinds, "owners": owners,
    }  # fmt: skip
    parts.put_about(group, of, own, indent=1)
    laws = group.create_group("laws")
    for k, part in enumerate(of.model.interactions):
        write_set(laws.create_group(f"{k}"), part.K)
    columns = group.create_group("columns")
    for names, kind in (((*REALS, *_widths(of.model)), np.float64), (WHOLE, np.int64)):
        for name in names:
            put_array(columns, name, getattr(of, name), kind)
    small = {"active": of.active, "ok": of.ok, "verdict": of.verdicts, "choice": of.choice}
    for name, flags in small.items():
        put_array(columns, name, flags, np.int8)
    for place, named in (("memory", of.memory), ("measures", of.measures)):
        put = group.create_group(place)
        for k, value in enumerate(named.values()):
            put_array(put, f"{k}", value.reshape(len(of), -1), np.float64)
    events = group.create_group("events")
    put_array(events, "t", [event.t for event in of.events], np.float64)
    put_array(events, "kind", [kinds.index(event.kind) for event in of.events], np.int64)
    put_array(events, "interaction", [owners.index(event.interaction) for event in of.events], np.int64)


def _widths(model: Model) -> dict[str, int]:
    """Columns of several real numbers per record, and how many."""
    nq, nv, nz, size, blocks = model.sizes
    return {"q": nq, "v": nv, "z": nz, "r": size, "u": size, "y": size, "forecast": blocks}


def _read(source: Source, group: Any) -> Trajectory:
    about = About(source, group)
    model, clock, run = _read_model(source, group, about), Clock(*about.clock()), about.run()
    columns = source.group(group, "columns")
    found: dict[str, Any] = parts.read_columns(source, columns, REALS, WHOLE, _widths(model))
    n = found["t"].size
    blocks = n, model.sizes[-1]
    found["active"] = parts.read_flags(source, columns, "active", blocks)
    found["verdicts"] = parts.read_verdicts(source, columns, n, run["relaxation"])
    choice = np.zeros(blocks, np.int64)  # a file from before it was told has the solver's
    if source.has(columns, "choice"):
        choice = source.shaped(columns, "choice", source.integers(columns, "choice", 2), blocks)
        parts.in_range(source, columns, "choice", choice, 0, len(CHOICES) - 1)
    told = found.pop("r"), choice
    if (found["index"] < -1).any() or (np.abs(found["index"]) > 2**53).any():
        source.fail(f"{columns.name}/index", "numbers of steps, or -1", "others")
    energies = {name: found.pop(name) for name in ("kinetic", "potential", "contact_work")}
    memory = parts.read_named(source, group, "memory", n, about.shapes("memory"))
    numbers: list[tuple[str, tuple[int, ...]]] = [(name, ()) for name in about.get("measures", "texts")]
    measures = parts.read_named(source, group, "measures", n, numbers)
    parts.read_only(*found.values(), *memory.values(), *measures.values(), *energies.values())
    return Trajectory(
        model=model, **found, **run, memory=memory, measures=measures, clock=clock,
        events=_read_events(source, group, about), derive=lambda name, _: energies[name],
        solver_r=told[0], choose=lambda _: told,
    )  # fmt: skip


def _read_model(source: Source, group: Any, about: About) -> Model:
    for what in ("systems", "interactions"):
        about.names(what, [about.get("name", "text", one) for one in about.get(what, "objects")])
    kinds = {str: "text", bool: "flag", int: "count"}
    systems = tuple(
        SystemPart(**{spec.name: about.get(spec.name, kinds[spec.type], one) for spec in fields(SystemPart)})  # type: ignore[index, arg-type]
        for one in about.get("systems", "objects")
    )
    laws, levels = source.group(group, "laws"), [level.value for level in Level]
    interactions = tuple(
        InteractionPart(
            about.get("name", "text", one), about.get("systems", "texts", one), about.get("law", "text", one),
            read_set(source, source.group(laws, f"{k}"), about.get("components", "count", one)),
            about.get("first_order", "flag", one), Level(about.one_of("level", levels, one)),
        )
        for k, one in enumerate(about.get("interactions", "objects"))
    )  # fmt: skip
    return Model(systems, interactions)


def _read_events(source: Source, group: Any, about: About) -> tuple[Event, ...]:
    place = source.group(group, "events")
    t = source.reals(place, "t")
    columns = [t.tolist()]
    for name, list_ in (("kind", "kinds"), ("interaction", "owners")):
        known = about.get(list_, "texts")
        numbers = source.shaped(place, name, source.integers(place, name), (t.size,))
        parts.in_range(source, place, name, numbers, 0, len(known) - 1)
        columns.append([known[k] for k in numbers.tolist()])
    return tuple(Event(*row) for row in zip(*columns, strict=True))


def _fill_world(group: Any, of: WorldTrajectory, put: Any) -> None:
    model, n = of.model, len(of)
    shapes, number = _distinct(model.shapes)
    own = {
        "bodies": list(model.names), "joints": list(model.joints),
        "shapes": [{"kind": one.kind, "numbers": list(one.numbers)} for one in shapes],
        "off_clock": of.clock.index < 0, "index": max(of.clock.index, 0),
        "sensors": [{"name": name, "shape": list(x.shape[1:])} for name, x in of.sensors.items()],
        "memory": [{"name": name, "shape": list(x.shape)} for name, x in of.memory.items()],
        "notes": list(of.notes),
    }  # fmt: skip
    parts.put_about(group, of, own, indent=None)
    world = group.create_group("world")
    put_array(world, "kind", model.kind, np.int64)
    put_array(world, "gravity", model.gravity, np.float64)
    for name, width in (BODY_WIDTHS | SHAPE_WIDTHS).items():
        put(world, name, getattr(model, name).reshape(-1, math.prod(width)), np.float64)
    put_array(world, "shape", number, np.int64)
    put_array(world, "shape_body", model.shape_body, np.int64)
    put_array(world, "joint_kind", model.joint_kind, np.int64)
    put_array(world, "joint_body", model.joint_body.reshape(-1, 2), np.int64)
    put_array(world, "joint_point", model.joint_point.reshape(-1, 6), np.float64)
    points = group.create_group("points")
    for k, shape in enumerate(shapes):
        put_array(points, f"{k}", shape.points, np.float64)
    columns = group.create_group("columns")
    for name in (*WORLD_REALS, "q", "v"):
        put(columns, name, getattr(of, name), np.float64)
    put(columns, "ok", of.ok, np.int8)
    put(columns, "verdict", of.verdicts, np.int8)
    put(columns, "iterations", of.iterations, np.int64)
    contacts = group.create_group("contacts")
    put(contacts, "offset", of.contacts.offset, np.int64)
    for name, width in CONTACT_WIDTHS.items():
        value = getattr(of.contacts, name).reshape(-1, math.prod(width))
        put(contacts, name, value, np.int64 if name in WHOLE_CONTACTS else np.float64)
    joints = group.create_group("joints")
    put(joints, "offset", of.joint_offset, np.int64)
    put(joints, "r", of.joint_r, np.float64)
    for kind, named, rows in (("sensors", of.sensors, n), ("memory", of.memory, 1)):
        place = group.create_group(kind)
        for k, value in enumerate(named.values()):
            put(place, f"{k}", value.reshape(rows, -1 if value.size else 0), np.float64)


def _distinct(shapes: tuple[ShapeRecord, ...]) -> tuple[list[ShapeRecord], list[int]]:
    """The different shapes, and for every shape the number of its like."""
    found: dict[Any, int] = {}
    kinds: list[ShapeRecord] = []
    keys = {id(one): (one.kind, one.numbers, one.points.shape, one.points.tobytes()) for one in shapes}
    for one in shapes:
        if keys[id(one)] not in found:
            found[keys[id(one)]] = len(kinds)
            kinds.append(one)
    return kinds, [found[keys[id(one)]] for one in shapes]


def read_world(source: Source, group: Any) -> WorldTrajectory:
    """The trajectory in the group of a file; a `FormatError` says what is wrong with it."""
    about = About(source, group)
    model, run = _read_world_model(source, group, about), about.run()
    columns = source.group(group, "columns")
    found = parts.read_columns(
        source, columns, WORLD_REALS, ("iterations",), {"q": 7 * len(model), "v": 6 * len(model)}
    )
    n = found["t"].size
    found["verdicts"] = parts.read_verdicts(source, columns, n, run["relaxation"])
    contacts = _read_contacts(source, source.group(group, "contacts"), n, len(model))
    place = source.group(group, "joints")
    found["raw_joint_r"] = source.reals(place, "r")
    found["joint_offset"] = _read_offset(source, place, n, found["raw_joint_r"].size)
    sensors = parts.read_named(source, group, "sensors", n, about.shapes("sensors"))
    memory = parts.read_named(source, group, "memory", 1, about.shapes("memory"))
    memory = {name: value.reshape(value.shape[1:]) for name, value in memory.items()}
    parts.read_only(*found.values(), *sensors.values(), *memory.values())
    (origin, h), index = about.clock(), int(about.get("index", "number"))
    if not 0 <= index <= MOST_INDEX:
        source.fail(about.place, "a number of steps as index", f"{index}")
    return WorldTrajectory(
        model=model, **found, **run, raw_contacts=contacts, sensors=sensors, memory=memory,
        clock=Clock(origin, h, -1 if about.get("off_clock", "flag") else index),
        notes=about.get("notes", "texts") if "notes" in about.top else (),
    )  # fmt: skip


def _read_world_model(source: Source, group: Any, about: About) -> WorldModel:
    names, joints = about.get("bodies", "texts"), about.get("joints", "texts")
    for what, given in (("bodies", names), ("joints", joints)):
        about.names(what, given)
    world, nb = source.group(group, "world"), len(names)
    points = source.group(group, "points")
    kinds = [
        ShapeRecord(
            about.get("kind", "text", one),
            tuple(map(float, about.get("numbers", "numbers", one))),
            source.reals(points, f"{k}", 2),
        )
        for k, one in enumerate(about.get("shapes", "objects"))
    ]
    number = parts.in_range(source, world, "shape", source.integers(world, "shape"), 0, len(kinds) - 1)
    ns, nj = number.size, len(joints)
    arrays: dict[str, Any] = {}
    for name, shape, low, high in (
        ("kind", (nb,), 0, len(BodyKind)), ("shape_body", (ns,), 0, nb),
        ("joint_kind", (nj,), 0, len(JointKind)), ("joint_body", (nj, 2), -1, nb),
    ):  # fmt: skip
        found = parts.in_range(source, world, name, source.integers(world, name, len(shape)), low, high - 1)
        arrays[name] = source.shaped(world, name, found, shape)
    for widths, rows in ((BODY_WIDTHS, nb), (SHAPE_WIDTHS, ns), ({"joint_point": (2, 3)}, nj)):
        for name, width in widths.items():
            value = source.shaped(world, name, source.reals(world, name, 2), (rows, math.prod(width)))
            arrays[name] = value.reshape(rows, *width)
    arrays["gravity"] = source.shaped(world, "gravity", source.reals(world, "gravity"), (3,))
    parts.read_only(*arrays.values(), *(kind.points for kind in kinds))
    shapes = tuple(kinds[k] for k in number.tolist())
    return WorldModel(names=names, joints=joints, shapes=shapes, **arrays)


def _read_contacts(source: Source, place: Any, n: int, nb: int) -> WorldContacts:
    found: dict[str, Any] = {}
    for name, width in CONTACT_WIDTHS.items():
        if name == "choice" and not source.has(place, name):
            found[name] = np.zeros(len(found["id"]), np.int64)  # a file from before it was told
            continue
        whole = name in WHOLE_CONTACTS
        value = source.integers(place, name, 2) if whole else source.reals(place, name, 2)
        found[name] = source.shaped(place, name, value, (len(found.get("id", value)), math.prod(width)))
        found[name] = found[name].reshape(-1, *width)
    parts.in_range(source, place, "body", found["body"], 0, nb - 1)
    parts.in_range(source, place, "choice", found["choice"], 0, len(CHOICES) - 1)
    offset = _read_offset(source, place, n, len(found["id"]))
    parts.read_only(offset, *found.values())
    return WorldContacts(offset=offset, **found)


def _read_offset(source: Source, place: Any, n: int, count: int) -> Any:
    """Where the parts of n records begin, in a table of `count` rows."""
    offset = source.shaped(place, "offset", source.integers(place, "offset"), (n + 1,))
    if offset[0] != 0 or offset[-1] != count or (np.diff(offset) < 0).any():
        source.fail(f"{place.name}/offset", f"numbers that grow from 0 to {count}", "others")
    return offset
