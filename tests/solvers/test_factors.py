"""The linear solve inside ADMM: every form gives W (I + rho W)^-1 b."""

import numpy as np
import pytest

from stickslip.problem.convert import reduce_to_contacts
from stickslip.problem.operator import BodyDelassus
from stickslip.scenes import make
from stickslip.solvers.factors import BodyFactor, DenseFactor, Singular, SparseFactor


def packing(spheres=40):
    return reduce_to_contacts(make("packing-problem", spheres=spheres)).problem


def test_all_factors_agree_for_one_rho_after_the_other():
    problem = packing()
    W, b = problem.W, np.random.default_rng(0).normal(size=problem.size)
    factors = [BodyFactor(W), DenseFactor(W.dense()), SparseFactor(W.blocks(problem.K).sparse())]
    for rho in (1e-4, 1.0, 30.0, 1e4):
        expected = np.linalg.solve(np.eye(W.size) + rho * W.dense(), W.apply(b, np.zeros(W.size)))
        for factor in factors:
            factor.factor(rho)
            error = np.abs(factor.product(b) - expected).max()
            assert error <= 1e-7 * np.abs(expected).max(), type(factor).__name__  # W is 1e3, W t 1e-4


def test_a_body_may_touch_itself():
    rng = np.random.default_rng(1)
    bodies = np.array([[0, 1], [1, 1], [0, -1], [0, 0]])
    W = BodyDelassus(3 * np.arange(5), bodies, rng.normal(size=(12, 2, 6)), 2)
    b, factor = rng.normal(size=12), BodyFactor(W)
    factor.factor(2.0)
    expected = np.linalg.solve(np.eye(12) + 2.0 * W.dense(), W.dense() @ b)
    np.testing.assert_allclose(factor.product(b), expected, atol=1e-12 * np.abs(expected).max())


def test_light_bodies_are_not_taken_for_singular():
    """Two of them against each other: W = 2 a², and of the pivots 1 + rho a² and 2 the second is real."""
    a, rho, b = 2e5, 1e4, np.array([3.0])
    factor = BodyFactor(BodyDelassus(np.arange(2), np.array([[0, 1]]), np.array([[[a], [-a]]]), 2))
    factor.factor(rho)
    np.testing.assert_allclose(factor.product(b), 2 * a * a / (1 + 2 * rho * a * a) * b, rtol=1e-6)


def test_what_cannot_be_factored_is_said_and_the_next_rho_is_taken():
    W = packing(10).W
    factor = BodyFactor(W)
    with pytest.raises(Singular, match="cannot be factored at rho = nan"):
        factor.factor(np.nan)
    factor.factor(1.0)
    assert np.isfinite(factor.product(np.ones(W.size))).all()
