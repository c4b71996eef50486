"""`simulate`: the clock, records, failures and what a trajectory tells."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.schemes import registry
from stickslip.schemes.step import InteractionPart, Step, arrays, frozen_state

G = 9.81


def ball(e=0.9, q0=1.0, **more):
    falling = ss.Lagrangian("ball", M=1.0, q0=q0, F_ext=-G, potential=lambda q: G * q[0], **more)
    floor = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q), ss.NewtonImpact(e=e))
    return ss.NonsmoothSystem([falling], [floor])


def block(mu=0.3, v0=2.0):
    """A point mass thrown along a floor with friction: (x, y), y up."""
    thrown = ss.Lagrangian("block", M=np.eye(2), q0=[0.0, 0.0], v0=[v0, 0.0], F_ext=[0.0, -G])
    touch = ss.Scleronomous(lambda q: np.array([q[1], q[0]]), lambda q: np.array([[0.0, 1.0], [1.0, 0.0]]))
    floor = ss.Interaction("floor", "block", touch, ss.NewtonImpact(mu=mu, dimension=2))
    return ss.NonsmoothSystem([thrown], [floor])


def test_a_thrown_block_slips_then_sticks_where_coulomb_says():
    h, mu, v0 = 1e-3, 0.3, 2.0
    run = ss.simulate(block(mu, v0), until=1.0, h=h)
    stop = v0 / (mu * G)
    floor = run.interaction("floor")
    last_slip = run.t[np.flatnonzero(floor.states[:, 0] == "slipping")[-1]]
    assert abs(last_slip - stop) <= 2 * h
    assert (floor.states[run.t > stop + h, 0] == "sticking").all()
    np.testing.assert_allclose(floor.r[1:, 0], h * G, rtol=1e-9)
    np.testing.assert_allclose(run.system("block").q[-1, 0], v0**2 / (2 * mu * G), atol=2 * h * v0)
    # All the kinetic energy goes into the floor.
    np.testing.assert_allclose(run.contact_work[-1], -0.5 * v0**2, rtol=1e-9)
    np.testing.assert_allclose(run.kinetic[-1], 0.0, atol=1e-12)


@pytest.mark.parametrize("record", [1, 7])
def test_energy_and_contact_work_balance(record):
    run = ss.simulate(ball(), until=2.0, h=1e-3, record=record)
    assert run.contact_work[-1] < -1.0
    np.testing.assert_allclose(run.energy - run.contact_work, run.energy[0], rtol=1e-12)
    assert (np.diff(run.contact_work) <= 0.0).all()


def test_times_are_multiples_of_h_and_the_last_step_is_shorter():
    run = ss.simulate(ball(), until=0.1005, h=1e-3)
    assert (run.t[:101] == 1e-3 * np.arange(101)).all()
    assert run.t[-1] == 0.1005
    assert len(run) == 102
    assert run.index[-1] == -1
    np.testing.assert_allclose(run.h[-1], 5e-4, rtol=1e-9)
    exact = ss.simulate(ball(), until=0.3, h=0.1)  # 0.3/0.1 is not 3 in floating point
    assert exact.steps == 3
    assert (exact.index == [0, 1, 2, 3]).all()


def test_every_kth_step_is_kept_and_the_last():
    every, some = (ss.simulate(ball(), until=1.005, h=1e-3, record=k) for k in (1, 10))
    assert some.steps == every.steps == 1005
    np.testing.assert_array_equal(some.t, np.append(every.t[::10], every.t[-1]))
    np.testing.assert_array_equal(some.q, np.append(every.q[::10], every.q[-1:], axis=0))
    np.testing.assert_allclose(some.r.sum(), every.r.sum(), rtol=1e-14)
    np.testing.assert_array_equal(some.r[1:101, 0], every.r[1:1001, 0].reshape(100, 10).sum(axis=1))
    np.testing.assert_array_equal(some.active[1:101, 0], every.active[1:1001, 0].reshape(100, 10).any(axis=1))
    np.testing.assert_allclose(some.contact_work[-1], every.contact_work[-1], rtol=1e-14)


def test_views_by_name():
    run = ss.simulate(ball(), until=0.5, h=1e-3)
    assert run.system("ball").q.shape == run.system("ball").v.shape == (501, 1)
    floor = run.interaction("floor")
    assert set(floor.states[:, 0]) == {"separating", "touching"}
    assert (floor.active[floor.states == "touching"]).all()
    np.testing.assert_array_equal(floor.y, run.q)
    with pytest.raises(KeyError, match="unknown system 'bal'; known: ball"):
        run.system("bal")
    with pytest.raises(KeyError, match="unknown interaction 'flor'; known: floor"):
        run.interaction("flor")


def test_the_summary_says_what_was_done():
    text = str(ss.simulate(ball(), until=0.5, h=1e-3))
    for word in ("ball (Lagrangian)", "floor", "moreau-jean", "auto", "0 to 0.5 s", "500", "0 missed", "J"):
        assert word in text


def test_progress_tells_the_time():
    seen = []
    ss.simulate(ball(), until=0.0105, h=1e-3, progress=lambda t, until: seen.append((t, until)))
    times = [t for t, _ in seen]
    assert 2 <= len(seen) <= 11  # steps that are made together are told together
    assert times == sorted(times)
    assert seen[-1] == (0.0105, 0.0105)


def test_discrete_parameters_are_recorded():
    counting = ss.Lagrangian("m", M=1.0, q0=0.0, z=[0.0], z_update=lambda z: z + 1.0)
    run = ss.simulate(ss.NonsmoothSystem([counting]), until=1.0, h=0.1)
    assert (run.z[:, 0] == np.arange(11)).all()
    assert (run.system("m").z == run.z).all()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"h": 0.0}, "h is 0.0"),
        ({"h": -1.0}, "h is -1.0"),
        ({"h": np.nan}, "h is nan"),
        ({"h": "small"}, "h is 'small'"),
        ({"h": None}, "h is missing"),
        ({"until": 0.0}, "until is 0.0"),
        ({"until": np.nan}, "until is nan"),
        ({"until": np.inf}, "until is inf"),
        ({"h": 1e-320}, "steps this short do not change the time"),
        ({"record": 0}, "record is 0"),
        ({"record": 1.5}, "record is 1.5"),
        ({"on_failure": "ignore"}, "on_failure is 'ignore'; known: raise, accept, halve"),
        ({"scheme": 3}, "scheme is 3; expected a name"),
        ({"start": "there"}, "start is str; expected a checkpoint"),
    ],
)
def test_bad_arguments_are_named(wrong, words):
    with pytest.raises(ss.ModelError, match=words):
        ss.simulate(ball(), **({"until": 1.0, "h": 1e-3} | wrong))


def test_unknown_names_list_the_known():
    with pytest.raises(KeyError, match="unknown scheme 'moreau'; known: compliant, euler-moreau"):
        ss.simulate(ball(), until=1.0, h=0.1, scheme="moreau")
    with pytest.raises(KeyError, match="unknown solver 'autom'; known: admm"):
        ss.simulate(ball(), until=1.0, h=0.1, solver="autom")
    with pytest.raises(TypeError, match="moreau-jean has no option 'thet'; it has: theta"):
        registry.make("moreau-jean", thet=1.0)
    with pytest.raises(ss.ModelError, match="expected a NonsmoothSystem"):
        ss.simulate(ss.Lagrangian("a", M=1.0, q0=0.0), until=1.0, h=0.1)


def test_a_force_that_turns_nan_leaves_what_was_done():
    falling = ss.Lagrangian("ball", M=1.0, q0=1.0, F_ext=lambda t: np.nan if t > 0.05 else -G)
    with pytest.raises(ss.ModelError, match=r"ball.*F_ext") as caught:
        ss.simulate(ss.NonsmoothSystem([falling]), until=1.0, h=1e-2)
    assert 0.04 < caught.value.trajectory.t[-1] < 0.065


class Stumbling:
    """Falls freely, and misses its tolerance on steps over `longest` [s] across t = 0.43 s."""

    def __init__(self, longest):
        self.longest = longest

    def levels(self, system):
        return ()

    def begin(self, system, state, h):
        return arrays(count=np.zeros(1))

    def step(self, system, state, memory, h, solver):
        v = state.v - h * G
        q = state.q + 0.5 * h * (v + state.v)
        bad = state.t < 0.43 < state.t + h and h > self.longest
        empty, none = np.zeros(0), np.zeros(0, bool)
        end = frozen_state(state.t + h, q, v, state.z)
        return Step(
            end, h, empty, empty, arrays(count=memory["count"] + 1),
            InteractionPart(empty, empty, none, ()), reason="stumbled" if bad else "",
        )  # fmt: skip


FALLING = ss.NonsmoothSystem([ss.Lagrangian("ball", M=1.0, q0=1.0, F_ext=-G)])


def test_a_missed_step_is_raised_with_what_was_done():
    with pytest.raises(ss.SimulationFailure, match=r"t = 0.4 s missed.*stumbled") as caught:
        ss.simulate(FALLING, until=1.0, h=0.2, scheme=Stumbling(0.0))
    assert caught.value.t == pytest.approx(0.4)
    assert caught.value.step.reason == "stumbled"
    assert len(caught.value.trajectory) == 3


def test_a_missed_step_is_accepted_flagged_and_counted():
    run = ss.simulate(FALLING, until=1.0, h=0.2, scheme=Stumbling(0.0), on_failure="accept")
    assert run.missed == 1
    assert run.ok.tolist() == [True, True, True, False, True, True]
    assert "1 missed" in str(run)


def test_a_missed_step_is_halved_until_it_is_good():
    run = ss.simulate(FALLING, until=1.0, h=0.2, scheme=Stumbling(0.06), on_failure="halve")
    assert run.missed == 0
    assert run.ok.all()
    assert (run.t == 0.2 * np.arange(6)).all()
    np.testing.assert_allclose(run.h, [0.0, 0.2, 0.2, 0.05, 0.2, 0.2])
    assert run.steps == 8
    assert run.memories["count"][:, 0].tolist() == [0, 1, 2, 6, 7, 8]
    np.testing.assert_allclose(run.q[:, 0], 1.0 - 0.5 * G * run.t**2, atol=1e-12)
    with pytest.raises(ss.SimulationFailure, match="256 shorter ones: stumbled"):
        ss.simulate(FALLING, until=1.0, h=0.2, scheme=Stumbling(0.0), on_failure="halve")


def test_a_solver_that_misses_is_named_with_its_residual():
    class Lazy:
        def solve(self, problem, *, guess=None):
            return ss.solve(problem, "nsgs", max_iterations=1, tolerance=1e-300)

    with pytest.raises(ss.SimulationFailure, match="nsgs") as caught:
        ss.simulate(block(), until=1.0, h=1e-3, solver=Lazy())
    assert not caught.value.solution.ok


@pytest.mark.parametrize("record", [1, 6])
def test_schemes_that_look_inside_steps_tell_the_work(record):
    soft = ss.simulate(ball(), until=1.0, h=1e-2, scheme="compliant", record=record)
    spring = soft.measures["spring energy [J]"][-1]
    np.testing.assert_allclose(soft.contact_work[-1] + spring, soft.energy[-1] - soft.energy[0], rtol=1e-3)
    exact = ss.simulate(ball(), until=1.0, h=1e-2, scheme="event-driven", record=record)
    lost = exact.energy[-1] - exact.energy[0]
    assert lost < -1.0
    assert exact.contact_work[-1] == pytest.approx(lost, rel=1e-9)
    assert exact.contact_work[1] == 0.0
    assert np.sum(exact.measures["contact work [J]"][1:]) == pytest.approx(lost, rel=1e-9)


def test_a_relaxed_model_is_called_relaxed():
    system = ball()
    soft = ss.simulate(system, until=0.01, h=1e-3, scheme="compliant")
    exact = ss.simulate(system, until=0.01, h=1e-3)
    assert soft.relaxed
    assert "relaxed" in str(soft)
    assert not exact.relaxed
    assert "relaxed" not in str(exact)
