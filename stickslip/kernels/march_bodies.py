"""Kinematics of Newton-Euler bodies and of their contacts, for compiled steps and for Python.

q = (x, p) with the unit quaternion p scalar first, v = (ẋ, Ω) with Ω in the frame of the body (Siconos
Developer's Notes 2017, (11.36) to (11.48)). With q̇ = T(q) v, a row over q̇ becomes row T(q) over v.
"""

import math

from stickslip.kernels.bodies.frames import fill_frame
from stickslip.kernels.bodies.rotation import cross, entries, product, turned
from stickslip.kernels.jit import jit

TOUCH = 10
"""Size of a `touch`: gap [m], normal, contact point on the first body, contact point on the second [m]."""


@jit
def pose_rate(q, v, out):
    """out <- T(q) v: ẋ, and ṗ = p ∘ (0, Ω) / 2.   q, out (7,), v (6,)."""
    for k in range(3):
        out[k] = v[k]
    s0, s1, s2, s3 = product(q[3], q[4], q[5], q[6], 0.0, v[3], v[4], v[5])
    out[3], out[4], out[5], out[6] = 0.5 * s0, 0.5 * s1, 0.5 * s2, 0.5 * s3


@jit
def by_velocity(q, row, out):
    """out <- row T(q), a row over v, from a row over q̇.   q, row (7,), out (6,)."""
    for k in range(3):
        out[k] = row[k]
    # Ψ'(p) d is half the vector part of p* ∘ d
    _, s1, s2, s3 = product(q[3], -q[4], -q[5], -q[6], row[3], row[4], row[5], row[6])
    out[3], out[4], out[5] = 0.5 * s1, 0.5 * s2, 0.5 * s3


@jit
def normalize(q):
    """Normalise the quaternion of q in place, unless it is zero.   q (7,)."""
    length = math.sqrt(q[3] * q[3] + q[4] * q[4] + q[5] * q[5] + q[6] * q[6])
    if length > 0.0:
        for k in range(3, 7):
            q[k] /= length


@jit
def gyration(inertia, v, out):
    """out <- Ω × I Ω.   inertia (9,), v (6,), out (3,)."""
    a, b, c = inertia_times(inertia, v)
    out[0], out[1], out[2] = cross(v[3], v[4], v[5], a, b, c)


@jit
def inertia_times(inertia, v):
    """Return I Ω.   inertia (9,), v (6,)."""
    return (
        inertia[0] * v[3] + inertia[1] * v[4] + inertia[2] * v[5],
        inertia[3] * v[3] + inertia[4] * v[4] + inertia[5] * v[5],
        inertia[6] * v[3] + inertia[7] * v[4] + inertia[8] * v[5],
    )


@jit
def gyration_slope(inertia, v, out):
    """out <- ∂(Ω × I Ω)/∂Ω = [Ω]× I - [I Ω]× (11.70).   inertia, out (9,), v (6,)."""
    a, b, c = inertia_times(inertia, v)
    for j in range(3):
        out[j], out[3 + j], out[6 + j] = cross(v[3], v[4], v[5], inertia[j], inertia[3 + j], inertia[6 + j])
    out[1], out[2] = out[1] + c, out[2] - b
    out[3], out[5] = out[3] - c, out[5] + a
    out[6], out[7] = out[6] + b, out[7] - a


@jit
def touch_plane(geometry, q, out):
    """out <- touch of a sphere or a point of a body with a plane.   q (7,), out (TOUCH,).

    geometry: centre of the sphere in the frame of the body (3), radius, normal (3) and offset of the plane.
    """
    x, y, z = turned(q[3], q[4], q[5], q[6], geometry[0], geometry[1], geometry[2])
    radius, gap = geometry[3], -geometry[7]
    for k in range(3):
        out[1 + k] = geometry[4 + k]
    out[4], out[5], out[6] = (
        q[0] + x - radius * geometry[4], q[1] + y - radius * geometry[5], q[2] + z - radius * geometry[6],
    )  # fmt: skip
    for k in range(3):
        gap += geometry[4 + k] * out[4 + k]
        out[7 + k] = out[4 + k]
    out[0] = gap


@jit
def touch_spheres(geometry, q, out):
    """out <- touch of two spheres, of two bodies or of one and the world; NaN if their centres coincide.

    geometry: both radii, both centres in the frames of their bodies (3 each).   q (7,) or (14,), out
    (TOUCH,).
    """
    x, y, z = turned(q[3], q[4], q[5], q[6], geometry[2], geometry[3], geometry[4])
    x, y, z = q[0] + x, q[1] + y, q[2] + z
    a, b, c = geometry[5], geometry[6], geometry[7]
    if q.shape[0] == 14:
        a, b, c = turned(q[10], q[11], q[12], q[13], a, b, c)
        a, b, c = q[7] + a, q[8] + b, q[9] + c
    d0, d1, d2 = x - a, y - b, z - c
    distance = math.sqrt(d0 * d0 + d1 * d1 + d2 * d2)
    out[0] = distance - geometry[0] - geometry[1]
    out[1], out[2], out[3] = d0 / distance, d1 / distance, d2 / distance
    out[4], out[5], out[6] = x - geometry[0] * out[1], y - geometry[0] * out[2], z - geometry[0] * out[3]
    out[7], out[8], out[9] = a + geometry[1] * out[1], b + geometry[1] * out[2], c + geometry[1] * out[3]


@jit
def contact_rows(touch, q, m, axes, out):
    """out <- rows of the m relative velocities at a touch, first body minus second.

    The first three are those along the normal and the tangents. The others are relative angular velocities:
    about the normal (m = 4), about the tangents (m = 5), or about the tangents, then the normal (m = 6).
    touch (TOUCH,), q (7,) or (14,), axes (9,) work, out (m 6,) or (m 12,).
    """
    fill_frame(touch[1:4], axes)
    bodies = q.shape[0] // 7
    for body in range(bodies):
        sign, p = 1.0 if body == 0 else -1.0, 7 * body
        R = entries(q[p + 3], q[p + 4], q[p + 5], q[p + 6])
        at = 4 + 3 * body
        l0, l1, l2 = touch[at] - q[p], touch[at + 1] - q[p + 1], touch[at + 2] - q[p + 2]
        for k in range(m):
            turning = (k - 2) % 3 if m > 4 else 0
            place, axis = (k * bodies + body) * 6, 3 * (k if k < 3 else turning)
            a, b, c = axes[axis], axes[axis + 1], axes[axis + 2]
            if k < 3:
                out[place], out[place + 1], out[place + 2] = sign * a, sign * b, sign * c
                a, b, c = cross(l0, l1, l2, a, b, c)  # a·(ω × l) = ω·(l × a)
            else:
                out[place] = out[place + 1] = out[place + 2] = 0.0
            out[place + 3] = sign * (a * R[0] + b * R[3] + c * R[6])
            out[place + 4] = sign * (a * R[1] + b * R[4] + c * R[7])
            out[place + 5] = sign * (a * R[2] + b * R[5] + c * R[8])
