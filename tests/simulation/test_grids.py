"""Steps that end at the times of a grid: every scheme, records, files, checkpoints, live runs, refusals."""

import importlib.util

import numpy as np
import pytest
from robot_models import ball
from world_runs import balls

import stickslip as ss
from stickslip.schemes import registry

G = 9.81
SQUARES = 0.3 * np.linspace(0.0, 1.0, 41) ** 2
"""Times that grow further apart [s]."""


def thrown():
    """A point in the plane thrown against a floor with friction."""
    point = ss.Lagrangian("ball", M=np.eye(2), q0=[0.0, 0.1], v0=[1.0, 0.0], F_ext=[0.0, -G])
    touch = ss.Scleronomous(lambda q: np.array([q[1], q[0]]), lambda q: np.array([[0.0, 1.0], [1.0, 0.0]]))
    floor = ss.Interaction("floor", "ball", touch, ss.NewtonImpact(e=0.5, mu=0.3, dimension=2))
    return ss.NonsmoothSystem([point], [floor])


def rectified():
    """x' = -x - 5 sin 10 t + lam with 0 <= x ⟂ lam >= 0: the level cannot fall below zero."""
    tank = ss.FirstOrder("tank", x0=0.5, f=lambda t, x: -x - 5.0 * np.sin(10.0 * t))
    relation = ss.systems.FirstOrderLinearRelation(C=1.0, B=1.0)
    law = ss.Interaction("rim", "tank", relation, ss.laws.Complementarity())
    return ss.NonsmoothSystem([tank], [law])


def robot():
    """A ball of MJCF's above the floor."""
    return ss.Robot.load(ball(0.3))


def schemes():
    for name in registry.names():
        entry = registry.entry(name)
        if importlib.util.find_spec(entry.module) is not None:
            of = {"first": rectified, "second": thrown, "bodies": balls, "robots": robot}
            model = of[entry.order]
            yield pytest.param(name, model, id=name)


def short(run):
    """Whatever can be compared of a run."""
    return run.t, run.h, run.q, run.v, run.natural, run.iterations


@pytest.mark.parametrize(("scheme", "model"), list(schemes()))
def test_every_scheme_steps_through_a_grid(scheme, model):
    run = ss.simulate(model(), grid=SQUARES, scheme=scheme)
    np.testing.assert_array_equal(run.t, SQUARES)
    np.testing.assert_allclose(run.h[1:], np.diff(SQUARES), rtol=1e-12)
    assert run.missed == 0
    # What a long grid of short steps leads to, this one leads to with an error of its steps.
    fine = ss.simulate(model(), until=0.3, h=1e-3, scheme=scheme)
    assert np.abs(fine.q[-1] - run.q[-1]).max() < 0.04


@pytest.mark.parametrize("model", [thrown, rectified, balls])
def test_a_uniform_grid_is_the_run_with_h(model):
    h = 2e-3
    given = ss.simulate(model(), until=0.3, h=h)
    run = ss.simulate(model(), grid=h * np.arange(151))
    for ours, theirs in zip(short(run), short(given), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_free_flight_is_exact_at_every_time_of_a_grid():
    point = ss.Lagrangian("point", M=np.eye(1), q0=[1.0], v0=[2.0], F_ext=[-G])
    t = np.array([0.0, 1e-4, 0.3, 0.30001, 1.0])
    run = ss.simulate(ss.NonsmoothSystem([point]), grid=t)
    np.testing.assert_allclose(run.q[:, 0], 1.0 + 2.0 * t - 0.5 * G * t**2, rtol=1e-14)


@pytest.mark.parametrize("model", [thrown, rectified, balls])
def test_a_run_goes_on_in_its_grid(model, tmp_path):
    whole = ss.simulate(model(), grid=SQUARES)
    half = ss.simulate(model(), grid=SQUARES, until=SQUARES[17])
    half.save(tmp_path / "half.h5")
    back = ss.read_trajectory(tmp_path / "half.h5")
    assert back.clock == half.clock
    for start in (half.checkpoint(), back.checkpoint()):
        for more in ({}, {"grid": SQUARES}):
            rest = ss.simulate(model(), start=start, **more)
            for name in ("t", "h", "q", "v"):
                np.testing.assert_array_equal(getattr(rest, name), _from(whole, name, 17))


def _from(run, name, k):
    """A column from record k on; no step led to the first."""
    found = np.array(getattr(run, name)[k:])
    if name == "h":
        found[0] = 0.0
    return found


def test_records_of_a_grid_and_impulses_between_them():
    every, some = (ss.simulate(thrown(), grid=SQUARES, record=n) for n in (1, 8))
    np.testing.assert_array_equal(some.t, SQUARES[::8])
    np.testing.assert_array_equal(some.q, every.q[::8])
    sums = every.r[1:].reshape(5, 8, -1).sum(axis=1)
    np.testing.assert_allclose(some.r[1:], sums, atol=1e-12)


def test_a_file_of_a_grid_is_continued_in_place(tmp_path):
    path = tmp_path / "run.h5"
    whole = ss.simulate(thrown(), grid=SQUARES)
    ss.simulate(thrown(), grid=SQUARES, until=SQUARES[11], out=path)
    start = ss.read_trajectory(path).checkpoint()
    with pytest.raises(ss.ModelError, match="whose grid is"):
        ss.simulate(thrown(), until=0.3, h=1e-3, start=start, out=path)
    run = ss.simulate(thrown(), start=start, out=path)
    np.testing.assert_array_equal(run.t, SQUARES)
    np.testing.assert_array_equal(run.q, whole.q)
    assert "a grid of 40 steps" in str(run)


def test_an_end_between_two_times_shortens_a_step_and_goes_on_to_the_next():
    run = ss.simulate(thrown(), grid=[0.1, 0.2, 0.4], until=0.25)
    np.testing.assert_allclose(run.t, [0.0, 0.1, 0.2, 0.25])
    assert run.index[-1] == -1
    rest = ss.simulate(thrown(), start=run.checkpoint())
    np.testing.assert_allclose(rest.t, [0.25, 0.4])


def test_live_runs_take_the_steps_of_a_grid():
    live = ss.live(thrown(), grid=SQUARES)
    live.step(10)
    live.step()
    assert live.t == SQUARES[11]
    point = live.checkpoint()
    live.step(29)
    whole = ss.simulate(thrown(), grid=SQUARES)
    np.testing.assert_array_equal(live.run().q, whole.q)
    with pytest.raises(ss.ModelError, match=r"n is 1; the grid ends at 0.3 s, 0 steps from here"):
        live.step()
    live.reset(point)
    live.step(29)
    np.testing.assert_array_equal(live.state.q, whole.q[-1])


def test_derivatives_of_a_run_follow_the_grid_of_its_start():
    half = ss.simulate(thrown(), grid=SQUARES, until=SQUARES[5])
    start = half.checkpoint()
    found = ss.sensitivity(thrown(), until=SQUARES[9], start=start, by="q")
    run = ss.simulate(thrown(), until=SQUARES[9], start=start)
    np.testing.assert_allclose(found.t, run.t, rtol=0.0)
    np.testing.assert_allclose(found.q[-1], run.q[-1], rtol=1e-12)


@pytest.mark.parametrize(
    ("grid", "said"),
    [
        ([0.0, 0.2, 0.1], r"grid\[2\] is 0.1 s after grid\[1\] = 0.2 s; times must increase"),
        ([0.0, 0.1, 0.1], "times must increase"),
        ([0.0, np.nan], r"grid\[1\] is nan; times must be finite"),
        ([0.0], "grid ends at 0 s; it must extend beyond the start, t = 0 s"),
        ([], r"grid has shape \(0,\)"),
        ([[0.0, 1.0]], r"grid has shape \(1, 2\)"),
        ("times", "grid is 'times'; expected times at which steps end"),
        ([-1.0, 1.0], "grid starts at -1 s, before the start, t = 0 s"),
    ],
)
def test_mistaken_grids_are_refused(grid, said):
    with pytest.raises(ss.ModelError, match=said):
        ss.simulate(thrown(), grid=grid)


def test_one_thing_says_how_long_steps_are():
    with pytest.raises(ss.ModelError, match="h and grid are given; each of them defines the step lengths"):
        ss.simulate(thrown(), h=0.1, grid=[0.1, 0.2])
    with pytest.raises(ss.ModelError, match="until is 2 s; the grid ends at 1 s"):
        ss.simulate(thrown(), grid=[0.5, 1.0], until=2.0)
    with pytest.raises(ss.ModelError, match="until is missing"):
        ss.simulate(thrown(), h=0.1)
    done = ss.simulate(thrown(), grid=[0.5, 1.0])
    with pytest.raises(ss.ModelError, match="the grid of the start ends at 1 s"):
        ss.simulate(thrown(), until=2.0, start=done.checkpoint())
    assert ss.simulate(thrown(), until=2.0, h=0.1, start=done.checkpoint()).t[-1] == 2.0
