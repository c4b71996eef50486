"""Performance profiles against cases worked out by hand."""

import numpy as np
import pytest

from stickslip.bench.analysis.profiles import data_profile, performance_profile

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


def test_a_profile_begins_with_who_is_first_and_ends_with_who_solves() -> None:
    rng = np.random.default_rng(3)
    times = np.where(rng.uniform(size=(60, 4)) < 0.3, INF, rng.uniform(1.0, 50.0, (60, 4)))
    profile = performance_profile(times)
    anyone = np.isfinite(times).any(axis=1).mean()
    assert profile.at(1.0).sum() == pytest.approx(anyone)  # no two times are equal
    np.testing.assert_allclose(profile.at(INF), np.isfinite(times).mean(axis=0))
    tied = performance_profile(np.round(times, -1))
    assert tied.at(1.0).sum() > anyone


def test_one_solver_is_the_best_wherever_it_solves() -> None:
    profile = performance_profile([[3.0], [INF], [1.0], [2.0]])
    np.testing.assert_array_equal(profile.taus, [1.0])
    np.testing.assert_array_equal(profile.shares, [[0.75]])


def test_data_profile_by_hand() -> None:
    times = [[2.0, 1.0], [6.0, INF], [INF, 8.0]]
    profile = data_profile(times, [2, 3, 4])  # per contact: 1 and 0.5, 2 and never, never and 2
    np.testing.assert_allclose(profile.alphas, [0.0, 0.5, 1.0, 2.0])
    np.testing.assert_allclose(profile.shares, [[0, 0, 1 / 3, 2 / 3], [0, 1 / 3, 1 / 3, 2 / 3]])
    np.testing.assert_allclose(profile.at(1.5), [1 / 3, 1 / 3])
    absolute = data_profile(times)
    np.testing.assert_allclose(absolute.alphas, [0.0, 1.0, 2.0, 6.0, 8.0])
    np.testing.assert_allclose(absolute.at(6.0), [2 / 3, 1 / 3])
    with pytest.raises(ValueError, match="alpha is"):
        profile.at(float("nan"))


def test_a_data_profile_does_not_ask_what_others_need() -> None:
    times = np.random.default_rng(2).uniform(0.1, 9.0, (30, 3))
    both, alone = data_profile(times), data_profile(times[:, :1])
    for alpha in (0.0, 0.5, 3.0, 9.0):
        assert both.at(alpha)[0] == alone.at(alpha)[0]
    assert (np.diff(both.shares, axis=1) >= 0.0).all()


def test_a_data_profile_of_failures() -> None:
    np.testing.assert_array_equal(data_profile([[INF]]).shares, [[0.0]])


@pytest.mark.parametrize("sizes", [[1.0], [1.0, 0.0], [1.0, float("nan")], [[1.0, 2.0]]])
def test_bad_sizes_are_named(sizes: object) -> None:
    with pytest.raises(ValueError, match="sizes"):
        data_profile([[1.0], [2.0]], sizes)
