"""Trajectories in HDF5: group `stickslip_trajectory`, which says by itself what it holds; those of worlds
have a group of their own (`world_trajectories`).

    version (1), about (JSON: systems, interactions with laws, scheme and options, solver, clock, counts,
    names of memories, measures and events), laws/k (the product set of interaction k, `own_set`)
    columns/t, h, q, v, z, r, u, y, active, ...   one row per recorded instant, row 0 the start; `verdict` is
                                                  0 certified, 1 relaxed, 2 missed, and `ok` 1 where it is 0
    memory/k, measures/k                          in the order of their names in `about`
    events/t, kind, interaction                   kind and interaction as numbers into the lists of `about`

Numbers are stored as they are, so a trajectory comes back bit for bit and a run goes on from any record.
"""

import math
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.files.errors import FormatError
from stickslip.files.hdf5 import Source
from stickslip.files.hdf5_write import hdf5_content, put_array, put_text
from stickslip.files.own_set import read_set, write_set
from stickslip.files.problems import SIGNATURE, file_content, replace_file
from stickslip.files.trajectory_about import About, about_text, read_about
from stickslip.files.world_trajectories import (
    WORLD_ROOT,
    read_times,
    read_verdicts,
    read_world,
    world_content,
)
from stickslip.schemes.body_forces import CHOICES
from stickslip.schemes.step import Event
from stickslip.simulation.clock import Clock
from stickslip.simulation.model import InteractionPart, Model
from stickslip.simulation.trajectory import Trajectory
from stickslip.simulation.world_trajectory import WorldTrajectory

ROOT = "stickslip_trajectory"
VERSION = 1
ENDINGS = (".hdf5", ".h5")
"""Endings of the names of trajectory files."""
REALS = ("t", "h", "natural", "natural_scaled", "kinetic", "potential", "contact_work")
WHOLE = ("iterations", "newton", "index")
"""Columns of one number per record."""
FLAGS = ("active",)
"""Columns of yes and no, stored as 1 and 0."""


def write_trajectory(path: str | PathLike[str], trajectory: Trajectory | WorldTrajectory) -> None:
    """Write a trajectory; the file appears whole or not at all, and the same one gives the same bytes."""
    path = Path(path)
    if path.suffix.lower() not in ENDINGS:
        wanted = "one that ends in " + ", ".join(ENDINGS)
        raise FormatError.at(path, "the name of the file", wanted, repr(path.name))
    replace_file(path, trajectory_content(trajectory))


def trajectory_content(trajectory: Trajectory | WorldTrajectory) -> bytes:
    """The bytes of the file of a trajectory."""
    if isinstance(trajectory, WorldTrajectory):
        return world_content(trajectory)
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
    path = Path(path)
    try:
        content = file_content(path)
        if not content.startswith(SIGNATURE):
            return False
        with Source(path, content) as source:
            return any(source.has(source.root, root) for root in (ROOT, WORLD_ROOT))
    except (FormatError, OSError):
        return False


def _fill(group: Any, of: Trajectory) -> None:
    put_array(group, "version", [VERSION], np.int32)
    kinds = sorted({event.kind for event in of.events})
    owners = sorted({event.interaction for event in of.events})
    put_text(group, "about", about_text(of, kinds, owners))
    laws = group.create_group("laws")
    for k, part in enumerate(of.model.interactions):
        write_set(laws.create_group(f"{k}"), part.K)
    columns = group.create_group("columns")
    for name in (*REALS, *_widths(of.model), *WHOLE):
        value = getattr(of, name)
        stored: Any = np.int8 if name in FLAGS else np.int64 if name in WHOLE else np.float64
        put_array(columns, name, value, stored)
    put_array(columns, "ok", of.ok, np.int8)
    put_array(columns, "verdict", of.verdicts, np.int8)
    put_array(columns, "choice", of.choice, np.int8)
    for kind, named in (("memory", of.memory), ("measures", of.measures)):
        place = group.create_group(kind)
        for k, value in enumerate(named.values()):
            put_array(place, f"{k}", value.reshape(len(of), -1), np.float64)
    events = group.create_group("events")
    put_array(events, "t", [event.t for event in of.events], np.float64)
    put_array(events, "kind", [kinds.index(event.kind) for event in of.events], np.int64)
    put_array(events, "interaction", [owners.index(event.interaction) for event in of.events], np.int64)


def _widths(model: Model) -> dict[str, int]:
    """Columns of several numbers per record, and how many."""
    nq, nv, nz, size, blocks = model.sizes
    return {"q": nq, "v": nv, "z": nz, "r": size, "u": size, "y": size, "active": blocks, "forecast": blocks}


def _read(source: Source, group: Any) -> Trajectory:
    version = source.integer(group, "version")
    if version != VERSION:
        source.fail(f"{group.name}/version", f"{VERSION}, the version that this program knows", f"{version}")
    about = read_about(source, group)
    model = _read_model(source, group, about)
    columns = source.group(group, "columns")
    t = read_times(source, columns)
    n = t.size
    found: dict[str, Any] = {"t": t}
    for name in REALS[1:]:
        found[name] = source.shaped(columns, name, source.reals(columns, name), (n,))
    for name in WHOLE:
        found[name] = source.shaped(columns, name, source.integers(columns, name), (n,))
    for name, width in _widths(model).items():
        numbers = source.integers(columns, name, 2) if name in FLAGS else source.reals(columns, name, 2)
        found[name] = source.shaped(columns, name, numbers, (n, width))
    for name in FLAGS:
        if not ((found[name] == 0) | (found[name] == 1)).all():
            source.fail(f"{columns.name}/{name}", "ones and zeros", "other numbers")
        found[name] = found[name].astype(bool)
    found["verdicts"] = read_verdicts(source, columns, n, about.relaxation)
    told = found.pop("r"), read_choice(source, columns, (n, model.sizes[-1]))
    if (found["index"] < -1).any() or (np.abs(found["index"]) > 2**53).any():
        source.fail(f"{columns.name}/index", "numbers of steps, or -1", "others")
    energies = {name: found.pop(name) for name in ("kinetic", "potential", "contact_work")}
    place = source.group(group, "memory")
    memory = {
        name: source.shaped(place, f"{k}", source.reals(place, f"{k}", 2), (n, math.prod(shape))).reshape(
            n, *shape
        )
        for k, (name, shape) in enumerate(about.memory)
    }
    place = source.group(group, "measures")
    measures = {
        name: source.shaped(place, f"{k}", source.reals(place, f"{k}", 2), (n, 1))[:, 0]
        for k, name in enumerate(about.measures)
    }
    for array in (*found.values(), *memory.values(), *measures.values(), *energies.values()):
        array.flags.writeable = False
    return Trajectory(
        model=model, **found, memory=memory, measures=measures, events=_read_events(source, group, about),
        scheme=about.scheme, scheme_options=about.scheme_options, solver=about.solver,
        tolerance=about.tolerance, clock=Clock(about.origin, about.h), steps=about.steps,
        missed=about.missed, relaxation=about.relaxation, derive=lambda name, _: energies[name],
        forces=about.forces, solver_r=told[0], choose=lambda _: told,
    )  # fmt: skip


def read_choice(source: Source, columns: Any, shape: tuple[int, ...]) -> Any:
    """How impulses were chosen; a file from before it was told has the solver's."""
    if not source.has(columns, "choice"):
        return np.zeros(shape, np.int64)
    codes = source.shaped(columns, "choice", source.integers(columns, "choice", len(shape)), shape)
    if not np.isin(codes, range(len(CHOICES))).all():
        source.fail(f"{columns.name}/choice", f"numbers from 0 to {len(CHOICES) - 1}", "others")
    return codes


def _read_model(source: Source, group: Any, about: About) -> Model:
    laws = source.group(group, "laws")
    return Model(
        about.systems,
        tuple(
            InteractionPart(
                one.name, one.systems, one.law, read_set(source, source.group(laws, f"{k}"), one.components),
                one.first_order, one.level,
            )
            for k, one in enumerate(about.interactions)
        ),
    )  # fmt: skip


def _read_events(source: Source, group: Any, about: About) -> tuple[Event, ...]:
    place = source.group(group, "events")
    t = source.reals(place, "t")
    numbers = {}
    for name, known in (("kind", about.kinds), ("interaction", about.owners)):
        numbers[name] = source.shaped(place, name, source.integers(place, name), (t.size,))
        if ((numbers[name] < 0) | (numbers[name] >= len(known))).any():
            source.fail(f"{place.name}/{name}", f"numbers from 0 to {len(known) - 1}", "others")
    kinds, owners = (numbers[name].tolist() for name in ("kind", "interaction"))
    return tuple(
        Event(when, about.kinds[kind], about.owners[owner])
        for when, kind, owner in zip(t.tolist(), kinds, owners, strict=True)
    )
