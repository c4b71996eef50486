"""Where compiled steps of bodies and robots write their contacts and the impulses of their joints."""

from typing import NamedTuple

import numpy as np

from stickslip.state import Array, IntArray


class ContactTable(NamedTuple):
    """Contacts of steps, one after the other: those of step k are rows offset[k] to offset[k + 1]."""

    offset: IntArray
    """First contact of each step, and the number of all [-], shape (steps + 1,)."""
    id: IntArray
    """Of each contact, kept while it lasts [-], shape (most,)."""
    body: IntArray
    """First and second body [-], shape (most, 2)."""
    point: Array
    """Midway between the two surfaces, inertial frame [m], shape (most, 3)."""
    frame: Array
    """Rows n, t1, t2; n from the second body to the first; inertial frame [-], shape (most, 3, 3)."""
    gap: Array
    """Signed distance of the surfaces along n [m], shape (most,)."""
    law: Array
    """mu, mu_roll, mu_spin, e [-, m, m, -], shape (most, 4)."""
    r: Array
    """Impulses: N, T1, T2 [N s], rolling about t1, t2, torsion about n [N m s], shape (most, 6)."""
    u: Array
    """Relative velocities at the end of the step, in the same order [m/s, rad/s], shape (most, 6)."""


class JointTable(NamedTuple):
    """Impulses of joints and of other constraints, one after the other as contacts are."""

    offset: IntArray
    """First impulse of each step, and the number of all [-], shape (steps + 1,)."""
    id: IntArray
    """Block that each is of [-], shape (most,)."""
    r: Array
    """[N s, N m s], shape (most,)."""


def empty_contacts(steps: int, most: int) -> ContactTable:
    """Room for so many steps and contacts."""
    return ContactTable(
        np.zeros(steps + 1, np.int64), np.empty(most, np.int64), np.empty((most, 2), np.int64),
        np.empty((most, 3)), np.empty((most, 3, 3)), np.empty(most), np.empty((most, 4)), np.empty((most, 6)),
        np.empty((most, 6)),
    )  # fmt: skip


def empty_joints(steps: int, most: int) -> JointTable:
    """Room for so many steps and impulses."""
    return JointTable(np.zeros(steps + 1, np.int64), np.empty(most, np.int64), np.empty(most))
