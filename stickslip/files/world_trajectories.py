"""Trajectories of worlds in HDF5: group `stickslip_world_trajectory`, which says by itself what it holds.

    version (1), about (JSON: names of bodies and joints, kinds and lengths of shapes, scheme and options,
    solver, clock, counts, names and shapes of memories and sensors, notes of the run)
    world/kind, mass, inertia, origin, ...        one row per body, shape or joint; points/k of shape kind k
    columns/t, h, q, v, ok, natural, ...          one row per recorded instant, row 0 the start; `verdict` is
                                                  0 certified, 1 relaxed, 2 missed, and `ok` 1 where it is 0
    contacts/offset, id, body, point, ...         those of record k are rows offset[k] to offset[k + 1]
    joints/offset, r                              impulses of joints, likewise
    sensors/k, memory/k                           in the order of their names in `about`; memory of the end

Numbers are stored as they are (large tables compressed), so a trajectory comes back bit for bit, and a run
goes on from its end.
"""

import json
import math
from typing import Any

import numpy as np

from stickslip.files.hdf5 import EXPANSION, SMALLEST_BUDGET, Source
from stickslip.files.hdf5_write import hdf5_content, put_array, put_packed, put_text
from stickslip.files.json_text import JsonReader, read_json
from stickslip.mechanics.joints import JointKind
from stickslip.mechanics.world import BodyKind
from stickslip.problem.solution import Verdict
from stickslip.schemes import registry
from stickslip.schemes.body_forces import CHOICES
from stickslip.simulation.clock import FORCES, Clock
from stickslip.simulation.world_contacts import WorldContacts
from stickslip.simulation.world_model import ShapeRecord, WorldModel
from stickslip.simulation.world_recorder import CONTACT_WIDTHS, WHOLE
from stickslip.simulation.world_trajectory import WorldTrajectory

WORLD_ROOT = "stickslip_world_trajectory"
VERSION = 1
REALS = (
    "t", "h", "natural", "natural_scaled", "penetration", "opening", "correction", "kinetic", "potential",
    "dissipated", "work", "lifted", "balance",
)  # fmt: skip
"""Columns of one number per record."""
BODY_WIDTHS = {"mass": (), "inertia": (3, 3), "origin": (3,)}
SHAPE_WIDTHS = {"shape_position": (3,), "shape_quaternion": (4,)}
MOST_INDEX = 2**53
"""More steps than this have no time of their own."""
LATEST = 1e300
"""Times beyond this have no differences [s]."""


def world_content(trajectory: WorldTrajectory) -> bytes:
    """The bytes of the file of a trajectory; the same one gives the same bytes."""
    content = hdf5_content(lambda root: _fill(root.create_group(WORLD_ROOT), trajectory, put_packed))
    stored = sum(x.nbytes for x in (trajectory.q, trajectory.v, *vars(trajectory.contacts).values()))
    # Readers refuse files that grow more than so many times; a world at rest packs better than that.
    if 2 * stored > max(SMALLEST_BUDGET, EXPANSION * len(content)):
        return hdf5_content(lambda root: _fill(root.create_group(WORLD_ROOT), trajectory, put_array))
    return content


def _fill(group: Any, of: WorldTrajectory, put: Any) -> None:
    model, n = of.model, len(of)
    shapes, number = _distinct(model.shapes)
    put_array(group, "version", [VERSION], np.int32)
    put_text(group, "about", _about(of, shapes))
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
    for name in REALS:
        put(columns, name, getattr(of, name), np.float64)
    for name in ("q", "v"):
        put(columns, name, getattr(of, name), np.float64)
    put(columns, "ok", of.ok, np.int8)
    put(columns, "verdict", of.verdicts, np.int8)
    put(columns, "iterations", of.iterations, np.int64)
    contacts = group.create_group("contacts")
    put(contacts, "offset", of.contacts.offset, np.int64)
    for name, width in CONTACT_WIDTHS.items():
        value = getattr(of.contacts, name).reshape(-1, math.prod(width))
        put(contacts, name, value, np.int64 if name in WHOLE else np.float64)
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


def _about(of: WorldTrajectory, shapes: list[ShapeRecord]) -> str:
    said = {
        "bodies": list(of.model.names), "joints": list(of.model.joints),
        "shapes": [{"kind": one.kind, "numbers": list(one.numbers)} for one in shapes],
        "scheme": of.scheme, "scheme_options": of.scheme_options,
        "solver": of.solver, "tolerance": of.tolerance,
        "origin": of.clock.origin, "h": of.clock.h, "off_clock": of.clock.index < 0,
        "index": max(of.clock.index, 0), "steps": of.steps, "missed": of.missed,
        "verdict": of.verdict.value, "relaxation": of.relaxation,
        "forces": of.forces,
        "sensors": [{"name": name, "shape": list(x.shape[1:])} for name, x in of.sensors.items()],
        "memory": [{"name": name, "shape": list(x.shape)} for name, x in of.memory.items()],
        "notes": list(of.notes),
    }  # fmt: skip
    # What is no JSON (a scheme of the user's own may have any option) is kept as text.
    return json.dumps(said, indent=None, default=repr)


def read_world(source: Source, group: Any) -> WorldTrajectory:
    """The trajectory in the group of a file; a `FormatError` says what is wrong with it."""
    version = source.integer(group, "version")
    if version != VERSION:
        source.fail(f"{group.name}/version", f"{VERSION}, the version that this program knows", f"{version}")
    reader, top = read_json(source, group, "about")
    model = _read_model(source, group, reader, top)
    columns = source.group(group, "columns")
    t = read_times(source, columns)
    n = t.size
    found: dict[str, Any] = {"t": t}
    for name in REALS[1:]:
        found[name] = source.shaped(columns, name, source.reals(columns, name), (n,))
    for name, width in (("q", 7), ("v", 6)):
        found[name] = source.shaped(columns, name, source.reals(columns, name, 2), (n, width * len(model)))
    found["iterations"] = source.shaped(columns, "iterations", source.integers(columns, "iterations"), (n,))
    scheme = reader.text(top, "scheme"), reader.table("scheme_options", top.get("scheme_options"))
    relaxation = read_relaxation(reader, top, *scheme)
    found["verdicts"] = read_verdicts(source, columns, n, relaxation)
    contacts = _read_contacts(source, source.group(group, "contacts"), n, len(model))
    place = source.group(group, "joints")
    found["raw_joint_r"] = source.reals(place, "r")
    found["joint_offset"] = _read_offset(source, place, n, found["raw_joint_r"].size)
    sensors = _read_named(source, group, reader, top, "sensors", n)
    memory = _read_named(source, group, reader, top, "memory", 1)
    for array in (*found.values(), *sensors.values(), *memory.values()):
        array.flags.writeable = False
    h, index = reader.number(top, "h"), int(reader.number(top, "index"))
    if h <= 0.0 or not 0 <= index <= MOST_INDEX:
        source.fail(f"{group.name}/about", "a positive h and a number of steps", f"{h} and {index}")
    return WorldTrajectory(
        model=model, **found, raw_contacts=contacts, sensors=sensors, memory=memory,
        scheme=scheme[0], scheme_options=scheme[1], relaxation=relaxation,
        forces=read_forces(reader, top),
        solver=reader.text(top, "solver"), tolerance=reader.number(top, "tolerance"),
        clock=Clock(reader.number(top, "origin"), h, -1 if reader.flag(top, "off_clock") else index),
        steps=reader.count(top, "steps"), missed=reader.count(top, "missed"),
        notes=reader.texts(top, "notes") if "notes" in top else (),
    )  # fmt: skip


def read_relaxation(reader: JsonReader, top: dict[str, Any], scheme: str, options: dict[str, Any]) -> str:
    """What stood in the place of the exact law, as the file or else the options of its scheme tell."""
    return reader.text(top, "relaxation") if "relaxation" in top else registry.relaxation(scheme, options)


def read_forces(reader: JsonReader, top: dict[str, Any]) -> str:
    """Which of many impulses are told; a file from before they were chosen has the solver's."""
    return reader.one_of(top, "forces", list(FORCES)) if "forces" in top else "solver"


def read_verdicts(source: Source, columns: Any, n: int, relaxation: str) -> Any:
    """Codes of the verdicts of the records; a file without them has flags `ok`: whether a step was missed."""
    if source.has(columns, "verdict"):
        codes = source.shaped(columns, "verdict", source.integers(columns, "verdict"), (n,))
        if not np.isin(codes, range(len(Verdict))).all():
            source.fail(f"{columns.name}/verdict", f"numbers from 0 to {len(Verdict) - 1}", "others")
        return codes.astype(np.int8)
    ok = source.shaped(columns, "ok", source.integers(columns, "ok"), (n,))
    if not ((ok == 0) | (ok == 1)).all():
        source.fail(f"{columns.name}/ok", "ones and zeros", "other numbers")
    least = Verdict.RELAXED.code if relaxation else Verdict.CERTIFIED.code
    return np.where(ok == 1, least, Verdict.MISSED.code).astype(np.int8)


def read_times(source: Source, columns: Any) -> Any:
    """The times of the records."""
    t = source.reals(columns, "t")
    if not t.size or not (np.abs(t) <= LATEST).all():
        found = "others" if t.size else "none"
        source.fail(f"{columns.name}/t", "at least one time, all finite", found)
    if (np.diff(t) < 0.0).any():
        k = int(np.argmax(np.diff(t) < 0.0))
        source.fail(f"{columns.name}/t", "times that do not go back", f"{t[k + 1]:g} s after {t[k]:g} s")
    return t


def _read_model(source: Source, group: Any, reader: JsonReader, top: dict[str, Any]) -> WorldModel:
    names, joints = reader.texts(top, "bodies"), reader.texts(top, "joints")
    for what, given in (("bodies", names), ("joints", joints)):
        if len(set(given)) < len(given):
            source.fail(f"{group.name}/about", f"{what} with names of their own", "two of the same name")
    world, nb = source.group(group, "world"), len(names)
    points = source.group(group, "points")
    kinds = [
        ShapeRecord(reader.text(one, "kind"), reader.numbers(one, "numbers"), source.reals(points, f"{k}", 2))
        for k, one in enumerate(reader.tables(top, "shapes"))
    ]
    number = _numbered(source, world, "shape", source.integers(world, "shape"), 0, len(kinds) - 1)
    ns, nj = number.size, len(joints)
    arrays: dict[str, Any] = {
        "kind": _numbered(source, world, "kind", source.integers(world, "kind"), 0, len(BodyKind) - 1),
        "shape_body": _numbered(source, world, "shape_body", source.integers(world, "shape_body"), 0, nb - 1),
        "joint_kind": _numbered(
            source, world, "joint_kind", source.integers(world, "joint_kind"), 0, len(JointKind) - 1
        ),
        "joint_body": _numbered(
            source, world, "joint_body", source.integers(world, "joint_body", 2), -1, nb - 1
        ),
    }
    for name, shape in (
        ("kind", (nb,)), ("shape_body", (ns,)), ("joint_kind", (nj,)), ("joint_body", (nj, 2))
    ):  # fmt: skip
        source.shaped(world, name, arrays[name], shape)
    for widths, rows in ((BODY_WIDTHS, nb), (SHAPE_WIDTHS, ns), ({"joint_point": (2, 3)}, nj)):
        for name, width in widths.items():
            value = source.shaped(world, name, source.reals(world, name, 2), (rows, math.prod(width)))
            arrays[name] = value.reshape(rows, *width)
    arrays["gravity"] = source.shaped(world, "gravity", source.reals(world, "gravity"), (3,))
    for array in (*arrays.values(), *(kind.points for kind in kinds)):
        array.flags.writeable = False
    shapes = tuple(kinds[k] for k in number.tolist())
    return WorldModel(names=names, joints=joints, shapes=shapes, **arrays)


def _read_contacts(source: Source, place: Any, n: int, nb: int) -> WorldContacts:
    found: dict[str, Any] = {}
    for name, width in CONTACT_WIDTHS.items():
        if name == "choice" and not source.has(place, name):
            found[name] = np.zeros(len(found["id"]), np.int64)  # a file from before it was told
            continue
        whole = name in WHOLE
        value = source.integers(place, name, 2) if whole else source.reals(place, name, 2)
        found[name] = source.shaped(place, name, value, (len(found.get("id", value)), math.prod(width)))
        found[name] = found[name].reshape(-1, *width)
    _numbered(source, place, "body", found["body"], 0, nb - 1)
    _numbered(source, place, "choice", found["choice"], 0, len(CHOICES) - 1)
    offset = _read_offset(source, place, n, len(found["id"]))
    for array in (offset, *found.values()):
        array.flags.writeable = False
    return WorldContacts(offset=offset, **found)


def _read_offset(source: Source, place: Any, n: int, count: int) -> Any:
    """Where the parts of n records begin, in a table of `count` rows."""
    offset = source.shaped(place, "offset", source.integers(place, "offset"), (n + 1,))
    if offset[0] != 0 or offset[-1] != count or (np.diff(offset) < 0).any():
        source.fail(f"{place.name}/offset", f"numbers that grow from 0 to {count}", "others")
    return offset


def _read_named(
    source: Source, group: Any, reader: JsonReader, top: dict[str, Any], kind: str, rows: int
) -> dict[str, Any]:
    """Arrays by name: of sensors one row per record, of the memory one in all."""
    place, found = source.group(group, kind), {}
    for k, one in enumerate(reader.tables(top, kind)):
        shape = reader.counts(one, "shape")
        value = source.shaped(place, f"{k}", source.reals(place, f"{k}", 2), (rows, math.prod(shape)))
        found[reader.text(one, "name")] = value.reshape(shape if kind == "memory" else (rows, *shape))
    return found


def _numbered(source: Source, place: Any, name: str, value: Any, low: int, high: int) -> Any:
    """Whole numbers, if all are from low to high."""
    if value.size and (value.min() < low or value.max() > high):
        source.fail(f"{place.name}/{name}", f"numbers from {low} to {high}", "others")
    return value
