"""Smoothed derivatives: the point is on the central path, its differences agree, and kappa -> 0 is exact."""

import numpy as np
import pytest
from random_problems import MIXED, bodies_in_a_row
from solution_differences import random_global, random_local, solved, worst_difference

from stickslip import ContactProblem, ModelError, coulomb
from stickslip.gradients.solution import solution_derivative
from stickslip.problem import free, interval, nonnegative, rolling, torsional

WHOLE = MIXED + torsional([0.5], [0.1]) + interval([-0.2, 0.1, -np.inf], [0.3, np.inf, 0.2])
PROBLEMS = {
    "coulomb2d": lambda: random_local(coulomb([0.3, 0.5, 0.7], 2), 0),
    "coulomb3d": lambda: random_local(coulomb([0.3, 0.5, 0.9]), 1, pressed=True),
    "rolling": lambda: random_local(rolling([0.5, 0.2], [0.1, 0.6]), 2, pressed=True),
    "mixed": lambda: random_local(WHOLE, 3),
    "joints": lambda: random_global(coulomb([0.3, 0.5]) + nonnegative(1), 4, joints=2),
    "bodies": lambda: bodies_in_a_row(coulomb([0.3, 0.5, 0.7, 0.2]) + free(2), 1),
}


@pytest.fixture(scope="module", params=PROBLEMS)
def case(request):
    problem = PROBLEMS[request.param]()
    return problem, solved(problem)


@pytest.mark.parametrize("kappa", [1e-1, 1e-3])
def test_against_differences_of_smoothed_solutions(case, kappa):
    problem, solution = case
    derivative = solution_derivative(solution, kappa=kappa)
    assert derivative.exists
    assert derivative.kappa == kappa
    rng = np.random.default_rng(7)
    for name in derivative.by:
        if name == "H" and problem.is_matrix_free:
            continue
        error, transposed = worst_difference(
            derivative, problem, name, rng, at=lambda p: solution_derivative(solved(p), kappa=kappa)
        )
        assert error <= 1e-6, name
        assert transposed <= 1e-11, name


def test_it_tends_to_the_exact_one_as_kappa_falls(case):
    problem, solution = case
    name = "u_free" if isinstance(problem, ContactProblem) else "u_bias"
    exact = solution_derivative(solution)
    gaps = [
        np.abs(solution_derivative(solution, kappa=k).jacobian("u", name) - exact.jacobian("u", name)).max()
        for k in (1e-6, 1e-8)
    ]
    assert gaps[1] < 0.02 * gaps[0] + 1e-9  # in proportion to kappa


def test_the_point_is_on_the_central_path():
    K, kappa = coulomb([0.3, 0.5]) + rolling([0.4], [0.2]), 1e-2
    problem = random_local(K, 1, pressed=True)
    derivative = solution_derivative(solved(problem), kappa=kappa)
    np.testing.assert_allclose(derivative.u, problem.velocity(derivative.r), atol=1e-12)
    for block, r, u in zip(K, K.split(derivative.r), K.split(derivative.u), strict=True):
        np.testing.assert_allclose(r[0] * u[0], kappa, rtol=1e-9)
        start = 1
        for size, mu in zip(block.groups, block.coefficients, strict=True):
            r_k, u_k = r[start : start + size], u[start : start + size]
            eta = (kappa - r_k @ u_k) / (mu * r[0])
            assert eta > np.linalg.norm(u_k)
            np.testing.assert_allclose(mu * r[0] * u_k + eta * r_k, 0.0, atol=1e-10)
            start += size


def test_smoothing_answers_a_push_that_friction_holds():
    """Exactly, a held block does not answer; smoothed it does, and more with more kappa."""
    solution = solved(ContactProblem(np.eye(3), [-1.0, 0.2, 0.0], coulomb([0.5])))
    answers = [
        solution_derivative(solution, kappa=k).jacobian("u", "u_free")[1, 1] for k in (0.0, 1e-3, 1e-2)
    ]
    assert answers[0] == 0.0 < answers[1] < answers[2] < 1.0


def test_at_a_kink_smoothing_gives_a_derivative():
    solution = solved(ContactProblem(np.eye(3), [0.0, 0.3, 0.0], coulomb([0.5])))
    derivative = solution_derivative(solution, kappa=1e-4)
    assert derivative.exists
    np.testing.assert_allclose(derivative.jacobian("u", "u_free")[0, 0], 0.5, atol=1e-3)  # between both sides


def test_redundant_contacts_share_equally():
    solution = solved(ContactProblem(np.ones((2, 2)), [-1.0, -1.0], nonnegative(2)))
    derivative = solution_derivative(solution, kappa=1e-6)
    assert derivative.unique
    np.testing.assert_allclose(derivative.r, 0.5, atol=1e-5)


def test_what_is_wedged_has_no_central_path():
    """Between two walls u_1 = -u_2, so that both cannot be positive."""
    solution = solved(ContactProblem(np.array([[1.0, -1.0], [-1.0, 1.0]]), [0.5, -0.5], nonnegative(2)))
    assert not solution_derivative(solution).unique
    with pytest.raises(ModelError, match=r"no point at kappa = 0.001 J; .* wedged"):
        solution_derivative(solution, kappa=1e-3)


@pytest.mark.parametrize("kappa", [1e-12, 1.0, 1e3])
def test_kappa_from_tiny_to_huge(case, kappa):
    problem, solution = case
    derivative = solution_derivative(solution, kappa=kappa)
    assert np.isfinite(derivative.vjp(u=np.ones(problem.size))["mu"]).all()
