"""Certificates of infeasibility: accepted where they prove something, refused where they do not."""

import numpy as np
import pytest
from hard_problems import closing_walls, made_to_measure, wall_against_a_fixed_body

from stickslip import BoxProblem, ContactProblem, GlobalProblem, ProblemError, coulomb
from stickslip.problem import Certificate, check_certificate, free, interval, lcp, nonnegative, rolling
from stickslip.problem.certificate import BEYOND, energy_units, weight_bounds
from stickslip.problem.convert import box_to_contacts, reduce_to_contacts, rescale


def squeezed(epsilon):
    """Closing walls that give way a little, with the solution r = (1, 1) / epsilon."""
    return ContactProblem(
        np.array([[1.0 + epsilon, -1.0], [-1.0, 1.0 + epsilon]]), [-1.0, -1.0], nonnegative(2)
    )


@pytest.mark.parametrize("epsilon", [1e-3, 1e-6, 1e-9, 1e-13])
def test_the_bound_on_impulses_is_met_by_the_solution(epsilon):
    """W y = epsilon y, y·u_free = -2: a solution has |r| >= |(1, 1)| / epsilon, and r = (1, 1) / epsilon."""
    check = check_certificate(squeezed(epsilon), Certificate([1.0, 1.0]))
    bound = (1.0 + epsilon) / epsilon  # over rho |u_free|
    assert 0.9 * bound < check.beyond < bound * (1.0 + 1e-6)
    assert check.accepted == (1.0 / epsilon > BEYOND)
    assert check.closing == pytest.approx(1.0)
    assert check.contacts == (0, 1)


@pytest.mark.parametrize("seed", range(5))
def test_no_bound_is_above_a_known_solution(seed):
    """Any admissible y at all, on problems whose solution is known."""
    hard, rng = made_to_measure(nc=6, mu=(0.3, 1.0), seed=seed, velocities=9), np.random.default_rng(seed)
    problem, (r,) = hard.problem, hard.answers
    units = energy_units(problem.K, problem.W.diagonal())
    size = np.linalg.norm(r / units.scale) / np.linalg.norm(units.scale * problem.u_free)
    _, high = weight_bounds(problem.K)
    seen = 0
    for _ in range(200):
        y = np.where(high > 0, rng.exponential(size=high.size) ** 3, 0.0)
        check = check_certificate(problem, Certificate(y))
        assert check.beyond <= size
        seen += check.closing > 0.0
    assert seen


def test_what_is_no_certificate_is_refused():
    problem = reduce_to_contacts(closing_walls().problem).problem
    good = np.tile([1.0, 0.0, 0.0], 3)
    assert check_certificate(problem, Certificate(good)).accepted
    tangential = good + 0.1 * np.eye(9)[1]
    for y, word in ((-good, "wrong sign"), (tangential, "tangential")):
        check = check_certificate(problem, Certificate(y))
        assert not check.accepted
        assert word in str(check)
    assert not check_certificate(problem, Certificate(np.zeros(9))).accepted
    assert not check_certificate(problem, Certificate([1.0] + [0.0] * 8)).accepted
    opening = ContactProblem(problem.W, -problem.u_free, problem.K)
    assert "do not close" in str(check_certificate(opening, Certificate(good)))
    with pytest.raises(ProblemError, match="y of the certificate has shape"):
        check_certificate(problem, Certificate([1.0]))
    with pytest.raises(ProblemError, match="not finite"):
        Certificate([np.nan])


def test_numbers_that_overflow_prove_nothing():
    problem = ContactProblem(np.full((2, 2), 1e300), [-1e300, -1e300], nonnegative(2))
    assert not check_certificate(problem, Certificate([1e200, 1e200])).accepted


@pytest.mark.parametrize("impulse", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("velocity", [1e-8, 1e8])
def test_units_do_not_matter(impulse, velocity):
    rng = np.random.default_rng(0)
    J = rng.normal(size=(10, 3))
    problem = ContactProblem(J @ J.T, rng.normal(size=10), rolling([0.3, 0.5], [0.1, 0.2]))
    y = np.zeros(10)
    y[[0, 5]] = 1.0, 0.3
    problem = ContactProblem(problem.W, -np.abs(problem.u_free), problem.K)
    plain = check_certificate(problem, Certificate(y))
    conversion = rescale(problem, impulse, velocity, length=1e-3)
    other = check_certificate(conversion.problem, Certificate(conversion.guess(y)))
    assert other.closing == pytest.approx(plain.closing)
    assert other.beyond == pytest.approx(plain.beyond)
    back = conversion.certificate(Certificate(conversion.guess(y)))
    np.testing.assert_allclose(back.y, y)


def test_weights_follow_the_bounds_of_intervals():
    K = interval([0.0, -np.inf, -1.0, -np.inf], [np.inf, 0.0, 1.0, np.inf]) + free(1) + coulomb([0.5], 2)
    low, high = weight_bounds(K)
    inf = np.inf
    assert low.tolist() == [0.0, -inf, 0.0, -inf, -inf, 0.0, 0.0]
    assert high.tolist() == [inf, 0.0, 0.0, inf, inf, inf, 0.0]


@pytest.mark.parametrize(("gap", "proof"), [(-0.9, False), (-1.1, True)])
def test_a_motor_of_limited_force_cannot_hold(gap, proof):
    """u_0 = r_1 + gap must vanish, and |r_1| <= 1: sigma = 1."""
    problem = ContactProblem([[0.0, 1.0], [1.0, 2.0]], [gap, 0.0], free(1) + interval([-1.0], [1.0]))
    assert check_certificate(problem, Certificate([1.0, 0.0])).accepted == proof


def test_painleve_as_one_block():
    stuck = ContactProblem([[-2.0]], [-1.0], nonnegative(1))
    assert check_certificate(stuck, Certificate([1.0])).accepted
    for W, u_free in ((-2.0, 1.0), (2.0, -1.0)):
        problem = ContactProblem([[W]], [u_free], nonnegative(1))
        assert not check_certificate(problem, Certificate([1.0])).accepted


@pytest.mark.parametrize("joints", ["eliminate", "blocks"])
def test_joints_take_part(joints):
    hard = wall_against_a_fixed_body()
    assert check_certificate(hard.problem, hard.certificate).accepted
    assert not check_certificate(hard.problem, Certificate(hard.certificate.y)).accepted
    conversion = reduce_to_contacts(hard.problem, joints)
    weights = np.concatenate([hard.certificate.y, hard.certificate.z])[: conversion.problem.size]
    assert check_certificate(conversion.problem, Certificate(weights)).accepted
    back = conversion.certificate(Certificate(weights))
    np.testing.assert_allclose(back.y, hard.certificate.y)
    np.testing.assert_allclose(back.z, hard.certificate.z, atol=1e-14)


def test_joints_that_contradict_each_other():
    """Two joints on one velocity ask for 0 and for 1."""
    H, G = np.eye(2), np.array([[1.0, 1.0], [0.0, 0.0]])
    problem = GlobalProblem(np.eye(2), [0.0, -1.0], H, np.zeros(2), coulomb([0.5], 2), G, [0.0, 1.0])
    assert check_certificate(problem, Certificate(np.zeros(2), [1.0, -1.0])).accepted
    assert not check_certificate(problem, Certificate(np.zeros(2), [-1.0, 1.0])).accepted


def test_complementarity_problems():
    """z_0 = 1 by an equation, and 0 <= z_1 ⟂ -z_0 - 0.5 >= 0 cannot be."""
    skew = lcp([[0.0, 1.0], [-1.0, 0.0]], [-1.0, -1.0])
    assert not check_certificate(skew, Certificate([1.0, 1.0])).accepted
    box = BoxProblem(
        np.array([[2.0, 0.0], [-1.0, 0.0]]),
        np.array([-2.0, -0.5]),
        np.array([-np.inf, 0.0]),
        np.full(2, np.inf),
    )
    conversion = box_to_contacts(box)
    back = conversion.certificate(Certificate([1.0]))
    np.testing.assert_allclose(back.y, [0.5, 1.0])
    assert check_certificate(box, back).accepted
    singular = lcp([[0.0, 0.0], [1.0, 0.0]], [-1.0, 0.0])
    assert check_certificate(singular, Certificate([1.0, 0.0])).accepted
