"""BlockLU against NumPy: any graph, any widths, rows of the identity, and matrices that have no solution."""

import os
import subprocess
import sys

import numpy as np
import pytest
from block_graphs import GRAPHS, widths_of
from recorded import FOLDER, needs_recorded

import stickslip as ss
from stickslip.compilation import JIT
from stickslip.linalg.front_lu import GOOD, BlockLU
from stickslip.solvers import newton_systems

EVERY = pytest.mark.parametrize("graph", GRAPHS)
COMPILED = pytest.mark.skipif(not JIT, reason="without compilation SuperLU does it all")


def block_matrix(graph, kind, seed=0, one_sided=0.0):
    """(offset, row_start, column, values, dense) of random numbers, the diagonal blocks a bit stronger."""
    n, edges = GRAPHS[graph]
    rng = np.random.default_rng(seed)
    there = np.eye(n, dtype=bool)
    for a, b in edges:
        there[a, b] = True
        there[b, a] |= rng.random() >= one_sided
    offset = np.concatenate([[0], np.cumsum(widths_of(n, kind))]).astype(np.int64)
    dense = rng.normal(size=(offset[-1], offset[-1])) + 2.0 * np.eye(offset[-1])
    dense *= np.repeat(np.repeat(there, np.diff(offset), axis=0), np.diff(offset), axis=1)
    row_start = np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype(np.int64)
    column = np.nonzero(there)[1].astype(np.int64)
    return offset, row_start, column, in_blocks(offset, row_start, column, dense), dense


def in_blocks(offset, row_start, column, dense):
    parts = [np.zeros(0)]
    for i in range(offset.size - 1):
        for j in column[row_start[i] : row_start[i + 1]]:
            parts.append(dense[offset[i] : offset[i + 1], offset[j] : offset[j + 1]].reshape(-1))
    return np.concatenate(parts)


def backward_error(dense, x, b):
    bound = np.abs(dense) @ np.abs(x) + np.abs(b)
    return float((np.abs(b - dense @ x) / np.maximum(bound, 1e-300)).max(initial=0.0))


@EVERY
@pytest.mark.parametrize("kind", [1, 2, 3, 5, 13, "mixed"])
def test_solves_as_numpy_does(graph, kind):
    offset, row_start, column, values, dense = block_matrix(graph, kind)
    lu = BlockLU(offset, row_start, column)
    b = np.random.default_rng(1).normal(size=offset[-1])
    assert lu.refactor(values)
    x = lu.solve(b)
    assert backward_error(dense, x, b) < 1e-11
    condition = np.linalg.cond(dense) if b.size else 1.0
    np.testing.assert_allclose(
        x, np.linalg.solve(dense, b), rtol=0, atol=1e-11 * condition * np.abs(x).max(initial=1.0)
    )
    assert lu.refactor(2.0 * values)
    np.testing.assert_allclose(2.0 * lu.solve(b), x, rtol=1e-12, atol=1e-14 * np.abs(x).max(initial=1.0))


@EVERY
def test_blocks_on_one_side_of_the_diagonal(graph):
    offset, row_start, column, values, dense = block_matrix(graph, "mixed", seed=4, one_sided=0.7)
    lu, b = BlockLU(offset, row_start, column), np.arange(offset[-1], dtype=float)
    assert lu.refactor(values)
    assert backward_error(dense, lu.solve(b), b) < 1e-11


@EVERY
@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.95])
def test_rows_of_the_identity_may_be_left_out(graph, share):
    offset, row_start, column, _, dense = block_matrix(graph, 3, seed=2)
    lu, rng, whole = BlockLU(offset, row_start, column), np.random.default_rng(3), 0.0
    b = rng.normal(size=offset[-1])
    for _ in range(3):
        active = rng.random(offset.size - 1) < share
        kept = np.repeat(active, np.diff(offset))[:, None]
        A = np.where(kept, dense, np.eye(offset[-1]))
        values = in_blocks(offset, row_start, column, A)
        assert lu.refactor(values, active)
        x = lu.solve(b)
        np.testing.assert_allclose(x[~kept[:, 0]], b[~kept[:, 0]], rtol=1e-12)
        assert backward_error(A, x, b) < 1e-11
        whole = max(whole, BlockLU(offset, row_start, column).flops)
        assert lu.flops <= whole


@EVERY
def test_names_of_the_rows_do_not_matter(graph):
    offset, row_start, column, values, dense = block_matrix(graph, 3, seed=5)
    n = offset.size - 1
    order = np.random.default_rng(0).permutation(n)
    scalar = (3 * order[:, None] + np.arange(3)).reshape(-1)
    moved = dense[np.ix_(scalar, scalar)]
    there = np.zeros((n, n), bool)
    there[np.repeat(np.arange(n), np.diff(row_start)), column] = True
    there = there[np.ix_(order, order)]
    start = np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype(np.int64)
    other = BlockLU(offset, start, np.nonzero(there)[1])
    b = np.random.default_rng(1).normal(size=offset[-1])
    assert other.refactor(in_blocks(offset, start, np.nonzero(there)[1], moved))
    lu = BlockLU(offset, row_start, column)
    assert lu.refactor(values)
    x = lu.solve(b)
    np.testing.assert_allclose(
        other.solve(b[scalar]), x[scalar], rtol=1e-8, atol=1e-9 * np.abs(x).max(initial=1.0)
    )


def test_rows_are_exchanged_inside_a_block():
    turn = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    lu = BlockLU([0, 3], [0, 1], [0], fallback=False)
    assert lu.refactor(turn.reshape(-1))
    np.testing.assert_array_equal(lu.solve(np.array([1.0, 2.0, 3.0])), [3.0, 1.0, 2.0])


@COMPILED
def test_a_pivot_in_another_block_is_left_to_superlu():
    """No row of the first pivots will do: [0 1; 1 0] in blocks of one, with a neighbour each."""
    dense = np.zeros((6, 6))
    for i in range(5):
        dense[i, i + 1] = dense[i + 1, i] = 1.0
    offset, row_start = np.arange(7), np.array([0, 2, 5, 8, 11, 14, 16])
    column = np.array([0, 1, 0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 5, 4, 5])
    values, b = in_blocks(offset, row_start, column, dense), np.arange(6.0)
    helped = BlockLU(offset, row_start, column)
    assert helped.refactor(values)
    np.testing.assert_allclose(helped.solve(b), np.linalg.solve(dense, b), atol=1e-14)
    many = 200
    chain = np.eye(many, k=1) + np.eye(many, k=-1)
    row_start = np.concatenate([[0], np.cumsum([2] + [3] * (many - 2) + [2])])
    column = np.concatenate([[j for j in (i - 1, i, i + 1) if 0 <= j < many] for i in range(many)])
    alone = BlockLU(np.arange(many + 1), row_start, column, fallback=False)
    helped = BlockLU(np.arange(many + 1), row_start, column)
    values = in_blocks(np.arange(many + 1), row_start, column, chain)
    assert not alone.refactor(values)
    with pytest.raises(RuntimeError, match="no factor"):
        alone.solve(np.ones(many))
    assert helped.refactor(values)
    assert helped.fallbacks == 1
    assert backward_error(chain, helped.solve(np.ones(many)), np.ones(many)) < 1e-14


@pytest.mark.parametrize("spoil", [np.nan, np.inf, -np.inf, 0.0])
@pytest.mark.parametrize("kind", [3, 20])
def test_refuses_what_has_no_solution(spoil, kind):
    offset, row_start, column, values, dense = block_matrix("grid", kind)
    dense[7] *= spoil if np.isfinite(spoil) else 1.0
    dense[7, 7] = spoil
    lu = BlockLU(offset, row_start, column)
    with np.errstate(all="ignore"):
        assert not lu.refactor(in_blocks(offset, row_start, column, dense))
    assert lu.refactor(values)
    assert lu.solve(np.ones(offset[-1])) is not None


def test_a_right_hand_side_that_is_not_a_number_has_no_solution():
    offset, row_start, column, values, _ = block_matrix("chain", 3)
    lu, b = BlockLU(offset, row_start, column), np.ones(offset[-1])
    b[5] = np.nan
    assert lu.refactor(values)
    assert lu.solve(b) is None


@pytest.mark.parametrize("shift", [1e-3, 1e-7, 1e-11])
def test_semidefinite_with_a_tiny_shift(shift):
    """H H' of more contacts than the bodies can tell apart, rows scaled: solved to rounding of the matrix."""
    rng = np.random.default_rng(0)
    bodies, contacts = 12, 60
    pair = rng.integers(0, bodies, size=(contacts, 2))
    H = np.zeros((3 * contacts, 6 * bodies))
    for c, (a, b) in enumerate(pair):
        for body in {a, b}:
            H[3 * c : 3 * c + 3, 6 * body : 6 * body + 6] = rng.normal(size=(3, 6))
    W = H @ H.T
    there = np.abs(W).reshape(contacts, 3, contacts, 3).max(axis=(1, 3)) > 0.0
    A = (W + shift * np.diag(np.diag(W))) * rng.uniform(0.1, 10.0, size=(3 * contacts, 1))
    row_start = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    column, offset = np.nonzero(there)[1], 3 * np.arange(contacts + 1)
    lu, b = BlockLU(offset, row_start, column, fallback=not JIT), rng.normal(size=3 * contacts)
    assert lu.refactor(in_blocks(offset, row_start, column, A))
    assert backward_error(A, lu.solve(b), b) < 1e-13


def test_same_numbers_same_bytes():
    offset, row_start, column, values, _ = block_matrix("random", "mixed")
    b = np.random.default_rng(0).normal(size=offset[-1])
    answers = set()
    for _ in range(2):
        lu = BlockLU(offset, row_start, column)
        for _ in range(2):
            lu.refactor(values)
            answers.add(lu.solve(b).tobytes())
    assert len(answers) == 1


def test_refuses_arrays_of_the_wrong_length():
    offset, row_start, column, values, _ = block_matrix("chain", 3)
    lu = BlockLU(offset, row_start, column)
    with pytest.raises(ValueError, match="values has shape"):
        lu.refactor(values[:-1])
    with pytest.raises(RuntimeError, match="no factor"):
        lu.solve(np.ones(offset[-1]))
    lu.refactor(values)
    with pytest.raises(ValueError, match="b has shape"):
        lu.solve(np.ones(3))


@needs_recorded
@COMPILED
@pytest.mark.parametrize(
    "name",
    [
        "KaplasTower-i1061-4.hdf5.dat", "Capsules-i100-1090.dat", "Capsules-i122-1617.dat",
        "LMGC_100_PR_PerioBox-i00361-60-03000.hdf5", "BoxesStack1-i100000-32.hdf5.dat",
    ],
)  # fmt: skip
def test_newton_matrices_of_recorded_problems(name, monkeypatch):
    """Every Newton system of the proximal method is solved to rounding, without SuperLU."""
    seen = []

    class Watched(BlockLU):
        def solve(self, b):
            x = super().solve(b)
            matrix, place = self._permuted()
            bound = abs(matrix) @ np.abs(x[place]) + np.abs(b[place])
            rest = np.abs(matrix @ x[place] - b[place])
            seen.append((self, float((rest / (bound + 1e-6 * bound.max())).max())))
            return x

    monkeypatch.setattr(newton_systems, "BlockLU", Watched)
    found = ss.solve(ss.read(FOLDER / "friction" / name), "prox", tolerance=1e-8)
    assert found.status.ok
    assert seen
    assert all(lu.fallbacks == 0 for lu, _ in seen)
    assert max(error for _, error in seen) < 1e-13 < GOOD


def test_without_compilation_superlu_gives_the_same():
    code = (
        "import numpy as np; from test_front_lu import block_matrix, backward_error;"
        "from stickslip.linalg.front_lu import BlockLU\n"
        "for graph in ('nothing', 'one body', 'grid', 'random'):\n"
        "    *pattern, values, dense = block_matrix(graph, 3)\n"
        "    lu, b = BlockLU(*pattern), np.ones(dense.shape[0])\n"
        "    assert lu.refactor(values) and lu.entries == 0 and lu.flops == 0.0\n"
        "    assert backward_error(dense, lu.solve(b), b) < 1e-12\n"
        "    assert not b.size or not lu.refactor(np.nan * values)\n"
        "    assert not b.size or not lu.refactor(0.0 * values)\n"
        "print('same')"
    )
    here = os.path.dirname(__file__)
    path = os.pathsep.join([here, os.path.dirname(here), *sys.path])
    environment = {**os.environ, "STICKSLIP_JIT": "0", "PYTHONPATH": path}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert ran.stdout.strip() == "same", ran.stderr
