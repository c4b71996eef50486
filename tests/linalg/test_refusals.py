"""Singular, indefinite, NaN and inf: always an error that names the block row, never a number."""

import numpy as np
import pytest
import scipy.sparse as sp
from block_graphs import GRAPHS, dense, part, positive_definite

from stickslip.linalg.bodies import body_pattern
from stickslip.linalg.factor import FactorFailure, NotFinite, NotPositiveDefinite, Regularisation
from stickslip.linalg.pattern import block_pattern, matrix_pattern
from stickslip.linalg.symbolic import analyse

TAME = ("one body", "chain", "hub", "islands", "random", "all with all")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["one body", "chain", "random"])
def test_nan_and_inf_are_seen_at_every_position(name, bad):
    pattern, values = positive_definite(*GRAPHS[name], 3)
    symbolic = analyse(pattern)
    factor = symbolic.cholesky(values)
    signed = analyse(pattern, negative=np.zeros(pattern.widths.size, bool)).quasi_definite(values)
    for k in range(values.size):
        spoiled = values.copy()
        spoiled[k] = bad
        block = int(np.searchsorted(pattern.source, k, side="right") - 1)
        for made in (factor, signed):
            with pytest.raises(NotFinite) as caught:
                made.refactor(spoiled)
            assert caught.value.block == pattern.one[block]
        with pytest.raises(RuntimeError, match="failed"):
            factor.solve(np.ones(pattern.size))
    assert np.isfinite(factor.refactor(values).solve(np.ones(pattern.size))).all()


@pytest.mark.parametrize("kind", [6, "mixed"])
@pytest.mark.parametrize("name", TAME)
def test_an_indefinite_body_is_named(name, kind):
    pattern, values = positive_definite(*GRAPHS[name], kind)
    symbolic = analyse(pattern)
    for i in range(pattern.widths.size):
        spoiled = values.copy()
        block = part(pattern, spoiled, i)
        block -= 2.0 * np.abs(block).sum() * np.eye(block.shape[0])
        with pytest.raises(NotPositiveDefinite, match=f"block row {i},") as caught:
            symbolic.cholesky(spoiled)
        assert caught.value.block == i
        assert isinstance(caught.value, FactorFailure)


@pytest.mark.parametrize("name", TAME)
def test_a_massless_body_is_singular_and_named(name):
    pattern, values = positive_definite(*GRAPHS[name], 6)
    symbolic = analyse(pattern)
    for i in range(pattern.widths.size):
        spoiled = values.copy()
        for k in np.flatnonzero((pattern.one == i) | (pattern.other == i)):
            part(pattern, spoiled, k)[:] = 0.0
        with pytest.raises(NotPositiveDefinite) as caught:
            symbolic.cholesky(spoiled)
        assert caught.value.block == i


@pytest.mark.parametrize("scale", [1e-200, 1e-12, 1.0, 1e12, 1e150])
@pytest.mark.parametrize("n", [2, 5, 40, 200])
def test_a_free_chain_of_springs_is_singular(n, scale):
    """B B' of a chain held nowhere: rounding leaves tiny pivots of either sign, all are refused."""
    rng = np.random.default_rng(n)
    width = 6
    one, other = [*range(n), *range(1, n)], [*range(n), *range(n - 1)]
    pattern = block_pattern(np.full(n, width), one, other)
    for _ in range(10):
        values = np.zeros(pattern.source[-1])
        for k in range(n - 1):
            spring = rng.normal(size=(width, width))
            spring = scale * (spring @ spring.T)
            part(pattern, values, k)[:] += spring
            part(pattern, values, k + 1)[:] += spring
            part(pattern, values, n + k)[:] -= spring
        with pytest.raises(NotPositiveDefinite):
            analyse(pattern).cholesky(values)


def test_almost_singular_is_factored_and_says_so():
    pattern = block_pattern([1, 1], [0, 1, 1], [0, 1, 0])
    factor = analyse(pattern).cholesky([1.0, 1.0, 1.0 - 1e-12])
    assert 1e-12 < factor.least_pivot < 3e-12
    with pytest.raises(NotPositiveDefinite):
        analyse(pattern).cholesky([1.0, 1.0, 1.0 - 1e-16])
    with pytest.raises(NotPositiveDefinite):
        analyse(pattern).cholesky([1.0, 1.0, 1.0 - 1e-12], singular=1e-10)


@pytest.mark.parametrize("scale", [1e-290, 1e-150, 1e150, 1e300])
def test_numbers_may_be_as_large_or_small_as_they_are(scale):
    pattern, values = positive_definite(*GRAPHS["random"], 6)
    b = np.ones(pattern.size)
    x, expected = (
        analyse(pattern).cholesky(scale * values).solve(b),
        analyse(pattern).cholesky(values).solve(b),
    )
    np.testing.assert_allclose(x * scale, expected, rtol=1e-10)


def test_overflow_inside_is_an_error():
    """[1e-300, 1e300; 1e300, -1] has the second pivot -1e900."""
    pattern = block_pattern([1, 1], [0, 1, 1], [0, 1, 0])
    for order in ([0, 1], [1, 0]):
        signed = analyse(pattern, negative=np.array([False, True]), order=order)
        with pytest.raises(NotFinite, match="overflows in block row"):
            signed.quasi_definite([1e-300, -1.0, 1e300])


def test_arguments_that_do_not_fit_are_refused():
    pattern, values = positive_definite(*GRAPHS["chain"], 6)
    symbolic = analyse(pattern)
    factor = symbolic.cholesky(values)
    n = pattern.size
    for b in (np.ones(n + 1), np.ones((n + 1, 2)), np.ones((2, n, 1)), 1.0):
        with pytest.raises(ValueError, match="b has shape"):
            factor.solve(b)
    with pytest.raises(ValueError, match="values has"):
        symbolic.cholesky(values[:-1])
    with pytest.raises(ValueError, match="positions has shape"):
        analyse(pattern, positions=np.ones((3, 3)))
    with pytest.raises(ValueError, match="not a permutation"):
        analyse(pattern, order=np.zeros(40, int))
    with pytest.raises(ValueError, match="booleans"):
        analyse(pattern, negative=np.zeros(40))
    with pytest.raises(ValueError, match="quasi_definite"):
        analyse(pattern, negative=np.arange(40) < 3).cholesky(values)
    with pytest.raises(ValueError, match="width of block row 1 is 0"):
        block_pattern([1, 0], [0], [0])
    with pytest.raises(ValueError, match="names block row 2"):
        block_pattern([1, 1], [0], [2])
    with pytest.raises(ValueError, match="they are pairs"):
        block_pattern([1, 1], [0, 1], [0])
    with pytest.raises(ValueError, match="integers"):
        block_pattern([1.5, 1], [0], [0])
    with pytest.raises(ValueError, match="to itself"):
        body_pattern([[1, 1]], 2)
    with pytest.raises(ValueError, match="names body 2"):
        body_pattern([[1, 2]], 2)
    with pytest.raises(ValueError, match="names body -3"):
        body_pattern([[1, -3]], 2)
    for wrong in ({"static": -1.0}, {"least": np.nan}, {"replacement": 1e-14}):
        with pytest.raises(ValueError, match="must be"):
            Regularisation(**wrong)


def test_a_scipy_matrix_must_be_symmetric_and_the_same():
    pattern, values = positive_definite(*GRAPHS["chain"], 2)
    A = dense(pattern, values)
    cut = matrix_pattern(A, pattern.widths)
    skew = A.copy()
    skew[0, 1] += 1.0
    with pytest.raises(ValueError, match=r"entries \(0, 1\) and \(1, 0\)|entries \(1, 0\) and \(0, 1\)"):
        cut.values(skew)
    with pytest.raises(ValueError, match="other entries"):
        cut.values(sp.eye_array(A.shape[0]))
    with pytest.raises(ValueError, match="both triangles"):
        matrix_pattern(np.tril(A), pattern.widths)
    with pytest.raises(ValueError, match="add up to"):
        matrix_pattern(A, pattern.widths[1:])
