"""Sums of lines: the numbers of the plain loop, to the last bit."""

import numpy as np
import pytest

from stickslip.kernels.lines import FOUR, LINE, add_lines, eliminate_four, four_products


def plain(start, X, which, f, count, first, y):
    """The loop that `add_lines` stands for."""
    for k in range(first, len(y)):
        y[k] = start[k]
        for t in range(count):
            y[k] += f[t] * X[which[t], k]


@pytest.mark.parametrize("n", [1, 3, 7, 8, 9, 17, 24, 31, 32, 33, 70])
@pytest.mark.parametrize("first", [0, 5])
def test_the_sum_is_that_of_the_plain_loop(n, first):
    random = np.random.default_rng(n)
    X, f, start = random.standard_normal((6, n)), random.standard_normal(5), random.standard_normal(n)
    which = np.array([4, 0, 0, 2, 5])
    found, expected = np.full(n, 7.0), np.full(n, 7.0)
    for count in range(6):
        add_lines(start, X, which, f, count, first, found)
        plain(start, X, which, f, count, first, expected)
        assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("n", [5, 16, 37])
def test_a_line_may_be_added_to_where_it_is(n):
    random = np.random.default_rng(n)
    X, f = random.standard_normal((4, n)), np.array([2.0, -1.0])
    expected = X[3] + 2.0 * X[0] - X[1]
    add_lines(X[3], X, np.array([0, 1]), f, 2, 0, X[3])
    np.testing.assert_allclose(X[3], expected, rtol=1e-15)


def test_lines_may_be_longer_than_the_sum():
    X, y = np.arange(24.0).reshape(2, 12), np.full(9, -1.0)
    add_lines(np.zeros(9), X, np.array([1]), np.array([1.0]), 1, 0, y)
    np.testing.assert_array_equal(y, X[1, :9])


@pytest.mark.parametrize("n", [4, 5, 12, 13, 20, 37])
def test_four_pivot_rows_are_eliminated_at_once(n):
    random = np.random.default_rng(n)
    A, F = random.standard_normal((n, n + 1)), random.standard_normal((n, FOUR))
    found, expected, c = A.copy(), A.copy(), min(2, n - FOUR)
    eliminate_four(found, F, c, n)
    for i in range(c + 1, n):
        for p in range(min(i - c, FOUR)):
            expected[i, c + FOUR : n] -= F[i, p] * expected[c + p, c + FOUR : n]
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("n", [LINE, 3 * LINE])
def test_products_are_those_of_matrices(n):
    random = np.random.default_rng(n)
    d, X = random.standard_normal(6), random.standard_normal((6, 3 * LINE))
    found = np.full((FOUR, 4 * LINE), 7.0)
    four_products(d, X, 4, 1, 5, n, found.reshape(-1))
    expected = X[1:5, 4 : 4 + FOUR].T @ np.diag(d[1:5]) @ X[1:5, :n]
    np.testing.assert_allclose(found[:, :n], expected, atol=1e-14)
    assert (found[:, n:] == 7.0).all()
    four_products(d, X, 4, 5, 1, n, found.reshape(-1))
    assert not found[:, :n].any()
