"""Read journals of runs: the complete frames, and their columns on demand."""

import json
import math
import os
import weakref
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from stickslip.files import runs
from stickslip.files.errors import FormatError
from stickslip.files.frames import HEAD, LONGEST_TEXT, MAGIC, TYPES
from stickslip.files.hdf5 import Source
from stickslip.files.problems import JOURNAL
from stickslip.files.run_models import contact_fields, joint_fields
from stickslip.files.run_parts import LARGEST, Field
from stickslip.files.runs import NAMED, ROOT
from stickslip.problem.solution import Verdict
from stickslip.schemes.step import Event
from stickslip.simulation.model import Model
from stickslip.simulation.store import Store
from stickslip.simulation.trajectory import Trajectory
from stickslip.simulation.world_memory import PREFIX, VALUE
from stickslip.simulation.world_model import WorldModel
from stickslip.state import IntArray

MOST_AXES = 8
"""Largest number of axes of an array."""
LARGE = 2**20
"""Size of an array from which single rows are read without checking the CRC of the whole array [bytes]."""


def read_journal(path: Path) -> Trajectory:
    """Read the run in a journal up to its last complete frame; columns are read on demand."""
    frames = Frames(path)
    with Source(path, frames.head) as source:
        about, model = runs.read_head(source, source.group(source.root, ROOT))
        facts = {**about.top, "steps": 0, "missed": 0, "relaxation": "", **frames.facts}
        about.top = facts
        store = JournalStore(frames, model)
        if not len(store):
            frames.fail("records", "none: the run was cut off before its first record was written")
        events = tuple(
            Event(float(t), str(kind), str(owner)) for facts in frames.events for t, kind, owner in facts
        )
        notes = tuple(about.get("notes", "texts"))
        left = frames.size - frames.end
        if left:
            notes += (f"the last {left} bytes of {path.name} are an incomplete record and are skipped",)
        run = Trajectory(
            model, store, clock=about.clock(), **about.run(), memory=store.memory(), events=events,
            notes=notes, complete=frames.complete,
        )  # fmt: skip
        return runs.with_forces(run, about)


class _Array(NamedTuple):
    """Location of an array of a frame."""

    place: int
    """Offset in the file [bytes]."""
    kind: np.dtype[Any]
    shape: tuple[int, ...]
    crc: int

    @property
    def size(self) -> int:
        """Size [bytes]."""
        return math.prod(self.shape) * self.kind.itemsize


class Frames:
    """The complete frames of a journal: their texts, and the locations of their arrays."""

    def __init__(self, path: Path):
        self.path = path
        self.file = os.open(path, os.O_RDONLY)
        weakref.finalize(self, os.close, self.file)
        self.size = os.fstat(self.file).st_size
        if self._read(0, len(JOURNAL)) != JOURNAL:
            self.fail("the file", "something else")
        head = self._frame(len(JOURNAL))
        if head is None:
            self.fail("the file", "a run that was cut off before it began")
        text, first, self.end = head
        self.head = self._read(first, self.end - first)
        self.facts: dict[str, Any] = {}
        self.arrays: list[dict[str, _Array]] = []
        """Arrays of each frame of records, by name."""
        self.events: list[list[Any]] = []
        self.complete = False
        while (frame := self._frame(self.end)) is not None:
            text, first, after = frame
            arrays = self._listed(text.pop("arrays", []), first, after)
            if after == self.size and not self._sound(arrays):
                break  # an incomplete write of the file system
            self.events.append(text.pop("events", []))
            self.complete = bool(text.pop("complete", False))
            self.facts |= text
            if arrays:
                self.arrays.append(arrays)
            self.end = after

    def fail(self, expected: str, found: str) -> NoReturn:
        """Raise a FormatError."""
        raise FormatError.at(self.path, "the journal", expected, found)

    def read_rows(self, name: str, array: _Array, start: int, stop: int) -> np.ndarray:
        """Read some rows of an array of a frame.

        Few rows of a large array are not checked against its CRC, because this requires the whole array.
        """
        row = int(np.prod(array.shape[1:])) * array.kind.itemsize
        if row * array.shape[0] < LARGE or 4 * (stop - start) > array.shape[0]:
            return self.read(name, array)[start:stop]
        raw = self._read(array.place + row * start, row * (stop - start))
        return np.frombuffer(raw, array.kind).reshape(stop - start, *array.shape[1:])

    def read(self, name: str, array: _Array) -> np.ndarray:
        """Read an array of a frame and check its CRC."""
        raw = self._read(array.place, array.size)
        if zlib.crc32(raw) != array.crc:
            self.fail(f"sound numbers of {name}", f"damaged ones at byte {array.place}")
        return np.frombuffer(raw, array.kind).reshape(array.shape)

    def _read(self, start: int, size: int) -> bytes:
        return os.pread(self.file, size, start)

    def _frame(self, start: int) -> tuple[dict[str, Any], int, int] | None:
        """Return text, offset of the arrays and end of the frame at `start`; None if it is not complete."""
        raw = self._read(start, HEAD.size)
        if len(raw) < HEAD.size:
            return None
        magic, length, payload, crc = HEAD.unpack(raw)
        first = start + HEAD.size + length
        if magic != MAGIC or length > LONGEST_TEXT or first + payload > self.size:
            return None
        text = self._read(start + HEAD.size, length)
        if zlib.crc32(text) != crc:
            return None
        try:
            facts = json.loads(text)
        except (ValueError, RecursionError):
            self.fail("frames with a text of JSON", f"other text at byte {start}")
        if not isinstance(facts, dict):
            self.fail("frames with an object as text", f"something else at byte {start}")
        return facts, first, first + payload

    def _listed(self, listed: Any, first: int, after: int) -> dict[str, _Array]:
        arrays, place = {}, first
        try:
            for name, kind, shape, crc in listed:
                valid = len(shape) <= MOST_AXES and isinstance(name, str) and isinstance(crc, int)
                if not valid or not all(type(n) is int and 0 <= n <= LARGEST for n in shape):
                    raise ValueError
                array = arrays[name] = _Array(place, TYPES[kind], tuple(shape), crc)
                place += array.size
        except (TypeError, ValueError, KeyError):
            self.fail("arrays with name, type, shape and CRC", f"others before byte {first}")
        if place != after:
            self.fail(f"arrays of {after - first} bytes", f"{place - first} bytes at byte {first}")
        return arrays

    def _sound(self, arrays: dict[str, _Array]) -> bool:
        """Whether the arrays of a frame agree with their CRC."""
        return all(zlib.crc32(self._read(x.place, x.size)) == x.crc for x in arrays.values())


class JournalStore(Store):
    """Rows in the frames of a journal, read on demand."""

    def __init__(self, frames: Frames, model: Model | WorldModel):
        self.frames = frames
        self._arrays = [one for one in frames.arrays if "columns/t" in one]
        self._starts = np.cumsum([0, *(one["columns/t"].shape[0] for one in self._arrays)])
        first: dict[str, _Array] = {}  # first array of each name
        for one in self._arrays:
            first |= {name: array for name, array in one.items() if name not in first}
        self._fields = {one.name: one for one in runs.fields_of(model, 0)}
        self._fields["verdicts"] = Field("verdicts", 0, None, np.int8, (0, len(Verdict) - 1))
        self._tables: dict[str, dict[str, Field]] = {}
        if isinstance(model, WorldModel):
            self._tables["contacts"] = {one.name: one for one in contact_fields(None, len(model))}
            self._tables["joints"] = {one.name: one for one in joint_fields(model)}
            for name, array in first.items():
                if name.startswith(PREFIX):
                    tail = array.shape[1:] or None
                    self._tables[name.removesuffix(f"/{VALUE}")] = {VALUE: Field(VALUE, None, tail)}
        self._offsets: dict[str, IntArray] = {}
        known = (x.removeprefix("columns/") for x in first if x.startswith("columns/"))
        self._names = tuple(
            dict.fromkeys(x for x in known if x in self._fields or x.split("/", 1)[0] in NAMED)
        )
        for one in self._arrays:
            for name in self._fields:
                if f"columns/{name}" not in one:
                    frames.fail(f"the column {name} in every frame", "a frame without it")

    def __len__(self) -> int:
        return int(self._starts[-1])

    @property
    def names(self) -> tuple[str, ...]:
        """See `Store`."""
        return self._names

    def size(self, name: str) -> int:
        """See `Store`."""
        array = next(one[f"columns/{name}"] for one in self._arrays if f"columns/{name}" in one)
        return int(np.prod(array.shape[1:])) * array.kind.itemsize

    def column(self, name: str, start: int, stop: int) -> np.ndarray:
        """See `Store`."""
        parts, width = [], None
        for arrays, first in zip(self._arrays, self._starts.tolist(), strict=False):
            rows = arrays["columns/t"].shape[0]
            a, b = max(start - first, 0), min(stop - first, rows)
            if a < b:
                array = arrays.get(f"columns/{name}")
                if array is None:  # the column was added in a later frame
                    like = next(one[f"columns/{name}"] for one in self._arrays if f"columns/{name}" in one)
                    part = np.full((b - a, *like.shape[1:]), np.nan)
                else:
                    part = self._checked(name, array, rows, a, b)
                width = part.shape[1:] if width is None else width
                if part.shape[1:] != width:
                    self.frames.fail(f"rows of {name} of one shape", f"shapes {width} and {part.shape[1:]}")
                parts.append(part)
        if not parts:
            return self.column(name, 0, 1)[:0]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    @property
    def tables(self) -> Mapping[str, tuple[str, ...]]:
        """See `Store`."""
        return {table: tuple(fields) for table, fields in self._tables.items()}

    def offset(self, table: str) -> IntArray:
        """See `Store`."""
        if table not in self._offsets:
            counts = []
            for arrays in self._arrays:
                array = arrays.get(f"counts/{table}")
                if array is None and table.startswith(PREFIX):  # files of earlier versions have no memories
                    counts.append(np.zeros(arrays["columns/t"].shape, np.int64))
                    continue
                if array is None or array.shape != arrays["columns/t"].shape or array.kind != TYPES["i8"]:
                    self.frames.fail(f"counts of {table} in every frame", "a frame without them")
                counts.append(self.frames.read(f"counts of {table}", array))
                total = arrays.get(f"{table}/{next(iter(self._tables[table]))}")
                if (counts[-1] < 0).any() or total is None or counts[-1].sum() != total.shape[0]:
                    self.frames.fail(f"counts of {table} that fit the table", "others")
            joined = np.concatenate([[0], *counts])
            self._offsets[table] = np.cumsum(joined, dtype=np.int64)
        return self._offsets[table]

    def entries(self, table: str, name: str, start: int, stop: int) -> np.ndarray:
        """See `Store`."""
        field, parts, offset = self._tables[table][name], [], self.offset(table)
        for arrays, first, last in zip(self._arrays, self._starts, self._starts[1:], strict=False):
            low, high = int(offset[first]), int(offset[last])
            a, b = max(start - low, 0), min(stop - low, high - low)
            if a < b:
                array = arrays.get(f"{table}/{name}")
                if array is None or array.shape[0] != high - low:
                    self.frames.fail(f"{table}/{name} of {high - low} rows in every frame", "others")
                value = self.frames.read_rows(f"{table}/{name}", array, a, b)
                parts.append(self._within(field, value, f"{table}/{name}"))
        empty: np.ndarray = np.zeros((0, *(field.width or ())), field.kind)
        return parts[0] if len(parts) == 1 else np.concatenate([empty, *parts])

    def memory(self) -> dict[str, np.ndarray]:
        """Memory of the scheme at the last record."""
        last = self._arrays[-1]
        at_end = {x.split("/", 1)[1]: last[x] for x in last if x.startswith("memory/")}
        if at_end:
            return {name: np.array(self.frames.read(name, x), float) for name, x in at_end.items()}
        rows = {x.split("/", 2)[2]: last[x] for x in last if x.startswith("columns/memory/")}
        return {name: np.array(self.frames.read(name, x)[-1], float) for name, x in rows.items()}

    def _checked(self, name: str, found: _Array, rows: int, start: int, stop: int) -> np.ndarray:
        if not found.shape or found.shape[0] != rows:
            self.frames.fail(f"{rows} rows of {name}", f"shape {found.shape}")
        value = self.frames.read_rows(name, found, start, stop)
        field = self._fields.get(name)
        return value if field is None else self._within(field, value, name)

    def _within(self, field: Field, value: np.ndarray, name: str) -> np.ndarray:
        if value.shape[1:] != (field.width or ()):
            self.frames.fail(f"rows of {name} of shape {field.width or ()}", f"shape {value.shape[1:]}")
        return field.checked(value, self, name)  # type: ignore[no-any-return]

    def fail(self, place: str, expected: str, found: str) -> NoReturn:
        """Raise a FormatError for a column."""
        self.frames.fail(f"{expected} as {place}", found)
