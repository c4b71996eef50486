"""The end of a step of bodies in parts, for threads: `motion.arrive` and `correction.sweep_back`.

Each call handles the bodies or contacts from `first` to `end` - 1. All contacts are 3D Coulomb contacts. All
kernels release the global interpreter lock.
"""

from typing import Any, NamedTuple

from stickslip.kernels.bodies import correction
from stickslip.kernels.bodies.layout import Blocks, BodyArrays
from stickslip.kernels.bodies.motion import NOTHING, add_impulse, block_work, energies, force_work, move_half
from stickslip.kernels.held import values_of
from stickslip.kernels.jit import jit, jit_without_lock


class Domain(NamedTuple):
    """Contacts of a domain in a position correction."""

    pushing: Any
    """`correction.Pushing` of the contacts."""
    row: Any
    """Index among the dynamic bodies, see `BodyArrays` [-], shape (n,)."""
    shift: Any
    """Shift Δq of all bodies [m, rad], shape (n, 6)."""


@jit
def bodies_of(bodies, first, end):
    """Return the `BodyArrays` of a range of bodies; mass matrices are those of all bodies."""
    part = slice(first, end)
    return BodyArrays(
        bodies.row[part], bodies.mass[part], bodies.J[part], bodies.J_inverse[part], bodies.gravity,
        bodies.radius[part], bodies.M, bodies.root,
    )  # fmt: skip


@jit_without_lock
def depart(bodies, near, blocks, r, v_free, first, end, v):
    """v (n, 6) <- velocities of a range of bodies after the impulses r.

    near: `body_parts.Touching` of the rows of the mass matrix; blocks: `Blocks`.
    """
    rows = blocks.rows
    for b in range(first, end):
        for k in range(6):
            v[b, k] = v_free[b, k]
        if bodies.row[b] < 0:
            continue
        for place in range(near.start[bodies.row[b]], near.start[bodies.row[b] + 1]):
            i, side = near.side[place] // 2, near.side[place] % 2
            add_impulse(bodies, rows, r, side, b, 3 * i, 3 * i + 3, v)
        for k in range(6):
            if abs(v[b, k]) < NOTHING:
                v[b, k] = 0.0


@jit_without_lock
def work(row, blocks, r, v_start, v, first, end, u):
    """Return (lost, driven) of `motion.block_work` for a range of contacts; u <- their velocities."""
    part = slice(3 * first, 3 * end)
    contacts = Blocks(blocks.sides[first:end], blocks.offset[: end - first + 1], blocks.rows[part])
    velocities, _, lost, driven = block_work(row, contacts, r[part], v_start, v)
    u[part] = velocities
    return lost, driven


@jit_without_lock
def arrive(bodies, free, span, first, end, q_end, v):
    """q_end, v <- poses and velocities of a range of bodies at the end of the step; v is that at the middle.

    Return (kinetic energy before, potential before, kinetic energy after, potential after, damped, worked,
    driven).
    """
    part, subset = slice(first, end), bodies_of(bodies, first, end)
    damped, worked, driven = force_work(subset.row, free.F[:, part], span.h, free.v_start[part], v[part], 0.0)
    move_half(
        subset.row, subset.J, subset.J_inverse, free.q_m[part], v[part], span.reach, q_end[part], v[part]
    )
    kinetic_before, weight_before = energies(subset, free.q[part], free.v[part])
    kinetic, weight = energies(subset, q_end[part], v[part])
    return kinetic_before, weight_before, kinetic, weight, damped, worked, driven


@jit_without_lock
def push(held, backwards):
    """Make a `correction.push_once` sweep over a held `Domain`."""
    domain = values_of(held)
    correction.push_once(domain.row, domain.pushing, domain.shift, backwards)


@jit_without_lock
def missing(held):
    """Return `correction.missing` of a held `Domain`."""
    domain = values_of(held)
    return correction.missing(domain.pushing, domain.shift)
