"""Steps as functions of plain arrays: what they give, their transposed derivative, and what they refuse."""

import numpy as np
import pytest
from bridge_worlds import MOREAU, arguments, thrown

import stickslip as ss
from stickslip.bridges.step_function import NoDerivative, StepFunction
from stickslip.differentiation import made_solver
from stickslip.mechanics.parameters import Parameters


def function(world=None, **how):
    how = {"scheme": MOREAU, "steps": 2, "solver": made_solver("auto", 1e-12)} | how
    return StepFunction(world=thrown() if world is None else world, h=0.01, **how)


@pytest.mark.parametrize("scheme", [MOREAU, "variational"])
def test_it_gives_what_a_run_gives(scheme):
    world = thrown()
    f = function(world, scheme=scheme, continues=False, path=True, steps=3)
    q, v = f.value(world.start.q, world.start.v)
    t = ss.simulate(world, until=0.03, h=0.01, scheme=scheme, solver=made_solver("auto", 1e-12))
    np.testing.assert_array_equal(q, t.q[1:])
    np.testing.assert_array_equal(v, t.v[1:])
    last = function(world, scheme=scheme, continues=False, steps=3).value(world.start.q, world.start.v)
    np.testing.assert_array_equal(last[0], q[-1])


def test_one_step_after_the_other_is_a_run_of_the_variational_scheme():
    world = thrown(height=1.0)
    one, three = (function(world, scheme="variational", steps=k) for k in (1, 3))
    q, v = world.start.q, world.start.v
    for _ in range(3):
        q, v = one.value(q, v)
    for found, expected in zip((q, v), three.value(world.start.q, world.start.v), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_inputs_are_those_of_the_world():
    world, f = thrown(), function(inputs=("mu", "e", "gravity"))
    q, v = f.value(*arguments(world, mu=[0.4], e=[0.1], gravity=[0, 1, -5]))
    other = Parameters.of(world).with_(mu=[0.4], e=[0.1], gravity=[0, 1, -5]).applied(world)
    expected = function(other).value(world.start.q, world.start.v)
    np.testing.assert_array_equal(q, expected[0])
    np.testing.assert_array_equal(v, expected[1])
    assert np.abs(q - function().value(world.start.q, world.start.v)[0]).max() > 1e-4


@pytest.mark.parametrize("path", [False, True])
def test_transposed_against_differences_of_seven_numbers(path):
    world = thrown()
    wrench = np.zeros((2, 2, 6))
    given = [*arguments(world, mu=[0.1], size=[0.1]), wrench]
    given[0][10:] *= 1.3  # quaternions of any length
    f = function(world, inputs=("mu", "size", "wrench"), path=path)
    rng = np.random.default_rng(0)
    dq, dv = (rng.normal(size=shape) for shape in f.results)
    found = f.transposed(given[0], given[1], given[2:], dq, dv)
    assert found[-1].shape == (2, 2, 6)
    for j, columns in enumerate([range(7, 14), range(6, 12), [0], [0], [6, 10, 18, 22]]):
        for i in columns:
            ends = []
            for sign in (1, -1):
                at = [np.array(one) for one in given]
                at[j].reshape(-1)[i] += sign * 1e-5
                q, v = f.value(*at)
                ends.append((dq * q).sum() + (dv * v).sum())
            assert found[j].reshape(-1)[i] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("path", [False, True])
@pytest.mark.parametrize("scheme", [MOREAU, "variational"])
def test_the_tangent_is_the_transpose_of_the_transposed(scheme, path):
    world = thrown()
    given = [*arguments(world, mu=[0.1], size=[0.1]), np.zeros((2, 2, 6))]
    given[0][10:] *= 1.3
    f = function(world, scheme=scheme, inputs=("mu", "size", "wrench"), path=path)
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=shape) for shape in f.results]
    changes = [rng.normal(size=np.shape(one)) for one in given]
    forwards = f.tangent(given[0], given[1], given[2:], *changes)
    backwards = f.transposed(given[0], given[1], given[2:], *weights)
    there = sum(float((a * b).sum()) for a, b in zip(forwards, weights, strict=True))
    back = sum(float((a * b).sum()) for a, b in zip(backwards, changes, strict=True))
    assert there == pytest.approx(back, rel=1e-9)


def test_a_kink_is_accepted_or_raised():
    world = thrown(height=0.1, gravity=0.0, velocity=(0, 0, 0))
    weights = np.ones(14), np.ones(12)
    found = function(world).transposed(world.start.q, world.start.v, (), *weights)
    assert all(np.isfinite(one).all() for one in found)
    with pytest.raises(NoDerivative, match="2 of 2 steps have no derivative: 2 steps, the first 0: "):
        function(world, on_kink="raise").transposed(world.start.q, world.start.v, (), *weights)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"inputs": ("speed",)}, "unknown input 'speed'; known: gravity"),
        ({"inputs": ("mu", "mu")}, "named twice"),
        ({"steps": 0}, "steps is 0"),
        ({"on_kink": "ignore"}, "on_kink is 'ignore'; known: accept, raise"),
        ({"solver": "auto"}, "solver is 'auto'"),
        ({"kappa": np.nan}, "kappa is nan"),
        ({"checkpoints": -2}, "checkpoints is -2"),
        ({"scheme": "compliant"}, "steps of compliant have no derivative"),
    ],
)
def test_what_cannot_be_asked_for(how, words):
    with pytest.raises(ss.ModelError, match=words):
        function(**how)


def test_arguments_that_cannot_be():
    world, f = thrown(), function(inputs=("mu",))
    q, v, mu = arguments(world, mu=[0.2])
    for given, words in (
        ((q[:-1], v, mu), r"q has shape \(13,\), expected \(14,\)"),
        ((q, v), "2 arguments are given; expected q, v, mu"),
        ((q, v * np.nan, mu), "v is not finite"),
        ((q * 0.0, v, mu), "body 'floor': its quaternion is zero"),
        ((q, v, -mu), "mu of pair 0 is"),
    ):
        with pytest.raises(ss.ModelError, match=words):
            f.value(*given)


def test_a_framework_that_is_not_known():
    with pytest.raises(ss.ModelError, match="unknown framework 'numpy'; known: jax, torch"):
        ss.step_function(thrown(), 0.01, "numpy")
