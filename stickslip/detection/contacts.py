"""Contacts as arrays, with persistent identifiers."""

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from stickslip.kernels.steps.detection import SLOTS as SLOTS
from stickslip.state import Array, IntArray


@dataclass(frozen=True, eq=False, slots=True)
class ContactSet:
    """Contacts of shapes whose gap is at most the margin of detection, sorted by id. Normals point from the
    second body to the first.

    id = (s ns + t) SLOTS + slot, where s < t are the indices of the two shapes (in the order of `shape` and
    `body`), ns is the number of shapes, and slot is a number that a contact keeps from step to step.
    In steps of the variational scheme a plane is always the second shape; ids are the same.
    """

    id: IntArray
    """Identifiers [-], shape (nc,), increasing."""
    shape: IntArray
    """First and second shape [-], shape (nc, 2)."""
    body: IntArray
    """First and second body [-], shape (nc, 2)."""
    point: Array
    """Point midway between the two surfaces, inertial frame [m], shape (nc, 3)."""
    frame: Array
    """Rows n, t1, t2, right-handed: n from the second body to the first; inertial frame [-], shape
    (nc, 3, 3)."""
    gap: Array
    """Signed distance of the surfaces along n; negative where they overlap [m], shape (nc,)."""
    law: Array
    """mu, mu_roll, mu_spin, e of the pair of materials [-, m, m, -], shape (nc, 4)."""

    def __len__(self) -> int:
        return self.id.shape[0]


Rows = TypeVar("Rows", bound=Any)


def joined(first: Rows, second: Rows) -> tuple[Rows, IntArray]:
    """Return the union of two sets of contacts, sorted by id, and the sorting permutation.

    The sets must not have an id in common.
    """
    if not len(first) or not len(second):
        only = first if len(first) else second
        return only, np.arange(len(only))
    order = np.argsort(np.concatenate((first.id, second.id)), kind="stable")
    names = type(first).__slots__
    both = (np.concatenate((getattr(first, name), getattr(second, name)))[order] for name in names)
    return type(first)(*both), order
