"""Newton's method from a guess: answers of closed forms, and those that the judge takes."""

import numpy as np
import pytest

from stickslip import solve
from stickslip.kernels import warm_newton
from stickslip.kernels.cones import FRICTION, INTERVAL
from stickslip.kernels.scratch import scratch_for
from stickslip.problem.contact import ContactProblem
from stickslip.problem.operator import DenseDelassus
from stickslip.problem.sets import ProductSet

MU = 0.5


def contacts(count):
    """K of so many Coulomb contacts, as kernels take it."""
    return (
        np.full(count, FRICTION), 3 * np.arange(count + 1), np.zeros(count),
        np.full(count, np.inf), np.arange(count + 1), np.full(count, 2), np.full(count, MU),
    )  # fmt: skip


def newton(K, W, free, guess=None, most=20, tolerance=1e-10):
    """(steps, error, r, u)."""
    r = np.zeros(len(free)) if guess is None else np.array(guess, float)
    u = np.empty(len(free))
    steps, error = warm_newton.solve(
        scratch_for(10_000, 1_000), K, W, np.asarray(free, float), tolerance, most, r, u
    )
    return steps, error, r, u


@pytest.mark.parametrize(
    ("free", "r"),
    [
        ((-1.0, 0.2, 0.0), (1.0, -0.2, 0.0)),  # it sticks
        ((-1.0, 3.0, 4.0), (1.0, -0.3, -0.4)),  # it slides, against its velocity
        ((1.0, 3.0, 4.0), (0.0, 0.0, 0.0)),  # it opens
    ],
)
def test_one_contact_on_a_unit_mass_has_the_answer_of_its_closed_form(free, r):
    _, error, found, u = newton(contacts(1), np.eye(3), free)
    assert error <= 1e-10
    np.testing.assert_allclose(found, r, atol=1e-9)
    np.testing.assert_allclose(u, found + free, atol=1e-9)


def scattered(count, seed):
    """W of contacts that are tied to each other, and free velocities that close most of them."""
    random = np.random.default_rng(seed)
    J = random.standard_normal((3 * count, 3 * count + 4))
    free = random.standard_normal(3 * count)
    free[::3] -= 2.0
    return J @ J.T / len(J), free


@pytest.mark.parametrize("seed", range(5))
def test_what_it_calls_solved_is_the_answer_of_the_certified_solver(seed):
    K, (W, free) = contacts(4), scattered(4, seed)
    found = solve(ContactProblem.unchecked(DenseDelassus(W), free, ProductSet(*K)), tolerance=1e-12)
    assert found.ok
    _, error, r, u = newton(K, W, free, guess=found.r + 1e-3)
    assert error <= 1e-10
    np.testing.assert_allclose(u, W @ r + free, atol=1e-12)
    np.testing.assert_allclose(r, found.r, atol=1e-7)


def test_a_guess_that_is_the_answer_takes_no_step():
    K, (W, free) = contacts(4), scattered(4, 0)
    r = newton(K, W, free, tolerance=1e-13)[2]
    steps, error, again, _ = newton(K, W, free, guess=r, tolerance=1e-9)
    assert (steps, again.tobytes()) == (0, r.tobytes())
    assert error <= 1e-9


def test_too_few_steps_leave_the_best_iterate_and_its_error():
    K, (W, free) = contacts(4), scattered(4, 1)
    errors = [newton(K, W, free, most=most)[1] for most in range(6)]
    assert errors == sorted(errors, reverse=True)


@pytest.mark.parametrize(("n", "seed"), [(3, 880), (3, 1851), (4, 765), (4, 822), (4, 1652)])
def test_sweeps_end_what_goes_in_circles(n, seed):
    """Full steps take the same components for bound and free in turn."""
    random = np.random.default_rng(seed)
    J = random.standard_normal((n, n))
    W, free, bound = J @ J.T + 0.01 * np.eye(n), random.standard_normal(n), np.ones(n)
    none, starts = np.zeros(0, np.int64), np.arange(n + 1)
    K = (np.full(n, INTERVAL), starts, -bound, bound, np.zeros(n + 1, np.int64), none, np.zeros(0))
    assert newton(K, W, free, most=40)[1] > 0.1
    r, u = np.zeros(n), np.empty(n)
    _, error = warm_newton.solve_in_rounds(scratch_for(10_000, 1_000), K, W, free, 1e-10, r, u)
    assert error <= 1e-10
    np.testing.assert_allclose(r, np.clip(r - (W @ r + free), -1.0, 1.0), atol=1e-9)


def test_what_stands_on_a_bound_in_the_guess_is_taken_to_stay_there():
    """Dry friction that goes on: at the guess its velocity has another sign, until the other follows."""
    none, high = np.zeros(0, np.int64), np.array([1.0, 9.0])
    K = (np.full(2, INTERVAL), np.arange(3), -high, high, np.zeros(3, np.int64), none, np.zeros(0))
    W, free = np.array([[1.0, 0.9], [0.9, 1.0]]), np.array([-0.1, 4.0])
    steps, error, r, _ = newton(K, W, free, guess=(1.0, -0.9), tolerance=1e-5)
    assert steps == 1
    assert error <= 1e-5
    np.testing.assert_allclose(r, [1.0, -4.9], atol=1e-4)
