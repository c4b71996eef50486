"""The end of a step: what blocks did, where energy went, and which contacts and stops have closed.

Blocks: sides (nb, 2) bodies, -1 for the inertial frame; offset (nb + 1,), rows (p, 2, 6) of H' at the start
of the step over both sides, r (p,). v_before and v (n, 6) over the step before and over this one.
"""

from stickslip.kernels.bodies.motion import (
    KINETIC,
    KINETIC_BEFORE,
    WEIGHT,
    WEIGHT_BEFORE,
    add_block_work,
    add_energies,
    add_force_work,
)
from stickslip.kernels.bodies.rotation import times
from stickslip.kernels.jit import jit


@jit
def account(row, mass, J, gravity, q, q_end, v_before, v, F, share, sides, offset, rows, r, u, came, energy):
    """u, came (p,), energy (ENERGIES,) <- rows times velocities of this step and that before, and energies:
    kinetic ones of both steps, the potential of gravity at both ends of this one, and as in `motion.py`.

    share: of the forces F (3, n, 6), half of both steps.
    """
    energy[:] = 0.0
    add_block_work(row, sides, offset, rows, r, v_before, v, u, came, energy)
    add_force_work(row, F, share, v_before, v, energy)
    add_energies(row, mass, J, gravity, q, v_before, KINETIC_BEFORE, WEIGHT_BEFORE, energy)
    add_energies(row, mass, J, gravity, q_end, v, KINETIC, WEIGHT, energy)


@jit
def closed(row, mass, J_inverse, sides, offset, rows, r, value, came, out):
    """out (nb,) <- speed at which a block had come that closed in this step, 0 for all others.

    Its impulse r is then larger than what its value (gap over h) would take to be made by one: of the two one
    is zero but for the tolerance. came (p,): velocities of the step before.
    """
    for i in range(sides.shape[0]):
        j = offset[i]
        out[i] = 0.0
        if not (r[j] > 0.0 and came[j] < 0.0):
            continue
        w = 0.0
        for side in range(2):
            b = sides[i, side]
            if b >= 0 and row[b] >= 0:
                a = rows[j, side]
                t0, t1, t2 = times(J_inverse[b], a[3], a[4], a[5])
                w += (a[0] * a[0] + a[1] * a[1] + a[2] * a[2]) / mass[b]
                w += a[3] * t0 + a[4] * t1 + a[5] * t2
        if w * r[j] > value[j]:
            out[i] = -came[j]
