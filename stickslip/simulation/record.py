"""One recorded instant: what a viewer draws, of a run that is over or of one that goes on."""

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
    """One row of a `Trajectory`. Residual and penetration are the worst since the record before."""

    t: float
    """Time [s]."""
    h: float
    """Length of the step that ended there [s]; 0 at the start."""
    q: Array
    """Coordinates, of a world (x, p) of all bodies [m, -], shape (nq,); see `State`."""
    v: Array
    """Velocities, of a world (ẋ, Ω) of all bodies [m/s, rad/s], shape (nv,); see `State`."""
    verdict: Verdict
    """The worst of the steps since the record before: certified, relaxed or missed."""
    natural: float
    """Largest natural residual [-]."""
    natural_scaled: float
    """Largest unit-free natural residual [-]."""
    penetration: float
    """Deepest overlap [m]."""
    tell: Callable[[str], Any]
    """Gives what takes longer when it is first asked for."""
    poses: Array
    """Centres of mass and unit quaternions of all bodies [m, -], shape (7 nb,): `q` of a world."""
    twists: Array
    """Their velocities, and spins in the frames of the bodies [m/s, rad/s], shape (6 nb,): `v` of a world."""

    @classmethod
    def of(cls, run: "Trajectory", k: int) -> "Record":
        """Record k of a run."""

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
        """Whether all steps since the record before are certified under the exact law."""
        return self.verdict is Verdict.CERTIFIED

    def _repr_html_(self) -> str:
        """The record in notebooks."""
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
        """Contacts of the last step of a world, as those of one record."""
        found: WorldContacts = self.tell("contacts")
        return found

    @cached_property
    def states(self) -> np.ndarray:
        """State of each contact of a world, by name [-], shape (nc,), text."""
        return np.asarray(self.tell("states"))


Watch = Callable[[Record], None]
"""Called with the start of a run and with every record, while the run goes on."""
