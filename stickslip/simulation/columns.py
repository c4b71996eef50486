"""Where the columns of a trajectory come from: its store, the whole run, or what makes them."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from stickslip.simulation.contacts import CONTACT_WIDTHS, WorldContacts
from stickslip.simulation.model import Model
from stickslip.simulation.store import MemoryStore, Store
from stickslip.state import Array, BoolArray, IntArray

LARGEST = 8 * 2**30
"""A larger column is not read in one piece [bytes]."""
KEPT = 2**26
"""Columns from files that are larger are read anew when they are asked for again [bytes]."""
CONTACT_BYTES = 264
"""Of one entry of the table of contacts, about [bytes]."""


class Columns:
    """Columns of some records by name, read or made when they are first asked for."""

    model: Any
    store: Store
    tolerance: float
    derive: Callable[..., Array] | None
    choose: Callable[..., Mapping[str, Any]] | None
    records: range | None
    given: dict[str, Any]
    whole: Any
    _known: dict[str, Any]

    def __len__(self) -> int:
        return len(self.store) if self.records is None else len(self.records)

    def column(self, name: str) -> Any:
        """A column by name [see the attribute of that name], shape (n, ...)."""
        if name in self.given:
            return self.given[name]
        if name not in self._known:
            found = self._find(name)
            if not isinstance(found, np.ndarray) or found.nbytes <= KEPT or name not in self.store.names:
                self._known[name] = found
            return found
        return self._known[name]

    @property
    def _large(self) -> bool:
        """Whether the run is too large to be read whole for the sake of one record."""
        sizes = [self.store.size("q") * len(self)]
        if "contacts" in self.store.tables:
            sizes.append(int(self.store.offset("contacts")[-1]) * CONTACT_BYTES)
        return not isinstance(self.store, MemoryStore) and max(sizes) > KEPT

    def _number(self, k: int) -> int:
        """Number of record k in the store."""
        return k if self.records is None else self.records[k]

    def _has(self, name: str) -> bool:
        return (
            name in self.given
            or name in self.store.names
            or (self.derive is not None and name in ("kinetic", "potential", "contact_work"))
        )

    def _named(self, prefix: str) -> dict[str, Array]:
        names = [name for name in self.store.names if name.startswith(prefix)]
        return {name.removeprefix(prefix): self.column(name) for name in names}

    def _find(self, name: str) -> Any:
        if name in self.store.names:
            return self._stored(name)
        if name in ("penetration", "opening") and isinstance(self.model, Model):
            return getattr(self.model, name)(self.column("y"))
        if isinstance(self.model, Model):
            if name in ("r", "choice"):
                told = self._told()
                self._known.setdefault("r", told.get("r", self.column("solver_r")))
                none = np.zeros(self.column("active").shape, np.int64)
                self._known.setdefault("choice", told.get("choice", none))
                return self._known[name]
            if name == "solver_r":
                return self._stored("r")
            if self.derive is not None and name in ("kinetic", "potential", "contact_work"):
                return self._derived(name)
        elif name in ("contacts", "joint_r"):
            told, raw = self._told(), self.column("raw_contacts")
            mine = {key: told[key] for key in ("r", "choice") if key in told}
            self._known.setdefault("contacts", replace(raw, **mine) if mine else raw)
            self._known.setdefault("joint_r", told.get("joint_r", self.column("raw_joint_r")))
            return self._known[name]
        elif name == "raw_contacts":
            return self._table("contacts", CONTACT_WIDTHS, WorldContacts)
        elif name == "contact_states":
            if self.whole is not None and "contacts" not in self.given:
                return self.whole.contact_states[self._entries_of(self.whole.contacts.offset)]
            return self.column("contacts").states(
                self.model.lightest(self.column("contacts").body), self.tolerance
            )
        elif name in ("raw_joint_r", "joint_offset", "joint_id"):
            found = self._table("joints", ("r", "id"), dict)
            return found[{"raw_joint_r": "r", "joint_offset": "offset", "joint_id": "id"}[name]]
        what = "systems" if isinstance(self.model, Model) else "a world"
        raise AttributeError(f"a run of {what} has no {name}")

    def _stored(self, name: str) -> Array:
        picked = range(len(self.store)) if self.records is None else self.records
        size = self.store.size(name) * len(picked)
        if size > LARGEST:
            raise MemoryError(
                f"{name} of these {len(self)} records takes {size / 2**30:.0f} GiB; look at part of the run,"
                f" such as run[:1000].{name}"
            )
        if self._far_apart(picked):
            found = np.concatenate([self.store.column(name, k, k + 1) for k in picked])
        else:
            found = self.store.column(name, picked[0], picked[-1] + 1)[:: picked.step]
        return locked(found)

    def _far_apart(self, picked: range) -> bool:
        """Whether records of a large file are so far apart that each is read by itself."""
        return picked.step > 1 and self._large

    def _derived(self, name: str) -> Array:
        assert self.derive is not None
        if self.records is None:
            return self.derive(name, self)
        whole = replace(self, records=None, whole=None) if self.whole is None else self.whole  # type: ignore[type-var]
        return np.asarray(whole.column(name)[self._number(0) : self._number(-1) + 1 : self.records.step])

    def _told(self) -> Mapping[str, Any]:
        """The impulses that are told, where they are chosen: those of a part from the whole run."""
        if self.choose is None or self.whole is None:
            return {} if self.choose is None else self.choose(self)
        whole = self.whole
        if isinstance(self.model, Model):
            return {"r": whole.r[self.records], "choice": whole.choice[self.records]}
        mine = self._entries_of(whole.contacts.offset)
        joints = self._entries_of(whole.joint_offset)
        return {
            "r": whole.contacts.r[mine], "choice": whole.contacts.choice[mine],
            "joint_r": whole.joint_r[joints],
        }  # fmt: skip

    def _entries_of(self, offset: IntArray) -> BoolArray:
        """Which entries of a table of the whole run are of these records [-], shape (any,), bool."""
        taken = np.zeros(len(offset) - 1, bool)
        taken[self.records] = True
        return np.repeat(taken, np.diff(offset))

    def _table(self, table: str, names: Any, make: Callable[..., Any]) -> Any:
        """The entries of these records of a table."""
        picked = range(len(self.store)) if self.records is None else self.records
        if self._far_apart(picked):
            ends = self.store.offset(table)
            parts = [(int(ends[k]), int(ends[k + 1])) for k in picked]
            offset = np.cumsum([0, *(b - a for a, b in parts)], dtype=np.int64)
            columns = {
                name: np.concatenate([self.store.entries(table, name, a, b) for a, b in parts])
                for name in names
            }
            return make(offset=locked(offset), **{x: locked(y) for x, y in columns.items()})
        offset = self.store.offset(table)[picked[0] : picked[-1] + 2]
        a, b = int(offset[0]), int(offset[-1])
        columns = {name: self.store.entries(table, name, a, b) for name in names}
        offset = offset - a
        if picked.step > 1:
            counts = np.diff(offset)
            taken = np.zeros(len(counts), bool)
            taken[:: picked.step] = True
            columns = {name: column[np.repeat(taken, counts)] for name, column in columns.items()}
            offset = np.concatenate([[0], np.cumsum(counts[taken])])
        return make(offset=locked(offset), **{name: locked(column) for name, column in columns.items()})


def locked(array: Any) -> Any:
    """An array that a store has just made, not to be written to from here on."""
    array.flags.writeable = False
    return array
