"""Energies of a trajectory, computed after the run: kinetic and potential."""

import numpy as np

from stickslip.problem.checks import Array
from stickslip.systems.system import NonsmoothSystem


def kinetic(system: NonsmoothSystem, t: Array, q: Array, v: Array, z: Array) -> Array:
    """Return ½ v' M(q) v of all second-order systems at n instants [J], shape (n,)."""
    total = np.zeros(t.size)
    for body, place in system.mechanical:
        speed = v[:, place.v]
        if body.constant_mass and t.size:
            M = body.mass(float(t[0]), q[0, place.q], z[0, place.z])
            total += 0.5 * np.einsum("ni,ij,nj->n", speed, M, speed)
            continue
        for k in range(t.size):
            M = body.mass(float(t[k]), q[k, place.q], z[k, place.z])
            total[k] += 0.5 * speed[k] @ M @ speed[k]
    return total


def potential(system: NonsmoothSystem, t: Array, q: Array, z: Array) -> Array:
    """Return the potential energy of all second-order systems at n instants [J], shape (n,)."""
    total = np.zeros(t.size)
    for body, place in system.mechanical:
        for k in range(t.size):
            total[k] += body.potential(float(t[k]), q[k, place.q], z[k, place.z])
    return total
