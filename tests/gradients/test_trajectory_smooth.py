"""Gradients and sensitivities over whole runs of a smooth scheme, against differences of whole runs."""

import numpy as np
import pytest
from smooth_steps import Smooth, cart, moved

import stickslip as ss
from stickslip.gradients import step as dispatch
from stickslip.gradients.charts import to_displacements, weights_of_displacements
from stickslip.gradients.trajectory import AtEnd, trajectory_gradient
from stickslip.gradients.trajectory_schedule import least_made
from stickslip.gradients.trajectory_sensitivity import trajectory_sensitivity
from stickslip.gradients.trajectory_steps import Steps
from stickslip.mechanics.parameters import Parameters

STEPS, H = 9, 0.05
UNTIL = (STEPS - 1) * H + 0.02
"""The last step is shorter."""
BY = ("q", "v", "h", "gravity", "mass", "effort")


@pytest.fixture(autouse=True)
def _known(monkeypatch):
    monkeypatch.setitem(dispatch._TABLE, "Smooth", ("smooth_steps", "SmoothDerivative"))


def weights():
    rng = np.random.default_rng(3)
    return rng.normal(size=(STEPS + 1, 14)), rng.normal(size=(STEPS + 1, 12))


def loss(k, state):
    """A number of every third state, of both of its parts."""
    if k % 3:
        return None
    a, b = (part[k] for part in weights())
    value = np.sin(a @ state.q) + 0.5 * (b * state.v) @ state.v
    return value, np.cos(a @ state.q) * a, b * state.v


class NoSolver:
    """The scheme asks for nothing."""

    def solve(self, problem, *, guess=None):
        raise AssertionError


def run(world, by=(), h=H, **more):
    return trajectory_gradient(
        world, loss, until=UNTIL, h=h, scheme=Smooth(), solver=NoSolver(), by=by, **more
    )


def value(world, h=H, **more):
    """The loss without derivatives."""
    steps = Steps.of(world, until=UNTIL, h=h, scheme=Smooth(), solver=NoSolver(), **more)
    point, told = steps.start, [loss(0, steps.start.state)]
    for k in range(len(steps)):
        point = steps.make(k, point)
        told.append(loss(k + 1, point.state))
    return sum(one[0] for one in told if one is not None)


def differences(value, size, eps=1e-4):
    """Central differences of fourth order of a function of `size` numbers about zero."""
    found = np.zeros(size)
    for i in range(size):
        e = eps * np.eye(size)[i]
        found[i] = (8 * (value(e) - value(-e)) - (value(2 * e) - value(-2 * e))) / (12 * eps)
    return found


@pytest.fixture(scope="module")
def world():
    return cart()


@pytest.fixture(scope="module")
def whole(world):
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(dispatch._TABLE, "Smooth", ("smooth_steps", "SmoothDerivative"))
        return run(world, BY)


def changed(world, name, change):
    """The loss where one thing is changed."""
    start = world.start
    if name == "q":
        return value(world, start=ss.State(start.t, moved(start.q, change), start.v))
    if name == "v":
        return value(world, start=ss.State(start.t, start.q, start.v + change))
    if name == "h":
        return value(world, h=H + float(change[0]))
    own = Parameters.of(world)
    was = getattr(own, name)
    return value(own.with_(**{name: was + change.reshape(was.shape)}).applied(world))


@pytest.mark.parametrize("name", BY)
def test_gradient_against_differences(world, whole, name):
    found = whole.gradient[name]
    expected = differences(lambda change: changed(world, name, change), found.size)
    np.testing.assert_allclose(found.reshape(-1), expected, rtol=1e-7, atol=1e-8 * np.abs(expected).max())


def test_the_value_is_that_of_the_run_and_the_end_its_end(world, whole):
    t = ss.simulate(world, until=UNTIL, h=H, scheme=Smooth(), solver=NoSolver())
    states = [ss.State(t.t[k], t.q[k], t.v[k]) for k in range(len(t.t))]
    told = [loss(k, state) for k, state in enumerate(states)]
    assert whole.steps == len(states) - 1 == STEPS
    assert whole.value == pytest.approx(sum(one[0] for one in told if one is not None), rel=1e-14)
    np.testing.assert_array_equal(whole.end.q, t.q[-1])
    np.testing.assert_array_equal(whole.end.v, t.v[-1])
    assert whole.end.t == t.t[-1]


def test_seven_numbers_of_q(world, whole):
    a = np.random.default_rng(0).normal(size=14)
    along = whole.gradient["q"] @ to_displacements(world.start.q, a[:, None])[:, 0]
    assert whole.coordinates @ a == pytest.approx(along)
    p = world.start.q.reshape(-1, 7)[:, 3:]
    np.testing.assert_allclose((whole.coordinates.reshape(-1, 7)[:, 3:] * p).sum(axis=1), 0.0, atol=1e-12)
    with pytest.raises(ss.ModelError, match="not by q"):
        _ = run(world, ("v",)).coordinates


def test_states_kept_change_nothing(world, whole):
    names = ("v", "h", "gravity")
    for kept in (1, 3, STEPS + 1):
        found = run(world, names, checkpoints=kept)
        assert found.kept <= kept
        assert (
            found.made == least_made(STEPS, kept) + STEPS
        )  # to get there, and those that are differentiated
        assert found.value == whole.value
        for name in names:
            np.testing.assert_array_equal(found.gradient[name], whole.gradient[name])


def test_controls_over_time(world):
    rng = np.random.default_rng(5)
    effort, wrench = rng.normal(size=(STEPS, 1)), 0.1 * rng.normal(size=(STEPS, 2, 6))
    found = run(world, ("effort", "wrench", "mass"), controls={"effort": effort, "wrench": wrench})
    assert found.gradient["effort"].shape == (STEPS, 1)
    assert found.gradient["wrench"].shape == (STEPS, 2, 6)

    def by_effort(change):
        return value(world, controls={"effort": effort + change[:, None], "wrench": wrench})

    def by_push(change):
        more = wrench.copy()
        more[[0, 4, 8], 1, [0, 4, 5]] += change
        return value(world, controls={"effort": effort, "wrench": more})

    np.testing.assert_allclose(
        found.gradient["effort"][:, 0], differences(by_effort, STEPS), rtol=1e-7, atol=1e-9
    )
    pushed = found.gradient["wrench"][[0, 4, 8], 1, [0, 4, 5]]
    np.testing.assert_allclose(pushed, differences(by_push, 3), rtol=1e-7, atol=1e-9)


def test_the_same_effort_in_every_step_is_that_of_the_world(world, whole):
    found = run(world, ("effort",), controls={"effort": np.full((STEPS, 1), 0.3)})
    assert found.value == whole.value
    np.testing.assert_allclose(found.gradient["effort"].sum(axis=0), whole.gradient["effort"])


def test_flags_name_the_steps(whole):
    assert not whole.exists
    assert not whole.unique
    assert (whole.kinks, whole.not_unique) == ((4,), (2, 6))
    assert whole.notes == ("2 steps, the first 2: two answers by order", "step 4: a kink by order")
    assert "step 4" in repr(whole)


def test_the_end_alone(world):
    seen = []

    def far(state):
        seen.append(state.t)
        return state.q[7], np.eye(14)[7], None

    found = trajectory_gradient(
        world, AtEnd(far), until=UNTIL, h=H, scheme=Smooth(), solver=NoSolver(), by="gravity"
    )
    assert seen == [UNTIL]
    s = trajectory_sensitivity(world, until=UNTIL, h=H, scheme=Smooth(), solver=NoSolver(), by=("gravity",))
    np.testing.assert_allclose(found.gradient["gravity"], s.dq[-1, 6], rtol=1e-10)


def test_a_run_goes_on_from_a_checkpoint(world):
    how = {"scheme": Smooth(), "solver": NoSolver()}
    half = ss.simulate(world, until=4 * H, h=H, **how)
    found = trajectory_gradient(world, loss, until=8 * H, start=half.checkpoint(), by=("v",), **how)
    whole = ss.simulate(world, until=8 * H, h=H, **how)
    np.testing.assert_array_equal(found.end.q, whole.q[-1])
    assert found.steps == 4


def test_sensitivities_are_the_transpose(world, whole):
    s = trajectory_sensitivity(world, until=UNTIL, h=H, scheme=Smooth(), solver=NoSolver(), by=BY)
    assert s.dq.shape == (STEPS + 1, 12, sum(whole.gradient[name].size for name in BY))
    total = np.zeros(s.dq.shape[2])
    for k in range(0, STEPS + 1, 3):
        _, dq, dv = loss(k, ss.State(s.t[k], s.q[k], s.v[k]))
        total += weights_of_displacements(s.q[k], dq[:, None])[:, 0] @ s.dq[k] + dv @ s.dv[k]
    for name in BY:
        found = total[s.columns[name]]
        np.testing.assert_allclose(found, whole.gradient[name].reshape(-1), rtol=1e-9, atol=1e-10)
    assert (s.kinks, s.not_unique, s.notes) == (whole.kinks, whole.not_unique, whole.notes)


def test_sensitivities_along_directions(world):
    how = {"until": UNTIL, "h": H, "scheme": Smooth(), "solver": NoSolver()}
    a = trajectory_sensitivity(world, by=("mass", "gravity"), **how)
    rng = np.random.default_rng(1)
    mass, gravity = rng.normal(size=(2, 4)), rng.normal(size=(3, 4))
    b = trajectory_sensitivity(world, by={"mass": mass, "gravity": gravity}, record=4, **how)
    np.testing.assert_array_equal(b.t, a.t[[0, 4, 8, 9]])
    np.testing.assert_allclose(b.dq, (a.dq @ np.vstack([mass, gravity]))[[0, 4, 8, 9]], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"by": ("speed",)}, "no derivative by 'speed'; known: q, v, h, gravity"),
        ({"kappa": -1.0}, "kappa is -1.0"),
        ({"checkpoints": 0}, "checkpoints is 0"),
        ({"on_failure": "halve"}, "on_failure is 'halve'"),
        ({"controls": {"mu": np.zeros((STEPS, 1))}}, "unknown control 'mu'"),
        ({"controls": {"effort": np.zeros(STEPS)}}, r"control effort has shape \(9,\), expected \(9, 1\)"),
        ({"controls": {"effort": np.full((STEPS, 1), np.nan)}}, "control effort is not finite in step 0"),
        ({"controls": {"effort": "strong"}}, "control effort is str"),
    ],
)
def test_what_cannot_be_asked_for(world, given, words):
    with pytest.raises(ss.ModelError, match=words):
        run(world, **given)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (3.0, r"loss after 9 steps: expected \(value, dq, dv\) or None"),
        ((np.nan, None, None), "loss after 9 steps: its value is nan"),
        ((1.0, np.zeros(3), None), r"dq has 3 numbers, expected shape \(14,\) or \(12,\)"),
        ((1.0, None, np.full(12, np.inf)), "dv is not finite"),
        ((1.0, None, "fast"), "dv is 'fast'"),
    ],
)
def test_a_loss_that_says_nonsense(world, said, words):
    with pytest.raises(ss.ModelError, match=words):
        trajectory_gradient(
            world, lambda k, state: said, until=UNTIL, h=H, scheme=Smooth(), solver=NoSolver()
        )


def test_a_loss_that_is_no_function(world):
    with pytest.raises(ss.ModelError, match="loss is 3"):
        trajectory_gradient(world, 3, until=UNTIL, h=H, scheme=Smooth(), solver=NoSolver())
    with pytest.raises(ss.ModelError, match="solver is 'auto'; expected a solver"):
        trajectory_gradient(world, loss, until=UNTIL, h=H, scheme=Smooth(), solver="auto")


def test_a_step_that_misses_its_tolerance(world):
    how = {"until": UNTIL, "h": H, "scheme": Smooth(bad=5), "solver": NoSolver()}
    with pytest.raises(ss.SimulationFailure, match=r'from t = 0.25 s .* on_failure="accept" goes on$'):
        trajectory_gradient(world, loss, **how)
    assert trajectory_gradient(world, loss, on_failure="accept", **how).value == run(world).value
