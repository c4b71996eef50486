"""Which matrices are the inertia of some mass."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from stickslip.mechanics.inertia import about_point, check_inertia, from_second_moments
from stickslip.state import ModelError

TURN = Rotation.from_rotvec([0.3, -1.1, 0.7]).as_matrix()


def cloud(seed, count, flat=1.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, 3)) * (1.0, 1.0, flat)
    return x - x.mean(axis=0), rng.uniform(0.1, 1.0, count)


@settings(max_examples=100)
@given(st.integers(0, 10**6), st.integers(4, 20), st.sampled_from([0.0, 1e-9, 1.0]), st.integers(-30, 30))
def test_every_cloud_of_masses_passes_and_is_not_changed(seed, count, flat, exponent):
    """Plates too, whose largest moment is the sum of the others but for rounding."""
    x, m = cloud(seed, count, flat)
    x = 10.0**exponent * x @ TURN.T
    J = from_second_moments(np.einsum("k,ki,kj->ij", m, x, x))
    J = 0.5 * (J + J.T)
    np.testing.assert_array_equal(check_inertia("body", J), J)


@settings(max_examples=100)
@given(st.tuples(*3 * [st.floats(0.01, 1.0)]), st.booleans())
def test_the_triangle_inequality_decides(moments, turned):
    low, mid, high = sorted(moments)
    J = np.diag(moments) if not turned else TURN @ np.diag(moments) @ TURN.T
    if low + mid >= high:
        np.testing.assert_allclose(check_inertia("b", J), J, rtol=0, atol=1e-15)
    elif low + mid < 0.999 * high:
        with pytest.raises(ModelError, match="b: inertia is impossible for a rigid body"):
            check_inertia("b", J)


def test_three_numbers_are_moments_about_the_axes():
    np.testing.assert_array_equal(check_inertia("b", (1, 2, 2.5)), np.diag([1, 2, 2.5]))


def test_rounding_in_symmetry_is_averaged_away():
    J = TURN @ np.diag([1.0, 2.0, 2.5]) @ TURN.T
    J[0, 1] += 1e-9
    checked = check_inertia("b", J)
    np.testing.assert_array_equal(checked, checked.T)
    np.testing.assert_allclose(checked, J, atol=1e-9)


@pytest.mark.parametrize(
    ("J", "message"),
    [
        (np.zeros((3, 3)), "is zero"),
        (np.zeros(3), "is zero"),
        (np.diag([1.0, 1.0, 0.0]), "not positive definite"),
        (np.diag([1.0, -1.0, 1.0]), "not positive definite"),
        (-np.eye(3), "not positive definite"),
        (np.ones((3, 3)), "not positive definite"),
        (np.diag([1.0, 1.0, 2.1]), "impossible for a rigid body"),
        (np.diag([1e300, 1e300, 2.1e300]), "impossible for a rigid body"),
        ([[1, 0.1, 0], [0, 1, 0], [0, 0, 1]], r"not symmetric: \[0, 1\] is 0.1, \[1, 0\] is 0"),
        ([[1e308, 1e308, 0], [-1e308, 1e308, 0], [0, 0, 1e308]], "not symmetric"),
        (np.full((3, 3), np.nan), r"inertia\[0, 0\] is nan"),
        ((1.0, np.inf, 1.0), r"inertia\[1\] is inf"),
        (np.eye(2), r"shape \(2, 2\)"),
        (2.0, r"shape \(\)"),
        ([[1, 0], [0]], "inertia"),
        (((1, 0, 0), (0, 1), (0, 0, 1)), "inertia"),
        ("abc", "real numbers"),
        (None, "real numbers"),
        (["a", "b", "c"], "real numbers"),
    ],
)
def test_what_no_body_has(J, message):
    with pytest.raises(ModelError, match=f"^box: .*{message}"):
        check_inertia("box", J)


def test_parallel_axes():
    """Of a cloud of masses seen from any point: the sum over its masses, directly."""
    x, m = cloud(5, 12)
    x -= m @ x / m.sum()
    point = np.array([1.0, -2.0, 0.5])
    direct = from_second_moments(np.einsum("k,ki,kj->ij", m, x + point, x + point))
    own = from_second_moments(np.einsum("k,ki,kj->ij", m, x, x))
    np.testing.assert_allclose(about_point(own, m.sum(), point), direct, rtol=1e-13, atol=1e-13)
