"""The end of a step: what blocks did, where energy went, and which contacts and stops have closed.

Blocks: sides (nb, 2) bodies, -1 for the inertial frame; offset (nb + 1,), rows (p, 2, 6) of H' at the start
of the step over both sides, r (p,). v_before and v (n, 6) over the step before and over this one.
"""

from stickslip.kernels.bodies.motion import kinetic
from stickslip.kernels.bodies.rotation import times
from stickslip.kernels.jit import jit

KINETIC_BEFORE, KINETIC, WEIGHT_BEFORE, WEIGHT, LOST, DRIVEN, DAMPED, WORKED = range(8)
"""What `account` tells [J]: kinetic energies of both steps, the potential of gravity at both ends of this
one; what blocks took, what bodies that are not dynamic gave, what dampers took, what other forces gave."""
ENERGIES = 8


@jit
def account(row, mass, J, gravity, q, q_end, v_before, v, F, share, sides, offset, rows, r, u, came, energy):
    """u, came (p,), energy (ENERGIES,) <- rows times velocities of this step and that before, and energies.

    share: of the forces F (3, n, 6), half of both steps. Impulses at the node change the kinetic energy by
    themselves times the mean of the velocities before and after it.
    """
    energy[:] = 0.0
    for i in range(sides.shape[0]):
        for j in range(offset[i], offset[i + 1]):
            u[j] = came[j] = 0.0
            for side in range(2):
                b = sides[i, side]
                if b >= 0:
                    first = last = 0.0
                    for k in range(6):
                        first += rows[j, side, k] * v_before[b, k]
                        last += rows[j, side, k] * v[b, k]
                    u[j] += last
                    came[j] += first
                    energy[LOST] -= 0.5 * r[j] * (first + last)
                    if row[b] < 0:
                        energy[DRIVEN] -= 0.5 * r[j] * (first + last)
    for i in range(row.shape[0]):
        if F.shape[1] > 0:
            for k in range(6):
                way = 0.5 * share * (v_before[i, k] + v[i, k])
                energy[DAMPED] -= F[1, i, k] * way
                if row[i] >= 0:
                    energy[WORKED] += F[2, i, k] * way
                else:  # what drives a kinematic body works against springs and dampers at it
                    energy[DRIVEN] -= (F[0, i, k] + F[1, i, k]) * way
        if row[i] >= 0:
            energy[KINETIC_BEFORE] += kinetic(mass[i], J[i], v_before[i])
            energy[KINETIC] += kinetic(mass[i], J[i], v[i])
            for k in range(3):
                energy[WEIGHT_BEFORE] -= mass[i] * gravity[k] * q[i, k]
                energy[WEIGHT] -= mass[i] * gravity[k] * q_end[i, k]


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


@jit
def by_contact(offset, law, x, out):
    """out (nc, 6) <- x of contacts as N, T1, T2, rolling about t1, t2, torsion about n; 0 where none is.

    law (nc, 4): mu, mu_roll, mu_spin, e.
    """
    for i in range(law.shape[0]):
        at, size = offset[i], offset[i + 1] - offset[i]
        for k in range(6):
            out[i, k] = 0.0
        out[i, 0] = x[at]
        if size >= 3:
            out[i, 1], out[i, 2] = x[at + 1], x[at + 2]
        if law[i, 1] > 0.0 and size >= 5:
            out[i, 3], out[i, 4] = x[at + 3], x[at + 4]
        if law[i, 2] > 0.0 and (size == 4 or size == 6):
            out[i, 5] = x[at + size - 1]
