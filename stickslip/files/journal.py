"""Files of running simulations: an append-only journal, which is converted to HDF5 at the end of the run.

HDF5 is not safe against a kill: its index is distributed over the file, and an incomplete write or a
truncated file can lose everything. (Its single-writer mode survives a kill but not a truncation, and datasets
cannot be declared later.) A journal is written sequentially and never changed:

    8 bytes of magic
    frame 0: an HDF5 image of the group `stickslip_run` with `about` and the model, see `runs`
    frame 1, 2, ...: consecutive records, followed by counts and the scheme's memory at their end

    a frame: "SSF2", length of its text (4 bytes), length of its arrays (8), CRC-32 of the text (4), the text
    (JSON: counts, notes, events, and name, type, shape and CRC-32 of each array), the arrays

Only complete frames count. Readers skip bytes after the last complete frame and report them; a writer that
continues the run truncates them. Thus a run loses only what follows the last flush, however it ended. Every
flush is followed by `fdatasync`, which covers a power failure as far as the file system does. The lock of the
file (`flock`) excludes a second writer.

At the end of a run the journal is copied to HDF5, a block at a time, and replaced atomically. If this fails
(full disk), the journal is kept, which contains the complete run.
"""

import json
import os
import weakref
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.files import runs
from stickslip.files.errors import FormatError
from stickslip.files.frames import HEAD, MAGIC, TYPES
from stickslip.files.hdf5_write import hdf5_content
from stickslip.files.journal_copy import copy_frames
from stickslip.files.journal_read import Frames, read_journal
from stickslip.files.problems import JOURNAL
from stickslip.files.run_models import StoredModel
from stickslip.files.runs import ROOT
from stickslip.simulation.checkpoint import Checkpoint
from stickslip.simulation.rows import Rows
from stickslip.simulation.store import JoinedStore, MemoryStore
from stickslip.simulation.trajectory import Trajectory
from stickslip.state import ModelError

try:
    import fcntl
except ImportError:  # Windows, where files open for writing cannot be replaced
    fcntl = None  # type: ignore[assignment]

MOST_SHOWN = 200
"""Largest number of characters of a value in messages."""


class Journal:
    """Writes a run to a file while it is simulated."""

    def __init__(self, path: str | PathLike[str], start: Any = None):
        """start: the checkpoint at which the run starts; a file that ends with it is continued."""
        self.path = runs.checked_path(path)
        if not self.path.parent.is_dir():
            raise FileNotFoundError(f"{path}: the folder {self.path.parent} does not exist")
        self._file: Any = None
        self._there: Any = None
        """The existing file at the path, locked."""
        self._end = 0
        """End of the last complete frame [bytes]."""
        self._others = 0
        """End of the last complete frame written by another process [bytes]."""
        self._base: Trajectory | None = None
        """The run that is continued."""
        self._waits = False
        """Whether the choice of impulses is left to readers of the file."""
        self.until: float | None = None
        """Planned end of the run [s], if it is known."""
        if self.path.exists():
            if not self.path.is_file():
                raise FormatError.at(
                    path, "the place to write", "a regular file or nothing", "something else"
                )
            self._there = self.path.open("r+b", buffering=0)
            weakref.finalize(self, self._there.close)
            _lock(self._there, self.path)
            if isinstance(start, Checkpoint):
                self._base = self._continued(start)

    def append(self, tail: Trajectory) -> None:
        """Append the records of `tail`. The first of them is in the file already, except at the start."""
        if self._file is None:
            self._open(tail)
            if self._base is None:
                return  # `_open` has written the first records
        rows = runs.file_rows(tail[1:], not self._waits) if len(tail) > 1 else None
        self._put(self._facts(tail), rows, tail.memory)

    def read(self) -> Trajectory:
        """Read the run in the file so far."""
        return read_journal(self.path)

    def with_tail(self, tail: Trajectory) -> Trajectory:
        """Return the run in the file followed by the records of `tail`, which could not be written."""
        if self._end == 0:
            return tail
        run = self.read()
        more = [MemoryStore(runs.file_rows(tail[1:], not self._waits))] if len(tail) > 1 else []
        return replace(run, store=JoinedStore([run.store, *more]), memory=tail.memory)

    def end(self, complete: bool) -> Trajectory:
        """Close the file and return its run; a complete run becomes HDF5, another one stays a journal."""
        if self._file is None:
            return runs.read_trajectory(self.path)
        notes: tuple[str, ...] = ()
        if complete:
            self._put({"complete": True}, None, {})
            try:
                copy_frames(self.path, self.read(), self._others)
            except OSError as error:
                reason = (error.strerror or str(error)).lower()
                notes = (f"{self.path.name} remains a journal, which stickslip can read: {reason}",)
        self._file.close()
        self._file = None
        run = runs.read_trajectory(self.path)
        return replace(run, notes=run.notes + notes)

    def _continued(self, start: Checkpoint) -> Trajectory:
        """Read the run in the file, which must end where the new one starts."""
        run = runs.read_trajectory(self.path)
        t, q = float(run.t[-1]), np.asarray(run.q[-1])
        if t != start.state.t or not np.array_equal(q, start.state.q):
            raise ModelError(
                f"out: {self.path} contains a run that ends at t = {t:.9g} s, but this run starts at"
                f" t = {start.state.t:.9g} s; give another file"
            )
        return run

    def _open(self, tail: Trajectory) -> None:
        """Open the file for writing: a new journal with a head, or an existing journal to be continued."""
        target = self.path.resolve()
        tail = replace(tail, model=replace(tail.model, source=StoredModel.of(tail.model.source)))
        self._waits = runs.can_wait(tail, self._base)
        if self._base is not None:
            self._check_same(self._base, tail)
        if self._base is not None and runs.file_start(target).startswith(JOURNAL):
            self._end = self._others = Frames(target).end
            self._file = self._there
            self._file.truncate(self._end)
            self._file.seek(self._end)
            return
        draft = target.with_name(f".{target.name}.{os.getpid()}.draft")
        try:
            self._file = draft.open("w+b", buffering=0)
            weakref.finalize(self, self._file.close)
            _lock(self._file, self.path)
            self._write_all([JOURNAL, *_head(tail if self._base is None else self._base, self._waits)])
            if self._base is None:
                self._put(self._facts(tail), runs.file_rows(tail, not self._waits), tail.memory)
            else:
                facts = self._facts(None)
                for part in runs.blocks(self._base):
                    self._put(facts, runs.file_rows(part, chosen=False), self._base.memory)
                    facts = facts | {"events": []}  # written only once
            os.fsync(self._file.fileno())
            draft.replace(target)
        except BaseException:
            draft.unlink(missing_ok=True)
            self._file, self._end = None, 0
            raise
        if self._there is not None:
            self._there.close()

    def _check_same(self, base: Trajectory, tail: Trajectory) -> None:
        """Raise an error if the scheme, the step or the solver differ from those of the file."""
        ours, theirs = (json.loads(_json(runs.static_facts(run))) for run in (base, tail))
        for name in sorted({**ours, **theirs}, key=lambda name: name == "origin"):
            value, other = (str(facts.get(name, "none"))[:MOST_SHOWN] for facts in (ours, theirs))
            if theirs.get(name) != ours.get(name):
                differs = f"whose {name} is {value}; here it is {other}"
                if name == "origin":  # steps are counted from 0 after a shortened step
                    differs = "whose last step was shortened, so that the steps would be counted from 0"
                raise ModelError(f"out: {self.path} holds a run {differs}: give another file")

    def _facts(self, tail: Trajectory | None) -> dict[str, Any]:
        """Counts of the run up to the end of `tail`, notes, and events of `tail`."""
        facts: dict[str, Any] = {"steps": 0, "missed": 0, "relaxation": "", "notes": [], "events": []}
        for run in (self._base, tail):
            if run is not None:
                facts["steps"] += run.steps
                facts["missed"] += run.missed
                facts["relaxation"] = facts["relaxation"] or run.relaxation
                facts["notes"] += [note for note in run.notes if note not in facts["notes"]]
        part = self._base if tail is None else tail
        if part is not None:
            facts["events"] = [[event.t, event.kind, event.interaction] for event in part.events]
        return facts if self.until is None else facts | {"until": float(self.until)}

    def _put(self, facts: dict[str, Any], rows: Rows | None, memory: Mapping[str, Any]) -> None:
        """Write one frame."""
        arrays: dict[str, Any] = {}
        if rows is not None:
            arrays |= {f"columns/{name}": column for name, column in rows.columns.items()}
            for table, part in rows.tables.items():
                arrays[f"counts/{table}"] = part.counts
                arrays |= {f"{table}/{name}": column for name, column in part.columns.items()}
            if not any(name.startswith("memory/") for name in rows.columns):
                arrays |= {f"memory/{name}": value for name, value in memory.items()}
        payload: list[Any] = [np.ascontiguousarray(x, _stored(np.asarray(x).dtype)) for x in arrays.values()]
        listed = [
            [name, _code(x.dtype), list(x.shape), zlib.crc32(x)]
            for name, x in zip(arrays, payload, strict=True)
        ]
        text = json.dumps(facts | {"arrays": listed}).encode()
        head = HEAD.pack(MAGIC, len(text), sum(x.nbytes for x in payload), zlib.crc32(text))
        self._write_all([head, text, *payload])

    def _write_all(self, parts: Sequence[Any]) -> None:
        """Append bytes and arrays after the last complete frame; a failed write is undone."""
        end = self._end
        try:
            for part in parts:
                view = memoryview(part)
                end += view.nbytes
                if view.nbytes:
                    view = view.cast("B")
                while view.nbytes:
                    view = view[self._file.write(view) :]
            os.fdatasync(self._file.fileno())
        except OSError as error:
            self._file.truncate(self._end)
            self._file.seek(self._end)
            raise OSError(error.errno, error.strerror or str(error), str(self.path)) from None
        self._end = end


def is_written(path: Path) -> bool:
    """Whether another process is writing a run to a file."""
    try:
        with path.open("rb") as file:
            _lock(file, path, shared=True)
    except FormatError:
        return True
    return False


def _json(facts: Mapping[str, Any]) -> str:
    """Convert facts to JSON; values of other types become text."""
    return json.dumps(facts, default=repr)


def _head(run: Trajectory, waits: bool) -> tuple[bytes, ...]:
    """Frame 0: the model and constant facts; waits: the choice of impulses is left to readers."""
    facts = runs.static_facts(run) | {"notes": []} | ({"pending": True} if waits else {})
    image = hdf5_content(lambda root: runs.put_head(root.create_group(ROOT), facts, run.model))
    text = b"{}"
    return HEAD.pack(MAGIC, len(text), len(image), zlib.crc32(text)), text, image


def _lock(file: Any, path: Path, shared: bool = False) -> None:
    """Lock a file; raise a FormatError if another process has locked it for writing."""
    if fcntl is None:
        return
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError:
        raise FormatError.at(
            path, "the file", "one that nobody writes to", "a run that another process is writing"
        ) from None


def _stored(kind: np.dtype[Any]) -> Any:
    """Type in which an array is stored."""
    if kind in (np.bool_, np.int8):
        return np.int8
    return np.dtype("<i8") if kind.kind in "iu" else np.dtype("<f8")


def _code(kind: np.dtype[Any]) -> str:
    return next(code for code, known in TYPES.items() if known == kind)
