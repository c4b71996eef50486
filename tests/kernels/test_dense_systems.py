"""Small dense systems: both eliminations agree with LAPACK's, and say where there is no answer."""

import numpy as np
import pytest

from stickslip.kernels.dense_lu import ldl_back, ldl_factor, ldl_solve, lu_solve, solve_columns


def definite(n, seed):
    """A symmetric positive definite matrix and a right side."""
    random = np.random.default_rng(seed)
    B = random.standard_normal((n, n))
    return B @ B.T + 0.1 * np.eye(n), random.standard_normal(n)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 39, 60, 150])
def test_both_agree_with_a_dense_solve(n):
    A, b = definite(n, n)
    exact = np.linalg.solve(A, b)
    for solve in (lu_solve, ldl_solve):
        x = b.copy()
        assert solve(A.copy(), x, n)
        np.testing.assert_allclose(x, exact, rtol=1e-9, atol=1e-9 * np.abs(exact).max())


@pytest.mark.parametrize("n", [4, 6, 13, 40])
def test_rows_are_exchanged_where_the_diagonal_is_small(n):
    random = np.random.default_rng(n)
    A, b = random.standard_normal((n, n)), random.standard_normal(n)
    np.fill_diagonal(A, 1e-14)
    A[1, :2] = A[0, :2]  # the second pivot vanishes with the first
    x = b.copy()
    assert lu_solve(A.copy(), x, n)
    np.testing.assert_allclose(x, np.linalg.solve(A, b), rtol=1e-9, atol=1e-9 * np.abs(x).max())


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


def test_factors_serve_for_other_right_sides():
    A, b = definite(17, 7)
    factors, L, inverse = A.copy(), np.empty_like(A), np.empty(17)
    assert ldl_factor(factors, L, inverse, np.arange(17), 17)
    for right in (b, np.arange(17.0)):
        x = right.copy()
        assert ldl_back(factors, L, inverse, x, 17)
        np.testing.assert_allclose(A @ x, right, atol=1e-9)


def test_columns_are_solved_together():
    A, _ = definite(5, 1)
    A[0, 0], X = 0.0, np.random.default_rng(2).standard_normal((5, 3))
    exact = np.linalg.solve(A, X)
    assert solve_columns(A, X, 5, 3)
    np.testing.assert_allclose(X, exact, rtol=0, atol=1e-11)
    assert not solve_columns(np.zeros((2, 2)), np.ones((2, 1)), 2, 1)
