"""Store of the rows of a run in an HDF5 file."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from stickslip.files import run_parts as parts
from stickslip.files.hdf5 import Source
from stickslip.files.run_parts import Field
from stickslip.simulation.store import Store
from stickslip.state import IntArray


class FileStore(Store):
    """Rows in an HDF5 file, read on demand."""

    def __init__(self, source: Source, group: Any, columns: dict[str, tuple[Any, Field]], n: int):
        self._source, self._group, self._columns, self._n = source, group, columns, n
        self._offsets: dict[str, IntArray] = {}
        self._fields: dict[str, dict[str, tuple[Any, Field]]] = {}

    def add_table(self, table: str, fields: list[Field], group: str = "") -> None:
        """Add a table, in a group of the same name by default; its offsets are read and checked."""
        place = self._source.group(self._group, group or table)
        count = self._source.shape(place, fields[0].name)[0]
        self._offsets[table] = parts.read_offset(self._source, place, self._n, count)
        self._fields[table] = {one.name: (place, one) for one in fields}
        check_shapes(self._source, self._fields[table], count)

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


def check_shapes(source: Source, fields: dict[str, tuple[Any, Field]], rows: int) -> None:
    """Refuse datasets whose shapes differ from those of their fields."""
    for place, field in fields.values():
        if field.optional and not source.has(place, field.name):
            continue
        expectation = (rows, int(np.prod(field.width))) if field.width else (rows,)
        shape = source.shape(place, field.name)
        if shape != expectation:
            source.fail(f"{place.name}/{field.name}", f"numbers of shape {expectation}", f"shape {shape}")
