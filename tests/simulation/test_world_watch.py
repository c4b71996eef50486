"""Watching a run of a world: every record as it comes, nothing changed, nothing lost when it ends early."""

import numpy as np
import pytest
from world_runs import COLUMNS, CONTACTS, Drop, balls, equal

import stickslip as ss

H = 1e-2


@pytest.fixture(scope="module")
def world():
    return balls()


def run(world, until=0.505, scheme=None, **how):
    return ss.simulate(world, until=until, h=H, scheme=scheme or Drop(), **how)


def test_every_record_is_seen_and_the_run_is_the_same_to_the_byte(world):
    seen = []
    watched, alone = run(world, record=3, watch=seen.append), run(world, record=3)
    equal(alone, watched)
    for name in CONTACTS:
        assert getattr(alone.contacts, name).tobytes() == getattr(watched.contacts, name).tobytes()
    assert [one.t for one in seen] == alone.t.tolist()
    assert alone.t[-1] == 0.505
    for k, one in enumerate(seen):
        stored = alone.at(k)
        for name in ("q", "v"):
            np.testing.assert_array_equal(getattr(one, name), getattr(stored, name))
        for name in ("h", "ok", "natural", "natural_scaled", "penetration", "energy", "dissipated"):
            assert getattr(one, name) == getattr(stored, name), name
        for name in ("offset", *CONTACTS):
            np.testing.assert_array_equal(getattr(one.contacts, name), getattr(stored.contacts, name))
    assert {"sticking"} == {state for one in seen for state in one.states}
    assert any(len(one.states) == 2 for one in seen)


def test_a_watch_cannot_write_into_the_run(world):
    def spoil(record):
        record.q[:] = 0.0

    with pytest.raises(ValueError, match="read-only"):
        run(world, watch=spoil)


def test_states_are_told_from_the_record_alone():
    builder = ss.WorldBuilder()
    builder.body("floor", ss.Plane(), fixed=True)
    builder.body("slow", ss.Cuboid((1, 1, 1)), position=(0, 0, 0.5), velocity=(1, 0, 0))
    seen = []
    ss.simulate(builder.build(), until=0.03, h=1e-2, watch=seen.append)
    assert [len(one.states) for one in seen] == [0, 4, 4, 4]
    assert {state for one in seen for state in one.states} == {"slipping"}


@pytest.mark.parametrize("error", [KeyboardInterrupt(), KeyError("mine"), RuntimeError("enough")])
def test_what_a_watch_raises_ends_the_run_and_nothing_is_lost(world, error):
    def stop(record):
        if record.t > 0.295:
            raise error

    with pytest.raises(type(error)) as caught:
        run(world, watch=stop)
    assert caught.value is error
    kept = error.trajectory
    assert kept.t[-1] == pytest.approx(0.3)
    whole = run(world)
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(whole, name)[:31], getattr(kept, name), err_msg=name)
    rest = ss.simulate(world, until=0.505, scheme=Drop(), start=kept.checkpoint())
    np.testing.assert_array_equal(whole.q[30:], rest.q)


def test_a_watch_that_fails_at_the_start_of_a_resumed_run_is_not_blamed_on_the_file(world):
    def fail(record):
        raise KeyError("mine")

    start = run(world, until=0.1).checkpoint()
    with pytest.raises(KeyError, match="mine"):
        ss.simulate(world, until=0.2, scheme=Drop(), start=start, watch=fail)


def test_an_interrupt_within_a_record_leaves_the_records_before():
    def read(world, state):
        if state.t > 0.195:
            raise KeyboardInterrupt
        return np.zeros(1)

    with pytest.raises(KeyboardInterrupt) as caught:
        run(balls(sensor=ss.sensors.Sensor("read", read)))
    kept = caught.value.trajectory
    assert (len(kept), len(kept.contacts.offset), kept.memory["count"][0]) == (20, 21, 19.0)


def test_an_interrupt_that_comes_out_as_something_else_is_one(world):
    def watch(record):
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as interrupt:
            raise SystemError("a kernel returned a result with an exception set") from interrupt

    def broken(record):
        raise SystemError("broken")

    with pytest.raises(KeyboardInterrupt) as caught:
        run(world, watch=watch)
    assert len(caught.value.trajectory) == 1
    with pytest.raises(SystemError, match="broken"):
        run(world, watch=broken)


def test_systems_are_watched_too(world):
    with pytest.raises(ss.ModelError, match="watch is 3; expected a function"):
        run(world, watch=3)
    ball = ss.NonsmoothSystem([ss.Lagrangian("ball", M=1.0, q0=1.0)], [])
    seen = []
    ss.simulate(ball, until=1.0, h=0.1, watch=lambda record: seen.append((record.t, record.q[0])))
    assert len(seen) == 11
    assert seen[-1] == (1.0, 1.0)
