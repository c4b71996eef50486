"""The scheme's memory at every record of a run of a world, from which the run can continue or be repeated.

It is stored in tables `memories/NAME`, with any number of rows per record. The memory of semi-explicit
Moreau-Jean is partly that of the tables of contacts and joints, and only differences are stored: at the
start, and for records with other impulses than the solver's. `memories/pending` has a row for each record
whose reported impulses are not selected yet.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.kernels.steps import bodies as kernels
from stickslip.schemes import registry
from stickslip.schemes.body_march import Strip
from stickslip.schemes.equations_scheme import ByEquations
from stickslip.schemes.step import Memory
from stickslip.simulation.rows import Table
from stickslip.state import Array, IntArray

if TYPE_CHECKING:
    from stickslip.simulation.columns import Columns

SHARING = "moreau-jean-semi-explicit"
"""Scheme whose memory is partly that of the tables of contacts and joints."""
PREFIX, VALUE = "memories/", "value"
"""Prefix of the names of these tables, and the name of their single column."""
SHARED = ("id", "frame", "r", "joint_id", "joint_size", "joint_r")
"""Entries of its memory that the tables of contacts and joints contain."""
PENDING = f"{PREFIX}pending"
"""Table of the records whose reported impulses are not selected yet."""
MOST_NUMBERS = 4096
"""Largest memory of a world's equations that is stored for every record; larger ones are stored only at the
end (heuristic)."""


class MemoryTables:
    """Tables of the memories of one run."""

    def __init__(self, scheme: Any, first: Memory):
        """first: the memory of the start."""
        scheme_name, _ = registry.described(scheme)
        self._shares = scheme_name == SHARING
        fixed = sum(one.size for one in first.values()) if isinstance(scheme, ByEquations) else 0
        fits = scheme_name in registry.names() and fixed <= MOST_NUMBERS
        self._none = {name: np.zeros((0, *one.shape[1:])) for name, one in first.items()} if fits else {}
        """Empty tables, by name."""
        if fits:
            self._none["pending"] = np.zeros(0)

    @property
    def kept(self) -> bool:
        """Whether the memory of every record is stored, so that its last step can be repeated."""
        return bool(self._none)

    def of_step(self, memory: Memory, told: bool, pending: bool) -> Memory:
        """Return the stored part of a memory. told: whether the record may have other impulses than the
        solver's; pending: whether its reported impulses are not selected yet."""
        in_tables = set(SHARED if self._shares else ()) - ({"r", "joint_r"} if told else set())
        stored = {name: one for name, one in memory.items() if name not in in_tables and name in self._none}
        return stored | ({"pending": np.ones(1)} if pending else {})

    def of_steps(self, kept: Sequence[Memory]) -> dict[str, Table]:
        """Return the tables of single steps, from the stored parts of their memories."""
        tables = {}
        for name, none in self._none.items():
            parts = [one.get(name, none) for one in kept]
            counts = np.array([len(one) for one in parts], np.int64)
            tables[PREFIX + name] = Table(counts, {VALUE: np.concatenate([none, *parts])})
        return tables

    def of_strip(self, strip: Strip, n: int, ends: Sequence[int], pending: bool) -> dict[str, Table]:
        """Return the tables of the first n steps of a strip, of which those at `ends` are recorded; pending:
        whether their reported impulses are not selected yet."""
        room, offset = strip.room, strip.room.contacts.offset
        closes = np.zeros(n, np.int64)
        closes[ends] = 1
        tables = {name: Table(np.zeros_like(closes), {VALUE: none}) for name, none in self._none.items()}
        tables["point"] = Table(np.diff(offset[: n + 1]), {VALUE: room.local[: offset[n]]})
        tables["reserve"] = Table(closes, {VALUE: room.numbers[ends, kernels.RESERVE]})
        if pending:
            tables["pending"] = Table(closes, {VALUE: np.ones(len(ends))})
        return {PREFIX + name: table for name, table in tables.items()}


def memory_at(run: "Columns", k: int) -> Memory | None:
    """Return the scheme's memory at record k; None if the run has only that of its end."""
    store, number = run.store, run.number(k)
    arrays = {
        table.removeprefix(PREFIX): _entries(run, table, VALUE, number)
        for table in store.tables
        if table.startswith(PREFIX) and table != PENDING
    }
    if not any(map(len, arrays.values())):
        return None  # a file of an earlier version
    if run.scheme != SHARING:
        return arrays
    shared = {name: _entries(run, "contacts", name, number) for name in ("id", "frame", "r")}
    shared["joint_r"], ids = (_entries(run, "joints", name, number) for name in ("r", "id"))
    first = np.flatnonzero(np.diff(ids, prepend=-2))
    shared["joint_id"], shared["joint_size"] = ids[first], np.diff(np.append(first, ids.size))
    return {
        name: one if len(one) or not len(shared.get(name, ())) else np.array(shared[name], float)
        for name, one in arrays.items()
    }


def pending(run: "Columns") -> IntArray:
    """Return the records whose reported impulses are not selected yet [-], shape (any,)."""
    if PENDING not in run.store.tables:
        return np.zeros(0, np.int64)
    return np.flatnonzero(np.diff(run.entries_of(PENDING, ())["offset"]))


def solver_impulses(run: "Columns") -> Array:
    """Return the solver's impulses of all contacts of a run [N s, N m s], shape (nc, 6)."""
    contacts = run.column("raw_contacts")
    return _solvers(run, "r", contacts.r, contacts.offset)[0]


def stored_tables(run: "Columns", told: bool) -> dict[str, Table]:
    """Return the tables of memories of a run for a file; told: whether its impulses have been selected."""
    tables = {}
    for table in (name for name in run.store.tables if name.startswith(PREFIX)):
        one = run.entries_of(table, (VALUE,))
        tables[table] = Table(np.diff(one["offset"]), {VALUE: one[VALUE]})
    if told and tables:
        tables[PENDING] = Table(np.zeros(len(run), np.int64), {VALUE: np.zeros(0)})
    if told and tables and run.scheme == SHARING:
        contacts = run.column("raw_contacts")
        joints = run.column("raw_joint_r"), run.column("joint_offset")
        for name, source in (("r", (contacts.r, contacts.offset)), ("joint_r", joints)):
            values, counts = _solvers(run, name, *source, starts=True)
            tables[PREFIX + name] = Table(counts, {VALUE: values})
    return tables


def _solvers(
    run: "Columns", name: str, told: Array, offset: IntArray, starts: bool = False
) -> tuple[Array, IntArray]:  # fmt: skip
    """Return the solver's impulses for the reported ones of records, and their number for each record;
    starts: include those at the start of a run."""
    counts = np.diff(offset)
    if run.scheme != SHARING or PREFIX + name not in run.store.tables:
        return told, counts
    entries = run.entries_of(PREFIX + name, (VALUE,))
    lengths = np.diff(entries["offset"])
    both, first = (counts > 0) & (lengths > 0), (counts == 0) & starts
    sizes = np.where(first, lengths, counts)
    result, size = np.empty((int(sizes.sum()), *told.shape[1:])), np.repeat
    result[size(~first, sizes)] = told
    result[size(both | first, sizes)] = entries[VALUE][size(both | first, lengths)]
    return result, sizes


def _entries(run: "Columns", table: str, name: str, number: int) -> Any:
    """Return the entries of a table for one record of the store [any], shape (any, ...)."""
    start, stop = run.store.offset(table)[number : number + 2].tolist()
    return run.store.entries(table, name, start, stop)
