"""Small dense systems: both eliminations agree with LAPACK's, and say where there is no answer."""

import numpy as np
import pytest

from stickslip.kernels.dense_lu import LARGE, ldl_solve, lu_solve


def definite(n, seed):
    """A symmetric positive definite matrix and a right side."""
    random = np.random.default_rng(seed)
    B = random.standard_normal((n, n))
    return B @ B.T + 0.1 * np.eye(n), random.standard_normal(n)


@pytest.mark.parametrize("n", [1, 2, 7, LARGE - 1, LARGE, 60])
def test_both_agree_with_a_dense_solve(n):
    A, b = definite(n, n)
    exact = np.linalg.solve(A, b)
    for solve in (lu_solve, ldl_solve):
        x = b.copy()
        assert solve(A.copy(), x, n)
        np.testing.assert_allclose(x, exact, rtol=1e-9, atol=1e-9 * np.abs(exact).max())


def test_ldl_reads_the_upper_rows_alone():
    A, b = definite(9, 3)
    x, y = b.copy(), b.copy()
    assert ldl_solve(A.copy(), x, 9)
    assert ldl_solve(np.triu(A), y, 9)
    assert x.tobytes() == y.tobytes()


def test_the_leading_part_of_larger_arrays_is_solved():
    A, b = definite(12, 5)
    for solve in (lu_solve, ldl_solve):
        x = b.copy()
        assert solve(A.copy(), x, 5)
        np.testing.assert_allclose(x[:5], np.linalg.solve(A[:5, :5], b[:5]), rtol=1e-9)
        np.testing.assert_array_equal(x[5:], b[5:])


def test_systems_without_an_answer_are_told():
    for bad in (np.zeros((3, 3)), np.full((3, 3), np.nan)):
        for solve in (lu_solve, ldl_solve):
            assert not solve(bad.copy(), np.ones(3), 3)
