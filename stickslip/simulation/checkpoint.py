"""Checkpoints, from which runs continue: state, memory of the scheme, clock, and energies so far."""

from dataclasses import dataclass, field
from typing import Any

from stickslip.schemes.step import Memory
from stickslip.simulation.clock import Clock
from stickslip.state import Array, State


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """State of a run from which it continues bit for bit, as if it had not been interrupted.

    Example:

        b = ss.WorldBuilder()
        b.body("ball", ss.Sphere(0.1), position=(0, 0, 1))
        run = ss.simulate(b.build(), until=0.1, h=1e-2)
        more = ss.simulate(b.build(), until=0.2, start=run.checkpoint())
    """

    state: State
    """State of the model."""
    memory: Memory
    """Memory of the scheme."""
    clock: Clock
    """Clock of the run, in steps."""
    model: Any
    """Simulated model: a `Model` of systems or a `WorldModel`."""
    scheme: str
    """Name of the scheme."""
    scheme_options: dict[str, Any] = field(default_factory=dict)
    """Options of the scheme."""
    solver: str = "auto"
    """Name of the solver."""
    tolerance: float = 1e-8
    """Tolerance of the solver [-]."""
    sums: dict[str, float] = field(default_factory=dict)
    """Energies summed over runs, and energies of the state, by column of the trajectory [J]."""
    inputs: dict[str, Array] = field(default_factory=dict)
    """Values of the inputs of a world, by name [see `DeclaredInput`], any shape. Those of other models are
    part of the state."""
