"""Moreau-Jean for worlds of bodies, semi-explicit: contacts, rows and forces at the middle of the step.

    q_m = q_k ⊕ (1-θ) h v_k                                       contacts, H and F are taken here
    M v_free = M v* + h F                                         v*: v_k after free rotation alone
    M v_{k+1} = M v_free + H r                                    over contacts with forecast gaps <= 0
    K* ∋ û_{k+1} + e min(u*_N, 0) e_N ⟂ r ∈ K                     De Saxcé's form of Coulomb's law
    q_{k+1} = q_k ⊕ h ((1-θ) v_k + θ v_{k+1})

⊕ adds to positions and turns orientations by Cayley's map (`kernels/bodies/rotation.py`). With θ = 1/2 it is
Moreau's midpoint form (Moreau 1999, Numerical aspects of the sweeping process, 5.2).
Because M is constant, the kinetic energy changes by h F + H r times (v* + v_{k+1}) / 2 exactly: with θ = 1/2
and constant forces the balance of energy is rounding; springs leave O(h³) per step, other θ O(h²).
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from stickslip.detection.contacts import ContactSet
from stickslip.kernels.bodies import motion
from stickslip.mechanics.world import World
from stickslip.options import Options, option
from stickslip.problem.checks import frozen
from stickslip.problem.solution import Solution
from stickslip.schemes.body_blocks import Blocks
from stickslip.schemes.body_correction import Corrected, corrected
from stickslip.schemes.body_step import BodyStep, EnergyTerms
from stickslip.schemes.body_world import Bodies
from stickslip.schemes.step import Memory, Solver, frozen_state
from stickslip.state import Array, ModelError, State


class Finder(Protocol):
    """Where shapes touch: a `Detector` of the same world."""

    def find(self, q: Array, margin: float) -> ContactSet:
        """All contacts at q, shape (7 n,), whose gap is at most `margin` [m]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MoreauJeanBodies(Options):
    """Moreau-Jean time-stepping for worlds of bodies."""

    theta: float = option(
        0.5, "weight of the end of the step; 0.5 keeps energy where nothing takes it", low=0.5, high=1.0
    )
    impact: str = option(
        "newton", "law of restitution: on velocities, or on impulses in two phases",
        choices=("newton", "poisson"),
    )  # fmt: skip
    correction: bool = option(
        True, "move bodies apart that overlap after a step, never giving energy that contacts did not take"
    )
    sweeps: int = option(
        50, "most sweeps of a correction; what it leaves is reported, and left to the next steps", low=1
    )

    def begin(self, world: World, state: State, h: float) -> Memory:
        """The memory before the first step; a ModelError where the world cannot be carried from `state`."""
        world.check_state(state)
        Bodies.of(world)
        return {
            "id": np.zeros(0),
            "point": np.zeros((0, 3)),
            "r": np.zeros((0, 6)),
            "joint_r": np.zeros(0),
            "reserve": np.zeros(1),
        }

    def step(
        self, world: World, state: State, memory: Memory, h: float, solver: Solver, detector: Finder
    ) -> BodyStep:
        """The step of length h that begins at `state`."""
        raise NotImplementedError
