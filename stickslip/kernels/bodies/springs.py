"""Springs and dampers between bodies, and constant forces on bodies.

A body has the pose (x, p) and the velocity (ẋ, Ω). R maps body axes to inertial axes, P = x + a with a = R c
is a point of the body, and Ṗ = ẋ + ω × a with ω = R Ω. A force f at P has the resultant f and the body-frame
moment R'(a × f). q, v and forces may be complex (`rotation.py`).
"""

import math

import numpy as np

from stickslip.kernels.bodies.joints import add_efforts
from stickslip.kernels.bodies.rotation import turned
from stickslip.kernels.jit import jit

ARM, PLACE, SPEED, SPIN = 0, 1, 2, 3
"""Rows of the work array of a side: a, P, Ṗ, ω in the inertial frame, each of shape (3,)."""

GAINED = 0.1
"""Largest energy that dampers may add in a step, over its kinetic energies: an impact may reverse the motion
[-] (heuristic)."""
IMBALANCE = 0.5
"""Largest error of the energy balance of a step, over the energies at its ends [-] (heuristic)."""
STIFF = 1.0
"""Smallest h² k / m of springs and h c / m of dampers that may be too stiff for a step [-]."""
STIFF_DAMPERS, STIFF_SPRINGS = 1, 2
"""Results of `too_stiff`."""


@jit
def turn(p, a, back, out):
    """out (3,) <- R a, or R' a with back = -1."""
    out[0], out[1], out[2] = turned(p[0], back * p[1], back * p[2], back * p[3], a[0], a[1], a[2])


@jit
def add_cross(a, b, out):
    """out (3,) <- out + a × b."""
    out[0] += a[1] * b[2] - a[2] * b[1]
    out[1] += a[2] * b[0] - a[0] * b[2]
    out[2] += a[0] * b[1] - a[1] * b[0]


@jit
def follow(body, point, q, v, side):
    """side (4, 3) <- a, P, Ṗ, ω of a point of a body; body -1 is the inertial frame."""
    if body < 0:
        for k in range(3):
            side[PLACE, k] = point[k]
            side[ARM, k] = side[SPEED, k] = side[SPIN, k] = 0.0
        return
    p = q[7 * body + 3 : 7 * body + 7]
    turn(p, point, 1.0, side[ARM])
    turn(p, v[6 * body + 3 : 6 * body + 6], 1.0, side[SPIN])
    for k in range(3):
        side[PLACE, k] = q[7 * body + k] + side[ARM, k]
        side[SPEED, k] = v[6 * body + k]
    add_cross(side[SPIN], side[ARM], side[SPEED])


@jit
def add_wrench(body, arm, f, moment, sign, q, F):
    """F[body] <- F[body] + sign times the wrench of an inertial force f at `arm`, and an inertial moment.

    arm (3,): vector from the centre of mass, inertial frame.
    """
    if body < 0:
        return
    total, local = np.empty(3, q.dtype), np.empty(3, q.dtype)
    for k in range(3):
        total[k] = moment[k]
    add_cross(arm, f, total)
    turn(q[7 * body + 3 : 7 * body + 7], total, -1.0, local)
    for k in range(3):
        F[body, k] += sign * f[k]
        F[body, 3 + k] += sign * local[k]


@jit
def add_springs(springs, q, v, F_spring, F_damping):
    """F_spring, F_damping (n, 6) <- those + forces f = -(k (l - l0) + c l̇) of all springs.

    f acts along the line from the second point to the first; it is 0 at l = 0 if l0 > 0. springs:
    `SpringArrays`. Return the first spring whose force is not finite, or -1.
    """
    body, point, length = springs.body, springs.point, springs.length
    first, second = np.empty((4, 3), q.dtype), np.empty((4, 3), q.dtype)
    f, none = np.empty(3, q.dtype), np.zeros(3)
    for s in range(body.shape[0]):
        i, j = body[s, 0], body[s, 1]
        follow(i, point[s, 0], q, v, first)
        follow(j, point[s, 1], q, v, second)
        square = 0.0
        product = 0.0
        for k in range(3):
            gap = first[PLACE, k] - second[PLACE, k]
            square += gap * gap
            product += gap * (first[SPEED, k] - second[SPEED, k])
        stretched = np.sqrt(square)
        scale = -springs.stiffness[s]
        if length[s] > 0.0:  # a spring of zero rest length is linear, also at l = 0
            scale *= 1.0 - length[s] / stretched if stretched.real > 0.0 else 0.0
        drag = -springs.damping[s] * product / square if square.real > 0.0 else 0.0
        if not math.isfinite(abs(scale * stretched) + abs(drag * stretched)):
            return s
        for part, F in ((scale, F_spring), (drag, F_damping)):
            if part != 0.0:
                for k in range(3):
                    f[k] = part * (first[PLACE, k] - second[PLACE, k])
                add_wrench(i, first[ARM], f, none, 1.0, q, F)
                add_wrench(j, second[ARM], f, none, -1.0, q, F)
    return -1


@jit
def add_dampers(dampers, q, v, F):
    """F (n, 6) <- F + forces -linear (Ṗ₁ - Ṗ₂) and moments -angular (ω₁ - ω₂) of all dampers.

    Ṗ₂ is the velocity of the second body at P₁, the point of the first body, so that both forces act at one
    point and momentum is conserved. dampers: `DamperArrays`. Return the first damper whose force is not
    finite, or -1.
    """
    body, point = dampers.body, dampers.point
    first, second = np.empty((4, 3), q.dtype), np.empty((4, 3), q.dtype)
    f, moment, arm, centre = np.empty(3, q.dtype), np.empty(3, q.dtype), np.empty(3, q.dtype), np.zeros(3)
    for d in range(body.shape[0]):
        i, j = body[d, 0], body[d, 1]
        follow(i, point[d], q, v, first)
        follow(j, centre, q, v, second)
        for k in range(3):
            arm[k] = first[PLACE, k] - second[PLACE, k]
        add_cross(second[SPIN], arm, second[SPEED])
        total = 0.0
        for k in range(3):
            f[k] = -dampers.linear[d] * (first[SPEED, k] - second[SPEED, k])
            moment[k] = -dampers.angular[d] * (first[SPIN, k] - second[SPIN, k])
            total += abs(f[k]) + abs(moment[k])
        if not math.isfinite(total):
            return d
        add_wrench(i, first[ARM], f, moment, 1.0, q, F)
        add_wrench(j, arm, f, moment, -1.0, q, F)
    return -1


@jit
def add_pushes(pushes, q, F):
    """F (n, 6) <- F + constant inertial forces at points of bodies, and moments.   pushes: `PushArrays`."""
    arm = np.empty(3)
    for i in range(pushes.body.shape[0]):
        b, wrench = pushes.body[i], pushes.wrench[i]
        turn(q[7 * b + 3 : 7 * b + 7], pushes.point[i], 1.0, arm)
        add_wrench(b, arm, wrench[:3], wrench[3:], 1.0, q, F)


@jit
def add_forces(forces, linkage, q, v, F):
    """F (3, n, 6) <- F + forces of springs, of dampers, and others. Return whether all are finite.

    forces: `ForceArrays`; linkage: `Linkage`, for its efforts, or None.
    """
    finite = add_springs(forces.springs, q, v, F[0], F[1]) < 0
    finite = add_dampers(forces.dampers, q, v, F[1]) < 0 and finite
    if linkage is not None:
        efforts = linkage.efforts
        add_efforts(linkage.joints, efforts.joint, efforts.column, efforts.effort, q, F[2])
    add_pushes(forces.pushes, q, F[2])
    return finite


@jit
def spring_potential(springs, q):
    """Return the potential energy of all springs [J].   springs: `SpringArrays`; q (7 n,)."""
    total, first, second, v = 0.0, np.empty((4, 3)), np.empty((4, 3)), np.zeros(q.shape[0])
    for s in range(springs.stiffness.shape[0]):
        follow(springs.body[s, 0], springs.point[s, 0], q, v, first)
        follow(springs.body[s, 1], springs.point[s, 1], q, v, second)
        square = 0.0
        for k in range(3):
            gap = first[PLACE, k] - second[PLACE, k]
            square += gap * gap
        stretch = math.sqrt(square) - springs.length[s]
        total += 0.5 * springs.stiffness[s] * (stretch * stretch)
    return total


@jit
def too_stiff(h, spring_rate, damper_rate, energy, springs, balance):
    """Return STIFF_DAMPERS or STIFF_SPRINGS if these are too stiff for a step, else 0.

    spring_rate, damper_rate: largest k/m [1/s²] and c/m [1/s]; energy: `Energies`; springs: sum of their
    potential energies at both ends of the step [J]; balance: error of the energy balance [J].
    """
    kinetic, total = energy.kinetic + energy.kinetic_before, 0.0
    for part in energy:
        total += abs(part)
    if h * damper_rate > STIFF and energy.damped < -GAINED * kinetic:
        return STIFF_DAMPERS
    if h * h * spring_rate > STIFF and abs(balance) > IMBALANCE * (kinetic + springs) + 1e-9 * total:
        return STIFF_SPRINGS
    return 0
