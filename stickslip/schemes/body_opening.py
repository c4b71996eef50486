"""Check of the joints at the end of a step: are they open by more than the error of a step of that length?

The rows of a joint turn with its bodies, so a step whose velocities satisfy them leaves errors of the order
of (h Ω)² times the arms of the joint. Measured on pendulums and chains of up to five rods with h Ω from 0.01
to 1.6, the error is at most 0.08 of that with the position correction, and 1.5 of it after 2000 steps
without. Contradictory joints open without bound although every contact problem is solved to its tolerance.
"""

import numpy as np

from stickslip.kernels.bodies.joints import SHARE, nearly_closed
from stickslip.mechanics.world import World
from stickslip.schemes.body_joints import joint_coordinates, joint_errors
from stickslip.schemes.body_world import Bodies
from stickslip.state import Array, BoolArray, State

FARTHEST = 0.5
"""Largest rotation of a step that counts in the bound [rad]; joints are not linear beyond it (heuristic)."""


def opening_fault(
    world: World, bodies: Bodies, before: State, q: Array, v: Array, h: float, errors: Array, drifts: bool
) -> str:
    """Return the fault of the joints at the end q, v of a step of length h from `before`; empty without one.

    errors: `joint_errors` at the end [m, rad], shape (nj, 2); drifts: whether positions are not corrected, so
    that errors of the step add to those at its start.
    """
    if nearly_closed(errors, bodies.joint_reach):
        return ""
    scale = np.stack([bodies.joint_reach, np.ones(len(errors))], axis=1)
    # 1. Errors of the scheme, by the spins and the relative speeds of the bodies. An impact may stop these at
    # the start of the step, so the larger values of both ends of the step count.
    spin, speed = np.zeros(len(errors)), np.zeros(len(errors))
    for end in (before.v, v):
        rows = np.concatenate([end.reshape(-1, 6), np.zeros((1, 6))])[
            world.joints.body
        ]  # -1: the inertial frame, the last row
        spin = np.maximum(spin, np.linalg.norm(rows[:, :, 3:], axis=2).max(axis=1))
        speed = np.maximum(speed, np.linalg.norm(rows[:, 0, :3] - rows[:, 1, :3], axis=1))
    turn = np.minimum(h * (spin + speed / bodies.joint_reach), FARTHEST)
    allowed = (SHARE + turn * turn)[:, None] * scale
    if drifts:
        allowed = allowed + joint_errors(world, before.q)
    # 2. A stop is overshot by at most the motion of one step.
    speeds = np.abs(joint_coordinates(world, before.q, before.v)[2])
    allowed = np.where(_at_stops(world, q, v, errors), allowed + h * speeds, allowed)
    bad = ~(errors <= allowed)
    if not bad.any():
        return ""
    j = int(np.argmax(np.where(bad, errors / allowed, 0.0).max(axis=1)))
    name = world.joints.names[j]
    return (
        f"joint {name!r} ends open by {errors[j, 0]:.3g} m and {errors[j, 1]:.3g} rad, where a step of this"
        f" length leaves at most {allowed[j, 0]:.3g} m and {allowed[j, 1]:.3g} rad: the joints contradict"
        " each other, or h is too large"
    )


def _at_stops(world: World, q: Array, v: Array, errors: Array) -> BoolArray:
    """Whether an error is that of a stop [-], shape (nj, 2), bool."""
    joints = world.joints
    slide, angle, _ = joint_coordinates(world, q, v)
    place = np.stack([slide, _nearest(angle, joints.lower[:, 1], joints.upper[:, 1])], axis=1)
    beyond = np.maximum(joints.lower - place, place - joints.upper)
    return np.asarray((beyond > 0.0) & (errors <= beyond * (1.0 + 1e-9)))


def _nearest(angle: Array, lower: Array, upper: Array) -> Array:
    """Return the angles within half a turn of the middle of their stops [rad], shape (nj,)."""
    both = np.isfinite(lower) & np.isfinite(upper)
    middle = np.where(both, 0.5 * np.where(both, lower, 0.0) + 0.5 * np.where(both, upper, 0.0), 0.0)
    return np.asarray(angle + 2.0 * np.pi * np.round((middle - angle) / (2.0 * np.pi)))
