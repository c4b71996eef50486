"""Where the columns of a trajectory come from: its store, the whole run, or what makes them."""

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
"""A larger column is not read in one piece [bytes]."""
KEPT = 2**26
"""Columns from files that are larger are read anew when they are asked for again [bytes]."""
CONTACT_BYTES = 264
"""Of one entry of the table of contacts, about [bytes]."""


class Named(dict[str, Array]):
    """Columns of a run by name; an unknown name is an error that lists the known ones."""

    def __init__(self, what: str, columns: Mapping[str, Array]):
        super().__init__(columns)
        self.what = what

    def __missing__(self, name: object) -> Array:
        raise UnknownNameError(f"no {name!r} among {self.what}; {alternatives(name, self, most=LISTED)}")


class Column:
    """A column of a trajectory, read when it is asked for."""

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
    """Columns of some records by name, read or made when they are first asked for."""

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
    h = Column("Length of the step that ended there [s], shape (n,); 0 at the start.")
    index = Column("Steps since the clock's origin [-], shape (n,); -1 at the end of a shortened step.")
    q = Column(
        "Coordinates of all systems, states x of first-order ones [m, rad, or any], shape (n, nq); of a world"
        " (x, p) of all bodies [m, -], shape (n, 7 nb), see `State`."
    )
    v = Column(
        "Velocities of all systems [m/s, rad/s], shape (n, nv); of a world (ẋ, Ω) of all bodies, shape"
        " (n, 6 nb), see `State`."
    )
    verdicts = Column(
        "The worst of the steps since the record before, by `Verdict.code`: 0 certified, 1 relaxed, 2 missed"
        " [-], shape (n,)."
    )
    natural = Column("Largest natural residual since the record before [-], shape (n,).")
    natural_scaled = Column("Largest unit-free natural residual since the record before [-], shape (n,).")
    iterations = Column("Iterations of the solver since the record before [-], shape (n,).")
    kinetic = Column("Kinetic energy [J], shape (n,).")
    potential = Column(
        "Potential energy, of a world gravity's and springs', of systems that of those that know it [J],"
        " shape (n,)."
    )
    penetration = Column(
        "Deepest overlap of unilateral contacts [m], shape (n,); of a world since the record before, of"
        " systems at the record."
    )
    opening = Column(
        "Largest error of a joint or bilateral constraint [m, rad], shape (n,); since the record before or at"
        " the record, as `penetration`."
    )

    # 2. Columns of systems.

    z = Column("Discrete parameters of all systems [any], shape (n, nz).")
    u = Column("What the laws constrained: ẏ [m/s], or y [m] at position level, shape (n, size).")
    y = Column("Outputs at the instants [m, rad, or any], shape (n, size).")
    active = Column("Blocks that entered a problem since the record before [-], shape (n, blocks), bool.")
    forecast = Column(
        "Forecast gaps that decided it in the last step [m], shape (n, blocks); -inf: always active."
    )
    newton = Column("Newton iterations of the scheme since the record before [-], shape (n,).")
    solver_r = Column(
        "Impulses since the record before as the solver found them [N s]; values lam at the end of the step"
        " in first order, shape (n, size). `r` has those that are told."
    )
    r = Column(
        "Impulses since the record before [N s]; values lam at the end of the step in first order, shape"
        " (n, size). Where others are certified with the same motion they are those of least norm, unless"
        " `forces` is `solver`; they are chosen when first asked for."
    )
    choice = Column(
        "How the impulses of each block were chosen [-], shape (n, blocks): 0 the solver's, and whether there"
        " are others is not known; 1 the same in every certified answer; 2 of many, those of least norm."
    )
    contact_work = Column(
        """Work Σ r·(u⁻ + u⁺)/2 of the contact impulses since the start of the first run [J], shape (n,).

        u = H'v + ∂y/∂t with H at the beginning of each step. Between bodies it is what the contacts take
        out. It grows for a moment where forces turn a contact's velocity round within a step, and where
        Newton's restitution meets friction at coupled contacts, which can give energy (Kane and Levinson
        1985). A moving wall is taken to be at rest. A scheme that resolves what happens within a step tells
        its work itself, or it is NaN: not known.
        """
    )

    # 3. Columns of worlds.

    correction = Column("Largest displacement by the position correction since the record before [m], (n,).")
    dissipated = Column("By contacts, joints and dampers since the start of the first run [J], shape (n,).")
    work = Column("Of actuators, users' forces and kinematic bodies since then [J], shape (n,).")
    lifted = Column("Potential energy that the position correction gave since then [J], shape (n,).")
    balance = Column(
        "Change of kinetic + potential + dissipated - work - lifted since then [J], shape (n,): the error."
    )
    contacts = Column(
        "The contacts of every record, as `WorldContacts`. Of many impulses with the same motion they have"
        " those of least norm, unless `forces` is `solver`; these are chosen when first asked for."
    )
    raw_contacts = Column(
        "The contacts of every record with impulses as they were recorded; `contacts` has those it tells."
    )
    joint_r = Column(
        "Impulses of the joints in the last step of each record, one record after another [N s, N m s], shape"
        " (sum,), chosen as those of the contacts."
    )
    raw_joint_r = Column("Impulses of the joints as they were recorded [N s, N m s], shape (sum,).")
    joint_offset = Column("Where the joint impulses of each record begin in `joint_r` [-], shape (n + 1,).")
    joint_id = Column(
        "Which joint each of `joint_r` is of and what it does there: 7 times the number of the joint plus"
        " that of its part in `body_joints.PARTS`; -1 where the scheme does not tell [-], shape (sum,)."
    )
    contact_states = Column(
        "What each of `contacts` does, by name, shape (nc,), text: separating, sticking, slipping, ..."
    )

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

    def number(self, k: int) -> int:
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
        what = prefix.removesuffix("/")
        return Named(what, {name.removeprefix(prefix): self.column(name) for name in names})

    def _find(self, name: str) -> Any:
        if name in self.store.names and (self.choose is None or name not in ("r", "choice")):
            return self._stored(name)
        if name in ("penetration", "opening") and isinstance(self.model, Model):
            return getattr(self.model, name)(self.column("y"))
        if isinstance(self.model, Model):
            if name in ("r", "choice"):
                told = self._told()
                for one in ("r", "choice"):
                    self._known.setdefault(one, told[one] if told else self.recorded(one))
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
            found = self.entries_of("joints", ("r", "id"))
            return found[{"raw_joint_r": "r", "joint_offset": "offset", "joint_id": "id"}[name]]
        what = "systems" if isinstance(self.model, Model) else "a world"
        raise AttributeError(f"a run of {what} has no {name}")

    def recorded(self, name: str) -> Array:
        """Of systems `r` or `choice` as the store has it, where it may be that of the solver."""
        if name in self.store.names:
            return self._stored(name)
        return self.column("solver_r") if name == "r" else np.zeros(self.column("active").shape, np.int64)

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
        return np.asarray(whole.column(name)[self.number(0) : self.number(-1) + 1 : self.records.step])

    def _told(self) -> Mapping[str, Any]:
        """The impulses that are told, where they are chosen: those of a part from the whole run."""
        if self.choose is None:
            return {}
        whole = self.whole
        if whole is None or (isinstance(self.model, WorldModel) and "contacts" not in whole._known):
            return self.choose(self)
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

    def entries_of(self, table: str, names: Iterable[str]) -> dict[str, Any]:
        """Columns of the entries that a table has for these records, shape (any, ...) each, and `offset`:
        where those of each record begin [-], shape (n + 1,)."""
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
                taken = np.zeros(len(counts), bool)
                taken[:: picked.step] = True
                columns = {name: column[np.repeat(taken, counts)] for name, column in columns.items()}
                offset = np.concatenate([[0], np.cumsum(counts[taken])])
        return {name: locked(one) for name, one in columns.items()} | {"offset": locked(offset)}


def locked(array: Any) -> Any:
    """An array that a store has just made, not to be written to from here on."""
    array.flags.writeable = False
    return array
