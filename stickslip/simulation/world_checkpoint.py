"""Where a run of a world can go on from: the state, the scheme's memory, the clock and the sums so far."""

from dataclasses import dataclass, field
from typing import Any

from stickslip.schemes.step import Memory
from stickslip.simulation.clock import Clock
from stickslip.simulation.world_model import WorldModel
from stickslip.state import State


@dataclass(frozen=True, slots=True)
class EnergySums:
    """Where energy went since the start of the first run."""

    dissipated: float = 0.0
    """By contacts, joints and dampers [J]."""
    work: float = 0.0
    """Of actuators, users' forces and kinematic bodies [J]."""
    lifted: float = 0.0
    """Potential energy that the position correction gave [J]."""
    balance: float = 0.0
    """What is left of kinetic + potential + dissipated - work - lifted [J]."""
    kinetic: float | None = None
    """Kinetic energy there [J]; None: as the state says."""
    potential: float | None = None
    """Potential energy there [J]; None: as the state says, which may differ in the last bit."""


@dataclass(frozen=True, eq=False)
class WorldCheckpoint:
    """All that a run of a world needs to go on, bit for bit, as if it had not been interrupted."""

    state: State
    """Where everything is."""
    memory: Memory
    """What the scheme carries from step to step."""
    clock: Clock
    """When it is, in steps."""
    sums: EnergySums
    """Where energy went up to here."""
    model: WorldModel
    """What is simulated."""
    scheme: str
    """Name of the scheme."""
    scheme_options: dict[str, Any] = field(default_factory=dict)
    """Its options."""
    solver: str = "auto"
    """Name of the solver."""
    tolerance: float = 1e-8
    """Its tolerance [-]."""
