"""Performance profiles against cases worked out by hand."""

import numpy as np
import pytest

from stickslip.bench.profiles import performance_profile

INF = float("inf")


def test_two_solvers_three_problems() -> None:
    profile = performance_profile([[1.0, 2.0], [3.0, 1.0], [4.0, 4.0]])
    np.testing.assert_allclose(profile.taus, [1.0, 2.0, 3.0])
    np.testing.assert_allclose(profile.shares, [[2 / 3, 2 / 3, 1.0], [2 / 3, 1.0, 1.0]])


def test_a_failure_never_counts() -> None:
    profile = performance_profile([[1.0, INF], [2.0, 1.0]])
    np.testing.assert_allclose(profile.taus, [1.0, 2.0])
    np.testing.assert_allclose(profile.shares, [[0.5, 1.0], [0.5, 0.5]])


def test_a_problem_that_all_fail_on_stays_in_the_count() -> None:
    profile = performance_profile([[INF, INF], [1.0, 5.0]])
    np.testing.assert_allclose(profile.shares[:, -1], [0.5, 0.5])


def test_all_failing() -> None:
    profile = performance_profile([[INF, INF]] * 3)
    np.testing.assert_array_equal(profile.taus, [1.0])
    np.testing.assert_array_equal(profile.shares, [[0.0], [0.0]])


def test_ties_share_the_first_place() -> None:
    profile = performance_profile([[2.0, 2.0, 4.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(profile.at(1.0), [1.0, 1.0, 0.0])
    np.testing.assert_allclose(profile.at(1e9), [1.0, 1.0, 0.5])  # infinitely slower than zero


def test_shares_between_the_factors() -> None:
    profile = performance_profile([[1.0, 2.0], [3.0, 1.0]])
    np.testing.assert_allclose(profile.at(1.999), [0.5, 0.5])
    np.testing.assert_allclose(profile.at(2.0), [0.5, 1.0])
    with pytest.raises(ValueError, match="tau is"):
        profile.at(0.5)


def test_units_do_not_matter() -> None:
    times = np.random.default_rng(0).uniform(1.0, 9.0, (40, 3))
    scale = np.random.default_rng(1).uniform(0.1, 9.0, (40, 1))
    one, other = performance_profile(times), performance_profile(scale * times)
    np.testing.assert_allclose(one.shares, other.shares)
    assert (np.diff(one.shares, axis=1) >= 0.0).all()


@pytest.mark.parametrize("times", [[1.0, 2.0], np.zeros((0, 2)), [[1.0, float("nan")]], [[-1.0, 1.0]]])
def test_bad_costs_are_named(times: object) -> None:
    with pytest.raises(ValueError, match="times"):
        performance_profile(times)
