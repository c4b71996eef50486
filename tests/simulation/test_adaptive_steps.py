"""Adaptive steps: short at impacts, long in flights, errors as the tolerance says, and runs that go on."""

from dataclasses import replace

import numpy as np
import pytest

import stickslip as ss
from stickslip.schemes import Adaptive

G, E = 9.81, 0.8


def ball(e=E):
    """A point at 1 m above a floor."""
    point = ss.Lagrangian("ball", M=np.eye(1), q0=[1.0], v0=[0.0], F_ext=[-G])
    floor = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q), ss.NewtonImpact(e=e))
    return ss.NonsmoothSystem([point], [floor])


def dropped(e=E):
    """The same as a world: a sphere of 0.1 m."""
    builder = ss.WorldBuilder()
    builder.material("rubber", e=e)
    builder.body("floor", ss.Plane(), fixed=True, material="rubber")
    builder.body("ball", ss.Sphere(0.1), position=(0, 0, 1.1), mass=1.0, material="rubber")
    return builder.build()


def impacts(e=E, count=60):
    """Times of the impacts of a ball that falls from 1 m [s], shape (count,)."""
    return np.sqrt(2.0 / G) * (1.0 + 2.0 * np.cumsum([0.0, *(e**k for k in range(1, count))]))


IMPACTS = impacts()


def height(t, e=E):
    """Of the ball at t [m]."""
    times = impacts(e)
    fallen = np.searchsorted(times, t)
    if not fallen:
        return 1.0 - 0.5 * G * t**2
    since = t - times[fallen - 1]
    return max(0.0, e**fallen * G * times[0] * since - 0.5 * G * since**2)


def error(run):
    """Largest distance of the ball of a system from where it should be, over the records [m]."""
    return max(abs(q - height(t)) for t, q in zip(run.t, run.q[:, 0], strict=True))


def test_flights_take_long_steps_and_impacts_short_ones():
    h_max = 0.02
    run = ss.simulate(ball(), until=1.5, adaptive=Adaptive(tolerance=1e-5, h_max=h_max))
    near = np.abs(run.t[1:, None] - IMPACTS).min(axis=1) < 1e-4
    struck = run.r[1:, 0] > 0.0
    assert near[struck].all()
    assert struck.sum() == 2
    # A jump of (1 + e) v that is misplaced by h leaves (1 + e) v h in q.
    assert run.h[1:][struck].max() < 1e-5
    assert run.h[1:].max() == h_max
    assert run.pace.rejected > 0
    assert run.pace.coarse == 0
    uniform = 1.5 / run.h[1:][struck].min()
    assert run.steps < uniform / 1000
    assert "pairs rejected" in str(run)
    assert "adaptive steps, tolerance 1e-05" in str(run)


def test_errors_are_proportional_to_the_tolerance():
    errors = {}
    for tolerance in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6):
        run = ss.simulate(ball(), until=1.5, adaptive=Adaptive(tolerance=tolerance))
        errors[tolerance] = error(run)
        assert errors[tolerance] < 5.0 * tolerance
    assert errors[1e-6] < 1e-3 * errors[1e-2]


@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_errors_of_systems_and_worlds_whatever_the_restitution(e):
    for tolerance in (1e-3, 1e-5):
        options = Adaptive(tolerance=tolerance, h_max=0.05)
        for model, place in ((ball, lambda run: run.q[:, 0]), (dropped, lambda run: run.q[:, -5] - 0.1)):
            run = ss.simulate(model(e), until=1.1, adaptive=options)
            exact = [height(t, e) for t in run.t]
            assert np.abs(place(run) - exact).max() < 5.0 * tolerance


def test_free_flight_takes_the_longest_steps():
    point = ss.Lagrangian("point", M=np.eye(1), q0=[0.0], v0=[1.0], F_ext=[-G])
    options = Adaptive(tolerance=1e-9, h_max=0.05, first=0.05)
    run = ss.simulate(ss.NonsmoothSystem([point]), until=1.0, adaptive=options)
    np.testing.assert_allclose(run.h[1:], 0.05, rtol=1e-12)
    np.testing.assert_allclose(run.q[:, 0], run.t - 0.5 * G * run.t**2, atol=1e-13)
    assert (run.steps, run.pace.rejected, len(run)) == (20, 0, 11)


def test_smooth_motion_follows_the_tolerance():
    """An oscillator, whose error is of second order or better."""
    spring = ss.systems.LagrangianLinear("mass", M=np.eye(1), K=[[100.0]], q0=[1.0], v0=[0.0])
    steps = []
    for tolerance in (1e-4, 1e-6):
        run = ss.simulate(ss.NonsmoothSystem([spring]), until=2.0, adaptive=Adaptive(tolerance=tolerance))
        assert np.abs(run.q[:, 0] - np.cos(10.0 * run.t)).max() < 200.0 * tolerance
        steps.append(run.steps)
    assert 2.0 < steps[1] / steps[0] < 10.5


def test_first_order_systems():
    """x' = -x + lam, 0 <= x - 1/2 ⟂ lam >= 0: the level falls as exp(-t) until it stops at 1/2."""
    tank = ss.FirstOrder("tank", x0=1.0, f=lambda x: -x)
    relation = ss.systems.FirstOrderLinearRelation(C=1.0, B=1.0, e=-0.5)
    law = ss.Interaction("rim", "tank", relation, ss.laws.Complementarity())
    model = ss.NonsmoothSystem([tank], [law])
    for tolerance in (1e-4, 1e-6):
        run = ss.simulate(model, until=3.0, adaptive=Adaptive(tolerance=tolerance, h_max=0.5))
        exact = np.maximum(np.exp(-run.t), 0.5)
        assert run.scheme == "euler-moreau"
        # Of a scheme of order one some 1 / sqrt(tolerance) pairs add their errors up.
        assert np.abs(run.q[:, 0] - exact).max() < 0.3 * np.sqrt(tolerance)
        assert run.h[1:].max() > 0.1


def test_worlds():
    run = ss.simulate(dropped(), until=1.5, adaptive=Adaptive(tolerance=1e-4, h_max=0.05))
    exact = np.array([height(t) for t in run.t])
    assert np.abs(run.body("ball").position[:, 2] - 0.1 - exact).max() < 5e-4
    assert run.h[1:].max() == 0.05
    assert run.pace.rejected > 0
    assert run.missed == 0


@pytest.mark.parametrize("model", [ball, dropped])
def test_a_run_that_is_interrupted_goes_on_bit_for_bit(model, tmp_path):
    options = Adaptive(tolerance=1e-4)
    live = ss.live(model(), adaptive=options)
    live.step(30)
    whole = live.run()
    other = ss.live(model(), adaptive=options, out=tmp_path / "run.h5")
    other.step(12)
    start = other.checkpoint()
    stored = other.run()
    assert stored.clock.adaptive == options
    other.end(False)
    for point in (start, stored.checkpoint()):
        rest = ss.live(model(), start=point)
        rest.step(18)
        run = rest.run()
        np.testing.assert_array_equal(run.t, whole.t[12:])
        np.testing.assert_array_equal(run.q, whole.q[12:])
        assert run.pace == whole.pace
    run = ss.simulate(model(), start=stored.checkpoint(), until=0.9, out=tmp_path / "run.h5", forces="solver")
    np.testing.assert_array_equal(run.t[: len(stored)], stored.t)
    assert run.t[-1] == 0.9


def test_records_are_of_pairs_and_impulses_are_all_told():
    every, some = (
        ss.simulate(ball(), until=0.6, adaptive=Adaptive(tolerance=1e-4), record=n) for n in (1, 5)
    )
    assert every.steps == some.steps == 2 * (len(every) - 1)
    np.testing.assert_array_equal(some.q[:-1], every.q[::5][: len(some) - 1])
    np.testing.assert_allclose(some.r.sum(), every.r.sum(), rtol=1e-12)
    np.testing.assert_array_equal(every.choice[1:][every.active[1:]], 1)


def test_the_shortest_step_is_kept_and_counted():
    options = Adaptive(tolerance=1e-6, h_min=1e-3, h_max=1e-2)
    run = ss.simulate(ball(), until=1.0, adaptive=options)
    assert run.pace.coarse > 0
    assert run.h[1:].min() >= 0.24e-3  # shortened before the end, never by the error
    assert 1e-5 < error(run) < 1e-2
    assert "of the shortest kept with a larger error" in str(run)


def test_a_model_that_cannot_be_solved_is_tried_with_the_shortest_step():
    class Never:
        tolerance = 1e-10

        def solve(self, problem, *, guess=None):
            found = ss.solve(problem, solver="lemke", tolerance=1e-10)
            return replace(found, status=ss.Status.MAX_ITERATIONS)

    options = Adaptive(tolerance=1e-4, h_min=1e-3, h_max=1e-2)
    with pytest.raises(ss.SimulationFailure, match="and it is the shortest") as caught:
        ss.simulate(ball(), until=1.0, adaptive=options, solver=Never())
    assert abs(caught.value.trajectory.t[-1] - IMPACTS[0]) < 5e-3
    run = ss.simulate(ball(), until=0.6, adaptive=options, solver=Never(), on_failure="accept")
    assert run.missed > 0
    assert run.t[-1] == 0.6


def test_a_step_that_is_too_long_for_the_model_is_shortened():
    """A force that is known only below 1 m: long steps would ask for it beyond, short ones turn before."""

    def wall(q):
        if q[0] >= 1.0:
            raise ss.ModelError("not known")
        return [1.0 / (1.0 - q[0]) ** 2]

    body = ss.Lagrangian("body", M=np.eye(1), q0=[0.0], v0=[3.0], F_int=wall)
    options = Adaptive(tolerance=1e-5, h_max=0.5, first=0.5)
    run = ss.simulate(ss.NonsmoothSystem([body]), until=2.0, adaptive=options)
    assert run.pace.rejected > 0
    # v²/2 + 1 / (1 - q) is kept.
    np.testing.assert_allclose(0.5 * run.v[:, 0] ** 2 + 1.0 / (1.0 - run.q[:, 0]), 5.5, rtol=1e-2)


def test_what_is_refused():
    for scheme in ("event-driven", "variational", "schatzman-paoli", {"ball": "variational"}):
        with pytest.raises(ss.ModelError, match=r"adaptive: the scheme .*; give h or grid"):
            ss.simulate(ball(), until=1.0, adaptive=Adaptive(), scheme=scheme)
    with pytest.raises(ss.ModelError, match="the scheme variational-bodies states its law on positions"):
        ss.simulate(dropped(), until=1.0, adaptive=Adaptive(), scheme="variational")
    with pytest.raises(ss.ModelError, match="adaptive is 1e-05; expected Adaptive"):
        ss.simulate(ball(), until=1.0, adaptive=1e-5)
    with pytest.raises(ss.ModelError, match="h and adaptive are given"):
        ss.simulate(ball(), until=1.0, h=0.1, adaptive=Adaptive())
    with pytest.raises(TypeError, match="Adaptive has no option 'tol'"):
        Adaptive(tol=1e-3)
    with pytest.raises(ValueError, match=r"h_min is 1 s, more than h_max, 0.1 s"):
        Adaptive(h_min=1.0)
    with pytest.raises(ValueError, match="first is 1 s, outside of h_min to h_max"):
        Adaptive(first=1.0)
    start = ss.simulate(ball(), until=0.1, adaptive=Adaptive()).checkpoint()
    with pytest.raises(ss.ModelError, match="the steps of the start are adaptive"):
        ss.sensitivity(ball(), until=0.2, start=start, by="q")
    assert ss.simulate(ball(), until=0.2, h=0.01, start=start).pace is None
