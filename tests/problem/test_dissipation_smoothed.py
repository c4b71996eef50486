"""Friction of one contact with the smoothed norm: against closed forms, as the smoothing vanishes."""

import numpy as np
import pytest
from scipy.optimize import brentq

import stickslip as ss
from stickslip.problem.convert import friction_mcp


def friction(W, u, limit, epsilon):
    conversion = friction_mcp(W, u, limit / 0.5, 0.5, epsilon)
    return conversion.recover(ss.solve(conversion.problem, "mcp", tolerance=1e-13).or_raise().r)


def exact_slip(W, u, limit):
    """(W + s) b = -u with |b| = limit, s > 0: the secular equation of the exact norm."""
    m = len(u)

    def b(s):
        return -np.linalg.solve(W + s * np.eye(m), u)

    s = brentq(lambda s: np.linalg.norm(b(s)) - limit, 1e-12, 1e6, xtol=1e-15, rtol=1e-15)
    return b(s)


@pytest.mark.parametrize("epsilon", [1e-1, 1e-4, 1e-8])
def test_inside_the_limit_it_sticks_exactly(epsilon):
    W, u = np.array([[2.0, 0.3], [0.3, 1.0]]), np.array([0.4, -0.5])
    held = friction(W, u, 3.0, epsilon)
    np.testing.assert_allclose(held.b, -np.linalg.solve(W, u), atol=1e-12)
    assert held.speed < 1e-12


@pytest.mark.parametrize("W", [np.eye(2) / 2.0, np.array([[2.0, 0.3], [0.3, 1.0]])], ids=["mass", "coupled"])
def test_sliding_tends_to_the_exact_answer_at_first_order(W):
    u, limit = np.array([3.0, -4.0]), 0.7
    exact = exact_slip(W, u, limit)
    errors = []
    for epsilon in (1e-2, 1e-3, 1e-4, 1e-5):
        found = friction(W, u, limit, epsilon)
        errors.append(np.linalg.norm(found.b - exact))
        size = np.linalg.norm(found.b)
        assert size == pytest.approx(np.sqrt(limit**2 + 2.0 * limit * epsilon), abs=1e-12)
        assert limit < size <= limit + epsilon
        assert found.b @ (W @ found.b + u) < 0.0, "friction takes energy"
        assert found.speed == pytest.approx(np.linalg.norm(W @ found.b + u), abs=1e-14)
    np.testing.assert_allclose(np.array(errors[:-1]) / errors[1:], 10.0, rtol=0.05)


def test_a_mass_slides_at_the_speed_of_the_closed_form():
    found = friction(np.eye(2) / 2.0, [3.0, -4.0], 0.7, 1e-10)
    np.testing.assert_allclose(found.b, [-0.42, 0.56], atol=1e-9)
    assert found.speed == pytest.approx(5.0 - 0.35, abs=1e-9)


@pytest.mark.parametrize("epsilon", [1e-2, 1e-6, 1e-12])
def test_the_derivative_exists_at_zero(epsilon):
    """b = 0 is where the exact norm has none: at rest, and as the start of every solve."""
    problem = friction_mcp(np.eye(2), [0.0, 0.0], 2.0, 0.5, epsilon).problem
    assert np.isfinite(problem.slope(np.zeros(3))).all()
    assert np.isfinite(problem.slope(np.array([0.0, 0.0, 2.0]))).all()
    assert problem.check_jacobian([0.3, -0.4, 0.6]).error < 1e-8
    at_rest = friction(np.eye(2), [0.0, 0.0], 1.0, epsilon)
    assert np.abs(at_rest.b).max() < 1e-13


def test_without_normal_impulse_there_is_no_friction():
    found = friction(np.eye(2), [3.0, 4.0], 0.0, 1e-6)
    assert not found.b.any()
    assert found.speed == 5.0


def test_bad_data_is_named():
    with pytest.raises(ss.ProblemError, match="epsilon is 0"):
        friction_mcp(np.eye(2), [1.0, 0.0], 1.0, 0.5, 0.0)
    with pytest.raises(ss.ProblemError, match="r_N is -1"):
        friction_mcp(np.eye(2), [1.0, 0.0], -1.0, 0.5, 1e-3)
    with pytest.raises(ss.ProblemError, match="symmetric"):
        friction_mcp([[1.0, 0.5], [0.0, 1.0]], [1.0, 0.0], 1.0, 0.5, 1e-3)
    with pytest.raises(ss.ProblemError, match="positive semidefinite"):
        friction_mcp(np.diag([1.0, -1.0]), [1.0, 0.0], 1.0, 0.5, 1e-3)
