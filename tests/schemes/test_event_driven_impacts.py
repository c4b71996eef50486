"""Event-driven: impacts and rests without friction, against closed forms."""

import itertools

import numpy as np
import pytest
from event_runs import SOLVER, G, events, run

from stickslip.laws import Equality, NewtonImpact
from stickslip.problem.contact import Level
from stickslip.schemes.event_driven import EventDriven
from stickslip.schemes.step import first_state
from stickslip.state import ModelError
from stickslip.systems.lagrangian import Lagrangian, LagrangianLinear
from stickslip.systems.lagrangian_relations import Rheonomous, Scleronomous
from stickslip.systems.system import Interaction, NonsmoothSystem


def ball(e: float, height: float = 1.0, M: float = 1.0) -> NonsmoothSystem:
    floor = Interaction("floor", "ball", Scleronomous(lambda q: q, dy_dq=np.eye(1)), NewtonImpact(e=e))
    return NonsmoothSystem([Lagrangian("ball", M=M, q0=height, F_ext=-M * G)], [floor])


@pytest.mark.parametrize("e", [0.5, 0.9])
def test_impact_times_and_accumulation_of_the_bouncing_ball(e):
    first = np.sqrt(2.0 / G)
    end = first * (1.0 + e) / (1.0 - e)
    done = run(ball(e), until=np.ceil(end) + 1.0, h=0.125)
    times = events(done, "impact")
    exact = first * (1.0 + 2.0 * np.cumsum(np.r_[0.0, e ** np.arange(1, times.size)]))
    assert times.size > 10
    assert np.abs(times - exact).max() < 1e-10
    (zeno,) = events(done, "zeno")
    assert zeno == pytest.approx(end, abs=1e-10)
    last = done[-1]
    assert last.active.all()
    assert abs(last.state.q[0]) < 1e-12
    assert last.state.v[0] == 0.0
    # From rest to rest, the floor gave back what gravity took.
    assert sum(s.r[0] for s in done) == pytest.approx(G * last.state.t, abs=1e-10)


@pytest.mark.parametrize("method", ["DOP853", "RK45", "LSODA"])
def test_energy_between_impacts_of_an_elastic_ball_with_a_spring(method):
    system = NonsmoothSystem(
        [LagrangianLinear("mass", M=1.0, q0=1.0, K=4.0)],
        [Interaction("wall", "mass", Scleronomous(lambda q: q + 0.5, dy_dq=np.eye(1)), NewtonImpact(e=1.0))],
    )
    rtol = 1e-10 if method == "DOP853" else 1e-8
    done = run(system, until=20.0, h=1.0, method=method, rtol=rtol)
    energy = np.array([0.5 * s.state.v[0] ** 2 + 2.0 * s.state.q[0] ** 2 for s in done])
    # cos 2t = -1/2 first at t = π/3, then every 2π/3: the rest of the period is cut off.
    times = events(done, "impact")
    exact = np.pi / 3.0 + 2.0 * np.pi / 3.0 * np.arange(times.size)
    tolerance = 1e-9 if method == "DOP853" else 1e-5
    assert np.abs(energy - 2.0).max() < tolerance
    assert times.size == 10
    assert np.abs(times - exact).max() < tolerance


def test_driven_impact_oscillator_keeps_its_periodic_orbit():
    # q̈ + ω₀² q = A cos(ωt + φ), stop at q = 0 with e; one impact per forcing period T.
    e, w0, w = 0.7, 1.0, 2.6
    T = 2.0 * np.pi / w
    A = 1.0
    amplitude = A / (w0**2 - w**2)
    # q(0) = q(T) = 0, v(0) = -e v(T) for the unknowns φ and v(0): solved for (cos φ, sin φ) and v(0).
    c, s = np.cos(w0 * T), np.sin(w0 * T)
    # q = (q0 - a cosφ) cos w0t + (v0 + a w sinφ)/w0 sin w0t + a cos(wt+φ), q0 = 0.
    # x = (a cosφ, a sinφ, v0): q(T) = 0 and v(T) = -v0/e.
    rows = np.array([
        [1.0 - c, w / w0 * s, s / w0],
        [w0 * s, w * (c - 1.0), c + 1.0 / e],
    ])  # fmt: skip
    null = np.linalg.svd(rows)[2][-1]
    null *= amplitude / np.hypot(null[0], null[1])
    null *= np.sign(null[2])
    phase, v0 = np.arctan2(null[1] / amplitude, null[0] / amplitude), null[2]
    system = NonsmoothSystem(
        [LagrangianLinear("mass", M=1.0, q0=0.0, v0=v0, K=w0**2, F_ext=lambda t: A * np.cos(w * t + phase))],
        [Interaction("stop", "mass", Scleronomous(lambda q: q, dy_dq=np.eye(1)), NewtonImpact(e=e))],
    )
    done = run(system, until=20.0 * T + 0.1, h=T / 16.0)
    times = events(done, "impact")
    assert times.size == 20
    assert np.abs(times - T * np.arange(1, 21)).max() < 1e-8


def test_three_balls_in_contact_at_rest_and_struck_keep_momentum():
    # Balls just apart are struck one after the other: the last one leaves with all the momentum.
    gaps = 1e-3
    names = ["a", "b", "c", "d"]
    systems = [
        Lagrangian(n, M=2.0, q0=i * (1.0 + gaps), v0=3.0 if i == 0 else 0.0) for i, n in enumerate(names)
    ]
    pairs = [
        Interaction(
            x + y,
            (x, y),
            Scleronomous(lambda q: q[1:] - q[:1] - 1.0, dy_dq=[[-1.0, 1.0]]),
            NewtonImpact(e=1.0),
        )
        for x, y in itertools.pairwise(names)
    ]
    done = run(NonsmoothSystem(systems, pairs), until=0.1, h=0.05)
    np.testing.assert_allclose(done[-1].state.v, [0.0, 0.0, 0.0, 3.0], atol=1e-9)
    np.testing.assert_allclose(events(done, "impact"), gaps / 3.0 * np.arange(1, 4), atol=1e-12)


def test_simultaneous_impacts_are_one_problem():
    # Two balls meet a third one at the same instant from both sides, elastic: they bounce back.
    systems = [
        Lagrangian("left", M=1.0, q0=-2.0, v0=1.0),
        Lagrangian("middle", M=5.0, q0=0.0),
        Lagrangian("right", M=1.0, q0=2.0, v0=-1.0),
    ]
    gap = Scleronomous(lambda q: q[1:] - q[:1] - 1.0, dy_dq=[[-1.0, 1.0]])
    ties = [
        Interaction("first", ("left", "middle"), gap, NewtonImpact(e=1.0)),
        Interaction("second", ("middle", "right"), gap, NewtonImpact(e=1.0)),
    ]
    done = run(NonsmoothSystem(systems, ties), until=2.0, h=0.5)
    np.testing.assert_allclose(done[-1].state.v, [-1.0, 0.0, 1.0], atol=1e-9)
    assert {e.interaction for s in done for e in s.events} == {"first", "second"}
    np.testing.assert_allclose(events(done, "impact"), [1.0, 1.0], atol=1e-12)


def test_take_off_from_an_oscillating_table():
    # Table A sin ωt: the ball at rest on it leaves when the table's acceleration is -g.
    A, w = 0.01, 40.0
    table = Rheonomous(
        lambda t, q: q - A * np.sin(w * t), dy_dq=np.eye(1), dy_dt=lambda t: [-A * w * np.cos(w * t)]
    )
    system = NonsmoothSystem(
        [Lagrangian("ball", M=1.0, q0=0.0, v0=A * w, F_ext=-G)],
        [Interaction("table", "ball", table, NewtonImpact(e=0.0))],
    )
    done = run(system, until=0.15, h=0.01)
    leave = np.arcsin(G / (A * w**2)) / w
    assert events(done, "take-off")[0] == pytest.approx(leave, abs=1e-9)
    # The flight is a parabola: the return is where it meets the sine again.
    q, v = A * np.sin(w * leave), A * w * np.cos(w * leave)
    (back,) = events(done, "impact")[:1]
    s = back - leave
    assert q + v * s - 0.5 * G * s**2 == pytest.approx(A * np.sin(w * back), abs=1e-11)
    assert done[0].active.all()


def test_grazing_is_not_missed_and_a_miss_is_not_invented():
    # A ball thrown up against a ceiling just within, or just out of, its reach.
    top = 0.5 * 3.0**2 / G
    for clearance, hits in ((-1e-8, 1), (1e-8, 0)):
        ceiling = Interaction(
            "ceiling", "ball", Scleronomous(lambda q, c=top + clearance: c - q, dy_dq=-np.eye(1)),
            NewtonImpact(e=1.0),
        )  # fmt: skip
        system = NonsmoothSystem([Lagrangian("ball", M=1.0, q0=0.0, v0=3.0, F_ext=-G)], [ceiling])
        done = run(system, until=0.6, h=0.6)
        assert events(done, "impact").size == hits


def test_pendulum_by_a_joint_keeps_its_length_and_period():
    # A point on a circle, starting from a right angle: T = 4 K(1/2) sqrt(l/g).
    from scipy.special import ellipk

    length = 0.8
    rod = Interaction(
        "rod",
        "bob",
        Scleronomous(lambda q: [q @ q - length**2], dy_dq=lambda q: 2.0 * q[None, :]),
        Equality(),
    )
    system = NonsmoothSystem([Lagrangian("bob", M=2.0, q0=[length, 0.0], F_ext=[0.0, -2.0 * G])], [rod])
    T = 4.0 * ellipk(0.5) * np.sqrt(length / G)
    done = run(system, until=T, h=T / 64.0)
    np.testing.assert_allclose(done[-1].state.q, [length, 0.0], atol=1e-6)
    energy = [s.state.v @ s.state.v + 2.0 * G * s.state.q[1] for s in done]
    assert np.abs(energy).max() < 1e-7
    assert max(abs(s.y[0]) for s in done) < 1e-12
    assert all(s.active.all() for s in done)


def test_levels_forecast_and_what_is_refused():
    system = ball(0.5)
    (step,) = run(system, until=0.1, h=0.1)
    assert step.levels == (Level.ACCELERATION,)
    assert step.forecast[0] == step.y[0]
    assert not step.active.any()
    bad = NonsmoothSystem([Lagrangian("ball", M=1.0, q0=1.0, F_ext=lambda t: np.nan if t > 0.05 else -G)], [])
    with pytest.raises(ModelError, match=r"ball.*F_ext"):
        run(bad, until=0.2, h=0.1)


def test_a_step_resumes_bit_for_bit():
    system, scheme = ball(0.8), EventDriven()
    state = first_state(system)
    memory = scheme.begin(system, state, 0.1)
    kept = []
    for _ in range(45):
        step = scheme.step(system, state, memory, 0.1, SOLVER)
        state, memory = step.state, step.memory
        kept.append(step)
    for start in (3, 20, 41):
        state, memory = kept[start].state, {k: np.array(x) for k, x in kept[start].memory.items()}
        for step in kept[start + 1 :]:
            again = scheme.step(system, state, memory, 0.1, SOLVER)
            assert again.state.t == step.state.t
            assert np.array_equal(again.state.q, step.state.q)
            assert np.array_equal(again.state.v, step.state.v)
            assert np.array_equal(again.r, step.r)
            assert again.events == step.events
            state, memory = again.state, again.memory
