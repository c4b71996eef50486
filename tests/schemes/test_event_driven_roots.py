"""Finding the first instant at which a watched quantity falls below zero."""

import numpy as np
import pytest

from stickslip.schemes.event_driven_roots import Lookout

FLOOR = 1e-12


def first(g, slope, t0: float, t1: float, steps: int = 4, parts: int = 4):
    """The first crossing of functions of time, watched over equal steps; all of them gaps with slopes."""
    look = Lookout(t0, g(t0), slope(t0), np.full(g(t0).size, FLOOR), 1e-13)
    found = look.start()
    for k in range(1, steps + 1):
        if found is not None:
            break
        found = look.advance(t0 + (t1 - t0) * k / steps, parts, parts, g, slope)
    return found


def test_a_plain_crossing_to_rounding():
    found = first(lambda t: np.array([np.cos(t)]), lambda t: np.array([-np.sin(t)]), 0.0, 3.0)
    assert found.t == pytest.approx(np.pi / 2.0, abs=1e-15)
    assert not found.sudden


@pytest.mark.parametrize("depth", [1e-3, 1e-9])
def test_a_dip_between_two_looks(depth):
    found = first(
        lambda t: np.array([(t - 1.0318) ** 2 - depth]), lambda t: np.array([2.0 * (t - 1.0318)]), 0.0, 3.0
    )
    assert found.t == pytest.approx(1.0318 - np.sqrt(depth), abs=1e-12)


def test_a_touch_from_above_is_no_crossing():
    found = first(
        lambda t: np.array([(t - 1.0318) ** 2 + 1e-9]), lambda t: np.array([2.0 * (t - 1.0318)]), 0.0, 3.0
    )
    assert found is None


@pytest.mark.parametrize("flight", [1e-1, 1e-4, 1e-7])
@pytest.mark.parametrize("rounding", [0.0, 3e-17, -3e-17])
def test_a_flight_that_begins_at_zero_ends_once(flight, rounding):
    found = first(
        lambda t: np.array([t * (flight - t) + rounding]), lambda t: np.array([flight - 2.0 * t]), 0.0, 1.0
    )
    assert found.t == pytest.approx(flight, rel=1e-9, abs=1e-9)


def test_what_falls_from_zero_falls_at_once():
    found = first(lambda t: np.array([1.0, -t]), lambda t: np.array([0.0, -1.0]), 0.0, 1.0)
    assert found.t == 0.0
    assert found.sudden
    assert found.which.tolist() == [1]


def test_crossings_at_one_time_come_together():
    found = first(
        lambda t: np.array([1.0 - t, 2.0 - 2.0 * t, 3.0 - t]),
        lambda t: np.array([-1.0, -2.0, -1.0]),
        0.0,
        2.0,
    )
    assert found.t == pytest.approx(1.0, abs=1e-14)
    assert found.which.tolist() == [0, 1]
