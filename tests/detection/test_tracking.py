"""Contacts keep their ids and impulses while they last, whatever slides, turns, comes and goes."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from stickslip.detection.contacts import SLOTS, ContactSet
from stickslip.detection.tracking import kept_of
from stickslip.kernels.bodies.frames import fill_tangents
from stickslip.kernels.bodies.layout import LastContacts
from stickslip.kernels.bodies.tracking import local_points, track_contacts
from stickslip.state import ModelError

CORNERS = np.array([(x, y, -0.5) for x in (-0.5, 0.5) for y in (-0.5, 0.5)])
PAIR = 1 * 4 + 2
"""Shapes 1 and 2 of four."""


def local(contacts, q):
    """Points in the frames of the two bodies."""
    out = np.empty((len(contacts), 2, 3))
    local_points(q, contacts.body, contacts.point, out)
    return out


def track(contacts, q, memory):
    """The contacts with ids of the last step where they continue one, sorted, and a guess of r (nc, 6)."""
    nc = len(contacts)
    order, ids, guess = np.empty(nc, np.int64), np.empty(nc, np.int64), np.zeros((nc, 6))
    track_contacts(
        contacts.id,
        local(contacts, q),
        contacts.frame,
        SLOTS,
        LastContacts(*kept_of(memory)),
        order,
        ids,
        guess,
    )
    rows = (getattr(contacts, name)[order] for name in ContactSet.__slots__)
    return replace(ContactSet(*rows), id=ids), guess


def remember(contacts, q, r):
    """What `track` needs in the next step."""
    return {"id": contacts.id.astype(float), "point": local(contacts, q), "frame": contacts.frame, "r": r}


def pose(x=(0.0, 0.0, 0.0), turn=None):
    p = (1.0, 0.0, 0.0, 0.0) if turn is None else turn.as_quat(scalar_first=True)
    return np.concatenate((x, p))


def contacts_at(points, normal=(0.0, 0.0, 1.0), pair=PAIR, body=(0, 1)):
    """Contacts of one pair of shapes in the order of the points."""
    nc = len(points)
    frame = np.array([normal] * 3, float)
    fill_tangents(frame)
    return ContactSet(
        id=pair * SLOTS + np.arange(nc),
        shape=np.tile(np.array(divmod(pair, 4)), (nc, 1)),
        body=np.tile(np.array(body), (nc, 1)),
        point=np.array(points, dtype=float).reshape(nc, 3),
        frame=np.tile(frame, (nc, 1, 1)),
        gap=np.arange(nc, dtype=float),
        law=np.full((nc, 4), 0.5),
    )


def joined(*sets):
    return ContactSet(*(np.concatenate([getattr(s, name) for s in sets]) for name in ContactSet.__slots__))


def impulses(nc, seed=0):
    return np.random.default_rng(seed).normal(size=(nc, 6))


@pytest.mark.parametrize("box", [0, 1], ids=["box first", "floor first"])
def test_corners_of_a_box_that_slides_and_turns_keep_their_ids(box):
    """Each step it slides half its size, so that corners come near to where others were on the floor."""
    rng = np.random.default_rng(1)
    memory, slot_of = {}, {}
    for k in range(1000):
        turn = Rotation.from_rotvec((0.0, 0.0, 0.02 * k))
        x = np.array((0.5 * k, 0.0, 0.5))
        q = np.concatenate((pose(x, turn), pose())[:: 1 if box == 0 else -1])
        order = rng.permutation(4)
        contacts, guess = track(contacts_at((turn.apply(CORNERS) + x)[order]), q, memory)
        corner = order[contacts.gap.astype(int)]  # gaps number the contacts as they were found
        slots = dict(zip(corner.tolist(), (contacts.id % SLOTS).tolist(), strict=True))
        slot_of = slot_of or slots
        assert slots == slot_of
        assert (np.diff(contacts.id) > 0).all()
        if memory:
            assert guess == pytest.approx(memory["r"], abs=1e-12)
        memory = remember(contacts, q, impulses(4, k))


def test_four_points_become_eight_and_four_again():
    q = np.concatenate((pose(), pose()))
    middles = np.array([(0.5, 0.0, -0.5), (-0.5, 0.0, -0.5), (0.0, 0.5, -0.5), (0.0, -0.5, -0.5)])
    four, _ = track(contacts_at(CORNERS), q, {})
    assert (four.id % SLOTS).tolist() == [0, 1, 2, 3]
    r = impulses(4)
    mixed = np.stack((middles, CORNERS[::-1] + 0.01), axis=1).reshape(8, 3)
    eight, guess = track(contacts_at(mixed), q, remember(four, q, r))
    assert (eight.id % SLOTS).tolist() == list(range(8))
    assert eight.point[:4] == pytest.approx(CORNERS + 0.01)
    assert eight.point[4:] == pytest.approx(middles)
    assert guess[:4] == pytest.approx(r)
    assert not guess[4:].any()
    r = impulses(8)
    left, guess = track(contacts_at(middles), q, remember(eight, q, r))
    assert (left.id % SLOTS).tolist() == [4, 5, 6, 7]
    assert guess == pytest.approx(r[4:])
    back, guess = track(contacts_at(np.concatenate((CORNERS, middles))), q, remember(left, q, r[4:]))
    assert (back.id % SLOTS).tolist() == list(range(8))
    assert back.point == pytest.approx(np.concatenate((CORNERS, middles)))
    assert not guess[:4].any()


def test_pairs_are_matched_apart_and_sorted():
    """A pair that goes, one that comes, a lone contact that moves far, and one with two of which one goes."""
    q = np.concatenate((pose(), pose(), pose()))
    lone = contacts_at([(0, 0, 0)], pair=1)
    gone = contacts_at([(0, 0, 0)], pair=2)
    two = contacts_at([(0, 0, 0), (1, 0, 0)], pair=6)
    r = impulses(4)
    memory = remember(joined(lone, gone, two), q, r)
    now = joined(
        contacts_at([(7, 0, 0)], pair=1), contacts_at([(0, 0, 0)], pair=3), contacts_at([(1, 0, 0)], pair=6)
    )
    contacts, guess = track(now, q, memory)
    assert contacts.id.tolist() == [1 * SLOTS, 3 * SLOTS, 6 * SLOTS + 1]
    assert guess == pytest.approx(np.stack((r[0], np.zeros(6), r[3])))


def test_points_far_from_all_others_are_new():
    q = np.concatenate((pose(), pose()))
    memory = remember(contacts_at([(0, 0, 0), (1, 0, 0)]), q, impulses(2))
    contacts, guess = track(contacts_at([(0.5, 0, 0), (1, 0, 0)]), q, memory)
    assert contacts.point[:, 0].tolist() == [0.5, 1.0]
    assert not guess[0].any()
    assert guess[1].any()


@pytest.mark.parametrize("angle", [1e-3, 0.7, 3.0])
def test_impulses_turn_with_the_normal(angle):
    """A turn about t1 leaves it where it is; lengths stay, and so does the normal impulse."""
    q = np.concatenate((pose(), pose()))
    n = np.array((0.6, 0.0, 0.8))
    old = contacts_at([(0, 0, 0)], normal=n)
    r = impulses(1)
    turn = Rotation.from_rotvec(angle * old.frame[0, 1])
    new = contacts_at([(0, 0, 0)], normal=turn.apply(n))
    _, guess = track(new, q, remember(old, q, r))
    for k in (1, 3):
        before = r[0, k : k + 2] @ old.frame[0, 1:]
        assert guess[0, k : k + 2] @ new.frame[0, 1:] == pytest.approx(turn.apply(before), abs=1e-12)
    assert guess[0, 0] == r[0, 0]
    assert guess[0, 5] == r[0, 5]


def test_no_contacts_and_memories_that_do_not_fit():
    q = np.concatenate((pose(), pose()))
    none = contacts_at(np.zeros((0, 3)))
    contacts, guess = track(none, q, remember(contacts_at(CORNERS), q, impulses(4)))
    assert len(contacts) == 0
    assert guess.shape == (0, 6)
    contacts, guess = track(contacts_at(CORNERS), q, remember(none, q, guess))
    assert not guess.any()
    memory = remember(contacts, q, guess)
    for broken in ({**memory, "r": memory["r"][:3]}, {k: v for k, v in memory.items() if k != "frame"}):
        with pytest.raises(ModelError, match="memory of contacts"):
            track(contacts, q, broken)


def test_a_memory_of_nonsense_is_survived():
    """Ids that are not sorted, not numbers or not of this world match nothing or something, never crash."""
    q = np.concatenate((pose(), pose()))
    memory = remember(contacts_at(CORNERS), q, impulses(4))
    for ids in ([np.nan] * 4, [PAIR * SLOTS] * 4, [1e300, -1e300, np.inf, -np.inf]):
        contacts, _ = track(contacts_at(CORNERS), q, {**memory, "id": np.array(ids, dtype=float)})
        assert (contacts.id // SLOTS == PAIR).all()
        assert (np.diff(contacts.id) > 0).all()
    _, guess = track(contacts_at(CORNERS), q, {**memory, "point": np.full((4, 2, 3), np.nan)})
    assert not guess.any()
