"""Domains of contacts: what threads may do at the same time."""

from itertools import pairwise

import numpy as np
import pytest

from stickslip.kernels.domains import LEAST, MOST, TURN, partition


def lattice(size):
    """Contacts between neighbours of a cube of bodies, in random order, and bodies that lie on the ground."""
    number = np.arange(size**3).reshape(size, size, size)
    pairs = [
        np.stack((np.take(number, range(size - 1), k), np.take(number, range(1, size), k)), -1).reshape(-1, 2)
        for k in range(3)
    ]
    ground = np.stack((number[:, :, 0].reshape(-1), np.full(size * size, -1)), -1)
    found = np.concatenate((*pairs, ground))
    return np.random.default_rng(0).permutation(found), size**3


def split(bodies, count):
    """(domains of even number, those of odd number, what is left), each a list of contacts."""
    order, start = partition(bodies, count)
    np.testing.assert_array_equal(np.sort(order), np.arange(len(bodies)))
    parts = [order[a:b] for a, b in pairwise(start)]
    even = (len(start) - 1) // 2
    return parts[:even], parts[even:-1], parts[-1]


def touched(bodies, contacts):
    return {int(b) for b in bodies[contacts].reshape(-1) if b >= 0}


@pytest.mark.parametrize("size", [5, 24, 34])
def test_domains_of_one_turn_share_no_body(size):
    bodies, count = lattice(size)
    even, odd, left = split(bodies, count)
    assert len(left) == 0
    wanted = max(1, min(MOST, len(bodies) // LEAST))
    assert len(even) + len(odd) == (wanted if wanted <= TURN else wanted - wanted % TURN)
    for turn in (even, odd):
        seen = set()
        for part in turn:
            assert np.all(np.diff(part) > 0)  # in the order of before
            own = touched(bodies, part)
            assert not own & seen
            seen |= own


def test_domains_are_of_about_one_size():
    bodies, count = lattice(34)
    even, odd, _ = split(bodies, count)
    sizes = [len(part) for part in (*even, *odd)]
    assert max(sizes) < 2 * np.mean(sizes)


def test_bodies_that_touch_no_other_are_shared_out():
    bodies = np.stack((np.arange(40_000), np.full(40_000, -1)), -1)
    even, odd, left = split(bodies, 40_000)
    assert len(even) + len(odd) == 40_000 // LEAST
    assert len(left) == 0


def test_contacts_of_a_body_that_touches_everything_come_last():
    bodies, count = lattice(24)
    lid = np.stack((np.arange(4_000), np.full(4_000, count)), -1)
    even, odd, left = split(np.concatenate((bodies, lid)), count + 1)
    np.testing.assert_array_equal(left, len(bodies) + np.arange(4_000))
    assert len(even) + len(odd) == len(bodies) // LEAST


def test_nothing_and_little():
    order, start = partition(np.zeros((0, 2), np.int64), 3)
    assert len(order) == 0
    assert start[-1] == 0
    order, start = partition(np.array([[0, 1], [1, -1], [-1, -1]]), 2)
    np.testing.assert_array_equal(np.sort(order), range(3))
