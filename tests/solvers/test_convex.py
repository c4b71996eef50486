"""The convex problem: closed forms on disks, four methods that agree, warm starts that pay."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.kernels import cones
from stickslip.problem.convert import unit_free
from stickslip.solvers.convex import METHODS, ConvexProblem, convex_method

K = (
    ss.coulomb([0.5, 0.3])
    + ss.problem.nonnegative(2)
    + ss.problem.interval([-0.1], [0.2])
    + ss.problem.free(2)
    + ss.problem.rolling([0.4], [0.2])
)


def random_convex(seed, tresca):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(K.size, K.size))
    law = unit_free(
        ss.ContactProblem(A @ A.T / K.size + 0.1 * np.eye(K.size), rng.normal(size=K.size), K)
    ).problem
    convex = ConvexProblem.relaxation(law)
    return convex.with_thresholds(rng.uniform(0.0, 1.0, len(K))) if tresca else convex


@pytest.mark.parametrize("tresca", [False, True], ids=["cones", "disks"])
@pytest.mark.parametrize("name", METHODS)
def test_every_method_finds_the_minimum(name, tresca):
    for seed in range(4):
        convex = random_convex(seed, tresca)
        method = convex_method(name, convex)
        made = method.advance(1e-11, 5000)
        assert made < 5000
        assert method.error <= 1e-11
        assert convex.natural(method.z) == pytest.approx(method.error, rel=0.5, abs=1e-14)
        reference = convex_method("apgd", convex)
        reference.advance(1e-12, 20000)
        np.testing.assert_allclose(method.z, reference.z, atol=1e-8)
        W, q, rng = convex.W.dense(), convex.q, np.random.default_rng(seed)
        value = 0.5 * method.z @ W @ method.z + q @ method.z
        for _ in range(20):
            other = convex.project(method.z + rng.normal(size=K.size))
            assert 0.5 * other @ W @ other + q @ other >= value - 1e-9


@pytest.mark.parametrize("name", METHODS)
def test_a_warm_start_costs_next_to_nothing(name):
    convex = random_convex(1, False)
    method = convex_method(name, convex)
    cold = method.advance(1e-8, 5000)
    method.start(convex, method.z.copy())
    assert method.advance(1e-8, 5000) <= 2 < cold


@pytest.mark.parametrize("name", METHODS)
def test_tresca_in_closed_form(name):
    """W = 1: the answer is the projection of -q on the disks, and r_N knows nothing of r_T."""
    one = ss.coulomb([0.5])
    law = ss.ContactProblem(np.eye(3), [-2.0, 3.0, -4.0], one)
    convex = ConvexProblem.relaxation(law).with_thresholds(np.array([4.0]))
    method = convex_method(name, convex)
    method.advance(1e-13, 1000)
    np.testing.assert_allclose(method.z, [2.0, -1.2, 1.6], atol=1e-11)


def test_projection_on_disks_is_nearest():
    rng = np.random.default_rng(0)
    convex = random_convex(0, True)
    assert (convex.C[0] == cones.DISKS).sum() == 3
    for _ in range(50):
        x, inside = rng.normal(size=K.size), convex.project(rng.normal(size=K.size))
        nearest = convex.project(x)
        np.testing.assert_allclose(convex.project(nearest), nearest, atol=1e-15)
        assert (x - nearest) @ (inside - nearest) <= 1e-12


def test_an_unknown_convex_method_lists_the_known():
    with pytest.raises(KeyError, match="unknown convex method 'newton'; known: apgd, bb, nsgs, admm"):
        convex_method("newton", random_convex(0, False))
