"""One recorded instant of a world: what a viewer draws, of a run that is over or of one that goes on."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stickslip.problem.solution import Verdict
from stickslip.simulation.world_contacts import WorldContacts
from stickslip.state import Array


@dataclass(frozen=True, eq=False)
class WorldRecord:
    """A row of a `WorldTrajectory`; residual and penetration are the worst since the record before."""

    t: float
    """Time [s]."""
    h: float
    """Length of the step that ended there [s]; 0 at the start."""
    q: Array
    """(x, p) of all bodies [m, -], shape (7 nb,); see `State`."""
    v: Array
    """(ẋ, Ω) of all bodies [m/s, rad/s], shape (6 nb,); see `State`."""
    verdict: Verdict
    """The worst of the steps since the record before: certified, relaxed or missed."""
    natural: float
    """Largest natural residual [-]."""
    natural_scaled: float
    """Largest unit-free natural residual [-]."""
    penetration: float
    """Deepest overlap [m]."""
    energy: float
    """Kinetic and potential energy [J]."""
    dissipated: float
    """By contacts, joints and dampers since the start of the first run [J]."""
    contacts: WorldContacts
    """Those of the last step, as those of one record."""
    tell: Callable[[], np.ndarray]
    """Gives `states` when they are first asked for: that may take as long as a step."""

    @property
    def ok(self) -> bool:
        """Whether all steps since the record before are certified under the exact law."""
        return self.verdict is Verdict.CERTIFIED

    @cached_property
    def states(self) -> np.ndarray:
        """What each contact does, by name [-], shape (nc,), text."""
        return self.tell()


Watch = Callable[[WorldRecord], None]
"""Called with the start of a run and with every record, while the run goes on."""
