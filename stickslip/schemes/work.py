"""Work of contact impulses in time steps."""

import numpy as np

from stickslip.problem.checks import Array
from stickslip.state import State
from stickslip.systems.relations import FirstOrderOutput
from stickslip.systems.system import NonsmoothSystem


def contact_work(
    system: NonsmoothSystem, t: Array, h: Array, q: Array, v: Array, z: Array, r: Array
) -> Array:
    """Return the work r·(u⁻ + u⁺)/2 of the contact impulses in each of n steps [J], shape (n,).

    t, q, v, z have n + 1 rows, the first at the start of the steps. Both velocities u = rows v + drift use
    the rows at the start of the step, which makes the sum exact for impulses that act through them:
    ½ v⁺'M v⁺ - ½ v⁻'M v⁻ = (h F + H r)·(v⁻ + v⁺)/2 (Moreau 1988). First-order systems have no impulses and
    are not included.
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


def work_of(system: NonsmoothSystem, before: State, after: State, h: float, r: Array) -> float:
    """Return the work of the contact impulses in one step [J]."""
    if not r.any():
        return 0.0
    q, v, z = (np.array([getattr(before, name), getattr(after, name)]) for name in ("q", "v", "z"))
    times = np.array([before.t, after.t])
    return float(contact_work(system, times, np.array([h]), q, v, z, r[None])[0])
