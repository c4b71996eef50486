"""Block Cholesky: the same answers as NumPy, SciPy and qdldl on every kind of graph."""

import numpy as np
import pytest
import qdldl
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from block_graphs import GRAPHS, dense, grid, positive_definite

from stickslip.compilation import JIT
from stickslip.linalg.factor import Buffers
from stickslip.linalg.pattern import block_pattern, matrix_pattern
from stickslip.linalg.symbolic import analyse

KINDS = (6, 3, 1, "mixed")


@pytest.fixture(params=GRAPHS)
def graph(request):
    return GRAPHS[request.param]


@pytest.mark.parametrize("kind", KINDS)
def test_solves_what_numpy_solves(graph, kind):
    pattern, values = positive_definite(*graph, kind)
    A, b = dense(pattern, values), np.random.default_rng(1).normal(size=pattern.size)
    factor = analyse(pattern).cholesky(values)
    np.testing.assert_allclose(factor.solve(b), np.linalg.solve(A, b), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(pattern.sparse(values).toarray(), A, rtol=0, atol=1e-12)
    if pattern.size:
        A = sp.csc_matrix(A)
        np.testing.assert_allclose(factor.solve(b), spla.splu(A).solve(b), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(factor.solve(b), qdldl.Solver(A).solve(b), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_many_right_hand_sides_are_solved_like_one(graph, kind):
    pattern, values = positive_definite(*graph, kind)
    factor = analyse(pattern).cholesky(values)
    b = np.random.default_rng(1).normal(size=(pattern.size, 5))
    x = factor.solve(b)
    assert x.shape == b.shape
    for k in range(5):
        np.testing.assert_allclose(x[:, k], factor.solve(b[:, k]), rtol=1e-10, atol=1e-13)
    assert factor.solve(b[:, :0]).shape == (pattern.size, 0)


@pytest.mark.parametrize("kind", [6, "mixed"])
def test_any_order_gives_the_same_answer(graph, kind):
    pattern, values = positive_definite(*graph, kind)
    n, b = pattern.widths.size, np.random.default_rng(1).normal(size=pattern.size)
    expected = analyse(pattern).cholesky(values).solve(b)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(n)
        symbolic = analyse(pattern, order=order)
        np.testing.assert_array_equal(np.sort(symbolic.order), np.arange(n))
        np.testing.assert_allclose(symbolic.cholesky(values).solve(b), expected, rtol=1e-9, atol=1e-12)


def test_renumbered_bodies_and_turned_pairs_give_the_same_answer():
    pattern, values = positive_definite(*GRAPHS["random"], "mixed")
    rng = np.random.default_rng(5)
    n, b = pattern.widths.size, rng.normal(size=pattern.size)
    name = rng.permutation(n)
    A = dense(pattern, values)
    scalar = np.concatenate([np.arange(*pattern.offset[i : i + 2]) for i in np.argsort(name)])
    turned = block_pattern(pattern.widths[np.argsort(name)], name[pattern.other], name[pattern.one])
    blocks = []
    for k in range(pattern.one.size):
        block = values[pattern.source[k] : pattern.source[k + 1]]
        shape = pattern.widths[pattern.one[k]], pattern.widths[pattern.other[k]]
        blocks.append(block.reshape(shape).T.reshape(-1))
    turned_values = np.concatenate(blocks)
    np.testing.assert_allclose(dense(turned, turned_values), A[np.ix_(scalar, scalar)], atol=1e-12)
    x = analyse(turned).cholesky(turned_values).solve(b[scalar])
    np.testing.assert_allclose(x, np.linalg.solve(A, b)[scalar], rtol=1e-9, atol=1e-12)


def test_wide_fronts_go_through_blas():
    n = 90
    edges = [(i, j) for i in range(n) for j in range(max(0, i - 12), i)]
    pattern, values = positive_definite(n, edges, 6)
    symbolic = analyse(pattern)
    b = np.random.default_rng(1).normal(size=pattern.size)
    x = symbolic.cholesky(values).solve(b)
    np.testing.assert_allclose(dense(pattern, values) @ x, b, atol=1e-10)


@pytest.mark.skipif(not JIT, reason="SciPy orders for itself")
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_positions_change_the_order_not_the_answer(axes):
    n = 1600
    pattern, values = positive_definite(n, grid(n), 3)
    where = np.stack([np.arange(n) % 40, np.arange(n) // 40, np.zeros(n)], axis=1)[:, :axes]
    b = np.random.default_rng(1).normal(size=pattern.size)
    by_place, by_degree = analyse(pattern, positions=where), analyse(pattern)
    assert not np.array_equal(by_place.order, by_degree.order)
    A = pattern.sparse(values)
    for symbolic in (by_place, by_degree):
        x = symbolic.cholesky(values).solve(b)
        np.testing.assert_allclose(A @ x, b, atol=1e-10)
    if axes == 3:
        assert by_place.flops < 1.5 * by_degree.flops


@pytest.mark.parametrize("where", ["one point", "nan", "noise", "inf"])
def test_positions_that_tell_nothing_are_no_error(where):
    n = 900
    pattern, values = positive_definite(n, grid(n), 2)
    places = {
        "one point": np.ones((n, 3)),
        "nan": np.full((n, 3), np.nan),
        "noise": np.random.default_rng(0).normal(size=(n, 3)),
        "inf": np.where(np.arange(n)[:, None] == 7, np.inf, np.arange(n)[:, None] * 1.0),
    }
    symbolic = analyse(pattern, positions=places[where])
    assert symbolic.flops <= 2.0 * analyse(pattern).flops
    b = np.ones(pattern.size)
    np.testing.assert_allclose(pattern.sparse(values) @ symbolic.cholesky(values).solve(b), b, atol=1e-10)


def test_one_analysis_serves_many_matrices_in_one_memory():
    pattern, values = positive_definite(*GRAPHS["grid"], 6)
    symbolic = analyse(pattern)
    factor, b = symbolic.cholesky(values), np.ones(pattern.size)
    for seed in range(4):
        other = positive_definite(*GRAPHS["grid"], 6, seed)[1]
        assert factor.refactor(other) is factor
        fresh = symbolic.cholesky(other)
        np.testing.assert_array_equal(factor.solve(b), fresh.solve(b))
        np.testing.assert_allclose(dense(pattern, other) @ factor.solve(b), b, atol=1e-10)


def test_buffers_go_from_graph_to_graph_and_have_one_owner():
    buffers = Buffers()
    factors = []
    for name in ("grid", "random", "chain"):
        pattern, values = positive_definite(*GRAPHS[name], 6)
        factors.append(analyse(pattern).cholesky(values, buffers=buffers))
        b = np.ones(pattern.size)
        np.testing.assert_allclose(dense(pattern, values) @ factors[-1].solve(b), b, atol=1e-10)
    held = buffers.bytes
    analyse(pattern).cholesky(values, buffers=buffers)
    assert buffers.bytes == held
    with pytest.raises(RuntimeError, match="used by another"):
        factors[0].solve(np.ones(factors[0].symbolic.pattern.size))
    with pytest.raises(RuntimeError, match="used by another"):
        factors[0].refactor(values)


def test_same_input_same_bytes():
    pattern, values = positive_definite(*GRAPHS["random"], 6)
    b = np.random.default_rng(1).normal(size=pattern.size)
    answers = [analyse(pattern).cholesky(values.copy()).solve(b.copy()).tobytes() for _ in range(4)]
    assert len(set(answers)) == 1


def test_a_symbolic_part_does_not_change():
    pattern, values = positive_definite(*GRAPHS["random"], 6)
    symbolic = analyse(pattern)
    for array in (symbolic.order, symbolic.pattern.one, *(symbolic.fronts or ())):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(AttributeError):
        symbolic.order = None
    values.flags.writeable = False
    symbolic.cholesky(values)


@pytest.mark.parametrize("kind", KINDS)
def test_a_scipy_matrix_is_cut_into_blocks(graph, kind):
    pattern, values = positive_definite(*graph, kind)
    A = pattern.sparse(values)
    A.eliminate_zeros()
    cut = matrix_pattern(A, pattern.widths)
    np.testing.assert_allclose(cut.sparse(cut.values(A)).toarray(), A.toarray(), rtol=1e-14, atol=1e-14)
    factor, b = analyse(cut).cholesky(cut.values(A)), np.ones(pattern.size)
    np.testing.assert_allclose(A @ factor.solve(b), b, atol=1e-9)
    factor.refactor(cut.values(2.0 * A))
    np.testing.assert_allclose(2.0 * A @ factor.solve(b), b, atol=1e-9)
