"""Stores of the rows of a run: in memory, in a file, or partly in both.

A trajectory reads columns of its records from a store of any kind.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping

import numpy as np

from stickslip.simulation.rows import Rows, Table
from stickslip.state import IntArray

HELD = 64
"""Number of parts of an array that are held before they are joined."""


class Store(ABC):
    """Rows of records by column, and entries of tables."""

    @abstractmethod
    def __len__(self) -> int:
        """Number of records."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""

    @abstractmethod
    def column(self, name: str, start: int, stop: int) -> np.ndarray:
        """Return rows `start` to `stop` of a column [any], shape (stop - start, ...)."""

    @property
    @abstractmethod
    def tables(self) -> Mapping[str, tuple[str, ...]]:
        """Names of the tables, and of the columns of each."""

    @abstractmethod
    def offset(self, table: str) -> IntArray:
        """Return the index of the first entry of each record, and the number of all entries [-], shape
        (n + 1,)."""

    @abstractmethod
    def entries(self, table: str, name: str, start: int, stop: int) -> np.ndarray:
        """Return entries `start` to `stop` of a column of a table [any], shape (stop - start, ...)."""

    def size(self, name: str) -> int:
        """Return the size of one row of a column [bytes]."""
        return int(self.column(name, 0, 1).nbytes)

    def rows(self, start: int, stop: int) -> Rows:
        """Return all data of rows `start` to `stop`."""
        columns = {name: self.column(name, start, stop) for name in self.names}
        tables = {}
        for name, parts in self.tables.items():
            offset = self.offset(name)[start : stop + 1]
            a, b = int(offset[0]), int(offset[-1])
            tables[name] = Table(np.diff(offset), {one: self.entries(name, one, a, b) for one in parts})
        return Rows(columns, tables)


class _Growing:
    """Array that grows by appended parts, which are joined on access."""

    __slots__ = ("_parts", "_whole", "bytes", "count")

    def __init__(self) -> None:
        self.bytes = 0
        self._whole: np.ndarray | None = None
        self._parts: list[np.ndarray] = []
        self.count = 0

    def append(self, part: np.ndarray) -> None:
        """Append a part."""
        if not len(part) and (self._parts or self._whole is not None):
            return
        self._parts.append(part)
        self.count += len(part)
        self.bytes += part.nbytes
        if len(self._parts) >= HELD:
            self.array()

    def array(self) -> np.ndarray:
        """Return the array so far; later parts do not change it."""
        if self._parts:
            known = 0 if self._whole is None else self.count - sum(map(len, self._parts))
            room = 0 if self._whole is None else len(self._whole)
            if self._whole is None and len(self._parts) == 1:
                self._whole = self._parts[0]
            else:
                if self._whole is None or self.count > room:
                    like = self._parts[0]
                    larger = np.empty((max(2 * known, self.count), *like.shape[1:]), like.dtype)
                    if self._whole is not None:
                        larger[:known] = self._whole[:known]
                    self._whole = larger
                assert self._whole is not None
                np.concatenate(self._parts, out=self._whole[known : self.count])
            self._parts = []
        assert self._whole is not None
        view = self._whole[: self.count]
        view.flags.writeable = False
        return view


class MemoryStore(Store):
    """Rows in memory."""

    def __init__(self, rows: Rows | None = None) -> None:
        self._count = 0
        self._columns: dict[str, _Growing] = {}
        self._tables: dict[str, tuple[_Growing, dict[str, _Growing]]] = {}
        self._offsets: dict[str, IntArray] = {}
        if rows is not None:
            self.append(rows)

    def append(self, rows: Rows) -> None:
        """Append rows. Earlier rows of a new column, and new rows of a missing column, are NaN."""
        n = len(rows)
        for name, column in rows.columns.items():
            if name not in self._columns:
                self._columns[name] = _Growing()
                if self._count:
                    self._columns[name].append(_missing(column, self._count))
            self._columns[name].append(column)
        for name in self._columns.keys() - rows.columns.keys():
            self._columns[name].append(_missing(self._columns[name].array(), n))
        for name, table in rows.tables.items():
            counts, columns = self._tables.setdefault(name, (_Growing(), {}))
            counts.append(table.counts)
            for one, column in table.columns.items():
                columns.setdefault(one, _Growing()).append(column)
        self._count += n

    def snapshot(self) -> "MemoryStore":
        """Return a store of the rows so far, which later rows do not change."""
        return MemoryStore(self.rows(0, self._count))

    @property
    def bytes(self) -> int:
        """Approximate size of all arrays [bytes]."""
        tables = (columns for _, columns in self._tables.values())
        arrays = [*self._columns.values(), *(one for columns in tables for one in columns.values())]
        return sum(one.bytes for one in arrays)

    def __len__(self) -> int:
        return self._count

    @property
    def names(self) -> tuple[str, ...]:
        """See `Store`."""
        return tuple(self._columns)

    def column(self, name: str, start: int, stop: int) -> np.ndarray:
        """See `Store`."""
        return self._columns[name].array()[start:stop]

    @property
    def tables(self) -> Mapping[str, tuple[str, ...]]:
        """See `Store`."""
        return {name: tuple(columns) for name, (_, columns) in self._tables.items()}

    def offset(self, table: str) -> IntArray:
        """See `Store`."""
        offsets = self._offsets.get(table)
        if offsets is None or len(offsets) != self._count + 1:
            counts = self._tables[table][0].array()
            offsets = self._offsets[table] = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        return offsets

    def entries(self, table: str, name: str, start: int, stop: int) -> np.ndarray:
        """See `Store`."""
        return self._tables[table][1][name].array()[start:stop]


class JoinedStore(Store):
    """Store of the rows of several stores, concatenated."""

    def __init__(self, parts: Iterable[Store]):
        self._parts = [part for part in parts if len(part)]
        self._starts = np.cumsum([0, *map(len, self._parts)])

    def __len__(self) -> int:
        return int(self._starts[-1])

    @property
    def names(self) -> tuple[str, ...]:
        """See `Store`."""
        return tuple(dict.fromkeys(name for part in self._parts for name in part.names))

    def column(self, name: str, start: int, stop: int) -> np.ndarray:
        """See `Store`."""
        like = next(part for part in self._parts if name in part.names).column(name, 0, 1)
        arrays = [_empty(like)]
        for part, first in zip(self._parts, self._starts.tolist(), strict=False):
            a, b = max(start - first, 0), min(stop - first, len(part))
            if a < b:
                arrays.append(part.column(name, a, b) if name in part.names else _missing(like, b - a))
        return np.concatenate(arrays)

    @property
    def tables(self) -> Mapping[str, tuple[str, ...]]:
        """See `Store`."""
        return self._parts[0].tables

    def offset(self, table: str) -> IntArray:
        """See `Store`."""
        counts = [np.diff(part.offset(table)) for part in self._parts]
        return np.concatenate([[0], np.cumsum(np.concatenate(counts), dtype=np.int64)])

    def entries(self, table: str, name: str, start: int, stop: int) -> np.ndarray:
        """See `Store`."""
        first = 0
        arrays: list[np.ndarray] = []
        for part in self._parts:
            count = int(part.offset(table)[-1])
            a, b = max(start - first, 0), min(stop - first, count)
            if a < b or not arrays:
                arrays.append(part.entries(table, name, max(min(a, count), 0), max(b, min(a, count), 0)))
            first += count
        return np.concatenate(arrays)


def _missing(like: np.ndarray, n: int) -> np.ndarray:
    """Return n rows of the same type and shape: NaN for real numbers, otherwise 0."""
    return np.full((n, *like.shape[1:]), np.nan if like.dtype == np.float64 else 0, like.dtype)


def _empty(like: np.ndarray) -> np.ndarray:
    """Return no rows, of the same type and shape."""
    return np.empty((0, *like.shape[1:]), like.dtype)
