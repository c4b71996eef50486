"""The scheme's memory at every record of a run of a world: the run goes on from it, and steps are made again.

It stands in tables `memories/NAME`, any number of rows a record. What semi-explicit Moreau-Jean remembers of
contacts and joints stands in the tables of these, too, and is left out where both are the same: everywhere
but at the start, and where a record tells other impulses than the solver's. `memories/pending` has a row for
each record whose impulses are the solver's until somebody asks for those that it tells.
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
"""The scheme whose memory is in part that of tables of contacts and joints."""
PREFIX, VALUE = "memories/", "value"
"""What names of these tables begin with, and the name of their one column."""
SHARED = ("id", "frame", "r", "joint_id", "joint_size", "joint_r")
"""What it remembers and these tables have as well."""
PENDING = f"{PREFIX}pending"
MOST_NUMBERS = 4096
"""A larger memory of a world's equations is kept at the end of a run alone."""


class MemoryTables:
    """Makes the tables of the memories of one run."""

    def __init__(self, scheme: Any, first: Memory):
        """first: the memory of the start."""
        scheme_name, _ = registry.described(scheme)
        self._shares = scheme_name == SHARING
        fixed = sum(one.size for one in first.values()) if isinstance(scheme, ByEquations) else 0
        kept = scheme_name in registry.names() and fixed <= MOST_NUMBERS
        self._none = {name: np.zeros((0, *one.shape[1:])) for name, one in first.items()} if kept else {}
        """No rows, by name."""
        if kept:
            self._none["pending"] = np.zeros(0)

    @property
    def kept(self) -> bool:
        """Whether the memory of every record is kept, so that its last step can be made again."""
        return bool(self._none)

    def of_step(self, memory: Memory, told: bool, pending: bool) -> Memory:
        """What is kept of a memory; told: the record may have other impulses than the solver's; pending: it
        has the solver's until somebody asks."""
        known = set(SHARED if self._shares else ()) - ({"r", "joint_r"} if told else set())
        found = {name: one for name, one in memory.items() if name not in known and name in self._none}
        return found | ({"pending": np.ones(1)} if pending else {})

    def of_steps(self, kept: Sequence[Memory]) -> dict[str, Table]:
        """Tables of some steps, of which these are kept."""
        found = {}
        for name, none in self._none.items():
            parts = [one.get(name, none) for one in kept]
            counts = np.array([len(one) for one in parts], np.int64)
            found[PREFIX + name] = Table(counts, {VALUE: np.concatenate([none, *parts])})
        return found

    def of_strip(self, strip: Strip, n: int, ends: Sequence[int], pending: bool) -> dict[str, Table]:
        """Tables of the first n steps of a strip, of which those at `ends` are recorded, with the solver's
        impulses; pending: until somebody asks."""
        room, offset = strip.room, strip.room.contacts.offset
        closes = np.zeros(n, np.int64)
        closes[ends] = 1
        found = {name: Table(np.zeros_like(closes), {VALUE: none}) for name, none in self._none.items()}
        found["point"] = Table(np.diff(offset[: n + 1]), {VALUE: room.local[: offset[n]]})
        found["reserve"] = Table(closes, {VALUE: room.numbers[ends, kernels.RESERVE]})
        if pending:
            found["pending"] = Table(closes, {VALUE: np.ones(len(ends))})
        return {PREFIX + name: table for name, table in found.items()}


def memory_at(run: "Columns", k: int) -> Memory | None:
    """The scheme's memory at record k; None where the run keeps that of its end alone."""
    store, number = run.store, run.number(k)
    found = {
        table.removeprefix(PREFIX): _entries(run, table, VALUE, number)
        for table in store.tables
        if table.startswith(PREFIX) and table != PENDING
    }
    if not any(map(len, found.values())):
        return None  # of a file from before they were kept
    if run.scheme != SHARING:
        return found
    shared = {name: _entries(run, "contacts", name, number) for name in ("id", "frame", "r")}
    shared["joint_r"], ids = (_entries(run, "joints", name, number) for name in ("r", "id"))
    first = np.flatnonzero(np.diff(ids, prepend=-2))
    shared["joint_id"], shared["joint_size"] = ids[first], np.diff(np.append(first, ids.size))
    return {
        name: one if len(one) or not len(shared.get(name, ())) else np.array(shared[name], float)
        for name, one in found.items()
    }


def pending(run: "Columns") -> IntArray:
    """Which records have the solver's impulses until somebody asks for those that they tell [-], shape
    (any,)."""
    if PENDING not in run.store.tables:
        return np.zeros(0, np.int64)
    return np.flatnonzero(np.diff(run.entries_of(PENDING, ())["offset"]))


def solver_impulses(run: "Columns") -> Array:
    """Impulses of all contacts of a run as the solver found them [N s, N m s], shape (nc, 6)."""
    contacts = run.column("raw_contacts")
    return _solvers(run, "r", contacts.r, contacts.offset)[0]


def stored_tables(run: "Columns", told: bool) -> dict[str, Table]:
    """The tables of memories of a run in a file; told: whose records have their impulses chosen."""
    found = {}
    for table in (name for name in run.store.tables if name.startswith(PREFIX)):
        one = run.entries_of(table, (VALUE,))
        found[table] = Table(np.diff(one["offset"]), {VALUE: one[VALUE]})
    if told and found:
        found[PENDING] = Table(np.zeros(len(run), np.int64), {VALUE: np.zeros(0)})
    if told and found and run.scheme == SHARING:
        contacts = run.column("raw_contacts")
        joints = run.column("raw_joint_r"), run.column("joint_offset")
        for name, given in (("r", (contacts.r, contacts.offset)), ("joint_r", joints)):
            values, counts = _solvers(run, name, *given, starts=True)
            found[PREFIX + name] = Table(counts, {VALUE: values})
    return found


def _solvers(
    run: "Columns", name: str, told: Array, offset: IntArray, starts: bool = False
) -> tuple[Array, IntArray]:  # fmt: skip
    """Impulses as the solver found them, of those that records tell, and how many each record has. starts:
    with those that a run begins with."""
    counts = np.diff(offset)
    if run.scheme != SHARING or PREFIX + name not in run.store.tables:
        return told, counts
    own = run.entries_of(PREFIX + name, (VALUE,))
    kept = np.diff(own["offset"])
    both, first = (counts > 0) & (kept > 0), (counts == 0) & starts
    sizes = np.where(first, kept, counts)
    found, size = np.empty((int(sizes.sum()), *told.shape[1:])), np.repeat
    found[size(~first, sizes)] = told
    found[size(both | first, sizes)] = own[VALUE][size(both | first, kept)]
    return found, sizes


def _entries(run: "Columns", table: str, name: str, number: int) -> Any:
    """Those of one record of the store [any], shape (any, ...)."""
    start, stop = run.store.offset(table)[number : number + 2].tolist()
    return run.store.entries(table, name, start, stop)
