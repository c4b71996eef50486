"""What must hold of bodies at rest on fixed ones, and of every run: facts that scenes of bodies share."""

from collections.abc import Iterator

import numpy as np

from stickslip.mechanics.world import BodyKind
from stickslip.scenes.measures import GRAVITY
from stickslip.scenes.scenario import Fact
from stickslip.simulation.world_trajectory import WorldTrajectory
from stickslip.state import Array


def dynamic(trajectory: WorldTrajectory) -> Array:
    """Which bodies answer to forces, shape (nb,), bool."""
    return np.asarray(trajectory.model.kind == BodyKind.DYNAMIC)


def drift(trajectory: WorldTrajectory) -> Array:
    """Farthest that the centre of any body is from its start, over time [m], shape (n,)."""
    x = trajectory.q.reshape(len(trajectory), -1, 7)[:, :, :3]
    return np.asarray(np.linalg.norm(x - x[0], axis=2).max(axis=1))


def speed(trajectory: WorldTrajectory) -> Array:
    """Speed of the fastest centre of a body, over time [m/s], shape (n,)."""
    v = trajectory.v.reshape(len(trajectory), -1, 6)[:, :, :3]
    return np.asarray(np.linalg.norm(v, axis=2).max(axis=1))


def reactions(trajectory: WorldTrajectory) -> Array:
    """All contact forces of fixed bodies on the others, over time [N], shape (n, 3)."""
    fixed = [name for name, free in zip(trajectory.model.names, dynamic(trajectory), strict=True) if not free]
    return -np.sum([trajectory.forces_on(name) for name in fixed], axis=0)


def weight(trajectory: WorldTrajectory) -> float:
    """Of all bodies together [N]."""
    return GRAVITY * float(trajectory.model.mass.sum())


def balance_fact(trajectory: WorldTrajectory, size: float) -> Fact:
    """Energy is accounted for to rounding, which adds up over the steps."""
    scale = weight(trajectory) * size
    return Fact(
        "largest error of the balance of energy [J], rounding",
        float(np.abs(trajectory.balance).max()), 0.0, 1e-14 * scale * max(trajectory.steps, 100),
    )  # fmt: skip


def overlap_fact(trajectory: WorldTrajectory, size: float) -> Fact:
    """Nothing sinks into anything."""
    return Fact(
        "deepest overlap of two bodies [m], 1e-5 of their size at most",
        float(trajectory.penetration.max()), 0.0, 1e-5 * size,
    )  # fmt: skip


def stillness(trajectory: WorldTrajectory) -> float:
    """Speed that a solved step may leave to a body at rest [m/s]: the solver's tolerance is of all impulses
    together, those of the whole weight over a step, and the lightest body may have the error; 30 times that.
    """
    masses = trajectory.model.mass[dynamic(trajectory)]
    fall = GRAVITY * float(trajectory.h.max())
    return float(30.0 * trajectory.tolerance * fall * masses.sum() / masses.min())


def rest_facts(trajectory: WorldTrajectory, size: float) -> Iterator[Fact]:
    """Bodies of this size [m] that stand: where they were, still, carried by what is fixed."""
    held = reactions(trajectory)[1:] - np.array([0.0, 0.0, weight(trajectory)])
    slow = stillness(trajectory)
    yield Fact("largest way of a body from its place [m], 1e-6 of the size at most", drift(trajectory).max(),
               0.0, 1e-6 * size)  # fmt: skip
    yield Fact("speed of the fastest body at the end [m/s], what the solver's tolerance leaves",
               speed(trajectory)[-1], 0.0, slow)  # fmt: skip
    yield Fact("reactions less the weight [of the weight], in every step, what such speeds make of it",
               np.abs(held).max() / weight(trajectory), 0.0,
               2.0 * slow / (GRAVITY * float(trajectory.h.max())))  # fmt: skip
    yield overlap_fact(trajectory, size)
    yield balance_fact(trajectory, size)
