"""Gradients over runs with impacts and friction, by both schemes, against differences of whole runs."""

import numpy as np
import pytest
from smooth_steps import cart, moved

import stickslip as ss
from stickslip.differentiation import made_solver
from stickslip.gradients.charts import weights_of_displacements
from stickslip.gradients.trajectory_steps import Steps
from stickslip.mechanics.parameters import Parameters

H, STEPS = 0.01, 14
BY = ("q", "v", "h", "gravity", "mass", "inertia", "mu", "e", "size", "place", "wrench")
SCHEMES = {"moreau-jean": ss.schemes.SemiExplicitMoreauJean(correction=False), "variational": "variational"}
A, B = (np.random.default_rng(7).normal(size=(STEPS + 1, size)) for size in (14, 12))


def thrown(height=0.13, gravity=9.81, velocity=(1.5, 0.3, -0.8), mu=0.15, e=0.6):
    """A ball that strikes the floor, sliding and spinning, and leaves it again."""
    builder = ss.WorldBuilder(gravity=(0, 0, -gravity))
    builder.body("floor", ss.Plane(), fixed=True)
    builder.body("ball", ss.Sphere(0.1), position=(0, 0, height), mass=0.7, velocity=velocity, spin=(2, 1, 3))
    world = builder.build()
    return Parameters.of(world).with_(mu=[mu], e=[e]).applied(world)


def loss(k, state):
    """Of every fourth state, and of the last."""
    if k % 4 and k != STEPS:
        return None
    return np.sin(A[k] @ state.q) + B[k] @ state.v, np.cos(A[k] @ state.q) * A[k], B[k]


def solver():
    return made_solver("auto", 1e-12)


def value(world, scheme, h=H, **more):
    """The loss of the run alone; its end moves with h."""
    steps = Steps.of(world, until=STEPS * h, h=h, scheme=scheme, solver=solver(), **more)
    point, told = steps.start, [loss(0, steps.start.state)]
    for k in range(len(steps)):
        point = steps.make(k, point)
        told.append(loss(k + 1, point.state))
    return sum(one[0] for one in told if one is not None)


def differences(function, size, columns, eps=1e-4):
    """Central differences of fourth order along some of `size` numbers."""
    found = []
    for i in columns:
        e = eps * np.eye(size)[i]
        found.append((8 * (function(e) - function(-e)) - (function(2 * e) - function(-2 * e))) / (12 * eps))
    return np.array(found)


def changed(world, scheme, name, change):
    start = world.start
    if name == "q":
        return value(world, scheme, start=ss.State(start.t, moved(start.q, change), start.v))
    if name == "v":
        return value(world, scheme, start=ss.State(start.t, start.q, start.v + change))
    if name == "h":
        return value(world, scheme, h=H + 0.1 * float(change[0])) * 10.0
    own = Parameters.of(world)
    was = getattr(own, name)
    return value(own.with_(**{name: was + change.reshape(was.shape)}).applied(world), scheme)


COLUMNS = {
    "q": range(6, 12),
    "v": range(6, 12),
    "mass": [1],
    "inertia": [6, 7, 9],
    "place": [3, 5],
    "wrench": [6, 11],
}
"""Those of the ball: no mass moves a floor."""


@pytest.fixture(scope="module", params=SCHEMES)
def run(request):
    world, scheme = thrown(), SCHEMES[request.param]
    return (
        world,
        scheme,
        ss.gradient(world, loss, until=STEPS * H, h=H, scheme=scheme, solver=solver(), by=BY),
    )


@pytest.mark.parametrize("name", BY)
def test_gradient_against_differences(run, name):
    world, scheme, found = run
    given = found.gradient[name].reshape(-1)
    columns = list(COLUMNS.get(name, range(given.size)))
    eps = 5e-6 if name == "inertia" else 1e-4
    expected = differences(lambda change: changed(world, scheme, name, change), given.size, columns, eps)
    np.testing.assert_allclose(given[columns], expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())
    assert np.abs(expected).max() > 1e-3  # or there was nothing to be seen


def test_the_run_strikes_and_leaves(run):
    world, scheme, found = run
    assert found.exists
    assert found.unique
    trajectory = ss.simulate(world, until=STEPS * H, h=H, scheme=scheme, solver=solver())
    np.testing.assert_array_equal(found.end.q, trajectory.q[-1])
    np.testing.assert_array_equal(found.end.v, trajectory.v[-1])
    up = trajectory.v[:, 8]
    assert up[0] < 0.0 < up.max()
    with_contact = np.flatnonzero(trajectory.q[:, 9] < 0.101)
    assert 0 < with_contact.size < STEPS


def test_few_states_give_the_same_bytes(run):
    world, scheme, found = run
    again = ss.gradient(
        world, loss, until=STEPS * H, h=H, scheme=scheme, solver=solver(), by=BY, checkpoints=2
    )
    assert (again.kept, again.value) == (2, found.value)
    for name in BY:
        np.testing.assert_array_equal(again.gradient[name], found.gradient[name])


def test_forwards_and_backwards_are_one(run):
    world, scheme, found = run
    names = ("mu", "e", "h", "v")
    s = ss.sensitivity(world, until=STEPS * H, h=H, scheme=scheme, solver=solver(), by=names)
    total = 0.0
    for k in range(STEPS + 1):
        told = loss(k, ss.State(s.t[k], s.q[k], s.v[k]))
        if told is not None:
            total = (
                total + weights_of_displacements(s.q[k], told[1][:, None])[:, 0] @ s.dq[k] + told[2] @ s.dv[k]
            )
    for name in names:
        np.testing.assert_allclose(
            total[s.columns[name]], found.gradient[name].reshape(-1), rtol=1e-8, atol=1e-9
        )


def test_pushes_over_time(run):
    world, scheme, _ = run
    wrench = np.zeros((STEPS, 2, 6))
    wrench[:, 1] = 0.2 * np.random.default_rng(2).normal(size=(STEPS, 6))
    how = {"until": STEPS * H, "h": H, "scheme": scheme, "solver": solver()}
    found = ss.gradient(world, loss, by=("wrench",), controls={"wrench": wrench}, **how)
    at = ([0, 1, 6, 13], [1, 1, 1, 1], [2, 4, 0, 1])

    def pushed(change):
        more = wrench.copy()
        more[at] += change
        return value(world, scheme, controls={"wrench": more})

    expected = differences(pushed, 4, range(4), eps=1e-3)
    np.testing.assert_allclose(found.gradient["wrench"][at], expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_block_that_slides_has_impulses_that_are_not_unique_and_a_gradient_that_is(scheme):
    builder = ss.WorldBuilder()
    builder.body("floor", ss.Plane(), fixed=True)
    builder.body("box", ss.Cuboid((0.2, 0.2, 0.1)), position=(0, 0, 0.05), velocity=(1, 0, 0))
    world = builder.build()
    world = Parameters.of(world).with_(mu=[0.3]).applied(world)
    how = {"until": 0.05, "h": H, "scheme": SCHEMES[scheme], "solver": solver()}
    e_x = np.eye(14)[7]
    found = ss.gradient(
        world, ss.gradients.AtEnd(lambda state: (state.q[7], e_x, None)), by=("v", "mu"), **how
    )
    assert not found.unique
    assert found.not_unique == tuple(range(5))
    assert found.gradient["v"][6] == pytest.approx(0.05, rel=1e-7)
    assert found.gradient["mu"][0] == pytest.approx(-9.81 * 0.05**2 / 2, rel=1e-6)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_ball_that_touches_without_weight_is_at_a_kink(scheme):
    world = thrown(height=0.1, gravity=0.0, velocity=(0, 0, 0))
    how = {"until": 3 * H, "h": H, "scheme": SCHEMES[scheme], "solver": solver()}
    found = ss.gradient(
        world, ss.gradients.AtEnd(lambda state: (state.q[9], np.eye(14)[9], None)), by=("v",), **how
    )
    assert not found.exists
    assert found.kinks == (0, 1, 2)
    assert found.notes[0].startswith("3 steps, the first 0: ")
    assert np.isfinite(found.gradient["v"]).all()


def test_smoothing_takes_the_kink_away():
    world = thrown(height=0.1, gravity=0.0, velocity=(0, 0, 0))
    how = {"until": H, "h": H, "scheme": "variational", "solver": "ipm-step"}
    height = ss.gradients.AtEnd(lambda state: (state.q[9], np.eye(14)[9], None))
    found = ss.gradient(world, height, by=("v",), kappa=1e-4, **how)
    assert found.exists
    assert 0.0 < found.gradient["v"][8] < H  # between that of a ball that is held and that of one that leaves


@pytest.mark.parametrize("scheme", SCHEMES)
def test_efforts_over_time(scheme):
    world, rng = cart(), np.random.default_rng(4)
    how = {"until": 6 * H, "h": H, "scheme": SCHEMES[scheme], "solver": solver()}
    effort = rng.normal(size=(6, 1))
    e_x = np.eye(14)[0]
    far = ss.gradients.AtEnd(lambda state: (state.q[0], e_x, None))
    found = ss.gradient(world, far, by=("effort", "mass"), controls={"effort": effort}, **how)
    # A cart of mass m on its rail: what is pushed at the end of step k moves it for the steps that are left.
    left = np.diff(found.gradient["effort"][:, 0])
    np.testing.assert_allclose(left[1:-1], -(H**2) / 1.5, rtol=1e-6)
    one = ss.gradient(world, far, by=("effort",), **how)
    same = ss.gradient(world, far, by=("effort",), controls={"effort": np.full((6, 1), 0.3)}, **how)
    assert same.value == one.value
    assert same.gradient["effort"].sum() == pytest.approx(one.gradient["effort"][0])
