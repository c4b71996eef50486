"""Springs and dampers that are too stiff for a step.

Springs act from the middle of a step, dampers with the velocities of its start. Motions of a body then grow
from step to step if h² k > 4 m on a spring (Hairer, Lubich and Wanner 2006, Geometric Numerical Integration,
I.5.1), or if h c > 2 m on a damper. Bodies that contacts or joints hold may bear more: a step is bad only if
energies show it, too.
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
"""What is wrong, by the kernel's code."""


def rates(world: World, J_inverse: Array) -> tuple[float, float]:
    """Largest k/m of a spring [1/s²] and c/m of a damper [1/s]; m is the least that its ends may have."""
    forces, light = world.forces, np.linalg.norm(J_inverse, ord=2, axis=(1, 2))
    inverse = np.divide(1.0, world.mass, out=np.zeros(len(world.names)), where=world.mass > 0.0)

    def yields(body: IntArray, arm: Array) -> Array:
        """1/m of points of bodies in the direction in which they move most easily [1/kg], shape (k,)."""
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
    """What is wrong with a step, if anything is; arguments as the kernel has them."""
    return FAULTS[kernels.too_stiff(h, *fastest, energy, springs, balance)]
