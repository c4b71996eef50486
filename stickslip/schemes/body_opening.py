"""Joints at the end of a step: whether they are open by more than what a step of that length leaves.

The rows of a joint turn with its bodies, so a step whose velocities meet them leaves errors of the order of
(h Ω)² times the arms of the joint. On pendulums and chains of up to five rods, h Ω from 0.01 to 1.6, that is
at most 0.08 of it with the position correction, and 1.5 of it after 2000 steps without. Joints that
contradict each other open without bound, while every contact problem on the way is solved to its tolerance.
"""

import numpy as np

from stickslip.kernels.bodies.joints import SHARE, nearly_closed
from stickslip.mechanics.world import World
from stickslip.schemes.body_joints import joint_coordinates, joint_errors
from stickslip.schemes.body_world import Bodies
from stickslip.state import Array, BoolArray, State

FARTHEST = 0.5
"""Largest motion of a step that is counted: beyond it bodies turn further than joints are linear [rad]."""


def opened(
    world: World, bodies: Bodies, before: State, q: Array, v: Array, h: float, errors: Array, drifts: bool
) -> str:
    """What is wrong with the joints at the end q, v of a step of length h from `before`; empty if nothing is.

    errors: as `joint_errors` has them there [m, rad], shape (nj, 2); drifts: positions are not corrected, so
    that what a step may leave adds to what it found.
    """
    if nearly_closed(errors, bodies.joint_reach):
        return ""
    scale = np.stack([bodies.joint_reach, np.ones(len(errors))], axis=1)
    # 1. What the scheme leaves: by spins, and by speeds of the bodies against each other, which an impact at
    # the start of the step may end; the larger of both ends of the step.
    spin, speed = np.zeros(len(errors)), np.zeros(len(errors))
    for end in (before.v, v):
        rows = np.concatenate([end.reshape(-1, 6), np.zeros((1, 6))])[
            world.joints.body
        ]  # -1: the last, at rest
        spin = np.maximum(spin, np.linalg.norm(rows[:, :, 3:], axis=2).max(axis=1))
        speed = np.maximum(speed, np.linalg.norm(rows[:, 0, :3] - rows[:, 1, :3], axis=1))
    turn = np.minimum(h * (spin + speed / bodies.joint_reach), FARTHEST)
    allowed = (SHARE + turn * turn)[:, None] * scale
    if drifts:
        allowed = allowed + joint_errors(world, before.q)
    # 2. A stop is overshot by up to the way of one step.
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
    """Errors that are those of a stop [-], shape (nj, 2), bool."""
    joints = world.joints
    slide, angle, _ = joint_coordinates(world, q, v)
    place = np.stack([slide, _nearest(angle, joints.lower[:, 1], joints.upper[:, 1])], axis=1)
    beyond = np.maximum(joints.lower - place, place - joints.upper)
    return np.asarray((beyond > 0.0) & (errors <= beyond * (1.0 + 1e-9)))


def _nearest(angle: Array, lower: Array, upper: Array) -> Array:
    """Angles in the turn about the middle of their stops [rad], shape (nj,)."""
    both = np.isfinite(lower) & np.isfinite(upper)
    middle = np.where(both, 0.5 * np.where(both, lower, 0.0) + 0.5 * np.where(both, upper, 0.0), 0.0)
    return np.asarray(angle + 2.0 * np.pi * np.round((middle - angle) / (2.0 * np.pi)))
