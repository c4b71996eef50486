"""Contacts of a run: columns of all contacts, and the table of forces per body."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from stickslip.laws import NewtonImpact, components, groups
from stickslip.problem.states import friction_states
from stickslip.state import Array, IntArray

if TYPE_CHECKING:
    from stickslip.schemes.step import Step
    from stickslip.simulation.trajectory import Trajectory

CONTACT_WIDTHS: dict[str, tuple[int, ...]] = {
    "id": (), "body": (2,), "point": (3,), "frame": (3, 3), "gap": (), "law": (4,), "r": (6,), "u": (6,),
    "choice": (),
}  # fmt: skip
"""Columns of `WorldContacts`, and the shape of each for one contact."""
WHOLE = ("id", "body", "choice")
"""Columns of integers."""
SHOWN = 12
"""Number of rows of a table that are printed."""
LEAST = 2
"""Code of the choice of impulses that are not unique, those of least norm."""
UNIQUE = ("unknown", "yes", "no")
"""Whether a force is unique among certified solutions, by the code of its choice."""
HEADINGS = (
    "t [s]", "body", "other", "id",
    *(f"{what}_{axis} [{unit}]" for what, unit in (("point", "m"), ("normal", "-")) for axis in "xyz"),
    *(f"{what}_{axis} [{unit}]" for what, unit in (("force", "N"), ("moment", "N m")) for axis in "xyz"),
    "normal force [N]", "friction force [N]", "gap [m]", "state", "unique",
)  # fmt: skip
"""Headings of the columns of a table in files."""


@dataclass(frozen=True, eq=False)
class WorldContacts:
    """Contacts of all records, concatenated: those of record k are rows offset[k] to offset[k + 1].

    They are the contacts of the problem of the last step before the record, at their positions in that step.
    The start has none.
    """

    offset: IntArray
    """First row of the contacts of each record [-], shape (n + 1,)."""
    id: IntArray
    """Identifier of each contact, constant during the contact [-], shape (nc,)."""
    body: IntArray
    """First and second body [-], shape (nc, 2)."""
    point: Array
    """Contact point, midway between the two surfaces, inertial frame [m], shape (nc, 3)."""
    frame: Array
    """Rows n, t1, t2; n from the second body to the first; inertial frame [-], shape (nc, 3, 3)."""
    gap: Array
    """Signed distance of the surfaces along n [m], shape (nc,)."""
    law: Array
    """mu, mu_roll, mu_spin, e [-, m, m, -], shape (nc, 4)."""
    r: Array
    """Impulses of the last step: N, T1, T2 [N s], rolling about t1, t2, torsion about n [N m s], shape
    (nc, 6)."""
    u: Array
    """Relative velocities at the end of the step, ordered as `r` [m/s, rad/s], shape (nc, 6)."""
    choice: IntArray
    """Origin of each impulse [-], shape (nc,): 0 the solver, uniqueness not known; 1 unique, the same in
    every certified solution; 2 not unique, that of least norm."""

    @classmethod
    def of(cls, step: "Step") -> "WorldContacts":
        """Return the contacts of a step, as a table with one record."""
        c = step.contacts
        choice = np.zeros(len(c), np.int64) if step.choice is None else step.choice
        return cls(
            np.array([0, len(c)]), c.id, c.body, c.point, c.frame, c.gap, c.law, step.r, step.u, choice
        )

    def __len__(self) -> int:
        return self.id.size

    def at(self, k: int) -> slice:
        """Return the rows of record k."""
        n = self.offset.size - 1
        if not -n <= k < n:
            raise IndexError(f"record {k} of a trajectory of {n} records")
        return slice(int(self.offset[k % n]), int(self.offset[k % n + 1]))

    def part(self, rows: slice) -> "WorldContacts":
        """Return some rows as a table with one record."""
        columns = {name: getattr(self, name)[rows] for name in CONTACT_WIDTHS}
        return WorldContacts(offset=np.array([0, len(columns["id"])]), **columns)

    def of_records(self, which: slice) -> "WorldContacts":
        """Return the contacts of some records."""
        counts = np.diff(self.offset)
        mask = np.zeros(len(counts), bool)
        mask[which] = True
        rows = np.repeat(mask, counts)
        columns = {name: getattr(self, name)[rows] for name in CONTACT_WIDTHS}
        return WorldContacts(offset=np.concatenate([[0], np.cumsum(counts[mask])]), **columns)

    @property
    def record(self) -> IntArray:
        """Number of the record of each contact [-], shape (nc,)."""
        return np.repeat(np.arange(self.offset.size - 1), np.diff(self.offset))

    def force(self, h: Array) -> tuple[Array, Array]:
        """Return force [N] and moment about the contact point [N m] on the first body, inertial frame, shape
        (nc, 3) each; h: lengths of the last steps of the records [s], shape (n,)."""
        per_second = self.r / np.where(h > 0.0, h, 1.0)[self.record][:, None]
        torsion_first = per_second[:, [5, 3, 4]]  # about n, t1, t2, as the rows of the frame are
        return (
            np.einsum("ki,kij->kj", per_second[:, :3], self.frame),
            np.einsum("ki,kij->kj", torsion_first, self.frame),
        )

    def scales(self, lightest: Array) -> tuple[float, float]:
        """Return the largest impulse [N s, N m s], and the largest of velocities and of impulses over masses
        [m/s, rad/s]; lightest: mass of the lighter body of each contact [kg], shape (nc,)."""
        with np.errstate(all="ignore"):  # values of diverged runs may overflow
            changes = np.where(np.isfinite(lightest), self.r[:, 0] / lightest, 0.0)
            return _largest(self.r), max(_largest(self.u), _largest(changes))

    def states(self, cut_r: float, cut_u: float) -> np.ndarray:
        """Return the state of each contact, by name, shape (nc,). Impulses below cut_r [N s] and velocities
        below cut_u [m/s] count as zero; runs use ten times the tolerance, relative to `scales`."""
        names = np.full(len(self), "", object)
        every = groups(self.law)
        for family in np.unique(every, axis=0):  # contacts whose cones have the same groups
            rows = np.flatnonzero((every == family).all(axis=1))
            used, K = components(self.law[rows[:1]])[0], NewtonImpact.of(self.law[rows[0]]).K
            mu, r, u = self.law[rows][:, family], self.r[rows][:, used], self.u[rows][:, used]
            names[rows], _ = friction_states(r, u, K.groups(0), mu, cut_r, cut_u)
        return names


@dataclass(frozen=True, eq=False)
class ContactTable:
    """Table of contact forces: one row for each body of each contact of each record. Printing shows the
    first rows.
    """

    t: Array
    """Time of the record [s], shape (m,)."""
    body: np.ndarray
    """Name of the body on which the force acts [-], shape (m,), text."""
    other: np.ndarray
    """Name of the body that exerts it [-], shape (m,), text."""
    id: IntArray
    """Identifier of the contact, constant during the contact [-], shape (m,)."""
    point: Array
    """Contact point, inertial frame [m], shape (m, 3)."""
    normal: Array
    """Normal from `other` to `body`, inertial frame [-], shape (m, 3)."""
    force: Array
    """Force on `body`, inertial frame, mean over the step that ends at the record [N], shape (m, 3)."""
    moment: Array
    """Moment on `body` about the point, by rolling and torsional friction, inertial [N m], shape (m, 3)."""
    normal_force: Array
    """Component of the force along `normal` [N], shape (m,)."""
    friction_force: Array
    """Magnitude of the tangential force [N], shape (m,)."""
    gap: Array
    """Signed distance of the surfaces in the problem of the step [m], shape (m,)."""
    state: np.ndarray
    """State: separating, sticking, slipping, rolling, ... [-], shape (m,), text."""
    unique: np.ndarray
    """Whether the force is unique among certified solutions [-], shape (m,), text: yes, no, unknown."""

    def __len__(self) -> int:
        return self.t.size

    def rows(self) -> Iterator[tuple[float | int | str, ...]]:
        """Yield the rows as plain values in the order of `HEADINGS`: t, body, other, id, point (3), normal
        (3), force (3), moment (3), normal force, friction force, gap, state, unique."""
        for start in range(0, len(self), 4096):
            part = slice(start, start + 4096)
            numbers = np.concatenate(
                [
                    self.point[part], self.normal[part], self.force[part], self.moment[part],
                    self.normal_force[part, None], self.friction_force[part, None], self.gap[part, None],
                ],
                axis=1,
            ).tolist()  # fmt: skip
            for t, body, other, number, row, state, unique in zip(
                self.t[part].tolist(), self.body[part], self.other[part], self.id[part].tolist(), numbers,
                self.state[part], self.unique[part], strict=True,
            ):  # fmt: skip
                yield (t, body, other, number, *row, state, unique)

    def write_csv(self, path: str | PathLike[str]) -> None:
        """Write the table as comma-separated values, with a line of headings and every digit."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(HEADINGS)
        writer.writerows(self.rows())
        # `files` is above this room in the import ladder, and is imported on use.
        import_module("stickslip.files.problems").replace_file(Path(path), text.getvalue().encode())

    def _shown(self) -> list[tuple[str, ...]]:
        """Return headings and the first rows, as text."""
        lines: list[tuple[str, ...]] = [
            ("t [s]", "body", "other", "force on body [N]", "normal [N]", "friction [N]", "gap [m]", "state",
             "unique"),
        ]  # fmt: skip
        for k in range(min(len(self), SHOWN)):
            force = " ".join(f"{x + 0.0:.4g}" for x in self.force[k])
            numbers = (f"{self.normal_force[k]:.4g}", f"{self.friction_force[k]:.4g}", f"{self.gap[k]:.2g}")
            names = (f"{self.t[k]:.6g}", self.body[k], self.other[k], force)
            lines.append((*names, *numbers, self.state[k], self.unique[k]))
        return lines

    @property
    def _more(self) -> str:
        """Number of rows that are not shown, as text; empty without any."""
        hidden = len(self) - SHOWN
        return f"... {hidden} more" if hidden > 0 else ""

    def __str__(self) -> str:
        lines = self._shown()
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        text = ["  ".join(f"{x:<{w}}" for x, w in zip(line, widths, strict=True)).rstrip() for line in lines]
        return "\n".join([f"contact forces, {len(self)} rows", *text, *([self._more] if self._more else [])])

    def _repr_html_(self) -> str:
        """Return the HTML representation for notebooks."""
        return notebook_table(self._shown(), f"contact forces, {len(self)} rows", self._more)


def notebook_table(lines: Sequence[Sequence[str]], title: str, note: str = "") -> str:
    """Return a table for notebooks as HTML, from headings and rows of text."""
    # `view` is above this room in the import ladder, and is imported on use.
    return str(import_module("stickslip.view.notebook").table_html(lines, title, note))


def contact_table(run: "Trajectory", body: int | None) -> ContactTable:
    """Return the table of contact forces of a run on every body, or on one body by number."""
    contacts = run.contacts
    force, moment = contacts.force(run.h)
    states = run.contact_states
    side = np.tile([0, 1], len(contacts))
    rows = np.repeat(np.arange(len(contacts)), 2)
    if body is not None:
        keep = contacts.body[rows, side] == body
        rows, side = rows[keep], side[keep]
    sign = 1.0 - 2.0 * side[:, None]
    names = np.array(run.model.names, object)
    normal = contacts.frame[rows, 0]
    across = force[rows] - np.einsum("ki,ki->k", force[rows], normal)[:, None] * normal
    return ContactTable(
        t=run.t[contacts.record[rows]], body=names[contacts.body[rows, side]],
        other=names[contacts.body[rows, 1 - side]], id=contacts.id[rows], point=contacts.point[rows],
        normal=sign * normal, force=sign * force[rows], moment=sign * moment[rows],
        normal_force=np.einsum("ki,ki->k", force[rows], normal),
        friction_force=np.linalg.norm(across, axis=1), gap=contacts.gap[rows], state=states[rows],
        unique=np.array(UNIQUE, object)[contacts.choice[rows]],
    )  # fmt: skip


def _largest(x: Array) -> float:
    """Return the largest finite magnitude; 0 for none."""
    return float(np.max(np.abs(x), initial=0.0, where=np.isfinite(x)))
