"""MuJoCo's margins of contacts and limits, extended by the distance that bodies move in a step.

The margin of a pair of geoms is the sum of their margins. That of a geom is its margin in the user's model,
plus half of the smallest margin, plus AHEAD times the distance that its fastest point moves in a step.
Margins of the limits of joints and tendons are extended by the smallest margin and their own distance.
"""

import math

from stickslip.kernels.jit import jit_forward as jit

LEAST, STEP, FOLLOW = range(3)
"""Indices into `Margins.look`."""
AHEAD = 2.0
"""Margins cover this multiple of the distance at the present velocity [-] (heuristic)."""


@jit
def speed_of(motion, traits, size, b):
    """Return a bound on the speeds [m/s] of the points of a body within `size` [m] of its centre of mass."""
    root, total, spin = traits.root_of_body[b], 0.0, 0.0
    w = motion.cvel[b]
    for k in range(3):
        p, q = (k + 1) % 3, (k + 2) % 3
        arm_p = motion.xipos[b, p] - motion.subtree_com[root, p]
        arm_q = motion.xipos[b, q] - motion.subtree_com[root, q]
        v = w[3 + k] + w[p] * arm_q - w[q] * arm_p
        total += v * v
        spin += w[k] * w[k]
    return math.sqrt(total) + size * math.sqrt(spin)


@jit
def set_margins(margins, motion, traits):
    """margins <- margins of moving geoms, pairs, joints and tendons at the velocities of the data."""
    look = margins.look
    if look[FOLLOW] == 0.0:
        return
    least, ahead = look[LEAST], AHEAD * look[STEP]
    for t in range(margins.mover.shape[0]):
        b, widest = margins.mover[t], 0.0
        speed = margins.speed[b] + speed_of(motion, traits, margins.size[t], b)
        for g in range(margins.first_geom[t], margins.last_geom[t]):
            margins.more[g] = 0.5 * least + ahead * speed
            margins.geom[g] = margins.own_geom[g] + margins.more[g]
            widest = max(widest, margins.geom[g] + margins.gap[g])
        margins.body[b] = widest
    for p in range(margins.pair.shape[0]):
        margins.pair[p] = margins.own_pair[p] + more_of_pair(
            margins, margins.geoms[p, 0], margins.geoms[p, 1]
        )
    for t in range(margins.limited.shape[0]):
        j, dof, total = margins.limited[t], margins.dof[t], 0.0
        for k in range(dof, dof + margins.dofs[t]):
            total += motion.qvel[k] * motion.qvel[k]
        margins.more_joint[j] = least + ahead * math.sqrt(total)
        margins.joint[j] = margins.own_joint[j] + margins.more_joint[j]
    for t in range(margins.tendon.shape[0]):
        speed, start = 0.0, traits.tendon_start[t]
        for k in range(start, start + traits.tendon_count[t]):
            speed += motion.tendon[k] * motion.qvel[traits.tendon_column[k]]
        margins.more_tendon[t] = least + ahead * abs(speed)
        margins.tendon[t] = margins.own_tendon[t] + margins.more_tendon[t]


@jit
def more_of_pair(margins, first, second):
    """Return the amount by which the margin of two geoms exceeds that in the user's model [m]."""
    return margins.more[first] + margins.more[second]
