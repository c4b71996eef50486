"""Check for springs and dampers that are too stiff for the step length.

Spring forces are evaluated at the midpoint of a step, damper forces with the velocities at its start. The
motion of a free body is then unstable if h² k > 4 m for a spring (Hairer, Lubich and Wanner 2006, Geometric
Numerical Integration, I.5.1), or if h c > 2 m for a damper. Contacts and joints may allow larger values, so
that a step fails only if its energies are wrong as well.
"""

import numpy as np

from stickslip.kernels.bodies import springs as kernels
from stickslip.kernels.bodies.layout import Energies
from stickslip.mechanics.world import World
from stickslip.state import Array, IntArray

FAULTS = (
    "",
    "dampers give energy: they are too stiff for a step of this length; use a smaller h",
    "springs make energy: they are too stiff for a step of this length; use a smaller h",
)
"""Faults by the code of the kernel; empty without a fault."""


def rates(world: World, J_inverse: Array) -> tuple[float, float]:
    """Return the largest k/m of a spring [1/s²] and c/m of a damper [1/s], with the least effective mass m of
    their ends."""
    forces, light = world.forces, np.linalg.norm(J_inverse, ord=2, axis=(1, 2))
    inverse = np.divide(1.0, world.mass, out=np.zeros(len(world.names)), where=world.mass > 0.0)

    def yields(body: IntArray, arm: Array) -> Array:
        """Return 1/m of points of bodies in the direction of their least effective mass [1/kg], shape
        (k,)."""
        moves = inverse[body] + light[body] * np.einsum("ki,ki->k", arm, arm)
        return np.where(body >= 0, moves, 0.0)

    stiff, damp = 0.0, 0.0
    if forces.springs is not None:
        s = forces.springs
        both = yields(s.body[:, 0], s.point[:, 0]) + yields(s.body[:, 1], s.point[:, 1])
        stiff, damp = float((s.stiffness * both).max()), float((s.damping * both).max())
    if forces.dampers is not None:
        d = forces.dampers
        turns = sum(np.where(d.body[:, k] >= 0, light[d.body[:, k]], 0.0) for k in (0, 1))
        both = yields(d.body[:, 0], d.point) + yields(d.body[:, 1], np.zeros_like(d.point))
        damp = max(damp, float((d.linear * both).max()), float((d.angular * turns).max()))
    return stiff, damp


def too_stiff(
    h: float, fastest: tuple[float, float], energy: Energies, springs: float, balance: float
) -> str:
    """Return the fault of a step whose springs or dampers are too stiff; arguments as those of the kernel."""
    return FAULTS[kernels.too_stiff(h, *fastest, energy, springs, balance)]
