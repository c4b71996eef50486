"""Energy and momentum of the dynamic bodies of a world."""

import numpy as np

from stickslip.mechanics.world import World
from stickslip.rotations import matrices
from stickslip.state import Array


def kinetic(world: World, v: Array) -> float:
    """Kinetic energy Σ m ẋ²/2 + Ω'J Ω/2 of the dynamic bodies [J]."""
    rates = v.reshape(-1, 6)
    turning = np.einsum("ni,nij,nj->", rates[:, 3:], world.inertia, rates[:, 3:])
    return 0.5 * float(world.mass @ np.einsum("ni,ni->n", rates[:, :3], rates[:, :3]) + turning)


def potential(world: World, t: float, q: Array) -> float:
    """Potential energy -Σ m g·x of gravity, plus that of springs [J]."""
    weight = float(world.mass @ (q.reshape(-1, 7)[:, :3] @ world.gravity))
    return world.forces.potential(t, q) - weight


def momentum(world: World, q: Array, v: Array) -> tuple[Array, Array]:
    """Linear momentum Σ m ẋ [N s], and angular momentum about the inertial origin Σ x × m ẋ + R J Ω [N m s],
    shape (3,) each."""
    places, rates = q.reshape(-1, 7), v.reshape(-1, 6)
    linear = world.mass[:, None] * rates[:, :3]
    spin = np.einsum("nij,njk,nk->ni", matrices(places[:, 3:]), world.inertia, rates[:, 3:])
    return linear.sum(axis=0), (np.cross(places[:, :3], linear) + spin).sum(axis=0)
