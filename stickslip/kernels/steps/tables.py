"""Tables for the contacts and the impulses of joints that compiled steps of bodies and robots write."""

from typing import NamedTuple

import numpy as np

from stickslip.state import Array, IntArray


class ContactTable(NamedTuple):
    """Contacts of steps, one after another: those of step k are rows offset[k] to offset[k + 1] - 1."""

    offset: IntArray
    """Index of the first contact of each step, and the number of contacts [-], shape (steps + 1,)."""
    id: IntArray
    """Identifier of each contact, the same while the contact persists [-], shape (most,)."""
    body: IntArray
    """First and second body [-], shape (most, 2)."""
    point: Array
    """Points midway between the two surfaces, inertial frame [m], shape (most, 3)."""
    frame: Array
    """Contact frames: rows n, t1, t2; n from the second body to the first [-], shape (most, 3, 3)."""
    gap: Array
    """Signed distance of the surfaces along n [m], shape (most,)."""
    law: Array
    """Parameters mu, mu_roll, mu_spin, e [-, m, m, -], shape (most, 4)."""
    r: Array
    """Impulses: N, T1, T2 [N s], rolling about t1, t2, torsion about n [N m s], shape (most, 6)."""
    u: Array
    """Relative velocities at the end of the step, in the same order [m/s, rad/s], shape (most, 6)."""


class JointTable(NamedTuple):
    """Impulses of joints and of other constraints, step by step as in `ContactTable`."""

    offset: IntArray
    """Index of the first impulse of each step, and the number of impulses [-], shape (steps + 1,)."""
    id: IntArray
    """Identifier of the block of each impulse [-], shape (most,)."""
    r: Array
    """Impulses [N s, N m s], shape (most,)."""


def empty_contacts(steps: int, most: int) -> ContactTable:
    """Return a table for `steps` steps and `most` contacts."""
    return ContactTable(
        np.zeros(steps + 1, np.int64), np.empty(most, np.int64), np.empty((most, 2), np.int64),
        np.empty((most, 3)), np.empty((most, 3, 3)), np.empty(most), np.empty((most, 4)), np.empty((most, 6)),
        np.empty((most, 6)),
    )  # fmt: skip


def empty_joints(steps: int, most: int) -> JointTable:
    """Return a table for `steps` steps and `most` impulses."""
    return JointTable(np.zeros(steps + 1, np.int64), np.empty(most, np.int64), np.empty(most))
