"""Arguments that are handed over once: a kernel finds in them what it would have been given."""

from typing import Any, NamedTuple

import numpy as np
import pytest

from stickslip.compilation import JIT
from stickslip.kernels.held import Held
from stickslip.kernels.jit import jit
from stickslip.state import Array, IntArray

pytestmark = pytest.mark.skipif(not JIT, reason="arguments are held for compiled kernels only")


class Both(NamedTuple):
    """Parts, and what is added to them."""

    own: "Parts"
    more: Array


class Handed(NamedTuple):
    """What is held already, a pair, and a number."""

    held: Any
    pair: tuple[Array, float]


class Parts(NamedTuple):
    """Arrays of several kinds, and numbers."""

    values: Array
    table: Array
    places: IntArray
    factor: float
    count: int
    taken: bool


def parts(seed=0):
    random = np.random.default_rng(seed)
    return Parts(
        random.standard_normal(7), random.standard_normal((3, 4)), np.array([2, 0, 1]), 1.5, 3, seed % 2 == 0
    )


@jit
def total(own, more):
    """A number that depends on all of it, in order."""
    found = own.factor if own.taken else -own.factor
    for k in range(own.count):
        for c in range(own.table.shape[1]):
            found += own.table[own.places[k], c] * own.values[c] + more[k]
    own.values[0] = found
    return found


@jit
def total_held(held):
    return total(held.own, held.more)


@jit
def total_handed(given):
    values, factor = given.pair
    return total(given.held.own, values) * factor


@pytest.mark.parametrize("seed", [0, 1])
def test_a_kernel_gives_the_same_from_held_arguments(seed):
    direct, own, more = parts(seed), parts(seed), np.array([0.1, 0.2, 0.3])
    assert total_held(Held(Both(own, more))) == total(direct, more)
    np.testing.assert_array_equal(own.values, direct.values)


def test_what_is_written_to_the_arrays_is_seen_and_numbers_are_those_of_the_start():
    own, more = parts(), np.zeros(3)
    held = Held(Both(own, more))
    first = total_held(held)
    own.values[:], more[:] = parts(1).values, 1.0
    assert total_held(held) == total(own._replace(values=parts(1).values.copy()), more) != first


def test_another_of_the_same_types_holds_its_own_values():
    first = Held(Both(parts(0), np.zeros(3)))
    second = Held(Both(parts(1), np.ones(3)), like=first)
    assert total_held(second) == total(parts(1), np.ones(3))
    assert total_held(first) == total(parts(0), np.zeros(3))


def test_arrays_live_as_long_as_what_holds_them():
    held = Held(Both(parts(), np.zeros(3)))
    litter = [np.full(7, np.nan) for _ in range(100)]
    assert total_held(held) == total(parts(), np.zeros(3))
    assert len(litter) == 100


def test_what_is_held_can_be_part_of_what_is_held():
    own, more = parts(), np.array([0.1, 0.2, 0.3])
    given = Held(Handed(Held(Both(own, np.zeros(3))), (more, 2.0)))
    assert total_handed(given) == 2.0 * total(parts(), more)


def test_python_reads_the_same_fields():
    held = Held(Both(parts(), np.zeros(3)))
    assert held.own.count == 3
    assert held.more.shape == (3,)
    with pytest.raises(AttributeError):
        held.other  # noqa: B018
