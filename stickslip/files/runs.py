"""Runs of all models in HDF5: the group `stickslip_run`, which describes itself.

    version (2), about (JSON: names in the model, scheme and options, solver, clock, counts, names and shapes
    of memories, sensors and measures, notes, whether the run is complete)
    laws/k, or world/... and points/k     data of the model to read and draw the run (`run_models`)
    model                                 JSON of the model, as in model files, if it can be written
    columns/t, h, index, q, v, ...        one row per recorded instant, row 0 the start; `verdict` is 0
                                          certified, 1 relaxed, 2 missed
    sensors/k, inputs/k, measures/k, memory/k   in the order of their names in `about`, one row per instant;
                                          memory of a world has one row, for the end
    contacts/offset, id, body, ...        worlds: contacts of record k are rows offset[k] to offset[k + 1]
    memories/k/offset, value              worlds: the scheme's memory at every record, in the order of names
    in
                                          `about`; see `simulation/world_memory.py`
    joints/offset, r, id                  impulses of joints, likewise; id: 7 joint + part
    events/t, kind, interaction           kind and interaction as indices into the lists of `about`

Numbers are stored unchanged, so runs are preserved bit for bit. Small files are read and checked completely.
Columns of large files (`WHOLE`) are read on demand, so that runs larger than the memory can be opened. A run
that is being written, or whose writer was killed, is a journal (`journal`), which the functions of this
module read, too. Files of version 1 are read by `old_runs`.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from stickslip.files import run_parts as parts
from stickslip.files.errors import FormatError
from stickslip.files.hdf5 import Source
from stickslip.files.hdf5_write import hdf5_content, put_array, put_place, put_text
from stickslip.files.old_runs import ROOTS as OLD_ROOTS
from stickslip.files.old_runs import read_old
from stickslip.files.problems import JOURNAL, SIGNATURE, draft_of, file_content, replace_file
from stickslip.files.run_models import (
    CHOSEN,
    MOST_INDEX,
    StoredModel,
    column_fields,
    contact_fields,
    joint_fields,
    put_model,
    read_model,
)
from stickslip.files.run_parts import About, Field
from stickslip.files.run_store import FileStore, check_shapes
from stickslip.problem.solution import Verdict
from stickslip.simulation.model import Model
from stickslip.simulation.rows import Rows, Table
from stickslip.simulation.store import MemoryStore
from stickslip.simulation.trajectory import Trajectory
from stickslip.simulation.world_forces import WorldForces
from stickslip.simulation.world_memory import PREFIX, VALUE, stored_tables
from stickslip.simulation.world_model import WorldModel
from stickslip.simulation.written_forces import WrittenForces
from stickslip.state import IntArray

ROOT, VERSION = "stickslip_run", 2
ENDINGS = (".hdf5", ".h5")
"""Suffixes of files of runs."""
WHOLE = 2**26
"""Size above which files are not read completely [bytes]."""
BLOCK = 2**24
"""Approximate size of blocks of records that are written at once [bytes]."""
FILE_NAMES = {"verdicts": "verdict"}
"""Columns with another name in files."""
NAMED = ("sensors", "inputs", "measures", "memory")
"""Groups of columns whose names come from the user or the scheme."""


def write_trajectory(path: str | PathLike[str], run: Trajectory) -> None:
    """Write a run atomically; the same run gives the same bytes."""
    place = checked_path(path)
    if run_size(run) <= BLOCK:
        replace_file(place, trajectory_content(run))
        return
    with draft_of(place) as draft, h5py.File(draft, "w") as root:
        _fill(root.create_group(ROOT), run)


def trajectory_content(run: Trajectory) -> bytes:
    """Return the bytes of the file of a run, made in memory."""
    return hdf5_content(lambda root: _fill(root.create_group(ROOT), run))


def read_trajectory(path: str | PathLike[str]) -> Trajectory:
    """Return the run in a file that `save` or `simulate(..., out=...)` wrote.

    Columns of a large run are read on first use. Raises a FormatError that describes what is wrong with the
    file.

    Example:

        b = ss.WorldBuilder()
        b.body("ball", ss.Sphere(0.1), position=(0, 0, 1))
        ss.simulate(b.build(), until=0.1, h=1e-2, out="run.h5")
        print(ss.read_trajectory("run.h5").t[-1])
    """
    place = Path(path)
    start = file_start(place)
    if start.startswith(JOURNAL):
        from stickslip.files.journal_read import read_journal

        return read_journal(place)
    if start.startswith(SIGNATURE) and place.stat().st_size > WHOLE:
        source = Source(place, None)
        if source.has(source.root, ROOT):
            return _read(source)
        source.root.close()
    return trajectory_in(place, file_content(place))


def trajectory_in(path: Path, content: bytes) -> Trajectory:
    """Read and check the whole run in `content`, the bytes of the HDF5 file `path`."""
    if not content.startswith(SIGNATURE):
        raise FormatError.at(path, "the file", "an HDF5 file", "something else")
    with Source(path, content) as source:
        for root in OLD_ROOTS:
            if source.has(source.root, root):
                return read_old(source, root)
        if not source.has(source.root, ROOT):
            fault = "a file without it; if it holds a problem, read it with read"
            source.fail("/", f"the group {ROOT} of a run", fault)
        return _loaded(_read(source))


def is_trajectory(path: str | PathLike[str]) -> bool:
    """Whether a file is that of a run; its content is not checked."""
    place = Path(path)
    return has_root(place, ROOT, *OLD_ROOTS) or (place.is_file() and file_start(place).startswith(JOURNAL))


def has_root(path: Path, *roots: str) -> bool:
    """Whether a file is HDF5 with one of these groups in its root."""
    try:
        if not file_start(path).startswith(SIGNATURE):
            return False
        large = path.stat().st_size > WHOLE
        with Source(path, None if large else file_content(path)) as source:
            return any(source.has(source.root, root) for root in roots)
    except (FormatError, OSError):
        return False


def file_start(path: Path) -> bytes:
    """Read the first bytes of a regular file; for others `file_content` raises the error."""
    if not path.is_file():
        return file_content(path)
    try:
        with path.open("rb") as file:
            return file.read(8)
    except OSError as error:
        raise FormatError.at(path, "the file", "a readable file", f"this: {error}") from None


def checked_path(path: str | PathLike[str]) -> Path:
    """Return the path of a run; raise a FormatError for other suffixes."""
    place = Path(path)
    if place.suffix.lower() not in ENDINGS:
        expectation = "one that ends in " + ", ".join(ENDINGS)
        raise FormatError.at(place, "the name of the file", expectation, repr(place.name))
    return place


def run_size(run: Trajectory) -> int:
    """Approximate size of the columns and tables of a run [bytes]."""
    total = len(run) * sum(run.store.size(name) for name in run.store.names)
    for table, names in run.store.tables.items():
        count = int(run.store.offset(table)[-1])
        total += sum(run.store.entries(table, name, 0, 1).nbytes for name in names) * count
    return total


def file_rows(run: Trajectory, chosen: bool) -> Rows:
    """Rows of a run as in files, with energies; chosen: with impulses chosen on demand, not recorded ones."""
    fields = column_fields(run.model, len(run))
    columns: dict[str, Any] = {one.name: getattr(run, one.name) for one in fields if one.name != "r"}
    columns |= {"index": run.index, "verdicts": run.verdicts}
    for kind in NAMED:
        columns |= {x: run.column(x) for x in run.store.names if x.startswith(f"{kind}/")}
    if isinstance(run.model, Model):
        names = ("r", "choice")
        return Rows(columns | {name: run.column(name) if chosen else run.recorded(name) for name in names})
    contacts, joint_r = (run.contacts, run.joint_r) if chosen else (run.raw_contacts, run.raw_joint_r)
    table = {one.name: getattr(contacts, one.name) for one in contact_fields(None, len(run.model))}
    joints = {"r": joint_r, "id": run.joint_id}
    return Rows(columns, {
        "contacts": Table(np.diff(contacts.offset), table),
        "joints": Table(np.diff(run.joint_offset), joints),
        **stored_tables(run, chosen and run.forces == "least"),
    })  # fmt: skip


def static_facts(run: Trajectory) -> dict[str, Any]:
    """Part of `about` that is constant during a run."""
    return {
        "scheme": run.scheme, "scheme_options": run.scheme_options, "solver": run.solver,
        "tolerance": run.tolerance, "forces": run.forces, **run.clock.facts,
    }  # fmt: skip


def put_head(group: Any, facts: Mapping[str, Any], model: Model | WorldModel) -> None:
    """Write the version, the text `about` and the model."""
    put_array(group, "version", [VERSION], np.int32)
    facts_of_model = put_model(group, model)
    # Values that are not JSON (options of users' schemes may be any object) are written as text.
    put_text(group, "about", json.dumps({**facts, **facts_of_model}, default=repr))


def declare(group: Any, run: Trajectory, chosen: bool) -> dict[str, Any]:
    """Write a run to a group without the numbers of its records; return their allocated datasets by name.

    Names are those of the columns of `file_rows`, and `table/column` for its tables; see `fill`.
    """
    n, first = len(run), file_rows(run[:1], chosen)
    memories = [name for name in first.tables if name.startswith(PREFIX)]
    names = {kind: [x for x in first.columns if x.startswith(f"{kind}/")] for kind in NAMED}
    last = {} if names["memory"] else run.memory
    facts = static_facts(run) | parts.put_events(group, run.events, put_array) | {
        "steps": run.steps, "missed": run.missed, "verdict": run.verdict.value, "relaxation": run.relaxation,
        "notes": list(run.notes), "complete": run.complete, "memory_at_end": not names["memory"],
    }  # fmt: skip
    facts |= {kind: _shapes(first, names[kind]) for kind in NAMED}
    if run.choose is not None and not chosen:
        facts["pending"] = True
    facts["memory"] += [{"name": name, "shape": list(x.shape)} for name, x in last.items()]
    if run.until is not None and not run.complete:
        facts["until"] = run.until
    if memories:
        columns = Rows({name: first.tables[name].columns[VALUE] for name in memories})
        facts["memories"] = _shapes(columns, memories)
    put_head(group, facts, run.model)
    places = {name: group.create_group(name) for name in ("columns", *NAMED)}
    for name in first.tables:
        table_name = f"{PREFIX}{memories.index(name)}" if name in memories else name
        places[name] = group.create_group(table_name)
    datasets: dict[str, Any] = {}
    for name, column in first.columns.items():
        kind = name.split("/", 1)[0]
        if kind in NAMED:
            datasets[name] = put_place(places[kind], f"{names[kind].index(name)}", n, column)
        else:
            datasets[name] = put_place(places["columns"], FILE_NAMES.get(name, name), n, column)
    for table, part in first.tables.items():
        offset = np.cumsum(np.concatenate([[0], _counts(run, table, chosen)]))
        put_array(places[table], "offset", offset, np.int64)
        for name, column in part.columns.items():
            datasets[f"{table}/{name}"] = put_place(places[table], name, int(offset[-1]), column)
    for k, value in enumerate(last.values()):
        put_array(places["memory"], f"{k}", value.reshape(1, -1 if value.size else 0), np.float64)
    return datasets


def _fill(group: Any, run: Trajectory) -> None:
    """Write a run to a group, with the impulses chosen on demand."""
    fill(declare(group, run, chosen=True), run, chosen=True)


def fill(datasets: dict[str, Any], run: Trajectory, chosen: bool) -> None:
    """Write the numbers of the records of a run to the datasets of `declare`, by blocks of records."""
    counts = dict.fromkeys(datasets, 0)
    for part in blocks(run):
        rows = file_rows(part, chosen)
        arrays = {f"{x}/{name}": y for x, table in rows.tables.items() for name, y in table.columns.items()}
        for name, array in (rows.columns | arrays).items():
            start, counts[name] = counts[name], counts[name] + len(array)
            if len(array):
                datasets[name][start : counts[name]] = _flat(array)


def _counts(run: Trajectory, table: str, chosen: bool) -> IntArray:
    """Number of entries of each record in a table of `file_rows` [-], shape (n,)."""
    if table.startswith(PREFIX) and chosen:
        light = run.with_columns(contacts=run.raw_contacts)
        return stored_tables(light, run.forces == "least")[table].counts
    counts = np.diff(run.store.offset(table))
    return counts if run.records is None else counts[run.records]


def blocks(run: Trajectory) -> Iterator[Trajectory]:
    """Yield the records of a run in blocks."""
    size = max(1, BLOCK * len(run) // max(1, run_size(run)))
    for a in range(0, len(run), size):
        yield run[a : a + size]


def _shapes(rows: Rows, names: list[str]) -> list[dict[str, Any]]:
    return [{"name": name.split("/", 1)[1], "shape": list(rows.columns[name].shape[1:])} for name in names]


def _flat(part: Any) -> Any:
    """Flatten the rows of an array."""
    return part if part.ndim == 1 else part.reshape(len(part), int(np.prod(part.shape[1:])))


def read_head(source: Source, group: Any) -> tuple[About, Model | WorldModel]:
    """Read the text `about` and the model in a group of a file."""
    about = About(source, group, VERSION)
    return about, read_model(source, group, about)


def fields_of(model: Model | WorldModel, n: int) -> list[Field]:
    """Numeric columns of n records that every run of a model has."""
    columns = column_fields(model, n)
    columns.append(Field("index", n, None, np.int64, (-1, MOST_INDEX)))
    if isinstance(model, Model):
        columns.append(Field("choice", n, (model.sizes[-1],), np.int64, CHOSEN))
    return columns


def _read(source: Source) -> Trajectory:
    """Read the run in an open file, which stays open, as columns are read on demand."""
    group = source.group(source.root, ROOT)
    about, model = read_head(source, group)
    place = source.group(group, "columns")
    n = parts.read_times(source, place).size
    columns = {one.name: (place, one) for one in fields_of(model, n)}
    columns["verdicts"] = place, Field("verdict", n, None, np.int8, (0, len(Verdict) - 1))
    at_end = about.get("memory_at_end", "flag")
    for kind in NAMED:
        if kind == "memory" and at_end:
            continue
        shapes = (
            [] if kind == "inputs" and kind not in about.top else about.shapes(kind)
        )  # older files have no inputs
        parent = source.group(group, kind) if shapes else None
        for k, (name, shape) in enumerate(shapes):
            columns[f"{kind}/{name}"] = parent, Field(f"{k}", n, shape)
    check_shapes(source, columns, n)
    store = FileStore(source, group, columns, n)
    if isinstance(model, WorldModel):
        store.add_table("contacts", contact_fields(None, len(model)))
        store.add_table("joints", joint_fields(model))
        for k, (name, shape) in enumerate(about.shapes("memories") if "memories" in about.top else ()):
            store.add_table(PREFIX + name, [Field(VALUE, None, shape or None)], f"{PREFIX}{k}")
    if at_end:
        memory = parts.read_named(source, group, "memory", 1, about.shapes("memory"))
        memory = {name: value.reshape(value.shape[1:]) for name, value in memory.items()}
    else:
        memory = {name: store.column(f"memory/{name}", n - 1, n)[0] for name, _ in about.shapes("memory")}
    run = Trajectory(
        model, store, clock=about.clock(), memory=memory, **about.run(),
        events=parts.read_events(source, group, about), notes=about.get("notes", "texts"),
        complete=about.get("complete", "flag"),
    )  # fmt: skip
    return with_forces(run, about)


def with_forces(run: Trajectory, about: About) -> Trajectory:
    """Set the function that chooses the impulses of a run on demand, if the file leaves the choice open."""
    if "pending" not in about.top or not about.get("pending", "flag"):
        return run
    kind = WrittenForces if isinstance(run.model, Model) else WorldForces
    return replace(run, choose=kind(lambda: import_module("stickslip.runs").parts_of(run)))


def can_wait(run: Trajectory, base: Trajectory | None) -> bool:
    """Whether readers of the file of a run can choose its impulses; base: the run that is continued."""
    if run.choose is None or not StoredModel.of(run.model.source).text:
        return False
    if base is not None and base.choose is None and not run.of_world:
        return False  # runs of systems have all impulses chosen or none
    return bool(import_module("stickslip.runs").is_known(run))


def _loaded(run: Trajectory) -> Trajectory:
    """Load all rows of a run into memory."""
    return replace(run, store=MemoryStore(run.store.rows(0, len(run))))
