"""Columns of a trajectory: read from its store, from the complete run, or computed on access."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, overload

import numpy as np

from stickslip.names import LISTED, alternatives
from stickslip.simulation.contacts import CONTACT_WIDTHS, WorldContacts
from stickslip.simulation.model import Model
from stickslip.simulation.store import MemoryStore, Store
from stickslip.simulation.world_memory import solver_impulses
from stickslip.simulation.world_model import WorldModel
from stickslip.state import Array, BoolArray, IntArray, UnknownNameError

LARGEST = 8 * 2**30
"""Largest column that is read in one piece [bytes]."""
KEPT = 2**26
"""Largest column of a file that is cached [bytes]."""
CONTACT_BYTES = 264
"""Approximate size of one entry of the table of contacts [bytes]."""


class Named(dict[str, Array]):
    """Columns of a run by name; an unknown name raises UnknownNameError with the known ones."""

    def __init__(self, label: str, columns: Mapping[str, Array]):
        super().__init__(columns)
        self.label = label

    def __missing__(self, name: object) -> Array:
        raise UnknownNameError(f"no {name!r} among {self.label}; {alternatives(name, self, most=LISTED)}")


class Column:
    """Descriptor: a column of a trajectory, read on access."""

    def __init__(self, text: str):
        self.__doc__ = text
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, run: None, owner: type) -> "Column": ...
    @overload
    def __get__(self, run: "Columns", owner: type) -> Any: ...
    def __get__(self, run: "Columns | None", owner: type) -> Any:
        return self if run is None else run.column(self.name)


class Columns:
    """Base class of trajectories: columns of some records by name, read or computed on first access."""

    model: Any
    store: Store
    scheme: str
    tolerance: float
    derive: Callable[..., Array] | None
    choose: Callable[..., Mapping[str, Any]] | None
    records: range | None
    given: dict[str, Any]
    whole: Any
    _known: dict[str, Any]

    # 1. Columns of every run.

    t = Column("Times [s], shape (n,).")
    h = Column("Length of the step that ends at the record [s], shape (n,); 0 at the start.")
    index = Column("Number of steps since the clock's origin [-], shape (n,); -1 after a shortened step.")
    q = Column(
        "Coordinates of all systems, states x of first-order ones [m, rad, or any], shape (n, nq); of a world"
        " (x, p) of all bodies [m, -], shape (n, 7 nb), see `State`."
    )
    v = Column(
        "Velocities of all systems [m/s, rad/s], shape (n, nv); of a world (ẋ, Ω) of all bodies, shape"
        " (n, 6 nb), see `State`."
    )
    verdicts = Column(
        "Worst verdict of the steps since the previous record, by `Verdict.code`: 0 certified, 1 relaxed,"
        " 2 missed [-], shape (n,)."
    )
    natural = Column("Largest natural residual since the previous record [-], shape (n,).")
    natural_scaled = Column("Largest unit-free natural residual since the previous record [-], shape (n,).")
    iterations = Column("Number of solver iterations since the previous record [-], shape (n,).")
    kinetic = Column("Kinetic energy [J], shape (n,).")
    potential = Column(
        "Potential energy; for a world that of gravity and springs, for systems that of those whose potential"
        " is known [J], shape (n,)."
    )
    penetration = Column(
        "Deepest overlap of unilateral contacts [m], shape (n,); for a world since the previous record, for"
        " systems at the record."
    )
    opening = Column(
        "Largest error of a joint or bilateral constraint [m, rad], shape (n,); since the previous record or"
        " at the record, as `penetration`."
    )

    # 2. Columns of systems.

    z = Column("Discrete parameters of all systems [any], shape (n, nz).")
    u = Column("Variable that the laws constrain: ẏ [m/s], or y [m] at position level, shape (n, size).")
    y = Column("Outputs at the records [m, rad, or any], shape (n, size).")
    active = Column(
        "Whether a block entered a problem since the previous record [-], shape (n, blocks), bool."
    )
    forecast = Column(
        "Forecast gaps by which blocks were activated in the last step [m], shape (n, blocks); -inf: always"
        " active."
    )
    newton = Column("Number of Newton iterations of the scheme since the previous record [-], shape (n,).")
    solver_r = Column(
        "Impulses since the previous record, of the solver [N s]; values lam at the end of the step in first"
        " order, shape (n, size). `r` has the reported ones."
    )
    r = Column(
        "Impulses since the previous record [N s]; values lam at the end of the step in first order, shape"
        " (n, size). If certified impulses are not unique, they are those of least norm, unless `forces` is"
        " `solver`; they are selected on first access."
    )
    choice = Column(
        "Origin of the impulses of each block [-], shape (n, blocks): 0 the solver, uniqueness not known;"
        " 1 unique, the same in every certified solution; 2 not unique, those of least norm."
    )
    contact_work = Column(
        """Work Σ r·(u⁻ + u⁺)/2 of the contact impulses since the start of the first run [J], shape (n,).

        u = H'v + ∂y/∂t with H at the start of each step. Between bodies it is minus the energy that the
        contacts dissipate. It may increase in steps in which forces reverse the velocity of a contact, and
        for Newton's restitution with friction at coupled contacts, which can add energy (Kane and Levinson
        1985). Moving walls count as at rest. Schemes that resolve events within a step measure their work
        themselves; otherwise it is NaN, not known.
        """
    )

    # 3. Columns of worlds.

    correction = Column(
        "Largest displacement by the position correction since the previous record [m], shape (n,)."
    )
    dissipated = Column(
        "Energy dissipated by contacts, joints and dampers since the start of the first run [J], shape (n,)."
    )
    work = Column(
        "Work of actuators, users' forces and kinematic bodies since the start of the first run [J], shape"
        " (n,)."
    )
    lifted = Column(
        "Potential energy added by the position correction since the start of the first run [J], shape (n,)."
    )
    balance = Column(
        "Error of the energy balance: change of kinetic + potential + dissipated - work - lifted since the"
        " start of the first run [J], shape (n,)."
    )
    contacts = Column(
        "Contacts of every record, as `WorldContacts`. If certified impulses are not unique, they are those"
        " of least norm, unless `forces` is `solver`; they are selected on first access."
    )
    raw_contacts = Column(
        "Contacts of every record with the recorded impulses; `contacts` has the reported ones."
    )
    joint_r = Column(
        "Impulses of the joints in the last step of each record, concatenated [N s, N m s], shape (sum,),"
        " selected like those of the contacts."
    )
    raw_joint_r = Column("Recorded impulses of the joints [N s, N m s], shape (sum,).")
    joint_offset = Column("Index in `joint_r` of the first impulse of each record [-], shape (n + 1,).")
    joint_id = Column(
        "Joint and part of each of `joint_r`: 7 times the number of the joint plus the index of the part in"
        " `body_joints.PARTS`; -1 if not known [-], shape (sum,)."
    )
    contact_states = Column(
        "State of each of `contacts`, by name, shape (nc,), text: separating, sticking, slipping, ..."
    )

    def __len__(self) -> int:
        return len(self.store) if self.records is None else len(self.records)

    def column(self, name: str) -> Any:
        """Return a column by name [see the attribute of that name], shape (n, ...)."""
        if name in self.given:
            return self.given[name]
        if name not in self._known:
            column = self._find(name)
            if not isinstance(column, np.ndarray) or column.nbytes <= KEPT or name not in self.store.names:
                self._known[name] = column
            return column
        return self._known[name]

    @property
    def _large(self) -> bool:
        """Whether the run is too large to be read at once for one record."""
        sizes = [self.store.size("q") * len(self)]
        if "contacts" in self.store.tables:
            sizes.append(int(self.store.offset("contacts")[-1]) * CONTACT_BYTES)
        return not isinstance(self.store, MemoryStore) and max(sizes) > KEPT

    def number(self, k: int) -> int:
        """Return the number of record k in the store."""
        return k if self.records is None else self.records[k]

    def _has(self, name: str) -> bool:
        """Whether a column exists."""
        return (
            name in self.given
            or name in self.store.names
            or (self.derive is not None and name in ("kinetic", "potential", "contact_work"))
        )

    def _named(self, prefix: str) -> dict[str, Array]:
        """Return the columns whose names have a prefix, without it."""
        names = [name for name in self.store.names if name.startswith(prefix)]
        label = prefix.removesuffix("/")
        return Named(label, {name.removeprefix(prefix): self.column(name) for name in names})

    def _find(self, name: str) -> Any:
        """Read or compute a column."""
        if name in self.store.names and (self.choose is None or name not in ("r", "choice")):
            return self._stored(name)
        if name in ("penetration", "opening") and isinstance(self.model, Model):
            return getattr(self.model, name)(self.column("y"))
        if isinstance(self.model, Model):
            if name in ("r", "choice"):
                selected = self._selected()
                for one in ("r", "choice"):
                    self._known.setdefault(one, selected[one] if selected else self.recorded(one))
                return self._known[name]
            if name == "solver_r":
                return self._stored("r")
            if self.derive is not None and name in ("kinetic", "potential", "contact_work"):
                return self._derived(name)
        elif name in ("contacts", "joint_r"):
            selected, raw = self._selected(), self.column("raw_contacts")
            columns = {key: selected[key] for key in ("r", "choice") if key in selected}
            self._known.setdefault("contacts", replace(raw, **columns) if columns else raw)
            self._known.setdefault("joint_r", selected.get("joint_r", self.column("raw_joint_r")))
            return self._known[name]
        elif name == "raw_contacts":
            return WorldContacts(**self.entries_of("contacts", CONTACT_WIDTHS))
        elif name == "contact_scales":
            raw = self.column("raw_contacts")
            lightest = self.model.lightest(raw.body)
            return np.array(replace(raw, r=solver_impulses(self)).scales(lightest))
        elif name == "contact_states":
            whole, contacts = self if self.whole is None else self.whole, self.column("contacts")
            cut = 10.0 * self.tolerance * whole.column("contact_scales")
            return contacts.states(*cut)
        elif name in ("raw_joint_r", "joint_offset", "joint_id"):
            entries = self.entries_of("joints", ("r", "id"))
            return entries[{"raw_joint_r": "r", "joint_offset": "offset", "joint_id": "id"}[name]]
        subject = "systems" if isinstance(self.model, Model) else "a world"
        raise AttributeError(f"a run of {subject} has no {name}")

    def recorded(self, name: str) -> Array:
        """Return `r` or `choice` of systems as recorded; without a record that of the solver."""
        if name in self.store.names:
            return self._stored(name)
        return self.column("solver_r") if name == "r" else np.zeros(self.column("active").shape, np.int64)

    def _stored(self, name: str) -> Array:
        """Read a column of the store for these records."""
        picked = range(len(self.store)) if self.records is None else self.records
        size = self.store.size(name) * len(picked)
        if size > LARGEST:
            raise MemoryError(
                f"{name} of these {len(self)} records takes {size / 2**30:.0f} GiB; look at part of the run,"
                f" such as run[:1000].{name}"
            )
        if self._far_apart(picked):
            column = np.concatenate([self.store.column(name, k, k + 1) for k in picked])
        else:
            column = self.store.column(name, picked[0], picked[-1] + 1)[:: picked.step]
        return locked(column)

    def _far_apart(self, picked: range) -> bool:
        """Whether records of a large file are read one by one because they are not consecutive."""
        return picked.step > 1 and self._large

    def _derived(self, name: str) -> Array:
        """Compute an energy, for the complete run if it depends on earlier records."""
        assert self.derive is not None
        if self.records is None:
            return self.derive(name, self)
        whole = replace(self, records=None, whole=None) if self.whole is None else self.whole  # type: ignore[type-var]
        return np.asarray(whole.column(name)[self.number(0) : self.number(-1) + 1 : self.records.step])

    def _selected(self) -> Mapping[str, Any]:
        """Return the selected impulses by column, from the complete run for a part; empty without a
        selection."""
        if self.choose is None:
            return {}
        whole = self.whole
        if whole is None or (isinstance(self.model, WorldModel) and "contacts" not in whole._known):
            return self.choose(self)
        if isinstance(self.model, Model):
            return {"r": whole.r[self.records], "choice": whole.choice[self.records]}
        contacts = self._entries_of(whole.contacts.offset)
        joints = self._entries_of(whole.joint_offset)
        return {
            "r": whole.contacts.r[contacts], "choice": whole.contacts.choice[contacts],
            "joint_r": whole.joint_r[joints],
        }  # fmt: skip

    def _entries_of(self, offset: IntArray) -> BoolArray:
        """Whether an entry of a table of the complete run belongs to these records [-], shape (any,),
        bool."""
        mask = np.zeros(len(offset) - 1, bool)
        mask[self.records] = True
        return np.repeat(mask, np.diff(offset))

    def entries_of(self, table: str, names: Iterable[str]) -> dict[str, Any]:
        """Return columns of the entries of a table for these records, shape (any, ...) each, and `offset`:
        index of the first entry of each record [-], shape (n + 1,)."""
        picked = range(len(self.store)) if self.records is None else self.records
        ends = self.store.offset(table)
        if self._far_apart(picked):
            parts = [(int(ends[k]), int(ends[k + 1])) for k in picked]
            offset = np.cumsum([0, *(b - a for a, b in parts)], dtype=np.int64)
            columns = {
                name: np.concatenate([self.store.entries(table, name, a, b) for a, b in parts])
                for name in names
            }
        else:
            offset = ends[picked[0] : picked[-1] + 2]
            a, b = int(offset[0]), int(offset[-1])
            columns = {name: self.store.entries(table, name, a, b) for name in names}
            offset = offset - a
            if picked.step > 1:
                counts = np.diff(offset)
                mask = np.zeros(len(counts), bool)
                mask[:: picked.step] = True
                columns = {name: column[np.repeat(mask, counts)] for name, column in columns.items()}
                offset = np.concatenate([[0], np.cumsum(counts[mask])])
        return {name: locked(one) for name, one in columns.items()} | {"offset": locked(offset)}


def locked(array: Any) -> Any:
    """Return an array as read-only."""
    array.flags.writeable = False
    return array
