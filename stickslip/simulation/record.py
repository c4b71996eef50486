"""One record of a run, for viewers and functions that watch a run."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.problem.solution import Verdict
from stickslip.simulation.contacts import WorldContacts, notebook_table
from stickslip.state import Array

if TYPE_CHECKING:
    from stickslip.simulation.trajectory import Trajectory


@dataclass(frozen=True, eq=False)
class Record:
    """One record of a `Trajectory`. Residuals and penetration are the largest since the previous record."""

    t: float
    """Time [s]."""
    h: float
    """Length of the step that ends at the record [s]; 0 at the start."""
    q: Array
    """Coordinates; for a world (x, p) of all bodies [m, -], shape (nq,); see `State`."""
    v: Array
    """Velocities; for a world (ẋ, Ω) of all bodies [m/s, rad/s], shape (nv,); see `State`."""
    verdict: Verdict
    """Worst verdict of the steps since the previous record: certified, relaxed or missed."""
    natural: float
    """Largest natural residual [-]."""
    natural_scaled: float
    """Largest unit-free natural residual [-]."""
    penetration: float
    """Deepest overlap [m]."""
    tell: Callable[[str], Any]
    """Function that returns other quantities by name, computed on access."""
    poses: Array
    """Centres of mass and unit quaternions of all bodies [m, -], shape (7 nb,): `q` of a world."""
    twists: Array
    """Velocities of the centres of mass, and spins in the frames of the bodies [m/s, rad/s], shape (6 nb,):
    `v` of a world."""

    @classmethod
    def of(cls, run: "Trajectory", k: int) -> "Record":
        """Return record k of a run."""

        def tell(name: str) -> Any:
            if name == "contacts":
                return run.contacts.part(run.contacts.at(k))
            if name == "states":
                return run.contact_states[run.contacts.at(k)]
            return float(getattr(run, name)[k])

        return cls(
            float(run.t[k]), float(run.h[k]), run.q[k], run.v[k], tuple(Verdict)[int(run.verdicts[k])],
            float(run.natural[k]), float(run.natural_scaled[k]), float(run.penetration[k]), tell,
            run.poses[k], run.twists[k],
        )  # fmt: skip

    @property
    def ok(self) -> bool:
        """Whether all steps since the previous record are certified under the exact law."""
        return self.verdict is Verdict.CERTIFIED

    def _repr_html_(self) -> str:
        """Return the HTML representation for notebooks."""
        rows = (
            ("", ""),
            ("t", f"{self.t:.6g} s"),
            ("h", f"{self.h:.6g} s"),
            ("verdict", self.verdict.value),
            ("natural", f"{self.natural:.1e}"),
            ("natural_scaled", f"{self.natural_scaled:.1e}"),
            ("penetration", f"{self.penetration:.2e} m"),
        )
        return notebook_table(rows, "record")

    @cached_property
    def energy(self) -> float:
        """Kinetic and potential energy [J]."""
        return float(self.tell("energy"))

    @cached_property
    def dissipated(self) -> float:
        """Energy dissipated in a world by contacts, joints and dampers since the start of the first run
        [J]."""
        return float(self.tell("dissipated"))

    @cached_property
    def contacts(self) -> WorldContacts:
        """Contacts of the last step of a world, as a table with one record."""
        contacts: WorldContacts = self.tell("contacts")
        return contacts

    @cached_property
    def states(self) -> np.ndarray:
        """State of each contact of a world, by name [-], shape (nc,), text."""
        return np.asarray(self.tell("states"))


Watch = Callable[[Record], None]
"""Function that is called during a run with its start and every record."""
