"""From touching rigid bodies to a contact problem: one time step under gravity.

The velocity of a body is (linear velocity of its centre, angular velocity), both in the world
frame, z up. A contact at point p has the frame (n, t1, t2), n from the second body to the first,
and the row of H' for direction e is (e, (p - c) × e) for the first body and minus that for the
second, c being their centres.
"""

import numpy as np

from stickslip.problem.checks import Array, IntArray
from stickslip.problem.contact import GlobalProblem
from stickslip.problem.jacobian import contact_blocks
from stickslip.problem.sets import coulomb, rolling

GRAVITY = 9.81
"""Acceleration of gravity, along -z [m/s^2]."""


def one_step(
    *, mass: Array, inertia: Array, velocity: Array, bodies: IntArray, arms: Array, frames: Array,
    mu: float, mu_roll: float | None, h: float,
) -> GlobalProblem:  # fmt: skip
    """The contact problem of one step of length `h` [s] under gravity.

    `mass` [kg] (bodies,); `inertia` [kg m^2] (bodies, 3, 3), world frame; `velocity` at the start
    [m/s, rad/s] (bodies, 6); `bodies` [-] (nc, 2), -1 for what is fixed; `arms` p - c of the two
    sides [m] (nc, 2, 3); `frames` [-] (nc, 3, 3), rows n, t1, t2. With `mu_roll` [m] contacts have
    5 components, the last two about t1 and t2. f = M v + h F: the gyroscopic term ω × I ω is zero
    for bodies at rest and for spheres, and scenes hold no others.
    """
    count, nc = mass.shape[0], bodies.shape[0]
    M = np.zeros((count, 6, 6))
    M[:, [0, 1, 2], [0, 1, 2]] = mass[:, None]
    M[:, 3:, 3:] = inertia
    f = np.einsum("bij,bj->bi", M, velocity)
    f[:, 2] -= h * GRAVITY * mass
    rows = sliding_rows(arms, frames)
    if mu_roll is None:
        K = coulomb(np.full(nc, mu))
    else:
        K = rolling(np.full(nc, mu), np.full(nc, mu_roll))
        rows = np.concatenate([rows, rolling_rows(frames)], axis=1)
    H = contact_blocks(bodies, rows.reshape(-1, 2, 6), K)
    return GlobalProblem(M, f.reshape(-1), H, np.zeros(K.size), K)  # type: ignore[arg-type]


def spheres_step(
    radius: Array, density: float, velocity: Array, bodies: IntArray, arms: Array, normals: Array, *,
    mu: float, mu_roll: float | None, h: float,
) -> GlobalProblem:  # fmt: skip
    """`one_step` of solid spheres: `radius` [m] (bodies,), `density` [kg/m^3], `arms` of the two sides along
    the unit `normals` (nc, 3) [m] (nc, 2)."""
    mass = density * 4.0 / 3.0 * np.pi * radius**3
    return one_step(
        mass=mass, inertia=(0.4 * mass * radius**2)[:, None, None] * np.eye(3), velocity=velocity,
        bodies=bodies, arms=arms[:, :, None] * normals[:, None, :], frames=frames_from_normals(normals),
        mu=mu, mu_roll=mu_roll, h=h,
    )  # fmt: skip


def sliding_rows(arms: Array, frames: Array) -> Array:
    """Rows of H' for n, t1, t2 [-, m], shape (nc, 3, 2, 6), from arms (nc, 2, 3), frames (nc, 3, 3)."""
    rows = np.empty((arms.shape[0], 3, 2, 6))
    rows[..., :3] = frames[:, :, None, :]
    rows[..., 3:] = np.cross(arms[:, None, :, :], frames[:, :, None, :])
    rows[:, :, 1] *= -1.0
    return rows


def rolling_rows(frames: Array) -> Array:
    """Rows of H' for ω_first - ω_second about t1 and t2 [-], shape (nc, 2, 2, 6)."""
    rows = np.zeros((frames.shape[0], 2, 2, 6))
    rows[:, :, 0, 3:] = frames[:, 1:]
    rows[:, :, 1, 3:] = -frames[:, 1:]
    return rows


def box_inertia(mass: Array, size: Array) -> Array:
    """Inertia of homogeneous boxes in their own axes [kg m^2], shape (n, 3, 3); `size` [m] (n, 3)."""
    squares = size**2
    moments = mass[:, None] / 12.0 * (squares.sum(axis=1, keepdims=True) - squares)
    return np.asarray(moments[:, :, None] * np.eye(3))


def frames_from_normals(normals: Array) -> Array:
    """Right-handed frames (n, t1, t2) [-], shape (nc, 3, 3), from unit normals (nc, 3).

    Duff et al. 2017, Building an Orthonormal Basis, Revisited, J. Comput. Graph. Tech. 6(1), 1-8.
    """
    x, y, z = normals.T
    sign = np.copysign(1.0, z)
    a = -1.0 / (sign + z)
    b = x * y * a
    t1 = np.stack([1.0 + sign * x * x * a, sign * b, -sign * x], axis=1)
    t2 = np.stack([b, sign + y * y * a, -y], axis=1)
    return np.stack([normals, t1, t2], axis=1)
