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
from stickslip.files.trajectory_parts import About, Field
from stickslip.mechanics.joints import JointKind
from stickslip.mechanics.world import BodyKind
from stickslip.problem.contact import Level
from stickslip.renames import SCHEMES_OF_WORLDS
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
WORLD_ROOT = "stickslip_world_trajectory"
REALS = ("t", "h", "natural", "natural_scaled", "kinetic", "potential", "contact_work")
WORLD_REALS = (
    "t", "h", "natural", "natural_scaled", "penetration", "opening", "correction", "kinetic", "potential",
    "dissipated", "work", "lifted", "balance",
)  # fmt: skip
"""Columns of one real number per record, of systems and of worlds."""
CHOSEN = (0, len(CHOICES) - 1)
"""Codes of how an impulse was chosen."""
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
    columns, n = group.create_group("columns"), len(of)
    parts.put_fields(columns, _columns(of.model, n), of, put_array)
    for name, codes in {"ok": of.ok, "verdict": of.verdicts, "choice": of.choice}.items():
        put_array(columns, name, codes, np.int8)
    parts.put_named(group, "memory", n, of.memory, put_array)
    parts.put_named(group, "measures", n, of.measures, put_array)
    events = group.create_group("events")
    put_array(events, "t", [event.t for event in of.events], np.float64)
    put_array(events, "kind", [kinds.index(event.kind) for event in of.events], np.int64)
    put_array(events, "interaction", [owners.index(event.interaction) for event in of.events], np.int64)


def _columns(model: Model, n: int) -> list[Field]:
    """Columns of numbers of n records of systems."""
    nq, nv, nz, size, blocks = model.sizes
    widths = {"q": nq, "v": nv, "z": nz, "r": size, "u": size, "y": size, "forecast": blocks}
    several = [Field(name, n, (width,)) for name, width in widths.items()]
    whole = [Field(name, n, None, np.int64) for name in ("iterations", "newton", "index")]
    active = Field("active", n, (blocks,), bool, (0, 1))
    return [*(Field(name, n) for name in REALS), *several, *whole, active]


def _read(source: Source, group: Any) -> Trajectory:
    about = About(source, group)
    model, clock, run = _read_model(source, group, about), Clock(*about.clock()), about.run()
    columns = source.group(group, "columns")
    n, blocks = parts.read_times(source, columns).size, model.sizes[-1]
    found = parts.read_fields(source, columns, _columns(model, n))
    found["verdicts"] = parts.read_verdicts(source, columns, n, run["relaxation"])
    choice = Field("choice", n, (blocks,), np.int64, CHOSEN, optional=True)
    told = found.pop("r"), choice.read(source, columns)
    if (found["index"] < -1).any() or (np.abs(found["index"]) > MOST_INDEX).any():
        source.fail(f"{columns.name}/index", "numbers of steps, or -1", "others")
    energies = {name: found.pop(name) for name in ("kinetic", "potential", "contact_work")}
    memory = parts.read_named(source, group, "memory", n, about.shapes("memory"))
    numbers: list[tuple[str, tuple[int, ...]]] = [(name, ()) for name in about.get("measures", "texts")]
    return Trajectory(
        model=model, **found, **run, memory=memory, clock=clock, events=_read_events(source, group, about),
        measures=parts.read_named(source, group, "measures", n, numbers),
        derive=lambda name, _: energies[name], solver_r=told[0], choose=lambda _: told,
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
        numbers = Field(name, t.size, None, np.int64, (0, len(known) - 1)).read(source, place)
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
    put_array(world, "shape", number, np.int64)
    parts.put_fields(world, _world(len(model), len(number), len(model.joints)), model, put)
    points = group.create_group("points")
    for k, shape in enumerate(shapes):
        put_array(points, f"{k}", shape.points, np.float64)
    columns = group.create_group("columns")
    parts.put_fields(columns, _world_columns(len(model), n), of, put)
    put(columns, "ok", of.ok, np.int8)
    put(columns, "verdict", of.verdicts, np.int8)
    contacts = group.create_group("contacts")
    put(contacts, "offset", of.contacts.offset, np.int64)
    parts.put_fields(contacts, _contacts(len(of.contacts), len(model)), of.contacts, put)
    joints = group.create_group("joints")
    put(joints, "offset", of.joint_offset, np.int64)
    put(joints, "r", of.joint_r, np.float64)
    parts.put_named(group, "sensors", n, of.sensors, put)
    parts.put_named(group, "memory", 1, of.memory, put)


def _world(nb: int, ns: int, nj: int) -> list[Field]:
    """Arrays of a model of so many bodies, shapes and joints."""
    return [
        Field("kind", nb, None, np.int64, (0, len(BodyKind) - 1)), Field("gravity", 3), Field("mass", nb, ()),
        Field("inertia", nb, (3, 3)), Field("origin", nb, (3,)), Field("shape_position", ns, (3,)),
        Field("shape_quaternion", ns, (4,)), Field("shape_body", ns, None, np.int64, (0, nb - 1)),
        Field("joint_kind", nj, None, np.int64, (0, len(JointKind) - 1)),
        Field("joint_body", nj, (2,), np.int64, (-1, nb - 1)), Field("joint_point", nj, (2, 3)),
    ]  # fmt: skip


def _world_columns(nb: int, n: int) -> list[Field]:
    """Columns of numbers of n records of so many bodies."""
    several = [Field("q", n, (7 * nb,)), Field("v", n, (6 * nb,))]
    return [*(Field(name, n) for name in WORLD_REALS), *several, Field("iterations", n, None, np.int64)]


def _contacts(nc: int | None, nb: int) -> list[Field]:
    """Columns of contacts; None for as many as there are."""
    bounds = {"body": (0, nb - 1), "choice": CHOSEN}
    return [
        Field(x, nc, width, np.int64 if x in WHOLE_CONTACTS else np.float64, bounds.get(x), x == "choice")
        for x, width in CONTACT_WIDTHS.items()
    ]


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
    model, run = _read_world_model(source, group, about), about.run(SCHEMES_OF_WORLDS)
    columns = source.group(group, "columns")
    n = parts.read_times(source, columns).size
    found = parts.read_fields(source, columns, _world_columns(len(model), n))
    found["verdicts"] = parts.read_verdicts(source, columns, n, run["relaxation"])
    place = source.group(group, "contacts")
    count = len(_contacts(None, len(model))[0].read(source, place))
    table = parts.read_fields(source, place, _contacts(count, len(model)))
    contacts = WorldContacts(offset=_read_offset(source, place, n, count), **table)
    place = source.group(group, "joints")
    found["raw_joint_r"] = Field("r").read(source, place)
    found["joint_offset"] = _read_offset(source, place, n, found["raw_joint_r"].size)
    sensors = parts.read_named(source, group, "sensors", n, about.shapes("sensors"))
    memory = parts.read_named(source, group, "memory", 1, about.shapes("memory"))
    memory = {name: value.reshape(value.shape[1:]) for name, value in memory.items()}
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
    number = Field("shape", None, None, np.int64, (0, len(kinds) - 1)).read(source, world)
    arrays = parts.read_fields(source, world, _world(nb, number.size, len(joints)))
    for one in kinds:
        one.points.flags.writeable = False
    return WorldModel(names=names, joints=joints, shapes=tuple(kinds[k] for k in number.tolist()), **arrays)


def _read_offset(source: Source, place: Any, n: int, count: int) -> Any:
    """Where the parts of n records begin, in a table of `count` rows."""
    offset = Field("offset", n + 1, None, np.int64).read(source, place)
    if offset[0] != 0 or offset[-1] != count or (np.diff(offset) < 0).any():
        source.fail(f"{place.name}/offset", f"numbers that grow from 0 to {count}", "others")
    return offset
