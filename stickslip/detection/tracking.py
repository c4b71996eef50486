"""Contacts that last: ids and impulses carried from one step to the next."""

import numpy as np

from stickslip.detection.contacts import SLOTS, ContactSet
from stickslip.kernels.bodies.layout import LastContacts
from stickslip.kernels.bodies.tracking import local_points, track_contacts
from stickslip.state import Array, ModelError

KEPT = {"id": (), "point": (2, 3), "frame": (3, 3), "r": (6,)}
"""What a memory keeps of every contact, and in which shape."""


def _nothing(shape: tuple[int, ...]) -> Array:
    array = np.zeros((0, *shape))
    array.flags.writeable = False
    return array


NOTHING: tuple[Array, Array, Array, Array] = (
    _nothing(KEPT["id"]), _nothing(KEPT["point"]), _nothing(KEPT["frame"]), _nothing(KEPT["r"]),
)  # fmt: skip
"""What is kept where nothing touches."""


def track(contacts: ContactSet, q: Array, memory: dict[str, Array]) -> tuple[ContactSet, Array]:
    """The contacts with ids of the last step where they continue one, sorted, and a guess of r (nc, 6).

    memory: what `remember` gave; an empty one is that of no contacts. q (7 n,): where the contacts are.
    Contacts of the same two shapes are matched by the nearest point in the frame of one of the two bodies,
    within a quarter of the size of all these points; a lone contact always continues a lone one. A new
    contact has the smallest slot that is free, and zeros in the guess. Impulses (N, T1, T2, rolling about t1
    and t2, torsion about n) are turned into the new frames.
    """
    nc = len(contacts)
    guess = np.zeros((nc, 6))
    if not nc:
        return contacts, guess
    old = LastContacts(*kept_of(memory))
    local = _local(contacts, q)
    order, ids = np.empty(nc, dtype=np.int64), np.empty(nc, dtype=np.int64)
    if not track_contacts(contacts.id, local, contacts.frame, SLOTS, old, order, ids, guess):
        return ContactSet(
            ids, contacts.shape, contacts.body, contacts.point, contacts.frame, contacts.gap, contacts.law
        ), guess
    return ContactSet(
        ids,
        contacts.shape[order],
        contacts.body[order],
        contacts.point[order],
        contacts.frame[order],
        contacts.gap[order],
        contacts.law[order],
    ), guess


def remember(contacts: ContactSet, q: Array, r: Array) -> dict[str, Array]:
    """What `track` needs in the next step: id, point in the frames of the two bodies (nc, 2, 3), frame, r.

    q (7 n,): the same as for `track`; r (nc, 6): impulses of the step.
    """
    return {
        "id": contacts.id.astype(np.float64),
        "point": _local(contacts, q),
        "frame": contacts.frame,
        "r": np.array(r, dtype=np.float64),
    }


def _local(contacts: ContactSet, q: Array) -> Array:
    local = np.empty((len(contacts), 2, 3))
    local_points(q, contacts.body, contacts.point, local)
    return local


def kept_of(memory: dict[str, Array]) -> tuple[Array, Array, Array, Array]:
    """id, point, frame, r of a memory; arrays that do not fit together are a ModelError."""
    if "id" not in memory:
        return NOTHING
    m = memory["id"].shape[0] if memory["id"].ndim else 0
    kept = []
    for key, shape in KEPT.items():
        array = memory.get(key)
        if array is None or array.shape != (m, *shape):
            found = "missing" if array is None else f"of shape {array.shape}"
            raise ModelError(f"memory of contacts: {key!r} is {found}, expected {(m, *shape)}")
        kept.append(np.ascontiguousarray(array, dtype=np.float64))
    return kept[0], kept[1], kept[2], kept[3]
