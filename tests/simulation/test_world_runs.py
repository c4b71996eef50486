"""Runs of worlds: what is recorded, how a run goes on, and what becomes of bad steps and states."""

import numpy as np
import pytest
from world_runs import CONTACTS, Drop, balls, equal

import stickslip as ss
from stickslip.schemes import registry

H = 1e-2


@pytest.fixture(scope="module")
def world():
    return balls()


def run(world, until=0.5, scheme=None, **how):
    start = how.get("start")
    step = None if isinstance(start, ss.simulation.Checkpoint) else H
    return ss.simulate(world, until=until, h=step, scheme=scheme or Drop(), **how)


def test_records_are_the_steps(world):
    trajectory = run(world)
    np.testing.assert_allclose(trajectory.t, H * np.arange(51))
    np.testing.assert_allclose(trajectory.body("ball 0").velocity[1:10, 2], -9.81 * H * np.arange(1, 10))
    assert np.diff(trajectory.contacts.offset)[0] == 0
    assert trajectory.tolerance == 1e-8
    assert (trajectory.steps, trajectory.missed, trajectory.memory["count"][0]) == (50, 0, 50.0)
    text = str(trajectory)
    for words in ("2 dynamic, 1 fixed", "1 plane, 2 sphere", "0.002 m at most", "dissipated", "kept to"):
        assert words in text


def test_between_records_the_worst_counts_and_the_rest_adds_up(world):
    every, some = run(world), run(world, record=7)
    rows = [0, *range(7, 50, 7), 50]
    for name in ("t", "q", "v", "dissipated", "balance", "kinetic", "potential"):
        np.testing.assert_array_equal(getattr(every, name)[rows], getattr(some, name))
    for name in ("penetration", "correction"):
        most = np.maximum.reduceat(getattr(every, name)[1:], [0, *range(7, 50, 7)])
        np.testing.assert_array_equal(getattr(some, name)[1:], most)
    for k, row in enumerate(rows):
        for name in CONTACTS:
            a, b = (getattr(one.contacts, name)[one.contacts.at(i)] for one, i in ((every, row), (some, k)))
            np.testing.assert_array_equal(a, b)


def test_a_run_goes_on_bit_for_bit(world, tmp_path):
    whole, first = run(world, record=3), run(world, until=0.2, record=3)
    first.save(tmp_path / "first.h5")
    for checkpoint in (first.checkpoint(), ss.read_trajectory(tmp_path / "first.h5").checkpoint()):
        rest = run(world, start=checkpoint, record=3)
        for name in ("q", "v", "dissipated", "balance"):
            np.testing.assert_array_equal(getattr(whole, name)[7:], getattr(rest, name)[1:])
        np.testing.assert_array_equal(whole.memory["count"], rest.memory["count"])
    assert rest.clock == whole.clock
    rest = run(world, start=run(world, until=0.21, record=3).checkpoint(), record=3)
    equal(whole, rest, slice(7, None), but=("h", "ok", "penetration", "correction"))
    for name in CONTACTS:
        first = whole.contacts.offset[8]
        np.testing.assert_array_equal(getattr(whole.contacts, name)[first:], getattr(rest.contacts, name))


def test_the_last_step_may_be_shorter_and_the_run_goes_on_from_there(world):
    trajectory = run(world, until=0.105)
    assert trajectory.t[-1] == 0.105
    np.testing.assert_allclose(trajectory.h[-2:], [H, 0.005])
    rest = run(world, until=0.2, start=trajectory.checkpoint())
    np.testing.assert_allclose(rest.t[1], 0.115)
    assert rest.t[-1] == 0.2


def test_a_state_to_begin_with(world):
    start = run(world, until=0.1)
    q = np.array(world.start.q)
    q[9] = 1.0
    begun = run(world, until=2.1, start=ss.State(2.0, q, start.v[-1]))
    assert begun.t[0] == 2.0
    assert begun.body("ball 0").position[0, 2] == 1.0
    with pytest.raises(ss.ModelError, match=r"'ball 0': .* its quaternion has length 0"):
        run(world, start=ss.State(0.0, np.where(np.arange(21) == 10, 0.0, q), world.start.v))
    with pytest.raises(ss.ModelError, match=r"'floor': .* it moves, but it is fixed"):
        run(world, start=ss.State(0.0, q, np.ones(18)))
    with pytest.raises(ss.ModelError, match=r"'ball 1'.*not finite"):
        run(world, start=ss.State(0.0, q, np.where(np.arange(18) == 17, np.nan, 0.0)))
    with pytest.raises(ss.ModelError, match="shape"):
        run(world, start=ss.State(0.0, q[:7], world.start.v))


def test_bad_steps_are_raised_accepted_or_halved(world):
    with pytest.raises(ss.SimulationFailure, match=r"from t = 0.2 s missed.*deliberate failure") as failure:
        run(world, scheme=Drop(bad=0.2))
    assert failure.value.trajectory.t[-1] == pytest.approx(0.2)
    accepted = run(world, scheme=Drop(bad=0.2), on_failure="accept")
    assert accepted.missed == 30
    np.testing.assert_array_equal(accepted.ok, accepted.t <= 0.2 + 1e-9)
    halved = run(world, scheme=Drop(bad=0.2, short=0.3 * H), on_failure="halve")
    assert (halved.missed, halved.steps, len(halved)) == (0, 20 + 4 * 30, 51)
    np.testing.assert_array_equal(halved.t, accepted.t)
    with pytest.raises(ss.SimulationFailure, match="so did one of 256 shorter ones"):
        run(world, scheme=Drop(bad=0.2, short=-1.0), on_failure="halve")


def test_a_lost_body_is_named_and_what_was_done_is_kept(world):
    with pytest.raises(ss.ModelError, match=r"body 'ball 0': at t = 0.3 s, v is not finite") as error:
        run(world, scheme=Drop(lost=0.295))
    assert error.value.trajectory.t[-1] == pytest.approx(0.29)


def test_sensors_are_read_at_every_record():
    def height(world, state):
        return world.pose(state, "ball 1")[0][2:]

    trajectory = run(balls(sensor=ss.sensors.Sensor("height", height)), record=5)
    np.testing.assert_array_equal(
        trajectory.sensors["height"][:, 0], trajectory.body("ball 1").position[:, 2]
    )
    grows = ss.sensors.Sensor("grows", lambda world, state: np.zeros(1 + int(100 * state.t + 0.5)))
    with pytest.raises(ss.ModelError, match=r"'grows'.*shape is \(2,\); at first it was \(1,\)"):
        run(balls(sensor=grows))
    with pytest.raises(ss.ModelError, match="sensor 'nothing'"):
        run(balls(sensor=ss.sensors.Sensor("nothing", lambda world, state: np.nan)))


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (lambda: balls(3), "it has 3 bodies; here there are 4"),
        (lambda: balls(mass=3.0), "the mass of body 'ball 0' differs"),
        (lambda: balls(joint=True), "it has 0 joints; here there are 1"),
    ],
)
def test_a_checkpoint_of_another_world_is_refused(world, other, words):
    with pytest.raises(ss.ModelError, match=f"another world: {words}"):
        run(other(), start=run(world, until=0.1).checkpoint())


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (
            {"scheme": "euler-moreau"},
            "euler-moreau applies to systems of first order, not to worlds; worlds accept",
        ),
        ({"scheme": Drop}, "scheme is"),
        ({"start": 3}, "start is int; expected a checkpoint of a world"),
        ({"solver": 3}, "solver is 3"),
        ({"record": 0}, "record is 0"),
        ({"on_failure": "no"}, "on_failure is 'no'"),
        ({"until": -1.0}, "until is -1.0"),
        ({"progress": 1}, "progress is 1"),
    ],
)
def test_what_cannot_be_is_refused(world, how, words):
    with pytest.raises(ss.ModelError, match=words):
        run(world, **how)


def test_a_step_must_be_given_and_schemes_of_worlds_are_not_for_systems(world):
    with pytest.raises(ss.ModelError, match="h is missing"):
        ss.simulate(world, until=1.0)
    ball = ss.NonsmoothSystem([ss.Lagrangian("ball", M=1.0, q0=1.0)], [])
    with pytest.raises(ss.ModelError, match="applies to worlds of bodies"):
        ss.simulate(ball, until=1.0, h=0.1, scheme="moreau-jean-semi-explicit")
    with pytest.raises(ss.ModelError, match="expected a checkpoint"):
        ss.simulate(ball, until=1.0, start=run(world, until=0.1).checkpoint())


def test_the_scheme_of_worlds_is_made_again_from_its_options():
    scheme = registry.chosen_for_bodies("moreau-jean-semi-explicit")
    assert registry.described(scheme)[0] == "moreau-jean-semi-explicit"
    assert registry.remade_for_bodies(*registry.described(scheme)) == scheme
    with pytest.raises(ss.ModelError, match="give scheme="):
        registry.remade_for_bodies("Drop", {})
