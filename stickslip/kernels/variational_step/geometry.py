"""Points of bodies, and gaps in closed form: a ball or point above a plane, and two balls.

q (n, 7) of all bodies, quaternions of unit length, scalar first. A contact has a kind, two bodies, a point in
the frame of each, the normal of a plane in the frame of the second body, and two radii, as `StepContacts` has
them. Normals point from the second body to the first.
"""

import math

from stickslip.kernels.bodies import rotation
from stickslip.kernels.bodies.frames import basis
from stickslip.kernels.jit import jit

POINT_PLANE, SPHERES, LINEARISED = 0, 1, 2
"""Kinds of contacts, as `StepContacts` has them."""


@jit
def turned(q, i, x, y, z):
    """A vector of the frame of body i in the inertial frame."""
    return rotation.turned(q[i, 3], q[i, 4], q[i, 5], q[i, 6], x, y, z)


@jit
def gap_and_normal(kind, i, j, point, normal, radius, q):
    """Gap, normal (3) and centre of the first ball (3) of a contact of bodies i and j.

    point (2, 3), normal (3,), radius (2,).
    """
    x, y, z = turned(q, i, point[0, 0], point[0, 1], point[0, 2])
    x, y, z = q[i, 0] + x, q[i, 1] + y, q[i, 2] + z
    a, b, c = turned(q, j, point[1, 0], point[1, 1], point[1, 2])
    dx, dy, dz = x - (q[j, 0] + a), y - (q[j, 1] + b), z - (q[j, 2] + c)
    if kind == POINT_PLANE:
        n0, n1, n2 = turned(q, j, normal[0], normal[1], normal[2])
        return n0 * dx + n1 * dy + n2 * dz - radius[0], n0, n1, n2, x, y, z
    distance = math.sqrt(dx * dx + dy * dy + dz * dz)
    if distance > 0.0:
        n0, n1, n2 = dx / distance, dy / distance, dz / distance
    else:  # one in the other: any direction leads out
        n0, n1, n2 = 0.0, 0.0, 1.0
    return distance - radius[0] - radius[1], n0, n1, n2, x, y, z


@jit
def gaps(kind, body, point, normal, radius, q, out):
    """out (k,) <- gaps at q of contacts in closed form; inf for others."""
    for k in range(kind.shape[0]):
        out[k] = math.inf
        if kind[k] != LINEARISED:
            out[k] = gap_and_normal(kind[k], body[k, 0], body[k, 1], point[k], normal[k], radius[k], q)[0]


@jit
def look(kind, body, point, normal, radius, q, speed, h, touch, must, chosen, gap, frame, place):
    """Number c of contacts that may close within h, their numbers into chosen and where they are.

    speed (n,): no point of a body is faster; touch: contacts closer than this are always taken; must (k,)
    those that are taken in any case.   chosen, gap (k,), frame (k, 3, 3), place (k, 3).
    """
    c = 0
    for k in range(kind.shape[0]):
        i, j = body[k, 0], body[k, 1]
        s, n0, n1, n2, x, y, z = gap_and_normal(kind[k], i, j, point[k], normal[k], radius[k], q)
        if s > h * (speed[i] + speed[j]) + touch and not must[k]:
            continue
        back = radius[k, 0] + 0.5 * s
        chosen[c], gap[c] = k, s
        place[c, 0], place[c, 1], place[c, 2] = x - back * n0, y - back * n1, z - back * n2
        frame[c, 0, 0], frame[c, 0, 1], frame[c, 0, 2] = n0, n1, n2
        (
            frame[c, 1, 0], frame[c, 1, 1], frame[c, 1, 2], frame[c, 2, 0], frame[c, 2, 1], frame[c, 2, 2],
        ) = basis(n0, n1, n2)  # fmt: skip
        c += 1
    return c
