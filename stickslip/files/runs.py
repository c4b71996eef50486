"""Runs in HDF5, whatever the model: a group `stickslip_run` that says by itself what it holds.

    version (2), about (JSON: the model's names, scheme and options, solver, clock, counts, names and shapes
    of memories, sensors and measures, notes, whether the run came to its end)
    laws/k, or world/... and points/k     what the run is read and drawn by (`run_models`)
    model                                 JSON: the model, as files of models have it, where it can be written
    columns/t, h, index, q, v, ...        one row per recorded instant, row 0 the start; `verdict` is 0
                                          certified, 1 relaxed, 2 missed
    sensors/k, measures/k, memory/k       in the order of their names in `about`, one row per instant; memory
                                          of a world has one row, that of the end
    contacts/offset, id, body, ...        of a world: those of record k are rows offset[k] to offset[k + 1]
    joints/offset, r, id                  impulses of joints, likewise; id: 7 joint + part
    events/t, kind, interaction           kind and interaction as numbers into the lists of `about`

Numbers are stored as they are, so a run comes back bit for bit. A small file is read and checked whole; of a
large one (`WHOLE`) columns are read when they are asked for, so that a run larger than the memory can be
opened. A run that is being written, or whose writer was killed, is a journal (`journal`), which the functions
here read as well. Files of version 1 are read by `old_runs`.
"""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from stickslip.files import run_parts as parts
from stickslip.files.errors import FormatError
from stickslip.files.hdf5 import Source
from stickslip.files.hdf5_write import packed_content, put_array, put_packed, put_text
from stickslip.files.old_runs import ROOTS as OLD_ROOTS
from stickslip.files.old_runs import read_old
from stickslip.files.problems import JOURNAL, SIGNATURE, file_content, replace_file
from stickslip.files.run_models import (
    CHOSEN,
    MOST_INDEX,
    column_fields,
    contact_fields,
    joint_fields,
    put_model,
    read_model,
)
from stickslip.files.run_parts import About, Field
from stickslip.problem.solution import Verdict
from stickslip.simulation.model import Model
from stickslip.simulation.rows import Rows, Table
from stickslip.simulation.store import MemoryStore, Store
from stickslip.simulation.trajectory import Trajectory
from stickslip.simulation.world_model import WorldModel
from stickslip.state import IntArray

ROOT, VERSION = "stickslip_run", 2
ENDINGS = (".hdf5", ".h5")
"""Endings of the names of files of runs."""
WHOLE = 2**26
"""A file that is larger is not read whole [bytes]."""
PACKED = 2**24
"""A run that is larger is not compressed, which takes longer than writing it [bytes]."""
BLOCK = 2**24
"""So much of a run is written at a time, about [bytes]."""
FILE_NAMES = {"verdicts": "verdict"}
"""Columns that have another name in files."""
NAMED = ("sensors", "measures", "memory")
"""Columns with names of the user's or of the scheme's."""


def write_trajectory(path: str | PathLike[str], run: Trajectory) -> None:
    """Write a run; the file appears whole or not at all, and the same one gives the same bytes."""
    place = checked_path(path)
    if run_size(run) <= PACKED:
        replace_file(place, trajectory_content(run))
        return
    target = place.resolve()
    draft = target.with_name(f".{target.name}.{os.getpid()}.draft")
    try:
        with h5py.File(draft, "w") as root:
            _fill(root.create_group(ROOT), run, False)
        draft.replace(target)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None
    finally:
        draft.unlink(missing_ok=True)


def trajectory_content(run: Trajectory) -> bytes:
    """The bytes of the file of a small run; the same one gives the same bytes."""
    return packed_content(ROOT, lambda group, put: _fill(group, run, put is put_packed), run_size(run))


def read_trajectory(path: str | PathLike[str]) -> Trajectory:
    """The run in a file that `save`, or `simulate(..., out=...)`, wrote; a `FormatError` says what is wrong
    with the file. Columns of a large run are read when they are asked for."""
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
    """The run in `content`, the bytes of the HDF5 file `path`, checked and read whole."""
    if not content.startswith(SIGNATURE):
        raise FormatError.at(path, "the file", "an HDF5 file", "something else")
    with Source(path, content) as source:
        for root in OLD_ROOTS:
            if source.has(source.root, root):
                return read_old(source, root)
        if not source.has(source.root, ROOT):
            found = "a file without it; if it holds a problem, read it with read"
            source.fail("/", f"the group {ROOT} of a run", found)
        return _loaded(_read(source))


def is_trajectory(path: str | PathLike[str]) -> bool:
    """Whether a file says that it holds a run; what is wrong with it is for the reader to tell."""
    place = Path(path)
    return has_root(place, ROOT, *OLD_ROOTS) or (place.is_file() and file_start(place).startswith(JOURNAL))


def has_root(path: Path, *roots: str) -> bool:
    """Whether a file is HDF5 and has one of these groups in its root."""
    try:
        if not file_start(path).startswith(SIGNATURE):
            return False
        large = path.stat().st_size > WHOLE
        with Source(path, None if large else file_content(path)) as source:
            return any(source.has(source.root, root) for root in roots)
    except (FormatError, OSError):
        return False


def file_start(path: Path) -> bytes:
    """The first bytes of a regular file; of a file that is none, what `file_content` says."""
    if not path.is_file():
        return file_content(path)
    try:
        with path.open("rb") as file:
            return file.read(8)
    except OSError as error:
        raise FormatError.at(path, "the file", "a readable file", f"this: {error}") from None


def checked_path(path: str | PathLike[str]) -> Path:
    """A place for a run, by its ending."""
    place = Path(path)
    if place.suffix.lower() not in ENDINGS:
        wanted = "one that ends in " + ", ".join(ENDINGS)
        raise FormatError.at(place, "the name of the file", wanted, repr(place.name))
    return place


def run_size(run: Trajectory) -> int:
    """Of its columns and tables, about [bytes]."""
    total = len(run) * sum(run.store.size(name) for name in run.store.names)
    for table, names in run.store.tables.items():
        count = int(run.store.offset(table)[-1])
        total += sum(run.store.entries(table, name, 0, 1).nbytes for name in names) * count
    return total


def file_rows(run: Trajectory) -> Rows:
    """The rows of a run as files have them: energies computed, and impulses as they are told."""
    fields = column_fields(run.model, len(run))
    columns: dict[str, Any] = {one.name: getattr(run, one.name) for one in fields}
    columns |= {"index": run.index, "verdicts": run.verdicts}
    for kind in NAMED:
        columns |= {x: run.column(x) for x in run.store.names if x.startswith(f"{kind}/")}
    if isinstance(run.model, Model):
        return Rows(columns | {"choice": run.choice})
    contacts, joints = run.contacts, {"r": run.joint_r, "id": run.joint_id}
    table = {one.name: getattr(contacts, one.name) for one in contact_fields(None, len(run.model))}
    return Rows(columns, {
        "contacts": Table(np.diff(contacts.offset), table), "joints": Table(np.diff(run.joint_offset), joints)
    })  # fmt: skip


def static_facts(run: Trajectory) -> dict[str, Any]:
    """What `about` says of a run that does not change while it goes on."""
    return {
        "scheme": run.scheme, "scheme_options": run.scheme_options, "solver": run.solver,
        "tolerance": run.tolerance, "forces": run.forces, **run.clock.facts,
    }  # fmt: skip


def put_head(group: Any, facts: Mapping[str, Any], model: Model | WorldModel) -> None:
    """Write the version, the text `about` and the model."""
    put_array(group, "version", [VERSION], np.int32)
    own = put_model(group, model)
    # What is no JSON (a scheme of the user's own may have any option) is kept as text.
    put_text(group, "about", json.dumps({**facts, **own}, default=repr))


def _fill(group: Any, run: Trajectory, packed: bool) -> None:
    """Write a run into a group, a block of records at a time."""
    n, first = len(run), file_rows(run[:1])
    per_record = max(1, run_size(run) // n)
    block = n if packed else max(1, BLOCK // per_record)
    names = {kind: [x for x in first.columns if x.startswith(f"{kind}/")] for kind in NAMED}
    last = {} if names["memory"] else run.memory
    facts = static_facts(run) | parts.put_events(group, run.events, put_array) | {
        "steps": run.steps, "missed": run.missed, "verdict": run.verdict.value, "relaxation": run.relaxation,
        "notes": list(run.notes), "complete": run.complete, "memory_at_end": not names["memory"],
        "sensors": _shapes(first, names["sensors"]), "measures": _shapes(first, names["measures"]),
        "memory": _shapes(first, names["memory"])
        or [{"name": name, "shape": list(x.shape)} for name, x in last.items()],
    }  # fmt: skip
    if run.until is not None and not run.complete:
        facts["until"] = run.until
    put_head(group, facts, run.model)
    sizes = {table: int(_count(run, table)) for table in first.tables}
    places = {name: group.create_group(name) for name in ("columns", *NAMED, *first.tables)}
    writers: dict[str, Callable[[Any], None]] = {}
    for name, column in first.columns.items():
        kind, rest = (
            name.split("/", 1) if "/" in name else ("columns", "verdict" if name == "verdicts" else name)
        )
        own = f"{names[kind].index(name)}" if kind in NAMED else rest
        writers[name] = _writer(places[kind], own, n, column, packed)
    for table, part in first.tables.items():
        for name, column in part.columns.items():
            writers[f"{table}/{name}"] = _writer(places[table], name, sizes[table], column, packed)
    counts: dict[str, list[Any]] = {table: [] for table in first.tables}
    for a in range(0, n, block):
        rows = file_rows(run[a : a + block])
        for name, column in rows.columns.items():
            writers[name](column)
        for table, part in rows.tables.items():
            counts[table].append(part.counts)
            for name, column in part.columns.items():
                writers[f"{table}/{name}"](column)
    for table, each in counts.items():
        put = put_packed if packed else put_array
        put(places[table], "offset", np.concatenate([[0], np.cumsum(np.concatenate(each))]), np.int64)
    for k, value in enumerate(last.values()):
        put_array(places["memory"], f"{k}", value.reshape(1, -1 if value.size else 0), np.float64)


def _count(run: Trajectory, table: str) -> int:
    """Entries of a table in the records of a run."""
    counts = np.diff(run.store.offset(table))
    return int(counts.sum() if run.records is None else counts[run.records].sum())


def _shapes(rows: Rows, names: list[str]) -> list[dict[str, Any]]:
    return [{"name": name.split("/", 1)[1], "shape": list(rows.columns[name].shape[1:])} for name in names]


def _writer(group: Any, name: str, rows: int, like: Any, packed: bool) -> Callable[[Any], None]:
    """What writes a column part by part; one that is packed comes in one part."""
    kind = np.int8 if like.dtype in (np.bool_, np.int8) else like.dtype
    if packed:
        return lambda part: put_packed(group, name, _flat(part), kind)
    shape = (rows,) if like.ndim == 1 else (rows, int(np.prod(like.shape[1:])))
    dataset = group.create_dataset(name, shape, kind, track_times=False)
    done = 0

    def write(part: Any) -> None:
        nonlocal done
        if len(part):
            dataset[done : done + len(part)] = _flat(part)
        done += len(part)

    return write


def _flat(part: Any) -> Any:
    """Rows without axes of their own."""
    return part if part.ndim == 1 else part.reshape(len(part), int(np.prod(part.shape[1:])))


class FileStore(Store):
    """Rows in an HDF5 file, read when they are asked for."""

    def __init__(self, source: Source, group: Any, columns: dict[str, tuple[Any, Field]], n: int):
        self._source, self._group, self._columns, self._n = source, group, columns, n
        self._offsets: dict[str, IntArray] = {}
        self._fields: dict[str, dict[str, tuple[Any, Field]]] = {}

    def add_table(self, table: str, fields: list[Field]) -> None:
        """Make a table known; its offsets are read and checked at once."""
        place = self._source.group(self._group, table)
        count = self._source.shape(place, fields[0].name)[0]
        self._offsets[table] = parts.read_offset(self._source, place, self._n, count)
        self._fields[table] = {one.name: (place, one) for one in fields}
        _check_shapes(self._source, self._fields[table], count)

    def __len__(self) -> int:
        return self._n

    @property
    def names(self) -> tuple[str, ...]:
        """See `Store`."""
        return tuple(self._columns)

    def column(self, name: str, start: int, stop: int) -> np.ndarray:
        """See `Store`."""
        place, field = self._columns[name]
        return field.read(self._source, place, slice(start, stop))  # type: ignore[no-any-return]

    @property
    def tables(self) -> Mapping[str, tuple[str, ...]]:
        """See `Store`."""
        return {table: tuple(fields) for table, fields in self._fields.items()}

    def offset(self, table: str) -> IntArray:
        """See `Store`."""
        return self._offsets[table]

    def entries(self, table: str, name: str, start: int, stop: int) -> np.ndarray:
        """See `Store`."""
        place, field = self._fields[table][name]
        return field.read(self._source, place, slice(start, stop))  # type: ignore[no-any-return]


def _check_shapes(source: Source, fields: dict[str, tuple[Any, Field]], rows: int) -> None:
    """Refuse datasets of other shapes than their fields."""
    for place, field in fields.values():
        if field.optional and not source.has(place, field.name):
            continue
        wanted = (rows, int(np.prod(field.width))) if field.width else (rows,)
        found = source.shape(place, field.name)
        if found != wanted:
            source.fail(f"{place.name}/{field.name}", f"numbers of shape {wanted}", f"shape {found}")


def read_head(source: Source, group: Any) -> tuple[About, Model | WorldModel]:
    """The text `about` and the model in a group of a file."""
    about = About(source, group, VERSION)
    return about, read_model(source, group, about)


def fields_of(model: Model | WorldModel, n: int) -> list[Field]:
    """Columns of numbers of n records that every run of a model has."""
    found = column_fields(model, n)
    found.append(Field("index", n, None, np.int64, (-1, MOST_INDEX)))
    if isinstance(model, Model):
        found.append(Field("choice", n, (model.sizes[-1],), np.int64, CHOSEN))
    return found


def _read(source: Source) -> Trajectory:
    """The run in an open file, which stays open: columns are read when they are asked for."""
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
        own = source.group(group, kind)
        for k, (name, shape) in enumerate(about.shapes(kind)):
            columns[f"{kind}/{name}"] = own, Field(f"{k}", n, shape)
    _check_shapes(source, columns, n)
    store = FileStore(source, group, columns, n)
    if isinstance(model, WorldModel):
        store.add_table("contacts", contact_fields(None, len(model)))
        store.add_table("joints", joint_fields(model))
    if at_end:
        memory = parts.read_named(source, group, "memory", 1, about.shapes("memory"))
        memory = {name: value.reshape(value.shape[1:]) for name, value in memory.items()}
    else:
        memory = {name: store.column(f"memory/{name}", n - 1, n)[0] for name, _ in about.shapes("memory")}
    return Trajectory(
        model, store, clock=about.clock(), memory=memory, **about.run(),
        events=parts.read_events(source, group, about), notes=about.get("notes", "texts"),
        complete=about.get("complete", "flag"),
    )  # fmt: skip


def _loaded(run: Trajectory) -> Trajectory:
    """The run with all of its rows in memory."""
    return replace(run, store=MemoryStore(run.store.rows(0, len(run))))
