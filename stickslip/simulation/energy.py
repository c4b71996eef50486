"""Energies of a trajectory, computed after the run: kinetic, potential, and the work of contacts."""

import numpy as np

from stickslip.problem.checks import Array
from stickslip.systems.relations import FirstOrderOutput
from stickslip.systems.system import NonsmoothSystem


def kinetic(system: NonsmoothSystem, t: Array, q: Array, v: Array, z: Array) -> Array:
    """½ v' M(q) v of all second-order systems at n instants [J], shape (n,)."""
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
    """Potential energies of all second-order systems at n instants [J], shape (n,)."""
    total = np.zeros(t.size)
    for body, place in system.mechanical:
        for k in range(t.size):
            total[k] += body.potential(float(t[k]), q[k, place.q], z[k, place.z])
    return total


def contact_work(
    system: NonsmoothSystem, t: Array, h: Array, q: Array, v: Array, z: Array, r: Array
) -> Array:
    """Work r·(u⁻ + u⁺)/2 of the contact impulses in each of n steps [J], shape (n,).

    t, q, v, z have n + 1 rows, the first where the steps begin. Both velocities u = rows v + drift are
    taken with the rows at the beginning of the step, which makes the sum exact for impulses that act
    through them: then ½ v⁺'M v⁺ - ½ v⁻'M v⁻ = (h F + H r)·(v⁻ + v⁺)/2 (Moreau 1988). First-order systems
    have no impulses, and do not count.
    """
    work = np.zeros(len(r))
    for one in system.interactions:
        if isinstance(one.output, FirstOrderOutput):
            continue
        impulse = r[:, one.components]
        for k in np.flatnonzero(impulse.any(axis=1)):
            at = (float(t[k]), q[k, one.q], impulse[k] / h[k], z[k + 1, one.z])
            u = one.mechanical.rows(*at) @ (0.5 * (v[k, one.v] + v[k + 1, one.v]))
            drift = one.mechanical.drift(*at)
            work[k] += impulse[k] @ (u if drift is None else u + drift)
    return work
