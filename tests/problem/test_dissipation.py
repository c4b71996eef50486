"""The friction of one contact by itself: least kinetic energy under a given normal impulse."""

import numpy as np
import pytest
from closed_forms import KNOWN
from conic import solve_program

from stickslip import ProblemError
from stickslip.problem import judge_program
from stickslip.problem.convert import friction_program


def friction_of(*data):
    conversion = friction_program(*data)
    x, y = solve_program(conversion.problem)
    assert judge_program(conversion.problem, x, y).error < 1e-9
    return conversion.recover(x, y)


def test_against_a_given_velocity_friction_points_the_other_way():
    """W = 0: min u·b over the disk is -mu r_N u / |u|, and the multiplier is the speed |u|."""
    u = np.array([0.3, -0.4])
    found = friction_of(np.zeros((2, 2)), u, 2.0, 0.5)
    np.testing.assert_allclose(found.b, -1.0 * u / 0.5, atol=1e-8)
    assert found.speed == pytest.approx(0.5, abs=1e-8)


@pytest.mark.parametrize("name", ["slide", "stick", "anisotropic slip", "coupled slip", "slide 2D"])
def test_it_gives_the_friction_of_contacts_known_in_closed_form(name):
    """With the normal impulse of the answer, friction is what it is in the answer."""
    known = KNOWN[name]
    W, r = known.problem.W.dense(), known.r
    u = known.problem.u_free[1:] + W[1:, 0] * r[0]
    found = friction_of(W[1:, 1:], u, r[0], known.problem.K.coefficient[0])
    np.testing.assert_allclose(found.b, r[1:], atol=1e-6)
    assert found.speed == pytest.approx(np.linalg.norm(known.u[1:]), abs=1e-6)


def test_it_leaves_the_least_energy():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(2, 2))
    W, u, limit = A @ A.T + 0.1 * np.eye(2), rng.normal(size=2), 0.2
    program = friction_program(W, u, 1.0, limit).problem
    best = program.objective(friction_of(W, u, 1.0, limit).b)
    for angle in np.linspace(0.0, 2.0 * np.pi, 50):
        assert program.objective(limit * np.array([np.cos(angle), np.sin(angle)])) >= best - 1e-9


@pytest.mark.parametrize(("r_N", "mu"), [(0.0, 0.5), (2.0, 0.0)])
def test_without_a_limit_to_reach_there_is_no_friction(r_N, mu):
    conversion = friction_program(np.eye(2), [0.6, 0.8], r_N, mu)
    found = conversion.recover(*solve_program(conversion.problem))
    np.testing.assert_array_equal(found.b, 0.0)
    assert found.speed == pytest.approx(1.0)


def test_what_is_wrong_is_named():
    for data, said in (
        ((np.eye(2), [1.0, 0.0], -1.0, 0.5), "r_N is -1.0"),
        ((np.eye(2), [1.0, 0.0], 1.0, np.nan), "mu is nan"),
        ((np.eye(3), [1.0, 0.0], 1.0, 0.5), "W_TT has shape"),
        ((np.eye(2), [1.0, np.inf], 1.0, 0.5), "u_T is not finite"),
        (([[1.0, 1.0], [-1.0, 1.0]], [1.0, 0.0], 1.0, 0.5), "needs a symmetric W_TT"),
        ((-np.eye(2), [1.0, 0.0], 1.0, 0.5), "positive semidefinite W_TT"),
    ):
        with pytest.raises(ProblemError, match=said):
            friction_program(*data)
